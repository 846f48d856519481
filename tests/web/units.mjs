// Units of the page without a browser: FOLDER=mancala_env/web node --test units.mjs
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { at, engine } from "../support/page_modules.mjs";


// Browser objects that node does not have.
class Store {
  values = new Map();
  isFull = false;
  setItem(key, value) {
    if (this.isFull) throw new Error("full");
    this.values.set(key, value);
  }
  getItem = (key) => this.values.get(key) ?? null;
  removeItem = (key) => this.values.delete(key);
}
const stores = { localStorage: null, sessionStorage: null };
for (const name of Object.keys(stores))
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get() {
      if (!stores[name]) throw new Error("blocked");
      return new Proxy(stores[name], { ownKeys: () => [...stores[name].values.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) });
    },
  });
globalThis.history = { state: null, replaceState(state) { this.state = structuredClone(state); } };
globalThis.document = { baseURI: "http://here:1/page/" };

const { kept } = await at("dom.js");
const texts = await at("texts.js");
const { Served, Refused } = await at("served.js");
const { boundsOf, bestOf, leadOf, lostBy, narrowed } = await at("values.js");
const { copied, replay, timelineOf } = await at("motion.js");
const { readRecord, rulesetOf, writeRecord } = await at("record.js");
const { describe, Layout, UprightLayout } = await at("scene.js");
const { GameLine } = await at("game.js");
const { addressOf, readAddress, readDial, writeDial } = await at("address.js");
const LATE = engine.fromText("layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S");

// Storage

beforeEach(() => {
  for (const name of Object.keys(stores)) stores[name] = new Store();
  history.state = null;
  kept.carried = {};
});

const blocked = () => Object.keys(stores).forEach((name) => { stores[name] = null; });

test("a value is kept for all tabs, or for this one besides", () => {
  assert.equal(kept.read("a", "none"), "none");
  assert.equal(kept.write("a", { n: 1 }), true);
  assert.deepEqual(kept.read("a", null), { n: 1 });
  assert.equal(kept.ofTab("a"), undefined);
  assert.equal(kept.write("b", 2, true), true);
  assert.equal(kept.ofTab("b"), 2);
  stores.localStorage.setItem("mancala.b", "3"); // another tab
  assert.equal(kept.read("b", null), 2);
  stores.localStorage.setItem("mancala.a", "4");
  assert.equal(kept.read("a", null), 4);
  stores.localStorage.setItem("mancala.a", "no JSON");
  assert.equal(kept.read("a", "none"), "none");
});

test("values that are false or null are kept, and null is none", () => {
  kept.write("a", false);
  assert.equal(kept.read("a", true), false);
  kept.write("a", null);
  assert.equal(kept.read("a", "none"), "none");
});

test("a value of another kind than the default is not used", () => {
  localStorage.setItem("mancala.learn", "5");
  assert.deepEqual([kept.read("learn", "layli/1"), kept.read("learn", []), kept.read("learn", {}), kept.read("learn", 1)], ["layli/1", [], {}, 5]);
  localStorage.setItem("mancala.learn", "[]");
  assert.deepEqual(kept.read("learn", {}), {});
});

test("a full store keeps what it has, and the tab keeps what is new", () => {
  kept.write("a", 1);
  stores.localStorage.isFull = true;
  assert.equal(kept.write("a", 2), false);
  assert.equal(stores.localStorage.getItem("mancala.a"), "1");
  assert.equal(kept.read("a", null), 2);
  assert.equal(history.state, null); // not needed
  stores.localStorage.isFull = false;
  assert.equal(kept.write("a", 3), true);
  assert.equal(kept.ofTab("a"), undefined);
  assert.equal(kept.read("a", null), 3);
});

test("where no store takes a value, the entry of the history does", () => {
  for (const close of [blocked, () => Object.values(stores).forEach((store) => { store.isFull = true; })]) {
    for (const name of Object.keys(stores)) stores[name] = new Store();
    kept.write("a", "old", true);
    close();
    history.state = { mine: 1 };
    assert.equal(kept.write("a", "new", true), false);
    assert.equal(kept.read("a", null), "new");
    assert.deepEqual(history.state, { mine: 1, kept: { a: "new" } });
    history.state = null; // a link was followed
    kept.carry();
    assert.deepEqual(history.state, { kept: { a: "new" } });
    for (const name of Object.keys(stores)) stores[name] = new Store();
    assert.equal(kept.write("a", "newest", true), true); // there is room again
    assert.deepEqual(history.state, { kept: {} });
    assert.equal(kept.read("a", null), "newest");
    kept.carried = {};
    history.state = null;
  }
  kept.carry();
  assert.equal(history.state, null); // nothing to carry, nothing is written
  history.replaceState = () => { throw new Error("too often"); };
  blocked();
  assert.equal(kept.write("a", 1), false);
  history.replaceState = (state) => { history.state = structuredClone(state); };
});

test("names are listed by how they begin, and forgotten", () => {
  kept.write("games.a", 1);
  kept.write("games.b", 2, true);
  kept.write("game", 3);
  stores.localStorage.setItem("other.games.c", "4");
  assert.deepEqual(kept.names("games."), ["games.a", "games.b"]);
  kept.remove("games.a");
  assert.deepEqual(kept.names("games."), ["games.b"]);
  kept.forgetTab("games.b");
  assert.equal(kept.ofTab("games.b"), undefined);
  assert.equal(kept.read("games.b", null), 2);
  blocked();
  assert.deepEqual(kept.names("games."), []);
  kept.write("x", 1);
  kept.forgetTab("x");
  assert.equal(kept.read("x", "none"), "none");
});

// The client of the server

let sockets = [];
let now = 0;
let waits = [];

class FakeSocket {
  static OPEN = 1;
  readyState = 0;
  sent = [];
  constructor(address) {
    this.address = String(address);
    sockets.push(this);
  }
  send = (text) => this.sent.push(JSON.parse(text));
  open() {
    this.readyState = 1;
    this.onopen();
  }
  say = (answer) => this.onmessage({ data: JSON.stringify(answer) });
  close() {
    this.readyState = 3;
    this.onclose();
  }
}
globalThis.WebSocket = FakeSocket;
const realTimeout = globalThis.setTimeout;

beforeEach(() => {
  sockets = [];
  waits = [];
  now = 1000;
});
Date.now = () => now;
const soon = () => new Promise((resolve) => realTimeout(resolve, 0));
globalThis.setTimeout = (act, milliseconds) => {
  if (milliseconds < 10) return realTimeout(act, milliseconds);
  const wait = { act, milliseconds };
  waits.push(wait);
  return wait;
};
const realClear = globalThis.clearTimeout;
globalThis.clearTimeout = (wait) => {
  if (waits.includes(wait)) waits = waits.filter((one) => one !== wait);
  else realClear(wait);
};

/** Run the timers with this delay. */
function ring(milliseconds) {
  const due = waits.filter((wait) => wait.milliseconds === milliseconds);
  waits = waits.filter((wait) => wait.milliseconds !== milliseconds);
  due.forEach(({ act }) => act());
  return due.length;
}

const ABOUT = { checkpoints: ["a.zip"], agents: ["trained"], limits: { analysis_seconds: 600 } };

async function connected() {
  const served = new Served(ABOUT);
  const answer = served.ask("choose", LATE, { agent: "greedy" });
  await soon();
  sockets[0].open();
  await soon();
  sockets[0].say({ id: sockets[0].sent[0].id, action: 1, done: true });
  await answer;
  sockets[0].sent.length = 0;
  return [served, sockets[0]];
}

test("the server is found by what it says of itself", async () => {
  const answers = { ok: { ok: true, json: async () => ABOUT }, none: { ok: true, json: async () => null }, wrong: { ok: false } };
  const asked = [];
  for (const [name, wanted] of [["ok", ABOUT], ["none", undefined], ["wrong", undefined]]) {
    globalThis.fetch = async (address) => (asked.push(String(address)), answers[name]);
    assert.equal((await Served.find())?.about, wanted);
  }
  globalThis.fetch = async () => { throw new Error("gone"); };
  assert.equal(await Served.find(), null);
  assert.equal(asked[0], "http://here:1/page/api/about");
});

test("its agents are the checkpoints and those that are offered", () => {
  assert.deepEqual(new Served(ABOUT).agents, [
    { agent: "checkpoint", checkpoint: "a.zip", label: "a.zip" },
    { agent: "trained", label: "trained" },
  ]);
});

test("an agent is asked with the position, the ruleset and the rounds", async () => {
  const [served, socket] = await connected();
  assert.equal(socket.address, "ws://here:1/page/api/session");
  const answer = served.ask("choose", LATE, { agent: "checkpoint", checkpoint: "a.zip", rounds: "match" });
  await soon();
  const [asked] = socket.sent;
  assert.deepEqual(asked, { id: asked.id, position: LATE.text, dials: LATE.ruleset.dials, do: "choose", agent: "checkpoint", checkpoint: "a.zip", rounds: "match" });
  socket.say({ id: asked.id, action: 5, done: true });
  assert.equal((await answer).action, 5);
  assert.equal(sockets.length, 1);
});

test("an analysis is asked for as many seconds as there may be", async () => {
  const [served, socket] = await connected();
  for (const [milliseconds, seconds] of [[1500, 1.5], [undefined, 600], [9e9, 600]]) {
    served.ask("values", LATE, { milliseconds });
    await soon();
    const asked = socket.sent.at(-1);
    assert.equal(asked.do, "analyse");
    assert.equal(asked.seconds, seconds);
  }
  assert.equal(new Set(socket.sent.map(({ id }) => id)).size, 3);
});

test("bounds come on the way, and the last ones at the end", async () => {
  const [served, socket] = await connected();
  const told = [];
  const answer = served.ask("values", LATE, {}, { onProgress: (found) => told.push(found) });
  await soon();
  const { id } = socket.sent[0];
  const bounds = { lower: -1, upper: 3, actions: { 1: [-1, 3] }, nodes: 7, exact: false };
  socket.say({ id: id + 100, ...bounds }); // of nobody here
  socket.say({ id, ...bounds });
  assert.deepEqual(told, [{ lower: -1, upper: 3, actions: { 1: { lower: -1, upper: 3 } }, nodes: 7, isExact: false, hasEnded: false }]);
  socket.say({ id, ...bounds, lower: 3, exact: true, done: true });
  const found = await answer;
  assert.equal(told.length, 1);
  assert.deepEqual([found.lower, found.isExact, found.hasEnded], [3, true, true]);
});

test("an aborted request is cancelled, and its answer is not heard", async () => {
  const [served, socket] = await connected();
  const stop = new AbortController(), told = [];
  const answer = served.ask("values", LATE, {}, { signal: stop.signal, onProgress: (found) => told.push(found) });
  await soon();
  const { id } = socket.sent[0];
  stop.abort();
  await assert.rejects(answer, { name: "AbortError" });
  assert.equal(socket.sent.length, 2);
  assert.equal(socket.sent[1].do, "cancel");
  assert.equal(socket.sent[1].of, id);
  assert.notEqual(socket.sent[1].id, id);
  socket.say({ id, actions: {}, done: true });
  assert.equal(told.length, 0);
  await assert.rejects(served.ask("values", LATE, {}, { signal: stop.signal }), { name: "AbortError" });
  assert.equal(socket.sent.length, 2); // not even asked
});

test("a request that was answered is not cancelled any more", async () => {
  const [served, socket] = await connected();
  const stop = new AbortController();
  const answer = served.ask("choose", LATE, { agent: "greedy" }, { signal: stop.signal });
  await soon();
  socket.say({ id: socket.sent[0].id, action: 0, done: true });
  await answer;
  stop.abort();
  assert.equal(socket.sent.length, 1);
});

test("what waits when the connection ends is lost, and is not cancelled on a closed one", async () => {
  const [served, socket] = await connected();
  const stop = new AbortController();
  const answers = [served.ask("choose", LATE, {}), served.ask("values", LATE, {}, { signal: stop.signal })];
  await soon();
  socket.readyState = 2;
  stop.abort();
  assert.equal(socket.sent.length, 2);
  socket.close();
  await assert.rejects(answers[0], /gone/);
  await assert.rejects(answers[1], { name: "AbortError" });
});

test("requests at the same moment share a connection", async () => {
  const served = new Served(ABOUT);
  const answers = [served.ask("choose", LATE, {}), served.ask("choose", LATE, {})];
  await soon();
  assert.equal(sockets.length, 1);
  sockets[0].open();
  await soon();
  for (const { id } of sockets[0].sent) sockets[0].say({ id, action: id, done: true });
  assert.equal((await Promise.all(answers)).length, 2);
  assert.equal(ring(5000), 0); // no timer of a connection that was made
  sockets[0].close();
  served.ask("choose", LATE, {});
  await soon();
  assert.equal(sockets.length, 2);
});

test("a lost connection is tried three times, and one that is too slow is given up", async () => {
  const served = new Served(ABOUT);
  const isLost = assert.rejects(served.ask("choose", LATE, {}), /gone/);
  for (let tries = 1; tries <= 3; tries++) {
    await soon();
    assert.equal(sockets.length, tries);
    if (tries === 2) assert.equal(ring(5000), 1); // too slow
    else sockets.at(-1).close();
    await soon();
    assert.equal(ring(1000), tries < 3 ? 1 : 0);
  }
  await isLost;
});

test("a connection that ends does not end what was asked on a newer one", async () => {
  const [served, old] = await connected();
  old.readyState = 2; // it is closing, and says so later
  const answer = served.ask("choose", LATE, {});
  await soon();
  sockets[1].open();
  await soon();
  old.close();
  sockets[1].say({ id: sockets[1].sent[0].id, action: 4, done: true });
  assert.equal((await answer).action, 4);
});

const own = (log) => async (why, isNew) => (log.push([why, isNew]), { action: 9 });

test("where the server fails, the page answers, and the server is asked again later", async () => {
  const [served, socket] = await connected();
  const log = [];
  let returns = 0;
  served.onReturn = () => { returns += 1; };
  const ask = () => served.askOr(own(log), "choose", LATE, { agent: "greedy" });
  const answerNow = async (answer) => {
    await soon();
    sockets.at(-1).say({ id: sockets.at(-1).sent.at(-1).id, ...answer });
  };
  let answer = ask();
  await answerNow({ action: 4, done: true });
  assert.equal((await answer).action, 4);
  assert.equal(returns, 0); // it never failed
  answer = ask();
  await soon();
  socket.close();
  assert.equal((await answer).action, 9);
  assert.deepEqual(log, [["the server is gone", true]]);
  now += 4999; // it rests
  assert.equal((await ask()).action, 9);
  assert.equal(sockets.length, 1);
  assert.deepEqual(log.at(-1), ["the server is gone", false]);
  now += 1; // it is asked again, once
  answer = ask();
  await soon();
  assert.equal(sockets.length, 2);
  sockets[1].close();
  assert.equal((await answer).action, 9);
  assert.equal(sockets.length, 2);
  now += 4999; // and rests again
  await ask();
  assert.equal(sockets.length, 2);
  now += 1;
  answer = ask();
  await soon();
  sockets[2].open();
  await answerNow({ action: 3, done: true });
  assert.equal((await answer).action, 3);
  assert.equal(returns, 1);
  answer = ask();
  await answerNow({ action: 2, done: true });
  await answer;
  assert.equal(returns, 1); // told once
  assert.equal(log.length, 4);
});

test("a failure is answered by the page, a refusal of an agent is not", async () => {
  const [served, socket] = await connected();
  const log = [];
  const ask = async (task, answer) => {
    const asked = served.askOr(own(log), task, LATE, { agent: "greedy" });
    await soon();
    socket.say({ id: socket.sent.at(-1).id, ...answer });
    return asked;
  };
  await assert.rejects(ask("choose", { error: "no match" }), (error) => error instanceof Refused && error.message === "no match");
  assert.equal(log.length, 0);
  assert.equal((await ask("choose", { error: "cannot", failed: true })).action, 9);
  assert.deepEqual(log, [["cannot", true]]);
  await ask("values", { error: "no memory" }); // exact values are the same here
  assert.deepEqual(log.at(-1), ["no memory", false]);
  assert.equal(sockets.length, 1); // the connection is as good as before
});

test("the page answers an analysis of a server that stays silent for a minute", async () => {
  const [served, socket] = await connected();
  const log = [], told = [];
  const ask = () => served.askOr(own(log), "values", LATE, {}, { onProgress: (found) => told.push(found) });
  const bounds = { lower: -1, upper: 3, actions: { 1: [-1, 3] }, nodes: 7, exact: false };
  const answer = ask();
  await soon();
  const [{ id }] = socket.sent;
  const [first] = waits.filter(({ milliseconds }) => milliseconds === 60_000);
  socket.say({ id, ...bounds }); // the minute begins again
  assert.ok(!waits.includes(first));
  assert.equal(ring(60_000), 1);
  assert.equal((await answer).action, 9);
  assert.deepEqual(log, [["the server does not answer", true]]);
  assert.deepEqual([socket.sent.at(-1).do, socket.sent.at(-1).of], ["cancel", id]);
  socket.say({ id, ...bounds, done: true }); // too late
  assert.equal(told.length, 1);
  now += 59_999; // it rests
  assert.equal((await ask()).action, 9);
  assert.equal(socket.sent.length, 2);
  const chosen = served.askOr(own(log), "choose", LATE, { agent: "greedy" }); // but is asked for actions
  await soon();
  socket.say({ id: socket.sent.at(-1).id, error: "cannot", failed: true });
  assert.equal((await chosen).action, 9);
  assert.deepEqual(log.slice(1), [["the server does not answer", false], ["cannot", false]]);
  now += 60_000;
  const exact = ask();
  await soon();
  socket.say({ id: socket.sent.at(-1).id, ...bounds, done: true });
  assert.equal((await exact).hasEnded, true);
  for (const end of [(stop) => stop.abort(), () => socket.close()]) {
    const stop = new AbortController();
    const stopped = assert.rejects(served.ask("values", LATE, {}, { signal: stop.signal }));
    await soon();
    end(stop);
    await stopped;
  }
  assert.equal(ring(60_000), 0); // no timer of a request that has ended
});

test("an agent may think for as long as it needs", async () => {
  const [served, socket] = await connected();
  const answer = served.ask("choose", LATE, { agent: "trained" });
  await soon();
  assert.deepEqual(waits, []);
  socket.say({ id: socket.sent[0].id, action: 4, done: true });
  assert.equal((await answer).action, 4);
});

test("an aborted request is not answered by the page", async () => {
  const [served, socket] = await connected();
  const log = [];
  const stop = new AbortController();
  const answer = served.askOr(own(log), "values", LATE, {}, { signal: stop.signal });
  await soon();
  stop.abort();
  await assert.rejects(answer, { name: "AbortError" });
  const late = new AbortController();
  const other = served.askOr(own(log), "values", LATE, {}, { signal: late.signal });
  await soon();
  socket.close();
  late.abort();
  await assert.rejects(other, { name: "AbortError" });
  assert.equal(log.length, 0);
});

// The Study view

const exactly = (value) => ({ lower: value, upper: value });

test("bounds are what is proved, and the book's where it has them", () => {
  const exact = { actions: { 1: { lower: -3, upper: 5 }, 2: exactly(1) } };
  assert.deepEqual(boundsOf({ exact }), exact.actions);
  assert.deepEqual(boundsOf({ exact, book: { values: { 1: 4 } } }), { 1: exactly(4), 2: exactly(1) });
  assert.deepEqual(boundsOf({}), {});
  assert.deepEqual(exact.actions[1], { lower: -3, upper: 5 }); // as it was
});

test("the best actions of an unfinished study are those with the highest bounds", async () => {
  const solver = engine.solver("layli_goobalay"), search = solver.study(engine.fromText("layli_goobalay 1,1,9,8,1,3/3,5,9,1,1,6 0-0 S"));
  let different = 0;
  for (let n = 0; n < 60; n++) {
    search.goOn(1);
    assert.equal(search.isDone, false);
    const { bounds, best } = search.result;
    const [most] = Object.values(bounds).sort(([low, high], [otherLow, otherHigh]) => otherLow - low || otherHigh - high);
    assert.deepEqual(best, Object.keys(bounds).map(Number).filter((action) => bounds[action].join() === most.join()));
    different += new Set(Object.values(bounds).map(String)).size > 1;
  }
  assert.ok(different > 0);
  solver.close();
});

test("the best actions are known once no other can be better", () => {
  const game = { legal: [0, 1, 2] };
  assert.deepEqual(bestOf(game, { 0: exactly(2), 1: exactly(2), 2: exactly(-1) }), [0, 1]);
  assert.deepEqual(bestOf(game, { 0: exactly(2), 1: { lower: -9, upper: 2 }, 2: exactly(-1) }), [0]);
  assert.deepEqual(bestOf(game, { 0: exactly(2), 1: { lower: -9, upper: 3 }, 2: exactly(-1) }), []);
  assert.deepEqual(bestOf(game, { 0: exactly(2), 1: exactly(1) }), []); // one is not known at all
  assert.deepEqual(bestOf({ legal: [] }, {}), []);
});

test("a lead is South's at the end, whoever is to move", () => {
  const game = (player, more = {}) => ({ player, stores: [10, 7], counts: [25, 23], legal: [0, 1], ...more });
  const known = (...values) => ({ exact: { lower: -40, upper: 40, actions: Object.fromEntries(values.map((value, action) => [action, value])) } });
  assert.deepEqual(leadOf(game(0), known(exactly(4), exactly(-2))), exactly(7)); // 3 and South's 4
  assert.deepEqual(leadOf(game(1), known(exactly(4), exactly(-2))), exactly(-1)); // 3 less North's 4
  assert.deepEqual(leadOf(game(0), known({ lower: 1, upper: 6 }, exactly(2))), { lower: 5, upper: 9 });
  assert.deepEqual(leadOf(game(1), known({ lower: 1, upper: 6 }, exactly(2))), { lower: -3, upper: 1 });
  assert.deepEqual(leadOf(game(0), known(exactly(4))), { lower: -37, upper: 43 }); // an action is open: the position's own
  assert.equal(leadOf(game(0), { book: { values: { 0: 4 } } }), null);
  assert.deepEqual(leadOf(game(0), { book: { values: { 0: 4, 1: 5 } } }), exactly(8));
  assert.deepEqual(leadOf(game(1, { isOver: true }), known(exactly(9), exactly(9))), exactly(2)); // all counts
  assert.equal(leadOf(game(0, { legal: [] }), {}), null);
});

test("a lead has an estimate until it is proved", () => {
  const game = { player: 1, stores: [10, 7], legal: [0, 1] };
  const exact = (lower, upper) => ({ lower, upper, actions: { 0: { lower, upper }, 1: exactly(-9) } });
  assert.deepEqual(leadOf(game, { exact: exact(-2, 8), search: { values: { 0: 4, 1: -8 } } }), { lower: -5, upper: 5, estimate: -1 });
  assert.deepEqual(leadOf(game, { exact: exact(-2, 8), search: { values: { 0: 40, 1: -8 } } }), { lower: -5, upper: 5, estimate: -5 });
  assert.deepEqual(leadOf(game, { exact: exact(2, 2), search: { values: { 0: 4, 1: -8 } } }), exactly(1));
});

test("a turn is graded when all moves of its position are known", () => {
  const turn = { action: 1, before: { legal: [0, 1, 2] } };
  assert.equal(lostBy(turn, { 0: exactly(5), 1: exactly(2), 2: exactly(-7) }), 3);
  assert.equal(lostBy(turn, { 0: exactly(5), 1: exactly(5), 2: exactly(-7) }), 0);
  assert.equal(lostBy(turn, { 0: exactly(5), 1: exactly(2) }), undefined); // the third may be better
  assert.equal(lostBy(turn, { 0: exactly(5), 2: exactly(2) }), undefined);
  assert.equal(lostBy(turn, { 0: exactly(5), 1: { lower: 1, upper: 2 }, 2: exactly(-7) }), undefined);
  assert.equal(lostBy(turn, { 0: { lower: 5, upper: 6 }, 1: exactly(2), 2: exactly(-7) }), undefined);
  assert.equal(lostBy(turn, { 0: exactly(5), 1: exactly(2), 2: { lower: -7, upper: 5 } }), 3); // open, and no better
  assert.equal(lostBy(turn, { 0: exactly(5), 1: exactly(2), 2: { lower: -7, upper: 6 } }), undefined);
});

test("what was proved before stays proved", () => {
  const before = { lower: -2, upper: 4, isExact: false, nodes: 9, actions: { 0: { lower: -2, upper: 4 }, 1: exactly(-6) } };
  const found = { lower: -9, upper: 3, isExact: false, nodes: 1, hasEnded: true, actions: { 0: { lower: -9, upper: 3 }, 1: { lower: -9, upper: 9 }, 2: { lower: -9, upper: 9 } } };
  assert.equal(narrowed(found, undefined), found);
  assert.deepEqual(narrowed(found, before), { lower: -2, upper: 3, isExact: false, nodes: 1, hasEnded: true, actions: { 0: { lower: -2, upper: 3 }, 1: exactly(-6), 2: { lower: -9, upper: 9 } } });
  assert.equal(narrowed(found, { ...before, isExact: true }).isExact, true);
  assert.equal(narrowed({ ...found, isExact: true }, before).isExact, true);
});

// Turns, records, addresses

test("the events of a turn lead to the position after it", () => {
  for (const { name } of engine.rulesets) {
    const game = engine.newGame(name);
    for (let turns = 0; turns < 40 && !game.isOver; turns++) {
      const action = game.legal[(7 * turns) % game.legal.length];
      const before = game.copy(), { events } = timelineOf(game, action);
      game.play(action);
      const states = [...replay(before, events)];
      assert.equal(states.length, events.length);
      assert.deepEqual(states.at(-1), copied(game));
      const players = states.slice(0, -1).map(({ player }) => player);
      assert.ok(players.every((player) => player === before.player || events.some(({ kind }) => kind === "pass")));
    }
  }
});

test("dials name the catalogue's ruleset where all that are given are its own", () => {
  const leyla = engine.rulesets.find(({ name }) => name === "leyla");
  const all = Object.fromEntries(engine.dials.map(({ name }) => [name, leyla.dials[name]]));
  assert.equal(rulesetOf(engine, "leyla", undefined), leyla);
  assert.equal(rulesetOf(engine, "leyla", {}), leyla);
  assert.equal(rulesetOf(engine, "leyla", { row_width: leyla.dials.row_width }), leyla);
  assert.equal(rulesetOf(engine, "leyla", all), leyla);
  for (const dials of [{ row_width: 7 }, { ...all, row_width: 7 }]) assert.throws(() => rulesetOf(engine, "leyla", dials), /leyla/);
  const own = rulesetOf(engine, "mine", { row_width: 4 }, { title: "Mine" });
  assert.deepEqual([own.name, own.rowWidth, own.title], ["mine", 4, "Mine"]);
  for (const name of ["mine", "leyla"])
    for (const dial of ["colour", "title"]) assert.throws(() => rulesetOf(engine, name, { [dial]: 4 }), new RegExp(dial));
  assert.throws(() => rulesetOf(engine, "my game", { row_width: 4 }), /my game/);
});

test("an address says the view, the position and the dials", () => {
  assert.deepEqual(readAddress(""), { view: "", rest: "", dials: null });
  assert.deepEqual(readAddress("#learn/layli/3"), { view: "learn", rest: "layli/3", dials: null });
  assert.deepEqual(readAddress("#play/a+1/2+S;row_width=4;captures_last=no"), { view: "play", rest: "a 1/2 S", dials: { row_width: 4, captures_last: false } });
  assert.equal(readAddress("#play/%E0%A4%A").rest, "%E0%A4%A");
  assert.equal(addressOf("play", LATE, false), "#play/layli_goobalay+0,3,0,0,0,2/1,0,2,0,0,1+19-20+S");
  const own = engine.newGame(engine.ownRuleset({ name: "mine", row_width: 3 }));
  const { rest, dials } = readAddress(addressOf("study", own, true));
  assert.equal(rest, own.text);
  assert.deepEqual(dials, Object.fromEntries(engine.dials.map(({ name }) => [name, own.ruleset.dials[name]])));
  for (const [value, text] of [[true, "d=yes"], [false, "d=no"], [12, "d=12"], ["weg", "d=weg"]]) {
    assert.equal(writeDial("d", value), text);
    assert.deepEqual(readDial(text), ["d", value]);
  }
  assert.deepEqual(readDial("d=1234"), ["d", "1234"]); // no dial is so large
  assert.deepEqual(readDial("d=999"), ["d", 999]);
  assert.deepEqual(readDial("d"), ["d", ""]);
});

test("a game line goes back, forgets what came after, and is copied", () => {
  const line = new GameLine(engine.newGame("leyla"));
  line.play(0);
  line.play(line.game.legal[0]);
  const text = line.text, other = line.copy();
  line.goTo(-1);
  assert.deepEqual([line.at, line.lastTurn, line.text], [0, undefined, ""]);
  assert.equal(line.game.text, line.first.text);
  line.goTo(1);
  assert.equal(line.lastTurn, line.turns[0]);
  line.play(line.game.legal.at(-1));
  assert.equal(line.turns.length, 2);
  line.goTo(99);
  assert.equal(line.at, 2);
  assert.equal(other.text, text); // the copy is as it was
  line.resigned = 1;
  assert.deepEqual([line.isOver, line.winner, line.margin], [true, 0, null]);
  line.goTo(1);
  assert.equal(line.isOver, false); // it was not resigned there
  line.goTo(2);
  const copy = line.copy();
  line.takeBack(); // the resignation
  assert.deepEqual([line.resigned, line.turns.length, copy.resigned], [null, 2, 1]);
  line.takeBack();
  assert.deepEqual([line.turns.length, line.at], [1, 1]);
  line.takeBack();
  line.takeBack();
  assert.deepEqual([line.turns.length, line.at], [0, 0]);
  line.resigned = 0;
  line.play(1);
  assert.equal(line.resigned, null); // who plays on has not resigned
  assert.throws(() => line.play(99));
  assert.equal(line.turns.length, 1);
});

test("a record keeps where one stands out of it, and the notes in it", () => {
  const line = new GameLine(engine.newGame("leyla"), 2);
  for (let turns = 0; turns < 23 && !line.isOver; turns++) line.play(line.game.legal[0]).note = turns === 1 ? "a } note" : undefined;
  const whole = writeRecord(line, { south: "a", north: "b" });
  line.goTo(2);
  assert.equal(writeRecord(line, { south: "a", north: "b" }), whole);
  assert.equal(line.at, 2);
  const { line: again, headers } = readRecord(engine, whole);
  assert.deepEqual([headers.South, headers.Rounds, again.turns[1].note, again.at], ["a", "2", "a } note", line.turns.length]);
  assert.equal(writeRecord(again, { south: "a", north: "b" }), whole);
});

test("a board lies within its picture, lying and upright", () => {
  for (const { name } of engine.rulesets)
    for (const Kind of [Layout, UprightLayout]) {
      const { shapes, width, height } = describe(new Kind(engine.ruleset(name)), engine.newGame(name), {});
      const boxes = shapes.filter(({ kind }) => kind === "box"), discs = shapes.filter(({ kind }) => kind === "disc");
      assert.ok(boxes.length && discs.length > 48);
      for (const box of boxes) assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${name} ${Kind.name} ${JSON.stringify(box)}`);
      for (const { x, y, r } of discs) assert.ok(x - r >= 0 && y - r >= 0 && x + r <= width && y + r <= height, `${name} ${Kind.name}`);
      const board = boxes.reduce((one, other) => (one.width * one.height >= other.width * other.height ? one : other));
      assert.ok(Math.abs(board.x + board.width / 2 - width / 2) < 1, `${name} ${Kind.name}`); // in the middle
    }
});

test("what is written on an upright board lies where it belongs", () => {
  for (const { name } of engine.rulesets) {
    const ruleset = engine.ruleset(name), layout = new UprightLayout(ruleset), { board } = layout;
    assert.equal(board.y + board.height, layout.height - board.y); // as much room below as above
    for (const player of [0, 1]) {
      const tray = layout.tray(player);
      assert.ok(tray.y >= board.y && tray.y + tray.height <= board.y + board.height);
      const away = (hole) => Math.abs(tray.y + tray.height / 2 - layout.hole(hole)[1]);
      assert.ok(away(ruleset.rowWidth * (player + 1) - 1) < away(ruleset.rowWidth * player)); // at the end of their row
      const [nameX, nameY] = layout.trayName(player), [numberX, numberY] = layout.trayNumber(player);
      assert.ok(nameX > tray.x && nameX === numberX && tray.y < nameY - 10 && nameY + 20 < numberY && numberY < tray.y + tray.height);
      for (let place = 0; place < 48; place++) {
        const [x, y] = layout.traySeed(player, place);
        assert.ok(x > tray.x && x < tray.x + tray.width && y > tray.y && y < tray.y + tray.height);
      }
    }
    for (let hole = 0; hole < 2 * ruleset.rowWidth; hole++) {
      const [x, y] = layout.hole(hole), isLeft = x < layout.width / 2;
      const sides = [layout.number(hole), layout.label(hole)];
      for (const [sideX, sideY] of sides) assert.ok((isLeft ? sideX < x : sideX > x) && Math.abs(sideX - x) > 38 && sideX > 0 && sideX < layout.width && Math.abs(sideY - y) < 46);
      assert.ok(Math.abs(sides[0][1] - sides[1][1]) > 16); // one below the other
      const [valueX, valueY] = layout.value(hole);
      assert.ok((isLeft ? valueX > x : valueX < x) && Math.abs(valueX - x) < 46 && Math.abs(valueY - y) < 46);
      const [, otherY] = layout.value(ruleset.numHoles - 1 - hole);
      assert.ok(Math.abs(valueY - otherY) >= 28); // in a match, a player can own both holes, and both badges are shown
      assert.deepEqual([0, 1].map((player) => layout.strip(hole, player).length), [1, 2]); // one bar for South, two for North
      for (const player of [0, 1])
        for (const strip of layout.strip(hole, player)) {
          assert.ok(strip.x > board.x && strip.x + strip.width < board.x + board.width && strip.y > y - 46 && strip.y + strip.height < y + 46);
          assert.ok(isLeft ? strip.x - board.x < 10 : board.x + board.width - strip.x - strip.width < 10);
          assert.equal(strip.width, 5);
        }
    }
  }
});

test("the word of an owned hole on an upright board touches neither its hole nor its strip", () => {
  const leyla = engine.ruleset("leyla"), layout = new UprightLayout(leyla);
  const game = engine.setUp(leyla, { seeds: Array(12).fill(4), owner: Array.from({ length: 12 }, (_, hole) => ({ 0: 0, 11: 0, 1: 1, 10: 1 })[hole] ?? -1) });
  const { shapes } = describe(layout, game, {});
  for (const hole of [0, 1, 10, 11]) {
    const label = shapes.filter(({ name }) => name === `label-${hole}`), [word] = label, [, { points }] = label;
    const half = (word.text.length * word.size * 0.56) / 2, ends = points.map(([x]) => x);
    const [left, right] = [Math.min(word.x - half, ...ends), Math.max(word.x + half, ...ends)];
    const x = layout.hole(hole)[0], [strip] = layout.strip(hole, 0), isLeft = x < layout.width / 2;
    const [least, most] = isLeft ? [strip.x + strip.width, x - 38] : [x + 38, strip.x];
    assert.ok(left > least + 1.9 && right < most - 1.9, `${hole}: ${[least, left, right, most]}`);
  }
});

test("an arrow points from hole to hole in every direction", () => {
  const game = engine.newGame("leyla");
  for (const layout of [new Layout(game.ruleset), new UprightLayout(game.ruleset)])
    for (const [start, end] of [[0, 3], [3, 0], [0, 11], [11, 0], [2, 7], [7, 2], [1, 6], [6, 1]]) {
      const arrows = describe(layout, game, { arrows: [[start, end]] }).shapes.filter(({ name }) => name === "arrow");
      const [rim, , shaft, { points: [tip, left, right] }] = arrows;
      assert.deepEqual([arrows.length, rim.points], [4, shaft.points]);
      const [x0, y0] = layout.hole(start), [x1, y1] = layout.hole(end), length = Math.hypot(x1 - x0, y1 - y0);
      const along = ([x, y]) => ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length;
      const beside = ([x, y]) => ((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) / length;
      const near = (found, wanted) => found.forEach((value, n) => assert.ok(Math.abs(value - wanted[n]) < 1e-6, `${found} ${wanted}`));
      near([...shaft.points, tip].flatMap((point) => [along(point), beside(point)]), [10, 0, length - 22, 0, length - 6, 0]);
      near([left, right].map(along), [length - 22, length - 22]);
      near([beside(left), beside(right)].sort((a, b) => a - b), [-8, 8]);
    }
});

test("a turned board has North's row below, and every hole where the opposite one of the other side was", () => {
  for (const name of ["layli_goobalay", "leyla", "layli_goobalay_long"]) for (const Kind of [Layout, UprightLayout]) {
    const ruleset = engine.ruleset(name), usual = new Kind(ruleset), turned = new Kind(ruleset, true);
    for (let hole = 0; hole < ruleset.numHoles; hole++) {
      assert.deepEqual(turned.hole(hole), usual.hole((hole + ruleset.rowWidth) % ruleset.numHoles));
      assert.equal(turned.outward(hole), -usual.outward(hole));
    }
    for (const player of [0, 1]) assert.deepEqual(turned.tray(player), usual.tray(1 - player));
  }
});

test("an address keeps any name of a ruleset", async () => {
  const { lineOf, lineFromText } = await at("share.js");
  for (const name of ["a+b", "a;b", "50%", "a%41", "a#b", "a/b", "名前", "a=b;turns=S1"]) {
    const ruleset = engine.ownRuleset({ name, row_width: 3 }), game = engine.newGame(ruleset);
    const { hash } = new URL(addressOf("study", game, true), "http://here/");
    assert.equal(lineOf(engine, readAddress(hash)).game.text, game.text);
    assert.equal(lineFromText(engine, game.text, ruleset).game.text, game.text);
  }
});
