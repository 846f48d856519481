/** Compare mancala.wasm with results of the native engine (wasm_reference.py), in node or in a browser. */

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function wordsOf(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Uint32Array(bytes.buffer);
}

/** Returns {differences, counts}: the differences as texts, and the number of comparisons of each kind. */
export function replay(engine, reference) {
  const differences = [];
  const counts = { games: 0, turns: 0, rounds: 0, random: 0, searches: 0, nodes: 0, solved: 0, proved: 0 };
  const check = (is, was, where) => {
    if (!same(is, was)) differences.push(`${where}: ${JSON.stringify(is)}, not ${JSON.stringify(was)}`);
  };
  const rowIs = (game, row, where) => check(Array.from(game.row), Array.from(wordsOf(row)), where);

  for (const dials of reference.refused) {
    try {
      engine.ownRuleset(dials);
      differences.push(`${JSON.stringify(dials)} is refused natively`);
    } catch (error) {
      if (error.constructor.name !== "InvalidInput") throw error;
    }
  }

  for (const records of reference.recorded)
    for (const record of records) {
      const game = engine.newGame(record.ruleset);
      const where = `${record.ruleset}, game ${record.game}`;
      counts.games++;
      for (const turn of [...record.turns, record.last]) {
        check([game.isOver, game.player, game.legal], [false, turn.mover, turn.legal], where);
        game.play(turn.action);
        counts.turns++;
        if (turn !== record.last)
          check([game.seeds, game.owner, game.stores], [turn.seeds, turn.owner, turn.stores], where);
      }
      check([game.end, game.counts], ["stuck", record.count], where);
    }

  for (const { dials, starter, first, steps, seed, last, generator } of reference.matches) {
    const ruleset = engine.ownRuleset(dials);
    const where = `match of ${JSON.stringify(dials)}`;
    let game = engine.newGame(ruleset, { starter });
    rowIs(game, first, where);
    for (const step of steps) {
      if (step.action === undefined) {
        counts.rounds++;
        const after = game.nextRound();
        check([game.matchMargin, after === null], [step.margin, step.over], where);
        game = after ?? engine.newGame(ruleset, { starter });
      } else {
        counts.turns++;
        check(game.legal, step.legal, where);
        const events = game
          .timeline(step.action)
          .map(({ kind, player, hole, seeds, reason }) => [kind, player, hole, seeds, reason]);
        check(events.length < 60 ? events : [events.length, events.slice(-2)], step.events, `${where}: timeline`);
        const turn = game.play(step.action);
        check([turn.laps, turn.captured, turn.newOwned, turn.endless], step.turn, where);
        check([game.counts, game.text], [step.counts, step.text], where);
        check(engine.fromText(game.text, ruleset).text, step.text, `${where}: text`);
      }
      rowIs(game, step.row, where);
    }
    if (seed !== undefined) {
      const random = engine.newGame(ruleset, { starter });
      check(String(engine.playRandom(random, BigInt(seed), 5000)), generator, `${where}: random turns`);
      rowIs(random, last, `${where}: random turns`);
      counts.random += 5000;
    }
  }

  for (const { dials, seed, depth, network, cases } of reference.searches) {
    const ruleset = engine.ownRuleset(dials);
    const numbers = engine.valueNetwork(Uint8Array.from(atob(network), (letter) => letter.charCodeAt(0)), ruleset);
    for (const { text, minimax, network: judged, mcts, greedy } of cases) {
      const game = engine.fromText(text, ruleset);
      const where = `${text} (${JSON.stringify(dials)})`;
      for (const [said, options] of [
        [minimax, { depth }],
        [judged, { depth: 4, network: numbers }],
      ]) {
        const search = engine.minimax(game, { ...options, values: true, seed: BigInt(seed) });
        while (!search.goOn(1)); // in slices
        check(search.result, said, `minimax of ${where}`);
        counts.searches++;
        counts.nodes += search.result.nodes;
      }
      const search = engine.mcts(game, { simulations: 200, seed: BigInt(seed) });
      while (!search.goOn(1));
      check([search.result.action, search.result.simulations], mcts, `mcts of ${where}`);
      search.close();
      check(engine.greedy(game, BigInt(seed)), greedy, `greedy in ${where}`);
      counts.searches += 2;
    }
  }

  for (const { dials, megabytes, cases } of reference.solved) {
    const ruleset = engine.ownRuleset(dials);
    const solver = engine.solver(ruleset, { megabytes });
    for (const { text, value, bounds, nodes, best } of cases) {
      const study = solver.study(engine.fromText(text, ruleset));
      while (!study.goOn(1)) {
        const open = Object.entries(study.result.bounds).find(
          ([action, [lower, upper]]) => lower > bounds[action][0] || upper < bounds[action][1],
        );
        if (open) check(open, bounds[open[0]], `bounds on the way in ${text}`);
      }
      const { result } = study;
      check([result.lower, result.upper, result.bounds, result.nodes, result.best], [value, value, bounds, nodes, best], `solver: ${text}`);
      const fast = solver.study(engine.fromText(text, ruleset), { all: false });
      fast.goOn(Infinity);
      check(fast.result.best, best, `best actions: ${text}`);
      counts.solved++;
      counts.proved += nodes;
    }
    solver.close();
  }
  return { differences: differences.slice(0, 20), total: differences.length, counts };
}
