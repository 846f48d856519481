/** Client of worker.js: sends tasks to the worker and receives progress and results. */

import { t } from "./texts.js";

export class Searches {
  #worker = this.#start();
  #asked = new Map();
  #number = 0;

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
      this.#worker ??= this.#start();
      this.#asked.set(id, { resolve, reject, onProgress });
      signal?.addEventListener("abort", () => {
        if (!this.#asked.delete(id)) return;
        this.#worker?.postMessage({ id, cancel: true });
        reject(aborted());
      });
      this.#worker.postMessage({ id, task, options, position: game && { dials: game.ruleset.dials, text: game.text } });
    });
  }

  close() {
    this.#worker?.terminate();
  }

  #start() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }) => this.#take(data));
    worker.addEventListener("error", (event) => {
      worker.terminate();
      this.#worker = null; // the next task starts another; this one may not have been loaded
      for (const { reject } of this.#asked.values()) reject(new Error(event.message || t("app.worker")));
      this.#asked.clear();
    });
    return worker;
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
