/** The choice of a ruleset: one of the catalogue, or a custom one. */

import { field, h, kept, select } from "./dom.js";
import { t } from "./texts.js";

const OWN = "own dials";

/** Return form fields that choose a ruleset: {element, read()}. `read` throws InvalidInput for invalid rule options. */
export function rulesetFields(app, place) {
  const { engine } = app;
  const name = `ruleset.${place}`;
  const chosen = { name: "layli_goobalay", dials: {}, ...kept.read(name, {}) };
  const keep = () => kept.write(name, chosen);
  const choice = select([...engine.rulesets.map((ruleset) => [ruleset.name, ruleset.title]), [OWN, t("ruleset.own")]], chosen.name, (value) => {
    chosen.name = value;
    keep();
    show();
  });
  if (!choice.value) choice.value = chosen.name = "layli_goobalay";
  const about = h("small", {});
  const dials = h("fieldset", { class: "dials" }, h("legend", {}, t("ruleset.dials")), engine.dials.map((dial) => dialField(dial)));
  const element = h("div", { class: "fields" }, field(t("ruleset.choose"), choice), about, dials);

  function dialField({ name: dial, choices, least, most }) {
    const value = chosen.dials[dial] ?? engine.description.defaults[dial];
    const take = (text) => {
      chosen.dials[dial] = choices ? choices.find((one) => String(one) === text) : Number(text);
      keep();
    };
    if (choices) return field(t(`dial.${dial}`), select(choices.map((one) => [String(one), t(`dial.${dial}.${one}`)]), String(value), take));
    const input = h("input", { type: "number", min: least, max: most, value, required: true, onchange: () => take(input.value) });
    return field(t(`dial.${dial}`), input);
  }

  function show() {
    dials.hidden = chosen.name !== OWN;
    const known = engine.rulesets.find((ruleset) => ruleset.name === chosen.name);
    about.textContent = known ? [known.region, known.source].filter(Boolean).join(". ") : "";
  }

  show();
  return {
    element,
    read: () => (chosen.name === OWN ? engine.ownRuleset({ ...chosen.dials, name: "custom", title: t("ruleset.own_title") }) : engine.ruleset(chosen.name)),
    set(ruleset) {
      chosen.name = engine.rulesets.includes(ruleset) ? ruleset.name : OWN;
      choice.value = chosen.name;
      show();
    },
  };
}
