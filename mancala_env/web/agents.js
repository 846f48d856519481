/** The agents that the page offers, those of worker.js and those of `mancala serve`: strengths, names, and asking one for a turn. */

import { MATCH } from "./game.js";
import { keyOfRules } from "./networks.js";
import { t } from "./texts.js";

/** Range of each agent's strength, [least, default, most]; null for an agent without one. */
export const AGENTS = {
  greedy: null,
  minimax: [1, 6, 14],
  mcts: [100, 2000, 200000],
  network: [1, 6, 12],
  perfect: [1, 5, 60],
  random: null,
};
/** The agents of levels 1 to 8, by their rating in docs/results/leaderboard.md. */
export const LEVELS = [
  { kind: "random" },
  { kind: "greedy" },
  { kind: "minimax", strength: 2 },
  { kind: "minimax", strength: 4 },
  { kind: "minimax", strength: 6 },
  { kind: "mcts", strength: 400 },
  { kind: "mcts", strength: 1000 },
  { kind: "perfect", strength: 5 },
].map((agent, n) => ({ ...agent, level: n + 1 }));
/** The agent that replaces an agent of the server while the server fails. */
const SPARE = { kind: "minimax", strength: 6 };

/** The name of an agent {kind, strength}, {kind, strength, level} or {kind: "served", label}, for the user. */
export function agentName({ kind, strength, label, level }) {
  if (level) return t("agent.level", { level });
  if (kind === "served") return label;
  return AGENTS[kind] ? `${t(`agent.${kind}`)} ${strength}` : t(`agent.${kind}`);
}

/** The name of a player in a record: "human", or the agent as a spec of Python. @param {"you" | object} player */
export function recordName(player) {
  if (player === "you") return "human";
  return player.label ?? [player.kind, AGENTS[player.kind] && player.strength].filter(Boolean).join(":");
}

/** Ask an agent for the next turn of a game: {action, note}.
 * @param {object} app @param {import("./searches.js").Searches} searches
 * @param {import("./game.js").GameLine} line @param {object} agent  {kind, strength}, or an agent of the server.
 * @param {{signal?: AbortSignal}} listening
 */
export function askAgent(app, searches, { game, rounds, ruleset }, agent, listening) {
  const network = agent.kind === "network" ? app.networks.get(keyOfRules(ruleset)) ?? null : null;
  const { level, ...asked } = agent;
  if (agent.kind !== "served") return searches.ask("choose", game, { ...asked, network }, listening);
  const own = async () => ({ ...(await searches.ask("choose", game, SPARE, listening)), note: `${SPARE.kind}:${SPARE.strength} of the page played` });
  return app.askServer("choose", game, { ...agent, rounds: rounds === MATCH ? "match" : rounds }, listening, own, { label: agent.label, agent: agentName(SPARE) });
}
