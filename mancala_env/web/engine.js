/**
 * The package's kernels in JavaScript: games, searches and exact values, in a browser, a worker or node.
 *
 *     import { Engine } from "./engine.js";
 *     const engine = await Engine.fetch();              // in node: Engine.load(bytes, description)
 *     const game = engine.newGame("layli_goobalay");
 *     game.legal;                                       // [0, 1, 2, 3, 4, 5]
 *     game.play(2);                                     // {player: 0, action: 2, laps: 5, captured: 7, ...}
 *     const search = engine.minimax(game, { depth: 6 });
 *     while (!search.goOn(20)) { ... }                  // 20 ms at a time; stop whenever you like
 *     search.result.action;
 *     search.close();
 *
 * It holds no rules: the kernels do. Its parts are in engine/; import this module, not the parts. Every call is
 * synchronous. Work of more than a few milliseconds is a {@link Search}, which runs in slices. Run searches in a worker.
 *
 * Terms: a *hole* is 0 to H-1 in sowing order, 0 to W-1 South's row; an *action* is a hole seen from the player to
 * move; players are 0 (South) and 1 (North). docs/reference/rules.md has the rest.
 */

import { Game, PLAYERS } from "./engine/game_state.js";
import { InvalidInput, refuseFinished, wholeNumbers } from "./engine/input.js";
import { anySeed, Kernels } from "./engine/kernels.js";
import { mcts } from "./engine/mcts.js";
import { Minimax } from "./engine/minimax.js";
import { parsePosition, wordsOf } from "./engine/position_text.js";
import { Ruleset } from "./engine/ruleset.js";
import { Search } from "./engine/search.js";
import { Solver } from "./engine/solver.js";
import { readValueNetwork } from "./engine/value_network.js";

export { Game, InvalidInput, PLAYERS, Ruleset, Search, Solver, wordsOf };

/** @typedef {import("./engine/ruleset.js").Dials} Dials */
/** @typedef {import("./engine/value_network.js").ValueNetwork} ValueNetwork */

/** The kernels and their memory. Engines in one page share nothing. */
export class Engine {
  #minimax;

  /**
   * @param {BufferSource | WebAssembly.Module} wasm  mancala.wasm.
   * @param {object} description  mancala.json.
   * @returns {Promise<Engine>}
   */
  static async load(wasm, description) {
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm);
    return new Engine(await WebAssembly.instantiate(module, {}), description);
  }

  /** Load mancala.wasm and mancala.json from this module's folder or another one.
   * @param {string | URL} [folder]
   * @returns {Promise<Engine>}
   */
  static async fetch(folder = new URL(".", import.meta.url)) {
    const [wasm, description] = await Promise.all(
      ["mancala.wasm", "mancala.json"].map(async (name) => {
        const response = await fetch(new URL(name, folder));
        if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
        return name.endsWith(".json") ? response.json() : response.arrayBuffer();
      }),
    );
    return Engine.load(wasm, description);
  }

  /** Use {@link Engine.load}. */
  constructor(instance, description) {
    this.description = description;
    /** For the engine's own modules. */
    this.kernels = new Kernels(instance);
    this.#minimax = new Minimax(this.kernels);
    /** The catalogue: rulesets from written sources, then Ludii's. @type {Ruleset[]} */
    this.rulesets = description.rulesets.map((dials) => new Ruleset(dials, description));
  }

  /** The rule options and their values: `{name, choices}` or `{name, least, most}`. */
  get dials() {
    return this.description.dials;
  }

  /** @param {string} name  A ruleset of the catalogue. @returns {Ruleset} */
  ruleset(name) {
    const found = this.rulesets.find((ruleset) => ruleset.name === name);
    if (!found) throw new InvalidInput(`unknown ruleset "${name}"${this.#similar(String(name))}`);
    return found;
  }

  /** A question that suggests the ruleset whose name begins like an unknown one; "" if none does. */
  #similar(name) {
    const begins = (length) => this.rulesets.find((ruleset) => name.length >= length && ruleset.name.startsWith(name.slice(0, length)));
    const found = begins(name.length) ?? begins(5) ?? begins(3);
    return found && name.length >= 3 ? `; did you mean "${found.name}"?` : "";
  }

  /** Return a custom ruleset. Rule options that are not given are those of Layli Goobalay with single rounds.
   * @param {Partial<Dials>} dials
   * @returns {Ruleset}
   */
  ownRuleset(dials) {
    return new Ruleset({ ...this.description.defaults, ...dials }, this.description);
  }

  /** Start a match.
   * @param {string | Ruleset} ruleset
   * @param {{starter?: 0 | 1}} [options]
   * @returns {Game}
   */
  newGame(ruleset, { starter = 0 } = {}) {
    wholeNumbers("starter", [starter], 1, 0, 1);
    const game = this.#blank(ruleset);
    this.kernels.call(game, (rules, row) => this.kernels.wasm.start(rules, row, starter), true);
    return game;
  }

  /** Set up a position, as `Position` of the Python package does.
   * @param {string | Ruleset} ruleset
   * @param {{seeds: number[], owner?: number[], stores?: number[], player?: 0 | 1, stall?: number,
   *          territory?: number[], round?: number, starter?: 0 | 1, debts?: number[], endless?: boolean}} position
   *   Arrays are indexed by hole. An owner is -1 (free hole), 0 (South) or 1 (North), a territory 0 or 1.
   * @returns {Game}
   */
  setUp(ruleset, position) {
    const game = this.#blank(ruleset);
    const { numHoles, rowWidth } = game.ruleset;
    const own = Array.from({ length: numHoles }, (_, hole) => (hole < rowWidth ? 0 : 1));
    const { seeds, owner = own.map(() => -1), territory = own, stores = [0, 0], debts = [0, 0] } = position;
    wholeNumbers("seeds", seeds, numHoles, 0, 255);
    wholeNumbers("owner", owner, numHoles, -1, 1);
    wholeNumbers("territory", territory, numHoles, 0, 1);
    wholeNumbers("stores", stores, 2, 0, 255);
    wholeNumbers("debts", debts, 2, 0, 255);
    const { player = 0, stall = 0, round = 1, starter = 0, endless = false } = position;
    wholeNumbers("player", [player], 1, 0, 1);
    wholeNumbers("stall", [stall], 1, 0, this.description.stall_limit);
    wholeNumbers("round", [round], 1, 1, 2 ** 31 - 1);
    wholeNumbers("starter", [starter], 1, 0, 1);
    game.write({ seeds, owner, territory, stores, debts, player, stall, round, starter });
    this.kernels.call(game, (rules, row) => this.kernels.wasm.settle(rules, row), true);
    if (endless) game.write({ end: this.description.ends.indexOf("endless"), player });
    const wrong = this.kernels.call(game, (rules, row) => this.kernels.wasm.what_is_wrong(rules, row));
    if (wrong) throw new InvalidInput(this.description.wrongs[wrong]);
    return game;
  }

  /** Read a position from the text that `Game.text` and the Python package write.
   * @param {string} text
   * @param {Ruleset} [ruleset]  The ruleset, if the text names one that is not in the catalogue.
   * @returns {Game}
   */
  fromText(text, ruleset) {
    const { name, ...position } = parsePosition(text);
    if (ruleset && ruleset.name !== name) throw new InvalidInput(`the text is of ruleset "${name}", not of "${ruleset.name}"`);
    return this.setUp(ruleset ?? name, position);
  }

  /** Play a number of random turns, match after match: for tests and to measure the speed.
   * @param {Game} game  Changed to the final position. @param {bigint} seed @param {number} turns
   * @returns {bigint}  The state of the random generator at the end.
   */
  playRandom(game, seed, turns) {
    refuseFinished(game);
    const { kernels } = this;
    const played = (rules, row, random) => {
      kernels.writeRandom(random, seed);
      kernels.wasm.play_random(rules, row, random, turns);
      return kernels.uint32(random, 2).reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
    };
    return kernels.call(game, played, true);
  }

  /** A random legal action. @param {Game} game @param {bigint | number} [seed] @returns {number} */
  random(game, seed = anySeed()) {
    return this.#choose(game, seed, this.kernels.wasm.choose_random);
  }

  /** The action after which the player who moved leads by the most seeds; ties are broken at random.
   * @param {Game} game @param {bigint | number} [seed] @returns {number}
   */
  greedy(game, seed = anySeed()) {
    return this.#choose(game, seed, this.kernels.wasm.choose_greedy);
  }

  #choose(game, seed, kernel) {
    refuseFinished(game);
    return this.kernels.call(game, (rules, row, random) => {
      this.kernels.writeRandom(random, seed);
      return kernel(rules, row, random);
    });
  }

  /** Alpha-beta search to a depth, or deeper and deeper until you stop it.
   *
   * `result`: `{action, depth, nodes, value, values}`; with the option `values: true`,
   * `values` maps each legal action to its value in seeds. Searches of one ruleset, depth and network share a table:
   * run only one of them at a time. The four tables that were used last are kept, so a search after four others is refused.
   *
   * @param {Game} game
   * @param {{depth?: number, values?: boolean, network?: ValueNetwork, seed?: bigint | number}} [options]  Without
   *   `depth`, the search deepens one turn at a time until it reaches the end of the round on every line.
   * @returns {Search}
   */
  minimax(game, options) {
    return this.#minimax.start(game, options);
  }

  /** Monte Carlo tree search, for a number of simulations or until you stop it.
   *
   * `result`: `{action, simulations, visits, values}`; the last two map each legal action to its number of
   * visits and to its mean reward for the player to move, -1 to 1. Close the search when you are done with it.
   *
   * @param {Game} game
   * @param {{simulations?: number, megabytes?: number, seed?: bigint | number}} [options]  Once the tree takes
   *   `megabytes` (default 40), it stops growing, and simulations start their rollouts at its leaves.
   * @returns {Search}
   */
  mcts(game, options) {
    return mcts(this.kernels, game, options);
  }

  /** Return a solver for a ruleset. Its table of proofs is shared by all positions that it solves.
   * @param {string | Ruleset} ruleset
   * @param {{megabytes?: number}} [options]  Maximum size of the table, rounded down to a power of two.
   * @returns {Solver}
   */
  solver(ruleset, { megabytes = 64 } = {}) {
    return new Solver(this.kernels, this.#known(ruleset), megabytes);
  }

  /** Load a value network for {@link Engine#minimax}. The bytes are a bundled file or one of `mancala grow-value`
   * (safetensors files that name their ruleset), or the numbers of a checkpoint's `value_network.f32`.
   * @param {ArrayBuffer | Uint8Array} bytes
   * @param {Ruleset} [ruleset]  The ruleset it was fitted to, if the file does not name it.
   * @returns {ValueNetwork}
   */
  valueNetwork(bytes, ruleset) {
    return readValueNetwork(this, bytes, ruleset);
  }

  #blank(ruleset) {
    return new Game(this, this.#known(ruleset), new Uint32Array(this.description.layout.game_bytes / 4));
  }

  #known(ruleset) {
    return typeof ruleset === "string" ? this.ruleset(ruleset) : ruleset;
  }
}
