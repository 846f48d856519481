/**
 * The shapes in a picture of a position. The JavaScript version of mancala_env/render/scene.py.
 *
 * A test compares every shape with Python's. `Layout` is the usual board. `UprightLayout`, which Python does not have,
 * is the board turned by 90 degrees for narrow screens.
 *
 * Shapes are {kind: "disc" | "box" | "outline" | "words", name, ...}; colours are names in palette.css.
 */

import { measures as m } from "./measures.js";
import { t } from "./texts.js";

export const ROLES = ["south", "north"];
export const LETTERS = "SN";
const NONE = -1, SOUTH = 0, NORTH = 1;

const disc = (x, y, r, { fill = "", stroke = "", line = 0, dashed = false, name = "" } = {}) =>
  ({ kind: "disc", x, y, r, fill, stroke, line, dashed, name });
const box = (x, y, width, height, r = 0, { fill = "", stroke = "", line = 0, name = "" } = {}) =>
  ({ kind: "box", x, y, width, height, r, fill, stroke, line, name });
const outline = (points, { fill = "", stroke = "", line = 0, closed = true, name = "" } = {}) =>
  ({ kind: "outline", points, fill, stroke, line, closed, name });
const words = (x, y, text, size, fill, { anchor = "middle", bold = false, name = "" } = {}) =>
  ({ kind: "words", x, y, text, size, fill, anchor, bold, name });

/** The geometry of a ruleset's board. */
export class Layout {
  /** @param {object} ruleset @param {boolean} [isTurned]  Whether North's row is below. */
  constructor(ruleset, isTurned = false) {
    this.ruleset = ruleset;
    this.isTurned = isTurned;
    this.squares = [];
    ruleset.rows.forEach((row, y) => row.forEach((hole, x) => { this.squares[hole] = isTurned ? [1 - y, row.length - 1 - x] : [y, x]; }));
    this.measure();
  }

  measure() {
    this.left = m.margin + m.tray + m.space;
    this.width = 2 * this.left + m.cell * this.ruleset.rowWidth;
    const outer = m.strip + m.label + m.number;
    this.tops = [m.header + outer + m.hole, m.header + outer + 3 * m.hole + m.gap];
    this.height = m.header + 2 * outer + 4 * m.hole + m.gap + m.footer;
    this.board = box(m.margin, m.header, this.width - 2 * m.margin, this.height - m.header - m.footer, 18, { fill: "board" });
  }

  /** Whether the players' names fit into the line under the board. */
  get hasRoom() {
    return this.ruleset.rowWidth > 3;
  }

  /** Maximum width of the word for an owned hole. */
  get wordRoom() {
    return m.cell - 20;
  }

  /** The place of a hole on the screen, [row, column]. Arrow keys move along rows and columns. */
  square(hole) {
    return this.squares[hole];
  }

  hole(hole) {
    const [row, column] = this.squares[hole];
    return [this.left + m.cell * (column + 0.5), this.tops[row]];
  }

  /** Direction from a hole to its number: -1 (above) in the upper row, 1 (below) in the lower row. */
  outward(hole) {
    return this.squares[hole][0] ? 1 : -1;
  }

  seed(hole, place) {
    const [x, y] = this.hole(hole), [dx, dy] = m.places[place % m.maxSeedsDrawn];
    return [x + dx, y + dy];
  }

  tray(player) {
    const atRight = ((player === SOUTH) === !this.ruleset.isClockwise) !== this.isTurned;
    const x = atRight ? this.width - m.margin - m.tray : m.margin;
    return box(x + 8, m.header + 10, m.tray - 16, this.board.height - 20, 14, { fill: "hole", stroke: "hole_edge", line: 1.5 });
  }

  traySeed(player, place) {
    const tray = this.tray(player);
    const rows = Math.floor((tray.height - 84) / m.trayPitch);
    const column = place % m.trayColumns, row = Math.floor(place / m.trayColumns) % rows;
    const left = tray.x + (tray.width - m.trayPitch * (m.trayColumns - 1)) / 2;
    return [left + m.trayPitch * column, tray.y + tray.height - 15 - m.trayPitch * row];
  }

  trayName(player) {
    const tray = this.tray(player);
    return [tray.x + tray.width / 2, tray.y + 26];
  }

  trayNumber(player) {
    const tray = this.tray(player);
    return [tray.x + tray.width / 2, tray.y + 58];
  }

  number(hole) {
    const [x, y] = this.hole(hole);
    return [x, y + (this.outward(hole) > 0 ? m.hole + 30 : -m.hole - 11)];
  }

  label(hole) {
    const [x, y] = this.hole(hole);
    return [x, y + (this.outward(hole) > 0 ? m.hole + m.number + 18 : -m.hole - m.number - 6)];
  }

  value(hole) {
    const [x, y] = this.hole(hole);
    return [x, y - this.outward(hole) * (m.hole + 17)];
  }

  /** Bars that mark the territory of a hole: one for South, two for North. */
  strip(hole, sower) {
    const [middle] = this.hole(hole);
    const x = middle - m.cell / 2 + 5, width = m.cell - 10;
    const y = this.outward(hole) < 0 ? m.header + 2 : m.header + this.board.height - m.strip;
    if (sower === SOUTH) return [box(x, y, width, m.strip - 2, 2, { fill: "south" })];
    return [x, x + width / 2 + 4].map((left) => box(left, y, width / 2 - 4, m.strip - 2, 2, { fill: "north" }));
  }

  get footer() {
    return this.height - 16;
  }
}

const UPRIGHT_WIDTH = 400, STORE_HEIGHT = 74, STORE_COLUMNS = 18;

/** The board turned by 90 degrees: South's row is at the right, from bottom to top if it is anticlockwise. */
export class UprightLayout extends Layout {
  measure() {
    const { rowWidth } = this.ruleset;
    this.width = UPRIGHT_WIDTH;
    this.top = m.header + STORE_HEIGHT + 12;
    this.height = this.top + m.cell * rowWidth + STORE_HEIGHT + 12 + m.footer;
    this.columns = [this.width / 2 - m.hole - 14, this.width / 2 + m.hole + 14];
    this.board = box(4, m.header, this.width - 8, this.height - m.header - m.footer, 18, { fill: "board" });
  }

  get hasRoom() {
    return false;
  }

  get wordRoom() {
    return 62;
  }

  square(hole) {
    const [row, column] = this.squares[hole];
    return [this.ruleset.rowWidth - 1 - column, row];
  }

  hole(hole) {
    const [row, column] = this.square(hole);
    return [this.columns[column], this.top + m.cell * (row + 0.5)];
  }

  tray(player) {
    const above = ((player === SOUTH) === !this.ruleset.isClockwise) !== this.isTurned;
    const y = above ? m.header + 8 : this.height - m.footer - 8 - STORE_HEIGHT;
    return box(14, y, this.width - 28, STORE_HEIGHT, 14, { fill: "hole", stroke: "hole_edge", line: 1.5 });
  }

  traySeed(player, place) {
    const tray = this.tray(player);
    const rows = Math.floor((tray.height - 14) / m.trayPitch);
    const column = place % STORE_COLUMNS, row = Math.floor(place / STORE_COLUMNS) % rows;
    return [tray.x + 98 + m.trayPitch * column, tray.y + 14 + m.trayPitch * row];
  }

  trayName(player) {
    const tray = this.tray(player);
    return [tray.x + 42, tray.y + 24];
  }

  trayNumber(player) {
    const tray = this.tray(player);
    return [tray.x + 42, tray.y + 57];
  }

  number(hole) {
    const [x, y] = this.hole(hole);
    return [x + this.outward(hole) * (m.hole + 46), y + 2];
  }

  label(hole) {
    const [x, y] = this.hole(hole);
    return [x + this.outward(hole) * (m.hole + 48), y + 27];
  }

  value(hole) {
    const [x, y] = this.hole(hole);
    return [x - this.outward(hole) * (m.hole + 2), y - this.outward(hole) * 31]; // apart from that of the hole opposite
  }

  strip(hole, sower) {
    const [, middle] = this.hole(hole);
    const y = middle - m.cell / 2 + 5, height = m.cell - 10;
    const x = this.outward(hole) < 0 ? this.board.x + 4 : this.board.x + this.board.width - m.strip - 2;
    if (sower === SOUTH) return [box(x, y, m.strip - 2, height, 2, { fill: "south" })];
    return [y, y + height / 2 + 4].map((top) => box(x, top, m.strip - 2, height / 2 - 4, 2, { fill: "north" }));
  }
}

/** Describe a position as shapes.
 * @param {Layout} layout
 * @param {object} state  {seeds, owner, territory, stores, player, end, round}: a Game, or a state within a turn.
 * @param {object} [options]  legal, last: holes; values: {hole: number or word}; arrows: pairs of holes;
 *   hand: [hole, seeds]; caption; isOver: whether no player is to move; withSeeds: false omits seeds and numbers, which the caller draws.
 */
export function describe(layout, state, { legal = [], last = [], values = {}, arrows = [], hand = null, caption = null, isOver = Boolean(state.end), withSeeds = true } = {}) {
  const { ruleset } = layout;
  const title = t("scene.title", { title: ruleset.title, round: state.round }), titleRoom = layout.width - 2 * m.margin;
  const isLong = layout instanceof UprightLayout && shortened(title, titleRoom, m.title) !== title;
  const shapes = [
    box(0, 0, layout.width, layout.height, 0, { fill: "paper" }),
    layout.board,
  ];
  for (const player of [NORTH, SOUTH]) shapes.push(...tray(layout, player));
  for (let hole = 0; hole < ruleset.numHoles; hole++) shapes.push(...layout.strip(hole, state.territory[hole]));
  const written = shortened(isLong ? ruleset.title : title, titleRoom, m.title);
  shapes.push(words(m.margin + 4, 32, written, m.title, "ink", { anchor: "start", bold: true, name: "title" }));
  if (withSeeds) for (const player of [NORTH, SOUTH]) shapes.push(...store(layout, player, state.stores[player]));
  for (let hole = 0; hole < ruleset.numHoles; hole++) {
    shapes.push(...holeShapes(layout, hole, state.owner[hole], legal.includes(hole) ? state.player : NONE));
    if (withSeeds) shapes.push(...seedShapes(layout, hole, state.seeds[hole]));
    shapes.push(...label(layout, hole, state.owner[hole], state.territory[hole]));
  }
  for (const hole of last) shapes.push(disc(...layout.hole(hole), m.hole + 5, { stroke: "mark", line: 2.2, dashed: true, name: "last" }));
  if (hand) shapes.push(...handShapes(layout, ...hand));
  for (const [start, end] of arrows) shapes.push(...arrow(layout, start, end));
  shapes.push(...badges(layout, values));
  const [south, north] = counts(ruleset, state);
  const score = t(layout.hasRoom ? "scene.score" : "scene.score_short", { south, north });
  shapes.push(words(layout.width - m.margin - 4, layout.footer, score, m.word, "faint", { anchor: "end", name: "score" }));
  const room = layout.width - 2 * m.margin - 36 - score.length * m.word * m.letter;
  shapes.push(turnMark(layout, state.player, !isOver));
  shapes.push(words(m.margin + 26, layout.footer, shortened(caption ?? statusOf(ruleset, state), room, m.line), m.line, "ink", { anchor: "start", bold: true, name: "caption" }));
  return { width: layout.width, height: layout.height, shapes, title };
}

export function playerName(player) {
  return t(`player.${ROLES[player]}`);
}

/** The status line: the player to move, or the result of the round. */
export function statusOf(ruleset, state) {
  if (!state.end) return t("status.to_move", { player: playerName(state.player) });
  const [south, north] = counts(ruleset, state);
  const reason = t(`end.${state.end}`);
  if (south === north) return t("status.draw", { most: south, least: north, reason });
  return t("status.won", { player: playerName(Number(north > south)), most: Math.max(south, north), least: Math.min(south, north), reason });
}

/** The counts of both players: store, owned holes and free seeds in their territory. */
export function counts(ruleset, { seeds, owner, territory, stores }) {
  const held = [...stores];
  seeds.forEach((number, hole) => { held[owner[hole] === NONE ? territory[hole] : owner[hole]] += number; });
  return held;
}

function tray(layout, player) {
  return [layout.tray(player), words(...layout.trayName(player), playerName(player), m.word, ROLES[player], { bold: true })];
}

function store(layout, player, stored) {
  const shapes = [words(...layout.trayNumber(player), String(stored), m.count, "ink", { bold: true, name: `store-${player}` })];
  for (let place = 0; place < stored; place++) shapes.push(seedShape(layout.traySeed(player, place)));
  return shapes;
}

function holeShapes(layout, hole, owner, litFor) {
  const [x, y] = layout.hole(hole), name = `owned-${hole}`, shapes = [];
  if (owner === SOUTH) shapes.push(box(x - 43, y - 43, 86, 86, 9, { fill: "hole", stroke: "south", line: 4, name }));
  else if (owner === NORTH) shapes.push(outline(octagon(x, y, 43, 20), { fill: "hole", stroke: "north", line: 4, name }));
  const [stroke, line] = litFor === NONE ? ["hole_edge", 1.5] : [ROLES[litFor], 4.5];
  shapes.push(disc(x, y, m.hole, { fill: "hole", stroke, line, name: `hole-${hole}` }));
  return shapes;
}

function octagon(x, y, r, cut) {
  return [
    [x - r + cut, y - r], [x + r - cut, y - r], [x + r, y - r + cut], [x + r, y + r - cut],
    [x + r - cut, y + r], [x - r + cut, y + r], [x - r, y + r - cut], [x - r, y - r + cut],
  ];
}

const seedShape = ([x, y]) => disc(x, y, m.seed, { fill: "seed", stroke: "seed_edge", line: 1, name: "seed" });

function seedShapes(layout, hole, seeds) {
  const shapes = [];
  for (let place = 0; place < Math.min(seeds, m.maxSeedsDrawn); place++) shapes.push(seedShape(layout.seed(hole, place)));
  shapes.push(words(...layout.number(hole), String(seeds), m.count, seeds ? "ink" : "faint", { bold: true, name: `number-${hole}` }));
  return shapes;
}

/** The turn that sows from a hole, in notation: S1 to N12. */
export function turnName(ruleset, player, hole) {
  return `${LETTERS[player]}${((hole + ruleset.rowWidth * player) % ruleset.numHoles) + 1}`;
}

function label(layout, hole, owner, sower) {
  const [x, y] = layout.label(hole), name = `label-${hole}`;
  if (owner === NONE) return [words(x, y, turnName(layout.ruleset, sower, hole), m.word, "faint", { name })];
  const word = ownedWord(layout.ruleset);
  const size = Math.min(m.word, layout.wordRoom / (word.length * m.letter));
  const left = x - (word.length * size * m.letter) / 2 - 4;
  return [
    words(x + 7, y, word, size, ROLES[owner], { bold: true, name }),
    triangle(left - 5, y - 6, 6, owner, name),
  ];
}

/** The word for an owned hole. */
export function ownedWord(ruleset) {
  return t(`owned.${ruleset.dials.landing}`);
}

function triangle(x, y, r, player, name = "") {
  const tip = player === SOUTH ? r : -r;
  return outline([[x, y + tip], [x - r, y - tip], [x + r, y - tip]], { fill: ROLES[player], name });
}

function turnMark(layout, player, isRunning) {
  return isRunning
    ? triangle(m.margin + 12, layout.footer - 7.5, 8, player, "turn")
    : box(m.margin + 5, layout.footer - 15, 15, 15, 2, { fill: "faint", name: "turn" });
}

export function handShapes(layout, hole, seeds) {
  const ring = disc(...layout.hole(hole), m.hole + 5, { stroke: "mark", line: 3.5, name: "hand" });
  return seeds ? [ring, ...badge(layout, hole, t("scene.in_hand", { seeds }), "mark")] : [ring];
}

function badges(layout, values) {
  const numbers = Object.values(values).filter((value) => typeof value === "number");
  const best = Math.max(...numbers), isOpen = Object.values(values).some(isEstimate);
  return Object.entries(values).flatMap(([hole, value]) => {
    const isBest = value === best && numbers.length > 1 && !isOpen;
    return badge(layout, Number(hole), valueText(value), isBest ? "best" : isEstimate(value) ? "faint" : "ink", isBest);
  });
}

function badge(layout, hole, text, role, isBest = false) {
  const [x, y] = layout.value(hole), width = Math.max(38, text.length * m.word * m.letter + (isEstimate(text) ? 24 : 14));
  return [
    box(x - width / 2, y - 14, width, 28, 14, { fill: "badge", stroke: role, line: isBest ? 3 : 1.2, name: "value" }),
    words(x, y + 6.5, text, m.word, role, { bold: isBest, name: "value" }),
  ];
}

/** The text of a badge that shows an estimate. */
export const estimateText = (value) => `\u2248${valueText(value)}`;
/** Whether a value of a badge is an estimate. */
export const isEstimate = (value) => typeof value === "string" && value.startsWith("\u2248");

/** Format a value: whole numbers with a sign, others with two decimals, words unchanged. */
export function valueText(value) {
  if (typeof value === "string") return value;
  if (!Number.isInteger(value)) return value.toFixed(2).replace("-0.00", "0.00");
  return value > 0 ? `+${value}` : String(value);
}

function arrow(layout, start, end) {
  const [x0, y0] = layout.hole(start), [x1, y1] = layout.hole(end);
  const length = Math.max(1, Math.hypot(x1 - x0, y1 - y0));
  const dx = (x1 - x0) / length, dy = (y1 - y0) / length;
  const tip = [x1 - 6 * dx, y1 - 6 * dy], neck = [tip[0] - 16 * dx, tip[1] - 16 * dy];
  const side = [-8 * dy, 8 * dx];
  const shaft = [[x0 + 10 * dx, y0 + 10 * dy], neck];
  const head = [tip, [neck[0] + side[0], neck[1] + side[1]], [neck[0] - side[0], neck[1] - side[1]]];
  return [
    // First the rim, which separates the arrow from the seeds under it.
    outline(shaft, { stroke: "badge", line: 9, closed: false, name: "arrow" }),
    outline(head, { fill: "badge", stroke: "badge", line: 4, name: "arrow" }),
    outline(shaft, { stroke: "mark", line: 5, closed: false, name: "arrow" }),
    outline(head, { fill: "mark", name: "arrow" }),
  ];
}

export function shortened(text, room, size) {
  const letters = Math.max(4, Math.floor(room / (size * m.letter)));
  return text.length <= letters ? text : `${text.slice(0, letters - 3).trimEnd()}...`;
}
