/** Proof files of exact values, in the format mancala-proof-1: what a file claims, and about which position. docs/reference/proofs.md defines it. */

import { t } from "./texts.js";

/** A file that differs from the format, or does not prove its claims. */
export class InvalidProof extends Error {}

const N = "(?:0|[1-9][0-9]{0,9})";
/** The values of each line, in the order of the file. */
const LINES = {
  ruleset: "[!-~]{1,64}", row_width: N, seeds_per_hole: N, direction: "anticlockwise|clockwise", landing: "uur|pair|weg",
  captures_last: "true|false", owns_on: "opponent|either", ransoms_empty: "true|false",
  round_end: "mover_stuck|either_stuck|both_stuck", opening: "free|rightmost|eights", position: "start|set",
};
const SET_LINES = { seeds: `${N}(?: ${N})*`, owners: "[-SN]+", stores: `${N} ${N}`, mover: "south|north", stall: N };
const CLAIM = `claim (south|north) (${N}) cap (${N}) leaf (${N}) letters (${N})`;
const WORDS = new Map([["true", true], ["false", false], ["south", 0], ["north", 1]]);
const MOST_LETTERS = 2_000_000_000;

/** Whether a file says that it is a proof. @param {ArrayBuffer} bytes */
export const isProof = (bytes) => textOf(bytes.slice(0, 14)) === "mancala-proof-";

const textOf = (bytes) => new TextDecoder("latin1").decode(bytes);

/** The lines of a file that are not yet read. */
class Lines {
  at = 0;
  number = 0;

  constructor(text) {
    this.text = text;
  }

  /** Read a line; returns the groups of its pattern, numbers as numbers. */
  read(pattern) {
    const form = new RegExp(`${pattern}\n`, "y");
    form.lastIndex = this.at;
    const found = form.exec(this.text);
    this.number += 1;
    if (!found) {
      const rest = this.text.slice(this.at, this.at + 60).split("\n");
      throw new InvalidProof(this.at < this.text.length ? `line ${this.number} differs from the format: "${rest[0]}"` : `the file ends before line ${this.number}`);
    }
    this.at = form.lastIndex;
    return found.slice(1).map((word) => (/^[0-9]+$/.test(word) ? Number(word) : WORDS.get(word) ?? word));
  }

  /** Read the letters of a claim. */
  letters(count) {
    const letters = this.text.slice(this.at, this.at + count);
    this.number += 1;
    this.at += count;
    if (this.text[this.at] !== "\n") throw new InvalidProof(`line ${this.number} has another number of letters than its claim: ${count}`);
    this.at += 1;
    return letters;
  }
}

function require(condition, reason) {
  if (!condition) throw new InvalidProof(reason);
}

/** Read a file, without checking its proof.
 * @param {ArrayBuffer} bytes
 * @returns {{options: object, position: {seeds: number[], owners: string, stores: number[], mover: number, stall: number},
 *   total: number, counts: number[], claims: {player: 0 | 1, count: number, cap: number, leaf: number, letters: string}[]}}
 * @throws {InvalidProof}
 */
export function readProof(bytes) {
  const lines = new Lines(textOf(bytes)), options = {}, claims = [];
  const read = (forms) => Object.fromEntries(Object.entries(forms).map(([key, values]) => [key, lines.read(`${key} (${values})`)[0]]));
  lines.read("mancala-proof-1");
  Object.assign(options, read(LINES));
  const given = options.position === "set" ? read(SET_LINES) : null;
  while (!claims.length || lines.text[lines.at] === "c") {
    const [player, count, cap, leaf, letters] = lines.read(CLAIM);
    claims.push({ player, count, cap, leaf, letters });
  }
  lines.read("");
  require(["0", "1", "0,1"].includes(String(claims.map(({ player }) => player))), "the claims are not South's, then North's");
  for (const claim of claims) {
    require(claim.letters <= MOST_LETTERS, `${claim.letters} letters are more than ${MOST_LETTERS}`);
    claim.letters = lines.letters(claim.letters);
  }
  require(lines.at === lines.text.length, `bytes follow line ${lines.number}`);
  checkOptions(options);
  const position = firstOf(options, given);
  const total = [...position.seeds, ...position.stores].reduce((sum, seeds) => sum + seeds);
  checkPosition(options, position, total);
  for (const { count, cap, leaf } of claims)
    require(count <= total && cap <= (options.landing === "uur" ? 0 : 255) && leaf <= 255, `a claim of ${count} seeds with cap ${cap} and leaf ${leaf} is out of range`);
  const counts = [0, 1].map((player) => claims.find((claim) => claim.player === player)?.count ?? 0);
  return { options, position, total, counts, claims };
}

function checkOptions({ row_width, seeds_per_hole, direction, landing, captures_last, owns_on, ransoms_empty, round_end, opening }) {
  require(row_width >= 2 && row_width <= 12, `row_width is 2 to 12, not ${row_width}`);
  require(seeds_per_hole >= 1 && 2 * row_width * seeds_per_hole <= 255, `seeds_per_hole ${seeds_per_hole} gives none or more than 255 seeds`);
  const isGabata = direction === "anticlockwise" && landing === "weg" && round_end === "both_stuck";
  const isPossible = (landing === "uur" ? ransoms_empty : captures_last) && (landing === "weg" || owns_on === "opponent") && (isGabata || opening !== "eights");
  require(isPossible, "the rule options exclude each other");
}

function firstOf({ row_width, seeds_per_hole, opening }, given) {
  const numbers = (words) => String(words).split(" ").map(Number);
  if (given) return { ...given, seeds: numbers(given.seeds), stores: numbers(given.stores) };
  const isEights = opening === "eights"; // rules.md, 6: twice as many seeds in holes W, W + 2, and so on; hole W is owned
  const seeds = Array.from({ length: 2 * row_width }, (_, hole) => (isEights ? ((hole + row_width + 1) % 2) * 2 : 1) * seeds_per_hole);
  return { seeds, owners: "-".repeat(row_width) + (isEights ? "S" : "-") + "-".repeat(row_width - 1), stores: [0, 0], mover: 0, stall: 0 };
}

function checkPosition({ row_width, seeds_per_hole, landing, round_end }, { seeds, owners, mover, stall }, total) {
  const size = 2 * row_width;
  require(seeds.length === size && owners.length === size, `the position has other than ${size} holes`);
  require(total <= size * seeds_per_hole, `the position has ${total} seeds, more than the rules give`);
  require(stall < 50, `the stall counter is 0 to 49, not ${stall}`);
  require(landing === "weg" || [...owners].every((owner, hole) => owner === owners[size - 1 - hole]), "owned holes are not opposite pairs");
  const canSow = [0, 1].map((player) => seeds.some((number, hole) => number && owners[hole] === "-" && (hole < row_width) === (player === 0)));
  const runs = round_end === "mover_stuck" || canSow[1 - mover] || round_end === "both_stuck";
  require(runs && canSow[mover], "the round is over, or the mover cannot sow");
}

/** The game of a proof's position: of a ruleset in the catalogue, if it has these rules.
 * @param {import("./engine.js").Engine} engine
 */
export function proofGame(engine, { options, position: { seeds, owners, stores, mover, stall } }) {
  const { ruleset: name, position, ...dials } = options;
  const known = engine.rulesets.find((one) => one.name === name && Object.keys(dials).every((dial) => one.dials[dial] === dials[dial]));
  const ruleset = known ?? engine.ownRuleset({ name: "custom", title: t("ruleset.own_title"), ...dials });
  if (position === "start") return engine.newGame(ruleset);
  return engine.setUp(ruleset, { seeds, owner: [...owners].map((owner) => "SN".indexOf(owner)), stores, player: mover, stall });
}
