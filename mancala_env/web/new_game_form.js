/** The form for a new game: its ruleset, the players, their strength and the length. The browser keeps the choices. */

import { agentName, AGENTS, LEVELS } from "./agents.js";
import { field, h, kept, select } from "./dom.js";
import { GameLine, MATCH } from "./game.js";
import { rulesetFields } from "./rulesets.js";
import { t } from "./texts.js";

const SERVED = "served:";
const OWN = "own"; // the level of an agent that is chosen under Advanced

export class NewGameForm {
  /** @param {object} app @param {() => void} start  Called when the user asks for a new game.
   * @param {() => void} [turn]  Called when the user changes which side is below.
   */
  constructor(app, start, turn = () => {}) {
    this.app = app;
    const before = kept.read("play", {});
    this.chosen = { side: "south", level: levelOf(before.agent), agent: "greedy", strength: 6, rounds: "round", starter: "south", below: true, ...before };
    this.rulesetForm = rulesetFields(app, "play");
    this.roundsField = this.#choice("rounds", ["round", "match"]);
    this.element = h("form", { class: "fields", onsubmit: (event) => {
      event.preventDefault();
      start();
    } },
      this.rulesetForm.element,
      this.#choice("side", ["south", "north", "both", "neither"]),
      this.#levelField(),
      this.roundsField,
      this.#belowCheck(turn),
      h("details", {}, h("summary", {}, t("play.advanced")), h("div", { class: "fields" },
        this.#agentFields(),
        this.#choice("starter", ["south", "north"]))),
      h("button", { class: "main", type: "submit" }, t("play.start")));
    this.words = h("small", {});
    this.element.addEventListener("change", () => this.#sum());
    this.#sum();
  }

  /** Choose the ruleset of a game that is shown, so that the next game has it, too. */
  follow(ruleset) {
    this.rulesetForm.set(ruleset);
    this.#sum();
  }

  /** Write the choices in one line, for the folded form. */
  #sum() {
    const { side } = this.chosen;
    this.roundsField.hidden = this.rulesetForm.hasSingleRounds; // a match needs rules for the next round
    const title = this.rulesetForm.title, agent = agentName(this.#agent);
    this.words.textContent = side === "both" ? `${title} · ${t("play.side.both")}` : t("play.summary", { title, side: `${t("play.side")} ${t(`play.side.${side}`)}`, agent });
  }

  /** The opponent that is chosen. */
  get #agent() {
    const { chosen } = this;
    if (chosen.level === OWN) return { kind: chosen.agent, strength: Number(chosen.strength) };
    return LEVELS[chosen.level - 1] ?? this.#servedAgent(chosen.level);
  }

  /** The players that are chosen: "you" or {kind, strength}, South's first. */
  get players() {
    const yours = { south: [0], north: [1], both: [0, 1], neither: [] }[this.chosen.side] ?? [0];
    return [0, 1].map((player) => (yours.includes(player) ? "you" : this.#agent));
  }

  /** The new game: {line, players}. @throws {InvalidInput} If a rule option is invalid. */
  read() {
    const { chosen } = this;
    const ruleset = this.rulesetForm.read();
    const start = this.app.engine.newGame(ruleset, { starter: chosen.starter === "north" ? 1 : 0 });
    const rounds = chosen.rounds === "match" && ruleset.dials.match !== "single" ? MATCH : 1;
    return { line: new GameLine(start, rounds), players: this.players };
  }

  #keep(name, value) {
    this.chosen[name] = value;
    kept.write("play", this.chosen);
  }

  #choice(name, values) {
    if (!values.includes(this.chosen[name])) [this.chosen[name]] = values;
    return field(t(`play.${name}`), select(values.map((value) => [value, t(`play.${name}.${value}`)]), this.chosen[name], (value) => this.#keep(name, value)));
  }

  /** Whether North is drawn below: the user's side, if the user plays North alone. */
  isTurned(players) {
    return this.chosen.below && players[1] === "you" && players[0] !== "you";
  }

  #belowCheck(turn) {
    const below = h("input", { type: "checkbox", checked: this.chosen.below, onchange: () => {
      this.#keep("below", below.checked);
      turn();
    } });
    return h("label", { class: "check" }, below, t("play.below"));
  }

  #levelField() {
    const levels = [...LEVELS.map(({ level }) => String(level)), OWN].map((level) => [level, t(`play.level.${level}`)]);
    const served = (this.app.served?.agents ?? []).map(({ label }) => [SERVED + label, label]);
    if (![...levels, ...served].some(([level]) => level === this.chosen.level)) this.chosen.level = levelOf();
    this.level = select([...levels, ...served], this.chosen.level, (value) => this.#keep("level", value));
    return field(t("play.level"), this.level);
  }

  #useOwnAgent() {
    this.level.value = OWN;
    this.#keep("level", OWN);
  }

  /** The fields of the agent and of its strength. */
  #agentFields() {
    const { chosen } = this;
    const strength = h("input", { type: "number", inputmode: "numeric", onchange: () => {
      this.#keep("strength", strength.value);
      this.#useOwnAgent();
    } });
    const strengthField = field(t("play.strength"), strength);
    if (!Object.hasOwn(AGENTS, chosen.agent)) chosen.agent = "greedy";
    const fit = (isNew) => {
      const range = AGENTS[chosen.agent];
      strengthField.hidden = !range;
      if (!range) return;
      [strength.min, , strength.max] = range;
      if (isNew || !(chosen.strength >= range[0] && chosen.strength <= range[2])) this.#keep("strength", range[1]);
      strength.value = chosen.strength;
      strengthField.firstChild.textContent = t(`play.strength.${chosen.agent}`);
    };
    const agent = field(t("play.agent"), select(Object.keys(AGENTS).map((kind) => [kind, t(`agent.${kind}`)]), chosen.agent, (value) => {
      this.#keep("agent", value);
      this.#useOwnAgent();
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

/** The level of an agent that was chosen before there were levels. */
function levelOf(agent) {
  if (typeof agent !== "string") return "2";
  return agent.startsWith(SERVED) ? agent : OWN;
}
