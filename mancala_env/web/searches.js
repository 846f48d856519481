/** Client of worker.js: sends tasks to the worker and receives progress and results. */

export class Searches {
  #worker;
  #asked = new Map();
  #number = 0;

  constructor() {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.addEventListener("message", ({ data }) => this.#take(data));
    this.#worker.addEventListener("error", (event) => {
      for (const { reject } of this.#asked.values()) reject(new Error(event.message || "the worker failed"));
      this.#asked.clear();
    });
  }

  /** Run a task in worker.js.
   * @param {string} task  One of its TASKS.
   * @param {import("./engine.js").Game | null} game
   * @param {object} [options]  Options of the task.
   * @param {{onProgress?: (found: any) => void, signal?: AbortSignal}} [listening]
   * @returns {Promise<any>}  Rejects with an AbortError if the signal comes first.
   */
  ask(task, game, options = {}, { onProgress, signal } = {}) {
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(aborted());
      this.#asked.set(id, { resolve, reject, onProgress });
      signal?.addEventListener("abort", () => {
        if (!this.#asked.delete(id)) return;
        this.#worker.postMessage({ id, cancel: true });
        reject(aborted());
      });
      this.#worker.postMessage({ id, task, options, position: game && { dials: game.ruleset.dials, text: game.text } });
    });
  }

  close() {
    this.#worker.terminate();
  }

  #take({ id, progress, result, error }) {
    const asked = this.#asked.get(id);
    if (!asked) return;
    if (progress !== undefined) return asked.onProgress?.(progress);
    this.#asked.delete(id);
    if (error !== undefined) asked.reject(new Error(error));
    else asked.resolve(result);
  }
}

export const aborted = () => new DOMException("cancelled", "AbortError");

/** Whether an error means that the caller cancelled the task. */
export const isAbort = (error) => error?.name === "AbortError";
