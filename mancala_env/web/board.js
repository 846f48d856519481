/**
 * The board on the page: the scene drawn as SVG, a button over every hole, animated seeds.
 *
 * Screen readers ignore the picture. They read the buttons and the page's live region.
 */

import { writeCaption } from "./caption_line.js";
import { Film } from "./film.js";
import { measures as m } from "./measures.js";
import { caption, placeName, seedsText, steps } from "./motion.js";
import { gameOf } from "./place.js";
import { describe, handShapes, Layout, playerName, isEstimate, statusOf, turnName, UprightLayout, valueText } from "./scene.js";
import { sound } from "./sounds.js";
import { t } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";
/** If a horizontal board would be drawn at less than this scale, it is drawn upright. */
const LEAST_SCALE = 0.62;
/** A window that is wider than high and lower than this many pixels has room for a horizontal board only. style.css has it, too. */
const SHORT = 520;
const REST = 400; // milliseconds after a turn for which the pointer presses no hole: a double click is one press
const OVERLAY = ["last", "hand", "value", "arrow"];

const number = (value) => String(Math.round(value * 10) / 10);

function element(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

/** The value of a hole, for its button's label; a word such as "hint" stays. */
function valueInWords(value) {
  if (isEstimate(value)) return t("hole.estimate", { value: value.slice(1) });
  return typeof value === "string" ? value : t("hole.value", { value: valueText(value) });
}

/** Draw a shape of a scene. */
export function draw(shape, parent) {
  const paint = { fill: shape.fill ? `var(--m-${shape.fill})` : "none" };
  if (shape.stroke) Object.assign(paint, { stroke: `var(--m-${shape.stroke})`, "stroke-width": number(shape.line) });
  if (shape.name) paint["data-name"] = shape.name;
  if (shape.kind === "disc") {
    if (shape.dashed) paint["stroke-dasharray"] = "5 4";
    return element("circle", { cx: number(shape.x), cy: number(shape.y), r: number(shape.r), ...paint }, parent);
  }
  if (shape.kind === "box")
    return element("rect", { x: number(shape.x), y: number(shape.y), width: number(shape.width), height: number(shape.height), rx: number(shape.r), ...paint }, parent);
  if (shape.kind === "outline") {
    const points = shape.points.map((point) => point.map(number).join(",")).join(" ");
    return element(shape.closed ? "polygon" : "polyline", { points, ...paint }, parent);
  }
  const text = element("text", { x: number(shape.x), y: number(shape.y), "font-size": number(shape.size), "text-anchor": shape.anchor, ...paint }, parent);
  if (shape.bold) text.setAttribute("font-weight", "700");
  text.textContent = shape.text;
  return text;
}

/** An interactive board. `onHole(hole)` is called when a hole is pressed. */
export class BoardView {
  #layout = null;
  #isTurned = false;
  #heaps = []; // the circles in each hole, then in the two stores; null in an empty place
  #numbers = [];
  #buttons = [];
  #at = 0; // the hole that is reached with Tab
  #moving = null; // the film of a turn
  /** Called when a turn starts to be shown, at each of its steps, and at its end. */
  onFilm = () => {};
  #resting = 0; // a timer
  #state = null;
  #options = {};

  /** @param {HTMLElement} place  The element that holds the board. @param {{onHole?: (hole: number) => void}} options */
  constructor(place, { onHole = () => {} } = {}) {
    this.place = place;
    this.onHole = onHole;
    place.classList.add("board");
    this.svg = element("svg", { class: "mancala", "aria-hidden": "true" }, place);
    this.base = element("g", {}, this.svg);
    this.seeds = element("g", { fill: "var(--m-seed)", stroke: "var(--m-seed_edge)" }, this.svg);
    this.numbers = element("g", { "font-weight": "700", "text-anchor": "middle", fill: "var(--m-ink)" }, this.svg);
    this.overlay = element("g", {}, this.svg);
    this.holes = document.createElement("div");
    this.holes.className = "holes";
    this.holes.setAttribute("role", "group");
    this.holes.setAttribute("aria-label", t("board.label"));
    place.append(this.holes);
    new ResizeObserver(() => this.#fit()).observe(place.parentElement ?? place);
    place.addEventListener("click", (event) => {
      if (!this.isMoving || (this.#resting && event.detail)) return;
      event.stopPropagation(); // the hole would receive it after the animation has ended
      this.skip();
    }, true);
  }

  /** Whether a turn is being animated. */
  get isMoving() {
    return this.#moving !== null;
  }

  get ruleset() {
    return this.#layout?.ruleset;
  }

  /** Show a position without animation.
   * @param {import("./engine.js").Game} game
   * @param {object} [options]  Those of `describe`. `name(hole)` adds words to a button's label. `pressable`: the holes
   *   whose buttons are enabled, by default the legal ones.
   */
  show(game, options = {}) {
    this.#take(game, options);
    this.#draw();
  }

  #take(game, options) {
    this.cancel();
    this.#state = game;
    this.#options = options;
    if (!this.#layout || this.#layout.ruleset !== game.ruleset) this.#setUp(game.ruleset);
  }

  /** Draw North's row below from now on, or South's again. */
  turn(isTurned) {
    if (isTurned === this.#isTurned) return;
    this.#isTurned = isTurned;
    if (!this.#layout) return;
    this.skip();
    this.#setUp(this.#layout.ruleset);
    if (this.#state) this.#draw();
  }

  /** Change which holes are highlighted and what is written on them, in the same position. */
  mark(options) {
    this.#options = { ...this.#options, ...options };
    if (this.#state && !this.isMoving) this.#draw();
  }

  /** Animate a turn seed by seed.
   * @param {import("./engine.js").Game} before @param {object} timeline @param {import("./engine.js").Game} after
   * @param {[number, number]} speed  Seconds that a seed takes to fall (0: no animation), and most seconds of a turn.
   * @param {boolean} [isPressed]  Whether the user pressed the hole. Then the first seed falls at once.
   * @param {{at?: number, isPaused?: boolean, isStill?: boolean}} [start]  The first step to show, and whether to pause there; `isStill`
   *   shows steps without flying seeds.
   * @returns {Promise<void>}  Resolves when the animation ends or is skipped.
   */
  async move(before, timeline, after, speed, isPressed = false, { isStill = false, ...start } = {}) {
    if (speed[0] > 0) {
      this.#rest();
      this.#take(before, {});
      this.#drawSeeds([...before.seeds, ...before.stores], 0);
      this.#labelButtons();
      const film = new Film(steps(before, timeline, speed[0]), speed, (step, seconds, isJump) => {
        this.#step(step, timeline, isStill ? 0 : seconds, isJump);
        if (!isJump) sound(step.event.kind);
        this.onFilm();
      }, start);
      this.#moving = film;
      await film.run(isPressed);
      if (this.#moving !== film) return; // another position is shown by now
      this.#moving = null;
    }
    this.#rest();
    this.show(after);
    this.onFilm();
  }

  /** The turn that is being shown, or null. @returns {Film | null} */
  get film() {
    return this.#moving;
  }

  /** The caption of the step that is shown. */
  get caption() {
    return this.base.querySelector("[data-name=caption]").textContent;
  }

  /** End the animation without showing its end: the caller shows another position. */
  cancel() {
    this.#moving?.stop();
    this.#moving = null;
  }

  /** Ignore the pointer for a moment; keys still work. */
  #rest() {
    if (this.#resting) clearTimeout(this.#resting);
    this.place.classList.toggle("resting", true);
    this.#resting = setTimeout(() => {
      this.#resting = 0;
      this.place.classList.toggle("resting", false);
    }, REST);
  }

  /** Skip to the end of the animation. */
  skip() {
    this.#moving?.stop();
  }

  /** Move the keyboard focus to a hole. */
  focus(hole = this.#at) {
    this.#makeTabStop(hole);
    this.#buttons[hole]?.focus({ preventScroll: true });
  }

  /** The hole that has the keyboard focus, or -1. */
  get focused() {
    return this.#buttons.indexOf(document.activeElement);
  }

  #setUp(ruleset) {
    this.#layout = new (this.#isNarrow(ruleset) ? UprightLayout : Layout)(ruleset, this.#isTurned);
    const { width, height } = this.#layout;
    this.svg.setAttribute("viewBox", `0 0 ${number(width)} ${number(height)}`);
    this.place.dataset.game = gameOf(ruleset) ?? "";
    this.place.classList.toggle("upright", this.#layout instanceof UprightLayout);
    this.place.style.setProperty("--width", String(width));
    this.place.style.setProperty("--height", String(height));
    this.place.style.aspectRatio = `${width} / ${height}`;
    this.seeds.replaceChildren();
    this.numbers.replaceChildren();
    this.#heaps = Array.from({ length: ruleset.numHoles + 2 }, () => []);
    this.#numbers = this.#heaps.map((_, heap) => {
      const isHole = heap < ruleset.numHoles;
      const [x, y] = isHole ? this.#layout.number(heap) : this.#layout.trayNumber(heap - ruleset.numHoles);
      const name = isHole ? `number-${heap}` : `store-${heap - ruleset.numHoles}`;
      return element("text", { x: number(x), y: number(y), "font-size": number(m.count), "data-name": name }, this.numbers);
    });
    const hadFocus = this.focused;
    this.#makeButtons(ruleset);
    if (hadFocus >= 0) this.focus(Math.min(hadFocus, ruleset.numHoles - 1));
  }

  #isNarrow(ruleset) {
    if (window.innerHeight < Math.min(window.innerWidth, SHORT)) return false;
    const room = this.place.parentElement?.clientWidth || window.innerWidth;
    return room / new Layout(ruleset).width < LEAST_SCALE;
  }

  #fit() {
    if (!this.#layout || !this.place.parentElement?.clientWidth) return;
    const isUpright = this.#layout instanceof UprightLayout;
    if (this.#isNarrow(this.#layout.ruleset) === isUpright) return;
    this.skip();
    const hadFocus = this.focused;
    this.#setUp(this.#layout.ruleset);
    this.#draw();
    if (hadFocus >= 0) this.focus(hadFocus);
  }

  #makeButtons(ruleset) {
    const { width, height } = this.#layout;
    this.#at = Math.min(this.#at, ruleset.numHoles - 1);
    this.#buttons = Array.from({ length: ruleset.numHoles }, (_, hole) => {
      const button = document.createElement("button");
      const [x, y] = this.#layout.hole(hole), r = m.hole + 4;
      button.type = "button";
      button.dataset.hole = hole;
      button.tabIndex = hole === this.#at ? 0 : -1;
      Object.assign(button.style, {
        left: `${(100 * (x - r)) / width}%`,
        top: `${(100 * (y - r)) / height}%`,
        width: `${(100 * 2 * r) / width}%`,
        height: `${(100 * 2 * r) / height}%`,
      });
      button.addEventListener("click", () => {
        this.#makeTabStop(hole);
        this.onHole(hole);
      });
      button.addEventListener("keydown", (event) => this.#walk(event, hole));
      return button;
    });
    // The tab order is the order on the screen: rows from top to bottom, then columns from left to right.
    const asDrawn = [...this.#buttons].sort((a, b) => {
      const [rowA, columnA] = this.#layout.square(Number(a.dataset.hole)), [rowB, columnB] = this.#layout.square(Number(b.dataset.hole));
      return rowA - rowB || columnA - columnB;
    });
    this.holes.replaceChildren(...asDrawn);
  }

  #makeTabStop(hole) {
    this.#at = hole;
    this.#buttons.forEach((button, n) => { button.tabIndex = n === hole ? 0 : -1; });
  }

  #walk(event, hole) {
    const way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const [row, column] = this.#layout.square(hole);
    const next = this.#buttons.findIndex((_, other) => this.#layout.square(other).join() === [row + way[0], column + way[1]].join());
    if (next >= 0) this.focus(next);
  }

  #draw() {
    const { seeds, stores } = this.#state;
    this.#drawBase(this.#state, this.#options);
    this.#drawSeeds([...seeds, ...stores], 0);
    this.#labelButtons();
  }

  #drawBase(state, options) {
    const scene = describe(this.#layout, state, { ...options, withSeeds: false });
    this.base.replaceChildren();
    this.overlay.replaceChildren();
    for (const shape of scene.shapes) draw(shape, OVERLAY.includes(shape.name) ? this.overlay : this.base);
    this.#writeCaption(options.caption ?? statusOf(this.#layout.ruleset, state));
  }

  /** Write the line under the board. While seeds move, the score leaves its room to the caption. */
  #writeCaption(text, isSowing = false) {
    const score = this.base.querySelector("[data-name=score]");
    if (isSowing) score.textContent = "";
    writeCaption(this.base.querySelector("[data-name=caption]"), text, this.#layout, element, score.textContent.length);
  }

  /** Label each button with the contents of its hole. */
  #labelButtons() {
    const { ruleset } = this.#layout, state = this.#state, { legal = [], values = {}, name, pressable = legal } = this.#options;
    this.#buttons.forEach((button, hole) => {
      const owner = state.owner[hole];
      const said = [t("hole.seeds", { hole: owner < 0 ? turnName(ruleset, state.territory[hole], hole) : placeName(ruleset, hole), seeds: seedsText(state.seeds[hole]) })];
      if (owner >= 0) said.push(t(`hole.owned.${ruleset.dials.landing}`, { player: playerName(owner) }));
      if (legal.includes(hole)) said.push(t("hole.legal"));
      if (hole in values) said.push(valueInWords(values[hole]));
      const more = name?.(hole);
      if (more) said.push(more);
      button.setAttribute("aria-label", said.join(", "));
      button.classList.toggle("legal", pressable.includes(hole));
      button.setAttribute("aria-disabled", String(!pressable.includes(hole)));
    });
  }

  #step(step, timeline, seconds, isJump) {
    const { ruleset } = this.#layout, { event, state } = step;
    if (["lift", "own", "put_back", "store"].includes(event.kind) || step.start === 0 || isJump) this.#drawBase(state, {});
    this.overlay.replaceChildren();
    const at = step.source >= 0 ? step.source : event.kind === "own" ? event.hole : -1;
    if (at >= 0) handShapes(this.#layout, at, step.inHand).forEach((shape) => draw(shape, this.overlay));
    if (event.kind !== "next" && event.kind !== "end") this.#writeCaption(caption(ruleset, timeline, step), true);
    this.#drawSeeds([...state.seeds, ...state.stores], seconds);
  }

  /** Draw the `wanted` number of seeds in each hole and store. Seeds that leave one place move to where seeds are missing. */
  #drawSeeds(wanted, seconds) {
    const flying = [];
    this.#heaps.forEach((heap, n) => {
      let gone = heap.filter(Boolean).length - wanted[n];
      for (let place = heap.length - 1; place >= 0 && gone > 0; place--) {
        if (!heap[place]) continue;
        flying.push(heap[place]);
        heap[place] = null;
        gone -= 1;
      }
    });
    this.#heaps.forEach((heap, n) => {
      for (let missing = wanted[n] - heap.filter(Boolean).length; missing > 0; missing--) {
        const place = heap.includes(null) ? heap.indexOf(null) : heap.length;
        const circle = flying.shift() ?? element("circle", { r: number(m.seed) }, this.seeds);
        heap[place] = circle;
        this.#moveSeed(circle, this.#place(n, place), seconds);
      }
    });
    flying.forEach((circle) => circle.remove());
    wanted.forEach((seeds, n) => {
      const text = this.#numbers[n];
      if (text.textContent === String(seeds)) return;
      text.textContent = seeds;
      text.setAttribute("fill", seeds || n >= wanted.length - 2 ? "var(--m-ink)" : "var(--m-faint)");
    });
  }

  #place(heap, place) {
    const { numHoles } = this.#layout.ruleset;
    return heap < numHoles ? this.#layout.seed(heap, place) : this.#layout.traySeed(heap - numHoles, place);
  }

  #moveSeed(circle, [x, y], seconds) {
    const from = [Number(circle.getAttribute("cx")), Number(circle.getAttribute("cy"))];
    circle.setAttribute("cx", number(x));
    circle.setAttribute("cy", number(y));
    if (!seconds || !circle.hasAttribute("data-lies")) {
      circle.setAttribute("data-lies", "");
      return;
    }
    this.seeds.append(circle); // above the seeds that do not move
    circle.animate(
      [{ transform: `translate(${from[0] - x}px, ${from[1] - y}px)` }, { transform: "none" }],
      { duration: 950 * seconds, easing: "ease-in-out" },
    );
  }
}
