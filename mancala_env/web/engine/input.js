/** Checks of the engine's input, and the error that they raise. */

/** Invalid input: a position, ruleset or action. The message says what is valid. */
export class InvalidInput extends Error {}

/** Check a list of whole numbers: its length, and the range of each number. */
export function wholeNumbers(name, values, length, least, most) {
  if (!Array.isArray(values) || values.length !== length)
    throw new InvalidInput(`${name} must be ${length} whole numbers`);
  values.forEach((value, n) => {
    if (!Number.isInteger(value) || value < least || value > most)
      throw new InvalidInput(`${length > 1 ? `${name}[${n}]` : name} must be a whole number from ${least} to ${most}, not ${value}`);
  });
}

const MOST_MEGABYTES = 1024; // blocks have sizes of 31 bits

/** Check the size of a table or tree. */
export function sizeInMegabytes(megabytes) {
  if (!(typeof megabytes === "number" && megabytes > 0 && megabytes <= MOST_MEGABYTES))
    throw new InvalidInput(`megabytes must be a number above 0 and at most ${MOST_MEGABYTES}, not ${megabytes}`);
}

/** Check that a game's round is not over. */
export function refuseFinished(game) {
  if (game.isOver) throw new InvalidInput(`the round is over (${game.end})`);
}
