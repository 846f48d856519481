// Limits of game records without a browser: FOLDER=mancala_env/web node --test records.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, engine } from "../support/page_modules.mjs";

const { InvalidInput } = await at("engine.js");
const { GameLine, MATCH, MOST_ROUNDS } = await at("game.js");
const { listGames, readRecord, rulesetOf, writeRecord } = await at("record.js");

/** Return the message of a record that is refused; "" if it is read. */
function refusal(text) {
  try {
    readRecord(engine, text);
    return "";
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
}
const record = (headers, turns = "") => `[Ruleset "leyla"]\n${Object.entries(headers).map(([name, value]) => `[${name} "${value}"]\n`).join("")}\n${turns}\n`;

test("a file has at most ten million characters, and a line a hundred thousand", () => {
  const line = (length) => `[Ruleset "leyla"]\n${" ".repeat(length)}\n`;
  assert.equal(refusal(line(100_000)), "");
  assert.match(refusal(line(100_001)), /100,000/);
  const start = '[Ruleset "leyla"]\n';
  const exact = `${start}${`${" ".repeat(99_999)}\n`.repeat(99)}${" ".repeat(100_000 - start.length)}`;
  assert.deepEqual([exact.length, refusal(exact)], [10_000_000, ""]);
  assert.match(refusal(`${exact.slice(0, -50_000)}\n${exact.slice(-50_000)}`), /10,000,000/);
});

test("headers have limits", () => {
  assert.deepEqual(["1", "2", String(MOST_ROUNDS), "match"].map((rounds) => refusal(record({ Rounds: rounds }))), ["", "", "", ""]);
  for (const rounds of ["0", String(MOST_ROUNDS + 1), "10000", "-1", "1.5", "matches"]) assert.ok(refusal(record({ Rounds: rounds })).includes(rounds), rounds);
  assert.equal(readRecord(engine, record({ Rounds: "match" })).line.rounds, MATCH);
  assert.equal(readRecord(engine, record({ Rounds: "7" })).line.rounds, 7);
  assert.equal(readRecord(engine, record({})).line.rounds, 1);
  const most = 2n ** 128n - 1n;
  assert.deepEqual(["0", String(most), `${"0".repeat(961)}${most}`].map((seed) => refusal(record({ Seed: seed }))), ["", "", ""]);
  for (const seed of [most + 1n, "-1", "x"]) assert.ok(refusal(record({ Seed: seed })).includes(String(seed)));
  assert.notEqual(refusal(record({ Seed: "0".repeat(1001) })), "");
  const others = (number) => Object.fromEntries(Array.from({ length: number }, (_, n) => [`Event${n}`, "x"]));
  assert.equal(refusal(record(others(86))), "");
  assert.match(refusal(record(others(87))), /86 .*87/);
  assert.match(refusal(record(others(100))), /100/);
  for (const [day, isDay] of [["2026-11-22", true], ["2024-02-29", true], ["2026-02-29", false], ["0000-01-01", false], ["0001-01-01", true], ["2026-13-01", false], ["22.11.2026", false], ["", true]])
    assert.equal(refusal(record({ Date: day })) === "", isDay, day);
  assert.match(refusal(record({ South: "a", Dials: "" }).replace("[Dials", "[South")), /South is a duplicate/);
});

test("texts are one line of printable characters of a limited length", () => {
  assert.equal(refusal(record({ South: "x".repeat(10_000) })), "");
  assert.match(refusal(record({ South: "x".repeat(10_001) })), /South .*10,000.*10,001/);
  assert.equal(refusal(record({ South: "\u{1f600}".repeat(10_000) })), ""); // characters, not units of UTF-16
  for (const [text, shown] of [["a\tb", "\\t"], ["a\u001bb", "\\x1b"], ["a\u202eb", "\\u202e"], ["a\u00a0b", "\\xa0"]]) assert.ok(refusal(record({ South: text })).includes(shown), shown);
  const long = (length) => refusal(record({ South: `${"x".repeat(length - 1)}\t` }));
  assert.ok(long(94).includes("xx\\t") && !long(95).includes("xx") && long(95).includes("95 characters")); // a long text is not quoted
  const own = (words) => `[Ruleset "mine"]\n[Dials "row_width=3"]\n${Object.entries(words).map(([name, value]) => `[${name} "${value}"]\n`).join("")}`;
  assert.equal(refusal(own({ Title: "x".repeat(1000), Region: "x".repeat(1000) })), "");
  for (const name of ["Title", "Region", "Source"]) assert.match(refusal(own({ [name]: "x".repeat(1001) })), new RegExp(`${name.toLowerCase()} .*1,000`));
  const note = (length) => record({}, `S1 {${"x".repeat(length)}}`);
  assert.equal(refusal(note(10_000)), "");
  assert.match(refusal(note(10_001)), /10,000/);
});

test("a custom ruleset keeps its words, and one of the catalogue its options", () => {
  const mine = rulesetOf(engine, "mine", { row_width: 3 }, { title: "My own", region: "here", source: "me" });
  const { line } = readRecord(engine, writeRecord(new GameLine(engine.newGame(mine))));
  assert.deepEqual([line.ruleset.name, line.ruleset.title, line.ruleset.region, line.ruleset.source, line.ruleset.rowWidth], ["mine", "My own", "here", "me", 3]);
  assert.equal(rulesetOf(engine, "leyla"), engine.ruleset("leyla"));
  assert.equal(rulesetOf(engine, "leyla", engine.ruleset("leyla").dials.row_width && { row_width: 6 }), engine.ruleset("leyla"));
  for (const [name, dials, said] of [["leyla", { row_width: 7 }, /row_width=6, not 7/], ["mine", { colour: 1 }, /colour/], ["my own", { row_width: 3 }, /my own/], ["", {}, /""/], ["mine", null, /mine/]])
    assert.throws(() => rulesetOf(engine, name, dials), (error) => error instanceof InvalidInput && said.test(error.message));
});

test("numbers of turns and rounds are checked", () => {
  assert.equal(refusal(record({}, "1. S1")), "");
  for (const turns of ["2. S1", "0. S1", "1. S1 1. N1"]) assert.match(refusal(record({}, turns)), /comes next/);
  assert.equal(refusal(record({ Rounds: "match" }, "Round 1: 1. S1")), "");
  for (const turns of ["Round 2: S1", "Round 1: S1 Round 1: N1"]) assert.match(refusal(record({ Rounds: "match" }, turns)), /round 1/);
  assert.match(refusal(record({}, "S1 S1")), /turn 2: S1 .*North/);
  assert.match(refusal(record({}, "S0")), /"S0"/);
});

test("who resigned, the result and the end belong together", () => {
  const resigned = { Result: "North", End: "resigned" };
  const { line } = readRecord(engine, record(resigned, "S1"));
  assert.equal(line.resigned, 0);
  assert.match(refusal(record({ End: "resigned" }, "S1")), /Result .*"\*"/);
  assert.match(refusal(record({ Result: "South by 3" }, "S1")), /South by 3.*\*/);
  const over = '[Ruleset "leyla"]\n[Start "leyla 0,0,0,0,1,0/0,0,0,0,0,0 33-14 S"]\n';
  assert.equal(refusal(`${over}[Result "South by 20"]\n[End "stuck"]\nS5`), "");
  assert.match(refusal(`${over}[Result "South by 19"]\nS5`), /South by 19.*South by 20/);
  assert.match(refusal(`${over}[End "stall"]\nS5`), /stall.*stuck/);
  assert.match(refusal(`${over}[Result "South"]\n[End "resigned"]\nS5`), /North resigned .*over/);
  const draw = '[Ruleset "leyla"]\n[Start "leyla 0,0,0,0,1,0/0,0,0,0,0,0 23-24 S"]\nS5';
  assert.match(writeRecord(readRecord(engine, draw).line), /\[Result "draw"\]/);
});

test("a match needs all its seeds, a round does not", () => {
  const few = (rounds, more = "") => `[Ruleset "layli_goobalay"]\n[Start "layli_goobalay 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S${more}"]\n[Rounds "${rounds}"]\n`;
  assert.deepEqual([few(1), few(2, " round=2")].map(refusal), ["", ""]);
  for (const text of [few(2), few("match"), few(3, " round=2")]) assert.match(refusal(text), /4 of 48/);
  assert.equal(refusal('[Ruleset "mine"]\n[Dials "match=single"]\n[Start "mine 0,0,1,0,0,2/0,1,0,0,0,0 20-20 S"]\n[Rounds "2"]\n'), "");
});

test("games of a file are split, and a fault names its game", () => {
  const file = `\ufeff${record({ South: "a" }, "S1")}\n${record({ South: "b" })}\r\n${record({ South: "c" }, "S1 {a [Ruleset in a comment}")}`;
  const games = listGames(file);
  assert.deepEqual(games.map(({ headers }) => headers.South), ["a", "b", "c"]);
  assert.deepEqual(games.map(({ text }) => readRecord(engine, text).line.turns.length), [1, 0, 1]);
  assert.equal(readRecord(engine, file).headers.South, "a"); // the first one
  const fault = (text) => {
    try {
      listGames(text);
    } catch (error) {
      return error.message;
    }
    return "";
  };
  assert.match(fault(`${record({})}${record({}, "{")}`), /^game 2: .*comment/);
  assert.match(fault(record({}, "{")), /^a comment/);
  assert.match(fault(""), /Ruleset/);
  assert.match(fault("hello"), /Ruleset/);
  assert.match(fault(record({}, 'S1\n[South "late"]')), /South .*after/);
});

test("comments are kept in one line, with their signs", () => {
  const { line } = readRecord(engine, record({}, "{of the\n  game} 1. S1 {one} {two \\} \\\\} N1"));
  assert.deepEqual([line.note, line.turns.map(({ note }) => note)], ["of the game", ["one two } \\", undefined]]);
  const text = writeRecord(line);
  assert.ok(text.includes("{of the game}\n1. S1 {one two \\} \\\\}\n2. N1\n"));
  assert.equal(writeRecord(readRecord(engine, text).line), text);
});

test("ten turns are in a line, and rounds of a match have titles", () => {
  const line = new GameLine(engine.newGame("leyla"));
  for (let n = 0; n < 12; n++) line.play(line.game.legal[0]);
  const [first, second] = writeRecord(line).split("\n\n")[1].split("\n");
  assert.deepEqual([first.split(" ").length, first.startsWith("1. S"), second.startsWith("11. ")], [11, true, true]);
  const match = new GameLine(engine.fromText("layli_goobalay 0,0,0,0,1,0/0,0,0,0,0,0 31-16 S"), MATCH);
  match.play(4);
  match.play(match.game.legal[0]);
  assert.match(writeRecord(match), /\nRound 1:\n1\. S5\nRound 2:\n2\. /);
  assert.ok(!writeRecord(line).includes("Round 1:"));
});

test("a record that is read and written keeps its headers", () => {
  const line = new GameLine(engine.fromText("leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 N starter=N"));
  line.play(0);
  const [first, ...rest] = writeRecord(line, { south: "Amina", north: "Hodan" }).split("[Start");
  const text = `${first}[Seed "5"]\n[Opening "drawn by lot"]\n[Start${rest[0].replace("[Result", '[Date "2026-01-02"]\n[Event "Cup"]\n[Result')}`;
  assert.equal(writeRecord(readRecord(engine, text).line), text);
  assert.equal(writeRecord(readRecord(engine, text).line.copy()), text);
});
