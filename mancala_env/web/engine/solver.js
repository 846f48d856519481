/** Exact values of positions. A solver keeps its proofs in a table, which later positions use. */

import { InvalidInput, sizeInMegabytes } from "./input.js";
import { Search } from "./search.js";

/** Computes exact values of positions of one ruleset; see {@link Engine#solver}. */
export class Solver {
  #kernels;
  #tableBits;
  #block;
  #nodes = 0;
  #current = 0;

  /** Use {@link Engine#solver}. */
  constructor(kernels, ruleset, megabytes) {
    sizeInMegabytes(megabytes);
    /** @type {import("./ruleset.js").Ruleset} */
    this.ruleset = ruleset;
    this.#kernels = kernels;
    this.#tableBits = Math.max(4, Math.floor(Math.log2((megabytes * 2 ** 20) / 64)));
    this.#block = kernels.take(kernels.wasm.solver_bytes(kernels.writeRules(ruleset), this.#tableBits));
  }

  /** Narrow the bounds of a position and of its actions until they are exact, as `Solver.solve` of the Python package does.
   *
   * `result`: `{lower, upper, bounds, isExact, nodes, action, best}`. `lower` and `upper` bound the position's
   * value. `bounds` maps each legal action to `[lower, upper]` of its value, equal once it is proved. `action` is the
   * action being proved, or null while the position is. `best` holds the actions that may be best. A value is the
   * final count of the player to move minus the opponent's, in seeds, with stores counted from zero at the position.
   *
   * A solver studies one position at a time: the next `study` replaces this one. Proofs stay in the table.
   *
   * @param {Game} game
   * @param {{all?: boolean}} [options]  `all: false` is faster: it only finds the actions that keep the position's value.
   * @returns {Search}
   */
  study(game, { all = true } = {}) {
    if (game.ruleset.rules.join() !== this.ruleset.rules.join())
      throw new InvalidInput(`this solver is for ${this.ruleset.name}, not for ${game.ruleset.name}`);
    if (this.#current < 0) throw new InvalidInput("this solver is closed");
    const root = game.copy();
    const { legal } = root;
    const before = this.#nodes;
    const mine = ++this.#current;
    const result = { lower: 0, upper: 0, bounds: {}, isExact: false, nodes: 0, action: null, best: [] };
    const goOn = (nodes) => {
      if (mine !== this.#current) throw new InvalidInput("this study was replaced by a later one");
      const { done, said } = this.#goOn(root, all, nodes);
      this.#nodes = said[0];
      result.nodes = this.#nodes - before;
      [result.lower, result.upper] = [said[2], said[3]];
      result.action = said[1] > 0 && !done ? said[1] - 1 : null;
      const bounds = legal.map((action) => [action, [said[4 + 2 * action], said[5 + 2 * action]]]);
      result.bounds = Object.fromEntries(bounds);
      result.isExact = result.lower === result.upper && bounds.every(([, [lower, upper]]) => lower === upper);
      const ahead = bounds.map(([action, [lower, upper]]) => ({ action, lower, upper }));
      ahead.sort((a, b) => b.lower - a.lower || b.upper - a.upper || a.action - b.action);
      result.best = ahead
        .filter(({ lower, upper }) => lower === ahead[0].lower && upper === ahead[0].upper)
        .map(({ action }) => action);
      if (done) result.best = bounds.filter(([, [lower]]) => lower >= result.lower).map(([action]) => action);
      return done;
    };
    this.#kernels.call(root, (rules, row) => this.#kernels.wasm.solver_start(rules, row, this.#tableBits, this.#block));
    const search = new Search(goOn, result, { first: 200, most: 1 << 20 });
    goOn(0); // bounds that need no search
    return search;
  }

  #goOn(game, all, nodes) {
    return this.#kernels.call(game, (rules, _row, _random, out) => {
      const done = this.#kernels.wasm.solver_go_on(rules, all ? 1 : 0, nodes, this.#tableBits, this.#block, out);
      return { done, said: this.#kernels.float64(out, 4 + 2 * this.ruleset.numHoles) };
    });
  }

  /** Release the memory. */
  close() {
    if (this.#current < 0) return;
    this.#current = -1;
    this.#kernels.giveBack(this.#block);
  }
}
