/**
 * The worker for everything slow: agents, exact values, searches, the opening book, proof files. Its client is searches.js.
 *
 * One task runs at a time. Between its slices the worker reads messages, so that a task can be cancelled.
 */

import { Book } from "./book.js";
import { Engine } from "./engine.js";
import { networkOf } from "./networks.js";

const SLICE = 25; // milliseconds between reads of messages
const TELL_EVERY = 120; // milliseconds between progress reports
const SOLVER_MEGABYTES = 64;

const engineOf = once(() => Engine.fetch());
const bookFile = once(async () => (await fetch(new URL("books.json", import.meta.url))).json());
const books = new Map();
const cancelled = new Map();
let last = Promise.resolve();
let solver = null;

engineOf().catch(() => {}); // load early; each task reports a failure itself

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
    const engine = await engineOf();
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
  /** The action that an agent {kind, strength, network} chooses. */
  choose: async (engine, game, { kind, strength, network }, signal) => ({ action: await CHOOSE[kind](engine, game, strength, signal, network) }),

  /** Exact values, or bounds until they are proved: {lower, upper, actions, nodes, isExact}; the last report has hasEnded. */
  values: async (engine, game, { milliseconds }, signal, tell) => {
    const search = solverOf(engine, game.ruleset).study(game);
    await search.run({ milliseconds, slice: SLICE, signal, onSlice: () => tell(() => found(search)) });
    return { ...found(search), hasEnded: true };
  },

  /** Values of a search that deepens until its time is over: {depth, nodes, values}. Stores count from zero, as in
   * exact values. */
  minimax: async (engine, game, { milliseconds, network }, signal, tell) => {
    const weights = network ? await networkOf(engine, game.ruleset, network === "bundled" ? null : network) : undefined;
    if (network && !weights) return { depth: 0, nodes: 0, values: {} };
    const search = engine.minimax(game, { values: true, network: weights });
    const [south, north] = game.stores, lead = game.player === 0 ? south - north : north - south;
    const said = () => {
      const { depth, nodes, values } = search.result;
      return { depth, nodes, values: Object.fromEntries(Object.entries(values ?? {}).map(([action, value]) => [action, value - lead])) };
    };
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

  /** Values of the opening book and its best line from here as text: {values, line}. */
  book: async (engine, game) => {
    const book = await bookOf(engine, game.ruleset);
    if (!book) return { values: {}, line: [] };
    const line = [];
    for (let now = game, action; !now.isOver && (action = book.action(now)) !== undefined; now = now.after(action)) line.push(`${"SN"[now.player]}${action + 1}`);
    return { values: book.values(game), line };
  },

  /** Check a proof file: what it proves, or what is wrong with it. */
  proof: async (_engine, _game, { bytes }, signal, tell) => {
    const { checkProof } = await import("./proof_walk.js");
    return checkProof(bytes, { slice: SLICE, signal, onProgress: (progress) => tell(() => progress) });
  },
};

const CHOOSE = {
  random: (engine, game) => engine.random(game),
  greedy: (engine, game) => engine.greedy(game),
  minimax: (engine, game, depth, signal) => searched(engine.minimax(game, { depth }), signal),
  mcts: (engine, game, simulations, signal) => searched(engine.mcts(game, { simulations }), signal),

  async network(engine, game, depth, signal, file) {
    const network = await networkOf(engine, game.ruleset, file);
    if (!network) throw new Error(`no value network is bundled for ${game.ruleset.name}; open a file of one`);
    return searched(engine.minimax(game, { depth, network }), signal);
  },

  /** Perfect play: a best action of the book, or one that the solver proves best in time, or else one of minimax. */
  async perfect(engine, game, seconds, signal) {
    const book = await bookOf(engine, game.ruleset).catch(() => null); // its file cannot be loaded without the server
    const known = book?.values(game) ?? {};
    if (Object.keys(known).length === game.legal.length) return anyBest(known);
    const spare = Math.min(1500, 500 * seconds); // for minimax
    const search = solverOf(engine, game.ruleset).study(game, { all: false });
    await search.run({ milliseconds: 1000 * seconds - spare, slice: SLICE, signal });
    if (search.isDone) return anyOf(search.result.best);
    const deep = engine.minimax(game, { values: true });
    await deep.run({ milliseconds: spare, slice: SLICE, signal });
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
  return anyOf(Object.keys(values).filter((action) => values[action] === most).map(Number));
}

const anyOf = (actions) => actions[Math.floor(Math.random() * actions.length)];

/** The solver of a ruleset, kept because its table serves all positions. */
function solverOf(engine, ruleset) {
  if (solver && solver.ruleset.rules.join() !== ruleset.rules.join()) {
    solver.close();
    solver = null;
  }
  solver ??= engine.solver(ruleset, { megabytes: SOLVER_MEGABYTES });
  return solver;
}

function found({ result }) {
  const { lower, upper, nodes, isExact } = result;
  const actions = Object.fromEntries(Object.entries(result.bounds).map(([action, [least, most]]) => [action, { lower: least, upper: most }]));
  return { lower, upper, nodes, isExact, actions };
}

/** Return a function that fetches once and shares the result. After a failure, the next call tries again. */
function once(fetched) {
  let result = null;
  return () =>
    (result ??= fetched().catch((error) => {
      result = null;
      throw error;
    }));
}

async function bookOf(engine, ruleset) {
  if (!engine.rulesets.includes(ruleset)) return null;
  const file = (await bookFile())[ruleset.name];
  if (file && !books.has(ruleset.name)) books.set(ruleset.name, new Book(engine.newGame(ruleset), file));
  return books.get(ruleset.name) ?? null;
}
