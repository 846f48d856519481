/** Value networks for the search minimax: files of them, checked and copied into the memory of the kernels. */

import { InvalidInput } from "./input.js";

/** @typedef {Object} ValueNetwork  See {@link Engine#valueNetwork}. @property {import("./ruleset.js").Ruleset} ruleset */

let count = 0; // every network has a number of its own

/** Load a value network; see {@link Engine#valueNetwork}.
 * @param {import("../engine.js").Engine} engine @param {ArrayBuffer | Uint8Array} bytes @param {import("./ruleset.js").Ruleset} [ruleset]
 * @returns {ValueNetwork}
 */
export function readValueNetwork(engine, bytes, ruleset) {
  const { description, kernels } = engine;
  const file = safetensors(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes));
  if (file) {
    const parts = ["embeddings", "unit_biases", "unit_weights", "bias"].map((name) => file.arrays[name]);
    if (parts.includes(undefined) || !file.texts.ruleset) throw new InvalidInput("the file holds no value network");
    const { version } = JSON.parse(file.texts.network);
    if (version !== description.network.version)
      throw new InvalidInput(`the value network is of version ${version}, not ${description.network.version}`);
    const numbers = parts.flatMap((part) => Array.from(part));
    return readValueNetwork(engine, Float32Array.from(numbers).buffer, engine.ownRuleset(JSON.parse(file.texts.ruleset)));
  }
  if (!ruleset) throw new InvalidInput("the file does not name its ruleset; pass it as the second argument");
  const { codes, units, unit, largest } = description.network;
  const { numHoles } = ruleset;
  const length = numHoles * codes * units + 2 * units + 1;
  const content = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  if (content.length !== 4 * length)
    throw new InvalidInput(`a value network of this board has ${4 * length} bytes, not ${content.length}`);
  const numbers = new Float32Array(content.slice().buffer);
  if (!numbers.every((number) => Math.abs(number) <= largest))
    throw new InvalidInput(`the value network holds numbers that are not finite or beyond ${largest}`);
  const weights = kernels.take(4 * length);
  const address = kernels.take(8 * (1 + 2 * units + (numHoles * codes * units) / 4));
  new Float32Array(kernels.wasm.memory.buffer, weights, length).set(numbers);
  kernels.wasm.pack_network(weights, numHoles, address);
  kernels.giveBack(weights);
  return { address, unit, id: ++count, ruleset };
}

/** Read a safetensors file of float32 arrays; null if the bytes are not one. */
function safetensors(bytes) {
  if (bytes.length < 10 || bytes[8] !== 0x7b) return null; // a length, then JSON
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  if (8 + length > bytes.length) return null;
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  } catch {
    return null;
  }
  const { __metadata__: texts = {}, ...places } = header;
  const arrays = Object.entries(places).map(([name, { dtype, data_offsets: [first, last] }]) => {
    if (dtype !== "F32" || !(first <= last) || 8 + length + last > bytes.length)
      throw new InvalidInput(`${name} is damaged or not of 32-bit numbers`);
    return [name, new Float32Array(bytes.slice(8 + length + first, 8 + length + last).buffer)];
  });
  return { texts, arrays: Object.fromEntries(arrays) };
}
