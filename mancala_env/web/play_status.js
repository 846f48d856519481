/** The status line of Play: whose turn it is, what an agent does, or how the game has ended. */

import { agentName } from "./agents.js";
import { placeName, seedsText } from "./motion.js";
import { playerName, statusOf } from "./scene.js";
import { t } from "./texts.js";

/** What the board shows of a resignation, as options of `describe`; null if no player has resigned at the current place. @param {import("./game.js").GameLine} line */
export function resignationOf({ resigned, at, turns }) {
  if (resigned === null || at < turns.length) return null;
  return { caption: t("play.resigned", { player: playerName(resigned), winner: playerName(1 - resigned) }), isOver: true };
}

/** The status line of a game.
 * @param {import("./game.js").GameLine} line @param {("you" | object)[]} players
 * @param {{isPaused: boolean, isUnanswered: boolean}} now  Whether the end of a round is shown; whether the agent to move has failed.
 */
export function statusText(line, players, { isPaused, isUnanswered }) {
  const { game, ruleset } = line, resignation = resignationOf(line);
  if (resignation) return resignation.caption;
  if (isPaused) {
    const { after } = line.lastTurn;
    return t("play.round_over", { result: statusOf(ruleset, after), round: after.round });
  }
  if (line.isOver) {
    const by = Math.abs(line.margin);
    const result = line.winner === null ? t("play.draw") : t("play.won", { player: playerName(line.winner), by });
    return line.rounds === 1 ? result : t("play.match_over", { result });
  }
  const player = playerName(game.player), mover = players[game.player];
  if (mover === "you") return t(players[1 - game.player] === "you" ? "play.to_move" : "play.your_turn", { player });
  return t(isUnanswered ? "play.no_answer" : "play.thinking", { agent: agentName(mover), player });
}

/** What the next round begins with: won holes, debts and stores; "" if nothing of these. @param {import("./engine.js").Game} game  Its start. */
export function nextRoundText({ ruleset, territory, debts, stores, round }) {
  const facts = [0, 1].flatMap((who) => {
    const player = playerName(who);
    const holes = territory.flatMap((owner, hole) => (owner === who && Math.floor(hole / ruleset.rowWidth) !== who ? placeName(ruleset, hole) : []));
    return [
      holes.length && t("next.holes", { player, holes: holes.join(", ") }),
      debts[who] && t("next.debt", { player, seeds: seedsText(debts[who]) }),
      stores[who] && t("next.store", { player, seeds: seedsText(stores[who]) }),
    ].filter(Boolean);
  });
  return facts.length ? t("next.round", { round, facts: facts.join("; ") }) : "";
}

/** Whether the user has lost against an agent. */
export function isLost({ winner }, players) {
  return winner !== null && players[1 - winner] === "you" && players[winner] !== "you";
}
