/** The Learn view: the rules of each game in ten steps. A step is a position and a turn to find. */

import { BoardView } from "./board.js";
import { h, keepFocus, kept } from "./dom.js";
import { turnText } from "./game.js";
import { endsOf, inWords, positionInWords, timelineOf } from "./motion.js";
import { t } from "./texts.js";
import { legalInWords, whyNotSown } from "./turn_words.js";

const WRONG_SHOWN = 1500; // milliseconds for which the end of a wrong turn stays
const lessons = await (await fetch(new URL("lessons.json", import.meta.url))).json();

export class LearnView {
  #game = "layli";
  #step = 0;
  #isAnswered = false;
  #answers = 0; // counts answers and steps, to stop what follows an earlier one

  constructor(app) {
    this.app = app;
    this.done = new Set(kept.read("learnt", []));
    const place = h("div");
    this.games = h("div", { class: "games", role: "group", "aria-label": t("learn.games") }, Object.keys(lessons).map((name) => h("button", { type: "button", "data-game": name, onclick: () => this.goTo(name, 0) }, t(`learn.${name}`))));
    this.steps = h("ol", { class: "steps", "aria-label": t("learn.steps") });
    this.title = h("h2", { tabindex: "-1" });
    this.text = h("p", {});
    this.task = h("p", { class: "task" });
    this.told = h("p", { class: "told" });
    const button = (name, act, kind = "") => h("button", { type: "button", class: kind, "data-does": name, onclick: act }, t(`learn.${name}`));
    this.root = h("div", { class: "view learn" },
      h("section", { class: "table", "aria-label": t("board.label") }, place),
      h("section", { class: "card lesson" },
        h("h1", { class: "unseen" }, t("nav.learn")),
        this.games, this.steps, this.title, this.text, this.task, this.told,
        h("div", { class: "row" },
          button("earlier", () => this.#walk(-1)),
          button("show_me", () => this.#answer(this.step.actions[0])),
          button("again", () => this.#show()),
          button("later", () => this.#walk(1), "main")),
        h("p", {}, h("small", { class: "source" }))));
    this.board = new BoardView(place, { onHole: (hole) => this.press(hole) });
    this.commands = {
      sow: (action) => this.sow(action),
      board: () => this.board.focus(),
      skip: () => this.board.skip(),
      legal: () => this.app.say(legalInWords(this.start)),
      position: () => this.app.say(positionInWords(this.start)),
      take_back: () => this.#show(),
      hint: () => this.#answer(this.step.actions[0]),
      earlier: () => this.#walk(-1),
      later: () => this.#walk(1),
      go_on: () => this.#walk(1),
    };
  }

  /** Show a step; `at` is the part of the address that names it: layli/3. */
  enter({ at } = {}) {
    this.isShown = true;
    const [game, number] = (at || kept.read("learn", "layli/1")).split("/");
    this.goTo(Object.hasOwn(lessons, game) ? game : "layli", (Number(number) || 1) - 1);
  }

  leave() {
    this.isShown = false;
    this.board.skip();
  }

  goTo(game, step) {
    this.#game = game;
    this.#step = Math.max(0, Math.min(lessons[game].steps.length - 1, Math.trunc(step)));
    kept.write("learn", `${game}/${this.#step + 1}`);
    this.app.addressText(`learn/${game}/${this.#step + 1}`);
    this.#show();
  }

  #walk(by) {
    const games = Object.keys(lessons), at = games.indexOf(this.#game);
    const next = this.#step + by;
    if (next < 0) return at > 0 && this.goTo(games[at - 1], Infinity);
    if (next >= lessons[this.#game].steps.length) return at + 1 < games.length && this.goTo(games[at + 1], 0);
    this.goTo(this.#game, next);
    this.title.focus({ preventScroll: true });
  }

  #key(what) {
    return `learn.${this.#game}.${this.#step + 1}.${what}`;
  }

  #show() {
    const { ruleset, steps } = lessons[this.#game], step = steps[this.#step];
    this.step = { ...step, actions: step.turns.map((turn) => Number(turn.slice(1)) - 1) };
    this.start = this.app.engine.fromText(`${ruleset} ${step.position}`);
    this.#answers += 1;
    this.#showStart();
    this.title.textContent = t("learn.title", { number: this.#step + 1, title: t(this.#key("title")) });
    this.text.textContent = t(this.#key("text"));
    this.task.textContent = t(this.#key("task"));
    this.told.textContent = "";
    this.root.querySelector(".source").textContent = t("learn.source", { title: this.start.ruleset.title, source: this.start.ruleset.source });
    for (const button of this.games.children) button.setAttribute("aria-pressed", String(button.dataset.game === this.#game));
    const hadFocus = this.steps.contains(document.activeElement);
    this.steps.replaceChildren(...steps.map((_, n) => {
      const isDone = this.done.has(`${this.#game}/${n + 1}`);
      const button = h("button", { type: "button", class: isDone ? "done" : null, "aria-label": t(isDone ? "learn.step_done" : "learn.step", { number: n + 1 }), "aria-current": n === this.#step ? "step" : null, onclick: () => this.goTo(this.#game, n) }, isDone ? "✓" : String(n + 1));
      return h("li", {}, button);
    }));
    if (hadFocus) this.steps.children[this.#step].firstChild.focus({ preventScroll: true });
    this.app.say(`${this.title.textContent}. ${this.text.textContent} ${this.task.textContent}`);
  }

  /** Show the position to play in; `last` are holes of a wrong turn. */
  #showStart(last = []) {
    this.#isAnswered = false;
    this.board.show(this.start, { legal: this.start.legal.map((action) => this.start.holeOf(action)), last });
    this.#enable();
  }

  #enable() {
    const names = Object.keys(lessons);
    const isFirst = this.#step === 0 && this.#game === names[0];
    const isLast = this.#step === lessons[this.#game].steps.length - 1 && this.#game === names.at(-1);
    this.root.querySelector("[data-does=earlier]").disabled = isFirst;
    this.root.querySelector("[data-does=later]").disabled = isLast;
    this.root.querySelector("[data-does=again]").disabled = !this.#isAnswered;
    this.root.querySelector("[data-does=show_me]").disabled = this.#isAnswered;
    keepFocus(this.board);
  }

  press(hole) {
    if (this.board.isMoving) return this.board.skip();
    this.sow(this.start.actionOf(hole));
  }

  sow(action) {
    if (this.board.isMoving) this.board.skip();
    if (this.#isAnswered) this.#show();
    if (this.start.legal.includes(action)) return this.#answer(action);
    this.told.textContent = whyNotSown(this.start, action);
    this.told.classList.toggle("wrong", true);
    this.app.say(this.told.textContent);
  }

  async #answer(action) {
    const { start, step } = this, after = start.copy();
    const timeline = timelineOf(start, action), turn = after.play(action);
    this.#isAnswered = true;
    this.#enable();
    this.told.textContent = "";
    const answer = ++this.#answers, isRight = step.actions.includes(action);
    if (isRight) {
      this.done.add(`${this.#game}/${this.#step + 1}`);
      for (const each of kept.read("learnt", [])) this.done.add(each); // another tab may have completed more steps
      kept.write("learnt", [...this.done]);
    }
    await this.board.move(start, timeline, after, this.app.speed, true);
    if (answer !== this.#answers) return;
    const [south, north] = after.counts;
    if (isRight) {
      if (step.next) this.board.show(after.nextRound());
      this.told.textContent = t(this.#key("told"), { turn: turnText(turn), laps: turn.laps, captured: turn.captured, south, north });
      const button = this.steps.children[this.#step].firstChild;
      button.className = "done";
      button.textContent = "✓";
      button.setAttribute("aria-label", t("learn.step_done", { number: this.#step + 1 }));
    } else {
      this.told.textContent = t("learn.other", { turn: turnText(turn) });
    }
    this.told.classList.toggle("wrong", !isRight);
    if (this.isShown) this.app.say(`${inWords(start.ruleset, timeline).join(" ")} ${this.told.textContent}`);
    if (isRight) return;
    if (this.app.speed[0]) await new Promise((resolve) => setTimeout(resolve, WRONG_SHOWN));
    if (answer === this.#answers) this.#showStart(endsOf(timeline));
  }
}
