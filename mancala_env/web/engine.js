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
 * This module holds no rules: the kernels do. Every call is synchronous. Work of more than a few milliseconds is a
 * {@link Search}, which runs in slices. Run searches in a worker.
 *
 * Terms: a *hole* is 0 to H-1 in sowing order, 0 to W-1 South's row; an *action* is a hole seen from the player to
 * move; players are 0 (South) and 1 (North). docs/reference/rules.md has the rest.
 */

/** @typedef {Object} Turn  The result of a turn.
 * @property {number} player  The player who moved.
 * @property {number} action
 * @property {number} laps  Laps sown, 1 to 1000.
 * @property {number} captured  Seeds that went to the player's store.
 * @property {number[]} newOwned  Holes that the player owns from now on, in hole order.
 * @property {boolean} endless  Whether the relay was endless. Then every seed was put back, and the round is over.
 */

/** @typedef {Object} Dials  The rule options of a ruleset. `Engine.dials` lists the values of each.
 * @property {string} [name]  One word.
 * @property {string} [title]
 * @property {number} row_width
 * @property {number} seeds_per_hole
 * @property {string} direction
 * @property {string} landing
 * @property {boolean} captures_last
 * @property {string} owns_on
 * @property {boolean} ransoms_empty
 * @property {string} round_end
 * @property {string} match
 * @property {string} opening
 */

export const PLAYERS = ["South", "North"];
const LETTERS = "SN";
const LINE = 64; // bytes; allocations are aligned to cache lines
const SCRATCH_BYTES = 2048; // rules, a game, a generator, and at most 54 numbers

/** Invalid input: a position, ruleset or action. The message says what is valid. */
export class InvalidInput extends Error {}

/** The kernels and their memory. Engines in one page share nothing. */
export class Engine {
  #wasm;
  #bytes; // views of the memory, replaced when it grows
  #heap;
  #scratch;
  #minimaxBlocks = new Map();
  #networks = 0;

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
    this.#wasm = instance.exports;
    this.description = description;
    this.#heap = new Heap(this.#wasm);
    this.#scratch = this.#heap.take(SCRATCH_BYTES);
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
    if (!found) throw new InvalidInput(`unknown ruleset "${name}"; all rulesets: ${this.rulesets.map((r) => r.name).join(", ")}`);
    return found;
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
    const game = this.#blank(ruleset);
    this.#with(game, (rules, row) => this.#wasm.start(rules, row, starter), true);
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
    this.#with(game, (rules, row) => this.#wasm.settle(rules, row), true);
    if (endless) game.write({ end: this.description.ends.indexOf("endless"), player });
    const wrong = this.#with(game, (rules, row) => this.#wasm.what_is_wrong(rules, row));
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

  /** Calls of the kernels for a game; use the methods of {@link Game}. */
  legalBits(game) {
    return this.#with(game, (rules, row) => this.#wasm.legal(rules, row));
  }

  play(game, action) {
    return this.#with(
      game,
      (rules, row, _random, out) => {
        const laps = this.#wasm.play(rules, row, action, out);
        const [captured, taken] = this.float64(out, 2);
        return { laps, captured, taken };
      },
      true,
    );
  }

  nextRound(game) {
    return this.#with(game, (rules, row) => this.#wasm.next_round(rules, row), true) === 1;
  }

  count(game, player) {
    return this.#with(game, (rules, row) => this.#wasm.count(rules, row, player));
  }

  matchMargin(game) {
    return this.#with(game, (rules, row) => this.#wasm.match_margin(rules, row));
  }

  /** Play a number of random turns, match after match: for tests and to measure the speed.
   * @param {Game} game  Changed to the final position. @param {bigint} seed @param {number} turns
   * @returns {bigint}  The state of the random generator at the end.
   */
  playRandom(game, seed, turns) {
    return this.#with(
      game,
      (rules, row, random) => {
        this.#writeRandom(random, seed);
        this.#wasm.play_random(rules, row, random, turns);
        return this.uint32(random, 2).reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
      },
      true,
    );
  }

  /** A random legal action. @param {Game} game @param {bigint | number} [seed] @returns {number} */
  random(game, seed = anySeed()) {
    return this.#choose(game, seed, this.#wasm.choose_random);
  }

  /** The action after which the player who moved leads by the most seeds; ties are broken at random.
   * @param {Game} game @param {bigint | number} [seed] @returns {number}
   */
  greedy(game, seed = anySeed()) {
    return this.#choose(game, seed, this.#wasm.choose_greedy);
  }

  #choose(game, seed, kernel) {
    refuseFinished(game);
    return this.#with(game, (rules, row, random) => {
      this.#writeRandom(random, seed);
      return kernel(rules, row, random);
    });
  }

  /** Alpha-beta search to a depth, or deeper and deeper until you stop it.
   *
   * `result`: `{action, depth, nodes, value, values}`; with the option `values: true`,
   * `values` maps each legal action to its value in seeds. Searches of one ruleset, depth and network share a table:
   * run only one of them at a time.
   *
   * @param {Game} game
   * @param {{depth?: number, values?: boolean, network?: ValueNetwork, seed?: bigint | number}} [options]  Without
   *   `depth`, the search deepens one turn at a time until it reaches the end of the round on every line.
   * @returns {Search}
   */
  minimax(game, { depth, values = false, network, seed = anySeed() } = {}) {
    refuseFinished(game);
    if (depth !== undefined) wholeNumbers("depth", [depth], 1, 1, 99);
    const deepest = depth ?? 99;
    const tableBits = Math.min(20, deepest + 4);
    if (network && network.ruleset.rules.join() !== game.ruleset.rules.join())
      throw new InvalidInput(`the value network is of ${network.ruleset.name}, not of ${game.ruleset.name}`);
    const rules = this.#rulesAt(game);
    const key = `${game.ruleset.rules} ${deepest} ${network?.id ?? ""}`;
    let block = this.#minimaxBlocks.get(key);
    if (!block) {
      for (const [old, address] of this.#minimaxBlocks) {
        if (this.#minimaxBlocks.size < 4) break;
        this.#heap.giveBack(address);
        this.#minimaxBlocks.delete(old);
      }
      block = this.#heap.take(this.#wasm.minimax_bytes(rules, deepest, tableBits));
      this.#minimaxBlocks.set(key, block);
    }
    this.#rulesAt(game);
    this.#wasm.minimax_start(this.#scratch, deepest, tableBits, block);
    const unit = network ? network.unit : 1;
    const numHoles = game.ruleset.numHoles;
    const out = this.#scratch + 512;
    const root = game.copy();
    const result = { action: -1, depth: 0, nodes: 0, value: 0, values: null };
    const goOn = (turns) =>
      this.#with(root, (rules, row, random) => {
        this.#writeRandom(random, seed);
        const step = depth === undefined ? 1 : 2;
        const done = this.#wasm.minimax_go_on(
          rules, row, random, network?.address ?? 0, deepest, tableBits, step, values ? 1 : 0, turns, block, out,
        );
        const said = this.float64(out, 4 + numHoles);
        [result.action, result.depth, result.nodes] = said;
        result.value = said[3] / unit;
        if (values && result.depth > 0)
          result.values = Object.fromEntries(root.legal.map((action) => [action, said[4 + action] / unit]));
        return done;
      });
    return new Search(goOn, result, { first: 2000, most: 1 << 22 });
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
  mcts(game, { simulations = 10_000_000, megabytes = 40, seed = anySeed() } = {}) {
    refuseFinished(game);
    wholeNumbers("simulations", [simulations], 1, 1, 10_000_000);
    const { numHoles } = game.ruleset;
    const nodes = Math.min(1 + (simulations + 1) * numHoles, Math.max(1024, Math.floor((megabytes * 2 ** 20) / 40)));
    const block = this.#heap.take(this.#wasm.mcts_bytes(nodes));
    this.#wasm.mcts_start(nodes, block);
    const root = game.copy();
    const { legal } = root;
    const result = { action: -1, simulations: 0, visits: {}, values: {} };
    const goOn = (some) =>
      this.#with(root, (rules, row, random, out) => {
        this.#writeRandom(random, seed);
        const done = this.#wasm.mcts_go_on(rules, row, random, nodes, simulations, some, block, out);
        const said = this.float64(out, 2 + 2 * numHoles);
        [result.action, result.simulations] = said;
        result.visits = Object.fromEntries(legal.map((action) => [action, said[2 + 2 * action]]));
        result.values = Object.fromEntries(legal.map((action) => [action, said[3 + 2 * action]]));
        return done;
      });
    return new Search(goOn, result, { first: 100, most: 1 << 20, close: () => this.#heap.giveBack(block) });
  }

  /** Return a solver for a ruleset. Its table of proofs is shared by all positions that it solves.
   * @param {string | Ruleset} ruleset
   * @param {{megabytes?: number}} [options]  Maximum size of the table, rounded down to a power of two.
   * @returns {Solver}
   */
  solver(ruleset, { megabytes = 64 } = {}) {
    const known = typeof ruleset === "string" ? this.ruleset(ruleset) : ruleset;
    const tableBits = Math.max(4, Math.floor(Math.log2((megabytes * 2 ** 20) / 64)));
    const rules = this.#rulesAt({ ruleset: known });
    const block = this.#heap.take(this.#wasm.solver_bytes(rules, tableBits));
    const kernels = {
      start: (game) =>
        this.#with(game, (rules, row) => this.#wasm.solver_start(rules, row, tableBits, block)),
      goOn: (game, all, nodes) =>
        this.#with(game, (rules, _row, _random, out) => {
          const done = this.#wasm.solver_go_on(rules, all ? 1 : 0, nodes, tableBits, block, out);
          return { done, said: this.float64(out, 4 + 2 * known.numHoles) };
        }),
      close: () => this.#heap.giveBack(block),
    };
    return new Solver(known, kernels);
  }

  /** Load a value network for {@link Engine#minimax}. The bytes are a bundled file or one of `mancala grow-value`
   * (safetensors files that name their ruleset), or the numbers of a checkpoint's `value_network.f32`.
   * @param {ArrayBuffer | Uint8Array} bytes
   * @param {Ruleset} [ruleset]  The ruleset it was fitted to, if the file does not name it.
   * @returns {ValueNetwork}
   */
  valueNetwork(bytes, ruleset) {
    const file = safetensors(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes));
    if (file) {
      const parts = ["embeddings", "unit_biases", "unit_weights", "bias"].map((name) => file.arrays[name]);
      if (parts.includes(undefined) || !file.texts.ruleset) throw new InvalidInput("the file holds no value network");
      const { version } = JSON.parse(file.texts.network);
      if (version !== this.description.network.version)
        throw new InvalidInput(`the value network is of version ${version}, not ${this.description.network.version}`);
      const numbers = parts.flatMap((part) => Array.from(part));
      return this.valueNetwork(Float32Array.from(numbers).buffer, this.ownRuleset(JSON.parse(file.texts.ruleset)));
    }
    if (!ruleset) throw new InvalidInput("the file does not name its ruleset; pass it as the second argument");
    const { codes, units, unit, largest } = this.description.network;
    const { numHoles } = ruleset;
    const length = numHoles * codes * units + 2 * units + 1;
    const content = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
    if (content.length !== 4 * length)
      throw new InvalidInput(`a value network of this board has ${4 * length} bytes, not ${content.length}`);
    const numbers = new Float32Array(content.slice().buffer);
    if (!numbers.every((number) => Math.abs(number) <= largest))
      throw new InvalidInput(`the value network holds numbers that are not finite or beyond ${largest}`);
    const weights = this.#heap.take(4 * length);
    const address = this.#heap.take(8 * (1 + 2 * units + (numHoles * codes * units) / 4));
    new Float32Array(this.#wasm.memory.buffer, weights, length).set(numbers);
    this.#wasm.pack_network(weights, numHoles, address);
    this.#heap.giveBack(weights);
    this.#networks += 1;
    return { address, unit, id: this.#networks, ruleset };
  }

  /** The events of a turn, without playing it.
   * @param {Game} game @param {number} action
   * @returns {{kind: string, player: 0 | 1, hole: number, seeds: number, reason: string}[]}  As the Python package's
   *   `Position.timeline`: lift, drop, relay, capture, ransom, store, own, put_back, pass, next, end.
   */
  timeline(game, action) {
    let room = 512;
    for (;;) {
      const events = this.#heap.take(16 * room);
      const count = this.#with(game, (rules, row) => this.#wasm.timeline(rules, row, action, events, room));
      const numbers = Array.from(new Int32Array(this.#wasm.memory.buffer, events, 4 * Math.min(count, room)));
      this.#heap.giveBack(events);
      if (count > room) {
        room = count;
        continue;
      }
      if (!count) throw new InvalidInput(`action ${action} is not legal; legal actions: ${game.legal.join(", ")}`);
      const { events: kinds, ends } = this.description;
      return Array.from({ length: count }, (_, n) => {
        const [kind, player, hole, seeds] = numbers.slice(4 * n, 4 * n + 4);
        const isEnd = kinds[kind] === "end"; // an end event has its reason in place of a hole
        return { kind: kinds[kind], player, hole: isEnd ? -1 : hole, seeds, reason: isEnd ? ends[hole] : "" };
      });
    }
  }

  /** @param {number} address @param {number} length @returns {Float64Array}  A view that is valid until the memory grows. */
  float64(address, length) {
    return new Float64Array(this.#wasm.memory.buffer, address, length);
  }

  uint32(address, length) {
    return new Uint32Array(this.#wasm.memory.buffer, address, length);
  }

  #blank(ruleset) {
    const known = typeof ruleset === "string" ? this.ruleset(ruleset) : ruleset;
    return new Game(this, known, new Uint32Array(this.description.layout.game_bytes / 4));
  }

  #rulesAt(game) {
    const rules = game.ruleset.rules.flatMap((dial) => [dial, 0]); // 64 bits each
    this.uint32(this.#scratch, rules.length).set(rules);
    return this.#scratch;
  }

  /** Call a function with the addresses of a game's rules, the game, a random generator and space for results. */
  #with(game, call, isWritten = false) {
    const rules = this.#rulesAt(game), row = rules + 128, random = rules + 256, out = rules + 512;
    const words = game.row.length;
    this.uint32(row, words).set(game.row);
    const result = call(rules, row, random, out);
    if (isWritten) game.row.set(this.uint32(row, words));
    return result;
  }

  #writeRandom(address, seed) {
    const bits = BigInt.asUintN(64, BigInt(seed));
    this.uint32(address, 2).set([Number(bits & 0xffffffffn), Number(bits >> 32n)]);
  }
}

/** The rules of a game. */
export class Ruleset {
  /** Use {@link Engine#ruleset} or {@link Engine#ownRuleset}. */
  constructor(dials, description) {
    /** @type {Dials} */
    this.dials = dials;
    this.name = dials.name;
    this.title = dials.title;
    /** The source of the rules. */
    this.region = dials.region;
    this.source = dials.source;
    /** W, the number of holes in a row. */
    this.rowWidth = dials.row_width;
    /** H, the number of holes on the board. */
    this.numHoles = 2 * dials.row_width;
    this.totalSeeds = this.numHoles * dials.seeds_per_hole;
    /** Whether the board is drawn anticlockwise: South's holes from left to right. */
    this.isClockwise = dials.direction === "clockwise";
    /** The rule options as the kernels expect them. @type {number[]} */
    this.rules = encode(dials, description);
  }

  /** The holes of North's row and of South's row, from left to right as drawn. @returns {[number[], number[]]} */
  get rows() {
    const south = Array.from({ length: this.rowWidth }, (_, n) => n);
    const north = south.map((n) => this.numHoles - 1 - n);
    return this.isClockwise ? [north.reverse(), south.reverse()] : [north, south];
  }
}

function encode(dials, description) {
  const rules = description.dials.map(({ name, choices, least, most }) => {
    const value = dials[name];
    if (choices) {
      const code = choices.indexOf(value);
      const allowed = typeof choices[0] === "boolean" ? "True or False" : `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`;
      if (code < 0) throw new InvalidInput(`${name} must be ${allowed}, not ${JSON.stringify(value)}`);
      return code;
    }
    if (!Number.isInteger(value)) throw new InvalidInput(`${name} must be a whole number, not ${JSON.stringify(value)}`);
    if (value < least || value > most) throw new InvalidInput(`${name} must be ${least} to ${most}, not ${value}`);
    return value;
  });
  if (2 * dials.row_width * dials.seeds_per_hole > description.max_total_seeds)
    throw new InvalidInput(`seeds_per_hole must be at most ${Math.floor(description.max_total_seeds / (2 * dials.row_width))} on this board, not ${dials.seeds_per_hole}`);
  for (const { dial, values, needs, allowed, why } of description.conditions ?? [])
    if (values.includes(dials[dial]) && !allowed.includes(dials[needs])) throw new InvalidInput(why);
  return rules;
}

/** A game: the board, the stores, the player to move and the state of the match. Cheap to copy; send its `text` to a worker. */
export class Game {
  /** Use {@link Engine#newGame}, {@link Engine#setUp} or {@link Engine#fromText}. */
  constructor(engine, ruleset, row) {
    /** @type {Engine} */
    this.engine = engine;
    /** @type {Ruleset} */
    this.ruleset = ruleset;
    /** The state in the layout of the kernels. @type {Uint32Array} */
    this.row = row;
  }

  #column(name, offset = 0) {
    return this.row[2 * (this.engine.description.layout.columns[name] + offset)];
  }

  #perHole(value) {
    return Array.from({ length: this.ruleset.numHoles }, (_, hole) => value(hole));
  }

  /** Seeds in each hole. @returns {number[]} */
  get seeds() {
    return Array.from(new Uint8Array(this.row.buffer, this.row.byteOffset, this.ruleset.numHoles));
  }

  /** The owner of each hole: -1 (free), 0 (South) or 1 (North). @returns {number[]} */
  get owner() {
    const south = this.#column("owned"), north = this.#column("owned", 1);
    return this.#perHole((hole) => ((south >> hole) & 1 ? 0 : (north >> hole) & 1 ? 1 : -1));
  }

  /** The player in whose territory each hole is: 0 or 1. @returns {number[]} */
  get territory() {
    const south = this.#column("territory");
    return this.#perHole((hole) => 1 - ((south >> hole) & 1));
  }

  /** Captured seeds of South and North. @returns {[number, number]} */
  get stores() {
    return [this.#column("store"), this.#column("store", 1)];
  }

  /** Counts of South and North: stores, owned holes, and free seeds in their territory. @returns {[number, number]} */
  get counts() {
    return [this.engine.count(this, 0), this.engine.count(this, 1)];
  }

  /** Seeds each player owes the other (Leyla). @returns {[number, number]} */
  get debts() {
    return [this.#column("debt"), this.#column("debt", 1)];
  }

  /** The player to move. @returns {0 | 1} */
  get player() {
    return this.#column("player");
  }

  /** Turns in a row that left the number of free seeds unchanged. */
  get stall() {
    return this.#column("stall");
  }

  /** Number of the round in its match, from 1. */
  get round() {
    return this.#column("round");
  }

  /** Who moved first in this round. @returns {0 | 1} */
  get starter() {
    return this.#column("starter");
  }

  /** Why the round is over: "" while it runs, "stuck", "stall" or "endless". @returns {string} */
  get end() {
    return this.engine.description.ends[this.#column("end")];
  }

  get isOver() {
    return this.#column("end") !== 0;
  }

  /** Legal actions, ascending; none once the round is over. @returns {number[]} */
  get legal() {
    return bitsOf(this.engine.legalBits(this));
  }

  /** The hole of a player's action. @param {number} action @param {0 | 1} [player]  The player to move by default. */
  holeOf(action, player = this.player) {
    return (action + this.ruleset.rowWidth * player) % this.ruleset.numHoles;
  }

  /** The player's action for a hole. @param {number} hole @param {0 | 1} [player] */
  actionOf(hole, player = this.player) {
    return this.holeOf(hole, player); // the mapping turns the board by 180 degrees, so it is its own inverse
  }

  /** Play an action.
   * @param {number} action
   * @returns {Turn}
   * @throws {InvalidInput} If the action is not legal; nothing changes.
   */
  play(action) {
    const player = this.player;
    const { laps, captured, taken } = this.#isHole(action) ? this.engine.play(this, action) : { laps: 0 };
    if (!laps) {
      const why = this.whyIllegal(action);
      throw new InvalidInput(this.isOver ? why : `${PLAYERS[player]} cannot sow hole ${action}: ${why}; legal holes: ${this.legal.join(", ")}`);
    }
    return { player, action, laps, captured, newOwned: bitsOf(taken), endless: this.end === "endless" };
  }

  /** Why an action is illegal, such as "it is empty"; "" for a legal action. @param {number} action @returns {string} */
  whyIllegal(action) {
    if (this.isOver) return `the round is over (${this.end})`;
    if (!this.#isHole(action)) return "there is no such hole";
    if (this.legal.includes(action)) return "";
    const hole = this.holeOf(action), owner = this.owner[hole];
    if (owner >= 0) return `${PLAYERS[owner]} owns it`;
    if (this.territory[hole] !== this.player) return `it is ${PLAYERS[1 - this.player]}'s`;
    return this.seeds[hole] ? "the first turn is played from the rightmost hole" : "it is empty";
  }

  #isHole(action) {
    return Number.isInteger(action) && action >= 0 && action < this.ruleset.numHoles;
  }

  /** The events of an action; see {@link Engine#timeline}. @param {number} action */
  timeline(action) {
    return this.engine.timeline(this, action);
  }

  /** The game after an action; this one does not change. @param {number} action @returns {Game} */
  after(action) {
    const next = this.copy();
    next.play(action);
    return next;
  }

  /** The first position of the next round, or null if the match is over. @returns {Game | null} */
  nextRound() {
    if (!this.isOver) throw new InvalidInput(`round ${this.round} is not over`);
    const [south, north] = this.counts;
    if (south + north !== this.ruleset.totalSeeds)
      throw new InvalidInput(`the next round is set up from all ${this.ruleset.totalSeeds} seeds, and ${south + north} are here`);
    const after = this.copy();
    return this.engine.nextRound(after) ? null : after;
  }

  /** South's lead in seeds at the end of a match. */
  get matchMargin() {
    return this.engine.matchMargin(this);
  }

  /** @returns {Game} */
  copy() {
    return new Game(this.engine, this.ruleset, this.row.slice());
  }

  /** @param {Game} other */
  equals(other) {
    return this.ruleset.rules.join() === other.ruleset.rules.join() && this.row.every((word, n) => word === other.row[n]);
  }

  /** The position as one line of text; {@link Engine#fromText} reads it back. @returns {string} */
  get text() {
    const { rowWidth } = this.ruleset;
    const owner = this.owner;
    const holes = this.seeds.map((seeds, hole) => `${seeds}${["", "s", "n"][owner[hole] + 1]}`);
    const words = [
      this.ruleset.name,
      `${holes.slice(0, rowWidth)}/${holes.slice(rowWidth)}`,
      this.stores.join("-"),
      LETTERS[this.player],
    ];
    if (this.stall) words.push(`stall=${this.stall}`);
    if (this.round !== 1) words.push(`round=${this.round}`);
    if (this.starter !== 0) words.push(`starter=${LETTERS[this.starter]}`);
    if (this.debts.some((debt) => debt)) words.push(`debts=${this.debts.join("-")}`);
    if (this.territory.some((player, hole) => player !== Math.floor(hole / rowWidth)))
      words.push(`territory=${this.territory.map((player) => LETTERS[player]).join("")}`);
    if (this.end === "endless") words.push("end=endless");
    return words.join(" ");
  }

  /** Set parts of the position without checks; {@link Engine#setUp} checks them. */
  write({ seeds, owner, territory, stores, debts, player, stall, round, starter, end }) {
    const { columns } = this.engine.description.layout;
    const bits = (array, of) => array.reduce((sum, each, hole) => sum | (each === of ? 1 << hole : 0), 0);
    const set = (name, value, offset = 0) => {
      if (value !== undefined) this.row[2 * (columns[name] + offset)] = value;
    };
    if (seeds) new Uint8Array(this.row.buffer, this.row.byteOffset, seeds.length).set(seeds);
    if (owner) [0, 1].forEach((who) => set("owned", bits(owner, who), who));
    if (territory) set("territory", bits(territory, 0));
    if (stores) [0, 1].forEach((who) => set("store", stores[who], who));
    if (debts) [0, 1].forEach((who) => set("debt", debts[who], who));
    set("player", player);
    set("stall", stall);
    set("round", round);
    set("starter", starter);
    set("end", end);
  }
}

/** Computes exact values of positions of one ruleset; see {@link Engine#solver}. */
export class Solver {
  #kernels;
  #nodes = 0;
  #current = 0;

  /** Use {@link Engine#solver}. */
  constructor(ruleset, kernels) {
    /** @type {Ruleset} */
    this.ruleset = ruleset;
    this.#kernels = kernels;
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
    const root = game.copy();
    const { legal } = root;
    const before = this.#nodes;
    const mine = ++this.#current;
    const result = { lower: 0, upper: 0, bounds: {}, isExact: false, nodes: 0, action: null, best: [] };
    const goOn = (nodes) => {
      if (mine !== this.#current) throw new InvalidInput("this study was replaced by a later one");
      const { done, said } = this.#kernels.goOn(root, all, nodes);
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
    this.#kernels.start(root);
    const search = new Search(goOn, result, { first: 200, most: 1 << 20 });
    goOn(0); // bounds that need no search
    return search;
  }

  /** Release the memory. */
  close() {
    this.#current = -1;
    this.#kernels.close();
  }
}

/** @typedef {Object} ValueNetwork  See {@link Engine#valueNetwork}. @property {Ruleset} ruleset */

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

/** An allocator of the memory, which grows. Freed blocks are used again. */
class Heap {
  #memory;
  #top;
  #sizes = new Map();
  #free = []; // free blocks [address, size], sorted by address

  constructor(wasm) {
    this.#memory = wasm.memory;
    this.#top = Math.ceil(wasm.__heap_base.value / LINE) * LINE;
  }

  /** Allocate a number of zero bytes; returns their address. */
  take(size) {
    size = Math.ceil(size / LINE) * LINE;
    const at = this.#free.findIndex(([, room]) => room >= size);
    let address;
    if (at >= 0) {
      const [place, room] = this.#free[at];
      address = place;
      if (room > size) this.#free[at] = [place + size, room - size];
      else this.#free.splice(at, 1);
      new Uint8Array(this.#memory.buffer, address, size).fill(0);
    } else {
      address = this.#top;
      const missing = address + size - this.#memory.buffer.byteLength;
      if (missing > 0) {
        try {
          this.#memory.grow(Math.ceil(missing / 65536));
        } catch {
          throw new Error(`this browser cannot provide ${Math.ceil(size / 2 ** 20)} MB of memory`);
        }
      }
      this.#top += size;
    }
    this.#sizes.set(address, size);
    return address;
  }

  giveBack(address) {
    this.#free.push([address, this.#sizes.get(address)]);
    this.#sizes.delete(address);
    this.#free.sort(([a], [b]) => a - b);
    this.#free = this.#free.reduce((joined, [place, room]) => {
      const last = joined.at(-1);
      if (last && last[0] + last[1] === place) last[1] += room;
      else joined.push([place, room]);
      return joined;
    }, []);
  }
}

/** Read a safetensors file of float32 arrays; null if the bytes are not one. */
function safetensors(bytes) {
  if (bytes.length < 10 || bytes[8] !== 0x7b) return null; // a length, then JSON
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (8 + length > bytes.length) return null;
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  } catch {
    return null;
  }
  const { __metadata__: texts = {}, ...places } = header;
  const arrays = Object.entries(places).map(([name, { dtype, data_offsets: [first, last] }]) => {
    if (dtype !== "F32" || !(first <= last) || 8 + length + last > bytes.length)
      throw new InvalidInput(`${name} is damaged or not of 32-bit numbers`);
    return [name, new Float32Array(bytes.slice(8 + length + first, 8 + length + last).buffer)];
  });
  return { texts, arrays: Object.fromEntries(arrays) };
}

function bitsOf(bits) {
  const found = [];
  for (let n = 0; bits >>> n; n++) if ((bits >>> n) & 1) found.push(n);
  return found;
}

function anySeed() {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
}

function refuseFinished(game) {
  if (game.isOver) throw new InvalidInput(`the round is over (${game.end})`);
}

function wholeNumbers(name, values, length, least, most) {
  if (!Array.isArray(values) || values.length !== length)
    throw new InvalidInput(`${name} must be ${length} whole numbers`);
  values.forEach((value, n) => {
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidInput(`${length > 1 ? `${name}[${n}]` : name} must be a whole number from ${least} to ${most}, not ${value}`);
  });
}

const FORM = "RULESET SOUTH/NORTH STORE-STORE S|N [stall=..] [round=..] [starter=..] [debts=..] [territory=..]";

const MOST_DIGITS = 40;

/** Split a text at ASCII spaces, tabs and line ends. Skip a byte order mark at its start.
 * @param {string} text @returns {string[]}
 */
export function wordsOf(text) {
  return text.replace(/^\ufeff/, "").match(/[^ \t-\r]+/g) ?? [];
}

/** Read a position's text: the ruleset's name and the arguments of {@link Engine#setUp}. notation.py defines the grammar. */
function parsePosition(text) {
  const words = wordsOf(text);
  if (words.length < 4) throw new InvalidInput(`"${text}" is not a position; the form is: ${FORM}`);
  const number = (word, what) => {
    if (!/^[0-9]+$/.test(word)) throw new InvalidInput(`${what}: "${word}" is not a whole number`);
    if (word.length > MOST_DIGITS) throw new InvalidInput(`${what}: a number has at most ${MOST_DIGITS} digits, not ${word.length.toLocaleString("en")}`);
    return Number(word);
  };
  const player = (letter, what) => {
    if (letter !== "S" && letter !== "N") throw new InvalidInput(`${what}: "${letter}" must be S or N`);
    return LETTERS.indexOf(letter);
  };
  const pair = (word, what) => {
    const dash = word.indexOf("-");
    if (dash < 0) throw new InvalidInput(`${what}: "${word}" must be two numbers, of South and North, such as 5-3`);
    return [word.slice(0, dash), word.slice(dash + 1)].map((part) => number(part, what));
  };
  const [name, rows, stores, mover, ...options] = words;
  if (rows.split("/").length !== 2) throw new InvalidInput(`"${rows}" must be South's row / North's row`);
  const holes = rows.split("/").flatMap((row) => row.split(","));
  const position = {
    name,
    seeds: holes.map((hole) => number(hole.replace(/[sn]$/, ""), "seeds")),
    owner: holes.map((hole) => "sn".indexOf(hole.at(-1) ?? " ")),
    stores: pair(stores, "stores"),
    player: player(mover, "player"),
  };
  for (const option of options) {
    const [key] = option.split("=", 1), value = option.slice(key.length + 1);
    if (key === "stall" || key === "round") position[key] = number(value, key);
    else if (key === "starter") position.starter = player(value, key);
    else if (key === "debts") position.debts = pair(value, key);
    else if (key === "territory") position.territory = [...value].map((letter) => player(letter, key));
    else if (option === "end=endless") position.endless = true;
    else throw new InvalidInput(`"${option}" is not part of a position; the form is: ${FORM}`);
  }
  return position;
}
