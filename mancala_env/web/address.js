/**
 * The page's address names what is shown: `#play`, `#study/POSITION`, `#puzzles/RULESET/NUMBER`, `#learn/GAME/STEP`.
 *
 * A position is its text with + for spaces:
 *
 *     #study/leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S
 *
 * The rule options (dials) of a custom ruleset follow the position: `;row_width=4;seeds_per_hole=3`.
 */

/** @returns {{view: string, rest: string, dials: object | null}} */
export function readAddress(fragment) {
  const [view = "", ...parts] = decoded(fragment.replace(/^#/, "")).split("/");
  const [rest, ...dials] = parts.join("/").split(";");
  return {
    view,
    rest: rest.replaceAll("+", " ").trim(),
    dials: dials.length ? Object.fromEntries(dials.map((dial) => readDial(dial.replaceAll("+", " ").trim()))) : null,
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Write the address of a position. @param {string} view @param {import("./engine.js").Game} game @param {boolean} isOwn */
export function addressOf(view, game, isOwn) {
  const dials = isOwn ? game.engine.dials.map(({ name }) => `;${writeDial(name, game.ruleset.dials[name])}`).join("") : "";
  return `#${view}/${game.text.replaceAll(" ", "+")}${dials}`;
}

/** Write a rule option as text: captures_last=yes. */
export function writeDial(name, value) {
  return `${name}=${value === true ? "yes" : value === false ? "no" : value}`;
}

/** Read what {@link writeDial} wrote, as [name, value]. */
export function readDial(text) {
  const [name] = text.split("=", 1), value = text.slice(name.length + 1);
  if (value === "yes" || value === "no") return [name, value === "yes"];
  return [name, /^[0-9]{1,3}$/.test(value) ? Number(value) : value];
}
