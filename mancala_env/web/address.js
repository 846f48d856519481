/**
 * The page's address names what is shown: `#play`, `#study/POSITION`, `#puzzles/RULESET/NUMBER`, `#learn/GAME/STEP`.
 *
 * A position is its text with + for spaces, or the name of a ruleset, for its start:
 *
 *     #study/leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S
 *     #study/leyla
 *
 * The rule options (dials) of a custom ruleset follow the position: `;row_width=4;seeds_per_hole=3`. A game is its start
 * and its turns: `;turns=S1.N3.S2;rounds=match`.
 */

const GAME = /^(turns|rounds)=/;

/** @returns {{view: string, rest: string, dials: object | null, turns?: string[], rounds?: string}} */
export function readAddress(fragment) {
  const [view = "", ...parts] = decoded(fragment.replace(/^#/, "")).split("/");
  const [rest, ...options] = parts.join("/").split(";").map((part) => part.replaceAll("+", " ").trim());
  const dials = options.filter((option) => !GAME.test(option)).map(readDial);
  const game = options.filter((option) => GAME.test(option)).map((option) => option.split("="));
  const { turns, rounds } = Object.fromEntries(game);
  return {
    view,
    rest: decoded(rest),
    dials: dials.length ? Object.fromEntries(dials) : null,
    ...(turns && { turns: turns.split(".") }),
    ...(rounds && { rounds }),
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Write the address of a position, or of a game that starts there.
 * @param {string} view @param {import("./engine.js").Game} game @param {boolean} isOwn  Whether its ruleset is a custom one.
 * @param {{turns?: string[], rounds?: number | "match"}} [played]
 */
export function addressOf(view, game, isOwn, { turns = [], rounds = 1 } = {}) {
  const dials = isOwn ? game.engine.dials.map(({ name }) => `;${writeDial(name, game.ruleset.dials[name])}`).join("") : "";
  const played = `${turns.length ? `;turns=${turns.join(".")}` : ""}${rounds === 1 ? "" : `;rounds=${rounds}`}`;
  // A name may contain these letters. They are encoded twice, because readAddress decodes the address before it splits it.
  const text = game.text.replace(/[%+;]/g, (letter) => encodeURIComponent(encodeURIComponent(letter)));
  return `#${view}/${text.replaceAll(" ", "+")}${dials}${played}`;
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
