// The page around its views, and the form of a position, without a browser: FOLDER=mancala_env/web node --test app.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import { register } from "node:module";
import { beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { FakeElement, useFakeDom } from "../support/fake_dom.mjs";
import { at } from "../support/page_modules.mjs";


// Views that note what the page asks of them.
globalThis.noted = [];
const VIEW = (name) => `export class ${name} {
  root = document.createElement("section");
  commands = { sow: (action) => noted.push("sow " + action), hint: () => noted.push("hint") };
  constructor(app) { globalThis.app = app; noted.push("new ${name}"); }
  enter(given) { this.given = given; globalThis.view = this; noted.push("enter ${name}"); }
  leave() { noted.push("leave ${name}"); }
}`;
const HOOK = `export async function resolve(name, context, next) {
  const found = /^\\.\\/(play|study|puzzles|learn)\\.js$/.exec(name);
  if (!found || !context.parentURL.endsWith("/app.js")) return next(name, context);
  const view = found[1][0].toUpperCase() + found[1].slice(1) + "View";
  return { url: "data:text/javascript," + encodeURIComponent((${VIEW.toString()})(view)), shortCircuit: true };
}`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);

useFakeDom();
const listeners = {}, keys = [], media = [], kept = new Map(), written = [], waits = [];
const root = new FakeElement("div"), page = document.documentElement = { dataset: {}, lang: "" };
document.getElementById = (id) => (assert.equal(id, "app"), root);
document.addEventListener = (kind, listener) => { assert.equal(kind, "keydown"); keys.push(listener); };
globalThis.addEventListener = (kind, listener) => { listeners[kind] = listener; };
globalThis.matchMedia = () => ({ matches: media.isReduced ?? false, addEventListener: (_, listener) => media.push(listener) });
globalThis.location = { hash: "", reloads: 0, reload() { this.reloads += 1; } };
globalThis.history = { state: null, pushed: [], pushState(state, title, fragment) { this.state = state; this.pushed.push(fragment); location.hash = fragment; }, replaceState(state, title, fragment) { this.state = state; if (fragment !== undefined) { written.push(fragment); location.hash = fragment; } } };
globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
localStorage.setItem("mancala.settings", JSON.stringify({ theme: "dark" })); // of an earlier visit
const registered = [];
Object.defineProperty(globalThis, "navigator", { value: { language: "so-SO", serviceWorker: { register: async (name) => registered.push(name) } }, configurable: true });
window.isSecureContext = true;
FakeElement.prototype.showModal = function () { this.isOpen = true; };
FakeElement.prototype.close = function () { this.isOpen = false; this.fire("close"); };
const ABOUT = { checkpoints: ["a.zip"], agents: [], limits: { analysis_seconds: 60 } };
globalThis.fetch = async (url) => {
  if (String(url).includes("api/about")) return { ok: true, json: async () => ABOUT };
  if (String(url).endsWith("/so.json")) return { json: async () => ({ ...JSON.parse(fs.readFileSync(fileURLToPath(new URL("en.json", url)))), "app.title": "Cinwaan" }) };
  if (String(url).endsWith("/am.json")) return { json: async () => ({ "app.title": "ርዕስ" }) }; // incomplete: not offered
  const content = fs.readFileSync(fileURLToPath(url));
  return { ok: true, json: async () => JSON.parse(content), arrayBuffer: async () => content.buffer.slice(content.byteOffset, content.byteOffset + content.length) };
};
let now = 1e6;
performance.now = () => now;
const soon = (milliseconds = 0) => new Promise((resolve) => realTimeout(resolve, milliseconds));
const realTimeout = globalThis.setTimeout, realClear = globalThis.clearTimeout;

await at("app.js");
while (!("ready" in page.dataset)) await soon(5);
const firstTheme = page.dataset.theme;
const { app } = globalThis, { engine } = app;
const { t } = await at("texts.js");
const { SetUp } = await at("set_up.js");
const LATE = "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S";
const fragmentOf = (view, text) => `#${view}/${text.replaceAll(" ", "+")}`;
const follow = (hash) => { location.hash = hash; listeners.hashchange(); };
const alert = () => app.notice.textContent;
const find = (where, name) => where.all().filter((one) => one.name === name);
const dialog = () => document.body.children.at(-1);

beforeEach(() => {
  app.settings = { theme: "auto", speed: null, keys: true, language: null };
  media.isReduced = false;
  follow("#play");
  noted.length = written.length = 0;
});

test("the page starts with its parts, its language and the game", () => {
  assert.equal(page.lang, "so"); // the browser's language
  assert.deepEqual(registered, ["offline.js"]);
  assert.equal(firstTheme, "dark");
  assert.equal(document.title, "Cinwaan");
  const [skip, header, main, footer, toasts, live] = root.children;
  assert.deepEqual([toasts, main, live], [app.toasts.element, app.main, app.live]);
  assert.ok(toasts.contains(app.notice) && toasts.contains(app.news));
  let isPrevented = false;
  skip.fire("click", { preventDefault: () => { isPrevented = true; } });
  assert.equal(document.activeElement, main);
  assert.equal(isPrevented, true);
  assert.deepEqual(find(header, "a").map((link) => link.getAttribute("href")), ["#play", "#play", "#study", "#puzzles", "#learn"]);
  assert.ok(footer.textContent.includes(t("app.served")));
  assert.deepEqual(app.served.about, ABOUT);
  assert.equal(find(main, "section").length, 1);
  assert.ok(app.networks instanceof Map);
});

test("an address leads to its view, which is made once", () => {
  const made = noted.length;
  follow(fragmentOf("study", LATE));
  assert.equal(view.given.game.text, LATE);
  assert.deepEqual(Object.entries(app.links).map(([name, link]) => [name, link.getAttribute("aria-current")]), [["play", null], ["study", "page"], ["puzzles", null], ["learn", null]]);
  assert.deepEqual(app.main.children, [view.root]);
  assert.equal(noted.at(-1), "enter StudyView");
  assert.ok(noted.slice(made).includes("leave PlayView"));
  follow("#learn/leyla/3");
  assert.deepEqual(view.given, { at: "leyla/3" });
  const first = view;
  noted.length = 0;
  follow("#play");
  assert.deepEqual([view.given, noted], [{}, ["leave LearnView", "enter PlayView"]]);
  follow("#learn/leyla/4");
  assert.equal(view, first);
  for (const nowhere of ["#nothing", "", "#constructor"]) {
    follow(nowhere);
    assert.equal(app.links.play.getAttribute("aria-current"), "page");
  }
  follow("#study/custom+2,2/2,2+0-0+S;row_width=2;seeds_per_hole=2");
  assert.equal(view.given.game.ruleset.rowWidth, 2);
});

test("an address without a valid position says so, and the next one removes that", () => {
  follow("#study/leyla+1/1+0-0+S");
  assert.equal(noted.at(-1), "enter StudyView");
  assert.deepEqual(view.given, {});
  assert.match(alert(), /not hold a valid position: ./);
  follow("#study");
  assert.equal(alert(), "");
  app.tell("news");
  app.warn("an error");
  assert.deepEqual([app.news.textContent, alert()], ["", "an error"]);
  app.go("play", {});
  assert.equal(alert(), "");
});

test("what is told is heard, and again if it is the same", () => {
  app.live.textContent = "";
  app.say("words");
  assert.equal(app.live.textContent, "words");
  app.say("words");
  assert.equal(app.live.textContent, "words\u00a0");
  app.say("words");
  assert.equal(app.live.textContent, "words");
  app.tell("news");
  assert.deepEqual([app.news.textContent, app.live.textContent], ["news", "news"]);
  app.tell("silent news", false);
  assert.deepEqual([app.news.textContent, app.live.textContent], ["silent news", "news"]);
  app.served.onReturn();
  assert.equal(app.news.textContent, t("served.back"));
});

test("a view that a button opens is a step of the browser's history, and Back shows the one before", () => {
  follow("#play");
  history.pushed.length = 0;
  app.go("study", {});
  assert.deepEqual([history.pushed, location.hash], [["#study"], "#study"]);
  app.go("study", {}); // the same view
  assert.equal(history.pushed.length, 1);
  follow(fragmentOf("play", LATE)); // Back: the browser changes the address itself
  assert.deepEqual([history.pushed.length, view.given.game.text, noted.at(-1)], [1, LATE, "enter PlayView"]);
});

test("a ruleset's name alone opens the start of its game", () => {
  follow("#study/leyla");
  assert.deepEqual([view.given.game.text, alert()], [engine.newGame("leyla").text, ""]);
  follow("#play/custom;row_width=2;seeds_per_hole=2");
  assert.equal(view.given.game.text, "custom 2,2/2,2 0-0 S");
  follow("#study/hello");
  assert.match(alert(), /unknown ruleset "hello"/);
});

test("a link with turns opens the game", () => {
  follow(`${fragmentOf("study", engine.newGame("leyla").text)};turns=S1.N1`);
  assert.deepEqual(view.given.line.turns.map(({ player, action }) => [player, action]), [[0, 0], [1, 0]]);
  follow(`${fragmentOf("study", engine.newGame("leyla").text)};turns=S1.S2`);
  assert.deepEqual(view.given, {});
  assert.match(alert(), /turn 2: S2 cannot be played: North is to move/);
});

test("a message is short, can be closed, and has a button for what it offers", () => {
  const { toasts } = app, done = [], [wrong, news] = toasts.rows;
  app.warn(`"${"x".repeat(10_000)}" is not a position, ${"y".repeat(10_000)}`);
  assert.ok(alert().includes(`"${"x".repeat(77)}..." is not a position, ${"y".repeat(77)}...`) && alert().length < 200);
  assert.deepEqual([wrong.hidden, news.hidden], [false, true]);
  find(wrong, "button")[0].click();
  assert.deepEqual([alert(), wrong.hidden], ["", true]);
  app.tell("A new game.", false, { label: "Undo", act: () => done.push(1) });
  const [act] = find(news, "button");
  assert.deepEqual([act.textContent, act.hidden, news.hidden], ["Undo", false, false]);
  act.click();
  act.click(); // once is enough
  assert.deepEqual([done, news.hidden], [[1], true]);
  app.tell("Nothing to press.");
  assert.equal(act.hidden, true);
  app.tell("");
});

test("the address is written at once, and later where it changes too often", () => {
  const game = engine.fromText(LATE);
  app.address("study", game);
  assert.deepEqual(written, [fragmentOf("study", LATE)]);
  app.address("study", game); // the same
  assert.equal(written.length, 1);
  const own = engine.newGame(engine.ownRuleset({ name: "mine", row_width: 3 }));
  app.address("play", own);
  assert.ok(written[1].includes("row_width=3"));
  history.state = { kept: 1 };
  app.addressText("learn/leyla/2");
  assert.deepEqual([written[2], history.state], ["#learn/leyla/2", { kept: 1 }]);
  globalThis.setTimeout = (act, milliseconds) => waits[waits.push({ act, milliseconds }) - 1];
  globalThis.clearTimeout = (wait) => { if (wait) wait.isCleared = true; };
  try {
    now += 10_001;
    for (let n = 0; n < 150; n++) app.addressText(`a${n}`);
    assert.deepEqual([written.at(-1), waits.length], ["#a149", 0]);
    app.addressText("late");
    app.addressText("later");
    assert.equal(written.at(-1), "#a149");
    assert.deepEqual(waits.map(({ milliseconds, isCleared }) => [milliseconds, isCleared ?? false]), [[300, true], [300, false]]);
    now += 9_999;
    waits[1].act();
    assert.equal(written.at(-1), "#a149"); // it waits again
    now += 2;
    waits.at(-1).act();
    assert.equal(written.at(-1), "#later");
  } finally {
    Object.assign(globalThis, { setTimeout: realTimeout, clearTimeout: realClear });
    now += 20_000;
    history.state = null;
  }
});

test("the speed is that of the settings, or follows the system", () => {
  const speeds = { off: [0, 0], slow: [0.3, 40], normal: [0.1, 10], fast: [0.05, 6] };
  assert.deepEqual(app.speed, speeds.normal);
  media.isReduced = true;
  assert.deepEqual(app.speed, speeds.off);
  for (const [name, speed] of Object.entries(speeds)) {
    app.set("speed", name);
    assert.deepEqual(app.speed, speed);
  }
  const before = noted.length;
  media[0]();
  assert.equal(noted.length, before + 2); // the view is entered again
});

test("settings are chosen in a dialog, and kept", () => {
  const open = find(root.children[1], "button")[0];
  media.isReduced = true;
  open.click();
  media.isReduced = false;
  const box = dialog(), [speed, theme] = find(box, "select"), [shortcuts] = find(box, "input");
  assert.equal(box.isOpen, true);
  assert.equal(box.getAttribute("aria-labelledby"), find(box, "h2")[0].getAttribute("id"));
  assert.deepEqual([find(box, "select").length - 1, speed.value, theme.value, shortcuts.checked], [2, "off", "auto", true]);
  assert.deepEqual(theme.children.map(({ value }) => value), ["auto", "light", "dark"]);
  assert.deepEqual(speed.children.map(({ value }) => value), ["off", "slow", "normal", "fast"]);
  theme.value = "dark";
  theme.fire("change");
  assert.equal(page.dataset.theme, "dark");
  assert.equal(JSON.parse(kept.get("mancala.settings")).theme, "dark");
  speed.value = "slow";
  speed.fire("change");
  assert.deepEqual([app.settings.speed, JSON.parse(kept.get("mancala.settings")).speed], ["slow", "slow"]);
  shortcuts.checked = false;
  shortcuts.fire("change");
  assert.equal(app.settings.keys, false);
  let isStopped = false;
  box.fire("keydown", { stopPropagation: () => { isStopped = true; } });
  assert.equal(isStopped, true); // keys are for the dialog
  find(box, "button")[0].click();
  assert.deepEqual([box.isOpen, document.body.children], [false, []]);
  open.click();
  const [again, dark] = find(dialog(), "select");
  assert.deepEqual([again.value, dark.value, find(dialog(), "input")[0].checked], ["slow", "dark", false]);
  dark.value = "auto";
  dark.fire("change");
  assert.equal("theme" in page.dataset, false);
  dialog().close();
  app.settings.speed = null;
  open.click();
  assert.equal(find(dialog(), "select")[0].value, "normal");
  dialog().close();
  open.click();
  const language = find(dialog(), "select")[2];
  assert.deepEqual([language.value, language.children.map(({ value }) => value)], ["so", ["en", "so"]]);
  language.value = "en";
  language.fire("change");
  assert.deepEqual([app.settings.language, location.reloads], ["en", 1]);
  dialog().close();
  app.languages = ["en"]; // nothing to choose
  open.click();
  assert.equal(find(dialog(), "select").length, 2);
  dialog().close();
});

test("keys are shown in a dialog, and do what the view says", () => {
  find(root.children[1], "button")[1].click();
  const rows = find(dialog(), "tr").map((row) => row.children.map((cell) => cell.textContent));
  const shown = Object.fromEntries(rows);
  assert.deepEqual([shown.t, shown.Esc, shown.Enter], [t("keys.last_turn"), t("keys.skip"), t("keys.press")]);
  assert.ok(!("Backspace" in shown) && !("Escape" in shown));
  assert.equal(rows.length, 3 + 19);
  dialog().close();
  const press = (key) => keys[0]({ key, target: new FakeElement("body"), preventDefault() {} });
  press("3");
  press("h");
  assert.deepEqual(noted.splice(0), ["sow 2", "hint"]);
  press("?");
  assert.ok(dialog());
  dialog().close();
  app.settings.keys = false;
  press("3");
  press("?");
  assert.deepEqual([noted, document.body.children], [[], []]);
});

test("a file that is dropped is opened, and what is wrong with it is told", async () => {
  const prevented = [];
  listeners.dragover({ preventDefault: () => prevented.push("over") });
  const drop = async (dataTransfer) => {
    listeners.drop({ dataTransfer, preventDefault: () => prevented.push("drop") });
    for (let n = 0; n < 50 && !alert(); n++) await soon(2);
  };
  app.warn("earlier");
  await drop({ files: [new File(['[Ruleset "leyla"]\n1. S1'], "game.txt")] });
  for (let n = 0; n < 200 && !view.given.line; n++) await soon(5);
  assert.equal(view.given.line.turns.length, 1);
  assert.equal(alert(), "");
  await drop({ files: [new File(['[Ruleset "leyla"]\n1. S9'], "wrong.txt")] });
  assert.ok(alert().includes("wrong.txt") && alert().includes("S9"));
  app.warn("");
  await drop({ files: [] });
  await drop(undefined);
  assert.equal(alert(), "");
  assert.deepEqual(prevented, ["over", "drop", "drop", "drop", "drop"]);
});

test("the server is asked, and where it fails the page answers and says so", async () => {
  const { served } = app, asked = [];
  const own = async () => "own";
  app.served = { askOr: (ownNow, ...given) => (asked.push(given), ownNow("it is gone", true)) };
  assert.equal(await app.askServer("choose", "game", { a: 1 }, { b: 2 }, own, { label: "a.zip", agent: "Minimax" }), "own");
  assert.deepEqual(asked, [["choose", "game", { a: 1 }, { b: 2 }]]);
  assert.equal(app.news.textContent, t("served.agent", { why: "it is gone", label: "a.zip", agent: "Minimax" }));
  app.served = { askOr: (ownNow) => ownNow("it is slow", false) };
  app.live.textContent = "";
  assert.equal(await app.askServer("values", "game", {}, {}, own), "own");
  assert.deepEqual([app.news.textContent, app.live.textContent], [t("served.values", { why: "it is slow" }), ""]);
  app.served = null;
  app.live.textContent = "";
  assert.equal(await app.askServer("choose", "game", {}, {}, own, { label: "a.zip", agent: "Minimax" }), "own");
  assert.ok(app.live.textContent.includes("Minimax"));
  app.served = served;
});

test("the game that is played is copied, if a turn was played", () => {
  follow("#play");
  const line = { turns: [], copy: () => "a copy", ruleset: "leyla" };
  view.line = line;
  assert.equal(app.playedLine, null);
  line.turns.push(1);
  assert.deepEqual([app.playedLine, app.shownRuleset], ["a copy", "leyla"]);
  delete view.line;
  assert.equal(app.playedLine, null);
});

// The form of a position

test("a position is filled in, changed and used", () => {
  const used = [], form = new SetUp(app, (game) => used.push(game)), { element } = form;
  const game = engine.fromText("leyla 0,7n,4,0,4,2/0,1,6,4,7n,7 6-0 N");
  form.show(game);
  const inputs = () => form.board.all().filter((one) => one.name === "input");
  const owners = () => form.board.all().filter((one) => one.name === "select");
  const { rows } = game.ruleset;
  assert.deepEqual(inputs().map(({ value }) => value), rows.flat().map((hole) => game.seeds[hole]));
  assert.deepEqual(owners().map(({ value }) => value), rows.flat().map((hole) => String(game.owner[hole])));
  assert.deepEqual(owners()[0].children.map(({ value }) => value), ["-1", "0", "1"]);
  assert.deepEqual(form.board.all().filter(({ name }) => name === "legend").map((legend) => legend.textContent), ["North", "South"]);
  assert.deepEqual(inputs().map((input) => [input.getAttribute("min"), input.getAttribute("max")]), Array(12).fill(["0", "255"]));
  assert.deepEqual(form.stores.map((input) => [input.value, input.getAttribute("min"), input.getAttribute("max")]), [[6, "0", "255"], [0, "0", "255"]]);
  assert.equal(form.player.value, "1");
  assert.deepEqual(form.player.children.map((option) => [option.value, option.textContent]), [["0", "South"], ["1", "North"]]);
  const typed = () => [...form.board.all().filter(({ name }) => name === "input"), ...form.stores].forEach((input) => { input.value = String(input.value); });
  const submit = () => {
    let isPrevented = false;
    typed();
    element.fire("submit", { preventDefault: () => { isPrevented = true; } });
    assert.equal(isPrevented, true);
  };
  submit();
  assert.equal(used[0].text, game.text);
  for (const hole of [1, 10]) { // a pair of owned holes
    inputs()[rows.flat().indexOf(hole)].value = " ";
    owners()[rows.flat().indexOf(hole)].value = "-1";
  }
  form.stores[0].value = "20";
  form.player.value = "0";
  submit();
  assert.equal(form.wrong.textContent, "");
  assert.deepEqual([used[1].seeds[1], used[1].owner[1], used[1].stores, used[1].player], [0, -1, [20, 0], 0]);
  form.stores[0].value = "200";
  submit();
  assert.match(form.wrong.textContent, /more seeds/);
  assert.equal(used.length, 2);
  form.stores[0].value = "20";
  submit();
  assert.deepEqual([form.wrong.textContent, used.length], ["", 3]);
  form.wrong.textContent = "old";
  form.show(engine.newGame("gabata_i"));
  assert.deepEqual([form.wrong.textContent, form.player.value], ["", "0"]);
  const start = find(element, "button").find((button) => button.textContent === t("set_up.start"));
  inputs()[0].value = "99";
  start.click();
  submit();
  assert.equal(used[3].text, engine.newGame("gabata_i").text);
  form.rulesetForm.read = () => { throw new Error("wrong dials"); };
  start.click();
  assert.equal(form.wrong.textContent, "wrong dials");
});

test("a position is set up under the rules that are chosen, and keeps what a match has decided", () => {
  const used = [], form = new SetUp(app, (game) => used.push(game));
  const submit = () => form.element.fire("submit", { preventDefault() {} });
  const choose = (name) => {
    form.rulesetForm.set(engine.ruleset(name));
    form.rulesetForm.element.fire("change");
  };
  form.show(engine.fromText("leyla 0,7n,4,0,4,2/0,1,6,4,7n,7 6-0 N"));
  choose("ludii_leyla");
  submit();
  assert.deepEqual([used[0].ruleset.name, used[0].seeds[2], used[0].player], ["ludii_leyla", 4, 1]);
  choose("gabata_five_holes"); // another board
  submit();
  assert.equal(used[1].text, engine.newGame("gabata_five_holes").text);
  const territory = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1];
  form.show(engine.setUp("gabata_i", { seeds: Array(12).fill(4), territory, round: 3, starter: 1 }));
  submit();
  assert.deepEqual([used[2].territory, used[2].round, used[2].starter], [territory, 3, 1]);
});

test("a position is set up by pressing holes", () => {
  const used = [], form = new SetUp(app, (game) => used.push(game));
  form.show(engine.fromText("leyla 0,7n,4,0,4,2/0,1,6,4,7n,7 6-0 N"));
  const hole = (number) => find(form.place, "button").find(({ dataset }) => Number(dataset.hole) === number);
  const choose = (name) => form.presses.find(({ dataset }) => dataset.does === name).click();
  const pressed = () => form.presses.filter((button) => button.getAttribute("aria-pressed") === "true").map(({ dataset }) => dataset.does);
  assert.deepEqual(pressed(), ["add"]);
  assert.ok(hole(0).classList.contains("legal"));
  const fullCaption = form.pressed.caption;
  assert.equal(fullCaption, t("set_up.total", { seeds: 48, total: 48 }));
  choose("take");
  assert.deepEqual(pressed(), ["take"]);
  for (const one of [0, 2, 2]) hole(one).click(); // hole 0 is empty and stays so
  assert.equal(form.pressed.caption, t("set_up.total", { seeds: 46, total: 48 }));
  choose("add");
  hole(3).click();
  choose("owner");
  hole(3).click();
  assert.equal(app.live.textContent, "S4: 1 seed, South");
  for (let n = 0; n < 2; n++) hole(1).click(); // from North over free to South, with the opposite hole
  form.element.fire("submit", { preventDefault() {} });
  assert.equal(form.wrong.textContent, "");
  assert.deepEqual([used[0].seeds.slice(0, 4), used[0].owner.slice(0, 4)], [[0, 7, 2, 1], [-1, 0, -1, 0]]);
  assert.deepEqual([used[0].owner[10], used[0].owner[8]], [0, 0]);
  form.show(engine.newGame("gabata_i"));
  hole(3).click();
  form.element.fire("submit", { preventDefault() {} });
  assert.deepEqual(used[1].owner.map((owner, n) => [n, owner]).filter(([, owner]) => owner >= 0), [[3, 0]]);
  form.stores[0].value = "1.5"; // cannot be drawn
  form.element.fire("input");
  assert.equal(form.pressed.caption, t("set_up.total", { seeds: 48, total: 48 }));
});

test("a position is not used under rules that are invalid", () => {
  const used = [], form = new SetUp(app, (game) => used.push(game));
  form.show(engine.newGame(engine.ownRuleset({ row_width: 12 })));
  const seeds = find(form.element, "label").find((label) => label.textContent === t("dial.seeds_per_hole")).parentElement.children[1];
  seeds.value = "15"; // 12 holes hold at most 10 each
  seeds.fire("change");
  form.rulesetForm.element.fire("change");
  form.element.fire("submit", { preventDefault() {} });
  assert.match(form.wrong.textContent, /seeds_per_hole must be at most 10/);
  assert.deepEqual(used, []);
});
