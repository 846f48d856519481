/** The bundled puzzles: one file for each ruleset, the puzzle of a day, and which ones the user has solved. */

import { kept } from "./dom.js";

/** Rulesets with puzzles, as `python -m tools.make_puzzles` writes them. */
export const RULESETS = [
  "layli_goobalay", "leyla_gobale_ii", "layli_goobalay_8", "layli_goobalay_long", "leyla",
  "gabata_i", "gabata_five_holes", "gabata_seven_holes", "gabata_3",
  "ludii_leyla", "ludii_leyla_gobale_somaliland", "ludii_leyla_gobale_gabradarre",
  "ludii_gabata_i", "ludii_gabata_five_holes", "ludii_gabata_seven_holes",
];
/** The grades, from easy to hardest. */
export const GRADES = [1, 2, 3, 4];
/** What a letter of a puzzle's tags means. */
export const TAGS = { o: "own", r: "ransom", c: "capture", m: "only", t: "trap" };
/** Marks of a puzzle: not tried, solved at the first try, first try wrong, solved later. */
export const MARKS = { open: ".", right: "+", wrong: "-", later: "~" };

const GOLDEN = (Math.sqrt(5) - 1) / 2;
const sets = new Map();

/** Load the puzzles of a ruleset. The browser keeps the file, so that they work offline after the first time.
 * @param {string} name
 */
export async function puzzlesOf(name) {
  if (!sets.has(name)) {
    const answer = await fetch(new URL(`puzzles/${name}.json`, import.meta.url));
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    sets.set(name, new PuzzleSet(name, await answer.json()));
  }
  return sets.get(name);
}

/** The number of a day in the user's time zone: 1 January 1970 is 0. @param {Date} date */
export function dayOf(date) {
  return Math.round(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000);
}

export class PuzzleSet {
  /** @param {string} name  The ruleset. @param {{agents: string[], puzzles: any[][]}} file */
  constructor(name, { agents, puzzles }) {
    this.name = name;
    this.puzzles = puzzles.map(([position, tags, lookahead, failing, grade, values], n) => ({
      number: n + 1,
      text: `${name} ${position}`,
      tags: [...tags].map((letter) => TAGS[letter]),
      lookahead,
      failing: agents.filter((_, bit) => (failing >> bit) & 1),
      grade,
      values,
    }));
  }

  /** The puzzles of a grade; of all grades if it is 0. */
  ofGrade(grade) {
    return grade ? this.puzzles.filter((puzzle) => puzzle.grade === grade) : this.puzzles;
  }

  /** The puzzle of a day. Each puzzle of the grade has its day before one comes again.
   * @param {number} day @param {number} grade
   */
  ofDay(day, grade) {
    const among = this.ofGrade(grade), size = among.length;
    let step = Math.max(1, Math.round(size * GOLDEN));
    while (commonDivisor(step, size) > 1) step += 1;
    return among[(((day * step) % size) + size) % size];
  }

  /** The next puzzle of a grade that is not solved, after a number; the next of all if every one is solved. */
  next(number, grade) {
    const among = this.ofGrade(grade), marks = this.marks;
    const ordered = [...among.filter((puzzle) => puzzle.number > number), ...among.filter((puzzle) => puzzle.number <= number)];
    return ordered.find((puzzle) => puzzle.number !== number && !isSolved(marks[puzzle.number - 1])) ?? ordered[0];
  }

  /** The neighbour of a puzzle in its grade, or undefined. @param {number} by  1 or -1. */
  neighbour(number, grade, by) {
    const among = this.ofGrade(grade);
    return by > 0 ? among.find((puzzle) => puzzle.number > number) : among.filter((puzzle) => puzzle.number < number).at(-1);
  }

  /** A mark of MARKS for each puzzle. Marks of an older set of another size are dropped. */
  get marks() {
    const marks = kept.read("puzzles", {})[this.name];
    return typeof marks === "string" && marks.length === this.puzzles.length ? marks : MARKS.open.repeat(this.puzzles.length);
  }

  /** Keep the result of a try, for all tabs. The first try decides between `right` and `wrong`. */
  mark(number, isRight) {
    const { marks } = this, before = marks[number - 1];
    let mark = before;
    if (before === MARKS.open) mark = isRight ? MARKS.right : MARKS.wrong;
    else if (before === MARKS.wrong && isRight) mark = MARKS.later;
    if (mark === before) return;
    const all = kept.read("puzzles", {});
    const known = Object.fromEntries(RULESETS.filter((name) => typeof all[name] === "string").map((name) => [name, all[name]]));
    kept.write("puzzles", { ...known, [this.name]: marks.slice(0, number - 1) + mark + marks.slice(number) });
  }

  /** How many puzzles of a grade there are, were solved, and were solved at the first try. */
  progress(grade) {
    const { marks } = this, among = this.ofGrade(grade).map((puzzle) => marks[puzzle.number - 1]);
    return { all: among.length, solved: among.filter(isSolved).length, first: among.filter((mark) => mark === MARKS.right).length };
  }
}

const isSolved = (mark) => mark === MARKS.right || mark === MARKS.later;

function commonDivisor(a, b) {
  return b ? commonDivisor(b, a % b) : a;
}
