/** Links that carry a game, and reading what a user pastes: a link of the page or a position's text. */

import { addressOf, readAddress } from "./address.js";
import { InvalidInput } from "./engine.js";
import { GameLine, MATCH, turnText } from "./game.js";
import { roundsOf, rulesetOf, takeTurn } from "./record.js";
import { t } from "./texts.js";

/** The page's link to a game: to its position in Play, or to all of its turns in Study. */
export function linkOf(app, line, view = "play") {
  const { turns, rounds, start } = line;
  const isOwn = !app.engine.rulesets.includes(line.ruleset);
  const place = location.href.replace(/#.*/s, "");
  if (!turns.length) return place + addressOf(view, start, isOwn);
  return place + addressOf("study", start, isOwn, { turns: turns.map(turnText), rounds: rounds === MATCH ? "match" : rounds });
}

/** Copy the link of a game. */
export const copyLink = (app, line, view) => copyText(app, linkOf(app, line, view), "play.link_copied");

/** Copy a text, and show that it was copied, by the key of a message, or else show the text itself. */
export async function copyText(app, text, copied) {
  try {
    await navigator.clipboard.writeText(text);
    app.tell(t(copied), true, { isBrief: true });
  } catch {
    app.tell(t("play.copy_by_hand", { text })); // only secure pages may copy
  }
}

/** The game that an address names, at its end. A ruleset's name alone is the start of round 1.
 * @throws {InvalidInput} If the position or a turn is invalid.
 */
export function lineOf(engine, { rest, dials, turns = [], rounds }) {
  const line = new GameLine(startOf(engine, rest, rulesetOf(engine, rest.split(" ")[0], dials)), roundsOf(rounds));
  for (const turn of turns) takeTurn(line, turn);
  return line;
}

const startOf = (engine, text, ruleset) => (text === ruleset?.name ? engine.newGame(ruleset) : engine.fromText(text, ruleset));

/** The game of a pasted text: a link of the page, a ruleset's name, or a position, whose player to move may be written s or n.
 * @throws {InvalidInput} If it is not about a valid position.
 * @param {object} engine @param {string} text @param {object} [shown]  The ruleset that is shown, which may be a custom one.
 */
export function lineFromText(engine, text, shown) {
  const hash = text.search(/#[a-z]*(\/|$)/); // the name of a ruleset may contain #
  if (hash >= 0) {
    const address = readAddress(text.slice(hash).trim());
    if (!address.rest || ["puzzles", "learn"].includes(address.view)) throw new InvalidInput(t("error.no_position"));
    return lineOf(engine, address);
  }
  const words = text.trim().split(/\s+/);
  if (/^[sn]$/.test(words[3] ?? "")) words[3] = words[3].toUpperCase();
  const ruleset = [shown, ...engine.rulesets].find((one) => one?.name === words[0]);
  return new GameLine(startOf(engine, words.join(" "), ruleset));
}
