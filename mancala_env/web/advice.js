/** What Play tells the user about a game: values and the coach, a hint, and the report of a game that is over. */

import { doesText } from "./coach.js";
import { Coach } from "./coach_card.js";
import { h } from "./dom.js";
import { turnText } from "./game.js";
import { sharedAnalysis } from "./game_analysis.js";
import { ReportCard } from "./report_card.js";
import { isAbort } from "./searches.js";
import { t } from "./texts.js";
import { badgesOf } from "./values.js";
import { valuesInWords } from "./values_table.js";

/** The searches behind "Values", and the time for exact values. */
const VALUES = { names: ["book", "exact", "search"], milliseconds: 8000 };

export class Advice {
  #areValuesWanted = false;
  #analysis = null;
  #coach = null;
  #report = null;
  #hinting = null; // cancels the search for a hint

  /** @param {import("./play.js").PlayView} view */
  constructor(view) {
    this.view = view;
    this.element = h("div", { class: "extra" });
    this.valuesButton = h("button", { type: "button", "data-does": "values", "aria-pressed": "false", onclick: () => this.toggleValues() }, t("play.values"));
  }

  /** The analysis of the page; its workers start when it is first used. */
  get analysis() {
    return (this.#analysis ??= sharedAnalysis(this.view.app));
  }

  /** The coach, who speaks while values are shown. */
  get coach() {
    if (!this.#coach) {
      this.#coach = new Coach(this.analysis);
      this.element.append(this.#coach.element);
    }
    return this.#coach;
  }

  /** The card of the report of a game that is over. */
  get report() {
    if (!this.#report) {
      const { view } = this;
      const jump = (at) => {
        const line = view.line.copy();
        line.goTo(at);
        view.app.go("study", { line });
      };
      this.#report = new ReportCard(this.analysis, { jump, retry: () => view.app.go("study", { line: view.line.copy(), isRetry: true }) });
      this.element.append(this.#report.element);
    }
    return this.#report;
  }

  /** Whether values are shown now. */
  get #areValuesShown() {
    return this.#areValuesWanted && this.view.isYours;
  }

  /** The values at the holes, if they are shown. */
  get badges() {
    const { game } = this.view.line;
    return this.#areValuesShown ? badgesOf(game, this.analysis.of(game)) : {};
  }

  toggleValues() {
    this.#areValuesWanted = !this.#areValuesWanted;
    this.valuesButton.setAttribute("aria-pressed", String(this.#areValuesWanted));
    this.analysis.stopAnalysis();
    this.view.refresh();
    if (!this.#areValuesWanted) this.view.app.say(t("play.values_off"));
    this.askValues();
    const { game } = this.view.line; // values that are known are not asked for
    if (this.#areValuesShown && this.analysis.of(game).exact?.isExact) this.view.app.say(valuesInWords(game, this.analysis.bounds(game)));
  }

  /** Look for the values of the position, if they are shown. */
  askValues() {
    if (!this.#areValuesShown) return;
    const { view } = this, { game } = view.line;
    let isSaid = false;
    this.analysis.analyse(game, () => {
      if (view.line.game !== game || !this.#areValuesShown) return;
      view.board.mark({ values: this.badges });
      this.coach.draw(game);
      const { exact } = this.analysis.of(game);
      if (isSaid || !(exact?.isExact || exact?.hasEnded)) return;
      isSaid = true;
      view.app.say(valuesInWords(game, this.analysis.bounds(game)));
    }, VALUES);
  }

  /** Show or hide the coach after a change of the game. */
  draw() {
    if (this.#areValuesShown) this.coach.draw(this.view.line.game);
    else this.#coach?.hide();
  }

  /** Show the report of a game that is over, and grade its turns. */
  showReport() {
    const { line } = this.view;
    if (!line.isOver) {
      if (this.#report) this.#report.element.hidden = true;
      return;
    }
    const draw = (isDone) => this.view.line === line && line.isOver && this.report.draw(line, isDone);
    draw(false);
    this.analysis.grade(line, () => draw(false)).then((isDone) => isDone && draw(true));
  }

  async hint() {
    const { view } = this, { game } = view.line;
    view.status.textContent = t("play.hint_wait");
    this.#hinting?.abort();
    const { signal } = (this.#hinting = new AbortController());
    try {
      const { action } = await view.searches.ask("choose", game, { kind: "perfect", strength: 2 }, { signal });
      if (!view.isShown || !view.isYours || view.line.game !== game) return;
      view.refresh();
      view.board.mark({ values: { ...this.badges, [game.holeOf(action)]: t("play.hint_badge") } });
      view.status.textContent = t("play.hint_said", { turn: turnText({ player: game.player, action }), does: doesText(game, action) });
      view.app.say(view.status.textContent);
    } catch (error) {
      if (isAbort(error) || !view.isShown) return;
      if (view.line.game === game) view.refresh();
      view.app.warn(error.message);
    }
  }

  /** Stop the analysis of the position that is left. */
  stopAnalysis() {
    this.#hinting?.abort();
    this.#analysis?.stopAnalysis();
  }

  /** Stop all searches. */
  stop() {
    this.#hinting?.abort();
    this.#analysis?.stop();
    this.#coach?.stop();
  }
}
