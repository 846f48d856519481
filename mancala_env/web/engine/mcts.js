/** Monte Carlo tree search. Each search has a tree of its own. */

import { refuseFinished, sizeInMegabytes, wholeNumbers } from "./input.js";
import { anySeed } from "./kernels.js";
import { Search } from "./search.js";

/** Start a search; see {@link Engine#mcts}. @param {import("./kernels.js").Kernels} kernels */
export function mcts(kernels, game, { simulations = 10_000_000, megabytes = 40, seed = anySeed() } = {}) {
  refuseFinished(game);
  wholeNumbers("simulations", [simulations], 1, 1, 10_000_000);
  sizeInMegabytes(megabytes);
  const { numHoles } = game.ruleset;
  const nodes = Math.min(1 + (simulations + 1) * numHoles, Math.max(1024, Math.floor((megabytes * 2 ** 20) / 40)));
  const block = kernels.take(kernels.wasm.mcts_bytes(nodes));
  kernels.wasm.mcts_start(nodes, block);
  const root = game.copy();
  const { legal } = root;
  const result = { action: -1, simulations: 0, visits: {}, values: {} };
  const goOn = (some) =>
    kernels.call(root, (rules, row, random, out) => {
      kernels.writeRandom(random, seed);
      const done = kernels.wasm.mcts_go_on(rules, row, random, nodes, simulations, some, block, out);
      const said = kernels.float64(out, 2 + 2 * numHoles);
      [result.action, result.simulations] = said;
      result.visits = Object.fromEntries(legal.map((action) => [action, said[2 + 2 * action]]));
      result.values = Object.fromEntries(legal.map((action) => [action, said[3 + 2 * action]]));
      return done;
    });
  return new Search(goOn, result, { first: 100, most: 1 << 20, close: () => kernels.giveBack(block) });
}
