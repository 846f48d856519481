/** The playback bar under the board: pause, one seed after another, the last turn again, and the speed. */

import { h, select } from "./dom.js";
import { steps, timelineOf } from "./motion.js";
import { t } from "./texts.js";

const SPEEDS = ["off", "slow", "normal", "fast"];
/** Speed of a turn that is shown again while animations are off: steps without flying seeds. */
const STILL = [0.25, 40];

export class Playback {
  #turn = null; // the turn whose steps are counted
  #length = 0;

  /** @param {object} app @param {import("./board.js").BoardView} board
   * @param {{turn: () => object | undefined, done: () => void}} view  The turn to show again; `done` is called when it has been shown.
   */
  constructor(app, board, { turn, done }) {
    Object.assign(this, { app, board, turn, done });
    const button = (name, text, act) => h("button", { type: "button", "data-does": name, "aria-label": t(`playback.${name}`), title: t(`playback.${name}`), onclick: act }, text);
    this.againButton = button("again", "\u21ba", () => this.again());
    this.pauseButton = button("pause", "\u2016", () => this.pause());
    this.slider = h("input", { type: "range", min: 0, max: 0, value: 0, "data-keeps-arrows": "", "aria-label": t("playback.slider"), oninput: () => this.seek(Number(this.slider.value)) });
    this.speed = select(SPEEDS.map((value) => [value, t(`settings.speed.${value}`)]), "normal", (value) => this.#setSpeed(value));
    this.speed.setAttribute("aria-label", t("settings.speed"));
    this.element = h("div", { class: "playback", role: "group", "aria-label": t("playback.label") }, this.againButton, this.pauseButton, this.slider, this.speed);
    board.onFilm = () => this.draw();
  }

  /** Show the last turn again. */
  again() {
    if (!this.turn()) return this.app.say(t("play.no_turn_yet"));
    return this.#replay(0, !this.app.speed[0]);
  }

  /** Pause or resume the sowing; without one, show the last turn again. */
  pause() {
    const { film } = this.board;
    if (!film) return this.#replay(0, false);
    if (film.isPaused) film.resume();
    else film.pause();
    this.draw();
  }

  /** Show a step of the turn that is being sown, or of the last one, and pause there. The last place is the end of the turn. */
  seek(at) {
    const { film } = this.board;
    if (!this.turn()) return;
    if (film) film.seek(at);
    else if (at < this.#length) this.#replay(Math.max(0, at), true);
  }

  /** One step back or on. */
  step(by) {
    const { film } = this.board;
    if (film || by < 0) this.seek((film ? film.at : this.#length) + by);
  }

  async #replay(at, isPaused) {
    const turn = this.turn();
    if (!turn) return;
    const speed = this.app.speed[0] ? this.app.speed : STILL;
    await this.board.move(turn.before, timelineOf(turn.before, turn.action), turn.after, speed, false, { at, isPaused, isStill: !this.app.speed[0] });
    if (!this.board.isMoving) this.done();
  }

  #setSpeed(value) {
    this.app.set("speed", value);
    if (this.app.speed[0]) this.board.film?.setSpeed(this.app.speed);
    else this.board.skip();
    this.draw();
  }

  /** Show the state of the film; call this after the last turn has changed. */
  draw() {
    const { film } = this.board, turn = this.turn();
    if (film) [this.#turn, this.#length] = [turn, film.steps.length];
    else if (turn !== this.#turn) {
      this.#turn = turn;
      this.#length = turn ? steps(turn.before, timelineOf(turn.before, turn.action)).length : 0;
    }
    this.againButton.disabled = this.pauseButton.disabled = this.slider.disabled = !turn;
    const isRunning = Boolean(film) && !film.isPaused;
    this.pauseButton.textContent = isRunning ? "\u2016" : "\u25b6";
    const name = t(isRunning ? "playback.pause" : "playback.resume");
    for (const attribute of ["aria-label", "title"]) this.pauseButton.setAttribute(attribute, name);
    this.slider.max = this.#length;
    this.slider.value = film ? film.at : this.#length;
    this.slider.setAttribute("aria-valuetext", film && film.at < film.steps.length ? this.board.caption : t("playback.end"));
    this.speed.value = this.app.settings?.speed ?? (this.app.speed[0] ? "normal" : "off");
  }
}
