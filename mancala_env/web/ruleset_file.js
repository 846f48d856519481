/** Reads and writes ruleset files, which Python's `rulesets.lookup` and every command read. */

import { readDial } from "./address.js";
import { InvalidInput } from "./engine.js";
import { rulesetOf } from "./record.js";

export const SUFFIXES = [".json", ".yaml", ".yml"];
const WORDS = ["title", "region", "source"];

/** Write a ruleset as JSON. @param {import("./engine.js").Ruleset} ruleset */
export function writeRuleset({ dials }) {
  return `${JSON.stringify(dials, (key, value) => (value === "" && (key === "region" || key === "source") ? undefined : value), 2)}\n`;
}

/** Read a ruleset file: JSON, or YAML with one `key: value` a line. Throw InvalidInput if it is invalid.
 * @param {import("./engine.js").Engine} engine
 * @param {string} text
 * @param {string} file  Name of the file, from which a ruleset without a name is named.
 */
export function readRuleset(engine, text, file) {
  const given = Object.fromEntries(Object.entries(text.trim().startsWith("{") ? readJson(text) : readYaml(text)).map(([key, value]) => [key, typed(key, value)]));
  const known = ["like", "name", ...WORDS, ...engine.dials.map(({ name }) => name)];
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new InvalidInput(`unknown rule option "${unknown}"; the keys are ${known.join(", ")}`);
  const { like, name = file.replace(/\.\w+$/, "").replaceAll(/[^\p{L}\p{N}_.-]/gu, "_"), ...rest } = given;
  if (typeof name !== "string") throw new InvalidInput(`name must be a text, not ${JSON.stringify(name)}`);
  const base = like === undefined ? null : engine.ruleset(like);
  const options = { ...engine.description.defaults, ...base?.dials };
  const changed = Object.entries(rest).filter(([key, value]) => base && !WORDS.includes(key) && value !== options[key]);
  const shown = { true: "True", false: "False" }; // as in Python
  const title = [options.title, changed.map(([key, value]) => `${key} ${shown[value] ?? value}`).join(" and ")].filter(Boolean).join(" with ");
  const words = { title: rest.title ?? title, region: rest.region ?? "", source: rest.source ?? "" };
  return rulesetOf(engine, name, Object.fromEntries(engine.dials.map((dial) => [dial.name, dial.name in rest ? rest[dial.name] : options[dial.name]])), words);
}

function readJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidInput(error.message);
  }
}

function readYaml(text) {
  const found = {};
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(#|$|---)/.test(line)) continue;
    const pair = /^(\w+):\s*(?:"([^"\\]*)"|'((?:[^']|'')*)'|([^\s"'[{&*!|>].*?))?\s*(?:\s#.*)?$/.exec(line);
    if (!pair) throw new InvalidInput(`a line must be "key: value", not "${line.slice(0, 60)}"`);
    const [, key, quoted, single, plain] = pair;
    if (key in found) throw new InvalidInput(`duplicate key ${key}`);
    found[key] = quoted ?? single?.replaceAll("''", "'") ?? plain ?? null;
  }
  return found;
}

function typed(key, value) {
  if (typeof value !== "string" || key === "name" || WORDS.includes(key)) return value;
  return readDial(`${key}=${{ true: "yes", false: "no" }[value] ?? value}`)[1];
}
