/** Sentences about turns that several views say. */

import { turnText } from "./game.js";
import { inWords, placeName, timelineOf } from "./motion.js";
import { playerName, statusOf } from "./scene.js";
import { t } from "./texts.js";

/** A turn that was played, and its effect, in words. */
export function turnInWords(turn) {
  const effect = inWords(turn.before.ruleset, timelineOf(turn.before, turn.action));
  return `${t("play.turn", { player: playerName(turn.player), turn: turnText(turn) })} ${effect.join(" ")}`;
}

/** The legal turns of a position: "S1, S3". */
function legalText(game) {
  return game.legal.map((action) => turnText({ player: game.player, action })).join(", ");
}

/** What the player to move can sow, or how the round has ended: "South can sow S1, S3." */
export function legalInWords(game) {
  if (game.isOver) return statusOf(game.ruleset, game);
  return t("play.legal_said", { player: playerName(game.player), legal: legalText(game) });
}

/** Why the player to move cannot sow an action, and what can be sown: "S3 is empty. South can sow S1, S2." */
export function whyNotSown(game, action) {
  return t("play.illegal", { why: reasonOf(game, action), player: playerName(game.player), legal: legalText(game) });
}

/** Why the player to move cannot sow an action: "S3 is empty." */
export function reasonOf(game, action) {
  const { ruleset } = game;
  if (!(action >= 0 && action < ruleset.numHoles)) return t("why.no_hole", { number: action + 1 });
  const hole = game.holeOf(action), name = placeName(ruleset, hole), owner = game.owner[hole];
  if (owner >= 0) return t(`why.owned.${ruleset.dials.landing}`, { hole: name, player: playerName(owner) });
  if (game.territory[hole] !== game.player) return t("why.opponent", { hole: name, player: playerName(game.territory[hole]) });
  return game.seeds[hole] ? t("why.opening") : t("why.empty", { hole: name });
}
