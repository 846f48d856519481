/**
 * The steps of a turn's animation, and turns in words. The JavaScript version of mancala_env/render/motion.py; a test compares them.
 *
 * A seed in hand is drawn in the hole it was lifted from until it falls, so every picture shows all seeds.
 */

import { measures as m } from "./measures.js";
import { LETTERS, playerName, statusOf, turnName } from "./scene.js";
import { t } from "./texts.js";

/** The effect of an action: {player, hole, laps, events}, as `Position.timeline` of the Python package returns it. */
export function timelineOf(game, action) {
  const events = game.timeline(action);
  const laps = 1 + events.filter(({ kind }) => kind === "relay").length;
  return { player: game.player, hole: game.holeOf(action), laps, events };
}

/** The positions after each event of a timeline, starting from the one before the turn. */
export function* replay(state, events) {
  const before = copied(state);
  const now = copied(state);
  for (const event of events) {
    apply(now, event, before);
    yield copied(now);
  }
}

function apply(now, { kind, player, hole, seeds, reason }, before) {
  if (["lift", "capture", "ransom"].includes(kind)) now.seeds[hole] -= seeds;
  else if (kind === "drop") now.seeds[hole] += 1;
  else if (kind === "store") now.stores[player] += seeds;
  else if (kind === "own") now.owner[hole] = player;
  else if (kind === "put_back") now.seeds = [...before.seeds];
  else if (kind === "next" || kind === "end") Object.assign(now, { player, stall: seeds, end: reason });
}

export function copied({ seeds, owner, territory, stores, player, end, stall, round }) {
  return { seeds: [...seeds], owner: [...owner], territory, stores: [...stores], player, end, stall, round };
}

/** The steps of a turn: {start, seconds, event, state, source, inHand, lap}, times in seconds.
 * @param {object} state  The position before it. @param {object} timeline @param {number} [seedSeconds]
 * @param {number} [maxLaps]  Most laps to show. Of a longer turn, the last laps are shown.
 */
export function steps(state, timeline, seedSeconds = m.seedSeconds, maxLaps = m.maxLapsShown) {
  const isSkipped = (lap) => lap >= maxLaps && lap < timeline.laps;
  const shown = [];
  const lying = new Map(); // number of seeds in hand, by the hole they came from
  let start = 0, lap = 0, source = -1, number = 0;
  for (const board of replay(state, timeline.events)) {
    let event = timeline.events[number++];
    if (event.kind === "lift" && lap < timeline.laps) lap += 1;
    if (["lift", "capture", "ransom"].includes(event.kind)) {
      source = event.hole;
      lying.set(source, (lying.get(source) ?? 0) + event.seeds);
    } else if (event.kind === "drop") lying.set(source, lying.get(source) - 1);
    else if (event.kind === "store" || event.kind === "put_back") lying.clear();
    if (isSkipped(lap) && ["lift", "drop", "relay"].includes(event.kind)) {
      if (event.kind !== "relay" || lap !== timeline.laps - 1) continue;
      event = { kind: "skip", player: event.player, hole: event.hole, seeds: timeline.laps - maxLaps, reason: "" };
    }
    let inHand = 0;
    for (const [hole, seeds] of lying) {
      board.seeds[hole] += seeds;
      inHand += seeds;
    }
    const seconds = seedSeconds * m.seedsLong[event.kind];
    shown.push({ start, seconds, event, state: board, source: inHand ? source : -1, inHand, lap });
    start += seconds;
  }
  return shown;
}

/** The holes to mark for the last turn: where it started, and where its last seed fell. */
export function endsOf(timeline) {
  let lap = 0, end = timeline.hole;
  for (const { kind, hole } of timeline.events) {
    if (kind === "put_back") return [timeline.hole]; // an endless relay never drops its last seed
    if (kind === "lift") lap += 1;
    if (kind === "drop" && lap <= timeline.laps) end = hole;
  }
  return end === timeline.hole ? [end] : [timeline.hole, end];
}

/** The caption of a step. */
export function caption(ruleset, timeline, step) {
  if (!["lift", "drop", "relay"].includes(step.event.kind)) return sentence(ruleset, step.event);
  const values = { player: playerName(timeline.player), turn: turnName(ruleset, timeline.player, timeline.hole), lap: step.lap, laps: timeline.laps };
  return t(timeline.laps > 1 ? "caption.sows_laps" : "caption.sows", values);
}

/** The name of a hole: the letter of its row, and its number in sowing order. */
export function placeName(ruleset, hole) {
  return `${LETTERS[Math.floor(hole / ruleset.rowWidth)]}${(hole % ruleset.rowWidth) + 1}`;
}

/** Describe an event in words. */
export function sentence(ruleset, { kind, player, hole, seeds, reason }) {
  const values = {
    player: playerName(player),
    hole: hole >= 0 ? placeName(ruleset, hole) : "",
    number: seeds,
    seeds: seedsText(seeds),
  };
  if (kind === "own") return t(`event.own.${ruleset.dials.landing}`, values);
  if (kind === "end") return t(`event.end.${reason}`, values);
  return t(`event.${kind}`, values);
}

export function seedsText(seeds) {
  return t(seeds === 1 ? "seeds.one" : "seeds.many", { number: seeds });
}

export function turnsText(turns) {
  return t(turns === 1 ? "turns.one" : "turns.many", { number: turns });
}

/** Describe a turn in words: one sentence for each lap, then the effect of the last seed. */
export function inWords(ruleset, timeline) {
  const said = [];
  let lap = 0, left = 0, lifted = timeline.events[0];
  for (const event of timeline.events) {
    if (event.kind === "lift") [lap, left, lifted] = [lap + 1, event.seeds, event];
    else if (event.kind === "drop") {
      left -= 1;
      const hole = placeName(ruleset, event.hole);
      if (left === 0 && lap <= timeline.laps) said.push(t("words.lap", { lifted: sentence(ruleset, lifted), hole }));
      else if (left === 0) said.push(t("words.crosses", { three: placeName(ruleset, lifted.hole), hole }));
    } else if (event.kind !== "relay") said.push(sentence(ruleset, event));
  }
  if (timeline.laps > m.maxLapsShown) {
    const laps = timeline.laps - m.maxLapsShown;
    said.splice(m.maxLapsShown - 1, laps, t("event.skip", { number: laps }));
  }
  return said.map((words) => `${words[0].toUpperCase()}${words.slice(1)}.`);
}

/** Describe a position in words, with everything that its picture shows; a resignation replaces its status. */
export function positionInWords(game, status = `${statusOf(game.ruleset, game)}.`) {
  const { ruleset, seeds, owner, territory, stores } = game;
  const said = [status];
  for (const player of [0, 1]) {
    const holes = [];
    for (let hole = player * ruleset.rowWidth; hole < (player + 1) * ruleset.rowWidth; hole++) {
      let words = String(seeds[hole]);
      if (owner[hole] >= 0) words += ` (${t(`hole.owned.${ruleset.dials.landing}`, { player: playerName(owner[hole]) })})`;
      else if (territory[hole] !== player) words += ` (${t("hole.territory", { player: playerName(territory[hole]) })})`;
      holes.push(words);
    }
    said.push(t("words.row", { player: playerName(player), holes: holes.join(", ") }));
  }
  said.push(t("words.stores", { south: stores[0], north: stores[1] }));
  return said.join(" ");
}
