/** The Play view: a game against an agent, between agents, or between two people. */

import { BoardView } from "./board.js";
import { download, field, h, kept, select } from "./dom.js";
import { GameLine, MATCH, turnText } from "./game.js";
import { endsOf, inWords, positionInWords, timelineOf } from "./motion.js";
import { readRecord, writeRecord } from "./record.js";
import { rulesetFields } from "./rulesets.js";
import { playerName, statusOf } from "./scene.js";
import { isAbort, Searches } from "./searches.js";
import { t } from "./texts.js";

/** Range of each agent's strength, [least, default, most]; null for an agent without one. */
export const AGENTS = {
  greedy: null,
  minimax: [1, 6, 14],
  mcts: [100, 2000, 200000],
  network: [1, 6, 12],
  perfect: [1, 5, 60],
  random: null,
};
const SERVED = "served:";
/** The agent that replaces an agent of the server while the server fails. */
const SPARE = { kind: "minimax", strength: 6 };
/** Saved games: the start of their names in the storage (`games.ID`), and the most that are kept. */
const GAMES = "games.", MOST_GAMES = 50;
const LEAST_THINKING = 350; // milliseconds, so that the user notices an agent's turn

export class PlayView {
  /** The players: "you" or {kind, strength}. */
  players = ["you", { kind: "greedy" }];
  #thinking = null;
  #unanswered = null; // the position in which an agent did not move
  #isPaused = false; // the round is over and the user has not started the next one
  #values = {};
  #areValuesWanted = false;
  #id = newId(); // the id under which the game is saved
  #isOfTab = true; // whether only this tab has the game open
  #isTold = false; // whether the user was told that the game cannot be saved

  constructor(app) {
    this.app = app;
    this.searches = new Searches();
    const place = h("div");
    this.status = h("p", { class: "status" });
    this.turns = h("ol", { class: "turns", "aria-label": t("play.turns") });
    const button = (name, act, kind = "") => h("button", { type: "button", class: kind, onclick: act, "data-does": name }, t(`play.${name}`));
    this.goOnButton = button("go_on", () => this.goOn(), "main");
    this.studyButton = button("study", () => this.study());
    this.root = h("div", { class: "view play" },
      h("h1", { class: "unseen" }, t("nav.play")),
      h("section", { class: "table", "aria-label": t("board.label") },
        place,
        this.status,
        h("div", { class: "row actions" },
          this.goOnButton,
          button("take_back", () => this.takeBack()),
          button("hint", () => this.hint()),
          button("values", () => this.toggleValues()),
          button("resign", () => this.resign()),
          this.studyButton)),
      h("aside", { class: "panel" },
        h("details", { class: "card", open: innerWidth > 900 }, h("summary", {}, t("play.new_game")), this.#form()),
        h("section", { class: "card" }, h("h2", {}, t("play.turns")), this.turns),
        h("section", { class: "card" }, h("h2", {}, t("play.record")), this.#recordRow())));
    this.board = new BoardView(place, { onHole: (hole) => this.press(hole) });
    this.commands = {
      sow: (action) => this.sow(action),
      board: () => this.board.focus(),
      skip: () => this.board.skip(),
      last_turn: () => this.lastTurn(),
      legal: () => this.sayLegal(),
      values: () => this.toggleValues(),
      position: () => this.app.say(positionInWords(this.shown)),
      take_back: () => this.takeBack(),
      hint: () => this.hint(),
      resign: () => this.resign(),
      go_on: () => this.goOn(),
      new_game: () => this.newGame(),
    };
  }

  /** Show the view with the position in the address, or with the last game. */
  enter({ game, line } = {}) {
    this.isShown = true;
    if (line) return this.begin(line, this.players);
    if (this.line && (!game || this.line.game.text === game.text)) {
      this.app.address("play", this.line.game);
      return this.#next();
    }
    const left = kept.read("game", null);
    if (left && !this.line) {
      try {
        const { line: old } = readRecord(this.app.engine, left.record);
        if (!game || old.game.text === game.text) return this.begin(old, left.players, { id: left.id, isOfTab: left.isOfTab && kept.ofTab("game") !== undefined });
      } catch {
        // Ignore a saved game that can no longer be read.
      }
    }
    if (game) return this.begin(new GameLine(game), this.players);
    this.newGame();
  }

  leave() {
    this.isShown = false;
    this.#thinking?.abort();
    this.board.skip();
  }

  /** The position on the board. The end of a round stays until the user starts the next one. */
  get shown() {
    return this.#isPaused ? this.line.lastTurn.after : this.line.game;
  }

  get isYours() {
    return !this.line.isOver && !this.#isPaused && this.players[this.line.game.player] === "you";
  }

  /** Start or resume a game; `id` and `isOfTab` say how a resumed game is saved. */
  begin(line, players, { id = newId(), isOfTab = true } = {}) {
    this.#id = id;
    this.#isOfTab = isOfTab;
    this.line = line;
    this.players = players;
    this.#isPaused = false;
    this.#turnsShown = 0;
    this.turns.replaceChildren();
    this.#saveAndList(false);
    this.#next();
  }

  newGame() {
    const { engine } = this.app, chosen = this.chosen;
    this.app.warn("");
    try {
      const ruleset = this.rulesetForm.read();
      const start = engine.newGame(ruleset, { starter: chosen.starter === "north" ? 1 : 0 });
      const agent = this.#servedAgent(chosen.agent) ?? { kind: chosen.agent, strength: Number(chosen.strength) };
      const yours = { south: [0], north: [1], both: [0, 1], neither: [] }[chosen.side];
      const rounds = chosen.rounds === "match" && ruleset.dials.match !== "single" ? MATCH : 1;
      this.begin(new GameLine(start, rounds), [0, 1].map((player) => (yours.includes(player) ? "you" : agent)));
      this.app.say(`${t("play.begun", { title: ruleset.title })} ${positionInWords(start)}`);
    } catch (error) {
      this.app.warn(error.message);
    }
  }

  /** Sow from the hole that the user pressed. */
  press(hole) {
    if (this.board.isMoving) return this.board.skip();
    if (this.isYours) this.#tryAction(this.line.game.actionOf(hole));
    else this.#sayWhyNot();
  }

  sow(action) {
    if (this.board.isMoving) this.board.skip();
    if (this.isYours) this.#tryAction(action);
    else this.#sayWhyNot();
  }

  #tryAction(action) {
    const { game } = this.line;
    if (game.legal.includes(action)) return this.#play(action);
    this.app.say(t("play.illegal", { turn: turnText({ player: game.player, action }), legal: this.#legalText() }));
  }

  #sayWhyNot() {
    this.app.say(this.status.textContent);
  }

  async #play(action, note) {
    const { board, line } = this;
    this.#thinking?.abort();
    const turn = line.play(action);
    if (note) turn.note = note;
    const timeline = timelineOf(turn.before, action);
    this.#values = {};
    this.#isPaused = turn.following !== turn.after;
    this.app.say(`${t("play.turn", { player: playerName(turn.player), turn: turnText(turn) })} ${inWords(line.ruleset, timeline).join(" ")}`);
    this.#saveAndList();
    this.goOnButton.hidden = true;
    this.status.textContent = t("play.sowing", { player: playerName(turn.player), turn: turnText(turn) });
    await board.move(turn.before, timeline, turn.after, this.app.speed);
    if (this.isShown && this.line === line && line.lastTurn === turn) this.#next();
  }

  /** Continue the game: show its end or the next round, ask an agent, or wait for the user's turn. */
  #next() {
    this.#refresh();
    if (this.line.isOver || this.#isPaused) {
      if (!this.goOnButton.hidden && document.activeElement === document.body) this.goOnButton.focus();
      return;
    }
    if (!this.isYours) this.#think();
    else if (this.#areValuesWanted) this.#askValues();
  }

  async #think() {
    const { line } = this, { game } = line;
    const thinking = new AbortController();
    this.#thinking = thinking;
    try {
      const [{ action, note }] = await Promise.all([
        this.#ask(game, { signal: thinking.signal }),
        new Promise((resolve) => setTimeout(resolve, this.app.speed[0] ? LEAST_THINKING : 0)),
      ]);
      if (!thinking.signal.aborted && this.line === line && line.game === game) this.#play(action, note);
    } catch (error) {
      if (isAbort(error)) return;
      this.#unanswered = game;
      this.#refresh();
      this.app.warn(error.message);
    }
  }

  /** Ask the agent of the player to move for an action. */
  #ask(game, listening) {
    const agent = this.players[game.player], { rounds } = this.line;
    if (agent.kind !== "served") return this.searches.ask("choose", game, this.#agentOptions(game.player), listening);
    const own = async () => ({ ...(await this.searches.ask("choose", game, SPARE, listening)), note: `${SPARE.kind}:${SPARE.strength} of the page played` });
    return this.app.askServer("choose", game, { ...agent, rounds: rounds === MATCH ? "match" : rounds }, listening, own, { label: agent.label, agent: agentName(SPARE) });
  }

  #agentOptions(player) {
    const agent = this.players[player];
    return { ...agent, network: agent.kind === "network" ? this.app.networks.get(this.line.ruleset.name) ?? null : null };
  }

  takeBack() {
    this.#thinking?.abort();
    const { line } = this;
    if (!line.turns.length && line.resigned === null) return this.app.say(t("play.nothing_to_take_back"));
    const hasYou = this.players.includes("you");
    do line.takeBack();
    while (hasYou && line.turns.length && this.players[line.game.player] !== "you");
    this.#isPaused = false;
    this.#values = {};
    this.#saveAndList();
    this.app.say(`${t("play.taken_back")} ${statusOf(line.ruleset, line.game)}`);
    this.#next();
  }

  async hint() {
    if (!this.isYours) return this.#sayWhyNot();
    const { game } = this.line;
    this.status.textContent = t("play.hint_wait");
    try {
      const { action } = await this.searches.ask("choose", game, { kind: "perfect", strength: 2 });
      if (this.line.game !== game) return;
      const turn = turnText({ player: game.player, action });
      this.#refresh();
      this.board.mark({ values: { ...this.#badges(), [game.holeOf(action)]: t("play.hint_badge") } });
      this.status.textContent = t("play.hint_said", { turn });
      this.app.say(this.status.textContent);
    } catch (error) {
      if (!isAbort(error)) this.app.warn(error.message);
    }
  }

  resign() {
    const { line } = this;
    if (line.isOver || !this.players.includes("you")) return;
    this.#thinking?.abort();
    line.resigned = this.players[line.game.player] === "you" ? line.game.player : 1 - line.game.player;
    this.#isPaused = false;
    this.#saveAndList();
    this.#next();
    this.app.say(this.status.textContent);
  }

  goOn() {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.app.say(positionInWords(this.line.game));
    this.board.focus();
    this.#next();
  }

  study() {
    this.app.go("study", { line: this.line.copy() });
  }

  toggleValues() {
    this.#areValuesWanted = !this.#areValuesWanted;
    this.#values = {};
    if (this.#areValuesWanted && this.isYours) this.#askValues();
    else this.#refresh();
  }

  async #askValues() {
    const { game } = this.line;
    const seen = new AbortController();
    this.#thinking = seen;
    const show = ({ actions }) => {
      if (this.line.game !== game || !this.#areValuesWanted) return;
      this.#values = actions;
      this.board.mark({ values: this.#badges() });
    };
    try {
      show(await this.searches.ask("values", game, { milliseconds: 8000 }, { onProgress: show, signal: seen.signal }));
      const known = Object.entries(this.#values).map(([action, { lower, upper }]) => `${turnText({ player: game.player, action: Number(action) })} ${lower === upper ? lower : t("study.between", { lower, upper })}`);
      if (this.line.game === game) this.app.say(t("play.values_said", { values: known.join(", ") }));
    } catch (error) {
      if (!isAbort(error)) this.app.warn(error.message);
    }
  }

  #badges() {
    const { game } = this.line;
    return Object.fromEntries(Object.entries(this.#values).map(([action, { lower, upper }]) => [game.holeOf(Number(action)), lower === upper ? lower : "?"]));
  }

  lastTurn() {
    const { lastTurn } = this.line;
    if (!lastTurn) return this.app.say(t("play.no_turn_yet"));
    const timeline = timelineOf(lastTurn.before, lastTurn.action);
    this.app.say(`${t("play.turn", { player: playerName(lastTurn.player), turn: turnText(lastTurn) })} ${inWords(this.line.ruleset, timeline).join(" ")}`);
    this.board.mark({ last: this.#lastHoles() });
  }

  sayLegal() {
    const { game } = this.line;
    this.app.say(game.isOver ? this.status.textContent : t("play.legal_said", { player: playerName(game.player), legal: this.#legalText() }));
  }

  #legalText() {
    const { game } = this.line;
    return game.legal.map((action) => turnText({ player: game.player, action })).join(", ");
  }

  #lastHoles() {
    const { lastTurn } = this.line;
    return lastTurn && this.shown.round === lastTurn.before.round ? endsOf(timelineOf(lastTurn.before, lastTurn.action)) : [];
  }

  /** Update the view after a change of the game. */
  #refresh() {
    const { line } = this, game = this.shown;
    const legal = this.isYours ? game.legal.map((action) => game.holeOf(action)) : [];
    this.board.show(game, { legal, last: this.#lastHoles(), values: this.isYours ? this.#badges() : {} });
    this.goOnButton.hidden = !this.#isPaused;
    this.status.textContent = this.#statusText();
    this.root.classList.toggle("over", line.isOver);
    for (const button of this.root.querySelectorAll("[data-does=resign], [data-does=hint], [data-does=values]")) button.disabled = line.isOver;
    this.root.querySelector("[data-does=take_back]").disabled = !line.turns.length && line.resigned === null;
  }

  #statusText() {
    const { line } = this, { game } = line;
    if (line.resigned !== null) return t("play.resigned", { player: playerName(line.resigned), winner: playerName(1 - line.resigned) });
    if (this.#isPaused) return t("play.round_over", { result: statusOf(line.ruleset, this.shown), round: this.shown.round });
    if (line.isOver) {
      const by = Math.abs(line.margin);
      const result = line.winner === null ? t("play.draw") : t("play.won", { player: playerName(line.winner), by });
      return line.rounds === 1 ? result : t("play.match_over", { result });
    }
    if (this.isYours) return t(this.players[1 - game.player] === "you" ? "play.to_move" : "play.your_turn", { player: playerName(game.player) });
    const who = { agent: agentName(this.players[game.player]), player: playerName(game.player) };
    return t(this.#unanswered === game ? "play.no_answer" : "play.thinking", who);
  }

  #turnsShown = 0;

  /** Save the game, and show its turns beside the board. A changed game that another tab also has open gets a new id. */
  #saveAndList(isChanged = true) {
    const { line } = this;
    if (isChanged && !this.#isOfTab) {
      this.#id = newId();
      this.#isOfTab = true;
    }
    this.app.address("play", line.game);
    this.#save();
    while (this.turns.childElementCount > line.turns.length) this.turns.lastChild.remove();
    this.#turnsShown = this.turns.childElementCount;
    for (const turn of line.turns.slice(this.#turnsShown)) {
      const won = turn.captured ? h("span", { class: "won" }, `+${turn.captured}`) : null;
      this.turns.append(h("li", { class: turn.player ? "north" : "south" }, h("b", {}, turnText(turn)), turn.laps > 1 ? h("small", {}, t("play.laps", { laps: turn.laps })) : null, won, turn.after.isOver ? h("small", {}, t("play.round_end", { round: turn.before.round })) : null));
    }
    this.turns.scrollTop = this.turns.scrollHeight;
  }

  /** Save the game for a reload, and in the list of saved games. */
  #save() {
    const { line, players } = this, id = this.#id;
    const game = { record: this.#record(), players, id, isOfTab: this.#isOfTab, when: Date.now() };
    let isKept = kept.write("game", game, true);
    if (line.turns.length) {
      isKept &&= kept.write(GAMES + id, game);
      if (!isKept) kept.forgetTab(GAMES + id);
      for (const [name] of keptGames().slice(MOST_GAMES)) kept.remove(name);
    }
    if (!isKept && !this.#isTold) this.app.tell(t("play.not_kept"));
    this.#isTold = !isKept;
  }

  /** Fill the choice of saved games. */
  #listGames(choice) {
    const named = ([name, { record, players }]) => {
      const { line } = readRecord(this.app.engine, record);
      const [south, north] = players.map((player) => (player === "you" ? t("play.you") : agentName(player)));
      return [name, t("play.game", { title: line.ruleset.title, south, north, turns: line.turns.length })];
    };
    const pairs = keptGames().flatMap((entry) => {
      try {
        return [named(entry)];
      } catch {
        return []; // for example, its ruleset was removed from the catalogue
      }
    });
    choice.replaceChildren(...[["", t("play.games")], ...pairs].map(([value, words]) => h("option", { value }, words)));
  }

  #resume(name) {
    const game = kept.read(name, null);
    if (!game) return;
    this.app.warn("");
    this.#thinking?.abort();
    this.begin(readRecord(this.app.engine, game.record).line, game.players, { id: game.id, isOfTab: game.id === this.#id });
    this.app.say(`${t("play.gone_on", { title: this.line.ruleset.title })} ${positionInWords(this.line.game)}`);
  }

  #record() {
    const name = (player) => (this.players[player] === "you" ? "human" : this.players[player].label ?? [this.players[player].kind, AGENTS[this.players[player].kind] && this.players[player].strength].filter(Boolean).join(":"));
    return writeRecord(this.line, { south: name(0), north: name(1), date: new Date().toISOString().slice(0, 10) });
  }

  /** An agent of the server, by its name in the list of opponents. */
  #servedAgent(name) {
    const found = this.app.served?.agents.find(({ label }) => name === `${SERVED}${label}`);
    return found && { kind: "served", ...found };
  }

  #recordRow() {
    const file = h("input", { type: "file", accept: ".txt,.json,.yaml,.yml,text/plain", hidden: true, onchange: () => {
      const [opened] = file.files;
      file.value = ""; // so that the same file can be opened again
      if (opened) this.app.take(opened);
    } });
    const copied = () => navigator.clipboard?.writeText(location.href).then(() => this.app.say(t("play.link_copied")), () => {});
    const games = h("select", { "aria-label": t("play.games"), onfocus: () => this.#listGames(games), onchange: () => this.#resume(games.value) });
    this.#listGames(games);
    return h("div", { class: "row" },
      games,
      h("button", { type: "button", onclick: () => download(`${this.line.ruleset.name}.txt`, this.#record()) }, t("play.save")),
      h("button", { type: "button", onclick: () => file.click() }, t("play.open")),
      h("button", { type: "button", onclick: copied }, t("play.copy_link")),
      file);
  }

  #form() {
    this.chosen = { side: "south", agent: "greedy", strength: 6, rounds: "round", starter: "south", ...kept.read("play", {}) };
    const { chosen } = this;
    const keep = (name) => (value) => {
      chosen[name] = value;
      kept.write("play", chosen);
    };
    this.rulesetForm = rulesetFields(this.app, "play");
    const choice = (name, values) => field(t(`play.${name}`), select(values.map((value) => [value, t(`play.${name}.${value}`)]), chosen[name], keep(name)));
    const strength = h("input", { type: "number", inputmode: "numeric", onchange: () => keep("strength")(strength.value) });
    const strengthField = field(t("play.strength"), strength);
    const served = (this.app.served?.agents ?? []).map(({ label }) => [SERVED + label, label]);
    if (!(chosen.agent in AGENTS) && !served.some(([name]) => name === chosen.agent)) chosen.agent = "greedy";
    const fit = (isNew) => {
      const range = AGENTS[chosen.agent];
      strengthField.hidden = !range;
      if (!range) return;
      [strength.min, , strength.max] = range;
      if (isNew || !(chosen.strength >= range[0] && chosen.strength <= range[2])) keep("strength")(range[1]);
      strength.value = chosen.strength;
      strengthField.firstChild.textContent = t(`play.strength.${chosen.agent}`);
    };
    const agent = field(t("play.agent"), select([...Object.keys(AGENTS).map((kind) => [kind, t(`agent.${kind}`)]), ...served], chosen.agent, (value) => {
      keep("agent")(value);
      fit(true);
    }));
    fit(false);
    return h("form", { class: "fields", onsubmit: (event) => {
      event.preventDefault();
      this.newGame();
      this.board.focus();
    } },
      this.rulesetForm.element,
      choice("side", ["south", "north", "both", "neither"]),
      agent,
      strengthField,
      choice("rounds", ["round", "match"]),
      choice("starter", ["south", "north"]),
      h("button", { class: "main", type: "submit" }, t("play.start")));
  }
}

/** The saved games, [name, game] each, newest first. */
function keptGames() {
  const games = kept.names(GAMES).map((name) => [name, kept.read(name, null)]).filter(([, game]) => typeof game?.record === "string");
  return games.sort(([, one], [, other]) => other.when - one.when);
}

const newId = () => `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;

export function agentName({ kind, strength, label }) {
  if (kind === "served") return label;
  return AGENTS[kind] ? `${t(`agent.${kind}`)} ${strength}` : t(`agent.${kind}`);
}
