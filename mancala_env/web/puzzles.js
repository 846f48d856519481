/** The Puzzles view: positions with one clearly best turn to find, one a day or as many as you like. */

import { BoardView } from "./board.js";
import { field, h, keepFocus, kept, select } from "./dom.js";
import { GameLine, turnText } from "./game.js";
import { endsOf, inWords, positionInWords, seedsText, timelineOf, turnsText } from "./motion.js";
import { BestLine, checkText } from "./puzzle_proof.js";
import { dayOf, GRADES, puzzlesOf, RULESETS } from "./puzzle_set.js";
import { playerName, valueText } from "./scene.js";
import { isAbort } from "./searches.js";
import { numberText, t } from "./texts.js";
import { legalInWords, whyNotSown } from "./turn_words.js";
import { storedLead } from "./values.js";

const today = () => dayOf(new Date());

export class PuzzlesView {
  #set = null;
  #puzzle = null;
  #values = {}; // final leads of the player to move after each legal action
  #isAnswered = false;
  #isDaily = false;
  #isChecking = false; // whether a check has not ended
  #loads = 0; // counts rulesets asked for
  #shows = 0; // counts positions shown, to stop what belongs to an earlier one
  #running = new AbortController(); // the line or the check that is running

  constructor(app) {
    this.app = app;
    this.proof = new BestLine();
    const place = h("div");
    const button = (name, act, kind = "") => h("button", { type: "button", class: kind, "data-does": name, onclick: act }, t(`puzzles.${name}`));
    const chosen = { ruleset: RULESETS[0], grade: 0, ...kept.read("puzzle", {}) };
    this.ruleset = RULESETS.includes(chosen.ruleset) ? chosen.ruleset : RULESETS[0];
    this.grade = [0, ...GRADES].includes(chosen.grade) ? chosen.grade : 0;
    this.rulesetChoice = select(RULESETS.map((name) => [name, app.engine.ruleset(name).title]), this.ruleset, (name) => this.#choose(name, this.grade));
    this.gradeChoice = select([0, ...GRADES].map((grade) => [String(grade), t(`puzzles.grade.${grade}`)]), String(this.grade), (grade) => this.#choose(this.ruleset, Number(grade)));
    this.title = h("h2", { tabindex: "-1" });
    this.about = h("p", { class: "about" }, h("small", {}));
    this.task = h("p", { class: "task" });
    this.told = h("p", { class: "told" });
    this.line = h("ol", { class: "turns", "aria-label": t("puzzles.line"), hidden: true });
    this.proved = h("p", { class: "proved" });
    this.progress = h("p", {});
    this.root = h("div", { class: "view puzzles" },
      h("section", { class: "table", "aria-label": t("board.label") }, place),
      h("section", { class: "panel" },
        h("h1", { class: "unseen" }, t("nav.puzzles")),
        h("div", { class: "card question" }, this.title, this.task),
        h("div", { class: "card" },
          this.told,
          h("div", { class: "row answers" },
            button("next", () => this.next(), "main"), button("again", () => this.#again()), button("solution", () => this.solve()),
            button("why", () => this.why()), button("check", () => this.check()), button("study", () => this.study())),
          this.line, this.proved, this.about),
        h("div", { class: "card choice" },
          field(t("puzzles.ruleset"), this.rulesetChoice),
          h("div", { class: "row" }, field(t("puzzles.grade"), this.gradeChoice), button("today", () => this.#today())),
          this.progress)));
    for (const name of ["next", "again", "solution", "why", "check", "study"]) this.root.querySelector(`[data-does=${name}]`).disabled = true; // until a puzzle is shown
    this.board = new BoardView(place, { onHole: (hole) => this.press(hole) });
    this.commands = {
      sow: (action) => this.sow(action),
      board: () => this.board.focus(),
      skip: () => this.board.skip(),
      legal: () => this.#puzzle && this.app.say(legalInWords(this.start)),
      position: () => this.#puzzle && this.app.say(positionInWords(this.start)),
      take_back: () => this.#puzzle && this.#again(),
      hint: () => this.solve(),
      values: () => this.check(),
      last_turn: () => this.why(),
      earlier: () => this.#walk(-1),
      later: () => this.#walk(1),
      go_on: () => this.next(),
      new_game: () => this.next(),
    };
  }

  /** Show a puzzle; `at` is the part of the address that names it: leyla/12. Without it, show that of today. */
  enter({ at } = {}) {
    const [name, number] = (at || "").split("/");
    if (!at && this.#puzzle) return this.goTo(this.#puzzle);
    const isKnown = RULESETS.includes(name);
    return this.#load(isKnown ? name : this.ruleset, (set) => {
      const named = isKnown ? set.puzzles[Number(number) - 1] : undefined;
      if (at && !named && !RULESETS.includes(at)) this.app.warn(t("puzzles.none", { puzzle: at }));
      return named ?? set.ofDay(today(), this.grade);
    });
  }

  leave() {
    this.#loads += 1; // puzzles that are loaded by now are not shown
    this.#stop();
  }

  #choose(name, grade) {
    this.grade = grade;
    return this.#load(name, (set) => set.ofDay(today(), grade));
  }

  #today() {
    return this.#choose(this.ruleset, this.grade);
  }

  /** Load the puzzles of a ruleset and show one of them. */
  async #load(name, chosen) {
    const load = ++this.#loads;
    this.app.warn("");
    try {
      const set = await puzzlesOf(name);
      if (load !== this.#loads) return;
      this.#set = set;
      this.ruleset = name;
      this.goTo(chosen(set));
    } catch (error) {
      if (load !== this.#loads) return;
      this.rulesetChoice.value = this.ruleset;
      this.app.warn(t("puzzles.not_loaded", { title: this.app.engine.ruleset(name).title, why: error.message }));
    }
  }

  /** Show a puzzle of the loaded set. */
  goTo(puzzle) {
    this.#puzzle = puzzle;
    if (this.grade && this.grade !== puzzle.grade) this.grade = puzzle.grade;
    this.rulesetChoice.value = this.ruleset;
    this.gradeChoice.value = String(this.grade);
    this.#isDaily = puzzle === this.#set.ofDay(today(), this.grade);
    this.start = this.app.engine.fromText(puzzle.text);
    const stored = storedLead(this.start);
    this.#values = Object.fromEntries(this.start.legal.map((action, n) => [action, puzzle.values[n] + stored]));
    kept.write("puzzle", { ruleset: this.ruleset, grade: this.grade });
    this.app.addressText(`puzzles/${this.ruleset}/${puzzle.number}`);
    this.#again();
  }

  #again() {
    this.#show();
    this.app.say(`${this.title.textContent}. ${this.task.textContent}`);
  }

  /** The best action. */
  get best() {
    return this.start.legal[this.#puzzle.values.indexOf(Math.max(...this.#puzzle.values))];
  }

  /** Show the puzzle before an answer. */
  #show() {
    const { start } = this, puzzle = this.#puzzle;
    this.#stop();
    this.#isAnswered = false;
    const title = { number: puzzle.number, all: this.#set.puzzles.length, grade: t(`puzzles.grade.${puzzle.grade}`) };
    this.title.textContent = t(this.#isDaily ? "puzzles.title_today" : "puzzles.title", title);
    this.about.firstChild.textContent = this.#aboutText();
    const [first, second] = [...puzzle.values].sort((a, b) => b - a);
    this.task.textContent = t("puzzles.task", { player: playerName(start.player), seeds: seedsText(first - second) });
    this.told.textContent = this.proved.textContent = "";
    this.line.hidden = true;
    this.line.replaceChildren();
    this.board.show(start, { legal: start.legal.map((action) => start.holeOf(action)) });
    this.#enable();
  }

  /** Stop the line, the check and the answer that are running. */
  #stop() {
    this.#shows += 1;
    this.#running.abort();
    this.#running = new AbortController();
    this.board.skip();
    return this.#shows;
  }

  #aboutText() {
    const { lookahead, failing } = this.#puzzle;
    const seen = lookahead > 8 ? t("puzzles.lookahead_more") : lookahead > 1 ? t("puzzles.lookahead", { turns: lookahead }) : t("puzzles.lookahead_one");
    return failing.length ? `${seen} ${t("puzzles.failing", { agents: failing.join(", ") })}` : seen;
  }

  #enable() {
    const { solved, first, all } = this.#set.progress(this.grade);
    this.progress.textContent = t("puzzles.progress", { solved, first, all });
    for (const [name, isOn] of Object.entries({ next: true, again: this.#isAnswered, solution: !this.#isAnswered, why: this.#isAnswered, check: true, study: true }))
      this.root.querySelector(`[data-does=${name}]`).disabled = !isOn;
    keepFocus(this.board);
  }

  press(hole) {
    if (this.board.isMoving) return this.board.skip();
    if (this.#puzzle) this.sow(this.start.actionOf(hole));
  }

  sow(action) {
    if (!this.#puzzle) return;
    if (this.board.isMoving) this.board.skip();
    const { start } = this;
    if (!start.legal.includes(action)) return this.app.say(whyNotSown(start, action));
    if (this.#isAnswered) this.#show();
    this.#set.mark(this.#puzzle.number, action === this.best);
    return this.#answer(action, true);
  }

  /** Show the best turn; the puzzle then counts as not solved. */
  solve() {
    if (!this.#puzzle || this.#isAnswered) return;
    this.#set.mark(this.#puzzle.number, false);
    return this.#answer(this.best, false);
  }

  /** Play a turn, then show the position again with the value of every hole. */
  async #answer(action, isYours) {
    const { start, best } = this, timeline = timelineOf(start, action), after = start.after(action);
    const show = this.#stop();
    this.#isAnswered = true;
    if (this.#isChecking) this.proved.textContent = ""; // the check was stopped
    this.#enable();
    await this.board.move(start, timeline, after, this.app.speed, true);
    if (show !== this.#shows) return;
    this.#showValues(timeline);
    const values = { turn: turnText({ player: start.player, action }), value: valueText(this.#values[action]), best: turnText({ player: start.player, action: best }), most: valueText(this.#values[best]), seeds: seedsText(this.#values[best] - this.#values[action]) };
    const isRight = action === best;
    const verdict = t(!isYours ? "puzzles.solved" : isRight ? "puzzles.right" : "puzzles.wrong", values);
    const tags = this.#puzzle.tags.filter((tag) => tag !== "trap").map((tag) => t(tag === "own" ? `puzzles.tag.own.${start.ruleset.dials.landing}` : `puzzles.tag.${tag}`, { turn: values.best }));
    this.told.textContent = [verdict, ...tags].join(" ");
    this.told.classList.toggle("wrong", !isRight);
    const all = Object.entries(this.#values).map(([one, value]) => `${turnText({ player: start.player, action: Number(one) })} ${valueText(value)}`);
    this.app.say(`${inWords(start.ruleset, timeline).join(" ")} ${this.told.textContent} ${t("play.values_said", { values: all.join(", ") })}`);
  }

  #showValues(timeline) {
    const { start } = this;
    const values = Object.fromEntries(Object.entries(this.#values).map(([action, value]) => [start.holeOf(Number(action)), value]));
    this.board.show(start, { legal: start.legal.map((action) => start.holeOf(action)), last: endsOf(timeline), values });
  }

  /** Play the best line after the best turn: the solver finds each turn. */
  async why() {
    if (!this.#puzzle || !this.#isAnswered) return;
    const { start } = this, show = this.#stop(), { signal } = this.#running;
    const turns = [];
    this.line.replaceChildren();
    this.line.hidden = false;
    this.proved.textContent = t("puzzles.why_wait");
    const isOff = () => show !== this.#shows;
    try {
      for await (const { before, action, after } of this.proof.turns(start, this.best, signal)) {
        if (isOff()) return;
        const turn = turnText({ player: before.player, action });
        turns.push(turn);
        this.line.append(h("li", { class: before.player ? "north" : "south" }, h("b", {}, turn)));
        this.app.say(`${turn}. ${inWords(before.ruleset, timelineOf(before, action)).join(" ")}`);
        await this.board.move(before, timelineOf(before, action), after, this.app.speed);
        if (isOff()) return;
        this.end = after;
      }
      this.proved.textContent = this.#lineText(this.end, turns);
    } catch (error) {
      if (isAbort(error) || isOff()) return;
      this.proved.textContent = "";
      this.app.warn(error.message);
    }
  }

  /** What the best line leads to. */
  #lineText(end, turns) {
    const values = { turns: turnsText(turns.length), player: playerName(this.start.player), lead: valueText(this.#values[this.best]) };
    const said = t(end.isOver ? "puzzles.line_over" : "puzzles.line_open", values);
    this.app.say(said);
    return said;
  }

  /** Prove the values again with the page's solver. */
  async check() {
    if (!this.#puzzle) return;
    if (!this.line.hidden) this.#stop(); // the line, which says its end in the same place
    const { start } = this, { signal } = this.#running, show = this.#shows;
    this.proved.textContent = t("puzzles.check_wait");
    this.#isChecking = true;
    try {
      const found = await this.proof.values(start, signal, ({ nodes }) => {
        if (show === this.#shows) this.proved.textContent = t("puzzles.proving", { nodes: numberText(nodes) });
      });
      if (show !== this.#shows) return;
      this.#isChecking = false;
      this.proved.textContent = checkText(start, found, this.#values);
      this.app.say(this.proved.textContent);
    } catch (error) {
      if (isAbort(error) || show !== this.#shows) return;
      this.#isChecking = false;
      this.proved.textContent = "";
      this.app.warn(error.message);
    }
  }

  study() {
    if (this.#puzzle) this.app.go("study", { line: new GameLine(this.start) });
  }

  /** Go to the next puzzle of the grade that is not solved. */
  next() {
    if (this.#puzzle) this.goTo(this.#set.next(this.#puzzle.number, this.grade));
  }

  #walk(by) {
    const next = this.#puzzle && this.#set.neighbour(this.#puzzle.number, this.grade, by);
    if (next) this.goTo(next);
  }
}
