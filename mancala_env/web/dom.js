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

/** What is kept in this browser from one visit to the next; nothing where it keeps nothing. */
export const kept = {
  read(name, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(`mancala.${name}`)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  write(name, value) {
    try {
      localStorage.setItem(`mancala.${name}`, JSON.stringify(value));
    } catch {
      // A browser that keeps nothing plays as well.
    }
  },
};
