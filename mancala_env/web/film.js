/** The steps of a turn while they are shown: a film runs, pauses, jumps to any step and changes its pace. */

export class Film {
  /** The step that is shown. */
  at = 0;
  isStopped = false;
  #isPaused;
  #hasJumped = false;
  #wake = () => {};

  /** @param {{seconds: number, start: number}[]} steps  As {@link steps} of motion.js returns them.
   * @param {[number, number]} speed  Seconds that a seed takes to fall in these steps, and most seconds of the turn.
   * @param {(step: object, seconds: number, isJump: boolean) => void} show  Draws a step. @param {{at?: number, isPaused?: boolean}} [start]
   */
  constructor(steps, speed, show, { at = 0, isPaused = false } = {}) {
    Object.assign(this, { steps, seedSeconds: speed[0], show, at });
    this.setSpeed(speed);
    this.#isPaused = isPaused;
    this.#hasJumped = at > 0;
  }

  get isPaused() {
    return this.#isPaused;
  }

  /** Show the steps. Resolves at the end, or when the film is stopped. @param {boolean} isPressed  Whether the first seed falls at once. */
  async run(isPressed) {
    while (this.at < this.steps.length && !this.isStopped) {
      const step = this.steps[this.at], isJump = this.#hasJumped;
      this.#hasJumped = false;
      this.show(step, isJump ? 0 : this.pace * step.seconds, isJump);
      if (this.at > 0 || !isPressed) await this.#wait(this.#isPaused ? Infinity : this.pace * step.seconds);
      while (this.#isPaused && !this.isStopped && !this.#hasJumped) await this.#wait(Infinity);
      if (!this.#hasJumped) this.at += 1;
    }
  }

  pause() {
    this.#isPaused = true;
  }

  resume() {
    this.#isPaused = false;
    this.#wake();
  }

  /** Show a step and pause there; past the last one, the film ends. */
  seek(at) {
    this.#isPaused = true;
    this.#hasJumped = true;
    this.at = Math.max(0, at);
    this.#wake();
  }

  /** Change the pace. @param {[number, number]} speed  Seconds that a seed takes to fall, and most seconds of a turn. */
  setSpeed([seedSeconds, most]) {
    this.pace = Math.min(seedSeconds / this.seedSeconds, most / this.steps.at(-1).start);
  }

  stop() {
    this.isStopped = true;
    this.#wake();
  }

  #wait(seconds) {
    if (this.isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = Number.isFinite(seconds) ? setTimeout(resolve, 1000 * seconds) : null;
      this.#wake = () => {
        if (timer !== null) clearTimeout(timer);
        resolve();
      };
    });
  }
}
