/** The row below a game that saves it, opens a file or a saved game, and copies the link. */

import { recordName } from "./agents.js";
import { download, h } from "./dom.js";
import { writeRecord } from "./record.js";
import { copyLink } from "./share.js";
import { t } from "./texts.js";

/** Write the record of a game. @param {import("./game.js").GameLine} line @param {("you" | object)[]} players */
export function gameRecord(line, players) {
  const [south, north] = players.map(recordName);
  return writeRecord(line, { south, north, date: new Date().toISOString().slice(0, 10) });
}

/** Return the row. @param {import("./play.js").PlayView} view @param {(name: string) => void} resume  Called with a saved game's name. */
export function recordRow(view, resume) {
  const { app, saved } = view;
  const file = h("input", { type: "file", accept: ".txt,.json,.yaml,.yml,.proof,.safetensors,.zip,.f32,text/plain", hidden: true, onchange: () => {
    const [opened] = file.files;
    file.value = ""; // so that the same file can be opened again
    if (opened) app.take(opened);
  } });
  const save = () => download(`${view.line.ruleset.name}.txt`, gameRecord(view.line, view.players));
  const list = () => games.replaceChildren(...[["", t("play.games")], ...saved.list()].map(([value, words]) => h("option", { value }, words)));
  const games = h("select", { "aria-label": t("play.games"), onfocus: list, onchange: () => resume(games.value) });
  list();
  return h("div", { class: "row" },
    games,
    h("button", { type: "button", onclick: save }, t("play.save")),
    h("button", { type: "button", onclick: () => file.click() }, t("play.open")),
    h("button", { type: "button", onclick: () => copyLink(app, view.line) }, t("play.copy_link")),
    file);
}
