// The view Learn, keys, files, rulesets, the graph and offline use without a browser: FOLDER=mancala_env/web node --test learn.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import { beforeEach, test } from "node:test";
import { FakeElement, useFakeDom } from "../support/fake_dom.mjs";
import { at, engine, folder, newStore, read, readJson, soon } from "../support/page_modules.mjs";


useFakeDom();
globalThis.innerWidth = 1200;
globalThis.fetch = async (url) => ({ json: async () => JSON.parse(fs.readFileSync(url)) });
globalThis.localStorage = newStore();
globalThis.sessionStorage = newStore();
const { t } = await at("texts.js");
const { takeFile } = await at("files.js");
const { keyOfRules, readNetwork } = await at("networks.js");
const { GameLine } = await at("game.js");
const { drawGraph } = await at("graph.js");
const { KEYS, listen } = await at("keys.js");
const { LearnView } = await at("learn.js");
const { inWords, timelineOf } = await at("motion.js");
const { writeRecord } = await at("record.js");
const { rulesetFields } = await at("rulesets.js");
const lessons = readJson("lessons.json");
const attributesOf = (element) => Object.fromEntries(element.attributes);

let app;
beforeEach(() => {
  globalThis.localStorage = newStore();
  globalThis.sessionStorage = newStore();
  document.activeElement = document.body;
  app = {
    engine, networks: new Map(), speed: [0, 0], said: [], told: [], addresses: [], went: [], shownRuleset: null,
    say(text) { this.said.push(text); },
    tell(text) { this.told.push(text); },
    addressText(text) { this.addresses.push(text); },
    go(view, given) { this.went.push([view, given]); },
  };
});

test("a text that is missing is an error, and a value that is missing stays a place", () => {
  assert.throws(() => t("no.such.text"), /no\.such\.text/);
  assert.ok(t("learn.title", { number: 3 }).includes("{title}"));
});

// The graph of a game's values

const exact = (lead) => ({ lower: lead, upper: lead });

function graphOf(leads, at, { total = 48, width = 560 } = {}) {
  const place = Object.assign(new FakeElement("div"), { clientWidth: width });
  place.append(new FakeElement("old"));
  drawGraph(place, leads, at, total);
  const [svg] = place.children;
  assert.equal(place.children.length, 1);
  const named = (name) => svg.children.filter((shape) => shape.name === name).map(attributesOf);
  const number = (shapes, ...keys) => shapes.map((shape) => keys.map((key) => Math.round(Number(shape[key]) * 100) / 100));
  return { svg, named, lines: number(named("line"), "x1", "x2", "y1", "y2"), circles: number(named("circle"), "cx", "cy"), texts: svg.children.filter(({ name }) => name === "text") };
}

test("a graph shows exact leads as a curve, and bounds as lines", () => {
  const { svg, named, lines, circles, texts } = graphOf([null, exact(3), exact(5), { lower: -4, upper: 2 }, exact(-20)], 2);
  assert.deepEqual([svg.space, svg.getAttribute("viewBox"), svg.getAttribute("role")], ["http://www.w3.org/2000/svg", "0 0 560 150", "img"]);
  // The scale ends two seeds beyond the largest lead; turns are 125 units apart.
  const y = (lead) => Math.round((12 + (126 * (22 - lead)) / 44) * 100) / 100;
  assert.deepEqual(lines, [[50, 550, 75, 75], [425, 425, y(-4), y(2)], [300, 300, 6, 144]]);
  assert.deepEqual(named("polyline").map(({ points }) => points), [`175.0,${y(3).toFixed(1)} 300.0,${y(5).toFixed(1)}`]);
  assert.deepEqual(circles, [[175, y(3)], [300, y(5)], [550, y(-20)]]);
  assert.deepEqual(named("line").map((line) => line["stroke-dasharray"]), [undefined, undefined, "4 3"]);
  const [curve, axis, bound, mark] = [...named("polyline"), ...named("line")].map((line) => Number(line["stroke-width"] ?? 1));
  assert.ok(axis < mark && mark < curve && curve < bound, `${[axis, mark, curve, bound]}`);
  assert.deepEqual(texts.map((text) => [text.textContent, text.getAttribute("y")]), [[t("graph.south", { lead: 22 }), "16"], [t("graph.north", { lead: 22 }), "140"]]);
});

test("a graph is described by the value of the current turn", () => {
  const leads = [exact(7), { lower: -4, upper: 2 }, null];
  const words = [0, 1, 2].map((at) => graphOf(leads, at).svg.getAttribute("aria-label"));
  assert.deepEqual(words, [t("graph.exact", { lead: 7 }), t("graph.bounds", { lower: -4, upper: 2 }), t("graph.open")]);
});

test("a graph's scale holds the seeds of the game, and its width is that of its place", () => {
  const scale = (...given) => Number(/\d+/.exec(graphOf(...given).texts[0].textContent)[0]);
  assert.equal(scale([exact(0)], 0), 14);
  assert.equal(scale([exact(-30)], 0), 32);
  assert.equal(scale([exact(47)], 0), 48);
  assert.equal(scale([exact(5)], 0, { total: 6 }), 6);
  assert.equal(scale([{ lower: -40, upper: 40 }], 0), 14);
  const { lines } = graphOf([{ lower: -40, upper: 40 }], 0); // cut off at the ends of the scale, at the left
  assert.deepEqual(lines[1], [50, 50, 138, 12]);
  for (const [width, wanted] of [[0, 600], [100, 240], [240, 240], [241, 241]]) assert.equal(graphOf([null], 0, { width }).svg.getAttribute("viewBox"), `0 0 ${wanted} 150`);
});

test("a long graph has no dots, and a curve ends where a lead is unknown", () => {
  for (const [turns, dots] of [[79, 79], [80, 0]]) assert.equal(graphOf(Array(turns).fill(exact(1)), 0).circles.length, dots);
  const gap = graphOf([exact(1), exact(2), null, exact(3), exact(4)], 0).named("polyline");
  assert.deepEqual(gap.map(({ points }) => points.split(" ").length), [2, 2]);
  assert.equal(graphOf([exact(1), null, exact(2)], 0).named("polyline").length, 0);
});

// Keys

function press(key, { does, target = {}, ...event }) {
  let heard, isHandled = false;
  document.addEventListener = (kind, listener) => { assert.equal(kind, "keydown"); heard = listener; };
  const called = [];
  const commands = Object.fromEntries(does.map((name) => [name, (...given) => called.push([name, ...given])]));
  listen(() => commands);
  heard({ key, target: { tagName: "BODY", closest: () => null, ...target }, preventDefault: () => { isHandled = true; }, ...event });
  return [called, isHandled];
}

test("each key calls its command, and only if the view has it", () => {
  const all = [...new Set(Object.values(KEYS))];
  for (const [key, command] of Object.entries(KEYS)) {
    assert.deepEqual(press(key, { does: all }), [[[command]], true]);
    assert.deepEqual(press(key, { does: all.filter((name) => name !== command) }), [[], false]);
  }
  assert.deepEqual(press("x", { does: all }), [[], false]);
});

test("digits and two signs sow the holes 1 to 12", () => {
  for (const [action, key] of [..."1234567890-="].entries()) assert.deepEqual(press(key, { does: ["sow"] }), [[["sow", action]], true]);
  assert.deepEqual(press("1", { does: [] }), [[], false]);
});

test("arrows lead to the board, except in what keeps them", () => {
  assert.deepEqual(press("ArrowLeft", { does: ["board"] }), [[["board"]], true]);
  assert.deepEqual(press("ArrowLeft", { does: ["board"], target: { closest: (what) => what === "[data-keeps-arrows]" } }), [[], false]);
  assert.deepEqual(press("ArrowLeft", { does: [] }), [[], false]);
});

test("keys with Ctrl, Alt or Meta, handled keys and typing do nothing", () => {
  for (const event of ["ctrlKey", "altKey", "metaKey", "defaultPrevented"]) assert.deepEqual(press("h", { does: ["hint"], [event]: true }), [[], false]);
  const isHeard = (target) => press("h", { does: ["hint"], target })[1];
  for (const tagName of ["TEXTAREA", "SELECT"]) assert.equal(isHeard({ tagName }), false);
  assert.equal(isHeard({ isContentEditable: true }), false);
  for (const type of ["text", "number", "search"]) assert.equal(isHeard({ tagName: "INPUT", type }), false);
  for (const type of ["checkbox", "radio", "button"]) assert.equal(isHeard({ tagName: "INPUT", type }), true);
});

// Files

const bytesOf = (text) => new TextEncoder().encode(text);
const fileOf = (name, bytes, size = bytes.length) => ({ name, size, arrayBuffer: async () => new Uint8Array(bytes).buffer });
const recordOf = (name, turns = 0) => {
  const line = new GameLine(engine.newGame(name));
  for (let n = 0; n < turns; n++) line.play(line.game.legal[0]);
  return writeRecord(line, { south: "a", north: "b" });
};

test("the record of a game opens in Study", async () => {
  for (const start of ["", "\ufeff", "\n\n"]) {
    await takeFile(app, fileOf("game.txt", bytesOf(start + recordOf("leyla", 2))));
    const [view, { line }] = app.went.pop();
    assert.deepEqual([view, line.turns.length, line.game.ruleset.name], ["study", 2, "leyla"]);
    assert.equal(app.said.pop(), t("files.record", { turns: "2 turns" }));
  }
});

test("the games of a file are listed in Study", async () => {
  await takeFile(app, fileOf("games.txt", bytesOf(`${recordOf("leyla", 1)}\n\n${recordOf("gabata_i")}`)));
  const [[view, { games, line }]] = app.went;
  assert.deepEqual([view, games.length, line], ["study", 2, undefined]);
  assert.deepEqual(app.said, [t("files.records", { games: 2 })]);
});

test("a network of the shown ruleset plays from now on", async () => {
  const weights = read("networks/leyla.f32");
  app.shownRuleset = engine.ruleset("leyla");
  await takeFile(app, fileOf("mine.f32", weights));
  const { id, weights: taken } = app.networks.get(keyOfRules(app.shownRuleset));
  assert.deepEqual([taken.byteLength, app.went.length], [weights.length, 0]);
  assert.deepEqual(app.told, [t("files.network", { name: "mine.f32", title: "Leyla (Wegi)" })]);
  await takeFile(app, fileOf("mine.f32", weights)); // perhaps changed since
  assert.notEqual(app.networks.get(keyOfRules(app.shownRuleset)).id, id);
});

test("a file that is neither is refused, and so is a large one", async () => {
  app.shownRuleset = engine.ruleset("leyla");
  await assert.rejects(takeFile(app, fileOf("x", bytesOf("hello"))));
  await assert.rejects(takeFile(app, fileOf("x.f32", read("networks/leyla.f32").subarray(0, 4000))));
  await assert.rejects(takeFile(app, fileOf("x.txt", [...bytesOf(recordOf("leyla")), 0xff]))); // not UTF-8
  app.shownRuleset = null;
  await assert.rejects(takeFile(app, fileOf("mine.f32", read("networks/leyla.f32"))), { message: t("files.network_wrong") });
  const record = bytesOf(recordOf("leyla"));
  await takeFile(app, fileOf("x", record, 20_000_000));
  await assert.rejects(takeFile(app, fileOf("x", record, 20_000_001)), { message: t("error.too_large", { megabytes: 20 }) });
  assert.deepEqual([app.networks.size, app.went.length], [0, 1]);
});

// The choice of a ruleset

const partsOf = ({ element }) => {
  const [choice, about, dials] = element.children;
  return { choice: choice.children[1], about, dials };
};

test("a ruleset of the catalogue is chosen, described and kept", () => {
  const fields = rulesetFields(app, "play"), { choice, about, dials } = partsOf(fields);
  assert.equal(fields.read(), engine.ruleset("layli_goobalay"));
  assert.deepEqual(choice.children.map((option) => option.value), [...engine.rulesets.map(({ name }) => name), "own dials"]);
  assert.equal(dials.hidden, true);
  choice.value = "leyla";
  choice.fire("change");
  const leyla = engine.ruleset("leyla");
  assert.equal(fields.read(), leyla);
  assert.equal(about.textContent, `${leyla.region}. ${leyla.source}`);
  assert.deepEqual(JSON.parse(localStorage["mancala.ruleset.play"]), { name: "leyla", dials: {} });
  assert.equal(rulesetFields(app, "play").read(), leyla);
  assert.equal(rulesetFields(app, "study").read(), engine.ruleset("layli_goobalay"));
});

test("rule options of one's own are read, kept and checked", () => {
  const fields = rulesetFields(app, "play"), { choice, about, dials } = partsOf(fields);
  choice.value = "own dials";
  choice.fire("change");
  assert.deepEqual([dials.hidden, about.textContent], [false, ""]);
  const controls = new Map(engine.dials.map(({ name }, n) => [name, dials.children[n + 1].children[1]]));
  assert.equal(controls.size, dials.children.length - 2); // without the legend and the buttons
  const { row_width, captures_last } = engine.description.defaults;
  assert.deepEqual([controls.get("row_width").value, controls.get("captures_last").value], [row_width, String(captures_last)]);
  const { least, most } = engine.dials.find(({ name }) => name === "row_width");
  assert.deepEqual([attributesOf(controls.get("row_width")).min, attributesOf(controls.get("row_width")).max], [String(least), String(most)]);
  const set = (name, value) => {
    controls.get(name).value = value;
    controls.get(name).fire("change");
  };
  set("row_width", "4");
  set("captures_last", String(!captures_last));
  const ruleset = fields.read();
  assert.deepEqual([ruleset.dials.row_width, ruleset.dials.captures_last, ruleset.title], [4, !captures_last, t("ruleset.own_title")]);
  assert.deepEqual(JSON.parse(localStorage["mancala.ruleset.play"]), { name: "own dials", dials: { row_width: 4, captures_last: !captures_last } });
  const again = rulesetFields(app, "play");
  assert.deepEqual(again.read().dials, ruleset.dials);
  assert.deepEqual([partsOf(again).choice.value, partsOf(again).dials.hidden], ["own dials", false]);
  set("row_width", "99");
  assert.throws(() => fields.read(), /99/);
  fields.set(engine.ruleset("leyla"));
  assert.deepEqual([choice.value, dials.hidden, fields.read()], ["leyla", true, engine.ruleset("leyla")]);
  fields.set(ruleset);
  assert.deepEqual([choice.value, dials.hidden], ["own dials", false]);
});

// Learn

const button = (view, name) => view.root.querySelector(`[data-does=${name}]`);
const textOf = (view) => [view.title, view.text, view.task].map((part) => part.textContent);
const stepTexts = (game, number) => [
  t("learn.title", { number, title: t(`learn.${game}.${number}.title`) }),
  t(`learn.${game}.${number}.text`),
  t(`learn.${game}.${number}.task`),
];
const marks = (view) => view.steps.children.map(({ children: [step] }) => step.textContent);
const opened = (at) => {
  const view = new LearnView(app);
  view.enter({ at });
  return view;
};

test("every step of every game is shown with its position", () => {
  for (const [game, { ruleset, steps }] of Object.entries(lessons)) {
    for (const [n, { position }] of steps.entries()) {
      const view = opened(`${game}/${n + 1}`);
      assert.deepEqual(textOf(view), stepTexts(game, n + 1));
      assert.equal(view.start.text, engine.fromText(`${ruleset} ${position}`).text);
      assert.equal(app.addresses.at(-1), `learn/${game}/${n + 1}`);
      assert.equal(localStorage["mancala.learn"], JSON.stringify(`${game}/${n + 1}`));
      assert.deepEqual(view.games.children.map((one) => one.getAttribute("aria-pressed")), Object.keys(lessons).map((name) => String(name === game)));
      assert.deepEqual(view.steps.children.map(({ children: [step] }) => step.getAttribute("aria-current")), steps.map((_, m) => (m === n ? "step" : null)));
      assert.equal(app.said.at(-1), `${textOf(view)[0]}. ${textOf(view)[1]} ${textOf(view)[2]}`);
      const holes = view.board.holes.children.filter((one) => one.classList.contains("legal")).map((one) => Number(one.dataset.hole));
      assert.deepEqual(holes.sort((a, b) => a - b), view.start.legal.map((action) => view.start.holeOf(action)).sort((a, b) => a - b));
      assert.equal(view.root.querySelector(".source").textContent, t("learn.source", { title: view.start.ruleset.title, source: view.start.ruleset.source }));
    }
  }
});

test("an address that names no step leads to the nearest one", () => {
  const last = lessons.leyla.steps.length;
  for (const [at, wanted] of [["leyla/0", "leyla/1"], ["leyla", "leyla/1"], ["leyla/x", "leyla/1"], ["leyla/99", `leyla/${last}`], ["chess/2", "layli/2"]]) {
    opened(at);
    assert.equal(app.addresses.at(-1), `learn/${wanted}`, at);
  }
  opened("gabata/4");
  opened(""); // the step where the user was
  assert.equal(app.addresses.at(-1), "learn/gabata/4");
  globalThis.localStorage = newStore();
  new LearnView(app).enter();
  assert.equal(app.addresses.at(-1), "learn/layli/1");
});

test("the right turn is told and marked, another one is not", async () => {
  const view = opened("layli/4"); // only S4 captures
  assert.deepEqual([button(view, "again").disabled, button(view, "show_me").disabled], [true, false]);
  const other = view.start.legal.find((action) => action !== 3);
  view.sow(other);
  await soon();
  assert.ok(view.told.textContent.includes(`S${other + 1}`));
  assert.equal(marks(view)[3], "4");
  assert.equal(view.told.classList.contains("wrong"), true);
  assert.ok(!view.told.textContent.includes("move"), "not who is to move");
  // The step is shown again, with rings around the holes that can be sown.
  assert.deepEqual([button(view, "again").disabled, button(view, "show_me").disabled], [true, false]);
  assert.deepEqual(view.board.holes.children.filter((one) => one.classList.contains("legal")).map((one) => Number(one.dataset.hole)).sort(), view.start.legal);
  assert.equal(localStorage["mancala.learnt"], undefined);
  view.sow(3);
  await soon();
  assert.equal(view.told.classList.contains("wrong"), false);
  assert.deepEqual([button(view, "again").disabled, button(view, "show_me").disabled], [false, true]);
  const after = view.start.copy(), turn = after.play(3), [south, north] = after.counts;
  assert.equal(view.told.textContent, t("learn.layli.4.told", { turn: "S4", laps: turn.laps, captured: turn.captured, south, north }));
  assert.equal(app.said.at(-1), `${inWords(view.start.ruleset, timelineOf(view.start, 3)).join(" ")} ${view.told.textContent}`);
  assert.deepEqual([marks(view)[3], view.steps.children[3].firstChild.getAttribute("class")], ["✓", "done"]);
  assert.deepEqual(JSON.parse(localStorage["mancala.learnt"]), ["layli/4"]);
  view.goTo("layli", 0);
  assert.deepEqual(marks(view), ["1", "2", "3", "✓", "5", "6", "7", "8", "9", "10"]);
  assert.deepEqual(view.steps.children.slice(2, 4).map(({ firstChild }) => [firstChild.getAttribute("class"), firstChild.getAttribute("aria-label")]),
    [[null, t("learn.step", { number: 3 })], ["done", t("learn.step_done", { number: 4 })]]);
  assert.deepEqual(marks(opened("layli/1"))[3], "✓"); // after a reload
});

test("an address of an unknown game shows the first step", () => {
  for (const at of ["none/3", "constructor/1", "__proto__/1"]) {
    opened(at);
    assert.equal(app.addresses.at(-1), `learn/layli/${at === "none/3" ? 3 : 1}`);
  }
});

test("a turn after an answer begins the step again, and an illegal one is named", async () => {
  const view = opened("layli/4");
  view.sow(0);
  await soon();
  view.press(view.start.holeOf(3));
  await soon();
  assert.equal(marks(view)[3], "✓");
  const said = app.said.length;
  view.sow(1); // empty
  assert.equal(app.said.length, said + 2); // the step, and the error
  assert.equal(app.said.at(-1), t("play.illegal", { why: t("why.empty", { hole: "S2" }), player: "South", legal: view.start.legal.map((action) => `S${action + 1}`).join(", ") }));
  assert.equal(view.told.textContent, app.said.at(-1));
});

test("a press while seeds move shows the end of the turn, and is no other turn", async () => {
  app.speed = [5, 100];
  const view = opened("layli/4");
  view.sow(3);
  assert.equal(view.board.isMoving, true);
  view.press(view.start.legal.map((action) => view.start.holeOf(action)).find((hole) => hole !== 3));
  await soon();
  assert.equal(view.board.isMoving, false);
  assert.deepEqual([marks(view)[3], view.told.textContent.includes("S4")], ["✓", true]);
});

test("what another tab has learnt is kept", async () => {
  const view = opened("layli/1");
  localStorage["mancala.learnt"] = JSON.stringify(["leyla/2"]);
  button(view, "show_me").click();
  await soon();
  assert.deepEqual(JSON.parse(localStorage["mancala.learnt"]).sort(), ["layli/1", "leyla/2"]);
});

test("the last step of a round shows the next round", async () => {
  const view = opened("layli/10");
  view.commands.hint();
  await soon();
  const after = view.start.copy();
  after.play(4);
  const seeds = (game) => Array.from({ length: 12 }, (_, hole) => game.seeds[hole]);
  const shown = view.board.holes.children.filter((one) => "hole" in one.dataset).sort((a, b) => a.dataset.hole - b.dataset.hole).map((one) => Number(/\d+(?= seed)/.exec(one.getAttribute("aria-label"))?.[0] ?? 0));
  assert.deepEqual(shown, seeds(after.nextRound()));
});

test("steps are walked from game to game, and the ends are ends", () => {
  const view = opened("layli/1"), last = lessons.layli.steps.length;
  const ends = () => [button(view, "earlier").disabled, button(view, "later").disabled];
  assert.deepEqual(ends(), [true, false]);
  button(view, "earlier").click();
  assert.equal(app.addresses.length, 1);
  view.commands.later();
  assert.deepEqual([app.addresses.at(-1), document.activeElement === view.title, view.title.focusOptions], ["learn/layli/2", true, { preventScroll: true }]);
  assert.deepEqual(ends(), [false, false]);
  view.commands.earlier();
  assert.equal(app.addresses.at(-1), "learn/layli/1");
  view.goTo("layli", last - 1);
  assert.deepEqual(ends(), [false, false]);
  view.commands.go_on();
  assert.equal(app.addresses.at(-1), "learn/leyla/1");
  assert.deepEqual(ends(), [false, false]);
  button(view, "earlier").click();
  assert.equal(app.addresses.at(-1), `learn/layli/${last}`);
  view.goTo("gabata", 9);
  assert.deepEqual(ends(), [false, true]);
  const walked = app.addresses.length;
  button(view, "later").click();
  assert.equal(app.addresses.length, walked);
  view.steps.children[2].firstChild.click();
  assert.equal(app.addresses.at(-1), "learn/gabata/3");
  view.games.children[1].click();
  assert.equal(app.addresses.at(-1), "learn/leyla/1");
});

test("an answer that is no longer wanted is not told", async () => {
  const view = opened("layli/1");
  view.commands.hint();
  view.goTo("layli", 1);
  await soon();
  assert.equal(view.told.textContent, "");
  assert.equal(app.said.at(-1), `${textOf(view)[0]}. ${textOf(view)[1]} ${textOf(view)[2]}`);
  assert.deepEqual(marks(view)[1], "2");
});

test("legal turns and the position are said, and a step is begun again", async () => {
  const view = opened("layli/4");
  view.commands.legal();
  assert.equal(app.said.at(-1), t("play.legal_said", { player: "South", legal: view.start.legal.map((action) => `S${action + 1}`).join(", ") }));
  view.commands.position();
  assert.match(app.said.at(-1), /South to move/);
  view.commands.sow(3);
  await soon();
  view.commands.take_back();
  assert.deepEqual([view.told.textContent, textOf(view)], ["", stepTexts("layli", 4)]);
  view.commands.board();
  assert.ok(view.board.holes.children.includes(document.activeElement));
});

// Offline use

/** The service worker, with a network and a cache of our own. */
function worker({ network, cache }) {
  const heard = {}, noted = [];
  globalThis.location = { origin: "http://here" };
  globalThis.self = {
    addEventListener: (kind, listener) => { heard[kind] = listener; },
    skipWaiting: () => noted.push("skipWaiting"),
    clients: { claim: async () => noted.push("claim") },
  };
  globalThis.caches = { open: async (name) => { if (!cache) throw new Error("blocked"); assert.equal(name, "mancala"); return cache; } };
  const { fetch } = globalThis;
  globalThis.fetch = network;
  new Function(read("offline.js"))(); // a script, not a module
  const fire = async (kind, event = {}) => {
    let waited, answer;
    heard[kind]({ ...event, waitUntil: (promise) => { waited = promise; }, respondWith: (promise) => { answer = promise; } });
    await waited;
    return answer;
  };
  return { fire, noted, end: () => { globalThis.fetch = fetch; } };
}
const request = { method: "GET", url: "http://here/app.js" };
const response = (ok) => ({ ok, clone: () => ({ ok, isClone: true }) });

test("all files of the page are cached, and the worker starts at once", async () => {
  const added = [];
  const { fire, noted, end } = worker({ cache: { addAll: async (files) => void added.push(...files) } });
  await fire("install");
  await fire("activate");
  end();
  assert.deepEqual(noted, ["skipWaiting", "claim"]);
  const files = fs.readdirSync(folder).filter((name) => /\.(js|json|wasm|css|svg|html|webmanifest)$/.test(name) && name !== "offline.js");
  assert.deepEqual(files.filter((name) => !added.includes(name)), []);
});

test("the network comes first and is cached, and the cache answers without it", async () => {
  const put = [], asked = [];
  let answer = response(true);
  const cache = {
    put: async (...given) => { put.push(given); throw new Error("full"); },
    match: async (...given) => { asked.push(given); return given[0] === request ? "kept" : undefined; },
  };
  const { fire, end } = worker({ cache, network: async () => { if (answer instanceof Error) throw answer; return answer; } });
  assert.equal(await fire("fetch", { request }), answer);
  assert.deepEqual([put.length, put[0][0], put[0][1].isClone, asked.length], [1, request, true, 0]);
  answer = response(false);
  assert.equal(await fire("fetch", { request }), answer);
  assert.equal(put.length, 1); // an error is not cached
  answer = new Error("offline");
  assert.equal(await fire("fetch", { request }), "kept");
  assert.deepEqual(asked, [[request, { ignoreSearch: true }]]);
  await assert.rejects(fire("fetch", { request: { ...request } }), answer);
  for (const other of [{ method: "POST" }, { url: "http://there/app.js" }]) assert.equal(await fire("fetch", { request: { ...request, ...other } }), undefined);
  end();
});

test("without a cache, the network answers", async () => {
  let answer = response(true);
  const { fire, end } = worker({ cache: null, network: async () => { if (answer instanceof Error) throw answer; return answer; } });
  assert.equal(await fire("fetch", { request }), answer);
  answer = new Error("offline");
  await assert.rejects(fire("fetch", { request }), answer);
  end();
});

test("a lesson that is left says nothing more", async () => {
  const view = new LearnView(app);
  view.enter({ at: "layli/1" });
  view.sow(view.step.actions[0]);
  view.leave();
  app.said.length = 0; // another view speaks now
  await soon();
  assert.deepEqual([app.said, view.done.has("layli/1")], [[], true]);
});

test("a network made for other rules or of another version is refused", async () => {
  const { codes, units, version } = engine.description.network, { dials } = engine.ruleset("leyla");
  const content = read("networks/leyla.f32");
  const fileOf = (ruleset, version) => {
    let end = 0;
    const header = { __metadata__: { ruleset: JSON.stringify(ruleset), network: JSON.stringify({ version }) } };
    for (const [name, size] of Object.entries({ embeddings: 12 * codes * units, unit_biases: units, unit_weights: units, bias: 1 }))
      header[name] = { dtype: "F32", shape: [size], data_offsets: [end, (end += 4 * size)] };
    const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(text.length));
    const all = Buffer.concat([length, text, content]);
    return { name: "mine", size: all.length, arrayBuffer: async () => all.buffer.slice(all.byteOffset, all.byteOffset + all.length) };
  };
  app.shownRuleset = engine.ruleset("layli_goobalay");
  await takeFile(app, fileOf(dials, version));
  assert.deepEqual([...app.networks.keys()], [keyOfRules(engine.ruleset("leyla"))]);
  await assert.rejects(takeFile(app, fileOf({ ...dials, name: "mine" }, version)), /made for mine/);
  await assert.rejects(takeFile(app, fileOf({ ...dials, name: "layli_goobalay" }, version)), /made for/);
  await assert.rejects(takeFile(app, fileOf(dials, version + 1)), /version/);
  assert.equal(app.networks.size, 1);
  app.shownRuleset = engine.ownRuleset({ ...dials, name: "mine" });
  await takeFile(app, fileOf({ ...dials, name: "mine", match: "single" }, version));
  assert.equal(app.networks.size, 2);
});

test("a step that is no whole number is the one before, and does not stay", () => {
  for (const at of ["layli/1.5", undefined]) assert.equal(opened(at).title.textContent, stepTexts("layli", 1)[0]);
  assert.equal(JSON.parse(localStorage.getItem("mancala.learn")), "layli/1");
});

test("the button of a step keeps the focus, though the list is made again", () => {
  const view = opened("layli/1"), step = view.steps.children[4].firstChild;
  step.focus();
  step.click();
  assert.equal(document.activeElement, view.steps.children[4].firstChild);
});

test("a turn that was right counts, though the next step came before the seeds had stopped", async () => {
  app.speed = [0.3, 40];
  const view = opened("layli/1");
  view.commands.sow(1);
  view.commands.later();
  await soon();
  assert.deepEqual(JSON.parse(localStorage.getItem("mancala.learnt")), ["layli/1"]);
});

test("a ruleset file that is not UTF-8 is refused", async () => {
  const bytes = Buffer.from("like: leyla\nname: mine\ntitle: Jeu d'Érythrée\ndirection: clockwise\n", "latin1");
  const file = { name: "mine.yaml", size: bytes.length, arrayBuffer: async () => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) };
  await assert.rejects(takeFile(app, file), /utf-8/);
  assert.deepEqual(app.went, []);
});

test("a zip file without its directory is called damaged", async () => {
  const bytes = new Uint8Array(100);
  bytes.set([0x50, 0x4b, 3, 4]);
  await assert.rejects(readNetwork(bytes.buffer), /damaged/);
});

test("exact leads that stand alone are drawn in long games, too", () => {
  const exact = (lead) => ({ lower: lead, upper: lead });
  const { circles } = graphOf(Array.from({ length: 90 }, (_, n) => (n % 30 ? null : exact(6))), 0);
  assert.equal(circles.length, 3);
});

test("a step that was just done says so to screen readers", async () => {
  const view = new LearnView(app);
  view.enter({ at: "layli/1" });
  await view.sow(view.step.actions[0]);
  await soon();
  assert.equal(view.steps.children[0].children[0].getAttribute("aria-label"), t("learn.step_done", { number: 1 }));
});
