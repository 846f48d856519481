/** The Play view: a game against an agent, between agents, or between two people. */

import { Advice } from "./advice.js";
import { askAgent, recordName } from "./agents.js";
import { BoardView } from "./board.js";
import { happened } from "./coach.js";
import { h, keepFocus } from "./dom.js";
import { GameLine, turnText } from "./game.js";
import { LeftGame } from "./left_game.js";
import { endsOf, positionInWords, timelineOf } from "./motion.js";
import { NewGameForm } from "./new_game_form.js";
import { Place } from "./place.js";
import { playLayout } from "./play_layout.js";
import { isLost, nextRoundText, resignationOf, statusText } from "./play_status.js";
import { Playback } from "./playback.js";
import { readRecord } from "./record.js";
import { gameRecord } from "./record_row.js";
import { SavedGames } from "./saved_games.js";
import { playerName, statusOf } from "./scene.js";
import { isAbort, Searches } from "./searches.js";
import { StartCards } from "./start_cards.js";
import { t } from "./texts.js";
import { legalInWords, reasonOf, turnInWords, whyNotSown } from "./turn_words.js";
import { showTurns } from "./turns_list.js";

const LEAST_THINKING = 350; // milliseconds, so that the user notices an agent's turn

export class PlayView {
  #thinking = null;
  #unanswered = null; // the position in which an agent did not move
  #isPaused = false; // the round is over and the user has not started the next one

  constructor(app) {
    this.app = app;
    this.searches = new Searches();
    this.saved = new SavedGames(app);
    this.left = new LeftGame(this);
    this.form = new NewGameForm(app, () => {
      this.newGame();
      this.board.focus();
      if (innerWidth > 900) return;
      this.newGamePlace.open = false; // the board is above it
      this.board.place.scrollIntoView();
    }, () => this.board.turn(this.form.isTurned(this.players)));
    /** The players: "you" or {kind, strength}. A position of a link begins with those of the form. */
    this.players = this.form.players;
    this.startCards = new StartCards(app, (ruleset) => {
      this.form.follow(ruleset);
      this.newGame();
      this.board.focus();
    });
    this.newGamePlace = h("details", {}, h("summary", {}, t("play.new_game"), this.form.words), this.form.element);
    const place = h("div");
    this.status = h("p", { class: "status" });
    this.happened = h("p", { class: "happened" });
    this.advice = new Advice(this);
    this.turns = h("ol", { class: "turns", "aria-label": t("play.turns") });
    this.place = new Place();
    this.root = playLayout(this, { place, resume: (name) => this.#resume(name) });
    this.goOnButton = this.root.querySelector("[data-does=go_on]");
    this.board = new BoardView(place, { onHole: (hole) => this.press(hole) });
    this.playback = new Playback(app, this.board, { turn: () => this.line?.lastTurn, done: () => this.isShown && this.refresh() });
    this.happened.after(this.playback.element);
    this.commands = {
      sow: (action) => this.sow(action),
      board: () => this.board.focus(),
      skip: () => this.board.skip(),
      last_turn: () => this.lastTurn(),
      legal: () => this.sayLegal(),
      values: () => this.advice.toggleValues(),
      position: () => this.app.say(positionInWords(this.shown, resignationOf(this.line)?.caption)),
      take_back: () => this.takeBack(),
      hint: () => this.hint(),
      resign: () => this.resign(),
      go_on: () => this.goOn(),
      again: () => this.playback.again(),
      step_back: () => this.playback.step(-1),
      step_on: () => this.playback.step(1),
      new_game: () => this.newGame(),
      study: () => this.study(),
    };
  }

  /** Show the view with the position in the address, or with the last game. */
  enter({ game, line } = {}) {
    this.isShown = true;
    if (line) return this.#replace(line, this.players);
    if (this.line && (!game || this.line.game.equals(game))) {
      this.app.address("play", this.line.game);
      return this.#next();
    }
    const left = this.saved.last;
    if (left && !this.line) {
      try {
        const { line: old } = readRecord(this.app.engine, left.record);
        if (!game || old.game.equals(game)) {
          this.startCards.isOffered = !this.saved.list().length;
          return this.begin(old, left.players, left);
        }
      } catch {
        // Ignore a saved game that can no longer be read.
      }
    }
    this.startCards.isOffered = !game && !this.saved.list().length;
    if (game) return this.#replace(new GameLine(game), this.players);
    this.newGame();
  }

  leave() {
    this.isShown = false;
    this.#thinking?.abort();
    this.advice.stop();
    this.board.skip();
  }

  /** The position on the board. The end of a round stays until the user starts the next one. */
  get shown() {
    return this.#isPaused ? this.line.lastTurn.after : this.line.game;
  }

  get isYours() {
    return !this.line.isOver && !this.#isPaused && this.players[this.line.game.player] === "you";
  }

  /** Start or resume a game; `saved` is a resumed one, as {@link SavedGames} returns it. */
  begin(line, players, saved) {
    this.#thinking?.abort();
    this.left.keep(line);
    this.saved.use(saved);
    this.line = line;
    this.line.names = players.map(recordName);
    this.advice.stop();
    this.players = players;
    this.form.follow(line.ruleset);
    this.board.turn(this.form.isTurned(players));
    this.place.show(this.app.engine, line.ruleset);
    // Whether the user had started the next round is not saved.
    this.#isPaused = !line.isOver && line.lastTurn?.before.round < line.game.round;
    this.turns.replaceChildren();
    this.#saveAndList(false);
    this.#next();
  }

  /** Start a game, and offer to return to the one that it replaces. */
  #replace(line, players) {
    this.begin(line, players);
    this.left.offer();
  }

  newGame() {
    this.app.warn("");
    try {
      const { line, players } = this.form.read();
      this.#replace(line, players);
      this.app.say(`${t("play.begun", { title: line.ruleset.title })} ${positionInWords(line.game)}`);
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
    this.status.textContent = `${reasonOf(game, action)} ${this.#statusText}`;
    this.app.say(whyNotSown(game, action));
  }

  #sayWhyNot() {
    this.app.say(this.status.textContent);
  }

  async #play(action, note) {
    const { board, line } = this;
    this.#thinking?.abort();
    this.left.forget();
    this.startCards.show(true);
    this.advice.stopAnalysis();
    const turn = line.play(action);
    if (note) turn.note = note;
    const timeline = timelineOf(turn.before, action);
    this.#isPaused = turn.following !== turn.after;
    const moved = board.move(turn.before, timeline, turn.after, this.app.speed, this.players[turn.player] === "you");
    this.app.say([turnInWords(turn), ...(line.isOver || this.#isPaused ? [this.#statusText] : [])].join(" "));
    this.goOnButton.hidden = true;
    this.root.querySelector("[data-does=take_back]").disabled = false;
    this.status.textContent = t("play.sowing", { player: playerName(turn.player), turn: turnText(turn) });
    this.#save();
    // Browsers take milliseconds to change the address. The first seed does not wait for it.
    const address = () => this.isShown && this.line === line && this.app.address("play", line.game);
    if (this.app.speed[0]) setTimeout(address);
    else address();
    await moved;
    if (this.isShown && this.line === line && line.lastTurn === turn) this.#next();
  }

  /** Continue the game: show its end or the next round, ask an agent, or wait for the user's turn. */
  #next() {
    this.refresh();
    this.advice.showReport();
    if (this.line.isOver || this.#isPaused) {
      if (!this.goOnButton.hidden && document.activeElement === document.body) this.goOnButton.focus();
      return;
    }
    if (!this.isYours) this.#think();
    else this.advice.askValues();
  }

  async #think() {
    const { line } = this, { game } = line;
    const thinking = new AbortController();
    this.#thinking = thinking;
    try {
      const [{ action, note }] = await Promise.all([
        askAgent(this.app, this.searches, line, this.players[game.player], { signal: thinking.signal }),
        new Promise((resolve) => setTimeout(resolve, this.app.speed[0] ? LEAST_THINKING : 0)),
      ]);
      if (!thinking.signal.aborted && this.line === line && line.game === game) this.#play(action, note);
    } catch (error) {
      if (isAbort(error)) return;
      this.#unanswered = game;
      this.refresh();
      this.app.warn(error.message);
    }
  }

  takeBack() {
    this.#thinking?.abort();
    const { line } = this;
    if (this.left.isThere) return this.left.undo();
    if (line.resigned !== null) return this.#playOn(line);
    if (!line.turns.length) return this.app.say(t("play.nothing_to_take_back"));
    const hasYou = this.players.includes("you");
    do line.takeBack();
    while (hasYou && line.turns.length && this.players[line.game.player] !== "you");
    this.#isPaused = false;
    this.#saveAndList();
    this.app.say(`${t("play.taken_back")} ${statusOf(line.ruleset, line.game)}`);
    this.#next();
  }

  hint() {
    if (!this.isYours) return this.#sayWhyNot();
    return this.advice.hint();
  }

  resign() {
    const { line } = this;
    if (line.isOver || !this.players.includes("you")) return;
    this.#thinking?.abort();
    this.left.forget();
    line.resigned = this.players[line.game.player] === "you" ? line.game.player : 1 - line.game.player;
    this.#isPaused = false;
    this.#saveAndList();
    this.#next();
    this.app.say(this.status.textContent);
    const undo = () => {
      this.#playOn(line);
      this.board.focus();
    };
    this.app.tell(this.status.textContent, false, { label: t("play.undo"), act: undo });
  }

  /** Undo a resignation. */
  #playOn(line) {
    if (line !== this.line || line.resigned === null) return;
    this.app.tell("", false); // the offer to undo the resignation
    line.resigned = null;
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

  lastTurn() {
    const { lastTurn } = this.line;
    if (!lastTurn) return this.app.say(t("play.no_turn_yet"));
    this.app.say(turnInWords(lastTurn));
    this.board.mark({ last: this.#lastHoles() });
  }

  sayLegal() {
    const { line } = this;
    this.app.say(line.isOver || this.#isPaused ? this.#statusText : legalInWords(line.game));
  }

  #lastHoles() {
    const { lastTurn } = this.line;
    return lastTurn && this.shown.round === lastTurn.before.round ? endsOf(timelineOf(lastTurn.before, lastTurn.action)) : [];
  }

  /** Update the view after a change of the game. */
  refresh() {
    const { line } = this, game = this.shown;
    const legal = this.isYours ? game.legal.map((action) => game.holeOf(action)) : [];
    this.board.show(game, { legal, last: this.#lastHoles(), values: this.advice.badges, ...resignationOf(line) });
    this.startCards.show(line.turns.length > 0);
    this.goOnButton.hidden = !this.#isPaused;
    this.playback.draw();
    this.happened.textContent = [line.lastTurn && happened(line.lastTurn), this.#isPaused && nextRoundText(line.game)].filter(Boolean).join(" ");
    this.advice.draw();
    this.status.textContent = this.#statusText;
    this.root.classList.toggle("over", line.isOver);
    this.root.classList.toggle("lost", isLost(line, this.players));
    for (const button of this.root.querySelectorAll("[data-does=resign], [data-does=hint], [data-does=values]")) button.disabled = line.isOver;
    if (this.#isPaused) this.root.querySelector("[data-does=hint]").disabled = true;
    this.root.querySelector("[data-does=take_back]").disabled = !line.turns.length && line.resigned === null && !this.left.isThere;
    keepFocus(this.board);
  }

  get #statusText() {
    return statusText(this.line, this.players, { isPaused: this.#isPaused, isUnanswered: this.#unanswered === this.line.game });
  }

  /** Save the game, show its turns beside the board, and write its position into the address. */
  #saveAndList(isChanged = true) {
    this.#save(isChanged);
    this.app.address("play", this.line.game);
  }

  #save(isChanged = true) {
    const { line } = this;
    this.saved.save({ record: gameRecord(line, this.players), players: this.players, hasTurns: line.turns.length > 0 }, isChanged);
    showTurns(this.turns, line.turns);
  }

  #resume(name) {
    const game = this.saved.read(name);
    if (!game) return;
    this.app.warn("");
    this.begin(readRecord(this.app.engine, game.record).line, game.players, game);
    this.app.say(`${t("play.gone_on", { title: this.line.ruleset.title })} ${positionInWords(this.line.game)}`);
  }
}
