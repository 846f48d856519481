/** The list of a game's turns beside the board in Play. */

import { h } from "./dom.js";
import { turnText } from "./game.js";
import { t } from "./texts.js";

/** Bring a list in step with the turns of a game: items of turns taken back go, new turns get items.
 * @param {HTMLElement} list @param {object[]} turns
 */
export function showTurns(list, turns) {
  while (list.childElementCount > turns.length) list.lastChild.remove();
  list.append(...turns.slice(list.childElementCount).map(item));
  list.scrollTop = list.scrollHeight;
}

function item(turn) {
  const laps = turn.laps > 1 ? h("small", {}, t("play.laps", { laps: turn.laps })) : null;
  const won = turn.captured ? h("span", { class: "won" }, `+${turn.captured}`) : null;
  const end = turn.after.isOver ? h("small", {}, t("play.round_end", { round: turn.before.round })) : null;
  return h("li", { class: turn.player ? "north" : "south" }, h("b", {}, turnText(turn)), laps, won, end);
}
