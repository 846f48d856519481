// The engine in JavaScript: limits, messages, memory and searches: FOLDER=mancala_env/web node --test engine.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { at, engine, read, readJson } from "../support/page_modules.mjs";

const { Engine, InvalidInput, Search, wordsOf } = await at("engine.js");
const { Book } = await at("book.js");
const description = readJson("mancala.json");
const newEngine = () => Engine.load(read("mancala.wasm"), description);
const bytesNow = (one) => one.kernels.uint32(0, 1).buffer.byteLength;
const LATE = "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S";
const HARD = "layli_goobalay 1,1,9,8,1,3/3,5,9,1,1,6 0-0 S";
const refusal = (act) => {
  try {
    act();
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
  return "";
};

// Rulesets

test("a ruleset has the rule options and words of its description", () => {
  assert.equal(engine.rulesets.length, description.rulesets.length);
  for (const [n, dials] of description.rulesets.entries()) {
    const ruleset = engine.rulesets[n];
    assert.equal(engine.ruleset(dials.name), ruleset);
    assert.deepEqual([ruleset.name, ruleset.title, ruleset.region, ruleset.source], [dials.name, dials.title, dials.region, dials.source]);
    assert.deepEqual([ruleset.rowWidth, ruleset.numHoles, ruleset.totalSeeds], [dials.row_width, 2 * dials.row_width, 2 * dials.row_width * dials.seeds_per_hole]);
    const west = Array.from({ length: dials.row_width }, (_, hole) => hole), east = west.map((hole) => ruleset.numHoles - 1 - hole);
    assert.deepEqual(ruleset.rows, dials.direction === "clockwise" ? [east.reverse(), west.reverse()] : [east, west]);
  }
  assert.ok(engine.rulesets.some(({ isClockwise }) => isClockwise) && engine.rulesets.some(({ isClockwise }) => !isClockwise));
});

test("an unknown ruleset is named in a short message, which suggests a similar one", () => {
  const similar = { chess: null, le: null, "": null, gabata: "gabata_i", layla: "layli_goobalay", layli_gobale: "layli_goobalay", ludii_leyl: "ludii_leyla" };
  for (const [name, suggested] of Object.entries(similar)) {
    const message = refusal(() => engine.ruleset(name));
    assert.ok(message.includes(`"${name}"`) && message.length < 80, message);
    assert.deepEqual(engine.rulesets.filter((ruleset) => message.includes(`"${ruleset.name}"?`)).map((ruleset) => ruleset.name), suggested ? [suggested] : []);
  }
});

test("rule options are refused beyond their limits", () => {
  for (const { name, choices, least, most } of engine.dials) {
    const refused = (value) => refusal(() => engine.ownRuleset({ [name]: value })).startsWith(`${name} must be`);
    if (choices) {
      for (const choice of choices) assert.equal(refused(choice), false, `${name} ${choice}`);
      for (const value of ["odd", null, 1]) assert.equal(refused(value), true, `${name} ${value}`);
      const message = refusal(() => engine.ownRuleset({ [name]: "odd" }));
      assert.ok(message.includes('"odd"') && (typeof choices[0] === "boolean" ? message.includes("True or False") : choices.every((choice) => message.includes(`"${choice}"`))));
    } else {
      const other = name === "row_width" ? "seeds_per_hole" : "row_width"; // small, so that the seeds fit
      const refusedAlone = (value) => refusal(() => engine.ownRuleset({ [name]: value, [other]: 2 })).startsWith(`${name} must be`);
      assert.deepEqual([least - 1, least, most, most + 1, 4.5, "4"].map(refusedAlone), [true, false, false, true, true, true]);
    }
  }
  assert.equal(engine.ownRuleset({ row_width: 2, seeds_per_hole: 63 }).totalSeeds, 252);
  assert.match(refusal(() => engine.ownRuleset({ row_width: 3, seeds_per_hole: 43 })), /at most 42 .*43/);
  assert.equal(engine.ownRuleset({ row_width: 3, seeds_per_hole: 42 }).totalSeeds, 252);
  for (const { dial, values, needs, allowed, why } of description.conditions) {
    const wrong = engine.dials.find(({ name }) => name === needs).choices?.find((choice) => !allowed.includes(choice)) ?? 3;
    const fitting = Object.fromEntries(description.conditions.filter((one) => values.includes(one.values[0])).map((one) => [one.needs, one.allowed[0]]));
    assert.equal(refusal(() => engine.ownRuleset({ ...fitting, [dial]: values[0], [needs]: wrong })), why);
  }
});

// Positions

test("each part of a position has limits", () => {
  const leyla = engine.ruleset("leyla"), free = Array(12).fill(-1), rows = [...Array(6).fill(0), ...Array(6).fill(1)];
  const base = { seeds: Array(12).fill(4) };
  const said = (name, value, index) => {
    const place = index === undefined ? name : `${name}[${index}]`;
    const part = index === undefined ? value : ({ seeds: base.seeds, owner: free, territory: rows, stores: [0, 0], debts: [0, 0] })[name].with(index, value);
    return refusal(() => engine.setUp(leyla, { ...base, [name]: part })).startsWith(`${place} must be`);
  };
  const limits = { seeds: [0, 255, 11], owner: [-1, 1, 0], territory: [0, 1, 3], stores: [0, 255, 1], debts: [0, 255, 0], player: [0, 1], stall: [0, 50], round: [1, 2 ** 31 - 1], starter: [0, 1] };
  for (const [name, [least, most, index]] of Object.entries(limits))
    assert.deepEqual([least - 1, least, most, most + 1, 0.5].map((value) => said(name, value, index)), [true, false, false, true, true], name);
  for (const [name, short] of [["seeds", 11], ["owner", 13], ["territory", 1], ["stores", 1], ["debts", 3]])
    assert.match(refusal(() => engine.setUp(leyla, { ...base, [name]: Array(short).fill(0) })), new RegExp(`^${name} must be ${name === "stores" || name === "debts" ? 2 : 12} `));
  assert.match(refusal(() => engine.setUp(leyla, { seeds: "444444444444" })), /^seeds must be/);
  assert.match(refusal(() => engine.setUp(leyla, { seeds: Array(12).fill(5) })), /more seeds/);
});

test("what is left out of a position is the start of the first round", () => {
  const start = engine.newGame("leyla"), made = engine.setUp("leyla", { seeds: Array(12).fill(4) });
  assert.ok(made.equals(start));
  assert.equal(made.text, "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S");
  assert.deepEqual([made.player, made.stall, made.round, made.starter, made.end, made.isOver], [0, 0, 1, 0, "", false]);
  assert.deepEqual([made.stores, made.debts, made.counts], [[0, 0], [0, 0], [24, 24]]);
  const north = engine.newGame("leyla", { starter: 1 });
  assert.deepEqual([north.player, north.starter, north.text], [1, 1, "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 N starter=N"]);
});

test("texts are read and written in all their parts", () => {
  for (const text of [
    LATE, "leyla 4,0,4,4s,4,4/4,4,4n,4,4,4 0-0 N".replace("4s", "4").replace("4n", "4"), "layli_goobalay 0,0,0,1,2s,0/0,2s,0,0,0,0 23-20 S",
    "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S stall=50", "leyla 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S round=2 starter=N", "layli_goobalay 4,4,4,4,4,4/4,4,4,4,4,4 0-0 S end=endless",
    "gabata_i 0,0,1,0,0,2/3,0,0,1,0,0 20-21 S round=3 territory=SSSSSSSSNNNN",
  ]) assert.equal(engine.fromText(text).text, text);
  assert.equal(engine.fromText(`\ufeff\t${LATE.replaceAll(" ", "\n ")} `).text, LATE);
  assert.deepEqual(wordsOf(" a\tb\r\nc\u00a0d "), ["a", "b", "c\u00a0d"]);
  assert.deepEqual(wordsOf(""), []);
  const own = engine.ownRuleset({ name: "mine", row_width: 2 });
  assert.equal(engine.fromText("mine 4,4/4,4 0-0 S", own).ruleset, own);
  assert.match(refusal(() => engine.fromText(LATE, own)), /layli_goobalay.*mine/);
});

test("two games are equal if rules and state are", () => {
  const game = engine.newGame("leyla"), copy = game.copy();
  assert.ok(game.equals(copy) && game !== copy);
  copy.play(0);
  assert.ok(!game.equals(copy) && game.equals(engine.newGame("leyla")));
  assert.ok(!game.equals(engine.newGame("layli_goobalay")));
  assert.ok(game.equals(engine.newGame(engine.ownRuleset({ ...game.ruleset.dials, name: "other" }))));
  const before = game.text, after = game.after(2);
  assert.deepEqual([game.text, after.player], [before, 1]);
});

test("why an action is illegal is said, and nothing changes", () => {
  const game = engine.fromText("layli_goobalay 0,3,0,1s,0,2/1,0,1s,0,0,1 19-20 S"), text = game.text;
  assert.deepEqual(game.legal.map((action) => game.whyIllegal(action)), game.legal.map(() => ""));
  for (const [action, why] of [[0, "it is empty"], [3, "South owns it"], [6, "it is North's"], [12, "no such hole"], [-1, "no such hole"], [1.5, "no such hole"]]) {
    assert.ok(game.whyIllegal(action).includes(why), `${action}: ${game.whyIllegal(action)}`);
    const message = refusal(() => game.play(action));
    assert.ok(message.includes(`hole ${action}: `) && message.includes(why) && message.startsWith("South"), message);
    assert.ok(message.endsWith(game.legal.join(", ")));
  }
  assert.equal(game.text, text);
  const north = engine.fromText(text.replace(/S$/, "N"));
  assert.match(north.whyIllegal(6), /South's/);
  assert.match(refusal(() => north.play(1)), /^North cannot sow hole 1: /);
  const rightmost = engine.newGame(engine.rulesets.find(({ dials }) => dials.opening === "rightmost"));
  const other = [0, 1, 2].find((action) => !rightmost.legal.includes(action));
  assert.match(rightmost.whyIllegal(other), /rightmost/);
  const over = engine.fromText("leyla 0,0,0,0,0,0/0,0,0,0,0,0 28-20 S");
  assert.deepEqual([over.isOver, over.end, over.legal, over.counts, over.matchMargin], [true, "stuck", [], [28, 20], 8]);
  assert.match(over.whyIllegal(0), /over \(stuck\)/);
  assert.equal(refusal(() => over.play(0)), over.whyIllegal(0));
  for (const kind of ["random", "greedy", "minimax", "mcts"]) assert.match(refusal(() => engine[kind](over)), /over \(stuck\)/);
});

test("the next round needs the end of a round with all seeds", () => {
  const game = engine.newGame("layli_goobalay");
  assert.match(refusal(() => game.nextRound()), /round 1 is not over/);
  const few = engine.fromText("layli_goobalay 0,0,0,0,0,0/0,0,0,0,0,0 20-20 S");
  assert.match(refusal(() => few.nextRound()), /48.*40/);
  const over = engine.fromText("layli_goobalay 0,0,0,0,0,0/0,0,0,0,0,0 28-20 S"), text = over.text, next = over.nextRound();
  assert.deepEqual([next.round, next.counts[0] + next.counts[1], over.text], [2, 48, text]);
  assert.equal(engine.fromText("layli_goobalay 0,0,0,0,0,0/0,0,0,0,0,0 48-0 S").nextRound(), null);
  const single = engine.ownRuleset({ match: "single" });
  assert.equal(engine.setUp(single, { seeds: Array(12).fill(0), stores: [28, 20] }).nextRound(), null);
});

test("a turn has its player, laps, captures and new owned holes", () => {
  const own = engine.fromText("leyla 1,0,0,2,6,2/1,3,0,0,5,1 0-0 S").play(5);
  assert.deepEqual([own.player, own.action, own.newOwned, own.endless], [0, 5, [4, 7], false]);
  const game = engine.fromText("layli_goobalay 2,0,0,1,0,3/1,4,0,0,5,1 0-0 S"), turn = game.play(3);
  assert.deepEqual([turn.captured, turn.laps, turn.newOwned, game.stores, game.player], [5, 1, [], [5, 0], 1]);
  assert.equal(engine.fromText("layli_goobalay 2,0,1,0,0,0/2,0,0,1,0,0 0-0 S").play(0).laps, 2);
});

test("the events of a turn name their holes, and an end its reason", () => {
  const game = engine.fromText("layli_goobalay 0,0,0,0,1,0/0,0,0,0,0,0 31-16 S"), text = game.text, events = game.timeline(4);
  assert.deepEqual(events[0], { kind: "lift", player: 0, hole: 4, seeds: 1, reason: "" });
  assert.deepEqual([events.at(-1).kind, events.at(-1).reason, events.at(-1).hole, game.text], ["end", "stuck", -1, text]);
  assert.ok(events.every(({ kind, reason }) => (kind === "end") === (reason !== "")));
  assert.match(refusal(() => game.timeline(0)), /action 0 is not legal; .*4/);
  const long = engine.newGame("layli_goobalay_long"), most = long.legal.map((action) => long.timeline(action).length);
  assert.ok(most.every((count) => count > 4));
});

test("an endless turn has more events than there is room for at first", () => {
  const game = engine.fromText("ludii_leyla_gobale_gabradarre 0,2,1,2,1,0/3,2,4,1,15,1 14-14 N stall=1"), events = game.timeline(1), turn = game.copy().play(1);
  assert.ok(events.length > 6000);
  assert.deepEqual([events.filter(({ kind }) => kind === "lift").length, turn.endless], [turn.laps, true]);
  assert.deepEqual([events[0].kind, events[0].hole, events.at(-1).kind, events.at(-1).reason], ["lift", game.holeOf(1), "end", "endless"]);
});

// Random numbers

test("a seed determines random play, and no seed draws one", () => {
  const played = (seed) => {
    const game = engine.newGame("leyla"), state = engine.playRandom(game, seed, 100);
    return [game.text, state];
  };
  assert.deepEqual(played(1n), played(1n));
  assert.notDeepEqual(played(1n), played(2n));
  assert.notDeepEqual(played(1n), played(1n + (1n << 40n))); // all 64 bits count
  assert.ok(played(1n)[1] > 1n << 32n);
  const game = engine.newGame("layli_goobalay_long"), drawn = (kind, ...seed) => new Set(Array.from({ length: 60 }, () => engine[kind](game, ...seed)));
  assert.equal(drawn("random", 5).size, 1);
  assert.ok(drawn("random").size > 6);
  const first = (seed) => engine.random(game, seed);
  assert.equal(first(7), first(7n));
  assert.ok(new Set(Array.from({ length: 60 }, (_, seed) => first(seed))).size > 6);
});

// Searches

test("minimax finds what the solver proves", () => {
  const game = engine.fromText(LATE), solver = engine.solver(game.ruleset), study = solver.study(game);
  assert.equal(study.goOn(Infinity), true);
  const { bounds, lower, upper, best, isExact, action } = study.result;
  assert.deepEqual([isExact, lower, action, Object.keys(bounds).map(Number)], [true, upper, null, game.legal]);
  assert.deepEqual(best, game.legal.filter((one) => bounds[one][0] === lower));
  const search = engine.minimax(game, { values: true, seed: 1 });
  assert.equal(search.goOn(Infinity), true);
  const lead = game.stores[0] - game.stores[1]; // a value of minimax counts the stores
  assert.deepEqual(search.result.values, Object.fromEntries(Object.entries(bounds).map(([one, [value]]) => [one, value + lead])));
  assert.deepEqual([search.result.value, best.includes(search.result.action)], [lower + lead, true]);
  assert.ok(search.result.depth > 1 && search.result.nodes > 0);
  const plain = engine.minimax(game, { depth: 3 });
  plain.goOn(Infinity);
  assert.deepEqual([plain.result.depth, plain.result.values], [3, null]);
  solver.close();
});

test("a search has a depth from 1 to 99, and simulations from 1 to ten million", () => {
  const game = engine.fromText(LATE);
  const refused = (kind, options) => refusal(() => engine[kind](game, options).close()).includes("whole number");
  assert.deepEqual([0, 1, 99, 100].map((depth) => refused("minimax", { depth })), [true, false, false, true]);
  assert.deepEqual([0, 1, 10_000_000, 10_000_001].map((simulations) => refused("mcts", { simulations, megabytes: 1 })), [true, false, false, true]);
});

test("tree search counts its simulations, and its values are rewards", () => {
  const game = engine.fromText(LATE);
  const run = (options) => {
    const search = engine.mcts(game, options);
    search.goOn(Infinity);
    search.close();
    return search.result;
  };
  const result = run({ simulations: 3000, seed: 3 });
  assert.deepEqual([result.simulations, Object.keys(result.visits).map(Number)], [3000, game.legal]);
  const visits = Object.values(result.visits);
  assert.ok(visits.reduce((sum, one) => sum + one) >= 2999 - 1 && Math.max(...visits) === result.visits[result.action]);
  assert.ok(Object.values(result.values).every((value) => value >= -1 && value <= 1));
  assert.deepEqual(run({ simulations: 3000, seed: 3 }), result); // in memory that was used before
  const start = (seed) => {
    const search = engine.mcts(engine.newGame("leyla"), { simulations: 300, seed });
    search.goOn(Infinity);
    search.close();
    return search.result;
  };
  assert.deepEqual(start(3), start(3));
  assert.notDeepEqual(start(3), start(4));
  assert.equal(run({ simulations: 5000, megabytes: 0.001, seed: 3 }).simulations, 5000); // the tree stops growing
});

test("a network's search needs a network of the same rules", () => {
  const leyla = engine.ruleset("leyla"), bytes = read("networks/leyla.f32"), network = engine.valueNetwork(bytes, leyla);
  assert.equal(network.ruleset, leyla);
  const game = engine.newGame("leyla"), value = (given) => {
    const search = engine.minimax(game, { depth: 2, seed: 1, values: true, network: given });
    search.goOn(Infinity);
    return search.result.values;
  };
  const values = Object.values(value(network));
  assert.ok(values.some((one) => !Number.isInteger(one)) && values.every((one) => Math.abs(one) < 48));
  assert.deepEqual(value(engine.valueNetwork(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), leyla)), value(network));
  assert.match(refusal(() => engine.minimax(engine.newGame("layli_goobalay"), { network })), /leyla.*layli_goobalay/);
});

test("a value network is checked", () => {
  const leyla = engine.ruleset("leyla"), bytes = new Uint8Array(read("networks/leyla.f32"));
  assert.match(refusal(() => engine.valueNetwork(bytes)), /ruleset/);
  assert.match(refusal(() => engine.valueNetwork(bytes.subarray(4), leyla)), new RegExp(`${bytes.length} bytes, not ${bytes.length - 4}`));
  assert.match(refusal(() => engine.valueNetwork(bytes, engine.ruleset("layli_goobalay_long"))), new RegExp(`not ${bytes.length}`));
  const { largest } = description.network;
  const withNumber = (number) => {
    const numbers = new Float32Array(bytes.slice().buffer);
    numbers[5] = number;
    return refusal(() => engine.valueNetwork(numbers.buffer, leyla));
  };
  assert.deepEqual([largest, -largest].map(withNumber), ["", ""]);
  for (const number of [largest + 1, -largest - 1, NaN, Infinity]) assert.match(withNumber(number), new RegExp(`${largest}`));
});

/** A safetensors file of a grown network, with its numbers as in the file of plain numbers. */
function grown({ metadata = {}, less = [], more = {}, type = "F32", longer = 0 } = {}) {
  const { codes, units, version } = description.network, leyla = engine.ruleset("leyla");
  const plain = read("networks/leyla.f32"), sizes = { embeddings: 12 * codes * units, unit_biases: units, unit_weights: units, bias: 1 };
  const header = { __metadata__: { ruleset: JSON.stringify(leyla.dials), network: JSON.stringify({ version }), ...metadata } };
  let at = 0;
  for (const [name, size] of Object.entries(sizes)) {
    if (!less.includes(name)) header[name] = { dtype: type, shape: [size], data_offsets: [at, at + 4 * size + longer] };
    at += 4 * size;
  }
  const text = Buffer.from(JSON.stringify({ ...header, ...more })), length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return new Uint8Array(Buffer.concat([length, text, plain]));
}

test("a grown network names its ruleset, and is the same network", () => {
  const network = engine.valueNetwork(grown()), game = engine.newGame("leyla");
  assert.equal(network.ruleset.name, "leyla");
  const value = (given) => {
    const search = engine.minimax(game, { depth: 3, seed: 1, values: true, network: given });
    search.goOn(Infinity);
    return search.result.values;
  };
  assert.deepEqual(value(network), value(engine.valueNetwork(read("networks/leyla.f32"), game.ruleset)));
  assert.notEqual(network.id, engine.valueNetwork(grown()).id);
  const { version } = description.network;
  assert.match(refusal(() => engine.valueNetwork(grown({ metadata: { network: JSON.stringify({ version: version + 1 }) } }))), new RegExp(`version ${version + 1}, not ${version}`));
  for (const less of ["embeddings", "unit_biases", "unit_weights", "bias"]) assert.match(refusal(() => engine.valueNetwork(grown({ less: [less] }))), /no value network/);
  assert.match(refusal(() => engine.valueNetwork(grown({ metadata: { ruleset: undefined } }))), /no value network/);
  assert.match(refusal(() => engine.valueNetwork(grown({ type: "F16" }))), /embeddings/);
  assert.match(refusal(() => engine.valueNetwork(grown({ longer: 4 }))), /bias/); // beyond the end of the file
  const more = (first, last) => refusal(() => engine.valueNetwork(grown({ more: { notes: { dtype: "F32", shape: [(last - first) / 4], data_offsets: [first, last] } } })));
  assert.equal(more(4, 4), ""); // an array of no numbers
  assert.match(more(8, 4), /notes/); // it ends before it begins
});

test("a study is replaced by the next one, and a solver is for its rules", () => {
  const game = engine.fromText(HARD), solver = engine.solver("layli_goobalay", { megabytes: 1 });
  const first = solver.study(game);
  assert.deepEqual([first.result.isExact, Object.keys(first.result.bounds).map(Number)], [false, game.legal]);
  first.goOn(30);
  assert.ok(first.result.nodes > 0 && first.result.lower < first.result.upper);
  const { bounds, best } = first.result, order = (a, b) => bounds[b][0] - bounds[a][0] || bounds[b][1] - bounds[a][1];
  const top = [...game.legal].sort(order)[0];
  assert.deepEqual(best, game.legal.filter((action) => bounds[action].join() === bounds[top].join()));
  const second = solver.study(engine.fromText(LATE));
  assert.match(refusal(() => first.goOn(30)), /replaced/);
  assert.equal(second.goOn(Infinity), true);
  assert.ok(second.result.nodes > 0 && second.result.nodes < 1e7);
  const other = solver.study(engine.fromText(LATE), { all: false });
  assert.equal(other.goOn(Infinity), true);
  assert.deepEqual([other.result.lower, other.result.best], [second.result.lower, second.result.best]);
  assert.match(refusal(() => solver.study(engine.newGame("leyla"))), /layli_goobalay, not for leyla/);
  const last = solver.study(game);
  solver.close();
  assert.match(refusal(() => last.goOn(1)), /replaced/);
});

test("the best actions of a study are those with the highest bounds, at any time", () => {
  const solver = engine.solver("layli_goobalay", { megabytes: 1 });
  const differing = [0, 0]; // how often only the lower bounds, or only the upper ones, set the best apart
  for (let seed = 0; seed < 40; seed++) {
    const game = engine.newGame("layli_goobalay");
    engine.playRandom(game, BigInt(seed), 15 + seed);
    if (game.isOver) continue;
    const study = solver.study(game);
    for (let piece = 0; piece < 40 && !study.isDone; piece++) {
      const { bounds, best, lower } = study.result, order = (a, b) => bounds[b][0] - bounds[a][0] || bounds[b][1] - bounds[a][1];
      const [top] = [...game.legal].sort(order);
      assert.deepEqual(best, game.legal.filter((action) => bounds[action].join() === bounds[top].join()));
      assert.ok(game.legal.every((action) => bounds[action][0] <= bounds[action][1]) && lower >= bounds[top][0]);
      assert.ok(study.result.action === null || game.legal.includes(study.result.action));
      for (const end of [0, 1]) differing[end] += Number(game.legal.some((action) => bounds[action][1 - end] === bounds[top][1 - end] && bounds[action][end] < bounds[top][end] && action < top));
      study.goOn(0);
    }
  }
  assert.ok(differing[0] > 0 && differing[1] > 0, `${differing}`);
  solver.close();
});

// Opening books

test("a book knows the values of its positions, whatever is in the stores", () => {
  const ruleset = engine.ownRuleset({ row_width: 3, seeds_per_hole: 2 }), solver = engine.solver(ruleset, { megabytes: 1 });
  const solved = (game) => {
    const study = solver.study(game);
    study.goOn(Infinity);
    return { value: study.result.lower, values: Object.fromEntries(Object.entries(study.result.bounds).map(([action, [value]]) => [action, value])), best: study.result.best };
  };
  const sides = (game) => Array.from({ length: 6 }, (_, action) => [game.seeds[game.holeOf(action)], game.owner[game.holeOf(action)] < 0 ? 0 : game.owner[game.holeOf(action)] === game.player ? 1 : -1]);
  const margin = (game) => sides(game).reduce((sum, [seeds, owner]) => sum + seeds * owner, 0);
  const start = engine.newGame(ruleset), levels = [[start]], seen = new Set([JSON.stringify([start.stall, sides(start)])]);
  for (let turn = 1; turn <= 5; turn++) {
    levels.push(levels.at(-1).flatMap((game) => game.legal.map((action) => game.after(action)).filter((after) => {
      const key = JSON.stringify([after.stall, sides(after)]);
      return !after.isOver && !seen.has(key) && seen.add(key);
    })));
  }
  const games = levels.flat(), rests = games.map((game) => solved(game).value - margin(game));
  assert.ok(games.some((game) => margin(game) !== 0) && games.some((game) => game.player === 1 && game.stores[0] !== game.stores[1]));
  const line = [];
  let last = start;
  while (!last.isOver) {
    line.push(solved(last).best[0]);
    last = last.after(line.at(-1));
  }
  const book = new Book(start, { turns: 5, rests, line });
  let overs = 0;
  for (const game of games) {
    assert.equal(book.value(game), solved(game).value, game.text);
    const exact = solved(game).values, known = book.values(game);
    for (const [action, value] of Object.entries(known)) assert.equal(value, exact[action], `${game.text} ${action}`);
    overs += game.legal.filter((action) => game.after(action).isOver && action in known).length;
    if (levels.indexOf(levels.find((level) => level.includes(game))) < 5) assert.deepEqual(Object.keys(known), Object.keys(exact));
  }
  assert.ok(overs > 0);
  let game = start;
  for (const action of line) {
    assert.deepEqual([book.action(game), book.value(game)], [action, solved(game).value]);
    game = game.after(action);
  }
  assert.deepEqual([game.isOver, book.value(game), book.action(game)], [true, (game.counts[0] - game.counts[1] - game.stores[0] + game.stores[1]) * (game.player === 0 ? 1 : -1), undefined]);
  const [stored] = levels[2], other = engine.setUp(ruleset, { seeds: stored.seeds.map((seeds, hole) => (hole === stored.seeds.indexOf(Math.max(...stored.seeds)) ? seeds - 1 : seeds)), player: stored.player });
  assert.equal(book.value(other), undefined);
  assert.throws(() => new Book(start, { turns: 5, rests: rests.slice(1), line: [] }), /custom/);
  const holed = new Book(start, { turns: 1, rests: [null, ...rests.slice(1, 1 + levels[1].length)], line: [] });
  assert.deepEqual([holed.value(start), Object.keys(holed.values(start)).length], [undefined, start.legal.length]);
  solver.close();
});

// Memory

test("a solver takes the memory it is given, and gives it back", async () => {
  const fresh = await newEngine(), before = bytesNow(fresh);
  const grownBy = (megabytes) => {
    const start = bytesNow(fresh), solver = fresh.solver("leyla", { megabytes });
    const by = (bytesNow(fresh) - start) / 2 ** 20;
    return [by, solver];
  };
  const [small, one] = grownBy(16);
  const [large, two] = grownBy(64);
  assert.ok(small > 16 && small < 32 && Math.abs(large - small - 48) < 1, `${small} ${large}`);
  one.close();
  two.close();
  const most = bytesNow(fresh);
  for (let n = 0; n < 5; n++) fresh.solver("leyla", { megabytes: 64 }).close();
  const both = [fresh.solver("leyla", { megabytes: 32 }), fresh.solver("leyla", { megabytes: 32 })];
  assert.equal(bytesNow(fresh), most); // freed blocks are joined and divided
  both.forEach((solver) => solver.close());
  const [rounded, three] = grownBy(100); // down to a power of two
  assert.equal(rounded, 0);
  three.close();
  assert.ok(before < most);
  for (let n = 0; n < 20; n++) fresh.mcts(fresh.newGame("leyla"), { megabytes: 40 }).close();
  assert.equal(bytesNow(fresh), most);
  const { grow } = WebAssembly.Memory.prototype;
  WebAssembly.Memory.prototype.grow = () => { throw new RangeError("no room"); };
  assert.throws(() => fresh.solver("leyla", { megabytes: 128 }), new RegExp(` ${Math.ceil(large + 64)} MB of memory`));
  WebAssembly.Memory.prototype.grow = grow;
  fresh.solver("leyla", { megabytes: 128 }).close();
});

test("memory grows by no more than is missing", async () => {
  const fresh = await newEngine(), game = fresh.newGame("leyla");
  fresh.mcts(game, { megabytes: 8 });
  const before = bytesNow(fresh);
  fresh.mcts(game, { megabytes: 8 });
  const by = bytesNow(fresh) - before;
  assert.ok(by >= 8 * 2 ** 20 - 65536 && by <= 8 * 2 ** 20 + 2 * 65536, `${by}`);
  assert.equal(by % 65536, 0);
});

test("searches of a few rulesets keep their tables, and more take turns", async () => {
  const fresh = await newEngine();
  const search = (name, depth) => fresh.minimax(fresh.newGame(name), { depth, seed: 1 }).goOn(Infinity);
  for (let depth = 4; depth < 8; depth++) search("leyla", depth);
  const most = bytesNow(fresh);
  for (let n = 0; n < 3; n++) for (let depth = 4; depth < 8; depth++) search("layli_goobalay", depth);
  assert.ok(bytesNow(fresh) - most < 2 ** 20);
});

test("two searches at the same time have tables of their own, also after others were given back", async () => {
  const fresh = await newEngine(), six = fresh.rulesets.filter(({ rowWidth }) => rowWidth === 6);
  const names = [...new Map(six.map((ruleset) => [ruleset.rules.join(), ruleset.name])).values()];
  assert.ok(names.length >= 6);
  const begun = (one, name) => one.minimax(one.newGame(name), { depth: 8, seed: 1, values: true });
  for (const name of names.slice(0, 4)) begun(fresh, name).goOn(Infinity);
  const [first, second] = names.slice(4, 6);
  const wanted = await Promise.all([first, second].map(async (name) => {
    const search = begun(await newEngine(), name);
    search.goOn(Infinity);
    return search.result;
  }));
  const searches = [begun(fresh, first), begun(fresh, second)];
  while (!searches.every((search) => search.isDone)) searches.forEach((search) => search.goOn(0));
  assert.deepEqual(searches.map(({ result }) => result), wanted);
});


test("a tree search of very few simulations chooses a legal action", () => {
  const game = engine.newGame("leyla");
  for (const simulations of [1, 2, 3, 13]) {
    const search = engine.mcts(game, { simulations, seed: 2 });
    search.goOn(Infinity);
    assert.ok(game.legal.includes(search.result.action) && search.result.simulations === simulations);
    assert.ok(Object.values(search.result.visits).reduce((sum, one) => sum + one) >= simulations - 1);
    search.close();
  }
});

// Slices

/** Run a search whose pieces take some milliseconds per turn, on a clock of our own. */
function pieces({ perTurn, milliseconds, first = 8, most = 64, ends = Infinity }) {
  const real = performance.now, asked = [];
  let now = 0;
  performance.now = () => now;
  const search = new Search((turns) => {
    asked.push(turns);
    now += perTurn * turns;
    return asked.length >= ends ? 1 : 0;
  }, {}, { first, most });
  const isDone = search.goOn(milliseconds);
  performance.now = real;
  assert.equal(isDone, search.isDone);
  return { asked, now, isDone };
}

test("pieces of a search grow to two milliseconds, shrink, and have limits", () => {
  assert.deepEqual(pieces({ perTurn: 0.001, milliseconds: 0.5 }).asked, [8, 16, 32, 64, 64, 64, 64, 64, 64, 64]);
  assert.deepEqual(pieces({ perTurn: 1, milliseconds: 19 }).asked, [8, 2, 2, 2, 2, 2, 2]);
  assert.deepEqual(pieces({ perTurn: 10, milliseconds: 200, first: 16 }).asked, [16, 2, 1, 1]);
  assert.deepEqual(pieces({ perTurn: 100, milliseconds: 250, first: 1 }).asked, [1, 1, 1]);
  assert.deepEqual(pieces({ perTurn: 0, milliseconds: Infinity, ends: 3 }), { asked: [8, 16, 32], now: 0, isDone: true });
  assert.equal(pieces({ perTurn: 1, milliseconds: 0 }).asked.length, 1);
  assert.deepEqual(pieces({ perTurn: 1 }), pieces({ perTurn: 1, milliseconds: 20 })); // by default
});

test("a search ends when it is done, cancelled, closed or out of time", async () => {
  const searchOf = (ends) => {
    let calls = 0, closed = 0;
    const search = new Search(() => (++calls >= ends ? 1 : 0), { calls: () => calls }, { first: 1, most: 1, close: () => { closed += 1; } });
    return [search, () => [calls, closed]];
  };
  const [done] = searchOf(3);
  assert.equal(await done.run(), done.result);
  assert.deepEqual([done.isDone, done.result.calls()], [true, 3]);
  assert.equal(done.goOn(), true);
  assert.equal(done.result.calls(), 3);
  const [cancelled] = searchOf(Infinity), control = new AbortController();
  let slices = 0;
  const found = await cancelled.run({ slice: 1, signal: control.signal, onSlice: (result) => {
    assert.equal(result, cancelled.result);
    if (++slices === 3) control.abort();
  } });
  assert.deepEqual([found, slices, cancelled.isDone], [cancelled.result, 3, false]);
  const [unwanted, counts] = searchOf(Infinity);
  await unwanted.run({ signal: AbortSignal.abort() });
  assert.deepEqual(counts(), [0, 0]);
  const [short] = searchOf(Infinity), began = performance.now();
  await short.run({ milliseconds: 30, slice: 5 });
  assert.ok(performance.now() - began >= 29 && !short.isDone);
  const [closed, ends] = searchOf(Infinity);
  closed.close();
  closed.close();
  assert.deepEqual([closed.isDone, closed.goOn(), ends()], [true, true, [0, 1]]);
});

test("an engine is fetched from a folder, and a missing file is named", async () => {
  const real = globalThis.fetch;
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(String(url));
    const content = read(String(url).split("/").at(-1));
    return { ok: !String(url).includes("missing"), status: 404, statusText: "Not Found", json: async () => JSON.parse(content), arrayBuffer: async () => content };
  };
  try {
    const fetched = await Engine.fetch("http://here/page/");
    assert.deepEqual([asked.sort(), fetched.newGame("leyla").text], [["http://here/page/mancala.json", "http://here/page/mancala.wasm"], engine.newGame("leyla").text]);
    await assert.rejects(Engine.fetch("http://missing/"), /mancala\.\w+: 404 Not Found/);
  } finally {
    globalThis.fetch = real;
  }
});

test("a solver that is closed stays closed, and takes no other solver's memory", async () => {
  const fresh = await newEngine();
  const [first, position] = [fresh.solver("leyla", { megabytes: 1 }), fresh.fromText("leyla 0,7n,4,0,4,2/0,1,6,4,7n,7 6-0 N")];
  first.close();
  const second = fresh.solver("leyla", { megabytes: 1 });
  first.close();
  const third = fresh.solver("leyla", { megabytes: 1 }), search = second.study(position);
  third.study(fresh.fromText("leyla 1,0,0,0,0,2/0,1,0,0,0,0 24-20 S"));
  while (!search.goOn(100));
  assert.deepEqual([search.result.lower, search.result.upper], [22, 22]);
  assert.throws(() => first.study(position), /this solver is closed/);
});

test("the sizes of tables and trees, and who begins, are checked", () => {
  const game = engine.newGame("leyla");
  for (const megabytes of [NaN, 0, -1, 1025, 2048, Infinity, "64"]) {
    assert.throws(() => engine.solver("leyla", { megabytes }), /megabytes must be/);
    assert.throws(() => engine.mcts(game, { megabytes }), /megabytes must be/);
  }
  for (const starter of [2, -1, 0.5, "north"]) assert.throws(() => engine.newGame("leyla", { starter }), /starter must be a whole number from 0 to 1/);
});

test("a search whose table was given to later ones says so", async () => {
  const one = await newEngine(), game = one.newGame("leyla"), search = one.minimax(game, { depth: 10, seed: 1 });
  search.goOn(0);
  for (const depth of [1, 2, 3, 4]) one.minimax(game, { depth });
  assert.match(refusal(() => search.goOn(Infinity)), /table/);
  const used = one.minimax(game, { depth: 2 });
  for (const depth of [5, 6, 7]) one.minimax(game, { depth });
  used.goOn(Infinity); // the table that was used last is kept
});

test("a finished game is not played at random", () => {
  assert.match(refusal(() => engine.playRandom(engine.fromText("layli_goobalay 0,0,0,0,0,0/0,0,0,0,0,0 24-24 S"), 1n, 1)), /over/);
});
