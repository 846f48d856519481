/**
 * Turns of a game in the accounts of a proof. It shares nothing with the engine and the other checkers: it is written from
 * docs/reference/rules.md and docs/reference/proofs.md.
 */

const MOST_LAPS = 1000, MOST_STALL = 50;
const OWNED = 256; // a cell is a hole's seeds, or its level and OWNED * (its owner + 1)
const MOVER = 64;

/** Parts of a row after its H cells: MOVER * the mover + the stall counter; the accounts' `got`; all free seeds; the prover's
 * count now; 1 if South owns holes, plus 2 if North does; whether the round is over. */
export const TURN = 0, GOT = 1, FREE = 2, NOW = 3, OWNERS = 4, IS_OVER = 5;
const PARTS = 6;

/** The rules and the accounts of a claim, on rows of one array. */
export class Accounts {
  constructor({ options, total }, { player, cap }) {
    Object.assign(this, { ...options, total, prover: player, cap, width: options.row_width, size: 2 * options.row_width });
    this.stride = this.size + PARTS;
    this.rows = new Int32Array(this.stride * 1024);
  }

  /** Write a position into the row at 0. */
  begin({ seeds, owners, stores, mover, stall }) {
    const { rows, size, prover } = this;
    rows.set([...seeds.map((number, hole) => this.#cell(number, "SN".indexOf(owners[hole]))), MOVER * mover + stall]);
    rows[size + GOT] = stores[prover] + seeds.reduce((sum, number, hole) => sum + (owners[hole] === "SN"[prover] ? number : 0), 0);
    this.#settle(0);
    rows[size + IS_OVER] = 0;
    if (this.opening !== "eights" || this.position === "set") return;
    this.play(0, this.stride, this.width - 2); // rules.md, 6
    rows.copyWithin(0, this.stride, 2 * this.stride);
    rows[size + TURN] -= rows[size + TURN] % MOVER;
  }

  #cell(seeds, owner) {
    return owner < 0 ? seeds : OWNED * (owner + 1) + Math.min(seeds, this.cap);
  }

  mover(row) {
    return this.rows[row + this.size + TURN] >= MOVER ? 1 : 0;
  }

  /** The holes that the mover may sow, in hole order. */
  legal(row) {
    const { rows, size, width, seeds_per_hole } = this, mover = this.mover(row);
    const isFull = this.opening === "rightmost" && !mover && rows.subarray(row, row + size).every((cell) => cell === seeds_per_hole);
    if (isFull) return [this.direction === "clockwise" ? 0 : width - 1];
    const holes = [];
    for (let hole = width * mover; hole < width * mover + width; hole++) if (rows[row + hole] > 0 && rows[row + hole] < OWNED) holes.push(hole);
    return holes;
  }

  /** Play a turn from a row; the position after it goes into another row. */
  play(from, to, hole) {
    const { rows, size, width, stride } = this, mover = this.mover(from), before = rows[from + size + FREE];
    rows.copyWithin(to, from, from + stride);
    for (let lap = 1, at = hole; ; lap++) {
      if (lap > MOST_LAPS) {
        rows.copyWithin(to, from, from + stride);
        rows[to + size + IS_OVER] = 1;
        return;
      }
      let hand = rows[to + at];
      rows[to + at] = 0;
      for (; hand > 1; hand--) this.#drop(to, (at = at + 1 < size ? at + 1 : 0));
      at = at + 1 < size ? at + 1 : 0;
      const cell = rows[to + at];
      if (cell >= OWNED) {
        if (this.landing !== "uur" && cell >> 8 === 2 - mover) this.#ransom(to, at, mover === this.prover);
        else this.#drop(to, at);
        break;
      }
      rows[to + at] = cell + 1;
      const isOwnSide = (at >= width ? 1 : 0) === mover, across = size - 1 - at;
      if (cell === 0) {
        if (this.landing === "uur" && isOwnSide) this.#capture(to, at, across, mover);
        break;
      }
      if (cell === 3 && this.landing !== "uur" && (!isOwnSide || this.owns_on === "either")) {
        this.#own(to, at, mover);
        if (this.landing === "pair") this.#own(to, across, mover);
        break;
      }
    }
    this.#settle(to, mover, before, rows[from + size + TURN] % MOVER);
  }

  #drop(row, at) {
    const { rows } = this, cell = rows[row + at];
    if (cell < OWNED || (cell & 255) < this.cap) rows[row + at] += 1;
    if (cell >> 8 === this.prover + 1) rows[row + this.size + GOT] += 1;
  }

  #ransom(row, at, isProvers) {
    const level = this.rows[row + at] & 255, isExact = this.cap >= this.total;
    let change = 0, gain = 0;
    if (isProvers && level) [change, gain] = [-1, 2];
    else if (isProvers) [change, gain] = this.ransoms_empty ? [0, 1] : [isExact ? 1 : 0, 0];
    else if (level === this.cap) gain = -1;
    else if (level) [change, gain] = [-1, -1];
    else if (!this.ransoms_empty) [change, gain] = [1, 1];
    this.rows[row + at] += change;
    this.rows[row + this.size + GOT] += gain;
  }

  #own(row, at, mover) {
    const { rows } = this, seeds = rows[row + at];
    if (mover === this.prover) rows[row + this.size + GOT] += seeds;
    rows[row + at] = this.#cell(seeds, mover);
  }

  #capture(row, at, across, mover) {
    const { rows } = this, facing = rows[row + across];
    if (facing === 3) {
      rows[row + at] = rows[row + across] = 2;
      for (const hole of [at, across]) this.#own(row, hole, mover);
    } else if (facing) {
      const taken = facing + (this.captures_last ? 1 : 0);
      rows[row + across] = 0;
      if (this.captures_last) rows[row + at] = 0;
      if (mover === this.prover) rows[row + this.size + GOT] += taken;
    }
  }

  /** Write what follows from the cells of a row; after a turn also who moves, the stall counter, and whether the round is over. */
  #settle(row, mover = null, before = 0, stall = 0) {
    const { rows, size, width, prover } = this, parts = row + size, free = [0, 0];
    rows[parts + OWNERS] = 0;
    for (let hole = 0; hole < size; hole++) {
      const cell = rows[row + hole];
      if (cell >= OWNED) rows[parts + OWNERS] |= cell >> 8;
      else free[hole < width ? 0 : 1] += cell;
    }
    rows[parts + FREE] = free[0] + free[1];
    rows[parts + NOW] = rows[parts + GOT] + free[prover];
    if (mover === null) return;
    const canNext = free[1 - mover] > 0, canMover = free[mover] > 0;
    const runs = { mover_stuck: canNext, either_stuck: canNext && canMover, both_stuck: canNext || canMover }[this.round_end];
    const stalled = rows[parts + FREE] === before ? stall + 1 : 0;
    rows[parts + TURN] = MOVER * (canNext ? 1 - mover : mover) + stalled;
    rows[parts + IS_OVER] = runs && stalled < MOST_STALL ? 0 : 1;
  }
}
