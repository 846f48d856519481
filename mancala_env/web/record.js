/** Reads and writes game records (docs/guides/records.md), the files of `mancala replay` and of Python's read_games. */

import { readDial, writeDial } from "./address.js";
import { InvalidInput, PLAYERS, wordsOf } from "./engine.js";
import { GameLine, MATCH, MOST_ROUNDS, turnText } from "./game.js";

const RESIGNED = "resigned";
const MOST_CHARACTERS = 10_000_000;
const TURNS_A_LINE = 10;
// The limits of games/records/reader.py.
const MOST_IN_LINE = 100_000, MOST_IN_TEXT = 10_000, MOST_HEADERS = 100, MOST_TURNS = 1_000_000;
const MOST_SEED = 2n ** 128n - 1n;
const WORDS = ["title", "region", "source"];
const KNOWN_HEADERS = ["Ruleset", "Dials", "Title", "Region", "Source", "South", "North", "Rounds", "Seed", "Opening", "Start", "Date", "Result", "End"];
/** Whether a text is printable, as Python's `str.isprintable` says. */
export const IS_PRINTABLE = /^(?: |[^\p{C}\p{Z}])*$/u;

/** The ruleset with a name and rule options: one of the catalogue if all options agree, else a custom one.
 * @param {object | null} [dials]  Values by rule option; null if only the name is known.
 * @param {{title?: string, region?: string, source?: string}} [words]  Words of a custom ruleset.
 */
export function rulesetOf(engine, name, dials, words = {}) {
  const known = engine.rulesets.find((ruleset) => ruleset.name === name);
  if (!dials) return known ?? engine.ruleset(name);
  for (const [dial, value] of Object.entries(dials)) {
    if (!engine.dials.some((one) => one.name === dial))
      throw new InvalidInput(`"${dial}" is not a rule option; the rule options are ${engine.dials.map((one) => one.name).join(", ")}`);
    if (known && value !== known.dials[dial])
      throw new InvalidInput(`name "${name}" belongs to a ruleset of the catalogue with ${dial}=${shownDial(known.dials[dial])}, not ${shownDial(value)}; choose another name`);
  }
  if (known) return known;
  if (!/^[^ ]+$/.test(name)) throw new InvalidInput(`name must be one word without spaces, the first of a position's text, not "${name}"`);
  return engine.ownRuleset({ ...dials, ...words, name });
}

const shownDial = (value) => (typeof value === "string" ? `"${value}"` : value);

/** Write a game.
 * @param {GameLine} line
 * @param {{south?: string, north?: string, date?: string}} [about]  By default those of the record that was read.
 */
export function writeRecord(line, { south = line.names[0], north = line.names[1], date = line.headers.Date } = {}) {
  const { ruleset, start } = line, { engine } = start;
  const known = engine.rulesets.includes(ruleset);
  const fresh = engine.newGame(ruleset);
  const rounds = line.rounds === MATCH ? "match" : line.rounds;
  const written = [
    ["Ruleset", ruleset.name],
    ["Dials", engine.dials.map(({ name }) => writeDial(name, ruleset.dials[name])).join(" ")],
    ...WORDS.map((word) => !known && ruleset[word] !== engine.description.defaults[word] && [headerOf(word), ruleset[word]]),
    ["South", recordable(south)],
    ["North", recordable(north)],
    ["Rounds", rounds],
    line.headers.Seed && ["Seed", BigInt(line.headers.Seed)],
    line.headers.Opening && ["Opening", line.headers.Opening],
    start.text !== fresh.text && ["Start", start.text],
    date && ["Date", date],
    ...Object.entries(othersOf(line.headers)),
    ["Result", resultOf(line)],
    endOf(line) && ["End", endOf(line)],
  ];
  const lines = written.filter(Boolean).map(([name, value]) => `[${name} "${escaped(String(value), '"')}"]`);
  if (line.note || line.turns.length) lines.push("", ...body(line));
  return `${lines.join("\n")}\n`;
}

/** The headers that only a reader understands, such as Event. */
const othersOf = (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => !KNOWN_HEADERS.includes(name)));

function* body(line) {
  let current = 0, words = [];
  if (line.note) yield `{${escaped(line.note, "}")}}`;
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
  const line = startOf(engine, headers);
  line.names = [headers.South ?? "", headers.North ?? ""];
  line.headers = headers;
  for (const word of words) take(line, word);
  line.resigned = resignedIn(headers);
  if (line.resigned !== null && line.game.isOver) throw new InvalidInput(`${PLAYERS[line.resigned]} resigned a game that was over (${line.game.end})`);
  for (const [name, found] of [["Result", resultOf(line)], ["End", endOf(line)]])
    if (headers[name] !== undefined && headers[name] !== found)
      throw new InvalidInput(`header ${name} says ${shown(headers[name])}, but the turns end in "${found}"`);
  return { line, headers };
}

/** Check the headers of a game, and set up its start. */
function startOf(engine, headers) {
  const dials = headers.Dials === undefined ? undefined : Object.fromEntries(wordsOf(headers.Dials).map(readDial));
  const words = Object.fromEntries(WORDS.filter((word) => headerOf(word) in headers).map((word) => [word, headers[headerOf(word)]]));
  for (const [word, text] of Object.entries({ name: headers.Ruleset, ...words })) checkText(`the ruleset's ${word}`, text, MOST_IN_TEXT / 10);
  const ruleset = rulesetOf(engine, headers.Ruleset, dials, words);
  const start = headers.Start ? engine.fromText(headers.Start, ruleset) : engine.newGame(ruleset);
  const { Seed: seed, Date: date } = headers, rounds = roundsOf(headers.Rounds);
  if (seed !== undefined && !/^[0-9]{1,1000}$/.test(seed)) throw new InvalidInput(`header Seed must be a whole number, not ${shown(seed)}`);
  if (seed !== undefined && BigInt(seed) > MOST_SEED) throw new InvalidInput(`seed must be a whole number from 0 to ${MOST_SEED}, not ${BigInt(seed)}`);
  const others = Object.keys(othersOf(headers)).length, most = MOST_HEADERS - KNOWN_HEADERS.length;
  if (others > most) throw new InvalidInput(`at most ${most} more headers, not ${others}`);
  if (date && !isDay(date)) throw new InvalidInput(`date must be a day such as 2026-11-22, not "${date}"`);
  const missing = ruleset.totalSeeds - start.counts[0] - start.counts[1];
  if (missing && rounds > start.round && ruleset.dials.match !== "single")
    throw new InvalidInput(`${missing} of ${ruleset.totalSeeds} seeds are missing at the start, so no next round can be set up; put them in stores, or record one round`);
  return new GameLine(start, rounds);
}

/** Read a number of rounds, or MATCH of "match". @throws {InvalidInput} */
export function roundsOf(text = "1") {
  const number = /^[0-9]{1,4}$/.test(text) ? Number(text) : null;
  if (text === "match") return MATCH;
  if (number >= 1 && number <= MOST_ROUNDS) return number;
  throw new InvalidInput(`rounds must be a whole number from 1 to ${MOST_ROUNDS} or "match", not ${number ?? `"${text}"`}`);
}

/** Who resigned, by the headers of a game; null if neither did. */
function resignedIn({ End: end, Result: result = "*" }) {
  if (end !== RESIGNED) return null;
  if (!PLAYERS.includes(result)) throw new InvalidInput(`header Result must be South or North if the other player resigned, not ${shown(result)}`);
  return 1 - PLAYERS.indexOf(result);
}

function isDay(text) {
  const time = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) && !text.startsWith("0000") ? Date.parse(`${text}T00:00:00Z`) : NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** Split a file into games without playing them: their headers, and the text for {@link readRecord}.
 * @param {string} text
 * @returns {{headers: Record<string, string>, text: string}[]}
 * @throws {InvalidInput} If the file is invalid; the message names the game.
 */
export function listGames(text) {
  return gamesOf(text).map(({ headers, from, to }) => ({ headers, text: text.slice(from, to) }));
}

/** Play a turn of a record, keep a comment, or check the number of a turn or round. */
function take(line, word) {
  const { note } = word, { game, lastTurn } = line;
  if (note !== undefined) {
    const owner = lastTurn ?? line;
    owner.note = [owner.note, note].filter(Boolean).join(" ");
    return checkText("comment", owner.note);
  }
  if (word.number !== undefined) {
    const next = line.turns.length + 1;
    if (Number(word.number) !== next) throw new InvalidInput(`turn ${next} comes next, not turn ${word.number}`);
    return;
  }
  if (word.round !== undefined) {
    const { round } = game;
    if (word.round !== round || lastTurn?.before.round === round)
      throw new InvalidInput(`round ${word.round} does not begin here: it is round ${round}`);
    return;
  }
  takeTurn(line, word.text);
}

/** Play a turn in notation, such as S3. @throws {InvalidInput} If it cannot be played; the message names the turn. */
export function takeTurn(line, text) {
  const number = line.turns.length + 1;
  const wrong = number > MOST_TURNS ? `a game has at most ${MOST_TURNS.toLocaleString("en")} turns` : whyNot(line.game, text);
  if (wrong) throw new InvalidInput(`turn ${number}: ${wrong}`);
  line.play(Number(text.slice(1)) - 1);
}

/** Why a word is not a turn that can be played; "" if it is. */
function whyNot(game, word) {
  const legal = game.legal.map((action) => turnText({ player: game.player, action })).join(" ");
  if (!/^[SN][1-9][0-9]{0,3}$/.test(word)) return `${shown(word)} is not a turn: S or N and a hole from 1; legal: ${legal || "none"}`;
  if (game.isOver) return `${word} cannot be played: the game is over (${game.end})`;
  if ("SN".indexOf(word[0]) !== game.player) return `${word} cannot be played: ${PLAYERS[game.player]} is to move; legal: ${legal}`;
  const why = game.whyIllegal(Number(word.slice(1)) - 1);
  return why && `${word} cannot be played: ${why}; legal: ${legal}`;
}

/** Parse a text: the headers, turns and comments of each game, and its place in the text. */
function gamesOf(text, most = Infinity) {
  if (text.split(/\r\n|\n|\r/).some((line) => line.length > MOST_IN_LINE)) throw new InvalidInput(`a line has at most ${MOST_IN_LINE.toLocaleString("en")} characters`);
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
  const noRuleset = (found = "") => new InvalidInput(`a game begins with [Ruleset "..."]${found && `, not with ${shown(found)}`}`);
  // Only ASCII spaces and digits count, as in reader.py.
  while (next(/[ \t-\r]+/y) || at < text.length) {
    const here = at, hasRuleset = "Ruleset" in headers;
    let found;
    if (text[at] === "[" && (at === from || "\r\n".includes(text[at - 1]))) {
      if (hasRuleset && text.startsWith("[Ruleset ", at)) return { headers, words, to: here };
      const [line] = next(/[^\r\n]+/y);
      const [name, value] = readHeader(line);
      if (!hasRuleset && name !== "Ruleset") throw noRuleset(line);
      if (words.length) throw new InvalidInput(`header ${name} comes after the turns; a new game begins with Ruleset`);
      if (Object.hasOwn(headers, name)) throw new InvalidInput(`header ${name} is a duplicate`);
      if (Object.keys(headers).length === MOST_HEADERS) throw new InvalidInput(`a game has at most ${MOST_HEADERS} headers`);
      checkText(`header ${name}`, value);
      headers[name] = value;
    } else if (at < text.length && !hasRuleset) throw noRuleset();
    else if ((found = next(/\{((?:[^}\\]|\\[^])*)\}/y))) words.push({ note: unescaped(inOneLine(found[1])) });
    else if ((found = next(/Round[ \t\v\f]+([0-9]{1,9}):/y))) words.push({ round: Number(found[1]) });
    else if ((found = next(/([0-9]{1,9})\./y))) words.push({ number: found[1] });
    else if ((found = next(/[^ \t-\r{]+/y))) words.push({ text: found[0] });
    else if (at < text.length) throw new InvalidInput("a comment is not closed: } is missing");
  }
  if (!("Ruleset" in headers)) throw noRuleset();
  return { headers, words, to: at };
}

/** Read a line such as [South "greedy"], as its name and value. */
function readHeader(line) {
  const found = /^\[([A-Za-z0-9_]{1,40})[ \t\v\f]+"((?:[^"\\]|\\.)*)"\][ \t\v\f]*$/s.exec(line);
  if (!found) throw new InvalidInput(`${shown(line)} is not a header; the form is [Name "text"]`);
  if (!/^[A-Z][A-Za-z0-9]*$/.test(found[1])) throw new InvalidInput(`"${found[1]}" is not a valid name of a header, which is a word such as Event`);
  return [found[1], unescaped(found[2])];
}

/** Check that a text is one line of printable characters, which are those of Python's `str.isprintable`. */
function checkText(what, text, most = MOST_IN_TEXT) {
  const { length } = text.length > most ? [...text] : text;
  if (length <= most && IS_PRINTABLE.test(text)) return;
  const said = length < 95 ? `"${escapedControls(text)}"` : `${length.toLocaleString("en")} characters`;
  throw new InvalidInput(`${what} must be one line of at most ${most.toLocaleString("en")} printable characters, not ${said}`);
}

/** Escape characters that are not printable, as Python does: \x1b. */
function escapedControls(text) {
  return Array.from(text, (letter) => {
    if (IS_PRINTABLE.test(letter)) return letter;
    const code = letter.codePointAt(0), size = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    return "\t\n\r".includes(letter) ? JSON.stringify(letter).slice(1, -1) : `\\${{ 2: "x", 4: "u", 8: "U" }[size]}${code.toString(16).padStart(size, "0")}`;
  }).join("");
}

/** A player's name in a form that a record accepts. */
const recordable = (name) => escapedControls(name).slice(0, MOST_IN_TEXT);
const shown = (text) => `"${escapedControls(text.length <= 60 ? text : `${text.slice(0, 57)}...`)}"`;
const headerOf = (word) => word[0].toUpperCase() + word.slice(1);

/** A comment's text: every kind of white space becomes a space, a line break and the space around it one space. */
function inOneLine(text) {
  const [first, ...more] = text.split(/\r\n|\n|\r/).map((part) => part.replace(/[\t-\r\x1c-\x1f\x85\p{Z}]/gu, " "));
  return more.reduce((whole, part) => `${whole} ${part.trim()}`.trim(), first);
}

const escaped = (text, closing) => text.replaceAll("\\", "\\\\").replaceAll(closing, `\\${closing}`);
const unescaped = (text) => text.replace(/\\(.)/gs, "$1");
