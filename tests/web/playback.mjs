// The playback bar and the steps of a turn, without a browser: FOLDER=mancala_env/web node --test playback.mjs
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { FakeElement, useFakeDom } from "../support/fake_dom.mjs";
import { at, engine, soon } from "../support/page_modules.mjs";


useFakeDom();
const { t } = await at("texts.js");
const { BoardView } = await at("board.js");
const { Film } = await at("film.js");
const { GameLine } = await at("game.js");
const { steps, timelineOf } = await at("motion.js");
const { Playback } = await at("playback.js");
const SLOW = [1000, 1e9]; // no step ends by itself in a test

let app, line, board, bar, done;
beforeEach(() => {
  app = { speed: SLOW, settings: { speed: null }, said: [], say(text) { this.said.push(text); }, set(name, value) { this.settings[name] = value; this.speed = value === "off" ? [0, 0] : SLOW; } };
  line = new GameLine(engine.newGame("layli_goobalay"));
  done = 0;
  const place = new FakeElement("div");
  new FakeElement("section").append(place);
  board = new BoardView(place);
  board.show(line.game);
  bar = new Playback(app, board, { turn: () => line.lastTurn, done: () => { done += 1; board.show(line.game, { legal: line.game.legal }); } });
  bar.draw();
});

const played = (action = 3) => {
  const turn = line.play(action), timeline = timelineOf(turn.before, action);
  return { turn, film: steps(turn.before, timeline, 1), moved: board.move(turn.before, timeline, turn.after, app.speed) };
};
const seeds = () => board.numbers.children.map((number) => Number(number.textContent));
const seedsOf = ({ seeds: lying, stores }) => [...lying, ...stores];

test("a film runs to its end, and pauses, jumps and stops", async () => {
  const shown = [], made = [0, 1, 2, 3].map((start) => ({ start, seconds: 0.01 }));
  const film = (start) => new Film(made, [0.001, 10], (step, seconds, isJump) => shown.push([step.start, seconds > 0, isJump]), start);
  await film().run(true);
  assert.deepEqual(shown.splice(0), [[0, true, false], [1, true, false], [2, true, false], [3, true, false]]);
  const paused = film({ at: 2, isPaused: true }), end = paused.run(false);
  await soon();
  assert.deepEqual(shown.splice(0), [[2, false, true]]);
  paused.seek(1);
  await soon();
  assert.deepEqual([shown.splice(0), paused.at, paused.isPaused], [[[1, false, true]], 1, true]);
  paused.resume();
  await end;
  assert.deepEqual(shown.splice(0).map(([start]) => start), [2, 3]);
  const stopped = new Film(made, SLOW, () => {});
  const stop = stopped.run(false);
  stopped.setSpeed([500, 1e9]);
  assert.equal(stopped.pace, 0.5);
  stopped.stop();
  await stop;
  assert.equal(stopped.at, 1);
});

test("a turn is paused, walked with the slider, and goes on", async () => {
  assert.deepEqual([bar.againButton.disabled, bar.slider.disabled], [true, true]);
  const { turn, film, moved } = played();
  assert.deepEqual([bar.slider.max, bar.slider.value, bar.pauseButton.getAttribute("aria-label")], [film.length, 0, t("playback.pause")]);
  bar.pauseButton.click();
  assert.deepEqual([board.film.isPaused, bar.pauseButton.getAttribute("aria-label")], [true, t("playback.resume")]);
  for (const n of [5, 2, film.length - 1]) {
    bar.slider.value = String(n);
    bar.slider.fire("input");
    await soon();
    assert.deepEqual(seeds(), seedsOf(film[n].state), `step ${n}`);
    assert.deepEqual([bar.slider.value, board.isMoving], [n, true]);
    assert.match(bar.slider.getAttribute("aria-valuetext"), /./);
  }
  bar.step(-1);
  await soon();
  assert.equal(board.film.at, film.length - 2);
  bar.step(1);
  bar.step(1);
  await moved;
  assert.deepEqual([board.isMoving, seeds()], [false, seedsOf(turn.after)]);
  assert.deepEqual([bar.slider.value, bar.slider.getAttribute("aria-valuetext")], [film.length, t("playback.end")]);
});

test("the last turn is shown again, and the view shows its position after it", async () => {
  bar.again();
  assert.deepEqual([app.said, board.isMoving], [[t("play.no_turn_yet")], false]);
  const { turn, film, moved } = played();
  board.skip();
  await moved;
  bar.againButton.click();
  await soon();
  assert.deepEqual([board.isMoving, board.film.isPaused, seeds()], [true, false, seedsOf(film[0].state)]);
  board.skip();
  await soon();
  assert.deepEqual([done, board.isMoving, seeds()], [1, false, seedsOf(turn.after)]);
  bar.step(-1); // from the end of the turn
  await soon();
  assert.deepEqual([board.film.isPaused, seeds()], [true, seedsOf(film.at(-1).state)]);
  const next = played(line.game.legal[0]); // the opponent's turn comes meanwhile
  await soon();
  assert.deepEqual([done, bar.slider.max], [1, next.film.length]);
  board.skip();
  await next.moved;
  bar.step(1); // there is nothing after the end
  assert.equal(board.isMoving, false);
});

test("without animation, turns are walked by hand", async () => {
  bar.speed.value = "off";
  bar.speed.fire("change");
  assert.equal(app.settings.speed, "off");
  const { film, moved } = played();
  await moved;
  assert.equal(board.isMoving, false);
  bar.again();
  await soon();
  assert.deepEqual([board.film.isPaused, seeds()], [true, seedsOf(film[0].state)]);
  bar.seek(4);
  await soon();
  assert.deepEqual(seeds(), seedsOf(film[4].state));
  assert.ok(board.seeds.children.every(({ animations }) => !animations.length));
  app.set("speed", "slow");
  bar.pause();
  bar.speed.value = "off"; // the turn ends at once
  bar.speed.fire("change");
  await soon();
  assert.equal(board.isMoving, false);
});

test("another position ends the film without showing the end of its turn", async () => {
  const { moved } = played();
  const other = engine.newGame("layli_goobalay").after(0);
  board.show(other);
  await moved;
  assert.deepEqual([board.isMoving, seeds()], [false, seedsOf(other)]);
});
