/**
 * Value networks for the searches. Bundled ones are in `networks/` (NAME.f32, listed in list.json). A user may open others:
 * a file of `mancala grow-value`, an old checkpoint that holds a value network, or a file of plain numbers.
 */

const MEMBER = "value_network.f32";
const PARTS = ["embeddings", "unit_biases", "unit_weights", "bias"];
const known = new Map();

/** The rules as text: custom rules share a name. @param {import("./engine.js").Ruleset} ruleset */
export const keyOfRules = ({ name, dials }) => JSON.stringify([name, dials]);

/** The network for a ruleset, loaded into the engine; undefined if no network fits.
 * @param {import("./engine.js").Engine} engine @param {import("./engine.js").Ruleset} ruleset
 * @param {{id: number, weights: ArrayBuffer} | null} file  A file that the user opened; null for the bundled network.
 */
export async function networkOf(engine, ruleset, file) {
  const key = `${keyOfRules(ruleset)} ${file?.id ?? ""}`;
  if (!known.has(key)) {
    const weights = file?.weights ?? (await bundled(ruleset.name));
    known.set(key, weights ? engine.valueNetwork(weights, ruleset) : undefined);
  }
  return known.get(key);
}

async function bundled(name) {
  const folder = new URL("networks/", import.meta.url);
  try {
    const names = await (await fetch(new URL("list.json", folder))).json();
    return names.includes(name) ? await (await fetch(new URL(`${name}.f32`, folder))).arrayBuffer() : null;
  } catch (error) {
    throw new Error(`the value network of ${name} could not be loaded: ${error.message}. It works offline once it has been loaded`);
  }
}

/** Read a value network from a file. `dials` are the ruleset it was made for, with its name; they and the version are undefined
 * if the file does not state them.
 * @param {ArrayBuffer} bytes
 * @returns {Promise<{weights: ArrayBuffer, dials?: Record<string, any>, version?: number} | null>}  null if the file is not a value network.
 */
export async function readNetwork(bytes) {
  const tensors = safetensors(bytes);
  if (tensors) return tensors;
  const isZip = new DataView(bytes).byteLength > 22 && new DataView(bytes).getUint32(0, true) === 0x04034b50;
  if (!isZip) return bytes.byteLength % 4 === 0 && bytes.byteLength > 0 ? { weights: bytes } : null;
  const members = zipMembers(bytes);
  if (!members.has(MEMBER)) return null;
  const weights = await unpacked(bytes, members.get(MEMBER));
  const identity = members.has("identity.json") ? JSON.parse(new TextDecoder().decode(await unpacked(bytes, members.get("identity.json")))) : {};
  return { weights, dials: identity.ruleset };
}

/** A value network of `mancala grow-value`: a safetensors file. Returns its numbers in the order of PARTS. */
function safetensors(bytes) {
  const length = bytes.byteLength > 8 ? Number(new DataView(bytes).getBigUint64(0, true)) : 0;
  if (length < 2 || length > bytes.byteLength - 8 || new Uint8Array(bytes)[8] !== 0x7b) return null;
  const { __metadata__: said, ...arrays } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, length)));
  const parts = PARTS.map((name) => arrays[name] && bytes.slice(...arrays[name].data_offsets.map((at) => 8 + length + at)));
  if (parts.some((part) => !part)) return null;
  const weights = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    weights.set(new Uint8Array(part), at);
    at += part.byteLength;
  }
  const stated = (name) => (said?.[name] ? JSON.parse(said[name]) : undefined);
  return { weights: weights.buffer, dials: stated("ruleset"), version: stated("network")?.version };
}

/** The members of a zip file by name, read from the directory at its end. */
function zipMembers(bytes) {
  const view = new DataView(bytes);
  let end = bytes.byteLength - 22;
  while (end > 0 && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (view.getUint32(end, true) !== 0x06054b50) throw new Error("this zip file is damaged");
  const members = new Map();
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0 && view.getUint32(at, true) === 0x02014b50; left--) {
    const length = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(new Uint8Array(bytes, at + 46, length));
    members.set(name, { method: view.getUint16(at + 10, true), packed: view.getUint32(at + 20, true), size: view.getUint32(at + 24, true), at: view.getUint32(at + 42, true) });
    at += 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return members;
}

async function unpacked(bytes, { method, packed, size, at }) {
  const view = new DataView(bytes);
  const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  const content = bytes.slice(start, start + packed);
  if (method === 0) return content;
  if (size > 50_000_000) throw new Error("a member of this zip file is larger than 50 MB");
  return new Response(new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer();
}
