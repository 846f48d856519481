/** A game: its state in the layout of the kernels, what can be read from it, and turns. */

import { InvalidInput } from "./input.js";
import { positionText } from "./position_text.js";
import { readTimeline } from "./timeline.js";

export const PLAYERS = ["South", "North"];

/** @typedef {Object} Turn  The result of a turn.
 * @property {number} player  The player who moved.
 * @property {number} action
 * @property {number} laps  Laps sown, 1 to 1000.
 * @property {number} captured  Seeds that went to the player's store.
 * @property {number[]} newOwned  Holes that the player owns from now on, in hole order.
 * @property {boolean} endless  Whether the relay was endless. Then every seed was put back, and the round is over.
 */

/** A game: the board, the stores, the player to move and the state of the match. Cheap to copy; send its `text` to a worker. */
export class Game {
  /** Use {@link Engine#newGame}, {@link Engine#setUp} or {@link Engine#fromText}. */
  constructor(engine, ruleset, row) {
    /** @type {import("../engine.js").Engine} */
    this.engine = engine;
    /** @type {import("./ruleset.js").Ruleset} */
    this.ruleset = ruleset;
    /** The state in the layout of the kernels. @type {Uint32Array} */
    this.row = row;
  }

  /** Call a kernel that takes rules and a game; `isWritten` says whether it changes the game. */
  #call(name, argument, isWritten = false) {
    const { kernels } = this.engine;
    return kernels.call(this, (rules, row) => kernels.wasm[name](rules, row, argument), isWritten);
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
    return [0, 1].map((player) => this.#call("count", player));
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
    return bitsOf(this.#call("legal"));
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
    const { laps, captured, taken } = this.#isHole(action) ? this.#sow(action) : { laps: 0 };
    if (!laps) {
      const why = this.whyIllegal(action);
      throw new InvalidInput(this.isOver ? why : `${PLAYERS[player]} cannot sow hole ${action}: ${why}; legal holes: ${this.legal.join(", ")}`);
    }
    return { player, action, laps, captured, newOwned: bitsOf(taken), endless: this.end === "endless" };
  }

  #sow(action) {
    const { kernels } = this.engine;
    const sown = (rules, row, _random, out) => {
      const laps = kernels.wasm.play(rules, row, action, out);
      const [captured, taken] = kernels.float64(out, 2);
      return { laps, captured, taken };
    };
    return kernels.call(this, sown, true);
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

  /** The events of a turn, without playing it.
   * @param {number} action
   * @returns {{kind: string, player: 0 | 1, hole: number, seeds: number, reason: string}[]}  As the Python package's
   *   `Position.timeline`: lift, drop, relay, capture, ransom, store, own, put_back, pass, next, end.
   */
  timeline(action) {
    return readTimeline(this, action);
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
    if (this.round === 2 ** 31 - 1) throw new InvalidInput(`no round follows round ${this.round}, the highest number`);
    const after = this.copy();
    return after.#call("next_round", undefined, true) === 1 ? null : after;
  }

  /** South's lead in seeds at the end of a match. */
  get matchMargin() {
    return this.#call("match_margin");
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
    return positionText(this);
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

function bitsOf(bits) {
  const found = [];
  for (let n = 0; bits >>> n; n++) if ((bits >>> n) & 1) found.push(n);
  return found;
}
