/**
 * The games that this browser keeps: the last one of each tab for a reload, and the latest ones to resume.
 *
 * Each game has an id. A game that another tab also has open gets a new id as soon as it changes, so that no tab
 * overwrites the game of another. A duplicated tab believes that the game is its own, so tabs ask each other.
 */

import { agentName } from "./agents.js";
import { kept } from "./dom.js";
import { turnsText } from "./motion.js";
import { readRecord } from "./record.js";
import { t } from "./texts.js";

/** The start of the games' names in the storage (`games.ID`), and the most that are kept. */
const GAMES = "games.", MOST_GAMES = 50;

export class SavedGames {
  #id = newId(); // the id under which the game is saved
  #isOfTab = true; // whether only this tab has the game open
  #isTold = false; // whether the user was told that the game cannot be saved
  #tabs = channelOfTabs();

  constructor(app) {
    this.app = app;
    this.#tabs?.addEventListener("message", ({ data: { asked, played } }) => {
      if (asked === this.#id && this.#isOfTab) this.#tabs.postMessage({ played: asked });
      if (played === this.#id) this.#isOfTab = false;
    });
  }

  /** The game that was shown last, {record, players, id, isOfTab}; null if no game is kept. */
  get last() {
    const game = kept.read("game", null);
    return game && { ...game, isOfTab: game.isOfTab && kept.ofTab("game") !== undefined };
  }

  /** A saved game by its name, as `last` returns it. */
  read(name) {
    const game = kept.read(name, null);
    return game && { ...game, isOfTab: game.id === this.#id };
  }

  /** How the running game is saved, for {@link SavedGames#use}. */
  get current() {
    return { id: this.#id, isOfTab: this.#isOfTab };
  }

  /** Save under an id from now on. */
  use({ id = newId(), isOfTab = true } = {}) {
    this.#id = id;
    this.#isOfTab = isOfTab;
    if (isOfTab) this.#tabs?.postMessage({ asked: id });
  }

  /** Save the game for a reload, and in the list of saved games if `hasTurns`.
   * @param {{record: string, players: object[], hasTurns: boolean}} game
   * @param {boolean} isChanged  Whether the game differs from the saved one.
   */
  save({ record, players, hasTurns }, isChanged) {
    if (isChanged ? !this.#isOfTab : hasTurns && this.#isOlder(record)) this.use();
    const id = this.#id, game = { record, players, id, isOfTab: this.#isOfTab, when: Date.now() };
    let isKept = kept.write("game", game, true);
    if (hasTurns) {
      isKept &&= kept.write(GAMES + id, game);
      if (!isKept) kept.forgetTab(GAMES + id);
      if (kept.names(GAMES).length > MOST_GAMES) for (const [name] of keptGames().slice(MOST_GAMES)) kept.remove(name);
    }
    if (!isKept && !this.#isTold) this.app.tell(t("play.not_kept"));
    this.#isTold = !isKept;
  }

  /** Whether the list has another state of the game: another tab has gone on with it since this one saved it. */
  #isOlder(record) {
    const saved = kept.read(GAMES + this.#id, null);
    return typeof saved?.record === "string" && withoutDate(saved.record) !== withoutDate(record);
  }

  /** The saved games as options, [name, words] each, newest first. */
  list() {
    const named = ([name, { record, players }]) => {
      const { line } = readRecord(this.app.engine, record);
      const [south, north] = players.map((player) => (player === "you" ? t("play.you") : agentName(player)));
      return [name, t("play.game", { title: line.ruleset.title, south, north, turns: turnsText(line.turns.length) })];
    };
    return keptGames().flatMap((entry) => {
      try {
        return [named(entry)];
      } catch {
        return []; // for example, its ruleset was removed from the catalogue
      }
    });
  }
}

/** The channel on which tabs ask each other whether they play a game; undefined in a browser without such channels. */
function channelOfTabs() {
  try {
    const channel = new BroadcastChannel("mancala.games");
    channel.unref?.(); // Node would wait for it
    return channel;
  } catch {
    return undefined;
  }
}

/** The saved games, [name, game] each, newest first. */
function keptGames() {
  const games = kept.names(GAMES).map((name) => [name, kept.read(name, null)]).filter(([, game]) => typeof game?.record === "string");
  return games.sort(([, one], [, other]) => other.when - one.when);
}

/** A record without the day on which it was written. */
const withoutDate = (record) => record.replace(/^\[Date ".*"\]\n/m, "");

const newId = () => `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
