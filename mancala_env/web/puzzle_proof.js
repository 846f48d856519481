/** The proof of a puzzle: its values from the solver in a worker, and the best line after its best turn. */

import { Searches } from "./searches.js";
import { numberText, t } from "./texts.js";
import { bestOf, finalLeads } from "./values.js";

const MOST_TURNS = 8; // of the line
const MILLISECONDS = 60_000; // for the values of one position

export class BestLine {
  #searches = null;

  /** Exact values of a position, as worker.js reports them. @param {import("./engine.js").Game} game */
  values(game, signal, onProgress) {
    this.#searches ??= new Searches(); // a worker is started when it is first needed
    return this.#searches.ask("values", game, { milliseconds: MILLISECONDS }, { signal, onProgress });
  }

  /** Yield {before, action, after} of the first turn and of the best replies, until the round ends or the line is long.
   * @param {import("./engine.js").Game} start @param {number} first @param {AbortSignal} signal
   */
  async *turns(start, first, signal) {
    let before = start, action = first;
    for (let number = 1; ; number++) {
      const after = before.after(action);
      yield { before, action, after };
      if (after.isOver || number === MOST_TURNS) return;
      const [best] = bestOf(after, (await this.values(after, signal)).actions);
      if (best === undefined) return; // not solved in time
      before = after;
      action = best;
    }
  }
}

/** Whether the solver's values are the final leads of a puzzle, in words. */
export function checkText(game, { actions, nodes, isExact }, leads) {
  const found = finalLeads(game, actions), number = numberText(nodes);
  const isOther = Object.entries(leads).some(([action, lead]) => lead < found[action].lower || lead > found[action].upper);
  if (isOther) return t("puzzles.check_wrong", { nodes: number });
  return t(isExact ? "puzzles.check_right" : "puzzles.check_open", { nodes: number, values: Object.keys(leads).length });
}
