/** The start for newcomers: a card for each game, with a picture and a sentence, and the way to Learn. */

import { draw } from "./board.js";
import { h } from "./dom.js";
import { describe, Layout } from "./scene.js";
import { t } from "./texts.js";

/** The position of each card's picture; owned holes show what the game is about. */
const CARDS = {
  layli: "layli_goobalay 3,0,5,1,2s,6/1,2s,4,0,5,3 9-7 S",
  leyla: "leyla 3,0,5,1,4s,6/1,4s,4,0,5,3 6-6 S",
  gabata: "gabata_i 3,0,5n,1,2,6/1,4s,4,0,5,3 0-0 S",
};

const EDGE = 54; // from the middle of a row to the picture's edge

export class StartCards {
  /** Whether the user has not played yet. */
  isOffered = false;

  /** @param {object} app @param {(ruleset: object) => void} start  Called with the ruleset of the card that is pressed. */
  constructor(app, start) {
    const cards = Object.entries(CARDS).map(([name, text]) => {
      const game = app.engine.fromText(text);
      return h("button", { type: "button", "data-card": name, onclick: () => {
        this.isOffered = false;
        start(game.ruleset);
      } }, picture(game), h("span", {}, h("strong", {}, t(`start.${name}`)), h("span", {}, t(`start.${name}.text`))));
    });
    this.element = h("section", { class: "start", "aria-label": t("start.title"), hidden: true },
      h("div", { class: "row" }, h("h2", {}, t("start.title")), h("a", { href: "#learn/layli/1" }, t("start.learn"))),
      h("div", { class: "cards" }, cards));
  }

  /** Show the cards until the first turn. */
  show(hasTurns) {
    if (hasTurns) this.isOffered = false;
    this.element.hidden = !this.isOffered;
  }
}

/** The holes of a position, without words and numbers. */
function picture(game) {
  const layout = new Layout(game.ruleset), [top, bottom] = layout.tops;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `${layout.left} ${top - EDGE} ${layout.width - 2 * layout.left} ${bottom - top + 2 * EDGE}`);
  svg.setAttribute("class", "mancala");
  svg.setAttribute("aria-hidden", "true");
  const shapes = describe(layout, game).shapes.filter((shape) => shape === layout.board || /^(hole|owned|seed)/.test(shape.name));
  for (const shape of shapes) draw(shape, svg);
  return svg;
}
