/** The form for a new game: its ruleset, the players, their strength and the length. The browser keeps the choices. */

import { AGENTS } from "./agents.js";
import { field, h, kept, select } from "./dom.js";
import { GameLine, MATCH } from "./game.js";
import { rulesetFields } from "./rulesets.js";
import { t } from "./texts.js";

const SERVED = "served:";

export class NewGameForm {
  /** @param {object} app @param {() => void} start  Called when the user asks for a new game. */
  constructor(app, start) {
    this.app = app;
    this.chosen = { side: "south", agent: "greedy", strength: 6, rounds: "round", starter: "south", ...kept.read("play", {}) };
    this.rulesetForm = rulesetFields(app, "play");
    this.element = h("form", { class: "fields", onsubmit: (event) => {
      event.preventDefault();
      start();
    } },
      this.rulesetForm.element,
      this.#choice("side", ["south", "north", "both", "neither"]),
      this.#agentFields(),
      this.#choice("rounds", ["round", "match"]),
      this.#choice("starter", ["south", "north"]),
      h("button", { class: "main", type: "submit" }, t("play.start")));
  }

  /** The new game: {line, players}. @throws {InvalidInput} If a rule option is invalid. */
  read() {
    const { chosen } = this;
    const ruleset = this.rulesetForm.read();
    const start = this.app.engine.newGame(ruleset, { starter: chosen.starter === "north" ? 1 : 0 });
    const agent = this.#servedAgent(chosen.agent) ?? { kind: chosen.agent, strength: Number(chosen.strength) };
    const yours = { south: [0], north: [1], both: [0, 1], neither: [] }[chosen.side];
    const rounds = chosen.rounds === "match" && ruleset.dials.match !== "single" ? MATCH : 1;
    return { line: new GameLine(start, rounds), players: [0, 1].map((player) => (yours.includes(player) ? "you" : agent)) };
  }

  #keep(name, value) {
    this.chosen[name] = value;
    kept.write("play", this.chosen);
  }

  #choice(name, values) {
    return field(t(`play.${name}`), select(values.map((value) => [value, t(`play.${name}.${value}`)]), this.chosen[name], (value) => this.#keep(name, value)));
  }

  /** The fields of the agent and of its strength. */
  #agentFields() {
    const { chosen } = this;
    const strength = h("input", { type: "number", inputmode: "numeric", onchange: () => this.#keep("strength", strength.value) });
    const strengthField = field(t("play.strength"), strength);
    const served = (this.app.served?.agents ?? []).map(({ label }) => [SERVED + label, label]);
    if (!(chosen.agent in AGENTS) && !served.some(([name]) => name === chosen.agent)) chosen.agent = "greedy";
    const fit = (isNew) => {
      const range = AGENTS[chosen.agent];
      strengthField.hidden = !range;
      if (!range) return;
      [strength.min, , strength.max] = range;
      if (isNew || !(chosen.strength >= range[0] && chosen.strength <= range[2])) this.#keep("strength", range[1]);
      strength.value = chosen.strength;
      strengthField.firstChild.textContent = t(`play.strength.${chosen.agent}`);
    };
    const agent = field(t("play.agent"), select([...Object.keys(AGENTS).map((kind) => [kind, t(`agent.${kind}`)]), ...served], chosen.agent, (value) => {
      this.#keep("agent", value);
      fit(true);
    }));
    fit(false);
    return [agent, strengthField];
  }

  /** An agent of the server, by its name in the list of opponents. */
  #servedAgent(name) {
    const found = this.app.served?.agents.find(({ label }) => name === `${SERVED}${label}`);
    return found && { kind: "served", ...found };
  }
}
