/** The choice of a ruleset: one of the catalogue, or a custom one. */

import { download, field, h, kept, select } from "./dom.js";
import { readRuleset, SUFFIXES, writeRuleset } from "./ruleset_file.js";
import { t } from "./texts.js";

const OWN = "own dials";

/** Return form fields that choose a ruleset: {element, title, read(), set(ruleset)}. `read` throws InvalidInput for invalid rule options. */
export function rulesetFields(app, place) {
  const { engine } = app;
  const name = `ruleset.${place}`;
  const chosen = { name: "layli_goobalay", dials: {}, ...kept.read(name, {}) };
  chosen.dials = Object(chosen.dials); // the browser may hold anything
  const keep = () => kept.write(name, chosen);
  const known = () => engine.rulesets.find((ruleset) => ruleset.name === chosen.name);
  const choice = select([...engine.rulesets.map((ruleset) => [ruleset.name, ruleset.title]), [OWN, t("ruleset.own")]], chosen.name, (value) => {
    chosen.name = value;
    keep();
    show();
  });
  if (!choice.value) choice.value = chosen.name = "layli_goobalay";
  const about = h("small", {});
  const file = h("input", { type: "file", accept: SUFFIXES.join(","), hidden: true, onchange: () => {
    const [opened] = file.files;
    file.value = ""; // so that the same file can be opened again
    if (opened) open(opened);
  } });
  const files = h("div", { class: "row" },
    h("button", { type: "button", onclick: () => file.click() }, t("ruleset.open")),
    h("button", { type: "button", onclick: save }, t("ruleset.save")), file);
  const dials = h("fieldset", { class: "dials" });
  const element = h("div", { class: "fields" }, field(t("ruleset.choose"), choice), about, dials);

  async function open(opened) {
    app.warn("");
    try {
      set(readRuleset(engine, new TextDecoder("utf-8", { fatal: true }).decode(await opened.arrayBuffer()), opened.name));
      keep();
      element.dispatchEvent(new Event("change", { bubbles: true })); // as if the user had chosen the rules
    } catch (error) {
      app.warn(t("error.file", { file: opened.name, why: error.message }));
    }
  }

  function save() {
    app.warn("");
    try {
      const ruleset = read();
      download(`${ruleset.name}.json`, writeRuleset(ruleset));
    } catch (error) {
      app.warn(error.message);
    }
  }

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
    dials.replaceChildren(h("legend", {}, t("ruleset.dials")), ...engine.dials.map((dial) => dialField(dial)), files);
    about.textContent = [known()?.region, known()?.source].filter(Boolean).join(". ");
  }

  const read = () => (chosen.name === OWN ? engine.ownRuleset({ name: "custom", title: t("ruleset.own_title"), ...chosen.dials }) : engine.ruleset(chosen.name));

  function set(ruleset) {
    const isOwn = !engine.rulesets.includes(ruleset);
    chosen.name = choice.value = isOwn ? OWN : ruleset.name;
    if (isOwn) chosen.dials = { ...ruleset.dials };
    show();
  }

  show();
  return {
    element,
    read,
    set,
    /** Whether a game under these rules is a single round. */
    get hasSingleRounds() {
      return (known()?.dials ?? { ...engine.description.defaults, ...chosen.dials }).match === "single";
    },
    get title() {
      return known()?.title ?? t("ruleset.own_title");
    },
  };
}
