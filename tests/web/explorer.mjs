// The opening explorer of Study without a browser: FOLDER=mancala_env/web node --test explorer.mjs
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { useFakeDom } from "../support/fake_dom.mjs";
import { at, engine, readJson, soon } from "../support/page_modules.mjs";


useFakeDom();
globalThis.localStorage = globalThis.sessionStorage = { getItem: () => null, setItem() {}, removeItem() {} };
const { t } = await at("texts.js");
const { Book } = await at("book.js");
const { Explorer } = await at("explorer.js");
const { GameLine } = await at("game.js");
const { boundsOf } = await at("values.js");
const book = new Book(engine.newGame("leyla"), readJson("books.json").leyla);

/** What Study knows of positions, with the book in place of a worker. */
class Analysis {
  known = new Map();
  of(game) {
    if (!this.known.has(game.text)) this.known.set(game.text, {});
    return this.known.get(game.text);
  }
  bounds(game) {
    return boundsOf(this.of(game));
  }
  async lookUp(game) {
    const known = this.of(game);
    if (known.book) return false;
    known.book = { values: book.values(game), line: [] };
    return true;
  }
}

let analysis, line, explorer, went;
beforeEach(() => {
  document.activeElement = document.body;
  [analysis, went] = [new Analysis(), []];
  line = new GameLine(engine.newGame("leyla"));
  explorer = new Explorer({ analysis, follow: (...given) => went.push(given), restart: () => went.push("restart") });
  explorer.element.open = true;
});

const moves = () => explorer.tree.all().filter((one) => one.name === "button");
const textsOf = (buttons) => buttons.map((button) => button.textContent);
const depth = () => explorer.tree.all().filter((one) => one.name === "ul").length;

test("the first moves have the values of the book", async () => {
  await analysis.lookUp(line.game);
  explorer.show(line);
  const values = book.values(line.game);
  assert.deepEqual(moves().map((button) => Number(button.children[1].textContent)), line.game.legal.map((action) => values[action]));
  const most = Math.max(...Object.values(values));
  const best = explorer.tree.all().filter((one) => one.name === "li" && one.getAttribute("class") === "best").length;
  assert.equal(best, Object.values(values).filter((value) => value === most).length);
  assert.equal(explorer.source.textContent, t("explorer.book"));
  assert.deepEqual([explorer.back.disabled, explorer.toStart.disabled], [true, true]);
});

test("a move leads deeper, and the played one back", async () => {
  explorer.show(line);
  moves()[2].click();
  assert.deepEqual(went, [[0, 2]]);
  line.play(2);
  await analysis.lookUp(line.game);
  explorer.show(line);
  await soon(); // the book is asked for the position before
  assert.equal(depth(), 2);
  const open = moves().filter((button) => button.getAttribute("aria-expanded") === "true");
  assert.equal(open.length, 1);
  assert.ok(open[0].textContent.startsWith("S3"));
  assert.ok(textsOf(moves()).every((text) => /[-+]?\d+$/.test(text)), textsOf(moves()));
  open[0].click();
  explorer.back.click();
  explorer.toStart.click();
  assert.deepEqual(went.slice(1), [[0, null], [0, null], "restart"]);
});

test("only the last levels are shown, and each is named by the turns before it", () => {
  for (let n = 0; n < 7; n++) line.play(line.game.legal[0]);
  explorer.show(line);
  assert.equal(depth(), 4);
  const [first] = explorer.tree.all().filter((one) => one.name === "ul");
  assert.ok(first.getAttribute("aria-label").endsWith(line.turns.slice(0, 4).map(({ player, action }) => `${"SN"[player]}${action + 1}`).join(" ")));
});

test("outside the book, bounds of the solver are shown", () => {
  analysis.of(line.game).exact = { actions: Object.fromEntries(line.game.legal.map((action) => [action, { lower: -2, upper: 4 }])) };
  explorer.show(line);
  assert.ok(moves().every((button) => button.textContent.endsWith(t("study.between", { lower: "-2", upper: "+4" }))));
  assert.equal(explorer.source.textContent, t("explorer.solver"));
});

test("nothing is drawn while it is closed, or while a mistake is retried", () => {
  explorer.element.open = false;
  explorer.show(line);
  assert.equal(moves().length, 0);
  explorer.element.open = true;
  explorer.show(line, true);
  assert.deepEqual([moves().length, explorer.source.textContent], [0, t("study.hidden")]);
  explorer.show(line);
  assert.equal(moves().length, 6);
  assert.ok(moves()[0].textContent.endsWith("\u2026"));
});
