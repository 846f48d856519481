/**
 * The demonstration on the start page: two agents play, and every hole shows its exact result.
 *
 * It uses the modules of the page that plays (app/). Games run here; searches and exact values run in a worker.
 * It pauses while it cannot be seen. Without modules or WebAssembly the picture in the page stays.
 */

import { BoardView } from "../app/board.js";
import { Engine } from "../app/engine.js";
import { endsOf, timelineOf } from "../app/motion.js";
import { playerName, turnName } from "../app/scene.js";
import { Searches } from "../app/searches.js";
import { useTexts } from "../app/texts.js";

const APP = new URL("../app/", import.meta.url);
const SOLVE_MILLISECONDS = 6000; // a position that takes longer ends the game
const MOVES_SHOWN = 24;
const SECONDS = { think: 1.5, seed: 0.11, turn: 4.5, result: 1.2, over: 5 };
const AGENTS = {
  "minimax:4": { kind: "minimax", strength: 4 },
  "mcts:1000": { kind: "mcts", strength: 1000 },
  "value+minimax:4": { kind: "network", strength: 4 },
  greedy: { kind: "greedy" },
  random: { kind: "random" },
};

const seeds = (number) => (number === 1 ? "1 seed" : `${number} seeds`);
const anyOf = (list) => list[Math.floor(Math.random() * list.length)];

class Demonstration {
  #searches = new Searches();
  #solved = new Map(); // promises of leads, by position
  #game = null;
  #isBusy = false;
  #isPlaying = true;
  #isSeen = false;
  #wake = () => {};
  #lost = [[], []]; // the regret of each move, by player

  constructor(root, engine) {
    this.root = root;
    this.engine = engine;
    this.pace = Number(root.dataset.pace ?? 1);
    const place = this.#part("board");
    place.replaceChildren();
    this.board = new BoardView(place);
    this.board.holes.remove(); // the holes are not for sowing here
    this.isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#isPlaying = !this.isStill;
    this.#listen();
    this.#begin();
  }

  /** Play turn after turn while the demonstration is seen and not paused. */
  async run() {
    for (;;) {
      while (this.#isBusy || !this.#isPlaying || !this.#isSeen || document.hidden) {
        await new Promise((resolve) => { this.#wake = resolve; });
      }
      await this.#turn();
    }
  }

  #part(name) {
    return this.root.querySelector(`[data-part=${name}]`);
  }

  #listen() {
    const seen = new IntersectionObserver(([{ isIntersecting }]) => {
      this.#isSeen = isIntersecting;
      this.#wake();
    }, { threshold: 0.25 });
    seen.observe(this.board.place);
    document.addEventListener("visibilitychange", () => this.#wake());
    this.#part("pause").addEventListener("click", () => this.#play(!this.#isPlaying));
    this.#part("step").addEventListener("click", () => {
      this.#play(false);
      if (!this.#isBusy) this.#turn();
    });
    for (const name of ["ruleset", "south", "north"]) this.#part(name).addEventListener("change", () => this.#begin());
    this.#play(this.#isPlaying);
    this.root.classList.add("live");
  }

  #play(isPlaying) {
    this.#isPlaying = isPlaying;
    this.#part("pause").textContent = isPlaying ? "Pause" : "Play";
    this.#part("said").setAttribute("aria-live", isPlaying ? "off" : "polite");
    if (isPlaying) this.#wake();
  }

  #begin() {
    this.#game = this.engine.newGame(this.#part("ruleset").value);
    this.#lost = [[], []];
    this.#part("moves").replaceChildren();
    this.#say("A game begins.");
    this.#show(this.#game);
    this.#count();
    const game = this.#game;
    this.#leads(game).then((leads) => { if (leads && game === this.#game) this.#show(game, leads); });
  }

  async #turn() {
    this.#isBusy = true;
    try {
      if (this.#game.isOver) this.#begin();
      const game = this.#game, leads = await this.#leads(game);
      if (game !== this.#game) return;
      if (!leads) return await this.#giveUp();
      this.#show(game, leads);
      const [action] = await Promise.all([this.#choose(game, leads), this.#wait(SECONDS.think)]);
      if (game !== this.#game) return;
      await this.#move(game, action, leads);
    } finally {
      this.#isBusy = false;
      this.#wake();
    }
  }

  async #move(game, action, leads) {
    const after = game.after(action), timeline = timelineOf(game, action);
    if (!after.isOver) this.#leads(after); // solved while the seeds move
    const best = Math.max(...Object.values(leads)), regret = best - leads[action];
    this.#tell(game, action, regret, game.legal.find((other) => leads[other] === best));
    const pace = this.isStill ? 0 : this.pace;
    await this.board.move(game, timeline, after, [pace * SECONDS.seed, pace * SECONDS.turn]);
    if (game !== this.#game) return;
    this.#game = after;
    this.#lost[game.player].push(regret);
    this.board.show(after, { last: endsOf(timeline) });
    this.#count();
    if (after.isOver) this.#sayResult(after);
    await this.#wait(after.isOver ? SECONDS.over : SECONDS.result);
    const next = after.isOver ? null : await this.#leads(after);
    if (next && this.#game === after) this.#show(after, next);
  }

  /** Resolve to the mover's final lead after each action under perfect play; null if that takes too long. */
  #leads(game) {
    const key = `${game.ruleset.name} ${game.text}`;
    if (!this.#solved.has(key)) this.#solved.set(key, this.#solve(game));
    return this.#solved.get(key);
  }

  async #solve(game) {
    let { values } = await this.#searches.ask("book", game);
    if (Object.keys(values).length < game.legal.length) {
      const found = await this.#searches.ask("values", game, { milliseconds: SOLVE_MILLISECONDS });
      if (!found.isExact) return null;
      values = Object.fromEntries(Object.entries(found.actions).map(([action, { lower }]) => [action, lower]));
    }
    const [south, north] = game.stores, lead = game.player === 0 ? south - north : north - south;
    return Object.fromEntries(Object.entries(values).map(([action, value]) => [action, value + lead]));
  }

  async #choose(game, leads) {
    const agent = AGENTS[this.#part(game.player === 0 ? "south" : "north").value];
    if (agent) return (await this.#searches.ask("choose", game, agent)).action;
    const best = Math.max(...Object.values(leads)); // perfect
    return anyOf(game.legal.filter((action) => leads[action] === best));
  }

  #show(game, leads = {}) {
    const values = Object.fromEntries(Object.entries(leads).map(([action, lead]) => [game.holeOf(Number(action)), lead]));
    this.board.show(game, { legal: game.legal.map((action) => game.holeOf(action)), values });
    const known = Object.values(leads);
    if (known.length) this.#showLead((game.player === 0 ? 1 : -1) * Math.max(...known));
    this.root.dataset.position = game.text;
    this.root.dataset.leads = JSON.stringify(leads);
    this.#part("study").href = `${APP}index.html#study/${game.text.replaceAll(" ", "+")}`;
  }

  /** Show South's final lead. */
  #showLead(lead) {
    const share = 50 + (50 * lead) / this.#game.ruleset.totalSeeds;
    this.#part("lead").style.setProperty("--south", `${share}%`);
    this.#part("leader").textContent = lead ? `${playerName(Number(lead < 0))} +${Math.abs(lead)}` : "a draw";
  }

  #tell(game, action, regret, best) {
    const [turn, better] = [action, best].map((one) => turnName(game.ruleset, game.player, game.holeOf(one)));
    this.#say(`<b>${turn}</b> ${regret ? `loses ${seeds(regret)}. The best move was ${better}.` : "is a best move."}`, regret);
    const item = document.createElement("li");
    item.className = `${game.player ? "north" : "south"} ${regret ? "lost" : "best"}`;
    item.dataset.regret = regret;
    item.innerHTML = `${turn} <b>${regret ? `−${regret}` : "✓"}</b>`;
    item.title = regret ? `Regret: ${seeds(regret)}` : "A best move";
    const moves = this.#part("moves");
    moves.prepend(item);
    while (moves.children.length > MOVES_SHOWN) moves.lastChild.remove();
  }

  #say(html, regret = 0) {
    const said = this.#part("said");
    said.innerHTML = html;
    said.classList.toggle("lost", regret > 0);
  }

  #sayResult(game) {
    const [south, north] = game.counts;
    const [a, b] = this.#lost.map((list) => list.reduce((sum, one) => sum + one, 0));
    this.#showLead(south - north);
    this.#say(`<b>South ${south} : ${north} North.</b> Against perfect play, South lost ${seeds(a)} and North ${seeds(b)}.`);
  }

  async #giveUp() {
    this.#say("This position takes the solver longer than six seconds. A new game starts.");
    await this.#wait(2);
    this.#begin();
  }

  #count() {
    this.#lost.forEach((list, player) => {
      const sum = list.reduce((total, one) => total + one, 0);
      const row = this.#part(player ? "north-row" : "south-row");
      const [lost, mean, best] = row.querySelectorAll("td");
      lost.textContent = sum;
      mean.textContent = list.length ? (sum / list.length).toFixed(2) : "–";
      best.textContent = list.length ? `${Math.round((100 * list.filter((one) => one === 0).length) / list.length)} %` : "–";
    });
  }

  #wait(seconds) {
    return new Promise((resolve) => setTimeout(resolve, 1000 * seconds * this.pace));
  }
}

async function begin(root) {
  const [engine, texts] = await Promise.all([Engine.fetch(APP), fetch(new URL("texts/en.json", APP)).then((answer) => answer.json())]);
  useTexts(texts);
  await new Demonstration(root, engine).run();
}

for (const root of document.querySelectorAll(".demo")) begin(root).catch((error) => console.error(error));
