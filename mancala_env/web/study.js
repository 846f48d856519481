/** The Study view: the value of every move of a game. game_analysis.js finds the values, values_table.js shows them. */

import { BoardView } from "./board.js";
import { happened } from "./coach.js";
import { Coach } from "./coach_card.js";
import { download, field, h, keepFocus, kept, select } from "./dom.js";
import { Explorer } from "./explorer.js";
import { GameLine, turnText } from "./game.js";
import { sharedAnalysis } from "./game_analysis.js";
import { drawGraph } from "./graph.js";
import { endsOf, positionInWords, seedsText, timelineOf } from "./motion.js";
import { resignationOf } from "./play_status.js";
import { Playback } from "./playback.js";
import { ProofCard } from "./proof_card.js";
import { readRecord, writeRecord } from "./record.js";
import { isMistake, yoursOf } from "./report.js";
import { ReportCard } from "./report_card.js";
import { playerName, statusOf } from "./scene.js";
import { SetUp } from "./set_up.js";
import { copyLink, copyText, lineFromText } from "./share.js";
import { t } from "./texts.js";
import { legalInWords, turnInWords, whyNotSown } from "./turn_words.js";
import { badgesOf } from "./values.js";
import { valuesInWords, ValuesTable } from "./values_table.js";

/** The searches without columns of engines; minimax gives the estimates on the board. */
const WITHOUT_ENGINES = ["book", "exact", "search"];

export class StudyView {
  #retry = null; // the mistake that the user is asked to improve
  #retried = -1;
  #opened = null; // a copy of the game that was opened here; null without turns
  #areValuesShown = true;
  #isGraded = false; // whether all turns of the game were tried

  constructor(app) {
    this.app = app;
    this.analysis = sharedAnalysis(app);
    const place = h("div");
    const button = (name, act, label) => h("button", { type: "button", onclick: act, "aria-label": label, "data-does": name }, t(`study.${name}`));
    this.status = h("p", { class: "status unseen" });
    this.text = h("input", { type: "text", spellcheck: "false", autocomplete: "off", class: "mono" });
    this.happened = h("p", { class: "happened" });
    this.coach = new Coach(this.analysis);
    this.proofs = new ProofCard(app);
    this.values = new ValuesTable((action) => this.#tryAction(action), app.settings.engines, (areShown) => this.#useEngines(areShown));
    this.graph = h("div");
    this.slider = h("input", { type: "range", min: 0, max: 0, value: 0, "data-keeps-arrows": "", oninput: () => this.goTo(Number(this.slider.value)) });
    this.report = new ReportCard(this.analysis, { jump: (at) => this.goTo(at) });
    this.turns = h("ol", { class: "turns", "aria-label": t("play.turns") });
    this.verdict = h("p", { class: "verdict" });
    this.gamesPlace = h("section", { class: "card", hidden: true });
    this.explorer = new Explorer({ analysis: this.analysis, follow: (at, action) => this.#follow(at, action), restart: () => this.commands.new_game() });
    this.setUp = new SetUp(app, (game) => {
      this.#replace(new GameLine(game));
      this.app.say(positionInWords(game));
    });
    this.root = h("div", { class: "view study" },
      h("h1", { class: "unseen" }, t("nav.study")),
      h("section", { class: "table", "aria-label": t("board.label") },
        place,
        this.status,
        this.happened,
        h("div", { class: "row actions" },
          button("first", () => this.goTo(0), t("keys.first")),
          button("earlier", () => this.goTo(this.line.at - 1), t("keys.earlier")),
          button("later", () => this.later(), t("keys.later")),
          button("last", () => this.goTo(Infinity), t("keys.last")),
          button("play_from_here", () => this.app.go("play", { line: new GameLine(this.line.game, this.line.rounds) })),
          button("retry", () => this.retry())),
        this.verdict,
        h("section", { class: "card" },
          h("h2", {}, t("study.graph")), this.graph, field(t("study.slider"), this.slider), this.turns),
        this.report.element),
      h("aside", { class: "panel" },
        this.gamesPlace,
        this.values.element,
        this.proofs.element,
        this.coach.element,
        this.explorer.element,
        h("section", { class: "card" }, h("h2", {}, t("study.position")),
          h("form", { onsubmit: (event) => { event.preventDefault(); this.read(); } },
            field(t("study.text"), this.text),
            h("div", { class: "row end" },
              h("button", { type: "submit" }, t("study.read")),
              h("button", { type: "button", onclick: () => copyText(app, this.line.game.text, "study.copied") }, t("study.copy")),
              h("button", { type: "button", onclick: () => copyLink(app, this.line, "study") }, t("study.copy_link")),
              h("button", { type: "button", onclick: () => download(`${this.line.ruleset.name}.txt`, writeRecord(this.line)) }, t("study.save"))))),
        h("details", { class: "card", ontoggle: (event) => event.target.open && this.setUp.show(this.line.game) }, h("summary", {}, t("study.set_up")), this.setUp.element)));
    this.board = new BoardView(place, { onHole: (hole) => this.press(hole) });
    this.playback = new Playback(app, this.board, { turn: () => this.line?.lastTurn, done: () => this.isShown && this.#draw() });
    this.happened.after(this.playback.element);
    this.commands = {
      sow: (action) => this.sow(action),
      board: () => this.board.focus(),
      skip: () => this.board.skip(),
      last_turn: () => this.lastTurn(),
      legal: () => this.app.say(legalInWords(this.line.game)),
      values: () => this.toggleValues(),
      position: () => this.app.say(positionInWords(this.line.game, resignationOf(this.line)?.caption)),
      take_back: () => this.takeBack(),
      hint: () => this.sayBest(),
      earlier: () => this.goTo(this.line.at - 1),
      later: () => this.later(),
      again: () => this.playback.again(),
      step_back: () => this.playback.step(-1),
      step_on: () => this.playback.step(1),
      first: () => this.goTo(0),
      last: () => this.goTo(Infinity),
      new_game: () => this.newGame(),
    };
  }

  enter({ game, line, games, proof, isRetry = false } = {}) {
    this.isShown = true;
    if (games) return this.#listGames(games);
    if (line) {
      this.gamesPlace.hidden = true;
      this.begin(line);
      if (proof) this.proofs.take(line.game, proof);
      return isRetry ? this.retry() : undefined;
    }
    if (this.line && (!game || game.equals(this.line.game))) {
      this.#showCurrent();
      return this.#grade(); // leaving the view stopped it
    }
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
        if (line.game.equals(game)) return line;
      }
    } catch {
      // Ignore a saved game that can no longer be read.
    }
    return null;
  }

  leave() {
    this.isShown = false;
    this.analysis.stop();
    this.coach.stop();
    this.proofs.stop();
    this.board.skip();
  }

  /** Study a game. */
  begin(line) {
    if (this.line !== line) this.#retried = -1;
    this.line = line;
    this.#opened = line.turns.length ? line.copy() : null;
    this.#retry = null;
    this.verdict.textContent = "";
    this.app.warn("");
    this.#showCurrent();
    this.#grade();
  }

  /** Study another game, and offer to return to the one that it replaces. */
  #replace(line) {
    const { line: shown } = this, opened = this.#opened;
    const goesOn = opened && opened.resigned === shown.resigned && opened.turns.every((turn, n) => turn === shown.turns[n]);
    const left = goesOn ? shown : opened ?? shown;
    this.begin(line);
    if (left.turns.length) this.#offer(left);
  }

  /** Offer to return to a game that was left. */
  #offer(line) {
    this.app.tell(t("study.left"), false, { label: t("study.back"), act: () => {
      this.begin(line);
      this.app.say(this.#statusText);
      this.board.focus();
    } });
  }

  newGame() {
    this.#replace(new GameLine(this.app.engine.newGame(this.line.ruleset)));
    this.app.say(`${t("play.begun", { title: this.line.ruleset.title })} ${positionInWords(this.line.game)}`);
  }

  read() {
    this.app.warn("");
    try {
      this.#replace(lineFromText(this.app.engine, this.text.value, this.line.ruleset));
      this.board.focus();
    } catch (error) {
      this.app.warn(error.message);
    }
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
    if (!game.legal.includes(action)) {
      this.verdict.textContent = game.isOver ? statusOf(game.ruleset, game) : whyNotSown(game, action);
      return this.app.say(this.verdict.textContent);
    }
    if (this.#retry) return this.#answerRetry(action);
    this.#play(action);
  }

  async #play(action) {
    const { line } = this;
    this.analysis.stopAnalysis();
    const isNew = line.turns[line.at]?.action !== action;
    const isLeft = isNew && (line.at < line.turns.length || line.resigned !== null) && this.#opened !== null;
    if (isNew) line.play(action);
    else line.goTo(line.at + 1);
    const turn = line.lastTurn, timeline = timelineOf(turn.before, action);
    const end = turn.after.isOver ? `${statusOf(line.ruleset, turn.after)}.` : resignationOf(line)?.caption;
    this.app.say([turnInWords(turn), end].filter(Boolean).join(" "));
    if (isLeft) {
      this.#opened.goTo(line.at - 1);
      this.#offer(this.#opened);
    }
    this.#list();
    if (isNew) this.#grade();
    await this.board.move(turn.before, timeline, turn.after, this.app.speed, true);
    if (!this.isShown || this.line !== line || line.lastTurn !== turn) return;
    this.#showCurrent();
  }

  /** Show the next turn of the game, seed by seed if turns are animated. */
  later() {
    const turn = this.line.turns[this.line.at];
    if (!turn || !this.app.speed[0]) return this.goTo(this.line.at + 1);
    this.#retry = null;
    this.verdict.textContent = "";
    return this.#play(turn.action);
  }

  goTo(at) {
    this.#retry = null;
    this.verdict.textContent = "";
    this.line.goTo(at);
    this.#showCurrent();
    this.app.say(`${this.line.lastTurn ? t("study.after", { turn: turnText(this.line.lastTurn), number: this.line.at }) : t("study.at_start")} ${this.#statusText}`);
  }

  get #statusText() {
    return resignationOf(this.line)?.caption ?? statusOf(this.line.ruleset, this.line.game);
  }

  /** Go to a place of the game and play an action there; null plays none. */
  #follow(at, action) {
    this.goTo(at);
    if (action !== null) this.#tryAction(action);
  }

  takeBack() {
    if (this.line.at === 0) return this.app.say(t("play.nothing_to_take_back"));
    this.goTo(this.line.at - 1);
  }

  lastTurn() {
    const { lastTurn } = this.line;
    if (!lastTurn) return this.app.say(t("play.no_turn_yet"));
    this.app.say(turnInWords(lastTurn));
  }

  toggleValues() {
    this.#areValuesShown = !this.#areValuesShown;
    this.#draw();
    if (this.#areValuesShown) this.sayValues();
    else this.app.say(t("play.values_off"));
  }

  sayValues() {
    if (this.#retry) return this.app.say(t("study.hidden"));
    const said = valuesInWords(this.line.game, this.analysis.bounds(this.line.game));
    this.app.say(said || this.values.note.textContent);
  }

  sayBest() {
    if (this.#retry) return this.app.say(t("study.hidden"));
    const { game } = this.line;
    const best = this.analysis.best(game);
    this.app.say(best.length ? t("study.best_said", { turns: best.map((action) => turnText({ player: game.player, action })).join(", ") }) : t("study.not_known"));
  }

  /** Show the current position and analyse it. */
  #showCurrent() {
    const { game } = this.line;
    this.board.cancel();
    this.app.address("study", game);
    kept.write("studied", writeRecord(this.line), true);
    if (document.activeElement !== this.text) this.text.value = game.text;
    this.#list();
    this.#draw();
    this.#analyse();
    this.proofs.show(game);
  }

  #analyse() {
    const { game } = this.line;
    this.analysis.analyse(game, () => this.line.game === game && this.#draw(), this.app.settings.engines ? {} : { names: WITHOUT_ENGINES });
  }

  /** Show the columns of the engines, or the exact values alone. */
  #useEngines(areShown) {
    this.app.set("engines", areShown);
    this.#draw();
    this.#analyse();
  }

  #grade() {
    const { line } = this;
    this.#isGraded = false;
    this.analysis.grade(line, () => this.line === line && this.#draw()).then((isDone) => {
      if (this.line !== line || !isDone) return;
      this.#isGraded = true;
      this.report.draw(line, true);
    });
  }

  #draw() {
    const { line } = this, { game } = line;
    if (this.board.isMoving) return;
    const legal = game.legal.map((action) => game.holeOf(action));
    const values = this.#areValuesShown && !this.#retry ? badgesOf(game, this.analysis.of(game)) : {};
    const last = line.lastTurn && line.lastTurn.after === game ? endsOf(timelineOf(line.lastTurn.before, line.lastTurn.action)) : [];
    this.board.show(game, { legal, last, values, ...resignationOf(line) });
    this.status.textContent = this.#statusText;
    this.playback.draw();
    this.happened.textContent = line.lastTurn ? happened(line.lastTurn) : "";
    this.values.draw(game, this.analysis.of(game), Boolean(this.#retry));
    if (this.#areValuesShown && !this.#retry) this.coach.draw(game);
    else this.coach.hide();
    this.explorer.show(line, Boolean(this.#retry));
    this.#drawGraph();
    this.report.draw(line, this.#isGraded);
  }

  #drawGraph() {
    const { line } = this;
    const games = [line.first, ...line.turns.map((turn) => (turn.after.isOver ? turn.after : turn.following))];
    const total = line.ruleset.totalSeeds;
    drawGraph(this.graph, games.map((game) => this.analysis.lead(game)), line.at, total);
    this.slider.max = line.turns.length;
    this.slider.value = line.at;
    this.slider.setAttribute("aria-valuetext", line.at ? turnText(line.lastTurn) : t("study.at_start"));
    this.slider.disabled = line.turns.length === 0;
    [...this.turns.children].forEach((item, n) => this.#colour(item.firstChild, line.turns[n], n));
  }

  #list() {
    const { line } = this;
    const focused = [...this.turns.children].findIndex((item) => item.contains(document.activeElement));
    this.turns.replaceChildren(...line.turns.map((turn, n) => h("li", {}, h("button", { type: "button", onclick: () => this.goTo(n + 1) }, turnText(turn)))));
    this.turns.children[focused]?.firstChild.focus();
    this.root.querySelector("[data-does=retry]").disabled = !line.turns.length;
    for (const name of ["first", "earlier"]) this.root.querySelector(`[data-does=${name}]`).disabled = line.at === 0;
    for (const name of ["later", "last"]) this.root.querySelector(`[data-does=${name}]`).disabled = line.at === line.turns.length;
    keepFocus(this.board);
  }

  #colour(button, turn, n) {
    const lost = this.analysis.lost(turn);
    button.textContent = `${turnText(turn)}${lost ? ` −${lost}` : ""}`;
    button.classList.toggle("lost-little", lost > 0 && lost < 6);
    button.classList.toggle("lost-much", lost >= 6);
    if (lost > 0) button.setAttribute("aria-label", t("study.lost", { turn: turnText(turn), seeds: seedsText(lost) }));
    if (n === this.line.at - 1) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }

  /** Show the user's next mistake, and ask for a better turn. In a game of two agents or of two people, all mistakes count. */
  retry() {
    const { line } = this, yours = yoursOf(line);
    const graded = line.turns.map((turn, n) => [n, this.analysis.lost(turn)]).filter(([n]) => yours.includes(line.turns[n].player));
    const lost = graded.filter(([, seeds]) => isMistake(seeds));
    if (!lost.length) {
      this.#retry = null;
      const isOpen = graded.some(([, seeds]) => seeds === undefined);
      const none = yours.length > 1 ? t("study.retry_none") : t("study.retry_none_yours", { player: playerName(yours[0]) });
      this.verdict.textContent = !isOpen ? none : t(this.#isGraded ? "study.retry_open" : "study.retry_wait");
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
    const { game } = this.line, bounds = this.analysis.bounds(game);
    const most = Math.max(...Object.values(bounds).map(({ lower }) => lower));
    const turn = turnText({ player: game.player, action });
    const { lower, upper } = bounds[action];
    if (lower < most) { // not proved to be a best move
      const text = upper >= most ? "study.retry_unproved" : lower === upper ? "study.retry_wrong" : "study.retry_wrong_at_least";
      this.verdict.textContent = t(text, { turn, seeds: seedsText(most - upper) });
      this.app.say(this.verdict.textContent);
      return;
    }
    this.verdict.textContent = t("study.retry_right", { turn });
    this.#retry = null;
    this.#draw();
    this.app.say(this.verdict.textContent);
  }
}
