/** The game that a new one replaced, so that "Undo" brings it back. */

import { t } from "./texts.js";

export class LeftGame {
  #left = null;

  /** @param {import("./play.js").PlayView} view */
  constructor(view) {
    this.view = view;
  }

  /** Whether a game can be brought back. */
  get isThere() {
    return this.#left !== null;
  }

  /** Remember the running game if it has turns and the next one is without; call this before the next one begins. */
  keep(next) {
    const { line, players, saved } = this.view;
    this.#left = line?.turns.length && !next.turns.length ? { line, players, saved: saved.current } : null;
  }

  /** Forget the game, because the user plays the new one. */
  forget() {
    if (this.isThere) this.view.app.tell("", false);
    this.#left = null;
  }

  /** Offer to undo the start of the new game. */
  offer() {
    if (!this.isThere) return;
    const begun = t("play.begun", { title: this.view.line.ruleset.title });
    this.view.app.tell(`${begun} ${t("play.left")}`, false, { label: t("play.undo"), act: () => this.undo() });
  }

  undo() {
    if (!this.isThere) return;
    const { line, players, saved } = this.#left;
    this.forget();
    this.view.begin(line, players, saved);
    this.view.app.say(`${t("play.back")} ${this.view.status.textContent}`);
    this.view.board.focus();
  }
}
