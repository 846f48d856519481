/** The Study view: the value of every move of a game. */

import { BoardView } from "./board.js";
import { download, field, h, kept, select } from "./dom.js";
import { GameLine, turnText } from "./game.js";
import { drawGraph } from "./graph.js";
import { endsOf, inWords, positionInWords, seedsText, timelineOf } from "./motion.js";
import { readRecord, writeRecord } from "./record.js";
import { playerName, statusOf, valueText } from "./scene.js";
import { isAbort, Searches } from "./searches.js";
import { SetUp } from "./set_up.js";
import { t } from "./texts.js";

const EXACT_MILLISECONDS = 120_000, SEARCH_MILLISECONDS = 1500, GRAPH_MILLISECONDS = 4000;
const COLUMNS = ["exact", "book", "search", "mcts", "network"];

export class StudyView {
  #known = new Map(); // values found so far, by the position's text: {exact, book, search, mcts, network}
  #analysis = null; // cancels the searches of the current position
  #grades = null; // cancels the solving of the game's other positions
  #retry = null; // the mistake that the user is asked to improve
  #retried = -1;
  #areValuesShown = true;

  constructor(app) {
    this.app = app;
    const prover = new Searches();
    this.prover = app.served ? { ask: (...asked) => app.askServer(...asked, () => prover.ask(...asked)) } : prover; // the server has a larger table
    this.searcher = new Searches();
    this.grader = new Searches();
    const place = h("div");
    const button = (name, act, label) => h("button", { type: "button", onclick: act, "aria-label": label, "data-does": name }, t(`study.${name}`));
    this.status = h("p", { class: "status unseen" });
    this.text = h("input", { type: "text", spellcheck: "false", autocomplete: "off", class: "mono" });
    this.valuesTable = h("table", { class: "values" });
    this.note = h("p", {});
    this.columnsNote = h("p", {}, h("small", {}, t("study.columns")));
    this.graph = h("div");
    this.slider = h("input", { type: "range", min: 0, max: 0, value: 0, "data-keeps-arrows": "", oninput: () => this.goTo(Number(this.slider.value)) });
    this.turns = h("ol", { class: "turns", "aria-label": t("play.turns") });
    this.verdict = h("p", { class: "verdict" });
    this.gamesPlace = h("section", { class: "card", hidden: true });
    this.setUp = new SetUp(app, (game) => this.begin(new GameLine(game)));
    this.root = h("div", { class: "view study" },
      h("h1", { class: "unseen" }, t("nav.study")),
      h("section", { class: "table", "aria-label": t("board.label") },
        place,
        this.status,
        h("div", { class: "row actions" },
          button("first", () => this.goTo(0), t("keys.first")),
          button("earlier", () => this.goTo(this.line.at - 1), t("keys.earlier")),
          button("later", () => this.goTo(this.line.at + 1), t("keys.later")),
          button("last", () => this.goTo(Infinity), t("keys.last")),
          button("play_from_here", () => this.app.go("play", { line: new GameLine(this.line.game, this.line.rounds) })),
          button("retry", () => this.retry())),
        this.verdict,
        h("section", { class: "card" },
          h("h2", {}, t("study.graph")), this.graph, field(t("study.slider"), this.slider), this.turns)),
      h("aside", { class: "panel" },
        this.gamesPlace,
        h("section", { class: "card" }, h("h2", {}, t("study.values")), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("study.values") }, this.valuesTable), this.note, this.columnsNote),
        h("section", { class: "card" }, h("h2", {}, t("study.position")),
          h("form", { onsubmit: (event) => { event.preventDefault(); this.read(); } },
            field(t("study.text"), this.text),
            h("div", { class: "row end" },
              h("button", { type: "submit" }, t("study.read")),
              h("button", { type: "button", onclick: () => navigator.clipboard?.writeText(this.line.game.text).then(() => this.app.say(t("study.copied")), () => {}) }, t("study.copy")),
              h("button", { type: "button", onclick: () => download(`${this.line.ruleset.name}.txt`, writeRecord(this.line)) }, t("study.save"))))),
        h("details", { class: "card", ontoggle: (event) => event.target.open && this.setUp.show(this.line.game) }, h("summary", {}, t("study.set_up")), this.setUp.element)));
    this.board = new BoardView(place, { onHole: (hole) => this.press(hole) });
    this.commands = {
      sow: (action) => this.sow(action),
      board: () => this.board.focus(),
      skip: () => this.board.skip(),
      last_turn: () => this.lastTurn(),
      legal: () => this.app.say(this.#legalText()),
      values: () => this.toggleValues(),
      position: () => this.app.say(positionInWords(this.line.game)),
      take_back: () => this.takeBack(),
      hint: () => this.sayBest(),
      earlier: () => this.goTo(this.line.at - 1),
      later: () => this.goTo(this.line.at + 1),
      first: () => this.goTo(0),
      last: () => this.goTo(Infinity),
      new_game: () => this.begin(new GameLine(this.app.engine.newGame(this.line.ruleset))),
    };
  }

  enter({ game, line, games } = {}) {
    this.isShown = true;
    if (games) return this.#listGames(games);
    if (line) {
      this.gamesPlace.hidden = true;
      return this.begin(line);
    }
    if (this.line && (!game || game.text === this.line.game.text)) return this.#showCurrent();
    this.begin(this.#lastStudied(game) ?? (game ? new GameLine(game) : this.app.playedLine ?? new GameLine(this.app.engine.newGame("layli_goobalay"))));
  }

  /** List the games of a file, and study the first. */
  #listGames(games) {
    const names = games.map(({ headers }, n) => [String(n), t("study.game", {
      number: n + 1,
      south: headers.South || playerName(0),
      north: headers.North || playerName(1),
      result: headers.Result ?? "*",
    })]);
    const choose = (n) => {
      this.app.warn("");
      try {
        this.begin(readRecord(this.app.engine, games[n].text).line);
      } catch (error) {
        this.app.warn(t("study.game_wrong", { number: n + 1, why: error.message }));
      }
    };
    this.gamesPlace.replaceChildren(field(t("study.games", { games: games.length }), select(names, "0", (n) => choose(Number(n)))));
    this.gamesPlace.hidden = false;
    if (!this.line) this.begin(new GameLine(this.app.engine.newGame("layli_goobalay")));
    choose(0);
  }

  /** The game that was studied last, if it contains a position. */
  #lastStudied(game) {
    if (!game) return null;
    try {
      const { line } = readRecord(this.app.engine, kept.read("studied", ""));
      for (let at = line.turns.length; at >= 0; at--) {
        line.goTo(at);
        if (line.game.text === game.text) return line;
      }
    } catch {
      // Ignore a saved game that can no longer be read.
    }
    return null;
  }

  leave() {
    this.isShown = false;
    this.#analysis?.abort();
    this.#grades?.abort();
    this.board.skip();
  }

  /** Study a game. */
  begin(line) {
    if (this.line !== line) this.#retried = -1;
    this.line = line;
    this.#retry = null;
    this.verdict.textContent = "";
    this.app.warn("");
    this.#showCurrent();
    this.#grade();
  }

  read() {
    this.app.warn("");
    try {
      this.begin(new GameLine(this.app.engine.fromText(this.text.value, this.#ownRuleset())));
      this.board.focus();
    } catch (error) {
      this.app.warn(error.message);
    }
  }

  #ownRuleset() {
    const { ruleset } = this.line;
    return this.text.value.trim().split(/\s+/)[0] === ruleset.name ? ruleset : undefined;
  }

  press(hole) {
    if (this.board.isMoving) return this.board.skip();
    this.#tryAction(this.line.game.actionOf(hole));
  }

  sow(action) {
    if (this.board.isMoving) this.board.skip();
    this.#tryAction(action);
  }

  #tryAction(action) {
    const { game } = this.line;
    if (!game.legal.includes(action))
      return this.app.say(game.isOver ? statusOf(game.ruleset, game) : t("play.illegal", { turn: turnText({ player: game.player, action }), legal: this.#legalText() }));
    if (this.#retry) return this.#answerRetry(action);
    this.#play(action);
  }

  async #play(action) {
    const { line } = this;
    this.#analysis?.abort();
    const known = line.turns[line.at];
    if (known?.action === action) line.goTo(line.at + 1);
    else line.play(action);
    const turn = line.lastTurn, timeline = timelineOf(turn.before, action);
    this.app.say(`${t("play.turn", { player: playerName(turn.player), turn: turnText(turn) })} ${inWords(line.ruleset, timeline).join(" ")}`);
    this.#list();
    await this.board.move(turn.before, timeline, turn.after, this.app.speed);
    if (!this.isShown || this.line !== line || line.lastTurn !== turn) return;
    this.#showCurrent();
    this.#grade();
  }

  goTo(at) {
    this.#retry = null;
    this.verdict.textContent = "";
    this.line.goTo(at);
    this.#showCurrent();
    this.app.say(`${this.line.lastTurn ? t("study.after", { turn: turnText(this.line.lastTurn), number: this.line.at }) : t("study.at_start")} ${statusOf(this.line.ruleset, this.line.game)}`);
  }

  takeBack() {
    if (this.line.at === 0) return this.app.say(t("play.nothing_to_take_back"));
    this.goTo(this.line.at - 1);
  }

  lastTurn() {
    const { lastTurn } = this.line;
    if (!lastTurn) return this.app.say(t("play.no_turn_yet"));
    this.app.say(`${t("play.turn", { player: playerName(lastTurn.player), turn: turnText(lastTurn) })} ${inWords(this.line.ruleset, timelineOf(lastTurn.before, lastTurn.action)).join(" ")}`);
  }

  toggleValues() {
    this.#areValuesShown = !this.#areValuesShown;
    this.#draw();
    if (this.#areValuesShown) this.sayValues();
  }

  sayValues() {
    const { game } = this.line, { exact } = this.#valuesOf(game);
    if (!exact) return;
    const said = Object.entries(exact.actions).map(([action, bounds]) => `${turnText({ player: game.player, action: Number(action) })} ${this.#boundsText(bounds)}`);
    this.app.say(t("play.values_said", { values: said.join(", ") }));
  }

  sayBest() {
    const { game } = this.line;
    const best = this.#best(game);
    this.app.say(best.length ? t("study.best_said", { turns: best.map((action) => turnText({ player: game.player, action })).join(", ") }) : t("study.not_known"));
  }

  #legalText() {
    const { game } = this.line;
    return game.legal.map((action) => turnText({ player: game.player, action })).join(", ");
  }

  #valuesOf(game) {
    const key = game.text;
    if (!this.#known.has(key)) this.#known.set(key, {});
    return this.#known.get(key);
  }

  /** Show the current position and analyse it. */
  #showCurrent() {
    const { game } = this.line;
    this.app.address("study", game);
    kept.write("studied", writeRecord(this.line), true);
    if (document.activeElement !== this.text) this.text.value = game.text;
    this.#list();
    this.#draw();
    this.#analyse();
  }

  async #analyse() {
    this.#analysis?.abort();
    const { game } = this.line, known = this.#valuesOf(game);
    const analysis = new AbortController(), { signal } = analysis;
    this.#analysis = analysis;
    if (game.isOver) return;
    const take = (name) => (found) => {
      known[name] = name === "exact" ? narrowed(found, known.exact) : found;
      if (this.line.game === game) this.#draw();
    };
    const ask = async (searches, name, task, options) => {
      try {
        take(name)(await searches.ask(task, game, options, { signal, onProgress: take(name) }));
      } catch (error) {
        const isOptional = name === "book" || name === "network"; // needs files that cannot be loaded without the server
        if (!isAbort(error) && !isOptional) this.app.warn(error.message);
      }
    };
    if (!known.book) ask(this.searcher, "book", "book", {});
    if (!known.exact?.isExact) ask(this.prover, "exact", "values", { milliseconds: EXACT_MILLISECONDS });
    if (!known.search) await ask(this.searcher, "search", "minimax", { milliseconds: SEARCH_MILLISECONDS });
    if (!known.mcts && !signal.aborted) await ask(this.searcher, "mcts", "mcts", { milliseconds: SEARCH_MILLISECONDS });
    if (!known.network && !signal.aborted) await ask(this.searcher, "network", "minimax", { milliseconds: SEARCH_MILLISECONDS, network: this.app.networks.get(game.ruleset.name) ?? "bundled" });
  }

  /** Bounds of each action's value, from proofs and the opening book. */
  #bounds(game) {
    return boundsOf(this.#valuesOf(game));
  }

  /** The best actions; empty while they are not known. */
  #best(game) {
    return bestOf(game, this.#bounds(game));
  }

  #draw() {
    const { line } = this, { game } = line;
    if (this.board.isMoving) return;
    const legal = game.legal.map((action) => game.holeOf(action));
    const bounds = this.#bounds(game);
    const values = {};
    if (this.#areValuesShown && !this.#retry)
      for (const action of game.legal) if (bounds[action]) values[game.holeOf(action)] = bounds[action].lower === bounds[action].upper ? bounds[action].lower : "?";
    const last = line.lastTurn && line.lastTurn.after === game ? endsOf(timelineOf(line.lastTurn.before, line.lastTurn.action)) : [];
    this.board.show(game, { legal, last, values });
    this.status.textContent = statusOf(game.ruleset, game);
    this.#drawValues(bounds);
    this.#drawGraph();
  }

  #drawValues(bounds) {
    const { game } = this.line, known = this.#valuesOf(game), best = this.#best(game);
    this.valuesTable.hidden = game.isOver || Boolean(this.#retry);
    if (this.#retry) {
      this.note.textContent = t("study.hidden");
      return;
    }
    const columns = COLUMNS.filter((name) => name === "exact" || known[name]?.values && Object.keys(known[name].values).length);
    this.columnsNote.hidden = columns.length === 1;
    const cell = (name, action) => {
      if (name === "exact") return h("td", { class: bounds[action]?.lower === bounds[action]?.upper ? null : "open" }, this.#boundsText(bounds[action]));
      const value = known[name].values[action];
      return h("td", {}, value === undefined ? "" : valueText(Math.round(value * 100) / 100));
    };
    const rows = game.legal.map((action) => h("tr", { class: best.includes(action) ? "best" : null },
      h("td", {}, h("button", { type: "button", onclick: () => this.#tryAction(action), "data-action": action }, turnText({ player: game.player, action }))),
      columns.map((name) => cell(name, action))));
    const focused = this.valuesTable.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    this.valuesTable.replaceChildren(
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("study.move")), columns.map((name) => h("th", { scope: "col" }, t(`study.column.${name}`, { depth: known.search?.depth ?? "" }))))),
      h("tbody", {}, rows));
    if (focused) this.valuesTable.querySelector(`[data-action="${focused}"]`)?.focus();
    this.note.textContent = game.isOver ? statusOf(game.ruleset, game) : this.#noteText(known, bounds);
  }

  #noteText(known, bounds) {
    const open = this.line.game.legal.filter((action) => !bounds[action] || bounds[action].lower !== bounds[action].upper).length;
    const line = known.book?.line?.length ? ` ${t("study.book_line", { line: known.book.line.join(" ") })}` : "";
    if (!open) return `${t("study.all_exact")}${line}`;
    const nodes = (known.exact?.nodes ?? 0).toLocaleString(document.documentElement.lang);
    return (known.exact?.hasEnded ? t("study.gave_up", { nodes }) : t("study.proving", { nodes })) + line;
  }

  #boundsText(bounds) {
    if (!bounds) return "…";
    const { lower, upper } = bounds;
    return lower === upper ? valueText(lower) : t("study.between", { lower: valueText(lower), upper: valueText(upper) });
  }

  /** Bounds of South's final lead from a position: {lower, upper}. */
  #lead(game) {
    return leadOf(game, this.#valuesOf(game));
  }

  /** Seeds that a turn loses compared with the best one; undefined if not known. */
  #lost(turn) {
    return lostBy(turn, this.#bounds(turn.before));
  }

  #drawGraph() {
    const { line } = this;
    const games = [line.first, ...line.turns.map((turn) => (turn.after.isOver ? turn.after : turn.following))];
    const total = line.ruleset.totalSeeds;
    drawGraph(this.graph, games.map((game) => this.#lead(game)), line.at, total);
    this.slider.max = line.turns.length;
    this.slider.value = line.at;
    this.slider.setAttribute("aria-valuetext", line.at ? turnText(line.lastTurn) : t("study.at_start"));
    this.slider.disabled = line.turns.length === 0;
    [...this.turns.children].forEach((item, n) => this.#colour(item.firstChild, line.turns[n], n));
  }

  #list() {
    const { line } = this;
    this.turns.replaceChildren(...line.turns.map((turn, n) => h("li", {}, h("button", { type: "button", onclick: () => this.goTo(n + 1) }, turnText(turn)))));
    this.root.querySelector("[data-does=retry]").disabled = !line.turns.length;
    for (const name of ["first", "earlier"]) this.root.querySelector(`[data-does=${name}]`).disabled = line.at === 0;
    for (const name of ["later", "last"]) this.root.querySelector(`[data-does=${name}]`).disabled = line.at === line.turns.length;
  }

  #colour(button, turn, n) {
    const lost = this.#lost(turn);
    button.textContent = `${turnText(turn)}${lost ? ` −${lost}` : ""}`;
    button.classList.toggle("lost-little", lost > 0 && lost < 6);
    button.classList.toggle("lost-much", lost >= 6);
    if (lost > 0) button.setAttribute("aria-label", t("study.lost", { turn: turnText(turn), seeds: seedsText(lost) }));
    if (n === this.line.at - 1) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }

  /** Solve the positions of the game, the last one first: late positions are quick to solve. */
  async #grade() {
    this.#grades?.abort();
    const grading = new AbortController(), { signal } = grading, { line } = this;
    this.#grades = grading;
    for (const turn of [...line.turns].reverse()) {
      const known = this.#valuesOf(turn.before);
      if (known.exact?.isExact || known.exact?.hasEnded) continue;
      try {
        known.exact = narrowed(await this.grader.ask("values", turn.before, { milliseconds: GRAPH_MILLISECONDS }, { signal }), known.exact);
      } catch (error) {
        if (!isAbort(error)) this.app.warn(error.message);
        return;
      }
      if (this.line === line) this.#draw();
    }
  }

  /** Show the next mistake, and ask for a better turn. */
  retry() {
    const { line } = this;
    const lost = line.turns.map((turn, n) => [n, this.#lost(turn)]).filter(([, seeds]) => seeds > 0);
    if (!lost.length) {
      this.#retry = null;
      this.verdict.textContent = t(line.turns.some((turn) => this.#lost(turn) === undefined) ? "study.retry_wait" : "study.retry_none");
      this.app.say(this.verdict.textContent);
      return;
    }
    const [at, seeds] = lost.find(([n]) => n > this.#retried) ?? lost[0];
    this.#retried = at;
    this.#retry = { at };
    line.goTo(at);
    this.verdict.textContent = t("study.retry_ask", { player: playerName(line.turns[at].player), turn: turnText(line.turns[at]), seeds: seedsText(seeds) });
    this.#showCurrent();
    this.app.say(this.verdict.textContent);
    this.board.focus();
  }

  #answerRetry(action) {
    const { game } = this.line, bounds = this.#bounds(game);
    const most = Math.max(...Object.values(bounds).map(({ lower }) => lower));
    const turn = turnText({ player: game.player, action });
    const lost = most - bounds[action].upper;
    if (lost > 0) {
      this.verdict.textContent = t("study.retry_wrong", { turn, seeds: seedsText(lost) });
      this.app.say(this.verdict.textContent);
      return;
    }
    this.verdict.textContent = t("study.retry_right", { turn });
    this.#retry = null;
    this.#draw();
    this.app.say(this.verdict.textContent);
  }
}

/** Combine new values with bounds that another solver proved before: the tighter bound of each. */
export function narrowed(found, before) {
  if (!before) return found;
  const closer = (one, other) => (other ? { lower: Math.max(one.lower, other.lower), upper: Math.min(one.upper, other.upper) } : one);
  const actions = Object.fromEntries(Object.entries(found.actions).map(([action, bounds]) => [action, closer(bounds, before.actions[action])]));
  return { ...found, ...closer(found, before), actions, isExact: found.isExact || before.isExact };
}

/** Bounds of each action's value, from the proofs and book values known for a position. */
export function boundsOf({ exact, book }) {
  const bounds = { ...exact?.actions };
  for (const [action, value] of Object.entries(book?.values ?? {})) bounds[action] = { lower: value, upper: value };
  return bounds;
}

/** The best actions; empty while they are not known. */
export function bestOf(game, bounds) {
  const all = Object.entries(bounds);
  if (all.length < game.legal.length || !all.length) return [];
  const most = Math.max(...all.map(([, { lower }]) => lower));
  return all.every(([, { upper }]) => upper <= most) ? all.filter(([, { lower }]) => lower === most).map(([action]) => Number(action)) : [];
}

/** Bounds of South's final lead from the values known for a position, {lower, upper}; null if none are known. */
export function leadOf(game, known) {
  const [south, north] = game.isOver ? game.counts : game.stores;
  if (game.isOver) return { lower: south - north, upper: south - north };
  const bounds = Object.values(boundsOf(known));
  let lower, upper;
  if (bounds.length === game.legal.length && bounds.length) [lower, upper] = [Math.max(...bounds.map((one) => one.lower)), Math.max(...bounds.map((one) => one.upper))];
  else if (known.exact) ({ lower, upper } = known.exact);
  else return null;
  const sign = game.player === 0 ? 1 : -1;
  const ends = [south - north + sign * lower, south - north + sign * upper];
  return { lower: Math.min(...ends), upper: Math.max(...ends) };
}

/** Seeds that a turn loses compared with the best one; undefined if not known. */
export function lostBy(turn, bounds) {
  const played = bounds[turn.action];
  if (!played || played.lower !== played.upper || Object.keys(bounds).length < turn.before.legal.length) return undefined;
  const lower = Math.max(...Object.values(bounds).map((one) => one.lower));
  const upper = Math.max(...Object.values(bounds).map((one) => one.upper));
  return lower === upper ? lower - played.lower : undefined;
}
