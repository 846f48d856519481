// What unit tests of the page share: its modules in FOLDER, with the English texts, an engine, storages and waiting.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

/** The folder of the page. */
export const folder = pathToFileURL(`${process.env.FOLDER}/`);

/** Import a module of the page. */
export const at = (name) => import(new URL(name, folder));
/** The content of a file of the page. */
export const read = (name) => fs.readFileSync(new URL(name, folder));
export const readJson = (name) => JSON.parse(read(name));

const { useTexts } = await at("texts.js");
useTexts(readJson("texts/en.json"));
const { Engine } = await at("engine.js");
export const engine = await Engine.load(read("mancala.wasm"), readJson("mancala.json"));

/** Wait until what runs in the background has gone on. */
export const soon = (milliseconds = 5) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A storage of the browser, whose keys are its own properties. @param {() => boolean} [isFull] */
export const newStore = (isFull = () => false) => Object.create({
  getItem(key) { return this[key] ?? null; },
  setItem(key, value) {
    if (isFull()) throw new Error("full");
    this[key] = String(value);
  },
  removeItem(key) { delete this[key]; },
});
