/**
 * What is known of positions' values: bounds from proofs and books, the best actions, final leads, and what a turn loses.
 *
 * The page shows final leads everywhere: of the player to move at holes and in tables, of South in the graph.
 */

import { estimateText } from "./scene.js";

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

/** The lead in stores of the player to move. Solver and book count stores from zero: a value plus this lead is the final lead. */
export function storedLead({ stores: [south, north], player }) {
  return player === 0 ? south - north : north - south;
}

/** Bounds of the final lead of the player to move after each action, from bounds of the actions' values. */
export function finalLeads(game, bounds) {
  const stored = storedLead(game);
  return Object.fromEntries(Object.entries(bounds).map(([action, { lower, upper }]) => [action, { lower: lower + stored, upper: upper + stored }]));
}

/** What the board shows at the holes of a position: final leads of the player to move, with estimates of a search marked until they are proved. */
export function badgesOf(game, known) {
  const leads = finalLeads(game, boundsOf(known)), stored = storedLead(game), badges = {};
  for (const action of game.legal) {
    const { lower = -Infinity, upper = Infinity } = leads[action] ?? {};
    const guess = known.search?.values[action];
    if (lower === upper) badges[game.holeOf(action)] = lower;
    else if (guess !== undefined) badges[game.holeOf(action)] = estimateText(Math.min(upper, Math.max(lower, Math.round(guess + stored))));
  }
  return badges;
}

/** Bounds of South's final lead from the values known for a position, {lower, upper}, and an `estimate` while they are open;
 * null if no bounds are known. */
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
  const lead = { lower: Math.min(...ends), upper: Math.max(...ends) };
  const guesses = Object.values(known.search?.values ?? {});
  if (lead.lower < lead.upper && guesses.length === game.legal.length)
    lead.estimate = Math.min(lead.upper, Math.max(lead.lower, south - north + sign * Math.max(...guesses)));
  return lead;
}

/** Seeds that a turn loses compared with the best one; undefined if not known. */
export function lostBy(turn, bounds) {
  const played = bounds[turn.action];
  if (!played || played.lower !== played.upper || Object.keys(bounds).length < turn.before.legal.length) return undefined;
  const lower = Math.max(...Object.values(bounds).map((one) => one.lower));
  const upper = Math.max(...Object.values(bounds).map((one) => one.upper));
  return lower === upper ? lower - played.lower : undefined;
}
