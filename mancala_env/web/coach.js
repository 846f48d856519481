/** What a turn does, in a sentence: "What happened" under the board, and the coach's sentence about each legal turn. */

import { turnText } from "./game.js";
import { placeName, seedsText, timelineOf } from "./motion.js";
import { playerName, valueText } from "./scene.js";
import { t } from "./texts.js";

/** The effects of an action, from its timeline: {laps, captured, ransomed, owned, isEndless, passed, isOver}.
 * `owned` holds the holes that the player wins, `passed` the player that passes, or null.
 */
export function effectsOf(game, action) {
  const { events, laps } = timelineOf(game, action);
  const seeds = (kind) => events.reduce((sum, event) => sum + (event.kind === kind ? event.seeds : 0), 0);
  return {
    laps,
    captured: seeds("capture"),
    ransomed: seeds("ransom"),
    owned: events.filter(({ kind }) => kind === "own").map(({ hole }) => hole),
    isEndless: events.some(({ kind }) => kind === "put_back"),
    passed: events.find(({ kind }) => kind === "pass")?.player ?? null,
    isOver: events.some(({ kind }) => kind === "end"),
  };
}

/** A turn that was played: "North sowed N3: 7 laps, nothing won." */
export function happened(turn) {
  const { before, action, player } = turn, effects = effectsOf(before, action);
  const laps = effects.laps > 1 && !effects.isEndless ? [t("play.laps", { laps: effects.laps })] : [];
  const said = [t("happened.turn", { player: playerName(player), turn: turnText(turn), effects: [...laps, ...phrases(before.ruleset, effects, "happened")].join(", ") })];
  if (effects.passed !== null) said.push(t("happened.pass", { player: playerName(effects.passed) }));
  return said.join(" ");
}

/** What an action does: "captures 6 seeds and makes an uur in N4". */
export function doesText(game, action) {
  return joined(phrases(game.ruleset, effectsOf(game, action), "does"));
}

const joined = (parts) => (parts.length > 1 ? t("does.and", { first: parts.slice(0, -1).join(", "), last: parts.at(-1) }) : parts[0]);

/** The coach's sentence about a legal action: "S2 makes an uur in N4: +4; best reply: N3 captures 8 seeds."
 * @param {object} game @param {number} action
 * @param {{lead?: number, reply?: number}} known  The exact final lead and the best reply, where they are known.
 */
export function coachText(game, action, { lead, reply }) {
  const effects = effectsOf(game, action);
  const turn = turnText({ player: game.player, action }), does = joined(phrases(game.ruleset, effects, "does"));
  const what = lead === undefined ? t("coach.open", { turn, does }) : t("coach.exact", { turn, does, lead: valueText(lead) });
  return t("coach.sentence", { what, reply: replyText(game.after(action), effects, reply) });
}

function replyText(after, { passed, isOver }, reply) {
  if (isOver) return t("coach.over");
  const pass = passed === null ? "" : t("coach.pass", { player: playerName(passed) });
  if (reply === undefined) return pass;
  const values = { turn: turnText({ player: after.player, action: reply }), does: doesText(after, reply) };
  return pass + t(passed === null ? "coach.reply" : "coach.next", values);
}

function phrases(ruleset, { captured, ransomed, owned, isEndless }, tense) {
  const said = [];
  if (isEndless) return [t(`${tense}.endless`)];
  if (captured) said.push(t(`${tense}.capture`, { seeds: seedsText(captured) }));
  if (ransomed) said.push(t(`${tense}.ransom`, { seeds: seedsText(ransomed) }));
  const holes = joined(owned.map((hole) => placeName(ruleset, hole)));
  if (owned.length) said.push(t(`${tense}.${owned.length > 1 ? "owns" : "own"}.${ruleset.dials.landing}`, { holes }));
  return said.length ? said : [t(`${tense}.nothing`)];
}
