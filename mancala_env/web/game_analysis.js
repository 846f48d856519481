/** The values of a game's positions: searches for them in workers or on the server, and what has been found so far. */

import { keyOfRules } from "./networks.js";
import { isAbort, Searches } from "./searches.js";
import { bestOf, boundsOf, leadOf, lostBy, narrowed } from "./values.js";

/** The searches of {@link GameAnalysis#analyse}. */
const ALL = ["book", "exact", "search", "mcts", "network"];
const EXACT_MILLISECONDS = 120_000, SEARCH_MILLISECONDS = 1500, GRADE_MILLISECONDS = 4000;

/** The analysis that all views of a page share. @returns {GameAnalysis} */
export const sharedAnalysis = (app) => (app.analysis ??= new GameAnalysis(app));

export class GameAnalysis {
  #known = new Map(); // values found so far, by the rules and the position's text: {exact, book, search, mcts, network}
  #lookups = new Set(); // what is known of the positions that are being looked up in the book
  #current = null; // cancels the searches of one position
  #grading = null; // cancels the solving of a game's positions

  constructor(app) {
    this.app = app;
    const prover = new Searches();
    this.prover = app.served ? { ask: (...asked) => app.askServer(...asked, () => prover.ask(...asked)) } : prover; // the server has a larger table
    this.searcher = new Searches();
    this.grader = new Searches();
  }

  /** Values found for a position: {exact, book, search, mcts, network}, each as worker.js reports it. */
  of(game) {
    const key = `${game.ruleset.rules} ${game.text}`; // all custom rules have the name "custom"
    if (!this.#known.has(key)) this.#known.set(key, {});
    return this.#known.get(key);
  }

  /** Bounds of each action's value, from proofs and the opening book. */
  bounds(game) {
    return boundsOf(this.of(game));
  }

  /** The best actions; empty while they are not known. */
  best(game) {
    return bestOf(game, this.bounds(game));
  }

  /** Bounds of South's final lead from a position: {lower, upper}; null if none are known. */
  lead(game) {
    return leadOf(game, this.of(game));
  }

  /** Seeds that a turn loses compared with the best one; undefined if not known. */
  lost(turn) {
    return lostBy(turn, this.bounds(turn.before));
  }

  /** Analyse a position in place of the one before; calls `onFound` whenever more is known.
   * @param {import("./engine.js").Game} game @param {() => void} onFound
   * @param {{names?: string[], milliseconds?: number}} [options]  The searches to run, and the time for exact values.
   */
  async analyse(game, onFound, { names = ALL, milliseconds = EXACT_MILLISECONDS } = {}) {
    this.stopAnalysis();
    const known = this.of(game);
    const analysis = new AbortController(), { signal } = analysis;
    this.#current = analysis;
    if (game.isOver) return;
    const take = (name, isPartial = false) => (found) => {
      known[name] = name === "exact" ? narrowed(found, known.exact) : { ...found, isPartial };
      onFound();
    };
    const ask = async (searches, name, task, options) => {
      try {
        take(name)(await searches.ask(task, game, options, { signal, onProgress: take(name, true) }));
      } catch (error) {
        const isOptional = name === "book" || name === "network"; // needs files that cannot be loaded without the server
        if (!isAbort(error) && !isOptional) this.app.warn(error.message);
      }
    };
    const network = this.app.networks.get(keyOfRules(game.ruleset)) ?? "bundled";
    if (known.usedNetwork !== network) delete known.network; // the user has opened another one since
    known.usedNetwork = network;
    const isOpen = (name) => names.includes(name) && (!known[name] || known[name].isPartial) && !signal.aborted;
    if (isOpen("book")) ask(this.searcher, "book", "book", {});
    if (!known.exact?.isExact) ask(this.prover, "exact", "values", { milliseconds });
    if (isOpen("search")) await ask(this.searcher, "search", "minimax", { milliseconds: SEARCH_MILLISECONDS });
    if (isOpen("mcts")) await ask(this.searcher, "mcts", "mcts", { milliseconds: SEARCH_MILLISECONDS });
    if (isOpen("network")) await ask(this.searcher, "network", "minimax", { milliseconds: SEARCH_MILLISECONDS, network });
  }

  /** Grade a game: look its first positions up in the opening book, then solve the others, the last one first, because late
   * positions are quick to solve. Calls `onFound` whenever more is known. Resolves to whether it has ended: with all turns tried,
   * or with an error, which is shown; false if it was cancelled. */
  async grade(line, onFound) {
    this.#grading?.abort();
    const grading = new AbortController(), { signal } = grading;
    this.#grading = grading;
    const turns = [...line.turns];
    try {
      await this.#lookUp(turns, signal, onFound);
      for (const turn of turns.reverse()) {
        const known = this.of(turn.before);
        if (known.exact?.isExact || known.exact?.hasEnded || this.lost(turn) !== undefined) continue;
        await this.#solve(turn.before, GRADE_MILLISECONDS, signal);
        onFound();
      }
      return true;
    } catch (error) {
      if (isAbort(error)) return false;
      this.app.warn(error.message);
      return true;
    }
  }

  /** Look for exact values of a position: in the opening book, then by the solver for a time. */
  async prove(game, milliseconds, signal) {
    await this.#lookUp([{ before: game }], signal, () => {});
    if (!this.best(game).length) await this.#solve(game, milliseconds, signal);
  }

  async #solve(game, milliseconds, signal) {
    const known = this.of(game);
    known.exact = narrowed(await this.grader.ask("values", game, { milliseconds }, { signal }), known.exact);
  }

  /** Look the positions of turns up in the opening book, until a position is not in it. */
  async #lookUp(turns, signal, onFound) {
    for (const { before } of turns) {
      const known = this.of(before);
      try {
        known.book ??= await this.grader.ask("book", before, {}, { signal });
      } catch (error) {
        if (isAbort(error)) throw error;
        return; // the book is a file that cannot be loaded without the server
      }
      if (!Object.keys(known.book.values).length) return;
      onFound();
    }
  }

  /** Look a position up in the opening book, once. Returns whether that gave new values. */
  async lookUp(game) {
    const known = this.of(game);
    if (known.book || this.#lookups.has(known)) return false;
    this.#lookups.add(known);
    try {
      known.book = await this.searcher.ask("book", game);
    } catch {
      return false; // the book is a file that cannot be loaded without the server
    } finally {
      this.#lookups.delete(known);
    }
    return Object.keys(known.book.values).length > 0;
  }

  /** Stop the searches of the current position. */
  stopAnalysis() {
    this.#current?.abort();
  }

  /** Stop all searches. */
  stop() {
    this.stopAnalysis();
    this.#grading?.abort();
  }
}
