/** The opening explorer of Study: the moves of the opening with their exact values, as a tree along the studied game. */

import { h } from "./dom.js";
import { turnText } from "./game.js";
import { playerName } from "./scene.js";
import { t } from "./texts.js";
import { bestOf, finalLeads } from "./values.js";
import { boundsText } from "./values_table.js";

const LEVELS = 4; // of the tree that are shown; "Back" leads to earlier ones

export class Explorer {
  #shown = ""; // what the tree was last drawn from
  #isHidden = false;

  /** @param {{analysis: import("./game_analysis.js").GameAnalysis, follow: (at: number, action: number | null) => void, restart: () => void}} hooks
   * `follow` goes to a place of the game and plays an action there, or none. `restart` goes to the start of round 1.
   */
  constructor({ analysis, follow, restart }) {
    this.analysis = analysis;
    this.follow = follow;
    this.line = null;
    const button = (name, act) => h("button", { type: "button", "data-does": `explorer-${name}`, onclick: act }, t(`explorer.${name}`));
    this.back = button("back", () => this.follow(this.line.at - 1, null));
    this.toStart = button("to_start", restart);
    this.tree = h("div", { class: "tree" });
    this.source = h("p", {}, h("small", {}));
    this.element = h("details", { class: "card explorer", ontoggle: () => this.line && this.show(this.line, this.#isHidden) },
      h("summary", {}, t("explorer.title")), this.tree, this.source, h("div", { class: "row" }, this.back, this.toStart));
  }

  /** Show the current place of a game; nothing of it if `isHidden`, while the user looks for a better turn. */
  show(line, isHidden = false) {
    this.line = line;
    this.#isHidden = isHidden;
    if (!this.element.open) return;
    this.back.disabled = line.at === 0;
    this.toStart.disabled = line.at === 0 && isStart(line.first);
    const from = Math.max(0, line.at - LEVELS + 1);
    const levels = isHidden ? [] : Array.from({ length: line.at - from + 1 }, (_, n) => this.#level(line, from + n));
    this.source.firstChild.textContent = isHidden ? t("study.hidden") : this.#sourceText(line.game);
    const shown = JSON.stringify(levels);
    if (shown === this.#shown) return; // keep the focus
    this.#shown = shown;
    const focused = this.tree.contains(document.activeElement) ? document.activeElement.dataset.move : null;
    this.tree.replaceChildren(...levels.slice(0, 1).map(() => this.#list(levels, 0)));
    if (focused) (this.tree.querySelector(`[data-move="${focused}"]`) ?? this.back).focus();
    if (levels.length) this.#ask(line, from);
  }

  /** The moves in a position of the game: their values, and which of them was played. */
  #level(line, at) {
    const game = at ? line.turns[at - 1].following : line.first;
    const bounds = finalLeads(game, this.analysis.bounds(game)), best = bestOf(game, bounds);
    const played = at < line.at ? line.turns[at].action : null;
    const moves = game.legal.map((action) => ({ action, turn: turnText({ player: game.player, action }), value: boundsText(bounds[action]), isBest: best.includes(action), isPlayed: action === played }));
    const turns = line.turns.slice(0, at).map(turnText).join(" ");
    return { at, moves, label: at ? t("explorer.moves", { player: playerName(game.player), turns }) : t("explorer.moves_first", { player: playerName(game.player) }) };
  }

  /** A level of the tree. The level below is inside the move that was played. */
  #list(levels, n) {
    const { at, moves, label } = levels[n];
    return h("ul", { "aria-label": label }, moves.map(({ action, turn, value, isBest, isPlayed }) => h("li", { class: isBest ? "best" : null },
      h("button", { type: "button", "data-move": `${at}-${action}`, "aria-label": t("explorer.move", { turn, value }), "aria-expanded": String(isPlayed), onclick: () => this.follow(at, isPlayed ? null : action) }, h("b", {}, turn), h("span", {}, value)),
      isPlayed && levels[n + 1] ? this.#list(levels, n + 1) : null)));
  }

  #sourceText(game) {
    if (game.isOver) return t("explorer.over");
    const { values = {} } = this.analysis.of(game).book ?? {};
    return t(Object.keys(values).length === game.legal.length ? "explorer.book" : "explorer.solver");
  }

  /** Ask the book for the earlier positions of the tree; Study asks it for the current one. */
  async #ask(line, from) {
    for (let at = from; at < line.at; at++) {
      const game = at ? line.turns[at - 1].following : line.first;
      if ((await this.analysis.lookUp(game)) && this.line === line) this.show(line, this.#isHidden);
    }
  }
}

/** Whether a position is the start of round 1. */
function isStart(game) {
  return game.text === game.engine.newGame(game.ruleset).text;
}
