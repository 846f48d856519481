/** The events of a turn, in order: the animation, the texts and the pictures follow them. */

import { InvalidInput } from "./input.js";

/** Read the events of an action; see {@link Game#timeline}. @param {import("./game_state.js").Game} game @param {number} action */
export function readTimeline(game, action) {
  const { kernels, description } = game.engine;
  let room = 512;
  for (;;) {
    const events = kernels.take(16 * room);
    const count = kernels.call(game, (rules, row) => kernels.wasm.timeline(rules, row, action, events, room));
    const numbers = Array.from(new Int32Array(kernels.wasm.memory.buffer, events, 4 * Math.min(count, room)));
    kernels.giveBack(events);
    if (count > room) {
      room = count;
      continue;
    }
    if (!count) throw new InvalidInput(`action ${action} is not legal; legal actions: ${game.legal.join(", ")}`);
    const { events: kinds, ends } = description;
    return Array.from({ length: count }, (_, n) => {
      const [kind, player, hole, seeds] = numbers.slice(4 * n, 4 * n + 4);
      const isEnd = kinds[kind] === "end"; // an end event has its reason in place of a hole
      return { kind: kinds[kind], player, hole: isEnd ? -1 : hole, seeds, reason: isEnd ? ends[hole] : "" };
    });
  }
}
