/** The card of a game's report, in Play at the end of a game and in Study. */

import { h } from "./dom.js";
import { turnText } from "./game.js";
import { seedsText } from "./motion.js";
import { KINDS, MOST_LOST, reportOf } from "./report.js";
import { playerName } from "./scene.js";
import { t } from "./texts.js";

/** Seeds lost by each kind of turn, in words. */
const RANGES = { best: "0", good: `1–${MOST_LOST.good}`, mistake: `${MOST_LOST.good + 1}–${MOST_LOST.mistake}`, blunder: `${MOST_LOST.mistake + 1}+` };

export class ReportCard {
  #shown = ""; // the worst moments

  /** @param {import("./game_analysis.js").GameAnalysis} analysis
   * @param {{jump: (at: number) => void, retry?: () => void}} does  `jump` is called with the number of turns before a moment.
   *   With `retry`, the card has a button that calls it.
   */
  constructor(analysis, { jump, retry }) {
    this.analysis = analysis;
    this.jump = jump;
    this.table = h("table", { class: "values report" });
    this.note = h("p", {});
    this.worst = h("ol", { class: "moments", "aria-label": t("report.worst") });
    this.worstTitle = h("h3", {}, t("report.worst"));
    const again = retry && h("div", { class: "row end" }, h("button", { type: "button", onclick: retry, "data-does": "retry_yours" }, t("study.retry")));
    this.element = h("section", { class: "card", hidden: true },
      h("h2", {}, t("report.title")), this.table, this.note, this.worstTitle, this.worst, again);
  }

  /** Show the report of a game; nothing of a game without turns. @param {import("./game.js").GameLine} line @param {boolean} isDone  Whether grading has ended. */
  draw(line, isDone) {
    this.element.hidden = !line.turns.length;
    if (this.element.hidden) return;
    const { sides, worst } = reportOf(line, this.analysis);
    const row = (label, cell) => h("tr", {}, h("th", { scope: "row" }, label), sides.map((side) => h("td", {}, cell(side))));
    this.table.replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("report.turns")), [0, 1].map((player) => h("th", { scope: "col" }, playerName(player))))),
      h("tbody", {},
        row(t("report.accuracy"), ({ accuracy }) => (accuracy === null ? "–" : t("report.percent", { number: Math.round(100 * accuracy) }))),
        KINDS.map((kind) => row(t(`report.${kind}`, { range: RANGES[kind] }), (side) => side[kind])),
        row(t("report.lost"), ({ lost }) => lost)));
    const graded = sides[0].graded + sides[1].graded, turns = line.turns.length;
    this.note.textContent = `${graded < turns ? `${t(isDone ? "report.open" : "report.grading", { graded, turns })} ` : ""}${t("report.meaning")}`;
    this.worst.hidden = this.worstTitle.hidden = !worst.length;
    const labels = worst.map(({ at, turn, lost }) => `${at + 1}. ${turnText(turn)} −${lost}`);
    if (labels.join() === this.#shown) return; // a press of a button that is replaced would be lost
    this.#shown = labels.join();
    const focused = this.worst.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.worst.replaceChildren(...worst.map(({ at, turn, lost }, n) => h("li", {}, h("button", {
      type: "button",
      onclick: () => this.jump(at),
      "aria-label": t("report.moment", { number: at + 1, turn: turnText(turn), seeds: seedsText(lost) }),
    }, labels[n]))));
    if (focused) [...this.worst.children].map((item) => item.firstChild).find((one) => one.textContent === focused)?.focus();
  }
}
