// The card "Proof" of Study and proof files without a browser: FOLDER=mancala_env/web node --test proofs.mjs
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { useFakeDom } from "../support/fake_dom.mjs";
import { at, engine, read, readJson, soon } from "../support/page_modules.mjs";

useFakeDom();
const { t } = await at("texts.js");
const { checkProof } = await at("proof_walk.js");
const { ProofCard } = await at("proof_card.js");
const { takeFile } = await at("files.js");
const LIST = readJson("proofs/list.json"), SMALL = "proofs/ludii_leyla_gobale_somaliland.proof";
const bytesOf = (content) => Uint8Array.from(content).buffer;
const start = engine.newGame("ludii_leyla_gobale_somaliland"), other = start.after(start.legal[0]);

let workers = [], fetched, files;
globalThis.Worker = class {
  asked = [];
  constructor() { workers.push(this); }
  addEventListener(kind, listener) { if (kind === "message") this.hear = listener; }
  postMessage(message) { this.asked.push(message); }
  answer(message) { this.hear({ data: { id: this.asked.findLast(({ task }) => task).id, ...message } }); }
};
globalThis.fetch = async (url) => {
  const name = String(url).replace(/.*\/web\//, "");
  fetched.push(name);
  if (!files(name)) return { ok: false, status: 404, statusText: "Not Found" };
  const content = files(name);
  return { ok: true, json: async () => JSON.parse(content), arrayBuffer: async () => bytesOf(content) };
};

let app, card;
beforeEach(() => {
  [workers, fetched, files] = [[], [], read];
  app = { engine, said: [], warned: [], say: (text) => app.said.push(text), warn: (text) => app.warned.push(text) };
  card = new ProofCard(app);
});
const shown = () => [card.element.hidden, card.button.textContent, card.result.textContent];
const claim = (player, most, total) => t("proof.lead", { player, most, lead: 2 * most - total, total });
/** Let the worker of the card check what it was asked. */
const work = async () => workers[0].answer({ result: await checkProof(workers[0].asked.at(-1).options.bytes) });

test("a position with a proof offers it, and others do not", async () => {
  await card.show(other);
  assert.equal(card.element.hidden, true);
  for (const { position, counts, size, total } of LIST) {
    await card.show(engine.fromText(position));
    assert.equal(card.element.hidden, false, position);
    const most = Math.max(...counts);
    const said = 2 * most > total ? claim(counts[0] === most ? "South" : "North", most, total) : t("proof.even");
    assert.equal(card.about.textContent, t("proof.shipped", { claim: said, size: String(Math.round(size / 100) / 10) }));
  }
  const own = engine.ownRuleset({ ...engine.ruleset("leyla").dials, row_width: 5 });
  await card.show(engine.newGame(own));
  assert.equal(card.element.hidden, true);
  assert.deepEqual([fetched, workers.length], [["proofs/list.json"], 0]); // nothing else is loaded until it is asked for
});

test("the check says what is proved", async () => {
  await card.show(start);
  assert.deepEqual(shown(), [false, t("proof.check"), ""]);
  card.button.click();
  await soon();
  assert.deepEqual(shown(), [false, t("proof.stop"), t("proof.progress", { percent: 0, positions: "0" })]);
  workers[0].answer({ progress: { share: 0.426, positions: 1234 } });
  assert.equal(card.result.textContent, t("proof.progress", { percent: 42, positions: "1,234" }));
  assert.deepEqual(fetched, ["proofs/list.json", SMALL]);
  await work();
  await soon();
  const said = card.result.textContent;
  assert.ok(said.startsWith("The proof is valid. With best play, North gets 36 of 48 seeds and leads by 24. "), said);
  assert.match(said, / 3,277 positions in [0-9.]+ s/);
  assert.deepEqual([app.said, app.warned, card.button.textContent], [[said], [], t("proof.check")]);
  await card.show(other);
  assert.equal(card.element.hidden, true);
  await card.show(start);
  assert.deepEqual(shown(), [false, t("proof.check"), said]);
});

test("a check is stopped by its button and by another position", async () => {
  await card.show(start);
  for (const stop of [() => card.button.click(), () => card.show(other), () => card.stop()]) {
    await card.show(start);
    card.button.click();
    await soon();
    stop();
    await soon();
    assert.deepEqual([workers[0].asked.at(-1).cancel, card.button.textContent, card.result.textContent], [true, t("proof.check"), ""]);
    workers[0].answer({ result: { counts: [12, 36], total: 48, positions: 1, seconds: 1 } }); // too late
    await soon();
  }
  assert.deepEqual([app.said, app.warned, card.result.textContent, workers.length], [[], [], "", 1]);
});

test("a damaged file is refused, and so is the file of another position", async () => {
  const content = read(SMALL), letter = content.indexOf("\n\n") + 40;
  files = (name) => (name === SMALL ? content.map((byte, n) => (n === letter ? 97 + ((byte - 96) % 6) : byte)) : read(name));
  await card.show(start);
  card.button.click();
  await soon();
  await work();
  await soon();
  assert.match(card.result.textContent, /^The proof is not valid: it does not show that South gets 12 seeds, because .+\.$/);
  files = () => read("proofs/leyla.proof");
  card.button.click();
  await soon();
  workers[0].answer({ result: { counts: [16, 32], total: 48, positions: 1, seconds: 1 } });
  await soon();
  assert.equal(card.result.textContent, t("proof.invalid", { why: t("proof.other") }));
  files = (name) => name.endsWith("list.json") && read(name);
  card.button.click();
  await soon();
  assert.deepEqual([app.warned.length, card.button.textContent], [1, t("proof.check")]);
  assert.match(app.warned[0], /could not be loaded.*404/);
});

test("without a connection nothing is offered, and the next position asks again", async () => {
  files = () => null;
  await card.show(start);
  assert.equal(card.element.hidden, true);
  files = read;
  await card.show(other);
  await card.show(start);
  assert.equal(card.element.hidden, false);
});

test("a proof file opens its position in Study, where it is checked", async () => {
  const went = [], content = read(SMALL);
  app.go = (view, given) => went.push([view, given]);
  const fileOf = (name, bytes) => ({ name, size: bytes.length, arrayBuffer: async () => bytesOf(bytes) });
  await takeFile(app, fileOf("mine.txt", content));
  const [[view, { line, proof }]] = went;
  assert.deepEqual([view, line.game.text, line.ruleset], ["study", start.text, start.ruleset]);
  card.show(line.game);
  card.take(line.game, proof);
  await soon();
  assert.equal(card.about.textContent, t("proof.opened", { claim: claim("North", 36, 48), name: "mine.txt", size: "1.4" }));
  await work();
  await soon();
  assert.match(card.result.textContent, /^The proof is valid\./);
  assert.deepEqual(fetched, ["proofs/list.json"]);
  const own = Buffer.from(content.toString().replace("seeds_per_hole 4", "seeds_per_hole 3"));
  await takeFile(app, fileOf("own.proof", own));
  const given = went[1][1];
  assert.deepEqual([given.line.ruleset.name, given.line.ruleset.totalSeeds], ["custom", 36]);
  await assert.rejects(takeFile(app, fileOf("a.proof", Buffer.from("[Ruleset"))), /line 1/);
  await assert.rejects(takeFile(app, fileOf("a", content.subarray(0, 100))), /line 5/);
});
