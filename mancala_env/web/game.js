/** A game line: a start, the turns after it, and the current place among them. Play and Study share it. */

/** The number of rounds of a whole match. Only MOST_ROUNDS limits it. */
export const MATCH = Infinity;
/** The most rounds of a match (rules.md, 5.4). */
export const MOST_ROUNDS = 1000;

export class GameLine {
  /** @type {{player: 0 | 1, action: number, hole: number, before: Game, after: Game, following: Game, note?: string}[]} */
  turns = [];
  /** Number of turns before the current place. */
  at = 0;
  /** Who resigned. @type {0 | 1 | null} */
  resigned = null;
  /** The players' names, as a record has them; "human" is a user of the page. */
  names = ["", ""];
  /** The headers of the record that it was read from. @type {Record<string, string>} */
  headers = {};
  /** Comment before the first turn. */
  note = "";

  /** @param {import("./engine.js").Game} start @param {number} [rounds]  The number of rounds, or MATCH. */
  constructor(start, rounds = 1) {
    this.rounds = rounds;
    this.start = start;
    this.first = this.#following(start);
  }

  /** The current position: the one to move in, or the final one. @returns {import("./engine.js").Game} */
  get game() {
    return this.at ? this.turns[this.at - 1].following : this.first;
  }

  /** The turn before the current position, or undefined. */
  get lastTurn() {
    return this.turns[this.at - 1];
  }

  get ruleset() {
    return this.start.ruleset;
  }

  get isOver() {
    return this.game.isOver || (this.resigned !== null && this.at === this.turns.length);
  }

  /** South's final lead in seeds; null if the game is not over or a player resigned. */
  get margin() {
    const { game } = this;
    if (!game.isOver) return null;
    const [south, north] = game.counts;
    const isMatchOver = this.rounds > 1 && south + north === game.ruleset.totalSeeds && game.nextRound() === null;
    return isMatchOver ? game.matchMargin : south - north;
  }

  /** The winner: 0, 1, or null for a draw; undefined if the game is not over. */
  get winner() {
    if (this.resigned !== null) return 1 - this.resigned;
    const { margin } = this;
    return margin === null ? undefined : margin === 0 ? null : Number(margin < 0);
  }

  /** Play an action in the current position and discard the turns after it.
   * @throws {InvalidInput} If the action is not legal; nothing changes.
   */
  play(action) {
    const before = this.game, after = before.copy();
    const did = after.play(action);
    const turn = { ...did, hole: before.holeOf(action), before, after, following: this.#following(after) };
    this.turns.length = this.at;
    this.turns.push(turn);
    this.at += 1;
    this.resigned = null;
    return turn;
  }

  /** Remove the last turn. */
  takeBack() {
    if (this.resigned !== null) this.resigned = null;
    else if (this.turns.length) {
      this.turns.pop();
      this.at = this.turns.length;
    }
  }

  /** A copy of the game line. */
  copy() {
    const line = new GameLine(this.start, this.rounds);
    return Object.assign(line, { turns: [...this.turns], at: this.at, resigned: this.resigned, names: [...this.names], headers: this.headers, note: this.note });
  }

  /** Go to another place in the game. @param {number} at  Turns played, 0 to all. */
  goTo(at) {
    this.at = Math.max(0, Math.min(this.turns.length, at));
  }

  /** The turns before the current place, in notation. */
  get text() {
    return this.turns.slice(0, this.at).map(turnText).join(" ");
  }

  #following(after) {
    if (!after.isOver || after.round >= Math.min(this.rounds, MOST_ROUNDS)) return after;
    const [south, north] = after.counts;
    if (south + north !== after.ruleset.totalSeeds) return after; // a next round needs all seeds
    return after.nextRound() ?? after;
  }
}

/** A turn in notation: S10. */
export function turnText({ player, action }) {
  return `${"SN"[player]}${action + 1}`;
}
