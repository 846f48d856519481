/**
 * Client of `mancala serve`, which adds checkpoints, Python agents and a larger solver to the page. On any other file
 * server the page does everything itself.
 */

import { aborted } from "./searches.js";

const AGAIN = 1000; // milliseconds until the next attempt to reconnect
const CONNECT = 5000; // milliseconds; timeout of a connection
const REST = 5000; // milliseconds for which a failed server is not asked
// Milliseconds until a silent server counts as failed, and for which it is then not asked for an analysis. A server
// reports on an analysis about every second, unless it first compiles kernels.
const SILENCE = 60_000;

/** The server rejected the request as invalid. */
export class Refused extends Error {}

export class Served {
  /** Called when the server answers again after a failure. */
  onReturn = () => {};
  #failure = null; // {at, why, isSilent}: time and reason of the last failure
  #socket = null;
  #connecting = null;
  #asked = new Map();
  #number = 0;

  /** Return a client of this page's server, or null if that is a plain file server. */
  static async find() {
    try {
      const response = await fetch(new URL("api/about", document.baseURI));
      const about = response.ok ? await response.json() : null; // a plain file server has a file api/about that holds null
      return about && new Served(about);
    } catch {
      return null;
    }
  }

  constructor(about) {
    this.about = about;
  }

  /** The agents that only the server has: {agent, checkpoint, label}, options of the task `choose`. */
  get agents() {
    const trained = this.about.checkpoints.map((checkpoint) => ({ agent: "checkpoint", checkpoint, label: checkpoint }));
    return [...trained, ...this.about.agents.map((agent) => ({ agent, label: agent }))];
  }

  /** Ask for an action or for exact values, as Searches.ask does.
   * @param {"choose" | "values"} task
   * @param {import("./engine.js").Game} game
   * @param {{agent?: string, checkpoint?: string, rounds?: number | "match", milliseconds?: number}} options  Options; `rounds` is the game's number of rounds.
   * @param {{onProgress?: (found: any) => void, signal?: AbortSignal}} [listening]
   * @returns {Promise<any>}  {action}, or {lower, upper, actions, nodes, isExact, hasEnded}. Exact values are rejected
   *   if the server sends nothing for a minute.
   */
  async ask(task, game, { agent, checkpoint, rounds, milliseconds } = {}, { onProgress, signal } = {}) {
    const socket = await this.#connected(task);
    const id = ++this.#number;
    const asked = { id, position: game.text, dials: game.ruleset.dials };
    Object.assign(asked, task === "choose" ? { do: "choose", agent, checkpoint, rounds } : { do: "analyse", seconds: this.#seconds(milliseconds) });
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(aborted());
      const cancel = (error) => {
        if (!this.#forget(id)) return;
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id: ++this.#number, do: "cancel", of: id }));
        reject(error);
      };
      const onSilence = task === "values" ? () => cancel(new Silent()) : null;
      this.#asked.set(id, { resolve, reject, onProgress, onSilence, socket });
      this.#wait(id);
      signal?.addEventListener("abort", () => cancel(aborted()));
      socket.send(JSON.stringify(asked));
    });
  }

  /** Ask as `ask` does. If the server fails, call `own` instead.
   *
   * Exact values do not depend on who computes them, so `own` also answers positions that the server refuses. A refusal
   * by an agent is an error: for example, a network that cannot play a match.
   * @param {(why: string, isNew: boolean) => Promise<any>} own  Called with the reason, and whether the server
   *   worked until now.
   */
  async askOr(own, task, game, options, listening = {}) {
    try {
      const found = await this.ask(task, game, options, listening);
      if (this.#failure) this.onReturn();
      this.#failure = null;
      return found;
    } catch (error) {
      if (listening.signal?.aborted) throw aborted();
      if (error instanceof Refused && task === "choose") throw error;
      const isNew = !this.#failure;
      if (!(error instanceof Resting)) this.#failure = { at: Date.now(), why: error.message, isSilent: error instanceof Silent };
      return own(error.message, isNew);
    }
  }

  /** Wait for the next message about a request. */
  #wait(id) {
    const asked = this.#asked.get(id);
    clearTimeout(asked.late);
    if (asked.onSilence) asked.late = setTimeout(asked.onSilence, SILENCE);
  }

  /** Stop waiting for a request; returns undefined if it has been answered. */
  #forget(id) {
    const asked = this.#asked.get(id);
    clearTimeout(asked?.late);
    this.#asked.delete(id);
    return asked;
  }

  #seconds(milliseconds) {
    return Math.min((milliseconds ?? Infinity) / 1000, this.about.limits.analysis_seconds);
  }

  /** The connection. Reconnect if it was lost, for example because the server restarted. */
  async #connected(task) {
    const isOpen = this.#socket?.readyState === WebSocket.OPEN, isSilent = task === "values" && this.#failure?.isSilent;
    if (isOpen && !isSilent) return this.#socket;
    if (this.#failure && Date.now() - this.#failure.at < (isSilent ? SILENCE : REST)) throw new Resting(this.#failure.why);
    if (isOpen) return this.#socket;
    for (let tries = 0; ; tries++) {
      try {
        return await (this.#connecting ??= this.#connect().finally(() => (this.#connecting = null)));
      } catch (error) {
        if (tries === 2 || this.#failure) throw error;
        await new Promise((resolve) => setTimeout(resolve, AGAIN));
      }
    }
  }

  #connect() {
    const address = new URL("api/session", document.baseURI);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => socket.close(), CONNECT);
      socket.onopen = () => {
        clearTimeout(late);
        this.#socket = socket;
        resolve(socket);
      };
      socket.onmessage = ({ data }) => this.#take(JSON.parse(data));
      socket.onclose = () => {
        clearTimeout(late);
        for (const [id, asked] of this.#asked) {
          if (asked.socket !== socket) continue;
          this.#forget(id);
          asked.reject(new Error(GONE));
        }
        reject(new Error(GONE));
      };
    });
  }

  #take(answer) {
    const asked = this.#asked.get(answer.id);
    if (!asked) return;
    const found = answer.actions === undefined ? answer : valuesOf(answer);
    if (answer.error === undefined && !answer.done) {
      this.#wait(answer.id);
      return asked.onProgress?.(found);
    }
    this.#forget(answer.id);
    if (answer.error !== undefined) asked.reject(answer.failed ? new Error(answer.error) : new Refused(answer.error));
    else asked.resolve(found);
  }
}

const GONE = "the server is gone";

/** The server is connected and sends nothing. */
class Silent extends Error {
  message = "the server does not answer";
}

/** The server failed recently and is not asked. */
class Resting extends Error {}

/** Convert an answer of the server to the format of worker.js. */
function valuesOf({ lower, upper, actions, nodes, exact, done }) {
  const bounds = Object.fromEntries(Object.entries(actions).map(([action, [low, high]]) => [action, { lower: low, upper: high }]));
  return { lower, upper, actions: bounds, nodes, isExact: exact, hasEnded: Boolean(done) };
}
