/** The table of a position's values in Study: a row for each legal action, a column for each way to find values. */

import { h } from "./dom.js";
import { turnText } from "./game.js";
import { statusOf, valueText } from "./scene.js";
import { numberText, t } from "./texts.js";
import { bestOf, boundsOf, finalLeads, storedLead } from "./values.js";

const EXACT = ["exact", "book"], ENGINES = ["search", "mcts", "network"];

/** Bounds of a value in words; "\u2026" if none are known. */
export function boundsText(bounds) {
  if (!bounds) return "\u2026";
  const { lower, upper } = bounds;
  return lower === upper ? valueText(lower) : t("study.between", { lower: valueText(lower), upper: valueText(upper) });
}

/** The final leads of the player to move in words, from bounds of the actions' values; "" if none are known. */
export function valuesInWords(game, bounds) {
  const leads = Object.entries(finalLeads(game, bounds));
  const values = leads.map(([action, lead]) => `${turnText({ player: game.player, action: Number(action) })} ${boundsText(lead)}`);
  return values.length ? t("play.values_said", { values: values.join(", ") }) : "";
}

export class ValuesTable {
  #layout = ""; // the turns and the number of columns
  #titles = [];
  #rows = []; // {row, cells} of each turn

  /** @param {(action: number) => void} press  Called with the action whose button is pressed.
   * @param {(areShown: boolean) => void} toggle  Called when the columns of the engines are switched on or off.
   */
  constructor(press, areEnginesShown, toggle) {
    this.press = press;
    this.engines = h("input", { type: "checkbox", checked: areEnginesShown, onchange: () => toggle(this.engines.checked) });
    this.table = h("table", { class: "values" });
    this.note = h("p", {});
    this.columnsNote = h("p", {}, h("small", {}, t("study.columns")));
    this.element = h("section", { class: "card" }, h("h2", {}, t("study.values")),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("study.values") }, this.table), this.note,
      h("label", { class: "check" }, this.engines, t("study.engines")), this.columnsNote);
  }

  /** Show what is known of a position; nothing if `isHidden`, while the user looks for a better turn.
   * @param {import("./engine.js").Game} game @param {object} known  Values as {@link GameAnalysis#of} returns them.
   */
  draw(game, known, isHidden) {
    this.table.hidden = game.isOver || isHidden;
    if (isHidden) {
      this.note.textContent = t("study.hidden");
      return;
    }
    const bounds = finalLeads(game, boundsOf(known)), best = bestOf(game, bounds), stored = storedLead(game);
    const columns = [...EXACT, ...(this.engines.checked ? ENGINES : [])].filter((name) => name === "exact" || known[name]?.values && Object.keys(known[name].values).length);
    this.columnsNote.hidden = !columns.some((name) => ENGINES.includes(name));
    const cell = (name, action) => {
      if (name === "exact") return [boundsText(bounds[action]), bounds[action]?.lower === bounds[action]?.upper ? null : "open"];
      const value = known[name].values[action] + (name === "mcts" ? 0 : stored);
      return [Number.isNaN(value) ? "" : valueText(Math.round(value * 100) / 100), null];
    };
    this.#fill([t("study.move"), ...columns.map((name) => t(`study.column.${name}`, { depth: known.search?.depth ?? "" }))],
      game.legal.map((action) => ({ action, turn: turnText({ player: game.player, action }), isBest: best.includes(action), cells: columns.map((name) => cell(name, action)) })));
    this.note.textContent = game.isOver ? statusOf(game.ruleset, game) : noteText(game, known, bounds);
  }

  /** Fill the table. Its buttons stay while turns and columns do: a press of one that is replaced would be lost. */
  #fill(titles, rows) {
    const layout = [titles.length, ...rows.map(({ turn }) => turn)].join(" ");
    if (layout !== this.#layout) this.#build(titles, rows);
    this.#layout = layout;
    this.#titles.forEach((title, n) => { title.textContent = titles[n]; });
    this.#rows.forEach(({ row, cells }, n) => {
      mark(row, rows[n].isBest ? "best" : null);
      cells.forEach((cell, column) => {
        const [text, kind] = rows[n].cells[column];
        cell.textContent = text;
        mark(cell, kind);
      });
    });
  }

  #build(titles, rows) {
    this.#titles = titles.map(() => h("th", { scope: "col" }));
    this.#rows = rows.map(({ action, turn, cells: { length } }) => {
      const cells = Array.from({ length }, () => h("td"));
      return { cells, row: h("tr", {}, h("td", {}, h("button", { type: "button", onclick: () => this.press(action), "data-action": action }, turn)), cells) };
    });
    const focused = this.table.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    this.table.replaceChildren(h("thead", {}, h("tr", {}, this.#titles)), h("tbody", {}, this.#rows.map(({ row }) => row)));
    if (focused) this.table.querySelector(`[data-action="${focused}"]`)?.focus();
  }
}

/** Set or remove the class of an element. */
function mark(element, kind) {
  if (kind) element.setAttribute("class", kind);
  else element.removeAttribute("class");
}

/** How far the proof is, and the line of the opening book. */
function noteText(game, known, bounds) {
  const open = game.legal.filter((action) => !bounds[action] || bounds[action].lower !== bounds[action].upper).length;
  const line = known.book?.line?.length ? ` ${t("study.book_line", { line: known.book.line.join(" ") })}` : "";
  if (!open) return `${t("study.all_exact")}${line}`;
  const nodes = numberText(known.exact?.nodes ?? 0);
  return (known.exact?.hasEnded ? t("study.gave_up", { nodes }) : t("study.proving", { nodes })) + line;
}
