/** Files that a user opens or drops onto the page. */

import { GameLine } from "./game.js";
import { turnsText } from "./motion.js";
import { keyOfRules, readNetwork } from "./networks.js";
import { isProof, proofGame, readProof } from "./proof_file.js";
import { listGames, readRecord } from "./record.js";
import { readRuleset, SUFFIXES } from "./ruleset_file.js";
import { t } from "./texts.js";

const MOST_BYTES = 20_000_000;
let numOpened = 0; // value networks

/** Open a game record, a ruleset file, a proof file or a value network. @param {object} app @param {File} file */
export async function takeFile(app, file) {
  if (file.size > MOST_BYTES) throw new Error(t("error.too_large", { megabytes: MOST_BYTES / 1e6 }));
  const bytes = await file.arrayBuffer();
  if (SUFFIXES.some((suffix) => file.name.endsWith(suffix))) {
    const ruleset = readRuleset(app.engine, new TextDecoder("utf-8", { fatal: true }).decode(bytes), file.name);
    app.go("study", { line: new GameLine(app.engine.newGame(ruleset)) });
    return app.say(t("files.ruleset", { title: ruleset.title }));
  }
  if (isProof(bytes) || file.name.endsWith(".proof")) {
    const { total, counts, ...proof } = readProof(bytes);
    return app.go("study", { line: new GameLine(proofGame(app.engine, proof)), proof: { name: file.name, bytes, size: file.size, total, counts } });
  }
  const isText = /^\s*\[Ruleset\s/.test(new TextDecoder().decode(bytes.slice(0, 200)).replace(/^\ufeff/, ""));
  if (!isText) return takeNetwork(app, file.name, bytes);
  const games = listGames(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  if (games.length > 1) {
    app.go("study", { games });
    return app.say(t("files.records", { games: games.length }));
  }
  const { line } = readRecord(app.engine, games[0].text);
  app.go("study", { line });
  app.say(t("files.record", { turns: turnsText(line.turns.length) }));
}

async function takeNetwork(app, name, bytes) {
  const found = await readNetwork(bytes);
  const shown = app.shownRuleset;
  const ruleset = app.engine.rulesets.find((one) => one.name === (found?.dials?.name ?? shown?.name)) ?? shown;
  if (!found || !ruleset) throw new Error(t("files.network_wrong"));
  const { dials, version } = found, known = app.engine.description.network.version;
  if (version !== undefined && version !== known) throw new Error(t("files.network_version", { version, known }));
  const other = dials && app.engine.dials.find(({ name: dial }) => dial !== "match" && dial in dials && dials[dial] !== ruleset.dials[dial]);
  if (other) throw new Error(t("files.network_rules", { made: dials.name, shown: ruleset.name, dial: other.name, theirs: dials[other.name], ours: ruleset.dials[other.name] }));
  app.engine.valueNetwork(found.weights, ruleset); // throws if it is invalid
  app.networks.set(keyOfRules(ruleset), { id: (numOpened += 1), weights: found.weights });
  app.tell(t("files.network", { name, title: ruleset.title }));
}
