/** Reads and writes ruleset files, which Python's `rulesets.lookup` and every command read.
 *
 * Of YAML it reads one `key: value` a line, without indentation, escapes and other syntax, and refuses the rest. It
 * accepts no file that Python refuses.
 */

import { readDial } from "./address.js";
import { InvalidInput } from "./engine.js";
import { IS_PRINTABLE, rulesetOf } from "./record.js";

export const SUFFIXES = [".json", ".yaml", ".yml"];
const WORDS = ["title", "region", "source"];
const YES_OR_NO = new Map([["true", "yes"], ["yes", "yes"], ["false", "no"], ["no", "no"]]);
// A line of YAML. Only spaces are white space. A plain value holds no ": " and no tab, and begins with no indicator.
const PLAIN = /(?:[^\s"'#,[\]{}&*!|>%@`?:-]|[?:-](?=[^ ]))(?:[^:\t]|:(?! |$))*?/.source;
const PAIR = new RegExp(`^(["']?)(\\w+)\\1 *:(?: +(?:"([^"\\\\]*)"|'((?:[^']|'')*)'|(${PLAIN})))? *(?: #.*)?$`);
const NO_OPTIONS = "the file must hold rule options, such as row_width: 5";

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
  const given = Object.fromEntries(Object.entries(file.endsWith(".json") ? readJson(text) : readYaml(text)).map(([key, value]) => [key, typed(key, value)]));
  const known = ["like", "name", ...WORDS, ...engine.dials.map(({ name }) => name)];
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new InvalidInput(`unknown rule option "${unknown}"; the keys are ${known.join(", ")}`);
  const { like, name = file.replace(/\.\w+$/, "").replaceAll(/[^\p{L}\p{N}_.-]/gu, "_"), ...rest } = given;
  const base = like === undefined ? null : engine.ruleset(like);
  if (base && Object.keys(given).every((key) => key === "like" || given[key] === base.dials[key])) return base;
  for (const [key, value] of Object.entries({ ...given, name }))
    if (["name", ...WORDS].includes(key) && !(typeof value === "string" && IS_PRINTABLE.test(value)))
      throw new InvalidInput(`${key} must be a text of printable characters, not ${JSON.stringify(value)}`);
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$/u.test(name)) throw new InvalidInput(`name must be letters, digits, _, - and ., such as my_leyla, not "${name}"`);
  const options = { ...engine.description.defaults, ...base?.dials };
  const changed = Object.entries(rest).filter(([key, value]) => base && !WORDS.includes(key) && value !== options[key]);
  const shown = { true: "True", false: "False" }; // as in Python
  const title = [options.title, changed.map(([key, value]) => `${key} ${shown[value] ?? value}`).join(" and ")].filter(Boolean).join(" with ");
  const words = { title: rest.title ?? title, region: rest.region ?? "", source: rest.source ?? "" };
  return rulesetOf(engine, name, Object.fromEntries(engine.dials.map((dial) => [dial.name, dial.name in rest ? rest[dial.name] : options[dial.name]])), words);
}

function readJson(text) {
  let found;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new InvalidInput(error.message);
  }
  if (typeof found !== "object" || !found || Array.isArray(found)) throw new InvalidInput(NO_OPTIONS);
  const [number] = /[0-9]+[.eE][0-9.eE+-]*/.exec(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')) ?? [];
  if (number) throw new InvalidInput(`a number must be whole, not ${number}`);
  return found;
}

function readYaml(text) {
  const found = Object.create(null);
  let isBegun = false; // by --- or a key
  for (const line of text.split(/\r\n|[\n\r\x85\u2028\u2029]/)) {
    const control = /[^\t -~\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(line);
    if (control) throw new InvalidInput(`the character ${JSON.stringify(control[0])} is not allowed`);
    if (/^ *(#|$)/.test(line)) continue;
    const isStart = /^--- *(?: #.*)?$/.test(line) && !isBegun;
    isBegun = true;
    if (isStart) continue;
    const pair = PAIR.exec(line);
    if (!pair) throw new InvalidInput(`a line must be "key: value", not "${line.slice(0, 60)}"`);
    const [, , key, quoted, single, plain] = pair;
    if (key in found) throw new InvalidInput(`duplicate key ${key}`);
    found[key] = quoted ?? single?.replaceAll("''", "'") ?? plain ?? null;
  }
  if (!Object.keys(found).length) throw new InvalidInput(NO_OPTIONS);
  return found;
}

function typed(key, value) {
  if (typeof value !== "string" || key === "name" || WORDS.includes(key)) return value;
  return readDial(`${key}=${YES_OR_NO.get(value.toLowerCase()) ?? value}`)[1];
}
