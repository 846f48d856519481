/** The elements of the Play view and their order: the board with its buttons, and the cards beside it. */

import { h } from "./dom.js";
import { recordRow } from "./record_row.js";
import { t } from "./texts.js";

/** Return the root element of the view.
 * @param {import("./play.js").PlayView} view  Its parts are made, except the board, which is put into `place`.
 * @param {{place: HTMLElement, resume: (name: string) => void}} parts  `resume` opens a saved game.
 */
export function playLayout(view, { place, resume }) {
  const button = (name, kind = "") => h("button", { type: "button", class: kind, onclick: () => view.commands[name](), "data-does": name }, t(`play.${name}`));
  return h("div", { class: "view play" },
    h("h1", { class: "unseen" }, t("nav.play")),
    view.startCards.element,
    h("section", { class: "table", "aria-label": t("board.label") },
      place,
      view.status,
      view.happened,
      h("div", { class: "row actions" }, button("go_on", "main"), button("take_back"), button("hint"), view.advice.valuesButton, button("resign"), button("study")),
      view.advice.element),
    h("aside", { class: "panel" },
      h("section", { class: "card" }, h("h2", {}, t("play.turns")), view.turns),
      h("section", { class: "card new-game" }, view.newGamePlace, h("p", { class: "docs" }, view.place.link)),
      h("section", { class: "card" }, h("h2", {}, t("play.record")), recordRow(view, resume)),
      view.place.element));
}
