/** What is known of positions' values: bounds from proofs and books, the best actions, the final lead, and what a turn loses. */

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
