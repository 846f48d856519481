/**
 * What `mancala serve` adds to the page: trained checkpoints and agents in Python, and a larger solver. Where the page
 * lies on any other server there is none of it, and the page does everything itself.
 */

const AGAIN = 1000; // milliseconds until a lost connection is tried again
const CONNECT = 5000; // milliseconds that a connection may take
const REST = 5000; // milliseconds for which a server that failed is not asked

/** An error of the server's answer: the request is wrong, and no other server would answer it. */
export class Refused extends Error {}

export class Served {
  /** Called when the server answers again after a failure. */
  onReturn = () => {};
  #failure = null; // {at, why}: when the server failed last, and how
  #socket = null;
  #connecting = null;
  #asked = new Map();
  #number = 0;

  /** The server that this page came from, or null where it only hands out files. */
  static async find() {
    try {
      const response = await fetch(new URL("api/about", document.baseURI));
      const about = response.ok ? await response.json() : null; // the file api/about beside the page says null
      return about && new Served(about);
    } catch {
      return null;
    }
  }

  constructor(about) {
    this.about = about;
  }

  /** The agents that only the server has: {agent, checkpoint, label}, as `choose` takes them. */
  get agents() {
    const trained = this.about.checkpoints.map((checkpoint) => ({ agent: "checkpoint", checkpoint, label: checkpoint }));
    return [...trained, ...this.about.agents.map((agent) => ({ agent, label: agent }))];
  }

  /** Ask for an action or for exact values, as Searches.ask does.
   * @param {"choose" | "values"} task
   * @param {import("./engine.js").Game} game
   * @param {{agent?: string, checkpoint?: string, rounds?: number | "match", milliseconds?: number}} options  The rounds of the game.
   * @param {{onProgress?: (found: any) => void, signal?: AbortSignal}} [listening]
   * @returns {Promise<any>}  {action}, or {lower, upper, actions, nodes, isExact, hasEnded}
   */
  async ask(task, game, { agent, checkpoint, rounds, milliseconds } = {}, { onProgress, signal } = {}) {
    const socket = await this.#connected();
    const id = ++this.#number;
    const asked = { id, position: game.text, dials: game.ruleset.dials };
    Object.assign(asked, task === "choose" ? { do: "choose", agent, checkpoint, rounds } : { do: "analyse", seconds: this.#seconds(milliseconds) });
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(aborted());
      this.#asked.set(id, { resolve, reject, onProgress, socket });
      signal?.addEventListener("abort", () => {
        if (!this.#asked.delete(id)) return;
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ id: ++this.#number, do: "cancel", of: id }));
        reject(aborted());
      });
      socket.send(JSON.stringify(asked));
    });
  }

  /** Ask as `ask` does; where the server fails, `own` answers instead.
   *
   * Exact values are the same everywhere, so `own` also answers what the server refuses to analyse. An agent's refusal
   * is an error, such as a network that cannot play a match.
   * @param {(why: string, isNew: boolean) => Promise<any>} own  Called with what went wrong, and whether the last
   *   request was answered.
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
      if (!(error instanceof Resting)) this.#failure = { at: Date.now(), why: error.message };
      return own(error.message, isNew);
    }
  }

  #seconds(milliseconds) {
    return Math.min((milliseconds ?? Infinity) / 1000, this.about.limits.analysis_seconds);
  }

  /** The connection; one that was lost, as when the server was started again, is made anew. */
  async #connected() {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket;
    if (this.#failure && Date.now() - this.#failure.at < REST) throw new Resting(this.#failure.why);
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
          this.#asked.delete(id);
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
    if (answer.error === undefined && !answer.done) return asked.onProgress?.(found);
    this.#asked.delete(answer.id);
    if (answer.error !== undefined) asked.reject(answer.failed ? new Error(answer.error) : new Refused(answer.error));
    else asked.resolve(found);
  }
}

const GONE = "the server is gone";

/** The server failed a moment ago and is not asked. */
class Resting extends Error {}

/** An answer of the server in the words of worker.js. */
function valuesOf({ lower, upper, actions, nodes, exact, done }) {
  const bounds = Object.fromEntries(Object.entries(actions).map(([action, [low, high]]) => [action, { lower: low, upper: high }]));
  return { lower, upper, actions: bounds, nodes, isExact: exact, hasEnded: Boolean(done) };
}

const aborted = () => new DOMException("no longer wanted", "AbortError");
