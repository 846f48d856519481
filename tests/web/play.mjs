// The views Play and Study without a browser: FOLDER=mancala_env/web node --test play.mjs
import assert from "node:assert/strict";
import { register } from "node:module";
import { beforeEach, test } from "node:test";
import { FakeElement, useFakeDom } from "../support/fake_dom.mjs";
import { at, engine, newStore, readJson, soon } from "../support/page_modules.mjs";


// Searches that the test answers.
globalThis.asked = [];
const SEARCHES = `export class Searches {
  ask(task, game, options = {}, listening = {}) {
    return new Promise((resolve, reject) => {
      asked.push({ task, game, options, listening, resolve, reject });
      listening.signal?.addEventListener("abort", () => reject(new DOMException("no longer wanted", "AbortError")));
    });
  }
}
export const isAbort = (error) => error?.name === "AbortError";`;
const HOOK = `export async function resolve(name, context, next) {
  if (name !== "./searches.js") return next(name, context);
  return { url: "data:text/javascript," + encodeURIComponent(${JSON.stringify(SEARCHES)}), shortCircuit: true };
}`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);

useFakeDom();
globalThis.innerWidth = 1200;
globalThis.history = { state: null, replaceState(state) { this.state = state; } };
let isFull = false;
const { t } = await at("texts.js");
const { kept } = await at("dom.js");
const { Book } = await at("book.js");
const { coachText, effectsOf, happened } = await at("coach.js");
const { GameLine, MATCH, turnText } = await at("game.js");
const { seedsText } = await at("motion.js");
const { agentName, recordName } = await at("agents.js");
const { keyOfRules } = await at("networks.js");
const { PlayView } = await at("play.js");
const { listGames, readRecord, writeRecord } = await at("record.js");
const { readAddress } = await at("address.js");
const { lineFromText, linkOf, lineOf } = await at("share.js");
const { accuracyOf, kindOf, reportOf } = await at("report.js");
const { StudyView } = await at("study.js");
const { whyNotSown } = await at("turn_words.js");
const { statusOf } = await at("scene.js");

let app;
beforeEach(() => {
  globalThis.localStorage = newStore(() => isFull);
  globalThis.sessionStorage = newStore();
  kept.carried = {};
  history.state = null;
  isFull = false;
  asked.length = 0;
  document.activeElement = document.body;
  app = {
    engine, networks: new Map(), served: null, speed: [0, 0], said: [], told: [], warned: [], addresses: [], went: [], served_asked: [], settings: { engines: false },
    set(name, value) { this.settings[name] = value; },
    say(text) { this.said.push(text); },
    tell(text, isSaid, { act } = {}) { if (text) this.told.push(text); this.act = act; },
    warn(text) { if (text) this.warned.push(text); },
    address(view, game) { this.addresses.push([view, game.text]); },
    go(view, given) { this.went.push([view, given]); },
    askServer(...given) { return new Promise((resolve, reject) => this.served_asked.push({ given, resolve, reject })); },
  };
});

function opened(given = {}) {
  const view = new PlayView(app);
  view.enter(given);
  return view;
}
const button = (view, name) => view.root.querySelector(`[data-does=${name}]`);
const turns = (view) => view.turns.children.map((item) => item.children[0].textContent);
const badges = (view) => view.board.overlay.children.filter((shape) => shape.getAttribute("data-name") === "value" && shape.name === "text").map((shape) => shape.textContent);
const legalHoles = (view) => view.board.holes.children.filter((one) => one.classList.contains("legal")).map((one) => one.dataset.hole).sort((a, b) => a - b);
const LATE = "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S";

test("a game is played against an agent, turn by turn", async () => {
  const view = opened();
  assert.deepEqual(app.addresses, [["play", engine.newGame("layli_goobalay").text]]);
  assert.equal(view.status.textContent, t("play.your_turn", { player: "South" }));
  assert.deepEqual(legalHoles(view), view.line.game.legal);
  assert.equal(button(view, "take_back").disabled, true);
  assert.equal(button(view, "go_on").hidden, true);
  view.press(2);
  await soon();
  assert.deepEqual(turns(view), ["S3"]);
  assert.equal(view.turns.children[0].getAttribute("class"), "south");
  assert.match(app.said.at(-1), /South plays S3/);
  assert.equal(button(view, "take_back").disabled, false);
  const [{ task, game, options }] = asked;
  assert.deepEqual([task, game.text, options], ["choose", view.line.game.text, { kind: "greedy", network: null }]);
  assert.equal(view.status.textContent, t("play.thinking", { agent: t("agent.level", { level: 2 }), player: "North" }));
  assert.deepEqual(legalHoles(view), []);
  view.sow(0); // it is not the user's turn
  assert.equal(app.said.at(-1), view.status.textContent);
  asked[0].resolve({ action: game.legal[1] });
  await soon();
  assert.equal(turns(view).length, 2);
  assert.equal(app.addresses.at(-1)[1], view.line.game.text);
  if (view.isYours) {
    const illegal = [0, 1, 2, 3, 4, 5].find((action) => !view.line.game.legal.includes(action)) ?? 6;
    view.sow(illegal);
    assert.ok(app.said.at(-1).includes(`S${view.line.game.legal[0] + 1}`));
    assert.equal(turns(view).length, 2);
  }
});

test("an agent that fails is named, and the status does not say that it thinks", async () => {
  const view = opened();
  view.sow(1);
  await soon();
  asked[0].reject(new Error("no network"));
  await soon();
  assert.deepEqual(app.warned, ["no network"]);
  assert.equal(view.status.textContent, t("play.no_answer", { agent: t("agent.level", { level: 2 }), player: "North" }));
});

test("a view that is left does not go on, and thinks again when it is entered", async () => {
  const view = opened();
  view.sow(1);
  await soon();
  view.leave();
  assert.equal(asked[0].listening.signal.aborted, true);
  await soon();
  assert.deepEqual([app.warned, turns(view).length], [[], 1]);
  view.enter({});
  assert.equal(asked.length, 2);
  view.enter({ game: view.line.game }); // its own position
  assert.equal(turns(view).length, 1);
  view.enter({ game: engine.fromText(LATE) }); // another
  assert.deepEqual([turns(view), view.line.game.text], [[], LATE]);
  assert.equal(view.players[0], "you");
});

test("a turn that ends after its view was left, or in another position, asks nobody", async () => {
  const view = opened();
  view.sow(1); // seeds are moving
  view.leave();
  await soon();
  assert.deepEqual([asked.length, turns(view)], [0, ["S2"]]);
  const begin = (starter) => view.begin(new GameLine(engine.newGame("leyla", { starter })), ["you", { kind: "random" }]);
  view.enter({});
  begin(0);
  asked.length = 0;
  view.sow(0);
  begin(1);
  await soon();
  assert.deepEqual(asked.map(({ game }) => game.text), [engine.newGame("leyla", { starter: 1 }).text]); // only the new game
  begin(0);
  asked.length = 0;
  view.sow(0);
  view.takeBack();
  await soon();
  assert.deepEqual([asked.length, turns(view)], [0, []]);
});

test("a hint shows the best action, unless the position has changed", async () => {
  const view = opened({ game: engine.fromText(LATE) });
  view.hint();
  assert.equal(view.status.textContent, t("play.hint_wait"));
  const [{ task, options }] = asked;
  assert.deepEqual([task, options], ["choose", { kind: "perfect", strength: 2 }]);
  asked[0].resolve({ action: 1 });
  await soon();
  assert.equal(view.status.textContent, t("play.hint_said", { turn: "S2", does: "wins nothing" }));
  assert.equal(app.said.at(-1), view.status.textContent);
  assert.deepEqual(badges(view), [t("play.hint_badge")]);
  view.hint();
  view.sow(5);
  await soon();
  const status = view.status.textContent;
  asked[1].resolve({ action: 1 });
  await soon();
  assert.equal(view.status.textContent, status);
  view.hint(); // not the user's turn
  assert.equal(app.said.at(-1), status);
  view.takeBack();
  view.hint();
  asked.at(-1).reject(new Error("wrong"));
  await soon();
  assert.deepEqual([app.warned, view.status.textContent], [["wrong"], t("play.your_turn", { player: "South" })]);
  for (const answer of [(one) => one.resolve({ action: 1 }), (one) => one.reject(new Error("late"))]) {
    view.hint();
    view.leave(); // another view does not announce the hint
    const said = [...app.said];
    answer(asked.at(-1));
    await soon();
    assert.deepEqual([app.said, app.warned], [said, ["wrong"]]);
    view.enter();
  }
});

test("values are shown where they are wanted, and forgotten after a turn", async () => {
  const view = opened({ game: engine.fromText(LATE) });
  assert.equal(button(view, "values").getAttribute("aria-pressed"), "false");
  view.advice.toggleValues();
  assert.equal(button(view, "values").getAttribute("aria-pressed"), "true");
  assert.deepEqual(asked.map(({ task, options }) => [task, options]), [["book", {}], ["values", { milliseconds: 8000 }], ["minimax", { milliseconds: 1500 }]]);
  const [, exact, search] = asked;
  search.listening.onProgress({ depth: 2, values: { 1: 3, 5: -7 } }); // final leads: North's store is one seed ahead
  assert.deepEqual(badges(view).sort(), ["≈+2", "≈-8"].sort());
  assert.ok(view.board.holes.children.some((one) => one.getAttribute("aria-label").includes(t("hole.estimate", { value: "+2" }))));
  const shape = view.board.overlay.children.find((one) => one.textContent === "≈+2");
  assert.equal(shape.getAttribute("fill"), "var(--m-faint)");
  exact.listening.onProgress({ actions: { 1: { lower: -4, upper: 2 }, 5: { lower: -9, upper: -9 } } });
  assert.deepEqual(badges(view).sort(), ["-10", "≈+1"].sort()); // the estimate lies within what is proved
  exact.resolve({ actions: { 1: { lower: -1, upper: -1 }, 5: { lower: -9, upper: -9 } }, isExact: true, hasEnded: true });
  await soon();
  assert.deepEqual(badges(view).sort(), ["-10", "-2"]);
  assert.ok(app.said.at(-1).includes("S2 -2") && app.said.at(-1).includes("S6 -10"));
  view.advice.toggleValues();
  assert.deepEqual([badges(view), app.said.at(-1)], [[], t("play.values_off")]);
  view.advice.toggleValues();
  assert.deepEqual([badges(view).sort(), asked.filter(({ task }) => task === "values").length], [["-10", "-2"], 1]); // proved values are kept
  view.sow(1);
  await soon();
  assert.deepEqual(badges(view), []);
  view.takeBack();
  assert.deepEqual(badges(view).sort(), ["-10", "-2"]);
  view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
  const [question] = asked.filter(({ task }) => task === "values").slice(-1);
  view.advice.toggleValues();
  assert.equal(question.listening.signal.aborted, true);
  view.advice.toggleValues();
  asked.findLast(({ task }) => task === "values").reject(new Error("wrong"));
  await soon();
  assert.deepEqual(app.warned, ["wrong"]);
});

test("turns are taken back until it is the user's turn again", async () => {
  const view = opened();
  view.takeBack();
  assert.equal(app.said.at(-1), t("play.nothing_to_take_back"));
  view.sow(0);
  await soon();
  asked[0].resolve({ action: view.line.game.legal[0] });
  await soon();
  const start = engine.newGame("layli_goobalay").text;
  view.takeBack();
  assert.deepEqual([turns(view), view.line.game.text, view.line.turns.length], [[], start, 0]);
  assert.ok(app.said.at(-1).startsWith(t("play.taken_back")));
  view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
  view.sow(0);
  await soon();
  assert.equal(view.status.textContent, t("play.to_move", { player: "North" }));
  view.sow(view.line.game.legal[0]);
  await soon();
  view.takeBack();
  assert.equal(view.line.turns.length, 1); // between two people, one turn
});

test("whoever is to move resigns, and a game that is over is not resigned", async () => {
  const view = opened();
  view.begin(new GameLine(engine.newGame("leyla")), ["you", { kind: "random" }]);
  view.resign();
  assert.equal(view.line.resigned, 0);
  assert.equal(view.status.textContent, t("play.resigned", { player: "South", winner: "North" }));
  assert.equal(app.said.at(-1), view.status.textContent);
  assert.deepEqual(["over", "lost"].map((name) => view.root.classList.contains(name)), [true, true]);
  for (const name of ["resign", "hint", "values"]) assert.equal(button(view, name).disabled, true);
  assert.equal(button(view, "take_back").disabled, false);
  view.takeBack();
  assert.deepEqual([view.line.resigned, view.root.classList.contains("over"), button(view, "hint").disabled], [null, false, false]);
  view.begin(new GameLine(engine.newGame("leyla", { starter: 1 })), ["you", { kind: "random" }]);
  view.resign(); // while the agent thinks
  assert.deepEqual([view.line.resigned, asked.at(-1).listening.signal.aborted], [0, true]);
  view.begin(new GameLine(engine.newGame("leyla")), ["you", { kind: "random" }]);
  view.sow(0);
  await soon();
  view.resign(); // while the agent thinks
  view.takeBack();
  const { task, listening } = asked.at(-1); // it thinks again
  assert.deepEqual([view.line.resigned, turns(view).length, task, listening.signal.aborted], [null, 1, "choose", false]);
  view.begin(new GameLine(engine.newGame("leyla")), [{ kind: "random" }, { kind: "random" }]);
  view.resign();
  assert.equal(view.line.resigned, null);
});

test("the end of a round waits for the user, and the next one begins", async () => {
  const view = opened();
  let before = engine.newGame("layli_goobalay");
  const ending = () => before.legal.find((action) => before.after(action).isOver);
  while (ending() === undefined) before = before.after(before.legal[0]);
  const end = ending(), result = statusOf(before.ruleset, before.after(end));
  view.begin(new GameLine(before, MATCH), ["you", "you"]);
  view.sow(end);
  await soon();
  assert.equal(view.status.textContent, t("play.round_over", { result, round: 1 }));
  assert.ok(app.said.at(-1).endsWith(` ${view.status.textContent}`)); // after the turn's own words
  const study = studied({ line: new GameLine(before) });
  study.sow(end);
  assert.ok(app.said.at(-1).endsWith(` ${result}.`));
  study.leave();
  assert.equal(button(view, "go_on").hidden, false);
  assert.equal(document.activeElement, button(view, "go_on"));
  assert.equal(view.shown.round, 1);
  assert.equal(view.isYours, false);
  assert.equal(button(view, "hint").disabled, true);
  const again = opened(); // after a reload
  assert.deepEqual([again.status.textContent, again.shown.round, again.isYours], [view.status.textContent, 1, false]);
  assert.ok(again.happened.textContent && again.happened.textContent === view.happened.textContent);
  assert.equal(button(again, "go_on").hidden, false);
  view.goOn();
  assert.equal(view.shown.round, 2);
  assert.deepEqual([button(view, "go_on").hidden, view.isYours, button(view, "hint").disabled], [true, true, false]);
  const said = app.said.length;
  view.goOn(); // nothing waits
  assert.equal(app.said.length, said);
  view.begin(new GameLine(before), ["you", "you"]);
  view.sow(end);
  await soon();
  assert.equal(view.line.isOver, true);
  const by = Math.abs(view.line.margin), won = t("play.won", { player: ["South", "North"][view.line.winner], by });
  assert.equal(view.status.textContent, won);
  assert.ok(app.said.at(-1).endsWith(` ${won}`));
});

test("a position of a link is played by the players that are chosen for a new game", () => {
  localStorage["mancala.play"] = JSON.stringify({ side: "north", level: "5" });
  const game = engine.newGame("gabata_i");
  for (const given of [{ game }, { line: new GameLine(game) }]) {
    const view = opened(given);
    assert.deepEqual(view.players, [{ kind: "minimax", strength: 6, level: 5 }, "you"]);
    localStorage.removeItem("mancala.game");
  }
});

test("the last turn, the legal turns and the position are said", async () => {
  const view = opened({ game: engine.fromText(LATE) });
  view.lastTurn();
  assert.equal(app.said.at(-1), t("play.no_turn_yet"));
  view.sayLegal();
  assert.equal(app.said.at(-1), t("play.legal_said", { player: "South", legal: "S2, S6" }));
  view.commands.position();
  assert.match(app.said.at(-1), /South to move/);
  view.sow(5);
  await soon();
  view.lastTurn();
  assert.match(app.said.at(-1), /South plays S6/);
  view.study();
  assert.equal(app.went[0][0], "study");
  assert.notEqual(app.went[0][1].line, view.line);
  assert.equal(app.went[0][1].line.text, view.line.text);
});

test("a game is kept for a reload and in the list, and taken up from there", async () => {
  const view = opened();
  view.sow(3);
  await soon();
  const record = JSON.parse(localStorage["mancala.game"]).record;
  assert.match(record, /\[South "human"\]\n\[North "greedy"\]/);
  assert.equal(readRecord(engine, record).line.turns.length, 1);
  const again = opened();
  assert.deepEqual([turns(again), again.players], [["S4"], ["you", { kind: "greedy", level: 2 }]]);
  again.newGame();
  assert.deepEqual(turns(again), []);
  const games = again.root.all().find((one) => one.getAttribute("aria-label") === t("play.games"));
  games.fire("focus");
  assert.equal(games.children.length, 2);
  assert.equal(games.children[1].textContent, t("play.game", { title: "Layli Goobalay", south: t("play.you"), north: t("agent.level", { level: 2 }), turns: "1 turn" }));
  games.value = games.children[1].value;
  games.fire("change");
  assert.deepEqual(turns(again), ["S4"]);
  games.value = "games.none";
  games.fire("change");
  assert.deepEqual(turns(again), ["S4"]);
  localStorage["mancala.game"] = sessionStorage["mancala.game"] = JSON.stringify({ record: "not a record", players: ["you", "you"] });
  assert.deepEqual(turns(opened()), []); // a new game
});

test("the fifty newest games are kept, and a full browser is told once", async () => {
  const view = opened();
  const moves = async (number) => {
    view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
    view.sow(number % 6);
    await soon();
  };
  const realNow = Date.now;
  let now = 1e12;
  Date.now = () => (now += 1000);
  for (let number = 0; number < 52; number++) await moves(number);
  const names = () => Object.keys(localStorage).filter((key) => key.startsWith("mancala.games."));
  assert.equal(names().length, 50);
  assert.ok(Math.min(...names().map((name) => JSON.parse(localStorage[name]).when)) > 1e12 + 2000);
  Date.now = realNow;
  assert.deepEqual(app.told, []);
  isFull = true;
  await moves(0);
  view.sow(view.line.game.legal[0]);
  await soon();
  assert.deepEqual(app.told, [t("play.not_kept")]);
  assert.deepEqual(Object.keys(sessionStorage), ["mancala.game"]); // the tab has the game once
  isFull = false;
  view.sow(view.line.game.legal[0]);
  await soon();
  isFull = true;
  view.sow(view.line.game.legal[0]);
  await soon();
  assert.equal(app.told.length, 2);
});

test("the form chooses side, agent, strength, length and who starts, and keeps them", () => {
  app.served = { agents: [{ agent: "checkpoint", checkpoint: "a.zip", label: "a.zip" }] };
  const view = opened();
  const form = view.root.all().find((one) => one.name === "form"), selects = form.all().filter((one) => one.name === "select");
  const by = (text) => selects.find((one) => one.children.some((option) => option.value === text));
  const strength = form.all().find((one) => one.getAttribute("inputmode") === "numeric"), label = strength.parentElement;
  const choose = (text) => { const made = by(text); made.value = text; made.fire("change"); };
  const start = () => form.fire("submit", { preventDefault() {} });
  assert.equal(label.hidden, true); // greedy has no strength
  for (const [kind, [least, usual, most]] of Object.entries({ minimax: [1, 6, 14], mcts: [100, 2000, 200000], network: [1, 6, 12], perfect: [1, 5, 60] })) {
    choose(kind);
    assert.deepEqual([strength.min, strength.value, strength.max, label.hidden], [least, usual, most, false]);
    assert.equal(label.firstChild.textContent, t(`play.strength.${kind}`));
  }
  choose("minimax");
  strength.value = "9";
  strength.fire("change");
  choose("both");
  start();
  assert.deepEqual(view.players, ["you", "you"]);
  choose("neither");
  start();
  assert.deepEqual(view.players, Array(2).fill({ kind: "minimax", strength: 9 }));
  choose("match");
  for (const option of selects.filter((one) => one.children.some(({ value }) => value === "north") )) { option.value = "north"; option.fire("change"); }
  start();
  assert.deepEqual([view.players, view.line.game.player, view.line.rounds], [[{ kind: "minimax", strength: 9 }, "you"], 1, MATCH]);
  assert.deepEqual(JSON.parse(localStorage["mancala.play"]), { side: "north", level: "own", agent: "minimax", strength: "9", rounds: "match", starter: "north", below: true });
  assert.ok(app.said.at(-1).startsWith(t("play.begun", { title: "Layli Goobalay" })));
  choose("served:a.zip");
  start();
  assert.deepEqual(view.players[0], { kind: "served", agent: "checkpoint", checkpoint: "a.zip", label: "a.zip" });
  localStorage["mancala.play"] = JSON.stringify({ agent: "minimax", strength: 99 });
  const other = new PlayView(app);
  assert.equal(other.form.chosen.strength, 6); // out of range
  app.served = null;
  localStorage["mancala.play"] = JSON.stringify({ agent: "served:a.zip" });
  const without = new PlayView(app).form.chosen;
  assert.deepEqual([without.agent, without.level], ["greedy", "2"]); // no longer there
});

test("levels are agents of rising strength, and the folded form says what is chosen", () => {
  const { form } = opened(), { level } = form;
  assert.deepEqual(level.children.map(({ value }) => value), ["1", "2", "3", "4", "5", "6", "7", "8", "own"]);
  const specs = level.children.slice(0, 8).map(({ value }) => {
    level.value = value;
    level.fire("change");
    const [you, agent] = form.read().players;
    assert.equal(you, "you");
    assert.equal(agentName(agent), t("agent.level", { level: value }));
    return recordName(agent);
  });
  assert.deepEqual(specs, ["random", "greedy", "minimax:2", "minimax:4", "minimax:6", "mcts:400", "mcts:1000", "perfect:5"]);
  form.element.fire("change");
  assert.equal(form.words.textContent, "Layli Goobalay · You play South · Level 8");
  assert.equal(JSON.parse(localStorage["mancala.play"]).level, "8");
});

test("a newcomer sees a card for each game until the first turn", async () => {
  const view = opened(), { element } = view.startCards, cards = element.all().filter((one) => one.dataset.card);
  assert.deepEqual([element.hidden, cards.map(({ dataset }) => dataset.card)], [false, ["layli", "leyla", "gabata"]]);
  for (const card of cards) assert.ok(card.all().some(({ name }) => name === "svg") && card.textContent.length > 40);
  assert.equal(element.all().find(({ name }) => name === "a").getAttribute("href"), "#learn/layli/1");
  cards[1].click();
  assert.deepEqual([view.line.ruleset.name, element.hidden], ["leyla", true]);
  view.sow(0);
  await soon();
  assert.equal(opened().startCards.element.hidden, true); // no longer a newcomer
  globalThis.localStorage = newStore(() => isFull);
  globalThis.sessionStorage = newStore();
  assert.equal(opened({ game: engine.newGame("gabata_i") }).startCards.element.hidden, true); // came for this game
  const other = opened();
  other.startCards.isOffered = true;
  other.sow(other.line.game.legal[0]);
  await soon();
  assert.equal(other.startCards.element.hidden, true);
});

test("the user's side is below, unless the user does not want it", () => {
  const view = opened(), { form, board } = view;
  const firstHole = () => board.holes.children[0].dataset.hole;
  const below = form.element.all().find((one) => one.getAttribute("type") === "checkbox");
  const agent = { kind: "random" }, play = (...players) => view.begin(new GameLine(engine.newGame("leyla")), players);
  play("you", agent);
  const south = firstHole();
  play(agent, "you");
  assert.notEqual(firstHole(), south);
  for (const [checked, isTurned] of [[false, false], [true, true]]) {
    below.checked = checked;
    below.fire("change");
    assert.equal(firstHole() !== south, isTurned);
  }
  play("you", "you");
  assert.equal(firstHole(), south);
  play(agent, agent);
  assert.equal(firstHole(), south);
});

test("the form and the link to the rules follow the game", () => {
  const view = opened({ game: engine.newGame("gabata_i") });
  assert.ok(view.place.link.getAttribute("href").endsWith("/rulesets/gabata_i.html"));
  assert.equal(view.place.link.textContent, t("play.rules", { title: view.line.ruleset.title }));
  assert.ok(view.form.words.textContent.startsWith(`${view.line.ruleset.title} · `));
  view.newGame();
  assert.equal(view.line.ruleset.name, "gabata_i");
  view.enter({ game: engine.newGame(engine.ownRuleset({ name: "mine", row_width: 3 })) });
  assert.ok(view.place.link.getAttribute("href").endsWith("/reference/rules.html"));
  view.newGame();
  assert.equal(view.line.ruleset.rowWidth, 3);
});

test("an agent of the server is asked there, and the page's answer is noted", async () => {
  const view = opened();
  const agent = { kind: "served", agent: "checkpoint", checkpoint: "a.zip", label: "a.zip" };
  view.begin(new GameLine(engine.newGame("layli_goobalay"), MATCH), [agent, "you"]);
  const [{ given, resolve }] = app.served_asked;
  const [task, game, options, listening, own, instead] = given;
  assert.deepEqual([task, game.text, options, instead], ["choose", view.line.game.text, { ...agent, rounds: "match" }, { label: "a.zip", agent: agentName({ kind: "minimax", strength: 6 }) }]);
  assert.equal(listening.signal.aborted, false);
  const answer = own();
  assert.deepEqual([asked[0].task, asked[0].options], ["choose", { kind: "minimax", strength: 6 }]);
  asked[0].resolve({ action: 2 });
  resolve(await answer);
  await soon();
  assert.deepEqual(turns(view), ["S3"]);
  assert.match(JSON.parse(localStorage["mancala.game"]).record, /minimax:6 of the page played/);
  view.begin(new GameLine(engine.newGame("layli_goobalay"), 1), [agent, "you"]);
  assert.equal(app.served_asked.at(-1).given[2].rounds, 1);
  app.networks.set(keyOfRules(engine.ruleset("layli_goobalay")), { name: "mine" });
  view.begin(new GameLine(engine.newGame("layli_goobalay")), [{ kind: "network", strength: 4 }, "you"]);
  assert.deepEqual(asked.at(-1).options, { kind: "network", strength: 4, network: { name: "mine" } });
  assert.equal(view.status.textContent, t("play.thinking", { agent: `${t("agent.network")} 4`, player: "South" }));
});

test("a new game belongs to the tab, and keeps its id until another tab has it", async () => {
  const view = opened();
  assert.equal(JSON.parse(sessionStorage["mancala.game"]).isOfTab, true);
  const { id } = JSON.parse(localStorage["mancala.game"]);
  view.sow(3);
  await soon();
  assert.deepEqual([JSON.parse(localStorage["mancala.game"]).id, JSON.parse(localStorage[`mancala.games.${id}`]).record], [id, JSON.parse(localStorage["mancala.game"]).record]);
  globalThis.sessionStorage = newStore(); // another tab resumes the game
  const other = opened();
  assert.deepEqual([turns(other), JSON.parse(localStorage["mancala.game"]).id], [["S4"], id]);
  other.begin(new GameLine(engine.newGame("leyla")), ["you", "you"], { id, isOfTab: false });
  assert.equal(JSON.parse(localStorage["mancala.game"]).id, id); // nothing has changed yet
  other.sow(0);
  await soon();
  const changed = JSON.parse(localStorage["mancala.game"]);
  assert.ok(changed.id !== id && changed.isOfTab);
  other.sow(other.line.game.legal[0]);
  await soon();
  assert.equal(JSON.parse(localStorage["mancala.game"]).id, changed.id);
});

test("a duplicated tab gives the game a new id, and the first tab keeps it", async () => {
  const view = opened();
  view.sow(3);
  await soon();
  const { id } = view.saved.current;
  const other = opened(); // with the tab's own storage, too
  for (let tries = 0; other.saved.current.isOfTab && tries < 200; tries++) await soon();
  assert.deepEqual([view.saved.current, other.saved.current], [{ id, isOfTab: true }, { id, isOfTab: false }]);
  other.begin(other.line, ["you", "you"], other.saved.current);
  other.sow(other.line.game.legal[0]);
  await soon();
  assert.ok(other.saved.current.id !== id && other.saved.current.isOfTab);
  assert.equal(readRecord(engine, JSON.parse(localStorage[`mancala.games.${id}`]).record).line.turns.length, 1);
  assert.equal(view.saved.current.id, id);
});

test("a saved game that is resumed is this tab's own only if the tab has it open", async () => {
  const view = opened();
  const play = async (action) => { view.sow(action); await soon(); return JSON.parse(localStorage["mancala.game"]).id; };
  view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
  assert.equal(view.status.textContent, t("play.to_move", { player: "South" }));
  const old = await play(0);
  view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
  const current = await play(1);
  const games = view.root.all().find((one) => one.getAttribute("aria-label") === t("play.games"));
  const resume = (id) => { games.value = `games.${id}`; games.fire("change"); };
  resume(current);
  assert.equal(await play(view.line.game.legal[0]), current);
  resume(old); // another tab may have it open
  const changed = await play(view.line.game.legal[0]);
  assert.ok(![old, current].includes(changed));
});

test("the row of the record lists games, opens a file, saves and copies the address", async () => {
  const view = new PlayView(app);
  const games = view.root.all().find((one) => one.getAttribute("aria-label") === t("play.games"));
  assert.deepEqual(games.children.map(({ textContent }) => textContent), [t("play.games")]);
  view.enter();
  const [, save, open, copy, file] = games.parentElement.children;
  const taken = [], copied = [], saved = [];
  app.take = (one) => taken.push(one);
  file.files = [];
  file.fire("change");
  file.files = ["game.txt"];
  file.value = "game.txt";
  open.click();
  file.fire("change");
  assert.equal(file.value, ""); // so that the same file can be opened again
  assert.deepEqual(taken, ["game.txt"]);
  globalThis.location = { href: "http://here/#play" };
  Object.defineProperty(globalThis, "navigator", { value: { clipboard: { writeText: async (text) => void copied.push(text) } }, configurable: true });
  copy.click();
  await soon();
  const start = view.line.game.text.replaceAll(" ", "+");
  assert.deepEqual([copied, app.told.at(-1)], [[`http://here/#play/${start}`], t("play.link_copied")]);
  view.sow(2);
  await soon();
  copy.click();
  await soon();
  assert.equal(copied[1], `http://here/#study/${start};turns=S3`);
  assert.deepEqual(lineOf(engine, readAddress(copied[1].replace(/.*#/, "#"))).turns.map(turnText), ["S3"]);
  navigator.clipboard.writeText = async () => { throw new Error("not allowed"); };
  copy.click();
  await soon();
  assert.equal(app.told.at(-1), t("play.copy_by_hand", { text: copied[1] }));
  const { createObjectURL } = URL, { setTimeout: later } = globalThis;
  URL.createObjectURL = (blob) => (saved.push(blob), "blob:1");
  globalThis.setTimeout = () => {}; // the address of the file is released after ten seconds
  save.click();
  globalThis.setTimeout = later;
  URL.createObjectURL = createObjectURL;
  assert.match(await saved[0].text(), /^\[Ruleset "layli_goobalay"\][^]*\[South "human"\]\n\[North "greedy"\]/);
});

test("a new game can be undone until its first turn, by key and by button", async () => {
  const offered = [];
  app.tell = (text, isSaid, options = {}) => offered.push([text, options.act]);
  const view = opened();
  view.newGame(); // nothing was lost
  assert.deepEqual([offered, view.left.isThere], [[], false]);
  view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
  view.sow(0);
  await soon();
  const { line } = view, { id } = view.saved.current;
  view.newGame();
  assert.ok(offered[0][0].includes(t("play.left")));
  assert.deepEqual([turns(view), button(view, "take_back").disabled], [[], false]);
  offered[0][1]();
  assert.deepEqual([view.line, turns(view), view.players, view.saved.current.id], [line, ["S1"], ["you", "you"], id]);
  view.newGame();
  view.takeBack();
  assert.equal(view.line, line);
  view.newGame();
  view.sow(view.line.game.legal[0]); // now the new game counts
  await soon();
  assert.equal(view.left.isThere, false);
  offered[0][1]();
  assert.notEqual(view.line, line);
});

test("only the game that the last one replaced is brought back, and not after a turn", async () => {
  const view = opened();
  const played = async (ruleset) => {
    view.begin(new GameLine(engine.newGame(ruleset)), ["you", "you"]);
    view.sow(0);
    await soon();
    return view.line;
  };
  await played("leyla");
  const second = await played("gabata_i");
  view.enter({ game: engine.fromText(LATE) }); // by the address
  assert.ok(app.told.at(-1).includes(t("play.left")));
  view.takeBack();
  assert.equal(view.line, second);
  view.newGame();
  view.resign();
  view.takeBack(); // the resignation
  assert.deepEqual([view.line.resigned, view.line === second], [null, false]);
  const fourth = await played("leyla");
  view.takeBack();
  view.takeBack(); // nothing is left to take back
  assert.equal(view.line, fourth);
});

test("a position under other rules is another one", () => {
  const [one, other] = [true, false].map((captures_last) => engine.newGame(engine.ownRuleset({ name: "custom", captures_last })));
  assert.equal(one.text, other.text);
  const view = opened({ game: one });
  view.enter({ game: other });
  assert.equal(view.line.ruleset, other.ruleset);
  const study = studied({ game: one });
  study.enter({ game: other });
  assert.equal(study.line.ruleset, other.ruleset);
  study.analysis.of(one).book = { values: { 0: 5 }, line: [] };
  assert.deepEqual(study.analysis.bounds(other), {});
});

test("a game that other moves replace in Study can be brought back", async () => {
  const line = new GameLine(engine.newGame("leyla"));
  for (let n = 0; n < 4; n++) line.play(line.game.legal[0]);
  const played = line.turns.map(turnText);
  const view = studied({ line }), playedNow = () => view.line.turns.map(turnText);
  const leave = {
    turn: () => { view.goTo(2); view.sow(view.line.game.legal.at(-1)); },
    new_game: () => view.commands.new_game(),
    text: () => { view.text.value = "gabata_i"; view.read(); },
  };
  for (const [name, act] of Object.entries(leave)) {
    app.told.length = 0;
    act();
    await soon();
    assert.notDeepEqual(playedNow(), played, name);
    assert.deepEqual(app.told, [t("study.left")], name);
    view.sow(view.line.game.legal[0]); // moves of the other game do not count
    await soon();
    app.act();
    assert.deepEqual(playedNow(), played, name);
    if (name === "turn") assert.equal(view.line.at, 2);
  }
  view.sow(view.line.game.legal[0]);
  await soon();
  view.newGame();
  assert.ok(app.said.at(-1).startsWith(t("play.begun", { title: "Leyla (Wegi)" })));
  app.told.length = 0;
  view.sow(0); // no game was opened here
  await soon();
  view.takeBack();
  view.sow(1);
  await soon();
  assert.deepEqual(app.told, []);
  view.leave();
});

test("the legal turns, or how the round has ended, are said in Study", () => {
  const view = studied({ game: engine.fromText(LATE) });
  view.commands.legal();
  assert.equal(app.said.at(-1), t("play.legal_said", { player: "South", legal: "S2, S6" }));
  view.begin(new GameLine(engine.fromText("leyla 24,0,0,0,0,0/0,0,0,0,0,0 12-12 N")));
  assert.ok(view.line.isOver);
  view.commands.legal();
  assert.equal(app.said.at(-1), statusOf(view.line.ruleset, view.line.game));
});

test("a resignation can be undone", async () => {
  const offered = [];
  app.tell = (text, isSaid, options = {}) => offered.push(options.act);
  const view = opened();
  view.sow(0);
  await soon();
  view.resign();
  assert.equal(view.line.resigned, 0);
  offered.at(-1)();
  assert.deepEqual([view.line.resigned, turns(view)], [null, ["S1"]]);
});

test("kept choices that are invalid are replaced", () => {
  localStorage["mancala.play"] = JSON.stringify({ side: "xx", rounds: 3, starter: null, agent: 5, level: {} });
  const { chosen } = opened().form;
  assert.deepEqual([chosen.side, chosen.rounds, chosen.starter, chosen.level], ["south", "round", "south", "2"]);
  localStorage["mancala.play"] = JSON.stringify({ agent: "toString", level: "own" });
  localStorage["mancala.ruleset.play"] = JSON.stringify({ dials: null });
  assert.deepEqual(opened().form.players, ["you", { kind: "greedy", strength: 6 }]);
});

test("the first turn can be taken back while it is sown", () => {
  const view = opened();
  view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
  app.speed = [0.1, 10];
  view.press(0);
  assert.deepEqual([view.board.isMoving, button(view, "take_back").disabled], [true, false]);
  view.takeBack();
  assert.deepEqual([view.board.isMoving, view.line.turns.length, button(view, "take_back").disabled], [false, 0, true]);
});

test("the board and the status say who has resigned, at the end of the game only", async () => {
  const line = new GameLine(engine.newGame("leyla")), caption = (view) => [view.board.caption, view.status.textContent];
  line.play(0);
  line.resigned = 1;
  const resigned = t("play.resigned", { player: "North", winner: "South" }), open = t("status.to_move", { player: "South" });
  const view = studied({ line: line.copy() });
  assert.deepEqual(caption(view), [resigned, resigned]);
  view.commands.earlier();
  assert.deepEqual(caption(view), [open, open]);
  view.goTo(1);
  assert.ok(app.said.at(-1).endsWith(resigned));
  const played = opened();
  played.begin(line.copy(), ["you", "you"]);
  assert.deepEqual(caption(played), [resigned, resigned]);
  played.takeBack();
  assert.equal(played.board.caption, t("status.to_move", { player: "North" }));
});

test("the text of a position is copied, or shown to be copied by hand", async () => {
  const view = studied({ game: engine.fromText(LATE) });
  const copy = view.root.all().find(({ name, textContent }) => name === "button" && textContent === t("study.copy"));
  for (const [value, told] of [[{ clipboard: { writeText: async () => {} } }, t("study.copied")], [{}, t("play.copy_by_hand", { text: LATE })]]) {
    Object.defineProperty(globalThis, "navigator", { value, configurable: true });
    copy.click();
    await soon();
    assert.equal(app.told.at(-1), told);
  }
});

test("a link of the page and a position with a small s are read in Study, with all turns", () => {
  const view = studied(), line = new GameLine(engine.newGame("leyla"), MATCH);
  for (let n = 0; n < 3; n++) line.play(line.game.legal[0]);
  globalThis.location = { href: "http://here/#play" };
  const link = linkOf(app, line);
  assert.match(link, /;turns=S1\.N\d\.S\d;rounds=match$/);
  view.text.value = ` ${link} `;
  view.read();
  assert.deepEqual([view.line.turns.map(turnText), view.line.rounds, view.line.at], [line.turns.map(turnText), MATCH, 3]);
  view.text.value = LATE.replace(/S$/, "s");
  view.read();
  assert.deepEqual([view.line.game.text, app.warned], [LATE, []]);
  const own = new GameLine(engine.newGame(engine.ownRuleset({ name: "mine", row_width: 3 })));
  own.play(0);
  assert.equal(lineFromText(engine, linkOf(app, own)).game.text, own.game.text);
  assert.equal(lineFromText(engine, " leyla ").game.text, engine.newGame("leyla").text);
  assert.equal(lineFromText(engine, own.ruleset.name, own.ruleset).ruleset, own.ruleset);
  for (const nothing of ["", "chess"]) assert.throws(() => lineFromText(engine, nothing), /the form is/);
  for (const elsewhere of ["http://here/#puzzles/leyla/3", "#learn/layli/2", "#play"])
    assert.throws(() => lineFromText(engine, elsewhere), { message: t("error.no_position") });
  for (const [wrong, said] of [[";rounds=0", "rounds must be"], [";turns=N1", "South is to move"], [";turns=S1;rounds=1.5", "rounds must be"]])
    assert.throws(() => lineFromText(engine, `#study/leyla+4,4,4,4,4,4/4,4,4,4,4,4+0-0+S${wrong}`), (error) => error.message.includes(said), wrong);
});

test("a hole that cannot be sown says why, by its own name", async () => {
  const game = engine.fromText("leyla 0,7n,4,0,4,2/0,1,6,4,7n,7 6-0 S");
  const view = opened({ game }), names = (hole) => whyNotSown(game, game.actionOf(hole));
  assert.ok(names(0).startsWith(t("why.empty", { hole: "S1" })));
  assert.ok(names(8).startsWith(t("why.opponent", { hole: "N3", player: "North" })));
  assert.ok(names(1).startsWith(t("why.owned.pair", { hole: "S2", player: "North" })));
  assert.ok(whyNotSown(game, 99).startsWith(t("why.no_hole", { number: 100 })));
  view.press(8);
  assert.equal(app.said.at(-1), names(8));
  assert.equal(view.status.textContent, `${t("why.opponent", { hole: "N3", player: "North" })} ${t("play.your_turn", { player: "South" })}`);
  assert.ok(!names(8).includes("S9") && names(8).includes("S3"));
  view.sow(2);
  assert.ok(!view.status.textContent.includes("N3"));
  const study = studied({ game });
  study.press(8);
  assert.equal(study.verdict.textContent, names(8));
});

test("a game that is entered with the view waits for nobody, and is shown as it is", async () => {
  const line = new GameLine(engine.fromText(LATE));
  const view = opened({ line });
  assert.deepEqual([view.line, view.shown, view.isYours, button(view, "go_on").hidden], [line, line.game, true, true]);
  const before = new PlayView(app);
  before.line = line;
  assert.deepEqual([before.shown, before.isYours], [line.game, true]); // no round is over yet
});

// Study

const studied = (given = {}) => {
  Object.defineProperty(app, "playedLine", { value: null, configurable: true });
  const view = new StudyView(app);
  view.enter(given);
  return view;
};

test("a game is walked in Study, and a turn goes on from there", async () => {
  const line = new GameLine(engine.newGame("leyla"));
  for (let n = 0; n < 4; n++) line.play(line.game.legal[0]);
  line.goTo(2);
  const view = studied({ line });
  const walk = { earlier: 1, later: 2, last: 4, first: 0 };
  for (const [name, wanted] of Object.entries(walk)) {
    view.verdict.textContent = "of another position";
    view.commands[name]();
    assert.deepEqual([view.line.at, view.verdict.textContent], [wanted, ""], name);
    assert.deepEqual(app.addresses.at(-1), ["study", view.line.game.text]);
    assert.equal(view.text.value, view.line.game.text);
  }
  assert.ok(app.said.at(-1).startsWith(t("study.at_start")));
  button(view, "later").click();
  button(view, "later").click();
  button(view, "earlier").click();
  assert.equal(view.line.at, 1);
  button(view, "last").click();
  assert.equal(view.line.at, 4);
  button(view, "first").click();
  view.takeBack();
  assert.equal(app.said.at(-1), t("play.nothing_to_take_back"));
  view.lastTurn();
  assert.equal(app.said.at(-1), t("play.no_turn_yet"));
  view.sow(line.turns[0].action); // the turn of the game: what comes after it stays
  await soon();
  assert.deepEqual([view.line.at, view.line.turns.length], [1, 4]);
  view.goTo(0);
  const other = view.line.game.legal.find((action) => action !== line.turns[0].action);
  view.press(view.line.game.holeOf(other));
  await soon();
  assert.deepEqual([view.line.at, view.line.turns.length], [1, 1]);
  assert.equal(view.board.holes.children.length, 12);
  assert.deepEqual(view.board.numbers.children.slice(0, 12).map(({ textContent }) => Number(textContent)), view.line.game.seeds); // as it is after the turn
  view.takeBack();
  assert.equal(view.line.at, 0);
  view.sow(99);
  assert.ok(app.said.at(-1).includes("S1"));
  button(view, "play_from_here").click();
  assert.equal(app.went.at(-1)[1].line.text, "");
  assert.equal(readRecord(engine, kept.read("studied", "")).line.turns.length, 1);
});

test("a turn that ends after Study was left, or in another position, is not shown", async () => {
  const view = studied({ game: engine.fromText(LATE) });
  for (const act of [() => view.leave(), () => view.begin(new GameLine(engine.newGame("leyla"))), () => view.goTo(0)]) {
    view.enter({ game: engine.fromText(LATE) });
    view.goTo(0);
    view.sow(1);
    act();
    const [shown, questions] = [app.addresses.length, asked.length];
    await soon();
    assert.deepEqual([app.addresses.length, asked.length], [shown, questions], String(act));
  }
});

test("each search of a position is asked once, and the quick ones one after the other", async () => {
  const tasks = () => asked.map(({ task, options }) => [task, options]);
  const answer = async (task, found) => {
    asked.findLast((one) => one.task === task).resolve(found);
    await soon();
  };
  const [book, exact, search, mcts] = [["book", {}], ["values", { milliseconds: 120_000 }], ["minimax", { milliseconds: 1500 }], ["mcts", { milliseconds: 1500 }]];
  app.settings.engines = true;
  const view = studied({ game: engine.fromText(LATE) });
  assert.deepEqual(tasks(), [book, exact, search]);
  view.leave();
  await soon();
  assert.deepEqual(tasks(), [book, exact, search]); // no more once the position is left
  asked.length = 0;
  view.enter({});
  assert.deepEqual(tasks(), [book, exact, search]);
  asked[0].reject(new Error("no book")); // its file cannot be loaded
  await answer("minimax", { depth: 3, values: { 1: -2, 5: -10 } });
  assert.deepEqual(tasks(), [book, exact, search, mcts]);
  await answer("mcts", { values: { 1: -3 } });
  assert.deepEqual(tasks(), [book, exact, search, mcts, ["minimax", { milliseconds: 1500, network: "bundled" }]]);
  asked.at(-1).reject(new Error("no network"));
  await soon();
  assert.deepEqual(app.warned, []);
  asked.find(({ task }) => task === "values").reject(new Error("no solver"));
  await soon();
  assert.deepEqual(app.warned, ["no solver"]);
  asked.length = 0;
  app.networks.set(keyOfRules(engine.ruleset("layli_goobalay")), "mine");
  view.enter({});
  const network = ["minimax", { milliseconds: 1500, network: "mine" }];
  await soon();
  assert.deepEqual(tasks(), [book, exact, network]); // what is known is not asked again
  await answer("book", { values: {}, line: [] });
  await answer("minimax", { depth: 3, values: { 1: 0 } });
  await proveAll();
  asked.length = 0;
  view.enter({});
  await soon();
  assert.deepEqual(tasks(), []);
  app.networks.set(keyOfRules(engine.ruleset("layli_goobalay")), "another");
  view.enter({});
  await soon();
  assert.deepEqual(tasks(), [["minimax", { milliseconds: 1500, network: "another" }]]);
  await answer("minimax", { depth: 3, values: { 1: 0 } });
  asked.length = 0;
  view.sow(1); // the coach has solved the position after it
  await soon();
  assert.deepEqual(asked.filter(({ game }) => game === view.line.game).map(({ task }) => task), ["minimax"]);
  app.analysis = null; // a new page
  const other = studied({ line: view.line });
  assert.deepEqual([asked.at(-1).game.text, ...tasks().at(-1)], [LATE, ...book]); // the book first, then the solver
  await answer("book", { values: {}, line: [] });
  assert.deepEqual([asked.at(-1).game.text, ...tasks().at(-1)], [LATE, "values", { milliseconds: 4000 }]);
  other.leave();
});

test("values are in a table, open ones with their bounds, and in columns that have some", async () => {
  app.settings.engines = true;
  const view = studied({ game: engine.fromText(LATE) });
  const rows = () => view.values.table.children[1].children.map((row) => row.children.map(({ textContent }) => textContent));
  const columns = () => view.values.table.children[0].children[0].children.map(({ textContent }) => textContent);
  const exactly = (value) => ({ lower: value, upper: value });
  assert.deepEqual([rows(), columns().length], [[["S2", "…"], ["S6", "…"]], 2]);
  asked[0].resolve({ values: {}, line: [] });
  asked[1].listening.onProgress({ lower: -4, upper: 2, nodes: 7, actions: { 1: { lower: -4, upper: 2 }, 5: exactly(-9) } });
  await soon();
  assert.deepEqual(rows(), [["S2", t("study.between", { lower: "-5", upper: "+1" })], ["S6", "-10"]]);
  assert.deepEqual([view.values.note.textContent, columns().length, badges(view).sort()], [t("study.proving", { nodes: "7" }), 2, ["-10"]]);
  const buttons = () => view.values.table.children[1].children.map((row) => row.children[0].firstChild);
  asked[2].resolve({ depth: 3, values: { 1: -1.504 } });
  await soon();
  assert.deepEqual([rows(), columns()[2]], [[["S2", t("study.between", { lower: "-5", upper: "+1" }), "-2.50"], ["S6", "-10", ""]], t("study.column.search", { depth: 3 })]);
  const pressed = buttons();
  asked[1].resolve({ lower: -1, upper: -1, nodes: 9, isExact: true, hasEnded: true, actions: { 1: exactly(-1), 5: exactly(-9) } });
  await soon();
  assert.deepEqual([rows().map(([, exact]) => exact), view.values.note.textContent], [["-2", "-10"], t("study.all_exact")]);
  assert.ok(buttons().every((button, n) => button === pressed[n])); // a button under the pointer stays
  assert.deepEqual(view.values.table.children[1].children.map((row) => row.getAttribute("class")), ["best", null]);
});

test("the slider walks from the start to the last turn", () => {
  const line = new GameLine(engine.fromText(LATE));
  line.play(1);
  line.play(line.game.legal[0]);
  const view = studied({ line }), { slider } = view;
  assert.deepEqual([slider.getAttribute("min"), slider.max, slider.value, slider.disabled], ["0", 2, 2, false]);
  for (const [at, words] of [[1, "S2"], [0, t("study.at_start")]]) {
    slider.value = String(at);
    slider.fire("input");
    assert.deepEqual([view.line.at, slider.value, slider.getAttribute("aria-valuetext")], [at, at, words]);
  }
  view.begin(new GameLine(engine.fromText(LATE)));
  assert.deepEqual([slider.max, slider.disabled], [0, true]);
});

test("a position of the game that was studied last is shown in that game", () => {
  const line = new GameLine(engine.fromText(LATE));
  line.play(1);
  line.play(line.game.legal[0]);
  studied({ line });
  const [first, second] = [line.turns[0].following, line.game];
  for (const [game, at] of [[first, 1], [second, 2], [engine.fromText(LATE), 0]]) {
    const view = studied({ game });
    assert.deepEqual([view.line.at, view.line.turns.length], [at, 2]);
  }
  assert.equal(studied({ game: engine.newGame("leyla") }).line.turns.length, 0); // a position of no game
});

test("a position is read from its text, and a wrong one is named", () => {
  const view = studied();
  assert.equal(view.line.game.text, engine.newGame("layli_goobalay").text);
  view.verdict.textContent = "of another game";
  view.text.value = LATE;
  view.read();
  assert.deepEqual([view.line.game.text, view.verdict.textContent], [LATE, ""]);
  view.text.value = "leyla 1";
  view.read();
  assert.deepEqual([view.line.game.text, app.warned.length], [LATE, 1]);
  view.enter({ game: view.line.game }); // the same
  assert.equal(view.line.game.text, LATE);
  view.enter({ game: engine.newGame("gabata_i") });
  assert.equal(view.line.ruleset.name, "gabata_i");
  view.leave();
  assert.equal(view.isShown, false);
});

test("the games of a file are offered by the names of their players", () => {
  const one = new GameLine(engine.newGame("leyla"));
  one.play(1);
  const named = writeRecord(one, { south: "Amina", north: "greedy" });
  const files = listGames(`${named}\n[Ruleset "leyla"]\n1. S1\n\n[Ruleset "leyla"]\n1. S9\n`);
  const view = studied({ games: files });
  const choice = view.gamesPlace.all().find(({ name }) => name === "select");
  const game = (number, south, north, result) => t("study.game", { number, south, north, result });
  assert.deepEqual(choice.children.map(({ textContent }) => textContent), [game(1, "Amina", "greedy", "*"), game(2, "South", "North", "*"), game(3, "South", "North", "*")]);
  assert.deepEqual([view.gamesPlace.hidden, view.line.turns[0].action], [false, 1]);
  choice.value = "1";
  choice.fire("change");
  assert.equal(view.line.turns[0].action, 0);
  choice.value = "2";
  choice.fire("change");
  assert.equal(view.line.turns[0].action, 0);
  assert.ok(app.warned.at(-1).includes("S9"));
  view.enter({ line: one });
  assert.equal(view.gamesPlace.hidden, true);
});

/** Answer the questions for exact values, until there are no more. The opening book is empty. */
async function proveAll() {
  const solver = engine.solver("layli_goobalay", { megabytes: 1 }), answered = new Set();
  for (let one; (one = asked.find((each) => ["book", "values"].includes(each.task) && !answered.has(each))); await soon()) {
    answered.add(one);
    if (one.task === "book") {
      one.resolve({ values: {}, line: [] });
      continue;
    }
    const study = solver.study(one.game);
    study.goOn(Infinity);
    const { lower, upper, bounds } = study.result;
    one.resolve({ lower, upper, actions: Object.fromEntries(Object.entries(bounds).map(([action, [least, most]]) => [action, { lower: least, upper: most }])), nodes: 1, isExact: true, hasEnded: true });
  }
  solver.close();
}

test("turns that lose seeds are asked again, and the others are not", async () => {
  const solver = engine.solver("layli_goobalay", { megabytes: 1 });
  const values = (game) => { const study = solver.study(game); study.goOn(Infinity); return study.result; };
  const line = new GameLine(engine.fromText(LATE));
  let mistake = null;
  const worse = new Set();
  while (mistake === null && !line.isOver) {
    const { lower, bounds, best } = values(line.game);
    const wrong = line.turns.length ? line.game.legal.find((action) => bounds[action][0] < lower) : undefined; // the first turn is good
    if (wrong !== undefined) for (const action of line.game.legal) if (bounds[action][0] < lower) worse.add(action);
    if (wrong !== undefined) mistake = { at: line.turns.length, player: line.game.player, seeds: lower - bounds[wrong][0] };
    line.play(wrong ?? best[0]);
  }
  solver.close();
  assert.ok(mistake);
  const view = studied({ line });
  await proveAll();
  view.retry();
  const ask = t("study.retry_ask", { player: ["South", "North"][mistake.player], turn: turnText(line.turns[mistake.at]), seeds: seedsText(mistake.seeds) });
  assert.deepEqual([view.line.at, view.verdict.textContent], [mistake.at, ask]);
  const { game } = view.line, turn = (action) => turnText({ player: game.player, action });
  assert.deepEqual([view.values.table.hidden, badges(view), view.values.note.textContent], [true, [], t("study.hidden")]);
  for (const say of [view.commands.hint, () => view.sayValues()]) { // keys do not speak the answer
    app.said.length = 0;
    say();
    assert.deepEqual(app.said, [t("study.hidden")]);
  }
  const wrong = line.turns[mistake.at].action, right = game.legal.find((action) => !worse.has(action));
  view.sow(wrong);
  assert.equal(view.verdict.textContent, t("study.retry_wrong", { turn: turn(wrong), seeds: seedsText(mistake.seeds) }));
  assert.deepEqual([view.line.at, view.values.table.hidden], [mistake.at, true]);
  const { actions } = view.analysis.of(game).exact, most = actions[right].upper, proved = actions[wrong];
  for (const [upper, name] of [[most - 2, "study.retry_wrong_at_least"], [most, "study.retry_unproved"]]) {
    actions[wrong] = { lower: -40, upper }; // an answer whose value is not proved
    view.sow(wrong);
    assert.equal(view.verdict.textContent, t(name, { turn: turn(wrong), seeds: seedsText(2) }));
  }
  actions[wrong] = proved;
  view.sow(right);
  assert.equal(view.verdict.textContent, t("study.retry_right", { turn: turn(right) }));
  assert.deepEqual([view.line.at, view.values.table.hidden, app.said.at(-1)], [mistake.at, false, view.verdict.textContent]);
  view.retry();
  assert.equal(view.values.table.hidden, true);
  view.begin(new GameLine(engine.fromText(LATE))); // another game is not asked about
  assert.deepEqual([view.verdict.textContent, view.values.table.hidden], ["", false]);
  view.sow(1);
  await soon();
  assert.equal(view.line.at, 1);
  const good = new GameLine(engine.fromText(LATE));
  good.play(1);
  const other = studied({ line: good });
  await proveAll();
  other.retry();
  assert.equal(other.verdict.textContent, t("study.retry_none"));
});

function switchEngines(view, areShown) {
  view.values.engines.checked = areShown;
  view.values.engines.fire("change");
}

test("columns of engines are off until they are switched on, and exact values stay", async () => {
  const view = studied({ game: engine.fromText(LATE) });
  const titles = () => view.values.table.all().filter(({ name }) => name === "th").map(({ textContent }) => textContent);
  const columns = (...names) => [t("study.move"), ...names.map((name) => t(`study.column.${name}`, { depth: 3 }))];
  assert.equal(view.values.engines.checked, false);
  await proveAll();
  asked.findLast(({ task }) => task === "minimax").resolve({ depth: 3, nodes: 5, values: { 1: -2, 5: -10 } });
  await soon();
  assert.deepEqual(titles(), columns("exact"));
  assert.ok(asked.every(({ task }) => task !== "mcts"));
  switchEngines(view, true);
  assert.equal(app.settings.engines, true);
  assert.deepEqual(titles(), columns("exact", "search"));
  asked.findLast(({ task }) => task === "mcts").resolve({ values: { 1: -0.5, 5: -1 } });
  await soon();
  assert.deepEqual(titles(), columns("exact", "search", "mcts"));
  assert.equal(studied({ game: view.line.game }).values.engines.checked, true); // as remembered
  switchEngines(view, false);
  assert.deepEqual([titles(), app.settings.engines], [columns("exact"), false]);
});

test("Study shows the same game when it is entered again, and explains columns that are there", async () => {
  const line = new GameLine(engine.fromText(LATE));
  line.play(1);
  const view = studied({ line });
  view.goTo(0);
  for (const given of [{}, { game: view.line.game }, { game: engine.fromText(LATE) }]) {
    view.leave();
    view.enter(given);
    assert.deepEqual([view.line, view.line.at, view.line.turns.length], [line, 0, 1]);
  }
  await proveAll();
  assert.equal(view.values.columnsNote.hidden, true);
  switchEngines(view, true);
  asked.findLast(({ task }) => task === "minimax").resolve({ depth: 3, nodes: 5, values: { 1: -2, 5: -10 } });
  await soon();
  assert.equal(view.values.columnsNote.hidden, false);
});

test("what happened is said under the board, and the coach ranks the turns", async () => {
  const line = new GameLine(engine.fromText(LATE));
  const view = studied({ line });
  assert.equal(view.happened.textContent, "");
  await proveAll();
  const said = view.coach.list.children.map(({ textContent }) => textContent);
  assert.equal(said.length, 2);
  assert.match(said[0], /^S2 wins nothing: -2; best reply: N\d .*\.$/);
  assert.match(said[1], /^S6 wins nothing: -10; best reply: N3 makes uurs in N5 and S2\.$/);
  const reply = /best reply: (N\d)/.exec(said[1])[1];
  view.toggleValues();
  assert.deepEqual([view.coach.element.hidden, app.said.at(-1)], [true, t("play.values_off")]);
  view.sow(5);
  await soon();
  assert.match(view.happened.textContent, /^South sowed S6: .*\.$/);
  view.sow(Number(reply[1]) - 1);
  await soon();
  assert.match(view.happened.textContent, /^North sowed N3: uurs made in N5 and S2\./);
  const play = opened({ line: view.line.copy() });
  assert.equal(play.happened.textContent, view.happened.textContent);
  assert.ok(play.advice.element.all().every((one) => one.getAttribute("class") !== "coach")); // nobody has asked the coach
  play.takeBack();
  play.takeBack();
  play.advice.toggleValues();
  assert.deepEqual(play.advice.coach.list.children.map(({ textContent }) => textContent), said);
});

test("a game that is over has a report, and only the user's own mistakes are retried", async () => {
  const line = new GameLine(engine.fromText(LATE));
  for (const action of [5, 2]) line.play(action);
  assert.ok(line.isOver);
  const view = opened({ line });
  const cells = (report) => report.table.children[1].children.map((row) => row.children.slice(1).map(({ textContent }) => textContent).join());
  assert.equal(view.advice.report.note.textContent, `${t("report.grading", { graded: 0, turns: 2 })} ${t("report.meaning")}`);
  await proveAll();
  await soon();
  // accuracy, best, good, mistake, blunder, seeds lost; South and North
  assert.deepEqual(cells(view.advice.report), ["0 %,100 %", "0,1", "0,0", "0,0", "1,0", "8,0"]);
  assert.equal(view.advice.report.note.textContent, t("report.meaning"));
  const [moment] = view.advice.report.worst.children.map((item) => item.firstChild);
  view.advice.report.draw(view.line, true);
  assert.equal(view.advice.report.worst.children[0].firstChild, moment); // a button under the pointer stays
  assert.deepEqual([view.advice.report.worst.children.length, moment.textContent], [1, "1. S6 −8"]);
  moment.click();
  assert.deepEqual([app.went.at(-1)[0], app.went.at(-1)[1].line.at, app.went.at(-1)[1].line.turns.length], ["study", 0, 2]);
  button(view, "retry_yours").click();
  const [name, given] = app.went.at(-1);
  assert.deepEqual([name, given.line.names, given.isRetry], ["study", ["human", "greedy"], true]);
  const study = studied(given); // what Play has found is known
  assert.equal(study.verdict.textContent, t("study.retry_ask", { player: "South", turn: "S6", seeds: seedsText(8) }));
  assert.deepEqual(cells(study.report), cells(view.advice.report));
  const record = writeRecord(line, { south: "greedy", north: "human" });
  const other = studied({ line: readRecord(engine, record).line });
  other.retry();
  assert.equal(other.verdict.textContent, t("study.retry_none_yours", { player: "North" }));
  const people = studied({ line: readRecord(engine, writeRecord(line, { south: "Amina", north: "Hodan" })).line });
  people.retry();
  assert.equal(people.line.at, 0);
  view.takeBack();
  assert.equal(view.advice.report.element.hidden, true);
});

test("turns are counted by the seeds they lose, and those that are not graded are not counted", () => {
  assert.deepEqual([0, 1, 2, 3, 5, 6, 40].map(kindOf), ["best", "good", "good", "mistake", "mistake", "blunder", "blunder"]);
  const exactly = (value) => ({ lower: value, upper: value });
  const turn = (action) => ({ action, before: { legal: [0, 1, 2] } });
  assert.equal(accuracyOf(turn(1), { 0: exactly(5), 1: exactly(2), 2: exactly(-7) }), 0.75);
  assert.equal(accuracyOf(turn(1), { 0: exactly(5), 1: exactly(5), 2: exactly(5) }), null); // no choice
  assert.equal(accuracyOf(turn(1), { 0: exactly(5), 1: exactly(2), 2: { lower: -7, upper: 0 } }), null); // how bad the worst is, is not known
  const line = new GameLine(engine.newGame("layli_goobalay"));
  for (let n = 0; n < 8; n++) line.play(line.game.legal[0]);
  const losses = [0, undefined, 2, 0, 9, 4, 7, 8], analysis = { lost: (one) => losses[line.turns.indexOf(one)], of: () => ({}) };
  const { sides, worst } = reportOf(line, analysis);
  const count = (player) => line.turns.filter((one) => one.player === player).length;
  assert.deepEqual(sides.map(({ turns }) => turns), [count(0), count(1)]);
  assert.equal(sides[0].graded + sides[1].graded, 7);
  assert.equal(sides[0].lost + sides[1].lost, 30);
  assert.deepEqual(["best", "good", "mistake", "blunder"].map((kind) => sides[0][kind] + sides[1][kind]), [2, 1, 1, 3]);
  assert.deepEqual(worst.map(({ at, lost }) => [at, lost]), [[4, 9], [7, 8], [6, 7]]);
});

test("a step forward in Study is sown seed by seed, and any other position ends that", async () => {
  const line = new GameLine(engine.fromText(LATE));
  for (const action of [5, 2]) line.play(action);
  line.goTo(0);
  const view = studied({ line });
  const seeds = () => view.board.numbers.children.slice(0, 12).map(({ textContent }) => Number(textContent));
  app.speed = [1000, 1e9];
  view.commands.later();
  assert.deepEqual([view.line.at, view.board.isMoving, app.said.at(-1).startsWith("South plays S6")], [1, true, true]);
  view.commands.later(); // the next turn, before the first one has ended
  assert.deepEqual([view.line.at, view.board.isMoving], [2, true]);
  view.commands.first();
  await soon();
  assert.deepEqual([view.line.at, view.board.isMoving, seeds()], [0, false, line.first.seeds]);
  view.commands.again(); // no turn has been played here
  assert.equal(app.said.at(-1), t("play.no_turn_yet"));
  view.commands.later();
  view.commands.skip();
  await soon();
  assert.deepEqual([view.board.isMoving, seeds(), view.line.turns.length], [false, line.turns[0].after.seeds, 2]);
  view.commands.again();
  assert.equal(view.board.isMoving, true);
  view.commands.earlier();
  await soon();
  assert.deepEqual([view.board.isMoving, seeds()], [false, line.first.seeds]);
  view.leave();
});

test("sentences name captures, owned holes, ransoms, passes and endless relays", () => {
  const texts = new Set();
  for (const { name } of engine.rulesets.slice(0, 8)) {
    const game = engine.newGame(name);
    for (let n = 0; n < 120 && !game.isOver; n++) {
      const action = game.legal[(5 * n) % game.legal.length], before = game.copy();
      const turn = { ...game.play(action), before };
      const said = happened(turn), effects = effectsOf(before, action);
      assert.ok(said.startsWith(`${["South", "North"][turn.player]} sowed ${turnText(turn)}: `), said);
      assert.equal(effects.laps, turn.laps);
      if (!turn.endless) assert.equal(effects.captured + effects.ransomed, turn.captured, said);
      assert.deepEqual([...effects.owned].sort((a, b) => a - b), turn.newOwned);
      assert.equal(said.includes("nothing won"), !turn.endless && !turn.captured && !turn.newOwned.length, said);
      assert.equal(coachText(before, action, {}).endsWith("; the round is over."), game.isOver);
      for (const word of ["captured", "uur", "weg", "won back", "passes", "laps"]) if (said.includes(word)) texts.add(word);
    }
  }
  assert.ok(texts.size >= 5, [...texts].join());
});

test("a search of the book that is running does not count as one that found nothing", async () => {
  const view = studied(), { game } = view.line;
  asked.length = 0;
  const found = view.analysis.lookUp(game);
  assert.equal(view.analysis.of(game).book, undefined);
  assert.equal(await view.analysis.lookUp(game), false);
  asked[0].resolve({ values: { 0: 1 }, line: [] });
  assert.deepEqual([await found, asked.length, view.analysis.of(game).book.values], [true, 1, { 0: 1 }]);
});

test("the opening book grades the first turns of a game before the solver is asked", async () => {
  const line = new GameLine(engine.newGame("layli_goobalay"));
  for (const action of [0, 5, 0, 5]) line.play(action);
  const view = studied({ line });
  const book = new Book(line.start, readJson("books.json").layli_goobalay);
  const grades = (task) => asked.filter((one) => one.task === task && line.turns.some(({ before }) => before.text === one.game.text));
  assert.equal(grades("values").length, 0);
  for (const { before } of line.turns) {
    const question = grades("book").find(({ game }) => game.text === before.text);
    question.resolve({ values: book.values(before), line: [] });
    await soon();
  }
  const chips = view.turns.children.map(({ textContent }) => textContent);
  assert.ok(Object.keys(book.values(line.first)).length === 6);
  const values = book.values(line.first), lost = Math.max(...Object.values(values)) - values[0];
  assert.ok(lost > 10);
  assert.equal(chips[0], `S1 −${lost}`);
  assert.ok(grades("values").every(({ game }) => game.text !== line.first.text));
});

test("between rounds, the line under the board says who has won holes, owes seeds or keeps some", () => {
  const view = opened();
  const ends = {
    "gabata_i 0,0,0,1,4s,0/0,0,0,0,0,0 26-17 S": "Round 2 begins: South has won N1, N2.",
    "leyla 0,0,0,0,1,0/0,0,0,0,0,0 33-14 S": "Round 2 begins: South keeps 16 seeds in store; North owes 2 seeds.",
    "layli_goobalay 0,0,0,0,1,0/0,0,0,0,0,0 31-16 S": "Round 2 begins: South keeps 16 seeds in store.",
  };
  for (const [text, wanted] of Object.entries(ends)) {
    const start = engine.fromText(text);
    view.begin(new GameLine(start, MATCH), ["you", "you"]);
    view.sow(start.legal[0]);
    view.refresh();
    assert.ok(view.happened.textContent.endsWith(` ${wanted}`), view.happened.textContent);
  }
  view.goOn();
  assert.doesNotMatch(view.happened.textContent, /Round 2/);
});

test("every ruleset of the catalogue has its names, place, captures and source beside the board", () => {
  const view = opened({ game: engine.newGame("leyla") });
  const shown = () => view.place.facts.all().filter(({ name }) => name === "dd").map(({ textContent }) => textContent);
  for (const ruleset of engine.rulesets) {
    view.enter({ game: engine.newGame(ruleset) });
    const [names, about, region, captured, source] = shown();
    assert.deepEqual([region, source, view.place.element.hidden], [ruleset.region, ruleset.source, false]);
    const game = { uur: /Goobalay|Gobale/, pair: /Leyla/, weg: /Gabata/ }[ruleset.dials.landing];
    assert.match(names, game);
    assert.ok(about);
    assert.match(captured, { uur: /^Uur/, pair: /hole opposite/, weg: /^Weg/ }[ruleset.dials.landing]);
    assert.equal(captured.includes("either side"), ruleset.dials.owns_on === "either");
  }
  view.enter({ game: engine.newGame(engine.ownRuleset({ name: "mine", row_width: 3 })) });
  assert.equal(view.place.element.hidden, true);
});

test("seeds sound only while sounds are on and the user has pressed something", async () => {
  const { sound, useSounds } = await at("sounds.js");
  const played = [], node = (more = {}) => ({ connect: (to) => to, ...more });
  const value = () => ({ setValueAtTime() {}, exponentialRampToValueAtTime() {} });
  globalThis.AudioContext = class {
    currentTime = 1;
    destination = node();
    createOscillator() { return node({ frequency: value(), start: (when) => played.push(when), stop() {} }); }
    createGain() { return node({ gain: value() }); }
  };
  const activation = { hasBeenActive: false };
  Object.defineProperty(navigator, "userActivation", { value: activation, configurable: true });
  const sounds = () => { for (const kind of ["drop", "next", "store"]) sound(kind); return played.length; };
  assert.equal(sounds(), 0);
  useSounds(true);
  assert.equal(sounds(), 0);
  activation.hasBeenActive = true;
  assert.equal(sounds(), 2); // a change of the player has no sound
  useSounds(false);
  assert.equal(sounds(), 2);
});

// Views that are left, games that are replaced, and what is said then

test("a game is graded to its end, though Study is left for a while or seeds still fall", async () => {
  const line = new GameLine(engine.fromText(LATE));
  for (let n = 0; n < 2; n++) line.play(line.game.legal[0]);
  const view = studied({ line });
  view.leave();
  await soon();
  view.enter({});
  await proveAll();
  assert.equal(view.report.note.textContent, t("report.meaning"));
  app.analysis = null; // a new page
  const other = studied({ game: engine.fromText(LATE) });
  other.toggleValues(); // the coach proves no replies
  await proveAll();
  app.speed = [0.05, 6];
  for (let n = 0; n < 2; n++) other.sow(other.line.game.legal[0]);
  other.goTo(0); // before the seeds have fallen
  await soon();
  await proveAll();
  assert.equal(other.report.note.textContent, t("report.meaning"));
});

test("a tab that shows an older state of a game does not overwrite the newer one", async () => {
  for (const isDuplicated of [true, false]) {
    globalThis.localStorage = newStore();
    globalThis.sessionStorage = newStore();
    const view = opened();
    view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
    view.sow(0);
    await soon();
    const { id } = view.saved.current, first = sessionStorage, second = Object.assign(newStore(), isDuplicated ? { ...first } : {});
    globalThis.sessionStorage = second;
    const other = opened();
    if (!isDuplicated) other.begin(other.line, ["you", "you"], other.saved.read(`games.${id}`));
    globalThis.sessionStorage = first;
    view.sow(view.line.game.legal[0]); // the first tab goes on
    await soon();
    globalThis.sessionStorage = second; // the second one is loaded again
    assert.deepEqual(turns(opened()), ["S1"]);
    assert.equal(readRecord(engine, JSON.parse(localStorage[`mancala.games.${id}`]).record).line.turns.length, 2);
  }
});

test("a report says that grading has ended after a search has failed", async () => {
  const line = new GameLine(engine.fromText(LATE));
  for (const action of [5, 2]) line.play(action);
  const play = opened({ line });
  await soon();
  asked.findLast(({ task }) => task === "book").reject(new Error("no book"));
  await soon();
  asked.findLast(({ task }) => task === "values").reject(new Error("no memory"));
  await soon();
  const said = `${t("report.open", { graded: 0, turns: 2 })} ${t("report.meaning")}`;
  assert.deepEqual([app.warned, play.advice.report.note.textContent], [["no memory"], said]);
});

test("the explorer hides the values of a retried mistake when it is opened", async () => {
  const line = new GameLine(engine.fromText(LATE));
  line.play(5);
  const view = studied({ line });
  await proveAll();
  view.retry();
  const { element, tree, source } = view.explorer;
  element.open = true;
  element.fire("toggle");
  assert.deepEqual([tree.children.length, source.textContent], [0, t("study.hidden")]);
});

test("Study offers the turns that were added to a game, and a game that was resigned", async () => {
  const line = new GameLine(engine.newGame("leyla"));
  line.play(0);
  const view = studied({ line });
  view.sow(view.line.game.legal[0]);
  await soon();
  view.newGame();
  app.act();
  assert.equal(view.line.turns.length, 2);
  const resigned = new GameLine(engine.newGame("leyla"));
  resigned.play(0);
  resigned.resigned = 1;
  view.begin(resigned);
  app.act = null;
  view.sow(view.line.game.legal[0]);
  await soon();
  app.act();
  assert.deepEqual([view.line.turns.length, view.line.resigned], [1, 1]);
});

test("a search that was cut off is asked again, and one that has ended is not", async () => {
  const view = studied({ game: engine.fromText(LATE) });
  const search = () => asked.find(({ task }) => task === "minimax");
  search().listening.onProgress({ depth: 1, values: { 1: 3, 5: -7 } });
  view.leave();
  await soon();
  asked.length = 0;
  view.enter({});
  search().resolve({ depth: 9, values: { 1: 3, 5: -7 } });
  await soon();
  view.leave();
  asked.length = 0;
  view.enter({});
  assert.equal(search(), undefined);
});

test("a position that is set up is said", () => {
  const view = studied({ game: engine.newGame("leyla") });
  view.setUp.show(view.line.game);
  view.setUp.element.fire("submit", { preventDefault() {} });
  assert.match(app.said.at(-1), /South to move/);
});

test("a position that is set up keeps its stall counter", () => {
  const game = engine.fromText(`${LATE} stall=45`);
  const view = studied({ game });
  view.setUp.show(view.line.game);
  view.setUp.element.fire("submit", { preventDefault() {} });
  assert.equal(view.line.game.text, game.text);
});

test("Study says who has resigned after the last turn", async () => {
  const line = new GameLine(engine.newGame("leyla"));
  line.play(0);
  line.resigned = 1;
  line.goTo(0);
  const view = studied({ line });
  app.speed = [0.05, 6];
  view.later();
  assert.ok(app.said.at(-1).endsWith(` ${t("play.resigned", { player: "North", winner: "South" })}`));
  view.leave();
});

test("a new game stops the agent that thinks about the old one", async () => {
  const view = opened();
  view.form.chosen.side = "north";
  view.newGame();
  view.newGame();
  const [first, second] = asked.slice(-2);
  assert.deepEqual([first.listening.signal.aborted, second.listening.signal.aborted], [true, false]);
  first.reject(new Error("late"));
  await soon();
  assert.deepEqual(app.warned, []);
});

test("a later hint, a turn and another view stop the search for a hint", async () => {
  const view = opened({ game: engine.fromText(LATE) });
  view.hint();
  view.hint();
  assert.deepEqual(asked.map(({ listening }) => listening.signal?.aborted), [true, false]);
  view.sow(1);
  assert.equal(asked[1].listening.signal.aborted, true);
  view.takeBack();
  view.hint();
  view.leave();
  assert.equal(asked.findLast(({ options }) => options.kind === "perfect").listening.signal.aborted, true);
  await soon();
  assert.deepEqual(app.warned, []);
});

test("a hint that comes after a resignation is not shown", async () => {
  const view = opened({ game: engine.fromText(LATE) });
  view.hint();
  view.resign();
  asked.find(({ task }) => task === "choose").resolve({ action: 1 });
  await soon();
  const resigned = t("play.resigned", { player: "South", winner: "North" });
  assert.deepEqual([view.status.textContent, app.said.at(-1), badges(view)], [resigned, resigned, []]);
});

test("nobody can sow when a round or a game is over, and the page says so", async () => {
  const view = opened();
  let before = engine.newGame("layli_goobalay");
  const ending = () => before.legal.find((action) => before.after(action).isOver);
  while (ending() === undefined) before = before.after(before.legal[0]);
  view.begin(new GameLine(before, MATCH), ["you", "you"]);
  view.sow(ending());
  await soon();
  view.commands.legal();
  assert.equal(app.said.at(-1), view.status.textContent);
  view.begin(new GameLine(engine.newGame("leyla")), ["you", "you"]);
  view.resign();
  view.commands.legal();
  assert.equal(app.said.at(-1), view.status.textContent);
  view.commands.position();
  assert.ok(app.said.at(-1).startsWith(view.status.textContent));
});

test("the offer to undo a resignation goes with it", () => {
  const view = opened();
  const told = [];
  app.tell = (text) => told.push(text);
  view.resign();
  view.takeBack();
  assert.equal(told.at(-1), "");
});

test("values that are known are said as soon as they are wanted again", async () => {
  const view = opened({ game: engine.fromText(LATE) });
  view.advice.toggleValues();
  await proveAll();
  const said = app.said.at(-1);
  assert.ok(said.includes("S2 -2"));
  view.advice.toggleValues();
  view.advice.toggleValues();
  assert.equal(app.said.at(-1), said);
  const study = studied({ game: engine.newGame("leyla") });
  study.toggleValues();
  study.toggleValues();
  assert.equal(app.said.at(-1), study.values.note.textContent);
});

test("a press that ends the sowing of one player is no turn of the other", async () => {
  app.speed = [0.3, 40];
  kept.write("play", { side: "both" });
  const view = opened({ game: engine.newGame("leyla") });
  view.commands.sow(2);
  await soon(450); // until the pointer may press again
  const stopped = [], event = { detail: 1, stopPropagation: () => stopped.push(1) };
  for (const { listener } of view.board.place.listeners.click) listener(event);
  await soon(); // a browser runs microtasks after each listener
  if (!stopped.length) view.board.holes.children.find(({ dataset }) => Number(dataset.hole) === 8).click();
  assert.deepEqual([view.board.isMoving, turns(view)], [false, ["S3"]]);
});

test("a new game under custom rules keeps the focus at its hole", () => {
  const view = opened({ game: engine.newGame("leyla") });
  view.form.rulesetForm.set(engine.ownRuleset({ row_width: 5 }));
  view.board.focus(2);
  view.commands.new_game();
  assert.deepEqual([view.line.ruleset.rowWidth, view.board.focused], [5, 2]);
});
