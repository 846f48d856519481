/** The check of a proof file: the walk through the proof of each claim. docs/reference/proofs.md defines it. */

import { Search } from "./engine/search.js";
import { InvalidProof, readProof } from "./proof_file.js";
import { Accounts, FREE, GOT, IS_OVER, NOW, OWNERS } from "./proof_rules.js";

const MOST_POSITIONS = 4_000_000; // in the table, which needs about 100 bytes for each
const MOST_SMALL = 250_000; // small positions whose results are kept

/** The walk through the proof of one claim. A position holds (1), fails (-1), or that is not known (0). */
class Walk {
  #nodes = []; // the positions between the first and the current one
  #top; // the next free row
  #proved = new Map(); // by key: the seeds that the prover gets from there
  #small = [new Map(), new Map()]; // of positions that are searched: proved and refuted numbers of seeds
  isDone = false;
  read = 0; // letters

  constructor(proof, claim) {
    this.accounts = new Accounts(proof, claim);
    this.claim = claim;
    this.accounts.begin(proof.position);
    this.#top = this.accounts.stride;
    const result = this.#known(0);
    if (result < 0) this.#fail("the seeds in play do not suffice");
    else if (result > 0) this.#finish();
    else this.#enter(0);
  }

  get positions() {
    return this.#proved.size;
  }

  #fail(reason) {
    const { player, count } = this.claim;
    throw new InvalidProof(`it does not show that ${player ? "North" : "South"} gets ${count} seeds, because ${reason}`);
  }

  #finish() {
    const left = this.claim.letters.length - this.read;
    if (left) this.#fail(`${left} letters are left over`);
    this.isDone = true;
  }

  #missing(row) {
    return this.claim.count - this.accounts.rows[row + this.accounts.size + GOT];
  }

  #key(row) {
    const { rows, size } = this.accounts;
    return String.fromCharCode.apply(null, rows.subarray(row, row + size + 1));
  }

  #isSmall(row) {
    return this.accounts.rows[row + this.accounts.size + FREE] <= this.claim.leaf;
  }

  #known(row) {
    const { rows, size, landing } = this.accounts, parts = row + size, { player, count } = this.claim;
    if (rows[parts + IS_OVER]) return rows[parts + NOW] >= count ? 1 : -1;
    const missing = this.#missing(row), free = rows[parts + FREE], owners = landing === "uur" ? 0 : rows[parts + OWNERS];
    if (missing <= (owners & (player + 1) ? -free : 0)) return 1;
    if (missing > (owners & (2 - player) ? 2 * free : free)) return -1; // a ransom takes one seed besides a free one
    const key = this.#key(row);
    if (!this.#isSmall(row)) return this.#proved.get(key) >= missing ? 1 : 0;
    if (this.#small[0].get(key) >= missing) return 1;
    return this.#small[1].get(key) <= missing ? -1 : 0;
  }

  /** Play all turns of a position, and list those to follow. */
  #enter(row) {
    const { accounts } = this, { stride, size } = accounts, top = this.#top;
    const wanted = accounts.mover(row) === this.claim.player ? 1 : -1, isSmall = this.#isSmall(row);
    const node = { row, top, wanted, isSmall, found: 0, queue: [], at: 0, choices: null };
    this.#nodes.push(node);
    if (top + size * stride > accounts.rows.length) {
      const rows = new Int32Array(2 * accounts.rows.length);
      rows.set(accounts.rows);
      accounts.rows = rows;
    }
    const after = [], open = [];
    for (const hole of accounts.legal(row)) {
      accounts.play(row, this.#top, hole);
      const result = this.#known(this.#top);
      if (result === wanted) {
        node.found = wanted;
        return;
      }
      after.push(this.#top);
      if (!result) open.push(this.#top);
      this.#top += stride;
    }
    const now = (one) => accounts.rows[one + size + NOW];
    if (isSmall) node.queue = open.sort((one, other) => wanted * (now(other) - now(one)));
    else if (wanted < 0) node.queue = after;
    else [node.queue, node.choices] = [open.filter((one) => this.#isSmall(one)), after];
  }

  /** Walk on for a number of steps; returns whether the claim is proved. @throws {InvalidProof} */
  resume(steps) {
    for (; steps > 0 && !this.isDone; steps--) {
      const node = this.#nodes.at(-1);
      if (node.found === node.wanted) this.#leave(node, node.found);
      else if (node.at < node.queue.length) {
        const row = node.queue[node.at++], result = this.#known(row);
        if (result) node.found = result;
        else this.#enter(row);
      } else if (node.choices) {
        node.queue = [node.choices.length > 1 ? this.#choose(node.choices) : node.choices[0]];
        [node.at, node.choices] = [0, null];
      } else this.#leave(node, -node.wanted);
    }
    return this.isDone;
  }

  #choose(choices) {
    if (this.read === this.claim.letters.length) this.#fail("the letters end too early");
    const chosen = choices[this.claim.letters.charCodeAt(this.read++) - 97];
    if (chosen === undefined) this.#fail(`letter ${this.read} names no turn`);
    return chosen;
  }

  /** Keep the result of a position, and go back to the one before. */
  #leave(node, result) {
    if (result < 0 && (!node.isSmall || this.#nodes.length === 1)) this.#fail(this.read ? `a position after letter ${this.read} fails` : "the first position fails");
    const [proved, refuted] = this.#small;
    if (proved.size + refuted.size > MOST_SMALL) for (const kept of this.#small) kept.clear();
    const kept = !node.isSmall ? this.#proved : result > 0 ? proved : refuted;
    kept.set(this.#key(node.row), this.#missing(node.row));
    if (this.#proved.size > MOST_POSITIONS) throw new Error("this proof is too large for the page; check it with `mancala verify`");
    this.#nodes.pop();
    this.#top = node.top;
    if (this.#nodes.length) this.#nodes.at(-1).found = result;
    else this.#finish();
  }
}

/** Check the proof of a file in slices.
 *
 * Resolves to what it shows, {counts, total, positions, seconds}, where `counts` are the least seeds of South and North; to
 * {wrong} if it shows nothing; to null if the signal came first.
 * @param {ArrayBuffer} bytes
 * @param {{slice?: number, signal?: AbortSignal, onProgress?: (progress: {share: number, positions: number}) => void}} [options]
 *   `onProgress` is called after each slice, with the share of the letters that are read, 0 to 1.
 */
export async function checkProof(bytes, { slice, signal, onProgress = () => {} } = {}) {
  const started = performance.now();
  try {
    const proof = readProof(bytes), { claims, counts, total } = proof;
    const letters = claims.reduce((sum, claim) => sum + claim.letters.length, 0);
    let positions = 0, read = 0;
    for (const claim of claims) {
      const walk = new Walk(proof, claim), search = new Search((steps) => (walk.resume(steps) ? 1 : 0), walk, { first: 200, most: 5000 });
      await search.run({ slice, signal, onSlice: () => onProgress({ share: (read + walk.read) / (letters || 1), positions: positions + walk.positions }) });
      if (!search.isDone) return null;
      positions += walk.positions;
      read += walk.read;
    }
    return { counts, total, positions, seconds: (performance.now() - started) / 1000 };
  } catch (error) {
    if (error instanceof InvalidProof) return { wrong: error.message };
    throw error;
  }
}
