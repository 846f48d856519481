/** Messages at the bottom of the window: one error and one notice, which can have a button such as "Undo". */

import { h } from "./dom.js";
import { t } from "./texts.js";

/** Most characters of a quoted input or of a word in a message. */
const MOST = 80;
const BRIEF = 6000; // milliseconds

/** Shorten what a message quotes, and words without spaces. */
export function cut(text) {
  return text.replace(/"[^"]*"|[^\s"]+/g, (part) => {
    const isQuoted = part[0] === '"', inside = isQuoted ? part.slice(1, -1) : part;
    if (inside.length <= MOST) return part;
    const short = `${inside.slice(0, MOST - 3)}...`;
    return isQuoted ? `"${short}"` : short;
  });
}

export class Toasts {
  #timer = 0;
  #act = null;

  constructor() {
    this.notice = h("p", { class: "notice", role: "alert" });
    this.news = h("p", { class: "notice news" });
    this.actButton = h("button", { type: "button", "data-does": "undo", onclick: () => {
      const act = this.#act;
      this.tell("");
      act?.();
    } });
    const close = (act) => h("button", { type: "button", class: "quiet", "aria-label": t("toast.close"), onclick: act }, "×");
    this.rows = [
      h("div", { class: "toast wrong" }, this.notice, close(() => this.warn(""))),
      h("div", { class: "toast" }, this.news, this.actButton, close(() => this.tell(""))),
    ];
    this.element = h("section", { class: "toasts", "aria-label": t("toast.label") }, this.rows);
    this.#show();
  }

  /** Show an error; "" removes it and the notice. */
  warn(text) {
    this.tell("");
    this.notice.textContent = cut(text);
    this.#show();
  }

  /** Show a notice; "" removes it.
   * @param {string} text
   * @param {{label?: string, act?: () => void, isBrief?: boolean}} [options]  A button and what it does; whether the notice leaves by itself.
   */
  tell(text, { label = "", act = null, isBrief = false } = {}) {
    clearTimeout(this.#timer);
    this.news.textContent = text;
    this.actButton.textContent = label;
    this.#act = act;
    if (isBrief) this.#timer = setTimeout(() => this.tell(""), BRIEF);
    this.#show();
  }

  #show() {
    this.rows[0].hidden = !this.notice.textContent;
    this.rows[1].hidden = !this.news.textContent;
    this.actButton.hidden = !this.#act;
  }
}
