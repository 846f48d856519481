/** The report of a game: how well each side played, by exact values. Thresholds are in seeds lost compared with the best turn. */

import { boundsOf } from "./values.js";

/** Most seeds that a good turn and a mistake lose. The best turn loses none, a blunder loses more. */
export const MOST_LOST = { good: 2, mistake: 5 };
export const KINDS = ["best", "good", "mistake", "blunder"];
const WORST = 3;

/** The kind of a turn that loses a number of seeds. */
export function kindOf(lost) {
  if (lost === 0) return "best";
  return lost <= MOST_LOST.good ? "good" : lost <= MOST_LOST.mistake ? "mistake" : "blunder";
}

/** Whether a turn that loses a number of seeds is a mistake or a blunder. */
export const isMistake = (lost) => lost > MOST_LOST.good;

/** How near a turn is to the best one: 1 for the best turn, 0 for the worst. null if turns do not differ or not all values are exact. */
export function accuracyOf(turn, bounds) {
  const values = turn.before.legal.map((action) => bounds[action]);
  if (!values.every((one) => one && one.lower === one.upper)) return null;
  const least = Math.min(...values.map(({ lower }) => lower)), most = Math.max(...values.map(({ lower }) => lower));
  return most === least ? null : (bounds[turn.action].lower - least) / (most - least);
}

/** The players whose mistakes the user retries: the human ones, or both if neither or both are. @param {import("./game.js").GameLine} line */
export function yoursOf({ names }) {
  const humans = [0, 1].filter((player) => names[player] === "human");
  return humans.length ? humans : [0, 1];
}

/** The report of a game from what is known of its positions.
 * @param {import("./game.js").GameLine} line @param {import("./game_analysis.js").GameAnalysis} analysis
 * @returns {{sides: {turns: number, graded: number, lost: number, accuracy: number | null, best: number, good: number, mistake: number, blunder: number}[],
 *   worst: {at: number, turn: object, lost: number}[]}}  `at` is the number of turns before a moment.
 */
export function reportOf(line, analysis) {
  const sides = [0, 1].map(() => ({ turns: 0, graded: 0, lost: 0, accuracy: null, best: 0, good: 0, mistake: 0, blunder: 0 }));
  const near = [[], []], moments = [];
  line.turns.forEach((turn, at) => {
    const side = sides[turn.player], lost = analysis.lost(turn);
    side.turns += 1;
    if (lost === undefined) return;
    side.graded += 1;
    side.lost += lost;
    side[kindOf(lost)] += 1;
    if (lost > 0) moments.push({ at, turn, lost });
    const accuracy = accuracyOf(turn, boundsOf(analysis.of(turn.before)));
    if (accuracy !== null) near[turn.player].push(accuracy);
  });
  near.forEach((each, player) => {
    if (each.length) sides[player].accuracy = each.reduce((sum, one) => sum + one, 0) / each.length;
  });
  return { sides, worst: moments.sort((one, other) => other.lost - one.lost || one.at - other.at).slice(0, WORST) };
}
