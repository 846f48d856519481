/** Reads and writes game records (docs/records.md), the files of `mancala replay` and of Python's read_games. */

import { readDial, writeDial } from "./address.js";
import { InvalidInput, wordsOf } from "./engine.js";
import { GameLine, MATCH, turnText } from "./game.js";

const PLAYERS = ["South", "North"];
const RESIGNED = "resigned";
const MOST_CHARACTERS = 10_000_000;
const MOST_ROUNDS = 1000;
const TURNS_A_LINE = 10;

/** The ruleset with a name and rule options: one of the catalogue if all options agree, else a custom one. */
export function rulesetOf(engine, name, dials) {
  const known = engine.rulesets.find((ruleset) => ruleset.name === name);
  if (!dials) return known ?? engine.ruleset(name);
  if (known && engine.dials.every(({ name: dial }) => dials[dial] === undefined || dials[dial] === known.dials[dial])) return known;
  if (known) throw new InvalidInput(`the rule options are not those of "${name}" in the catalogue`);
  const wrong = Object.keys(dials).find((dial) => !["title", "region", "source"].includes(dial) && !engine.dials.some((one) => one.name === dial));
  if (wrong !== undefined) throw new InvalidInput(`"${wrong}" is not a rule option; the rule options are ${engine.dials.map((dial) => dial.name).join(", ")}`);
  return engine.ownRuleset({ ...dials, name });
}

/** Write a game.
 * @param {GameLine} line
 * @param {{south?: string, north?: string, date?: string, headers?: Record<string, string>}} [about]
 */
export function writeRecord(line, { south = "", north = "", date = "", headers = {} } = {}) {
  const { ruleset, start } = line, { engine } = start;
  const known = engine.rulesets.includes(ruleset);
  const fresh = engine.newGame(ruleset);
  const rounds = line.rounds === MATCH ? "match" : line.rounds;
  const written = [
    ["Ruleset", ruleset.name],
    ["Dials", engine.dials.map(({ name }) => writeDial(name, ruleset.dials[name])).join(" ")],
    !known && ruleset.title !== engine.description.defaults.title && ["Title", ruleset.title],
    ["South", south],
    ["North", north],
    ["Rounds", rounds],
    start.text !== fresh.text && ["Start", start.text],
    date && ["Date", date],
    ...Object.entries(headers),
    ["Result", resultOf(line)],
    endOf(line) && ["End", endOf(line)],
  ];
  const lines = written.filter(Boolean).map(([name, value]) => `[${name} "${escaped(String(value), '"')}"]`);
  if (line.turns.length) lines.push("", ...body(line));
  return `${lines.join("\n")}\n`;
}

function* body(line) {
  let current = 0, words = [];
  for (const [n, turn] of line.turns.entries()) {
    if (line.rounds !== 1 && turn.before.round !== current) {
      if (words.length) yield words.join(" ");
      words = [];
      current = turn.before.round;
      yield `Round ${current}:`;
    }
    if (!words.length) words.push(`${n + 1}.`);
    words.push(turnText(turn));
    if (turn.note) words.push(`{${escaped(turn.note, "}")}}`);
    if (turn.note || words.length > TURNS_A_LINE) {
      yield words.join(" ");
      words = [];
    }
  }
  if (words.length) yield words.join(" ");
}

function resultOf(line) {
  if (line.resigned !== null) return PLAYERS[1 - line.resigned];
  const last = new GameLineEnd(line);
  if (last.margin === null) return "*";
  return last.margin === 0 ? "draw" : `${PLAYERS[Number(last.margin < 0)]} by ${Math.abs(last.margin)}`;
}

function endOf(line) {
  return line.resigned !== null ? RESIGNED : new GameLineEnd(line).end;
}

/** The result of a line's last position, at any current place. */
class GameLineEnd {
  constructor(line) {
    const { at } = line;
    line.goTo(Infinity);
    this.margin = line.margin;
    this.end = line.game.end;
    line.goTo(at);
  }
}

/** Read a game's text.
 * @param {import("./engine.js").Engine} engine @param {string} text  A file of one game or several; the first is read.
 * @returns {{line: GameLine, headers: Record<string, string>}}
 * @throws {InvalidInput} If the record is invalid; the message names the turn.
 */
export function readRecord(engine, text) {
  const [{ headers, words }] = gamesOf(text, 1);
  const dials = headers.Dials === undefined ? undefined : Object.fromEntries(wordsOf(headers.Dials).map(readDial));
  for (const word of ["Title", "Region", "Source"]) if (dials && headers[word]) dials[word.toLowerCase()] = headers[word];
  const ruleset = rulesetOf(engine, headers.Ruleset, dials);
  const start = headers.Start ? engine.fromText(headers.Start, ruleset) : engine.newGame(ruleset);
  const said = headers.Rounds ?? "1";
  const rounds = said === "match" ? MATCH : /^[0-9]{1,4}$/.test(said) ? Number(said) : 0;
  if (rounds < 1 || (rounds > MOST_ROUNDS && rounds !== MATCH))
    throw new InvalidInput(`Rounds must be a whole number from 1 to ${MOST_ROUNDS} or match, not "${said}"`);
  const line = new GameLine(start, rounds);
  for (const word of words) take(line, word);
  if (headers.End === RESIGNED) {
    if (!PLAYERS.includes(headers.Result)) throw new InvalidInput(`header Result must be South or North where the other resigned, not "${headers.Result ?? "*"}"`);
    line.resigned = 1 - PLAYERS.indexOf(headers.Result);
  }
  for (const [name, found] of [["Result", resultOf(line)], ["End", endOf(line)]])
    if (headers[name] !== undefined && headers[name] !== found)
      throw new InvalidInput(`header ${name} says "${headers[name]}", but the turns end in "${found}"`);
  return { line, headers };
}

/** Split a file into games without playing them: their headers, and the text for {@link readRecord}.
 * @param {string} text
 * @returns {{headers: Record<string, string>, text: string}[]}
 * @throws {InvalidInput} If the file is invalid; the message names the game.
 */
export function listGames(text) {
  return gamesOf(text).map(({ headers, from, to }) => ({ headers, text: text.slice(from, to) }));
}

function take(line, word) {
  const { note } = word;
  if (note !== undefined) {
    if (line.lastTurn) line.lastTurn.note = [line.lastTurn.note, note].filter(Boolean).join(" ");
    return;
  }
  if (word.number !== undefined) {
    if (word.number !== line.turns.length + 1) throw new InvalidInput(`turn ${line.turns.length + 1} comes next, not turn ${word.number}`);
    return;
  }
  if (word.round !== undefined) {
    const { round } = line.game;
    if (word.round !== round || line.lastTurn?.before.round === round)
      throw new InvalidInput(`round ${word.round} does not begin here: it is round ${round}`);
    return;
  }
  const found = /^([SN])([1-9][0-9]{0,3})$/.exec(word.text);
  const { game } = line, where = `turn ${line.turns.length + 1}`;
  const legal = game.isOver ? "the game is over" : `legal: ${game.legal.map((action) => turnText({ player: game.player, action })).join(" ")}`;
  if (!found) throw new InvalidInput(`${where}: "${word.text}" is not a turn: S or N and a hole from 1; ${legal}`);
  const action = Number(found[2]) - 1;
  if ("SN".indexOf(found[1]) !== game.player || !game.legal.includes(action))
    throw new InvalidInput(`${where}: ${word.text} cannot be played; ${legal}`);
  line.play(action);
}

/** Parse a text: the headers, turns and comments of each game, and its place in the text. */
function gamesOf(text, most = Infinity) {
  if (text.length > MOST_CHARACTERS) throw new InvalidInput(`a file must have at most ${MOST_CHARACTERS.toLocaleString("en")} characters`);
  const games = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (games.length < most && (at < text.length || !games.length)) {
    try {
      const game = oneGame(text, at);
      games.push({ ...game, from: at });
      at = game.to;
    } catch (error) {
      throw games.length ? new InvalidInput(`game ${games.length + 1}: ${error.message}`) : error;
    }
  }
  return games;
}

/** Parse the game that begins at a place in a text. It ends where the next game begins. */
function oneGame(text, from) {
  const headers = {}, words = [];
  let at = from;
  const next = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  // Only ASCII spaces and digits count, as in records.py.
  while (next(/[ \t-\r]+/y) || at < text.length) {
    const here = at;
    let found;
    if ("Ruleset" in headers && next(/\[Ruleset[ \t-\r]/y)) return { headers, words, to: here };
    if ((found = next(/\[([A-Z][A-Za-z0-9]{0,39})[ \t\v\f]+"((?:[^"\\\n\r]|\\.)*)"\][ \t\v\f]*(?=\n|\r|$)/y))) {
      if (words.length) throw new InvalidInput(`header ${found[1]} comes after the turns; a new game begins with Ruleset`);
      if (Object.hasOwn(headers, found[1])) throw new InvalidInput(`header ${found[1]} is a duplicate`);
      headers[found[1]] = unescaped(found[2]);
    } else if ((found = next(/\{((?:[^}\\]|\\[^])*)\}/y))) words.push({ note: unescaped(inOneLine(found[1])) });
    else if ((found = next(/Round[ \t\v\f]+([0-9]{1,9}):/y))) words.push({ round: Number(found[1]) });
    else if ((found = next(/([0-9]{1,9})\./y))) words.push({ number: Number(found[1]) });
    else if ((found = next(/[^ \t-\r{]+/y))) words.push({ text: found[0] });
    else if (at < text.length) throw new InvalidInput("a comment is not closed: } is missing");
    if (words.length && !("Ruleset" in headers)) break;
  }
  if (!("Ruleset" in headers)) throw new InvalidInput('a game begins with [Ruleset "..."]');
  return { headers, words, to: at };
}

/** A comment's text: every kind of white space becomes a space, a line break and the space around it one space. */
function inOneLine(text) {
  const [first, ...more] = text.split(/\r\n|\n|\r/).map((part) => part.replace(/[\t-\r\x1c-\x1f\x85\p{Z}]/gu, " "));
  return more.reduce((whole, part) => `${whole} ${part.trim()}`.trim(), first);
}

const escaped = (text, closing) => text.replaceAll("\\", "\\\\").replaceAll(closing, `\\${closing}`);
const unescaped = (text) => text.replace(/\\(.)/g, "$1");
