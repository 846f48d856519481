// The worker of searches without a browser: FOLDER=mancala_env/web node --test worker.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { at, engine, read, readJson, soon } from "../support/page_modules.mjs";

const bytesOf = (content) => content.buffer.slice(content.byteOffset, content.byteOffset + content.length);
const LATE = "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S";
const HARD = "layli_goobalay 1,1,9,8,1,3/3,5,9,1,1,6 0-0 S";
const START = engine.newGame("leyla").text;

let failing = "mancala.wasm"; // when the worker starts
globalThis.fetch = async (url) => {
  if (failing && String(url).endsWith(failing)) throw new Error("no connection");
  const content = fs.readFileSync(fileURLToPath(url));
  return { ok: true, json: async () => JSON.parse(content), arrayBuffer: async () => bytesOf(content) };
};
const posted = [];
let heard = () => {};
globalThis.self = {
  addEventListener: (kind, listener) => { if (kind === "message") self.hear = (data) => listener({ data }); },
  postMessage: (message) => { posted.push(message); heard(); },
};
const unhandled = [];
process.on("unhandledRejection", (error) => unhandled.push(error));
await at("worker.js");

let lastId = 0;
const asked = (task, text, options = {}, dials = undefined) => {
  const game = engine.fromText(text, dials && engine.ownRuleset(dials));
  const id = ++lastId;
  self.hear({ id, task, options, position: { dials: dials ?? game.ruleset.dials, text } });
  return id;
};
/** Wait for the answer to a task. */
async function answer(id) {
  const found = () => posted.find((message) => message.id === id && !("progress" in message));
  while (!found()) await new Promise((resolve) => { heard = resolve; });
  return found();
}
const ask = async (...given) => answer(asked(...given));
const narrow = (task, options) => ask(task, "narrow 4,4,4,4/4,4,4,4 0-0 S", options, { name: "narrow", row_width: 4 }); // has no network
const exactValues = async (text) => {
  const game = engine.fromText(text), solver = engine.solver(game.ruleset), search = solver.study(game);
  await search.run();
  const { bounds, lower, upper } = search.result;
  solver.close();
  return { lower, upper, actions: Object.fromEntries(Object.entries(bounds).map(([action, [least, most]]) => [action, { lower: least, upper: most }])) };
};

test("a file that did not come is asked for again", async () => {
  const failed = await ask("choose", START, { kind: "random" });
  assert.equal(failed.error, "no connection");
  failing = "books.json";
  const game = engine.newGame("leyla");
  const chosen = await ask("choose", START, { kind: "random" });
  assert.ok(game.legal.includes(chosen.result.action));
  assert.equal((await ask("book", START)).error, "no connection");
  assert.ok((await ask("choose", "leyla 0,0,1,0,0,2/0,1,0,0,0,0 24-20 S", { kind: "perfect", strength: 60 })).result.action >= 0); // without the book
  failing = "";
  assert.ok((await ask("book", START)).result.line.length > 0);
  assert.deepEqual(unhandled, []);
});

test("exact values are proved once, and bounds are told on the way", async () => {
  const wanted = await exactValues(LATE);
  const { result } = await ask("values", LATE, { milliseconds: 60_000 });
  assert.deepEqual(result, { ...wanted, nodes: result.nodes, isExact: true, hasEnded: true });
  assert.ok(result.nodes > 0);
  assert.equal((await ask("values", LATE, { milliseconds: 60_000 })).result.nodes, 0); // known by now
  const other = "leyla 0,0,1,0,0,2/0,1,0,0,0,0 24-20 S";
  assert.deepEqual((await ask("values", other, { milliseconds: 60_000 })).result.actions, (await exactValues(other)).actions);
  const again = await ask("values", LATE, { milliseconds: 60_000 }); // another ruleset took the table
  assert.deepEqual(again.result.actions, wanted.actions);
  assert.ok(again.result.nodes > 0);
  const id = asked("values", HARD, { milliseconds: 700 });
  const started = performance.now(), last = await answer(id);
  assert.ok(performance.now() - started >= 650);
  assert.deepEqual([last.result.isExact, last.result.hasEnded], [false, true]);
  const told = posted.filter((message) => message.id === id && "progress" in message);
  assert.ok(told.length >= 1 && told.length <= 6, `${told.length}`);
  for (const { progress } of told) {
    assert.equal("hasEnded" in progress, false);
    assert.equal(progress.isExact, false);
    assert.ok(progress.lower <= last.result.lower && last.result.upper <= progress.upper);
  }
});

test("every agent chooses, and the deeper ones choose what is best", async () => {
  const { actions } = await exactValues(LATE);
  const most = Math.max(...Object.values(actions).map(({ lower }) => lower));
  const best = Object.keys(actions).filter((action) => actions[action].lower === most).map(Number);
  assert.ok(best.length < Object.keys(actions).length);
  for (const [kind, strength] of [["minimax", 20], ["mcts", 3000], ["network", 20], ["perfect", 10]]) {
    const { result } = await ask("choose", LATE, { kind, strength });
    assert.ok(best.includes(result.action), `${kind} ${JSON.stringify(result)}`);
  }
  for (const kind of ["random", "greedy"]) assert.ok(engine.fromText(LATE).legal.includes((await ask("choose", LATE, { kind })).result.action));
  const drawn = new Set();
  for (let n = 0; n < 40; n++) drawn.add((await ask("choose", START, { kind: "random" })).result.action);
  assert.ok(drawn.size >= 5);
  const tie = "layli_goobalay 1,0,0,0,0,1/0,0,2,0,1,1 33-9 N stall=2", equal = new Set(); // 2 and 4 are best
  for (let n = 0; n < 40; n++) equal.add((await ask("choose", tie, { kind: "perfect", strength: 10 })).result.action);
  assert.deepEqual([...equal].sort(), [2, 4]);
  const { result } = await ask("book", START);
  const known = Math.max(...Object.values(result.values));
  for (let n = 0; n < 5; n++) assert.equal(result.values[(await ask("choose", START, { kind: "perfect", strength: 1 })).result.action], known);
  const hard = await ask("choose", HARD, { kind: "perfect", strength: 0.05 }); // not proved in time
  assert.ok(engine.fromText(HARD).legal.includes(hard.result.action));
  const { error } = await narrow("choose", { kind: "network", strength: 2 });
  assert.match(error, /narrow/);
  const own = { name: "leyla", weights: bytesOf(read("networks/leyla.f32")) };
  assert.ok((await ask("choose", START, { kind: "network", strength: 2, network: own })).result.action >= 0);
});

test("a task is cancelled while it runs or waits, and those after it are done", async () => {
  const long = asked("values", HARD, { milliseconds: 600_000 });
  const waiting = asked("choose", START, { kind: "greedy" });
  const next = asked("choose", START, { kind: "greedy" });
  await soon(100);
  self.hear({ id: waiting, cancel: true });
  self.hear({ id: long, cancel: true });
  assert.ok((await answer(next)).result.action >= 0);
  assert.equal((await answer(long)).result.isExact, false);
  assert.equal(posted.filter(({ id }) => id === waiting).length, 0);
  self.hear({ id: long, cancel: true }); // over already
  assert.ok((await ask("choose", START, { kind: "greedy" })).result.action >= 0);
});

test("searches give values on the scale of exact values", async () => {
  const wanted = await exactValues(LATE);
  for (const network of [undefined, "bundled"]) {
    const { result } = await ask("minimax", LATE, { milliseconds: 30_000, network });
    assert.ok(result.depth > 1 && result.nodes > 0);
    for (const [action, { lower }] of Object.entries(wanted.actions)) assert.equal(Math.round(result.values[action]), lower, `${network} ${action}`);
  }
  const north = LATE.replace(/S$/, "N"), exact = await exactValues(north);
  const { result } = await ask("minimax", north, { milliseconds: 30_000 });
  for (const [action, { lower }] of Object.entries(exact.actions)) assert.equal(result.values[action], lower);
  const none = await narrow("minimax", { milliseconds: 100, network: "bundled" });
  assert.deepEqual(none.result, { depth: 0, nodes: 0, values: {} });
  const own = { name: "mine", weights: bytesOf(read("networks/leyla.f32")) };
  assert.ok((await ask("minimax", START, { milliseconds: 1000, network: own })).result.depth > 0);
  const id = asked("mcts", LATE, { milliseconds: 300 }), { result: tree } = await answer(id);
  assert.ok(tree.simulations > 10);
  assert.deepEqual(Object.keys(tree.values).map(Number), engine.fromText(LATE).legal);
  assert.ok(Object.values(tree.values).every((value) => value >= -1 && value <= 1));
});

test("the book has values and a line, where the ruleset has a book", async () => {
  const { result } = await ask("book", START);
  assert.deepEqual(Object.keys(result.values).map(Number), engine.newGame("leyla").legal);
  assert.match(result.line[0], /^S[1-6]$/);
  let game = engine.newGame("leyla");
  for (const turn of result.line) {
    assert.equal(turn[0], "SN"[game.player]);
    game = game.after(Number(turn.slice(1)) - 1);
  }
  const middle = engine.newGame("leyla").after(Number(result.line[0].slice(1)) - 1);
  assert.deepEqual((await ask("book", middle.text)).result.line, result.line.slice(1));
  const books = readJson("books.json"), lacking = engine.rulesets.find(({ name }) => !(name in books));
  for (const [text, dials] of [[engine.newGame(lacking).text], ["mine 2,2,2/2,2,2 0-0 S", { name: "mine", row_width: 3, seeds_per_hole: 2 }]])
    assert.deepEqual((await ask("book", text, {}, dials)).result, { values: {}, line: [] });
  assert.match((await answer(((id) => (self.hear({ id, task: "values", options: {}, position: { dials: engine.ruleset("leyla").dials, text: "leyla 1" } }), id))(++lastId))).error, /./);
});

test("a proof is checked, and a long check can be cancelled", async () => {
  const check = (content) => { self.hear({ id: ++lastId, task: "proof", options: { bytes: bytesOf(Buffer.from(content)) } }); return lastId; };
  const content = read("proofs/ludii_leyla_gobale_somaliland.proof").toString(), id = check(content);
  const { result } = await answer(id);
  assert.deepEqual(result, { counts: [12, 36], total: 48, positions: 3277, seconds: result.seconds });
  const shares = posted.filter((message) => message.id === id && message.progress).map(({ progress }) => progress.share);
  assert.deepEqual(shares, [...shares].sort((one, other) => one - other));
  assert.match((await answer(check(content.replace("south 12", "south 13")))).result.wrong, /South gets 13 seeds/);
  assert.match((await answer(check("none"))).result.wrong, /line 1 .*none/);
  // Without letters, a search of all positions is left.
  const endless = check(content.replace(/leaf 8 letters [0-9]+/g, "leaf 255 letters 0").replace(/\n\n[^]*/, "\n\n\n\n"));
  await soon(200);
  self.hear({ id: endless, cancel: true });
  assert.equal((await answer(endless)).result, null);
});
