/**
 * The compiled kernels and their memory. A call writes a game and its rules into the memory, runs a kernel, and reads the results.
 *
 * docs/guides/webassembly.md describes the memory, tools/build_wasm/exports.py each kernel.
 */

const LINE = 64; // bytes; allocations are aligned to cache lines
const SCRATCH_BYTES = 2048; // rules, a game, a generator, and at most 54 numbers

/** Kernels, calls of them with a game, and allocations. */
export class Kernels {
  #heap;
  #scratch;

  /** @param {WebAssembly.Instance} instance  mancala.wasm. */
  constructor(instance) {
    /** The exported kernels. They take addresses and numbers. */
    this.wasm = instance.exports;
    this.#heap = new Heap(this.wasm);
    this.#scratch = this.#heap.take(SCRATCH_BYTES);
  }

  /** Allocate a number of zero bytes; returns their address. @param {number} size @returns {number} */
  take(size) {
    return this.#heap.take(size);
  }

  /** Free the bytes at an address that `take` returned. @param {number} address */
  giveBack(address) {
    this.#heap.giveBack(address);
  }

  /** Call a function with the addresses of a game's rules, the game, a random generator and space for results.
   * @param {import("./game_state.js").Game} game
   * @param {(rules: number, row: number, random: number, out: number) => any} kernel
   * @param {boolean} [isWritten]  Whether the game takes the row that the kernel left in the memory.
   */
  call(game, kernel, isWritten = false) {
    const rules = this.writeRules(game.ruleset), row = rules + 128, random = rules + 256, out = rules + 512;
    const words = game.row.length;
    this.uint32(row, words).set(game.row);
    const result = kernel(rules, row, random, out);
    if (isWritten) game.row.set(this.uint32(row, words));
    return result;
  }

  /** Write a ruleset's rule options; returns their address. @param {import("./ruleset.js").Ruleset} ruleset @returns {number} */
  writeRules(ruleset) {
    const rules = ruleset.rules.flatMap((dial) => [dial, 0]); // 64 bits each
    this.uint32(this.#scratch, rules.length).set(rules);
    return this.#scratch;
  }

  /** Write the state of a random generator. @param {number} address @param {bigint | number} seed */
  writeRandom(address, seed) {
    const bits = BigInt.asUintN(64, BigInt(seed));
    this.uint32(address, 2).set([Number(bits & 0xffffffffn), Number(bits >> 32n)]);
  }

  /** A view of the memory, valid until the memory grows. @param {number} address @param {number} length @returns {Float64Array} */
  float64(address, length) {
    return new Float64Array(this.wasm.memory.buffer, address, length);
  }

  /** A view of the memory, valid until the memory grows. @param {number} address @param {number} length @returns {Uint32Array} */
  uint32(address, length) {
    return new Uint32Array(this.wasm.memory.buffer, address, length);
  }
}

/** A seed for a search that was given none. @returns {bigint} */
export function anySeed() {
  return crypto.getRandomValues(new BigUint64Array(1))[0];
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
