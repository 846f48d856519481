/** A game as it goes: a start, turns, and where in them one stands. Play and Study share it. */

/** The last round of a match: there is no other limit. */
export const MATCH = Infinity;
/** A match ends after so many at the latest (rules.md, 5.4). */
const MOST_ROUNDS = 1000;

export class GameLine {
  /** @type {{player: 0 | 1, action: number, hole: number, before: Game, after: Game, following: Game, note?: string}[]} */
  turns = [];
  /** How many turns have been played up to where one stands. */
  at = 0;
  /** Who resigned. @type {0 | 1 | null} */
  resigned = null;

  /** @param {import("./engine.js").Game} start @param {number} [rounds]  The round it goes up to, or MATCH. */
  constructor(start, rounds = 1) {
    this.rounds = rounds;
    this.start = start;
    this.first = this.#following(start);
  }

  /** The position one stands at: to move in, or where it all ended. @returns {import("./engine.js").Game} */
  get game() {
    return this.at ? this.turns[this.at - 1].following : this.first;
  }

  /** The turn that led here, or undefined. */
  get lastTurn() {
    return this.turns[this.at - 1];
  }

  get ruleset() {
    return this.start.ruleset;
  }

  get isOver() {
    return this.game.isOver || (this.resigned !== null && this.at === this.turns.length);
  }

  /** Seeds South leads by at the end; null while it is not over, or where somebody resigned. */
  get margin() {
    const { game } = this;
    if (!game.isOver) return null;
    const [south, north] = game.counts;
    const isMatchOver = this.rounds > 1 && south + north === game.ruleset.totalSeeds && game.nextRound() === null;
    return isMatchOver ? game.matchMargin : south - north;
  }

  /** Who has won: 0, 1, null for a draw; undefined while it is not over. */
  get winner() {
    if (this.resigned !== null) return 1 - this.resigned;
    const { margin } = this;
    return margin === null ? undefined : margin === 0 ? null : Number(margin < 0);
  }

  /** Play an action where one stands; turns that came after are forgotten.
   * @throws {InvalidInput} It is not legal; nothing has changed.
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

  /** Forget the last turn. */
  takeBack() {
    if (this.resigned !== null) this.resigned = null;
    else if (this.turns.length) {
      this.turns.pop();
      this.at = this.turns.length;
    }
  }

  /** The same game once more, for somebody else to go on with. */
  copy() {
    const line = new GameLine(this.start, this.rounds);
    return Object.assign(line, { turns: [...this.turns], at: this.at, resigned: this.resigned });
  }

  /** Stand somewhere else. @param {number} at  Turns played, 0 to all. */
  goTo(at) {
    this.at = Math.max(0, Math.min(this.turns.length, at));
  }

  /** Turns as notation writes them, up to where one stands. */
  get text() {
    return this.turns.slice(0, this.at).map(turnText).join(" ");
  }

  #following(after) {
    if (!after.isOver || after.round >= Math.min(this.rounds, MOST_ROUNDS)) return after;
    const [south, north] = after.counts;
    if (south + north !== after.ruleset.totalSeeds) return after; // a position with seeds missing is one round
    return after.nextRound() ?? after;
  }
}

/** A turn as notation writes it: S10. */
export function turnText({ player, action }) {
  return `${"SN"[player]}${action + 1}`;
}
