/** The link from a game back to the documentation of its rules. */

import { t } from "./texts.js";

export const DOCS = "https://mancala-env.github.io/mancala-env/";

/** Let a link lead to the page of a ruleset, or of all rules for a custom one. @param {HTMLAnchorElement} link */
export function showDocs(link, engine, ruleset) {
  const isKnown = engine.rulesets.includes(ruleset);
  link.setAttribute("href", `${DOCS}${isKnown ? `rulesets/${ruleset.name}` : "reference/rules"}.html`);
  link.textContent = t("play.rules", { title: ruleset.title });
}
