/** node replay_in_node.mjs ENGINE_JS FOLDER REFERENCE: replay in node; FOLDER holds mancala.wasm and mancala.json. */
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { replay } from "./replay.mjs";

const [engineFile, folder, reference] = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(path.resolve(engineFile)).href);
const read = (name) => fs.readFileSync(path.join(folder, name));
const started = performance.now();
const module = new WebAssembly.Module(read("mancala.wasm"));
const compiled = performance.now() - started;
const imports = WebAssembly.Module.imports(module).length;
const engine = await Engine.load(module, JSON.parse(read("mancala.json")));
const found = replay(engine, JSON.parse(fs.readFileSync(reference)));
console.log(JSON.stringify({ ...found, compiled, imports }));
