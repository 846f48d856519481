/** Functions that make elements of the page, and the storage of the browser. */

/** Make an element: h("button", {class: "big", onclick: f}, "Go"). An attribute that is true is written
 * without a value; false and null ones are skipped. `on...` adds a listener. Children that are not elements become text. */
export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "htmlFor") made[key] = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

let number = 0;

/** A control with its label: [label, control] in a div. */
export function field(label, control) {
  control.id ||= `field-${++number}`;
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control);
}

/** A select element with `[value, label]` options. */
export function select(pairs, chosen, onchange) {
  const made = h("select", { onchange: () => onchange?.(made.value) }, pairs.map(([value, words]) => h("option", { value }, words)));
  made.value = chosen;
  return made;
}

/** Move the keyboard focus to a board if the focused control has been disabled, because browsers drop that focus. */
export function keepFocus(board) {
  if (document.activeElement?.disabled) board.focus();
}

/** Download a file to the user's computer. */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const PREFIX = "mancala.";
const STORES = { everywhere: () => localStorage, tab: () => sessionStorage };

/** Values that this browser keeps between visits.
 *
 * `localStorage` keeps them for all tabs, `sessionStorage` for this tab, so that two tabs do not mix. If both are full or
 * blocked, values go into the tab's history entry, which survives a reload.
 */
export const kept = {
  /** Values that neither storage accepted, by name. */
  carried: globalThis.history?.state?.kept ?? {},

  /** The value of a name: the one of this tab, or else the last one that any tab wrote. `otherwise` replaces a value of another kind. */
  read(name, otherwise) {
    const value = this.ofTab(name) ?? readStore("everywhere", name);
    return value === undefined || (otherwise && kindOf(value) !== kindOf(otherwise)) ? otherwise : value;
  },

  /** The value that this tab wrote, or undefined. */
  ofTab(name) {
    return this.carried[name] ?? readStore("tab", name);
  },

  /** Keep a value for all tabs, and also for this tab if `isOfTab`. Returns whether it survives closing the tab. */
  write(name, value, isOfTab = false) {
    const isKept = writeStore("everywhere", name, value);
    const needsTab = isOfTab || !isKept;
    const isInTab = writeStore("tab", name, needsTab ? value : undefined);
    if (name in this.carried || (needsTab && !isInTab)) {
      delete this.carried[name];
      if (needsTab && !isInTab) this.carried[name] = value;
      this.carry();
    }
    return isKept;
  },

  /** Forget a value in all tabs. */
  remove(name) {
    writeStore("everywhere", name, undefined);
  },

  /** Forget the value that this tab keeps. */
  forgetTab(name) {
    writeStore("tab", name, undefined);
    delete this.carried[name];
  },

  /** The names of the values kept for all tabs that begin with a text. */
  names(start) {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX + start)).map((key) => key.slice(PREFIX.length));
    } catch {
      return [];
    }
  },

  /** Write the values that neither storage accepted into the current history entry. */
  carry() {
    if (!Object.keys(this.carried).length && !history.state?.kept) return;
    try {
      history.replaceState({ ...history.state, kept: this.carried }, "");
    } catch {
      // Too large or too frequent. The next change tries again.
    }
  },
};

const kindOf = (value) => (Array.isArray(value) ? "array" : typeof value);

function readStore(store, name) {
  try {
    return JSON.parse(STORES[store]().getItem(PREFIX + name)) ?? undefined;
  } catch {
    return undefined;
  }
}

function writeStore(store, name, value) {
  try {
    if (value === undefined) STORES[store]().removeItem(PREFIX + name);
    else STORES[store]().setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}
