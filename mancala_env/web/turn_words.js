/** Sentences about turns that Play and Study both say. */

import { turnText } from "./game.js";
import { inWords, timelineOf } from "./motion.js";
import { playerName } from "./scene.js";
import { t } from "./texts.js";

/** A turn that was played, and its effect, in words. */
export function turnInWords(turn) {
  const effect = inWords(turn.before.ruleset, timelineOf(turn.before, turn.action));
  return `${t("play.turn", { player: playerName(turn.player), turn: turnText(turn) })} ${effect.join(" ")}`;
}

/** The legal turns of a position: "S1, S3". */
export function legalText(game) {
  return game.legal.map((action) => turnText({ player: game.player, action })).join(", ");
}
