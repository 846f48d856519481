// The Puzzles view and its parts without a browser: FOLDER=mancala_env/web node --test puzzles.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import { beforeEach, test } from "node:test";
import { useFakeDom } from "../support/fake_dom.mjs";
import { at, engine, newStore, readJson, soon } from "../support/page_modules.mjs";


useFakeDom();
globalThis.innerWidth = 1200;
let isOffline = false;
globalThis.fetch = async (url) => {
  if (isOffline) throw new TypeError("no network");
  return { ok: true, json: async () => JSON.parse(fs.readFileSync(url)) };
};
globalThis.localStorage = newStore();
globalThis.sessionStorage = newStore();

const { t } = await at("texts.js");
const { kept } = await at("dom.js");
const { dayOf, GRADES, MARKS, PuzzleSet, puzzlesOf, RULESETS, TAGS } = await at("puzzle_set.js");
const { PuzzlesView } = await at("puzzles.js");
const { seedsText } = await at("motion.js");
const { whyNotSown } = await at("turn_words.js");
const { valueText } = await at("scene.js");

// A worker that solves at once, in place of worker.js.
let changed = 0; // added to each value, to test a solver that disagrees
globalThis.Worker = class {
  addEventListener(kind, listener) {
    if (kind === "message") this.listener = listener;
  }
  async postMessage({ id, task, position, cancel }) {
    if (cancel) return;
    assert.equal(task, "values");
    const solver = engine.solver(position.dials.name, { megabytes: 16 }), search = solver.study(engine.fromText(position.text));
    await search.run();
    const { lower, upper, bounds, nodes, isExact } = search.result;
    solver.close();
    const actions = Object.fromEntries(Object.entries(bounds).map(([action, [least, most]]) => [action, { lower: least + changed, upper: most + changed }]));
    this.listener({ data: { id, result: { lower, upper, actions, nodes, isExact } } });
  }
};

const file = (count = 10) => ({
  agents: ["greedy", "minimax:2"],
  puzzles: Array.from({ length: count }, (_, n) => ["0,3,0,0,0,2/1,0,2,0,0,1 19-20 S", "ct", 1 + (n % 4), n % 4, 1 + (n % 4), [3, n, 1]]),
});

let app;
beforeEach(() => {
  globalThis.localStorage = newStore();
  globalThis.sessionStorage = newStore();
  kept.carried = {};
  isOffline = false;
  changed = 0;
  document.activeElement = document.body;
  app = {
    engine, speed: [0, 0], said: [], warned: [], addresses: [], went: [],
    say(text) { this.said.push(text); },
    warn(text) { this.warned.push(text); },
    addressText(text) { this.addresses.push(text); },
    go(view, given) { this.went.push([view, given]); },
  };
});

test("a file's rows become puzzles", () => {
  const [puzzle] = new PuzzleSet("layli_goobalay", file()).ofGrade(4);
  assert.deepEqual(puzzle, {
    number: 4, text: "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S", tags: ["capture", "trap"], lookahead: 4,
    failing: ["greedy", "minimax:2"], grade: 4, values: [3, 3, 1],
  });
});

test("every bundled puzzle is legal, and one action is best by four seeds", () => {
  for (const name of RULESETS) {
    const { puzzles } = new PuzzleSet(name, readJson(`puzzles/${name}.json`));
    for (const { text, values, tags, grade, lookahead } of puzzles) {
      const game = engine.fromText(text);
      assert.equal(game.text, text);
      assert.equal(values.length, game.legal.length, text);
      const [best, second] = [...values].sort((a, b) => b - a);
      assert.ok(best - second >= 4, text);
      assert.ok(tags.every((tag) => Object.values(TAGS).includes(tag)));
      assert.ok(GRADES.includes(grade) && lookahead >= 1 && lookahead <= 9);
    }
  }
});

test("each puzzle of a grade has its day before one comes again", () => {
  for (const count of [1, 2, 9, 10, 246]) {
    const set = new PuzzleSet("leyla", file(count));
    const days = Array.from({ length: count }, (_, n) => set.ofDay(20_000 + n, 0).number);
    assert.equal(new Set(days).size, count);
    assert.equal(set.ofDay(20_000, 0), set.ofDay(20_000, 0));
    assert.equal(set.ofDay(-3, 0), set.ofDay(count - 3, 0));
  }
  const set = new PuzzleSet("leyla", file());
  for (const grade of GRADES) assert.equal(set.ofDay(5, grade).grade, grade);
});

test("a day begins at midnight in the user's time zone", () => {
  assert.equal(dayOf(new Date(2026, 10, 26, 0, 1)), dayOf(new Date(2026, 10, 26, 23, 59)));
  assert.equal(dayOf(new Date(2026, 10, 27)) - dayOf(new Date(2026, 10, 26, 23, 59)), 1);
});

test("the first try decides, and a later one solves", () => {
  const set = new PuzzleSet("leyla", file());
  set.mark(1, true);
  set.mark(2, false);
  set.mark(3, false);
  set.mark(3, true);
  set.mark(1, false);
  assert.equal(set.marks, `${MARKS.right}${MARKS.wrong}${MARKS.later}.......`);
  assert.deepEqual(set.progress(0), { all: 10, solved: 2, first: 1 });
  assert.deepEqual(set.progress(2), { all: 3, solved: 0, first: 0 });
  assert.equal(set.next(10, 0).number, 2);
  assert.equal(set.next(2, 0).number, 4);
  assert.equal(set.next(2, 2).number, 6);
  assert.deepEqual([set.neighbour(2, 2, 1).number, set.neighbour(6, 2, -1).number, set.neighbour(2, 2, -1)], [6, 2, undefined]);
});

test("when all are solved, the next one follows in order", () => {
  const set = new PuzzleSet("leyla", file());
  for (const { number } of set.puzzles) set.mark(number, true);
  assert.deepEqual([set.next(4, 0).number, set.next(10, 0).number], [5, 1]);
});

test("marks are bounded, of another size dropped, and survive a full storage", () => {
  kept.write("puzzles", { leyla: "+++", nonsense: "x".repeat(10_000), gabata_i: 7 });
  const set = new PuzzleSet("leyla", file());
  assert.equal(set.marks, "..........");
  set.mark(2, true);
  assert.deepEqual(JSON.parse(localStorage["mancala.puzzles"]), { leyla: ".+........" });
  for (const name of RULESETS) for (let number = 1; number <= 320; number++) new PuzzleSet(name, file(320)).mark(number, true);
  assert.ok(localStorage["mancala.puzzles"].length < 360 * RULESETS.length);
  globalThis.localStorage = newStore(() => true);
  globalThis.sessionStorage = newStore(() => true);
  globalThis.history = { state: null, replaceState() {} };
  set.mark(5, false);
  assert.equal(set.marks, "....-.....");
});

// The view

const part = (view, name) => view.root.querySelector(`[data-does=${name}]`);
async function opened(where) {
  const view = new PuzzlesView(app);
  await view.enter({ at: where });
  return view;
}
const valuesOn = (view) => view.board.overlay.children.filter((shape) => shape.name === "text").map((shape) => shape.textContent);
const other = (view) => view.start.legal.find((action) => action !== view.best);

test("without an address, the puzzle of today is shown", async () => {
  const view = await opened();
  const wanted = (await puzzlesOf("layli_goobalay")).ofDay(dayOf(new Date()), 0);
  assert.equal(view.start.text, wanted.text);
  assert.deepEqual(app.addresses, [`puzzles/layli_goobalay/${wanted.number}`]);
  const all = (await puzzlesOf("layli_goobalay")).puzzles.length;
  assert.equal(view.title.textContent, t("puzzles.title_today", { number: wanted.number, all, grade: t(`puzzles.grade.${wanted.grade}`) }));
  assert.deepEqual(["again", "solution", "why", "check"].map((name) => part(view, name).disabled), [true, false, true, false]);
  assert.deepEqual(valuesOn(view), []);
  view.leave();
});

test("an address names a puzzle; one that names none leads to that of today", async () => {
  const view = await opened("leyla/7");
  const set = await puzzlesOf("leyla");
  assert.equal(view.start.text, set.puzzles[6].text);
  assert.equal(view.rulesetChoice.value, "leyla");
  for (const nowhere of ["leyla/0", "leyla/9999", "leyla/x"]) assert.equal((await opened(nowhere)).start.text, set.ofDay(dayOf(new Date()), 0).text);
  for (const nowhere of ["chess/1", "constructor/1"]) assert.equal((await opened(nowhere)).start.ruleset.name, "leyla"); // the last one
});

test("the best hole is right, and all values are shown", async () => {
  const view = await opened("layli_goobalay/1");
  const [first, second] = [...(await puzzlesOf("layli_goobalay")).puzzles[0].values].sort((a, b) => b - a);
  assert.ok(view.task.textContent.includes(seedsText(first - second)));
  await view.press(view.start.holeOf(view.best));
  await soon();
  assert.equal(view.told.classList.contains("wrong"), false);
  assert.ok(view.told.textContent.startsWith(`${"SN"[view.start.player]}${view.best + 1} is right`));
  assert.equal(valuesOn(view).length, view.start.legal.length);
  assert.equal(JSON.parse(localStorage["mancala.puzzles"]).layli_goobalay[0], MARKS.right);
  assert.deepEqual(["again", "solution", "why"].map((name) => part(view, name).disabled), [false, true, false]);
  assert.ok(view.progress.textContent.startsWith("Solved 1 of"));
});

test("another hole is wrong and tells what it loses; the best one then solves it", async () => {
  const view = await opened("layli_goobalay/2");
  await view.sow(other(view));
  await soon();
  assert.equal(view.told.classList.contains("wrong"), true);
  assert.match(view.told.textContent, /The best move is [SN]\d+: final lead .?\d+, \d+ seeds more/);
  await view.sow(view.best);
  await soon();
  assert.equal(view.told.classList.contains("wrong"), false);
  assert.equal(JSON.parse(localStorage["mancala.puzzles"]).layli_goobalay[1], MARKS.later);
  view.sow(99);
  assert.equal(app.said.at(-1), whyNotSown(view.start, 99));
});

test("a puzzle that is shown is not solved", async () => {
  const view = await opened("layli_goobalay/3");
  await view.solve();
  assert.equal(JSON.parse(localStorage["mancala.puzzles"]).layli_goobalay[2], MARKS.wrong);
  assert.ok(view.told.textContent.startsWith("The best move is"));
});

test("the solver checks the values, and disagreement is told", async () => {
  const view = await opened("gabata_i/1");
  await view.check();
  assert.match(view.proved.textContent, /has proved all \d+ values/);
  changed = 2;
  await view.check();
  assert.match(view.proved.textContent, /other values/);
});

test("the best line is played until the round ends or eight turns", async () => {
  const view = await opened("gabata_i/1");
  await view.why();
  assert.equal(view.line.hidden, true); // not before an answer
  await view.sow(view.best);
  await view.why();
  assert.deepEqual(app.warned.filter(Boolean), []);
  const turns = view.line.children.length;
  assert.ok(turns >= 1 && turns <= 8);
  assert.match(view.proved.textContent, new RegExp(`After ${turns} turns`));
  if (view.end.isOver) {
    const { player, stores } = view.start, [mine, theirs] = [view.end.counts[player], view.end.counts[1 - player]];
    const won = mine - theirs - (stores[player] - stores[1 - player]);
    assert.ok(view.proved.textContent.includes(valueText(mine - theirs)));
    assert.equal(won, Math.max(...(await puzzlesOf("gabata_i")).puzzles[0].values));
  }
});

test("an address without a puzzle shows that of today and says so", async () => {
  for (const [at, isWrong] of [["leyla/99999", true], ["leyla/x", true], ["leyla/", true], ["nonsense", true], ["nonsense/3", true], ["leyla", false], ["leyla/3", false], [undefined, false]]) {
    app.warned.length = 0;
    const view = await opened(at);
    assert.ok(view.start, at);
    assert.deepEqual(app.warned.filter(Boolean), isWrong ? [t("puzzles.none", { puzzle: at })] : []);
  }
});

test("next goes to an unsolved one, keys walk, and Study opens the position", async () => {
  const view = await opened("leyla/1");
  view.next();
  assert.equal(app.addresses.at(-1), "puzzles/leyla/2");
  view.commands.earlier();
  assert.equal(app.addresses.at(-1), "puzzles/leyla/1");
  app.said.length = 0;
  view.commands.take_back();
  assert.deepEqual(app.said, [`${view.title.textContent}. ${view.task.textContent}`]);
  view.commands.earlier(); // the first
  assert.equal(app.addresses.at(-1), "puzzles/leyla/1");
  view.study();
  assert.deepEqual([app.went[0][0], app.went[0][1].line.start.text], ["study", view.start.text]);
  view.gradeChoice.value = "2";
  view.gradeChoice.fire("change");
  await soon();
  const set = await puzzlesOf("leyla");
  assert.equal(view.start.text, set.ofDay(dayOf(new Date()), 2).text);
  assert.deepEqual(JSON.parse(localStorage["mancala.puzzle"]), { ruleset: "leyla", grade: 2 });
});

test("a view that is entered again shows its puzzle, and its address", async () => {
  const view = await opened("leyla/3");
  view.leave();
  app.addresses.length = 0;
  view.enter({ at: "" });
  assert.deepEqual(app.addresses, ["puzzles/leyla/3"]);
});

test("puzzles that are loaded after the view was left are not shown", async () => {
  const view = await opened("leyla/3");
  app.addresses.length = app.said.length = 0;
  view.rulesetChoice.value = "gabata_3";
  view.rulesetChoice.fire("change");
  view.leave();
  await soon();
  assert.deepEqual([app.addresses, app.said], [[], []]);
  view.enter({});
  assert.deepEqual([app.addresses, view.rulesetChoice.value], [["puzzles/leyla/3"], "leyla"]);
});

test("without a puzzle, the buttons that need one are disabled", async () => {
  const buttons = (view) => ["next", "again", "solution", "why", "check", "study"].filter((name) => !view.root.querySelector(`[data-does=${name}]`).disabled);
  isOffline = true;
  const view = await opened("gabata_five_holes/1");
  assert.match(app.warned.at(-1), /no network/);
  assert.deepEqual(buttons(view), []);
  isOffline = false;
  view.enter({ at: "gabata_five_holes/1" });
  await soon();
  assert.deepEqual(buttons(view), ["next", "solution", "check", "study"]);
});

test("puzzles that cannot be loaded are told, and the shown ones stay", async () => {
  const view = await opened("leyla/1");
  isOffline = true;
  view.rulesetChoice.value = "leyla_gobale_ii";
  view.rulesetChoice.fire("change");
  await soon();
  assert.match(app.warned.at(-1), /no network/);
  assert.deepEqual([view.rulesetChoice.value, view.start.ruleset.name], ["leyla", "leyla"]);
});

test("an answer stops the check, and its text goes", async () => {
  const view = await opened("gabata_i/1");
  const check = view.check();
  assert.equal(view.proved.textContent, t("puzzles.check_wait"));
  await view.sow(view.best);
  await check;
  assert.equal(view.proved.textContent, "");
});

test("a check stops the line, whose end does not replace its result", async () => {
  const view = await opened("gabata_i/1");
  await view.sow(view.best);
  const line = view.why();
  assert.equal(view.proved.textContent, t("puzzles.why_wait"));
  await Promise.all([view.check(), line]);
  assert.match(view.proved.textContent, /has proved all \d+ values/);
});

test("a check or a line that fails does not seem to go on", async () => {
  const view = await opened("gabata_i/1"), { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function ({ id, cancel }) { if (!cancel) this.listener({ data: { id, error: "no engine" } }); };
  try {
    await view.check();
    assert.deepEqual([view.proved.textContent, app.warned.at(-1)], ["", "no engine"]);
    await view.sow(view.best);
    await view.why();
    assert.equal(view.proved.textContent, "");
  } finally {
    Worker.prototype.postMessage = postMessage;
  }
});
