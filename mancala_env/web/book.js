/** The opening books: exact values of the positions of the first turns, in the order in which they come. */

/** Seeds that a player leads by in owned holes: the part of a value that is certain. */
function ownedMargin(game, player) {
  const { owner } = game;
  return game.seeds.reduce((sum, seeds, hole) => sum + (owner[hole] < 0 ? 0 : owner[hole] === player ? seeds : -seeds), 0);
}

/** What a position is known by: the board from the mover's side and the stall counter; stores do not matter. */
function keyOf(game) {
  const { player, owner, seeds, ruleset } = game;
  let key = `${game.stall}`;
  for (let action = 0; action < ruleset.numHoles; action++) {
    const hole = game.holeOf(action);
    key += `,${seeds[hole]}${owner[hole] < 0 ? "" : owner[hole] === player ? "m" : "t"}`;
  }
  return key;
}

/** What a map has of a position, unless territory has changed hands: then another game is played from there. */
function found(known, game) {
  const isChanged = game.territory.some((player, hole) => player !== Math.floor(hole / game.ruleset.rowWidth));
  return isChanged ? undefined : known.get(keyOf(game));
}

const lead = ([south, north], player) => (player === 0 ? south - north : north - south);

export class Book {
  #rests = new Map();
  #line = new Map();

  /** Play the opening turns and put the values beside them.
   * @param {import("./engine.js").Game} start  Of round 1. @param {{turns: number, rests: number[], line: number[]}} file
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

  /** The exact value of a position to its player to move, stores counted from zero; undefined where it is not known. */
  value(game) {
    if (game.isOver) return lead(game.counts, game.player) - lead(game.stores, game.player);
    const rest = found(this.#rests, game);
    return rest === undefined ? undefined : rest + ownedMargin(game, game.player);
  }

  /** The action of the line of best play, where it comes by here. */
  action(game) {
    return found(this.#line, game);
  }

  /** The values of the legal actions that the book knows, action -> value. */
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
