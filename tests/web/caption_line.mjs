// The caption under the board, without a browser: FOLDER=mancala_env/web node --test caption_line.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeElement, useFakeDom } from "../support/fake_dom.mjs";
import { at } from "../support/page_modules.mjs";

useFakeDom();
const { writeCaption } = await at("caption_line.js");
const { measures: m } = await at("measures.js");

const PHONE = { width: 400, footer: 700 };
function element(name, attributes, parent) {
  const made = new FakeElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}
function written(text, taken) {
  const line = element("text", { x: "40", y: "1" }, new FakeElement("g"));
  writeCaption(line, text, PHONE, element, taken);
  return line;
}
const lines = (line) => line.all().map((part) => part.textContent.trim());

test("a caption that fits is one line at full size", () => {
  const line = written("South sows S10, lap 2 of 9");
  assert.deepEqual([line.textContent, lines(line), line.getAttribute("font-size"), line.getAttribute("y")], ["South sows S10, lap 2 of 9", [], String(m.line), "700"]);
});

test("a long caption has two lines, without a word lost", () => {
  const text = "The round is over: 50 turns changed nothing";
  const line = written(text), parts = lines(line);
  assert.equal(parts.length, 2);
  assert.equal(line.textContent, text);
  assert.equal(parts.join(" "), text);
  assert.ok(Number(line.getAttribute("y")) < 700);
  assert.equal(line.all()[1].getAttribute("x"), "40");
  for (const part of parts) assert.ok(part.length * Number(line.getAttribute("font-size")) * m.letter <= PHONE.width - 2 * m.margin - 36);
});

test("a caption leaves room for the score", () => {
  assert.equal(lines(written("South won 30-18 (stuck) now", 0)).length, 0);
  assert.notEqual(lines(written("South won 30-18 (stuck) now", 7)).length, 0);
  assert.match(written(`${"long ".repeat(40)}`, 7).textContent, /\.\.\.$/);
});
