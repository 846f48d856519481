/** A form to set up a position: seeds, owners, stores, player to move. */

import { field, h, select } from "./dom.js";
import { placeName } from "./motion.js";
import { rulesetFields } from "./rulesets.js";
import { playerName } from "./scene.js";
import { t } from "./texts.js";

export class SetUp {
  #holes = [];
  #ruleset = null;

  /** @param {object} app @param {(game: import("./engine.js").Game) => void} use  Called with the position. */
  constructor(app, use) {
    this.app = app;
    this.rulesetForm = rulesetFields(app, "study");
    this.board = h("div", { class: "setup-board" });
    this.stores = [0, 1].map(() => h("input", { type: "number", min: 0, max: 255, value: 0 }));
    this.player = select([0, 1].map((player) => [String(player), playerName(player)]), "0");
    this.wrong = h("p", { role: "alert", class: "verdict" });
    this.element = h("form", { class: "fields", onsubmit: (event) => {
      event.preventDefault();
      this.#use(use);
    } },
      this.rulesetForm.element,
      h("button", { type: "button", onclick: () => this.#start() }, t("set_up.start")),
      this.board,
      h("div", { class: "setup-row" }, this.stores.map((input, player) => field(t("set_up.store", { player: playerName(player) }), input)), field(t("set_up.player"), this.player)),
      this.wrong,
      h("button", { type: "submit", class: "main" }, t("set_up.use")));
  }

  /** Fill the form with a position. */
  show(game) {
    const { ruleset, seeds, owner, stores, player } = game;
    this.#ruleset = ruleset;
    this.rulesetForm.set(ruleset);
    this.#holes = seeds.map((number, hole) => ({
      seeds: h("input", { type: "number", min: 0, max: 255, value: number, "aria-label": t("set_up.seeds", { hole: placeName(ruleset, hole) }) }),
      owner: select([["-1", t("set_up.free")], ...[0, 1].map((who) => [String(who), playerName(who)])], String(owner[hole])),
    }));
    this.#holes.forEach(({ owner: choice }, hole) => choice.setAttribute("aria-label", t("set_up.owner", { hole: placeName(ruleset, hole) })));
    this.board.replaceChildren(...ruleset.rows.map((row, n) => h("fieldset", {}, h("legend", {}, playerName(1 - n)),
      h("div", { class: "setup-row" }, row.map((hole) => h("div", { class: "pair" }, h("small", { "aria-hidden": "true" }, placeName(ruleset, hole)), this.#holes[hole].seeds, this.#holes[hole].owner))))));
    this.stores.forEach((input, who) => { input.value = stores[who]; });
    this.player.value = String(player);
    this.wrong.textContent = "";
  }

  #start() {
    try {
      this.show(this.app.engine.newGame(this.rulesetForm.read()));
    } catch (error) {
      this.wrong.textContent = error.message;
    }
  }

  #use(use) {
    this.wrong.textContent = "";
    const whole = (input) => (input.value.trim() === "" ? 0 : Number(input.value));
    try {
      const game = this.app.engine.setUp(this.#ruleset, {
        seeds: this.#holes.map(({ seeds }) => whole(seeds)),
        owner: this.#holes.map(({ owner }) => Number(owner.value)),
        stores: this.stores.map(whole),
        player: Number(this.player.value),
      });
      use(game);
    } catch (error) {
      this.wrong.textContent = error.message;
    }
  }
}
