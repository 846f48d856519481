/** Elements in one line each. */

/** Make an element: h("button", {class: "big", onclick: f}, "Go"). Attributes that are true are written empty,
 * false and null ones left out; `on...` are listeners; other children than elements become text. */
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
export function field(label, control, { hint } = {}) {
  control.id ||= `field-${++number}`;
  const parts = [h("label", { for: control.id }, label), control];
  if (hint) {
    const text = h("small", { id: `${control.id}-hint` }, hint);
    control.setAttribute("aria-describedby", text.id);
    parts.push(text);
  }
  return h("div", { class: "field" }, parts);
}

/** A choice among `[value, words]` pairs. */
export function select(pairs, chosen, onchange) {
  const made = h("select", { onchange: () => onchange?.(made.value) }, pairs.map(([value, words]) => h("option", { value }, words)));
  made.value = chosen;
  return made;
}

/** Give the user a file. */
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

/** What is kept in this browser from one visit to the next.
 *
 * `localStorage` keeps it for all tabs, `sessionStorage` for this tab, so that two tabs do not mix. Where neither can,
 * because it is full or blocked, the entry of the tab's history does: it survives a reload.
 */
export const kept = {
  /** Values that no store took, by name. */
  carried: globalThis.history?.state?.kept ?? {},

  /** The value of a name: this tab's, else the one that was written last in any tab. */
  read(name, otherwise) {
    return this.ofTab(name) ?? readStore("everywhere", name) ?? otherwise;
  },

  /** The value that this tab wrote, or undefined. */
  ofTab(name) {
    return this.carried[name] ?? readStore("tab", name);
  },

  /** Keep a value; `isOfTab` keeps it for this tab besides. Returns whether it is there after the tab is closed. */
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

  /** Forget what only this tab keeps. */
  forgetTab(name) {
    writeStore("tab", name, undefined);
    delete this.carried[name];
  },

  /** The names that are kept for all tabs and begin with a text. */
  names(start) {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX + start)).map((key) => key.slice(PREFIX.length));
    } catch {
      return [];
    }
  },

  /** Write what no store took into the entry of the history that is shown. */
  carry() {
    if (!Object.keys(this.carried).length && !history.state?.kept) return;
    try {
      history.replaceState({ ...history.state, kept: this.carried }, "");
    } catch {
      // Too much, or too often: the next change is written again.
    }
  },
};

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
