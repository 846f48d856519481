/** A running search, which works in slices so that a page or a worker can do other things in between. */

/** A running search. */
export class Search {
  #goOn;
  #piece;
  #most;
  #close;

  /** Use the methods of {@link Engine}. */
  constructor(goOn, result, { first, most, close = () => {} }) {
    this.#goOn = goOn;
    this.#piece = first;
    this.#most = most;
    this.#close = close;
    /** The result so far; every slice updates it. */
    this.result = result;
    /** Whether the search is finished. */
    this.isDone = false;
  }

  /** Continue the search for about a number of milliseconds; returns whether it is finished.
   * @param {number} [milliseconds]  Infinity runs to the end.
   * @returns {boolean}
   */
  goOn(milliseconds = 20) {
    const end = performance.now() + milliseconds;
    while (!this.isDone) {
      const started = performance.now();
      this.isDone = this.#goOn(this.#piece) === 1;
      const now = performance.now();
      if (now >= end) break;
      // Aim at about two milliseconds per piece, so that no slice takes much longer than allowed.
      const change = Math.min(2, Math.max(1 / 8, 2 / Math.max(now - started, 1e-3)));
      this.#piece = Math.max(1, Math.min(this.#most, Math.round(this.#piece * change)));
    }
    return this.isDone;
  }

  /** Run in slices, with other work of the page in between. Resolves with `result` when finished, out of time or cancelled.
   * @param {{milliseconds?: number, slice?: number, signal?: AbortSignal, onSlice?: (result: object) => void}} [options]
   */
  async run({ milliseconds = Infinity, slice = 20, signal, onSlice } = {}) {
    const end = performance.now() + milliseconds;
    while (!signal?.aborted && !this.goOn(Math.min(slice, end - performance.now())) && performance.now() < end) {
      onSlice?.(this.result);
      await new Promise((resolve) => setTimeout(resolve));
    }
    return this.result;
  }

  /** Release the memory. */
  close() {
    this.isDone = true;
    this.#close();
    this.#close = () => {};
  }
}
