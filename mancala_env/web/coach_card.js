/** The coach: a list with a sentence about each legal turn, the best first. It finds the best replies of turns whose value is proved. */

import { coachText } from "./coach.js";
import { h } from "./dom.js";
import { isAbort } from "./searches.js";
import { t } from "./texts.js";
import { finalLeads } from "./values.js";

const REPLY_MILLISECONDS = 2000;

export class Coach {
  #asking = null; // cancels the search for replies
  #game = null;
  #said = "";

  /** @param {import("./game_analysis.js").GameAnalysis} analysis */
  constructor(analysis) {
    this.analysis = analysis;
    this.list = h("ul", { class: "coach" });
    this.element = h("section", { class: "card", hidden: true }, h("h2", {}, t("coach.title")), this.list);
  }

  /** Show what is known of a position's turns, and look for the best replies. */
  draw(game) {
    if (this.#game !== game) this.stop();
    this.#game = game;
    this.element.hidden = game.isOver;
    const leads = finalLeads(game, this.analysis.bounds(game));
    const exact = (action) => (leads[action] && leads[action].lower === leads[action].upper ? leads[action].lower : undefined);
    const ranked = [...game.legal].sort((one, other) => (exact(other) ?? -Infinity) - (exact(one) ?? -Infinity) || one - other);
    const sentences = ranked.map((action) => coachText(game, action, { lead: exact(action), reply: this.#reply(game, action) }));
    if (sentences.join() !== this.#said) this.list.replaceChildren(...sentences.map((said) => h("li", {}, said)));
    this.#said = sentences.join();
    const open = ranked.find((action) => exact(action) !== undefined && this.#isOpen(game, action));
    if (open !== undefined && !this.#asking) this.#find(game, open);
  }

  /** Hide the list. */
  hide() {
    this.stop();
    this.element.hidden = true;
  }

  stop() {
    this.#asking?.abort();
    this.#asking = null;
    this.#game = null;
  }

  #reply(game, action) {
    const after = game.after(action);
    return after.isOver ? undefined : this.analysis.best(after)[0];
  }

  #isOpen(game, action) {
    const after = game.after(action);
    return !after.isOver && !this.analysis.best(after).length && !this.analysis.of(after).exact?.hasEnded;
  }

  async #find(game, action) {
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    try {
      await this.analysis.prove(game.after(action), REPLY_MILLISECONDS, signal);
    } catch (error) {
      if (!isAbort(error)) this.analysis.app.warn(error.message);
      return;
    }
    if (signal.aborted) return;
    this.#asking = null;
    this.draw(game);
  }
}
