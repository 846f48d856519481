/** A form to set up a position: a board to press, or fields for seeds, owners, stores and the player to move. */

import { BoardView } from "./board.js";
import { field, h, select } from "./dom.js";
import { placeName, seedsText } from "./motion.js";
import { rulesetFields } from "./rulesets.js";
import { playerName } from "./scene.js";
import { t } from "./texts.js";

/** What a press of a hole does, by the names of the buttons. */
const PRESSES = {
  add: ({ seeds }) => { seeds.value = String(Math.min(255, whole(seeds) + 1)); },
  take: ({ seeds }) => { seeds.value = String(Math.max(0, whole(seeds) - 1)); },
  owner: ({ owner }) => { owner.value = { "-1": "0", 0: "1", 1: "-1" }[owner.value]; },
};

/** The number in a field; an empty one has 0. */
const whole = (input) => (String(input.value).trim() === "" ? 0 : Number(input.value));

export class SetUp {
  #press = "add";
  #match = {}; // what the form lacks fields for: territory, round, starter and debts
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
    this.place = h("div", { onkeydown: (event) => event.stopPropagation() }); // digits sow on the board of the view
    this.presses = Object.keys(PRESSES).map((name) => h("button", { type: "button", "data-does": name, onclick: () => this.#choose(name) }, t(`set_up.press.${name}`)));
    this.rulesetForm.element.addEventListener("change", () => this.#useRules());
    this.element = h("form", { class: "fields", oninput: () => this.#ruleset && this.#draw(), onsubmit: (event) => {
      event.preventDefault();
      this.#use(use);
    } },
      this.rulesetForm.element,
      h("button", { type: "button", onclick: () => this.#start() }, t("set_up.start")),
      h("div", { class: "row", role: "group", "aria-label": t("set_up.press") }, this.presses),
      h("div", {}, this.place),
      h("div", { class: "setup-row" }, this.stores.map((input, player) => field(t("set_up.store", { player: playerName(player) }), input)), field(t("set_up.player"), this.player)),
      h("details", {}, h("summary", {}, t("set_up.fields")), this.board),
      this.wrong,
      h("button", { type: "submit", class: "main" }, t("set_up.use")));
  }

  /** Fill the form with a position. */
  show(game) {
    const { ruleset, seeds, owner, stores, player } = game;
    this.#takeRules(game);
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
    this.#choose(this.#press);
    this.#draw();
  }

  #choose(name) {
    this.#press = name;
    for (const button of this.presses) button.setAttribute("aria-pressed", String(button.dataset.does === name));
  }

  #change(hole) {
    const { numHoles, dials } = this.#ruleset;
    PRESSES[this.#press](this.#holes[hole]);
    // Owned holes come in opposite pairs, except wegs.
    if (this.#press === "owner" && dials.landing !== "weg") this.#holes[numHoles - 1 - hole].owner.value = this.#holes[hole].owner.value;
    this.#draw();
    const { seeds, owner } = this.#read();
    const held = owner[hole] < 0 ? t("set_up.free") : playerName(owner[hole]);
    this.app.say(`${t("hole.seeds", { hole: placeName(this.#ruleset, hole), seeds: seedsText(seeds[hole]) })}, ${held}`);
  }

  /** The position in the fields. */
  #read() {
    return {
      seeds: this.#holes.map(({ seeds }) => whole(seeds)),
      owner: this.#holes.map(({ owner }) => Number(owner.value)),
      stores: this.stores.map(whole),
      player: Number(this.player.value),
    };
  }

  /** Draw the position of the fields, if its numbers can be drawn. */
  #draw() {
    const given = this.#read(), numbers = [...given.seeds, ...given.stores], { numHoles, totalSeeds } = this.#ruleset;
    if (!numbers.every((number) => Number.isInteger(number) && number >= 0 && number <= 255)) return;
    const caption = t("set_up.total", { seeds: numbers.reduce((sum, number) => sum + number), total: totalSeeds });
    this.pressed ??= new BoardView(this.place, { onHole: (hole) => this.#change(hole) });
    this.pressed.show({ ruleset: this.#ruleset, ...this.#match, end: null, ...given }, { caption, pressable: Array.from({ length: numHoles }, (_, hole) => hole) });
  }

  #takeRules({ ruleset, territory, round, starter, debts, stall }) {
    this.#ruleset = ruleset;
    this.#match = { territory, round, starter, debts, stall };
  }

  /** Do something, and show its error. */
  #attempt(act) {
    this.wrong.textContent = "";
    try {
      act();
    } catch (error) {
      this.wrong.textContent = error.message;
    }
  }

  #start() {
    this.#attempt(() => this.show(this.app.engine.newGame(this.rulesetForm.read())));
  }

  /** Take the rules of the form: keep the seeds on a board of the same size, or begin with the start of another one. */
  #useRules() {
    this.#attempt(() => {
      const start = this.app.engine.newGame(this.rulesetForm.read());
      if (start.ruleset.numHoles !== this.#ruleset?.numHoles) return this.show(start);
      this.#takeRules(start);
      this.#draw();
    });
  }

  #use(use) {
    this.#attempt(() => {
      this.rulesetForm.read(); // throws if the rules of the form are invalid, which the board does not have
      use(this.app.engine.setUp(this.#ruleset, { ...this.#match, ...this.#read() }));
    });
  }
}
