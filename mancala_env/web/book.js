/**
 * Opening books: exact values of the positions of the first turns, in the order of a breadth-first search.
 *
 * A book stores the `rest` of each value: the value without the lead in owned holes ({@link ownedMargin}).
 */

/** A player's lead in seeds in owned holes, which counts in full at any time. */
function ownedMargin(game, player) {
  const { owner } = game;
  return game.seeds.reduce((sum, seeds, hole) => sum + (owner[hole] < 0 ? 0 : owner[hole] === player ? seeds : -seeds), 0);
}

/** The key of a position: the board as the player to move sees it, and the stall counter. Stores do not matter. */
function keyOf(game) {
  const { player, owner, seeds, ruleset } = game;
  let key = `${game.stall}`;
  for (let action = 0; action < ruleset.numHoles; action++) {
    const hole = game.holeOf(action);
    key += `,${seeds[hole]}${owner[hole] < 0 ? "" : owner[hole] === player ? "m" : "t"}`;
  }
  return key;
}

/** Look a position up in a map. Returns undefined if territory has changed hands: the book covers round 1 only. */
function found(known, game) {
  const isChanged = game.territory.some((player, hole) => player !== Math.floor(hole / game.ruleset.rowWidth));
  return isChanged ? undefined : known.get(keyOf(game));
}

const lead = ([south, north], player) => (player === 0 ? south - north : north - south);

export class Book {
  #rests = new Map();
  #line = new Map();

  /** Play the opening turns and store the rest of each position.
   * @param {import("./engine.js").Game} start  The start of round 1. @param {{turns: number, rests: number[], line: number[]}} file
   */
  constructor(start, { turns, rests, line }) {
    let level = [start], number = 0;
    const seen = new Set([keyOf(start)]);
    const take = (games) => games.forEach((game) => {
      if (rests[number] !== null) this.#rests.set(keyOf(game), rests[number]);
      number += 1;
    });
    take(level);
    for (let turn = 1; turn <= turns; turn++) {
      const next = [];
      for (const game of level)
        for (const action of game.legal) {
          const after = game.after(action);
          if (after.isOver) continue;
          const key = keyOf(after);
          if (seen.has(key)) continue;
          seen.add(key);
          next.push(after);
        }
      take(next);
      level = next;
    }
    if (number !== rests.length) throw new Error(`the book of ${start.ruleset.name} was made for other rules`);
    this.#addLine(start, line);
  }

  #addLine(start, line) {
    const passed = [];
    let game = start;
    for (const action of line) {
      passed.push([game, action]);
      game = game.after(action);
    }
    for (const [before, action] of passed) {
      const rest = lead(game.counts, before.player) - lead(before.stores, before.player) - ownedMargin(before, before.player);
      this.#rests.set(keyOf(before), rest);
      this.#line.set(keyOf(before), action);
    }
  }

  /** The exact value of a position for the player to move, with stores counted from zero; undefined if unknown. */
  value(game) {
    if (game.isOver) return lead(game.counts, game.player) - lead(game.stores, game.player);
    const rest = found(this.#rests, game);
    return rest === undefined ? undefined : rest + ownedMargin(game, game.player);
  }

  /** The action of the best line in this position; undefined if the line does not pass through it. */
  action(game) {
    return found(this.#line, game);
  }

  /** The values of the legal actions that the book knows, by action. */
  values(game) {
    const known = {};
    for (const action of game.legal) {
      const after = game.after(action);
      const value = after.isOver ? lead(after.counts, game.player) - lead(after.stores, game.player) : this.value(after);
      if (value === undefined) continue;
      const won = lead(after.stores, game.player) - lead(game.stores, game.player);
      known[action] = won + (after.isOver || after.player === game.player ? value : -value);
    }
    return known;
  }
}
