/** Alpha-beta search. Searches of one ruleset, depth and network share a table, and the last four tables are kept. */

import { InvalidInput, refuseFinished, wholeNumbers } from "./input.js";
import { anySeed } from "./kernels.js";
import { Search } from "./search.js";

export class Minimax {
  #kernels;
  #blocks = new Map(); // addresses of tables

  /** @param {import("./kernels.js").Kernels} kernels */
  constructor(kernels) {
    this.#kernels = kernels;
  }

  /** Start a search; see {@link Engine#minimax}. */
  start(game, { depth, values = false, network, seed = anySeed() } = {}) {
    refuseFinished(game);
    if (depth !== undefined) wholeNumbers("depth", [depth], 1, 1, 99);
    const deepest = depth ?? 99;
    const tableBits = Math.min(20, deepest + 4);
    if (network && network.ruleset.rules.join() !== game.ruleset.rules.join())
      throw new InvalidInput(`the value network is of ${network.ruleset.name}, not of ${game.ruleset.name}`);
    const kernels = this.#kernels, key = `${game.ruleset.rules} ${deepest} ${network?.id ?? ""}`;
    const table = this.#table(key, game.ruleset, deepest, tableBits), { block } = table;
    kernels.wasm.minimax_start(kernels.writeRules(game.ruleset), deepest, tableBits, block);
    const unit = network ? network.unit : 1;
    const numHoles = game.ruleset.numHoles;
    const root = game.copy();
    const result = { action: -1, depth: 0, nodes: 0, value: 0, values: null };
    const goOn = (turns) =>
      kernels.call(root, (rules, row, random, out) => {
        if (this.#blocks.get(key) !== table) throw new InvalidInput("the table of this search was given to later searches");
        kernels.writeRandom(random, seed);
        const step = depth === undefined ? 1 : 2;
        const done = kernels.wasm.minimax_go_on(
          rules, row, random, network?.address ?? 0, deepest, tableBits, step, values ? 1 : 0, turns, block, out,
        );
        const said = kernels.float64(out, 4 + numHoles);
        [result.action, result.depth, result.nodes] = said;
        result.value = said[3] / unit;
        if (values && result.depth > 0)
          result.values = Object.fromEntries(root.legal.map((action) => [action, said[4 + action] / unit]));
        return done;
      });
    return new Search(goOn, result, { first: 2000, most: 1 << 22 });
  }

  /** The table {block} of a key, a ruleset's, a depth's and a network's; the four used last are kept. */
  #table(key, ruleset, deepest, tableBits) {
    const kernels = this.#kernels, kept = this.#blocks.get(key);
    this.#blocks.delete(key);
    if (!kept)
      for (const [old, { block }] of this.#blocks) {
        if (this.#blocks.size < 4) break;
        kernels.giveBack(block);
        this.#blocks.delete(old);
      }
    this.#blocks.set(key, kept ?? { block: kernels.take(kernels.wasm.minimax_bytes(kernels.writeRules(ruleset), deepest, tableBits)) });
    return this.#blocks.get(key);
  }
}
