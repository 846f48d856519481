/** What the sources say about the game that is played: its names, where it was recorded, and what its words mean. */

import { showDocs } from "./docs_link.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

/** The game of the sources that a ruleset is; it chooses the texture of the board in style.css. */
export function gameOf({ name, dials }) {
  if (name === "gabata_3") return "wasan";
  if (/gobale_(ii|gabradarre)/.test(name)) return "gobale";
  return { uur: "layli", pair: "leyla", weg: "gabata" }[dials.landing];
}

/** A folded card about the game, with its board. It is hidden for custom rules. */
export class Place {
  constructor() {
    /** The link to the page of the rules. */
    this.link = h("a");
    this.title = h("summary", {});
    this.facts = h("dl", {});
    this.element = h("details", { class: "card place" }, this.title, this.facts);
  }

  /** @param {import("./engine.js").Engine} engine @param {import("./engine.js").Ruleset} ruleset */
  show(engine, ruleset) {
    const isKnown = engine.rulesets.includes(ruleset);
    showDocs(this.link, engine, ruleset);
    this.element.hidden = !isKnown;
    if (!isKnown) return;
    const game = gameOf(ruleset), { landing, owns_on: side } = ruleset.dials;
    const facts = { names: t(`place.${game}.names`), about: t(`place.${ruleset.name.startsWith("ludii") ? "ludii" : game}.about`), region: ruleset.region, captured: t(`place.captured.${landing}.${side}`), source: ruleset.source };
    this.title.textContent = t("place.title", { title: ruleset.title });
    this.facts.style.setProperty("--holes", String(ruleset.rowWidth));
    this.facts.replaceChildren(...Object.entries(facts).flatMap(([name, text]) => [h("dt", {}, t(`place.${name}`)), h("dd", {}, text)]));
  }
}
