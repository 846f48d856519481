/** The game that a new one replaced, so that "Undo" brings it back. */

import { t } from "./texts.js";

export class LeftGame {
  #left = null;

  /** @param {import("./play.js").PlayView} view */
  constructor(view) {
    this.view = view;
  }

  /** Whether a game can be brought back: no turn of the new one has been played. */
  get isThere() {
    return this.#left !== null && !this.view.line.turns.length && this.view.line !== this.#left.line;
  }

  /** Remember the running game, if it has turns; call this before another one begins. */
  keep() {
    const { line, players, saved } = this.view;
    this.#left = line?.turns.length ? { line, players, saved: saved.current } : null;
  }

  /** Offer to undo the start of the new game. @param {string} text  What has happened. */
  offer(text) {
    if (!this.isThere) return;
    this.view.app.tell(`${text} ${t("play.left")}`, false, { label: t("play.undo"), act: () => this.undo() });
  }

  undo() {
    if (!this.isThere) return;
    const { line, players, saved } = this.#left;
    this.#left = null;
    this.view.begin(line, players, saved);
    this.view.app.tell("", false);
    this.view.app.say(`${t("play.back")} ${this.view.status.textContent}`);
    this.view.board.focus();
  }
}
