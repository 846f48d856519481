/** Positions as one line of text, as the Python package reads and writes them (mancala_env/games/notation.py). */

import { InvalidInput } from "./input.js";

const LETTERS = "SN";
const FORM = "RULESET SOUTH/NORTH STORE-STORE S|N [stall=..] [round=..] [starter=..] [debts=..] [territory=..]";
const MOST_DIGITS = 40;

/** Split a text at ASCII spaces, tabs and line ends. Skip a byte order mark at its start.
 * @param {string} text @returns {string[]}
 */
export function wordsOf(text) {
  return text.replace(/^\ufeff/, "").match(/[^ \t-\r]+/g) ?? [];
}

/** Read a position's text: the ruleset's name and the arguments of {@link Engine#setUp}. notation.py defines the grammar. */
export function parsePosition(text) {
  const words = wordsOf(text);
  if (words.length < 4) throw new InvalidInput(`"${text}" is not a position; the form is: ${FORM}`);
  const number = (word, what) => {
    if (!/^[0-9]+$/.test(word)) throw new InvalidInput(`${what}: "${word}" is not a whole number`);
    if (word.length > MOST_DIGITS) throw new InvalidInput(`${what}: a number has at most ${MOST_DIGITS} digits, not ${word.length.toLocaleString("en")}`);
    return Number(word);
  };
  const player = (letter, what) => {
    if (letter !== "S" && letter !== "N") throw new InvalidInput(`${what}: "${letter}" must be S or N`);
    return LETTERS.indexOf(letter);
  };
  const pair = (word, what) => {
    const dash = word.indexOf("-");
    if (dash < 0) throw new InvalidInput(`${what}: "${word}" must be two numbers, of South and North, such as 5-3`);
    return [word.slice(0, dash), word.slice(dash + 1)].map((part) => number(part, what));
  };
  const [name, rows, stores, mover, ...options] = words;
  if (rows.split("/").length !== 2) throw new InvalidInput(`"${rows}" must be South's row / North's row`);
  const [south, north] = rows.split("/").map((row) => row.split(","));
  if (south.length !== north.length) throw new InvalidInput(`"${rows}" must have two rows with equally many holes`);
  const holes = [...south, ...north];
  const position = {
    name,
    seeds: holes.map((hole) => number(hole.replace(/[sn]$/, ""), "seeds")),
    owner: holes.map((hole) => "sn".indexOf(hole.at(-1) ?? " ")),
    stores: pair(stores, "stores"),
    player: player(mover, "player"),
  };
  for (const option of options) {
    const [key] = option.split("=", 1), value = option.slice(key.length + 1);
    if (key === "stall" || key === "round") position[key] = number(value, key);
    else if (key === "starter") position.starter = player(value, key);
    else if (key === "debts") position.debts = pair(value, key);
    else if (key === "territory") position.territory = [...value].map((letter) => player(letter, key));
    else if (option === "end=endless") position.endless = true;
    else throw new InvalidInput(`"${option}" is not part of a position; the form is: ${FORM}`);
  }
  return position;
}

/** Write a position as one line of text. @param {import("./game_state.js").Game} game @returns {string} */
export function positionText(game) {
  const { rowWidth } = game.ruleset, { owner } = game;
  const holes = game.seeds.map((seeds, hole) => `${seeds}${["", "s", "n"][owner[hole] + 1]}`);
  const words = [
    game.ruleset.name,
    `${holes.slice(0, rowWidth)}/${holes.slice(rowWidth)}`,
    game.stores.join("-"),
    LETTERS[game.player],
  ];
  if (game.stall) words.push(`stall=${game.stall}`);
  if (game.round !== 1) words.push(`round=${game.round}`);
  if (game.starter !== 0) words.push(`starter=${LETTERS[game.starter]}`);
  if (game.debts.some((debt) => debt)) words.push(`debts=${game.debts.join("-")}`);
  if (game.territory.some((player, hole) => player !== Math.floor(hole / rowWidth)))
    words.push(`territory=${game.territory.map((player) => LETTERS[player]).join("")}`);
  if (game.end === "endless") words.push("end=endless");
  return words.join(" ");
}
