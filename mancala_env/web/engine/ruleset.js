/** Rulesets: their rule options, checked and encoded as the numbers that the kernels take. */

import { InvalidInput } from "./input.js";

/** @typedef {Object} Dials  The rule options of a ruleset. `Engine.dials` lists the values of each.
 * @property {string} [name]  One word.
 * @property {string} [title]
 * @property {number} row_width
 * @property {number} seeds_per_hole
 * @property {string} direction
 * @property {string} landing
 * @property {boolean} captures_last
 * @property {string} owns_on
 * @property {boolean} ransoms_empty
 * @property {string} round_end
 * @property {string} match
 * @property {string} opening
 */

/** The rules of a game. */
export class Ruleset {
  /** Use {@link Engine#ruleset} or {@link Engine#ownRuleset}. */
  constructor(dials, description) {
    /** @type {Dials} */
    this.dials = dials;
    this.name = dials.name;
    this.title = dials.title;
    /** The source of the rules. */
    this.region = dials.region;
    this.source = dials.source;
    /** W, the number of holes in a row. */
    this.rowWidth = dials.row_width;
    /** H, the number of holes on the board. */
    this.numHoles = 2 * dials.row_width;
    this.totalSeeds = this.numHoles * dials.seeds_per_hole;
    /** Whether the board is drawn anticlockwise: South's holes from left to right. */
    this.isClockwise = dials.direction === "clockwise";
    /** The rule options as the kernels expect them. @type {number[]} */
    this.rules = encode(dials, description);
  }

  /** The holes of North's row and of South's row, from left to right as drawn. @returns {[number[], number[]]} */
  get rows() {
    const south = Array.from({ length: this.rowWidth }, (_, n) => n);
    const north = south.map((n) => this.numHoles - 1 - n);
    return this.isClockwise ? [north.reverse(), south.reverse()] : [north, south];
  }
}

function encode(dials, description) {
  const rules = description.dials.map(({ name, choices, least, most }) => {
    const value = dials[name];
    if (choices) {
      const code = choices.indexOf(value);
      const allowed = typeof choices[0] === "boolean" ? "True or False" : `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`;
      if (code < 0) throw new InvalidInput(`${name} must be ${allowed}, not ${JSON.stringify(value)}`);
      return code;
    }
    if (!Number.isInteger(value)) throw new InvalidInput(`${name} must be a whole number, not ${JSON.stringify(value)}`);
    if (value < least || value > most) throw new InvalidInput(`${name} must be ${least} to ${most}, not ${value}`);
    return value;
  });
  if (2 * dials.row_width * dials.seeds_per_hole > description.max_total_seeds)
    throw new InvalidInput(`seeds_per_hole must be at most ${Math.floor(description.max_total_seeds / (2 * dials.row_width))} on this board, not ${dials.seeds_per_hole}`);
  for (const { dial, values, needs, allowed, why } of description.conditions ?? [])
    if (values.includes(dials[dial]) && !allowed.includes(dials[needs])) throw new InvalidInput(why);
  return rules;
}
