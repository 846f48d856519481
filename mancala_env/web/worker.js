/**
 * Everything that takes time: agents that choose, exact values, searches, the book. searches.js asks.
 *
 * One task runs at a time; between slices of it messages are read, so that it can be cancelled.
 */

import { Book } from "./book.js";
import { Engine } from "./engine.js";
import { networkOf } from "./networks.js";

const SLICE = 25; // milliseconds between two looks at the messages
const TELL_EVERY = 120; // milliseconds between two reports
const SOLVER_MEGABYTES = 128;

const ready = Engine.fetch();
const books = new Map();
const cancelled = new Map();
let last = Promise.resolve();

self.addEventListener("message", ({ data }) => {
  const { id, cancel } = data;
  if (cancel) return cancelled.get(id)?.abort();
  const controller = new AbortController();
  cancelled.set(id, controller);
  last = last.then(() => run(data, controller.signal)).finally(() => cancelled.delete(id));
});

async function run({ id, task, options, position }, signal) {
  if (signal.aborted) return;
  let told = 0;
  const tell = (progress) => {
    if (performance.now() - told < TELL_EVERY) return;
    told = performance.now();
    self.postMessage({ id, progress: progress() });
  };
  try {
    const engine = await ready;
    const game = position && gameOf(engine, position);
    self.postMessage({ id, result: await TASKS[task](engine, game, options, signal, tell) });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
}

function gameOf(engine, { dials, text }) {
  const known = engine.rulesets.find((ruleset) => ruleset.name === dials.name);
  return engine.fromText(text, known ?? engine.ownRuleset(dials));
}

const TASKS = {
  /** The action of an agent: {kind, strength, network}. */
  choose: async (engine, game, { kind, strength, network }, signal) => ({ action: await CHOOSE[kind](engine, game, strength, signal, network) }),

  /** Exact values, with bounds until they are proved: {lower, upper, actions, nodes, isExact, hasEnded}. */
  values: async (engine, game, { milliseconds }, signal, tell) => {
    const search = engine.solve(game, { values: true, megabytes: SOLVER_MEGABYTES });
    try {
      await search.run({ milliseconds, slice: SLICE, signal, onSlice: () => tell(() => boundsOf(search, false)) });
      return boundsOf(search, true);
    } finally {
      search.close();
    }
  },

  /** Values of a search that goes deeper until its time is over: {depth, nodes, values}. */
  minimax: async (engine, game, { milliseconds, network }, signal, tell) => {
    const found = network ? await networkOf(engine, game.ruleset, network === "shipped" ? null : network) : undefined;
    if (network && !found) return { depth: 0, nodes: 0, values: {} };
    const search = engine.minimax(game, { values: true, network: found });
    const said = () => ({ depth: search.result.depth, nodes: search.result.nodes, values: { ...search.result.values } });
    await search.run({ milliseconds, slice: SLICE, signal, onSlice: () => tell(said) });
    search.close();
    return said();
  },

  /** Mean results of Monte Carlo tree search, -1 (lost) to 1 (won): {simulations, values}. */
  mcts: async (engine, game, { milliseconds }, signal, tell) => {
    const search = engine.mcts(game, { simulations: 1_000_000 });
    const said = () => ({ simulations: search.result.simulations, values: { ...search.result.values } });
    try {
      await search.run({ milliseconds, slice: SLICE, signal, onSlice: () => tell(said) });
      return said();
    } finally {
      search.close();
    }
  },

  /** What the opening book knows: {values, line}, the line as text from here on. */
  book: async (engine, game) => {
    const book = await bookOf(engine, game.ruleset);
    if (!book) return { values: {}, line: [] };
    const line = [];
    for (let now = game, action; !now.isOver && (action = book.action(now)) !== undefined; now = now.after(action)) line.push(`${"SN"[now.player]}${action + 1}`);
    return { values: book.values(game), line };
  },
};

const CHOOSE = {
  random: (engine, game) => engine.random(game),
  greedy: (engine, game) => engine.greedy(game),
  minimax: (engine, game, depth, signal) => searched(engine.minimax(game, { depth }), signal),
  mcts: (engine, game, simulations, signal) => searched(engine.mcts(game, { simulations }), signal),

  async network(engine, game, depth, signal, file) {
    const network = await networkOf(engine, game.ruleset, file);
    if (!network) throw new Error(`no value network for ${game.ruleset.name} is here; drop a checkpoint that has one onto the page`);
    return searched(engine.minimax(game, { depth, network }), signal);
  },

  /** The book, else what can be proved in the time, else the best of the bounds that a search agrees with. */
  async perfect(engine, game, seconds, signal) {
    const known = (await bookOf(engine, game.ruleset))?.values(game) ?? {};
    if (Object.keys(known).length === game.legal.length) return anyBest(known);
    const search = engine.solve(game, { values: false, megabytes: SOLVER_MEGABYTES });
    await search.run({ milliseconds: 1000 * seconds, slice: SLICE, signal });
    const { actions, lower } = search.result, isDone = search.isDone;
    const proved = Object.fromEntries(Object.entries(actions).filter(([, bounds]) => bounds.lower >= lower).map(([action, bounds]) => [action, bounds.lower]));
    search.close();
    if (isDone && Object.keys(proved).length) return anyBest(proved);
    const deep = engine.minimax(game, { values: true });
    await deep.run({ milliseconds: 1500, slice: SLICE, signal });
    const { action } = deep.result;
    deep.close();
    return action >= 0 ? action : engine.greedy(game);
  },
};

async function searched(search, signal) {
  try {
    await search.run({ slice: SLICE, signal });
    return search.result.action;
  } finally {
    search.close();
  }
}

function anyBest(values) {
  const most = Math.max(...Object.values(values));
  const best = Object.keys(values).filter((action) => values[action] === most);
  return Number(best[Math.floor(Math.random() * best.length)]);
}

function boundsOf(search, hasEnded) {
  const { lower, upper, nodes, actions } = search.result;
  const copied = Object.fromEntries(Object.entries(actions).map(([action, bounds]) => [action, { lower: bounds.lower, upper: bounds.upper }]));
  return { lower, upper, nodes, actions: copied, isExact: Object.values(copied).every((bounds) => bounds.lower === bounds.upper), hasEnded };
}

let bookFile = null;

async function bookOf(engine, ruleset) {
  if (!engine.rulesets.includes(ruleset)) return null;
  bookFile ??= fetch(new URL("books.json", import.meta.url)).then((response) => response.json());
  const file = (await bookFile)[ruleset.name];
  if (file && !books.has(ruleset.name)) books.set(ruleset.name, new Book(engine.newGame(ruleset), file));
  return books.get(ruleset.name) ?? null;
}
