// Elements, the board and value networks without a browser: FOLDER=mancala_env/web node --test parts.mjs
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { FakeElement, useFakeDom } from "../support/fake_dom.mjs";
import { at, engine, read } from "../support/page_modules.mjs";

useFakeDom();
const realTimeout = globalThis.setTimeout;
const soon = (milliseconds = 0) => new Promise((resolve) => realTimeout(resolve, milliseconds));

const texts = await at("texts.js");
const { t } = texts;
const { download, field, h, select } = await at("dom.js");
const { BoardView, draw } = await at("board.js");
const { describe, Layout, UprightLayout } = await at("scene.js");
const { steps, timelineOf } = await at("motion.js");
const { measures } = await at("measures.js");
const { networkOf, readNetwork } = await at("networks.js");
const LATE = "layli_goobalay 0,3,0,0,0,2/1,0,2,0,0,1 19-20 S";
const attributesOf = (element) => Object.fromEntries(element.attributes);

// Elements

test("an element has attributes, properties, listeners and children", () => {
  let clicks = 0;
  const child = h("b", {}, "bold");
  const made = h("input", { class: "big", disabled: true, hidden: false, title: null, alt: undefined, min: 0, value: 7, checked: false, htmlFor: "x", onclick: () => { clicks += 1; } },
    "text", 0, null, undefined, false, [child, ["deep"]].flat());
  assert.equal(made.name, "input");
  assert.deepEqual(attributesOf(made), { class: "big", disabled: "", min: "0" });
  assert.deepEqual([made.value, made.checked, made.htmlFor], [7, false, "x"]);
  assert.deepEqual(made.children, ["text", "0", child, "deep"]);
  made.click();
  assert.equal(clicks, 1);
  assert.deepEqual(attributesOf(h("p")), {});
});

test("a field labels its control, and each control has a name of its own", () => {
  const one = h("input"), other = Object.assign(h("input"), { id: "mine" }), third = h("input");
  const [first, second, last] = [field("One", one), field("Other", other), field("Third", third)];
  assert.equal(first.getAttribute("class"), "field");
  assert.equal(other.id, "mine");
  assert.match(one.id, /^field-\d+$/);
  assert.notEqual(one.id, third.id);
  for (const [made, control, words] of [[first, one, "One"], [second, other, "Other"], [last, third, "Third"]]) {
    assert.equal(made.children[0].getAttribute("for"), control.id);
    assert.equal(made.children[0].textContent, words);
    assert.equal(made.children[1], control);
  }
  assert.equal(first.children.length, 2);
});

test("a choice has its options, and says what was chosen", () => {
  const chosen = [];
  const made = select([["a", "One"], ["b", "Two"]], "b", (value) => chosen.push(value));
  assert.equal(made.value, "b");
  assert.deepEqual(made.children.map((option) => [option.value, option.textContent]), [["a", "One"], ["b", "Two"]]);
  made.value = "a";
  made.fire("change");
  assert.deepEqual(chosen, ["a"]);
  select([["a", "One"]], "a").fire("change"); // nobody listens
});

test("a download is clicked, taken from the page, and its text is released later", async () => {
  const clicked = [], released = [], waits = [];
  const { createObjectURL, revokeObjectURL } = URL;
  const blobs = [];
  URL.createObjectURL = (blob) => (blobs.push(blob), "blob:1");
  URL.revokeObjectURL = (url) => released.push(url);
  globalThis.setTimeout = (act, milliseconds) => waits.push({ act, milliseconds });
  document.body.append = function (link) {
    link.click = () => clicked.push(link);
    FakeElement.prototype.append.call(this, link);
  };
  try {
    download("game.txt", "text é");
  } finally {
    globalThis.setTimeout = realTimeout;
    delete document.body.append;
    Object.assign(URL, { createObjectURL, revokeObjectURL });
  }
  assert.equal(clicked.length, 1);
  assert.deepEqual(attributesOf(clicked[0]), { href: "blob:1", download: "game.txt" });
  assert.equal(await blobs[0].text(), "text é");
  assert.equal(blobs[0].type, "text/plain;charset=utf-8");
  assert.deepEqual(document.body.children, []);
  assert.deepEqual([released, waits.map((wait) => wait.milliseconds)], [[], [10_000]]);
  URL.revokeObjectURL = (url) => released.push(url);
  waits[0].act();
  URL.revokeObjectURL = revokeObjectURL;
  assert.deepEqual(released, ["blob:1"]);
});

// The board

test("each kind of shape is drawn with its numbers, colours and name", () => {
  const parent = new FakeElement("g");
  const paint = { fill: "board", stroke: "hole_edge", line: 1.55, name: "last" };
  const painted = { fill: "var(--m-board)", stroke: "var(--m-hole_edge)", "stroke-width": "1.6", "data-name": "last" };
  const disc = draw({ kind: "disc", x: 1.26, y: 2, r: 3.14, dashed: true, ...paint }, parent);
  assert.deepEqual([disc.name, attributesOf(disc)], ["circle", { cx: "1.3", cy: "2", r: "3.1", "stroke-dasharray": "5 4", ...painted }]);
  assert.equal(disc.space, "http://www.w3.org/2000/svg");
  const plain = draw({ kind: "disc", x: 1, y: 2, r: 3, fill: "", stroke: "", line: 2, dashed: false, name: "" }, parent);
  assert.deepEqual(attributesOf(plain), { cx: "1", cy: "2", r: "3", fill: "none" });
  const box = draw({ kind: "box", x: 1, y: 2, width: 3.33, height: 4, r: 5, ...paint }, parent);
  assert.deepEqual([box.name, attributesOf(box)], ["rect", { x: "1", y: "2", width: "3.3", height: "4", rx: "5", ...painted }]);
  const points = [[1, 2.22], [3, 4]];
  const [polygon, polyline] = [true, false].map((closed) => draw({ kind: "outline", points, closed, ...paint }, parent));
  assert.deepEqual([polygon.name, polyline.name], ["polygon", "polyline"]);
  assert.deepEqual(attributesOf(polygon), { points: "1,2.2 3,4", ...painted });
  const words = { kind: "words", x: 1, y: 2, text: "hello", size: 12.34, anchor: "start", fill: "ink", name: "" };
  const said = draw({ ...words, bold: true }, parent), thin = draw({ ...words, bold: false }, parent);
  const wanted = { x: "1", y: "2", "font-size": "12.3", "text-anchor": "start", fill: "var(--m-ink)" };
  assert.deepEqual([said.name, attributesOf(said), said.textContent], ["text", { ...wanted, "font-weight": "700" }, "hello"]);
  assert.deepEqual(attributesOf(thin), wanted);
  assert.deepEqual(parent.children, [disc, plain, box, polygon, polyline, said, thin]);
  draw({ ...words, bold: false }); // without a parent
});

/** A board in a room of a width: {view, place, room, pressed}. */
function board(width = 1200) {
  const room = new FakeElement("section"), place = new FakeElement("div"), pressed = [];
  room.clientWidth = width;
  room.append(place);
  const view = new BoardView(place, { onHole: (hole) => pressed.push(hole) });
  return { view, place, room, pressed, observer: ResizeObserver.all.at(-1), buttons: () => byHole(view) };
}
const byHole = (view) => [...view.holes.children].sort((a, b) => a.dataset.hole - b.dataset.hole);
const place = ([x, y]) => [String(Math.round(x * 10) / 10), String(Math.round(y * 10) / 10)];
const lying = (view) => view.seeds.children.map((circle) => [circle.getAttribute("cx"), circle.getAttribute("cy")].join()).sort();

/** Where the seeds of a position lie. */
function wantedSeeds(layout, { ruleset, seeds, stores }) {
  const holes = seeds.flatMap((number, hole) => Array.from({ length: number }, (_, n) => place(layout.seed(hole, n)).join()));
  const trays = stores.flatMap((number, player) => Array.from({ length: number }, (_, n) => place(layout.traySeed(player, n)).join()));
  assert.equal(ruleset.numHoles, seeds.length);
  return [...holes, ...trays].sort();
}

function assertShows(view, game, Kind = Layout) {
  const layout = new Kind(game.ruleset);
  assert.deepEqual(lying(view), wantedSeeds(layout, game));
  const heaps = [...game.seeds, ...game.stores];
  assert.deepEqual(view.numbers.children.map((number) => number.textContent), heaps.map(String));
  view.numbers.children.forEach((number, n) => {
    const isStore = n >= game.seeds.length;
    const [x, y] = place(isStore ? layout.trayNumber(n - game.seeds.length) : layout.number(n));
    assert.deepEqual([number.getAttribute("x"), number.getAttribute("y")], [x, y]);
    assert.equal(number.getAttribute("fill"), heaps[n] || isStore ? "var(--m-ink)" : "var(--m-faint)");
    assert.equal(number.getAttribute("data-name"), isStore ? `store-${n - game.seeds.length}` : `number-${n}`);
    assert.equal(number.getAttribute("font-size"), String(measures.count));
  });
  const scene = describe(layout, game, { withSeeds: false });
  assert.equal(view.base.children.length, scene.shapes.filter(({ name }) => !["last", "hand", "value", "arrow"].includes(name)).length);
}

test("a board shows every seed, number and button of a position", () => {
  const { view, place: element, buttons } = board();
  assert.equal(view.ruleset, undefined);
  assert.equal(view.isMoving, false);
  view.mark({ legal: [1] }); // nothing is shown so far
  const game = engine.fromText(LATE), layout = new Layout(game.ruleset);
  view.show(game, { legal: game.legal, values: { 1: 2 }, name: (hole) => (hole === 5 ? "the best" : "") });
  assert.equal(view.ruleset, game.ruleset);
  assertShows(view, game);
  assert.equal(view.svg.getAttribute("viewBox"), `0 0 ${layout.width} ${layout.height}`);
  assert.equal(element.classList.contains("board"), true);
  assert.equal(element.classList.contains("upright"), false);
  assert.deepEqual(Object.fromEntries(element.properties), { "--width": String(layout.width), "--height": String(layout.height) });
  assert.equal(element.style.aspectRatio, `${layout.width} / ${layout.height}`);
  assert.deepEqual(attributesOf(view.holes), { class: "holes", role: "group", "aria-label": t("board.label") });
  assert.deepEqual(view.holes.children.map((button) => button.dataset.hole), [11, 10, 9, 8, 7, 6, 0, 1, 2, 3, 4, 5]);
  assert.deepEqual(buttons().map((button) => button.tabIndex), [0, ...Array(11).fill(-1)]);
  const radius = measures.hole + 4;
  buttons().forEach((button, hole) => {
    const [x, y] = layout.hole(hole);
    assert.deepEqual([button.style.left, button.style.top, button.style.width, button.style.height],
      [x - radius, y - radius, 2 * radius, 2 * radius].map((length, n) => `${(100 * length) / (n % 2 ? layout.height : layout.width)}%`));
    assert.equal(button.classList.contains("legal"), game.legal.includes(hole));
    assert.equal(button.getAttribute("aria-disabled"), String(!game.legal.includes(hole)));
    assert.equal(button.type, "button");
  });
  const label = (hole) => buttons()[hole].getAttribute("aria-label");
  const seeds = (hole, number) => t("hole.seeds", { hole, seeds: t(number === 1 ? "seeds.one" : "seeds.many", { number }) });
  assert.equal(label(0), seeds("S1", 0));
  assert.equal(label(1), [seeds("S2", 3), t("hole.legal"), t("hole.value", { value: "+2" })].join(", "));
  assert.equal(label(5), [seeds("S6", 2), t("hole.legal"), "the best"].join(", "));
  assert.equal(label(6), seeds("N1", 1));
  view.mark({ values: { 1: t("play.hint_badge") } });
  assert.equal(label(1), [seeds("S2", 3), t("hole.legal"), t("play.hint_badge")].join(", "));
  view.mark({ legal: [1] }); // the other options stay
  assert.equal(label(5), [seeds("S6", 2), "the best"].join(", "));
  view.show(game);
  assert.equal(label(1), seeds("S2", 3));
  const owned = engine.fromText("leyla 0,7n,4,0,4,2/0,1,6,4,7n,7 6-0 N");
  view.show(owned);
  assertShows(view, owned);
  assert.ok(label(1).startsWith(`${seeds("S2", 7)}, `) && label(1).includes("North"));
  view.show(engine.fromText("leyla 0,7s,4,0,4,2/0,1,6,4,7s,7 6-0 N"));
  assert.ok(label(1).startsWith(`${seeds("S2", 7)}, `) && label(1).includes("South"));
});

test("a hole is pressed, and the arrow keys walk the board as it is drawn", () => {
  const { view, pressed, buttons } = board();
  view.show(engine.newGame("layli_goobalay"));
  buttons()[2].click();
  assert.deepEqual(pressed, [2]);
  assert.deepEqual(buttons().map((button, hole) => button.tabIndex === 0 && hole).filter(Number.isInteger), [2]);
  let kept = 0;
  const walk = (hole, key, more = {}) => {
    buttons()[hole].fire("keydown", { key, preventDefault: () => { kept += 1; }, stopPropagation: () => { kept += 100; }, ...more });
    return view.focused;
  };
  view.focus(2);
  assert.deepEqual([view.focused, buttons()[2].focusOptions], [2, { preventScroll: true }]);
  assert.equal(walk(2, "ArrowRight"), 3);
  assert.equal(walk(3, "ArrowLeft"), 2);
  assert.equal(walk(2, "ArrowUp"), 9);
  assert.equal(walk(9, "ArrowLeft"), 10);
  assert.equal(walk(10, "ArrowDown"), 1);
  assert.equal(kept, 505);
  assert.equal(walk(1, "ArrowDown"), 1); // the edge
  assert.equal(walk(0, "ArrowLeft"), 1);
  assert.equal(kept, 707);
  for (const more of [{ altKey: true }, { ctrlKey: true }, { metaKey: true }]) assert.equal(walk(1, "ArrowRight", more), 1);
  assert.equal(walk(1, "Enter"), 1);
  assert.equal(kept, 707); // left to the browser
  assert.equal(buttons()[1].tabIndex, 0);
  view.show(engine.newGame(engine.ownRuleset({ name: "narrow", row_width: 2 })));
  assert.equal(buttons().length, 4);
  assert.equal(buttons()[1].tabIndex, 0);
  view.focus(3);
  view.show(engine.newGame(engine.ownRuleset({ name: "narrower", row_width: 2, seeds_per_hole: 2 })));
  assert.equal(buttons()[3].tabIndex, 0); // the last hole is still there
  view.focus();
  assert.equal(view.focused, 3);
  document.activeElement = null;
  assert.equal(view.focused, -1);
});

test("a board that is too narrow is drawn upright, and keeps the focus", () => {
  const game = engine.newGame("leyla"), { width } = new Layout(game.ruleset);
  const { view, place: element, room, observer, buttons } = board(0.61 * width);
  assert.equal(observer.element, room);
  observer.changed(); // before anything is shown
  view.show(game);
  assert.equal(element.classList.contains("upright"), true);
  assertShows(view, game, UprightLayout);
  view.focus(4);
  room.clientWidth = 0.62 * width;
  observer.changed();
  assert.equal(element.classList.contains("upright"), false);
  assertShows(view, game);
  assert.deepEqual([view.focused, buttons()[4].tabIndex], [4, 0]);
  const before = buttons();
  room.clientWidth = width;
  observer.changed(); // still wide enough
  assert.deepEqual(buttons(), before);
  room.clientWidth = 0; // not on the screen
  observer.changed();
  assert.deepEqual(buttons(), before);
  document.activeElement = null;
  room.clientWidth = 100;
  observer.changed();
  assert.equal(element.classList.contains("upright"), true);
  assert.equal(view.focused, -1); // it is not taken
  const alone = new FakeElement("div");
  window.innerWidth = 100;
  new BoardView(alone).show(game); // without a parent, the window is the room
  assert.equal(ResizeObserver.all.at(-1).element, alone);
  assert.equal(alone.classList.contains("upright"), true);
  window.innerWidth = 1000;
});

/** Play a turn with timers that the test lets pass: {moving, tick, waits}. */
function animated(view, before, action, speed, isPressed) {
  const waits = [];
  // The rest of the pointer after a turn is not a wait of the animation.
  globalThis.setTimeout = (act, milliseconds) => (milliseconds === 400 ? realTimeout(act, milliseconds) : waits[waits.push({ act, milliseconds }) - 1]);
  globalThis.clearTimeout = (wait) => (waits.includes(wait) || wait.act ? (wait.isCleared = true) : realClear(wait));
  const after = before.after(action), moving = view.move(before, timelineOf(before, action), after, speed, isPressed);
  const tick = async () => {
    waits.at(-1).act();
    await soon();
  };
  return { moving, after, waits, tick };
}
const realClear = globalThis.clearTimeout;
const restore = () => Object.assign(globalThis, { setTimeout: realTimeout, clearTimeout: realClear });

test("a turn is animated step by step, and no seed is lost on the way", async () => {
  const { view } = board(), before = engine.newGame("layli_goobalay");
  const film = steps(before, timelineOf(before, 3), 0.1);
  const { moving, after, waits, tick } = animated(view, before, 3, [0.1, 1e6]);
  try {
    for (const [n, step] of film.entries()) {
      assert.equal(view.isMoving, true);
      assert.equal(waits.length, n + 1);
      assert.ok(Math.abs(waits.at(-1).milliseconds - 1000 * step.seconds) < 1e-6);
      assert.equal(view.seeds.children.length, 48);
      assert.deepEqual(view.numbers.children.map((number) => Number(number.textContent)), [...step.state.seeds, ...step.state.stores]);
      view.mark({ legal: [0] }); // not while a turn is shown
      const isInHand = step.source >= 0 || step.event.kind === "own";
      assert.equal(view.overlay.children.length > 0, isInHand, `${n} ${step.event.kind}`);
      const said = view.base.querySelector("[data-name=caption]").textContent;
      if (n === 1) assert.match(said, /South sows S4/);
      await tick();
    }
    await moving;
  } finally {
    restore();
  }
  assert.equal(view.isMoving, false);
  assertShows(view, after);
  const flown = view.seeds.children.flatMap(({ animations }) => animations);
  assert.ok(flown.length >= film.filter(({ event }) => event.kind === "drop").length);
  for (const { frames, options } of flown) {
    assert.equal(options.easing, "ease-in-out");
    assert.ok(film.some(({ seconds }) => Math.abs(options.duration - 950 * seconds) < 1e-6));
    assert.match(frames[0].transform, /^translate\(-?[\d.e-]+px, -?[\d.e-]+px\)$/);
    assert.equal(frames[1].transform, "none");
  }
});

test("the first seed of a hole that the user pressed falls at once", async () => {
  const { view } = board(), before = engine.newGame("layli_goobalay");
  const film = steps(before, timelineOf(before, 3), 0.1);
  const { waits } = animated(view, before, 3, [0.1, 1e6], true);
  restore();
  assert.equal(film[1].event.kind, "drop");
  assert.equal(view.seeds.children.flatMap(({ animations }) => animations).length, 1);
  assert.deepEqual(view.numbers.children.map((number) => Number(number.textContent)), [...film[1].state.seeds, ...film[1].state.stores]);
  assert.match(view.overlay.children.map(({ textContent }) => textContent).join(), /3 in hand/);
  assert.equal(waits.length, 1);
  assert.ok(Math.abs(waits[0].milliseconds - 100) < 1e-6);
});

test("a seed flies from where it lay", async () => {
  const { view } = board(), before = engine.fromText(LATE), layout = new Layout(before.ruleset);
  const { moving, waits, tick } = animated(view, before, 5, [0.1, 1e6]);
  try {
    const [seed] = view.seeds.children.slice(-1);
    while (!view.seeds.children.some(({ animations }) => animations.length)) await tick();
    const flying = view.seeds.children.at(-1), [{ frames }] = flying.animations;
    const [, dx, dy] = /translate\((.*)px, (.*)px\)/.exec(frames[0].transform).map(Number);
    const end = [Number(flying.getAttribute("cx")), Number(flying.getAttribute("cy"))];
    const from = [end[0] + dx, end[1] + dy];
    const near = [0, 1].map((n) => layout.seed(5, n)).some(([x, y]) => Math.abs(x - from[0]) < 0.2 && Math.abs(y - from[1]) < 0.2);
    assert.ok(near, `${from}`);
    assert.ok(seed);
    view.skip();
    assert.equal(waits.at(-1).isCleared, true);
    await moving;
  } finally {
    restore();
  }
});

test("the time of a turn is limited, and a click shows its end at once", async () => {
  const { view, place: element } = board(), before = engine.newGame("layli_goobalay");
  const film = steps(before, timelineOf(before, 3), 1);
  const most = film.at(-1).start / 4;
  let { moving, after, waits, tick } = animated(view, before, 3, [1, most]);
  try {
    assert.ok(Math.abs(waits[0].milliseconds - 250 * film[0].seconds) < 1e-6);
    await tick();
    const [{ listener, isCapturing }] = element.listeners.click;
    assert.equal(isCapturing, true); // before the hole that is clicked
    listener({ detail: 1 }); // the second click of a double click
    await soon();
    assert.equal(view.isMoving, true);
    listener({ detail: 0, stopPropagation() {} }); // a key
    await moving;
    assert.equal(waits.length, 2);
    assert.equal(element.classList.contains("resting"), true);
    assert.equal(view.isMoving, false);
    assertShows(view, after);
    // Without animation
    ({ moving, after, waits, tick } = animated(view, after, after.legal[0], [0, 10]));
    await moving;
    assert.equal(waits.length, 0);
    assertShows(view, after);
    // Another turn begins meanwhile: the first does not show its end.
    const first = animated(view, before, 3, [1, 1e6]);
    ({ moving, after, waits, tick } = animated(view, engine.newGame("leyla"), 0, [1, 1e6]));
    assert.equal(first.waits.at(-1).isCleared, true);
    await first.moving;
    assert.equal(view.ruleset.name, "leyla");
    assert.equal(view.isMoving, true);
    view.skip();
    await moving;
    assertShows(view, after);
  } finally {
    restore();
  }
  view.skip(); // nothing moves
});

// Files

let fetched = () => {};
globalThis.fetch = async (url) => {
  fetched(String(url));
  const content = fs.readFileSync(fileURLToPath(url));
  return { ok: true, json: async () => JSON.parse(content), arrayBuffer: async () => bytesOf(content) };
};

// Value networks

const bytesOf = (...parts) => {
  const all = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return all.buffer.slice(all.byteOffset, all.byteOffset + all.length);
};

/** A zip file. Local headers have an extra field of another length than the directory, which has comments. */
function zipOf(members, { isPacked = true, comment = "", size } = {}) {
  const locals = [], entries = [];
  let offset = 0;
  for (const [name, content] of Object.entries(members)) {
    const packed = isPacked ? deflateRawSync(content) : Buffer.from(content), method = isPacked ? 8 : 0;
    const local = Buffer.alloc(30), entry = Buffer.alloc(46);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(5, 28);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(size ?? content.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt16LE(3, 30);
    entry.writeUInt16LE(4, 32);
    entry.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(name), Buffer.from("extra"), packed);
    entries.push(entry, Buffer.from(name), Buffer.from("ext"), Buffer.from("note"));
    offset += 30 + name.length + 5 + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(members).length, 10);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(comment.length, 20);
  return bytesOf(...locals, ...entries, end, Buffer.from(comment));
}

/** A safetensors file. */
function tensorsOf(arrays, metadata) {
  let at = 0;
  const header = metadata ? { __metadata__: metadata } : {};
  for (const [name, content] of Object.entries(arrays)) header[name] = { dtype: "F32", shape: [content.length / 4], data_offsets: [at, (at += content.length)] };
  const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length), 0);
  return bytesOf(length, text, ...Object.values(arrays));
}

const numbers = (weights) => [...new Uint8Array(weights)];
const WEIGHTS = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]);
const IDENTITY = Buffer.from(JSON.stringify({ ruleset: { name: "leyla" } }));

test("a file of plain numbers is a network of a ruleset that it does not name", async () => {
  const found = await readNetwork(bytesOf(WEIGHTS));
  assert.deepEqual([numbers(found.weights), found.dials], [[...WEIGHTS], undefined]);
  assert.deepEqual(numbers((await readNetwork(bytesOf([1, 2, 3, 4]))).weights), [1, 2, 3, 4]);
  assert.equal(await readNetwork(bytesOf([])), null);
  assert.equal(await readNetwork(bytesOf([1, 2, 3, 4, 5])), null);
  const long = bytesOf([0x50, 0x4b, 3, 4], new Uint8Array(18)); // too short for a zip file
  assert.equal(await readNetwork(long), null);
});

test("a network is read from a checkpoint, packed or not", async () => {
  const other = { "policy.pth": Buffer.alloc(300, 7) };
  for (const isPacked of [true, false])
    for (const comment of ["", "a comment of the file"]) {
      const found = await readNetwork(zipOf({ ...other, "value_network.f32": WEIGHTS, "identity.json": IDENTITY }, { isPacked, comment }));
      assert.deepEqual([numbers(found.weights), found.dials], [[...WEIGHTS], { name: "leyla" }]);
      const nameless = await readNetwork(zipOf({ "value_network.f32": WEIGHTS, ...other }, { isPacked, comment }));
      assert.deepEqual([numbers(nameless.weights), nameless.dials], [[...WEIGHTS], undefined]);
      assert.equal(await readNetwork(zipOf(other, { isPacked, comment })), null);
    }
  const plain = await readNetwork(zipOf({ "value_network.f32": WEIGHTS, "identity.json": Buffer.from("{}") }));
  assert.equal(plain.dials, undefined);
  assert.deepEqual(numbers((await readNetwork(zipOf({ "value_network.f32": WEIGHTS }, { size: 50_000_000 }))).weights), [...WEIGHTS]);
  await assert.rejects(readNetwork(zipOf({ "value_network.f32": WEIGHTS }, { size: 50_000_001 })), /50 MB/);
});

test("the parts of a grown network are joined in their order", async () => {
  const parts = { bias: [9, 9, 9, 9], unit_weights: [7, 8, 7, 8], embeddings: [1, 2, 3, 4, 5, 6, 7, 8], unit_biases: [5, 6, 5, 6], more: [0, 0, 0, 0] };
  const arrays = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, Buffer.from(part)]));
  const joined = [...parts.embeddings, ...parts.unit_biases, ...parts.unit_weights, ...parts.bias];
  const named = await readNetwork(tensorsOf(arrays, { ruleset: JSON.stringify({ name: "gabata_i" }) }));
  assert.deepEqual([numbers(named.weights), named.dials], [joined, { name: "gabata_i" }]);
  for (const metadata of [undefined, {}]) assert.equal((await readNetwork(tensorsOf(arrays, metadata))).dials, undefined);
  const empty = tensorsOf(Object.fromEntries(Object.keys(parts).map((name) => [name, Buffer.alloc(0)])));
  assert.deepEqual(numbers((await readNetwork(empty)).weights), []); // the header fills the whole file
  const cut = await readNetwork(empty.slice(0, -1)); // the header is longer than the file
  assert.notEqual(cut?.weights.byteLength, 0);
  const { bias, ...less } = arrays;
  assert.equal(bias.length, 4);
  const lacking = await readNetwork(tensorsOf(less)); // not a network of safetensors: plain numbers or nothing
  assert.equal(lacking?.dials, undefined);
});

test("bundled networks are fetched once, and those of the user by their names", async () => {
  const asked = [];
  fetched = (url) => asked.push(url.split("/networks/")[1]);
  const leyla = engine.ruleset("leyla"), none = engine.ownRuleset({ name: "narrow", row_width: 4 });
  const network = await networkOf(engine, leyla, null);
  assert.equal(network.ruleset, leyla);
  assert.equal(await networkOf(engine, leyla, null), network);
  assert.deepEqual(asked, ["list.json", "leyla.f32"]);
  assert.equal(await networkOf(engine, none, null), undefined);
  assert.equal(await networkOf(engine, none, null), undefined);
  assert.deepEqual(asked.slice(2), ["list.json"]);
  const weights = bytesOf(read("networks/leyla.f32"));
  const mine = await networkOf(engine, leyla, { id: 1, weights });
  assert.notEqual(mine, network);
  assert.equal(await networkOf(engine, leyla, { id: 1, weights }), mine);
  assert.notEqual(await networkOf(engine, leyla, { id: 2, weights }), mine);
  const custom = (dials) => engine.ownRuleset({ name: "custom", title: "Custom", ...leyla.dials, ...dials });
  const [one, other] = await Promise.all([custom({ match: "single" }), custom({ match: "single", seeds_per_hole: 3 })].map((rules) => networkOf(engine, rules, { id: 3, weights })));
  assert.notEqual(one, other);
  assert.equal(asked.length, 3);
  fetched = () => { throw new TypeError("no network"); };
  await assert.rejects(networkOf(engine, engine.ruleset("gabata_i"), null), /network of gabata_i .*no network.*offline/);
  fetched = () => {};
  assert.ok(await networkOf(engine, engine.ruleset("gabata_i"), null));
});

// The client of the worker

test("tasks are sent to the worker, and their answers come back to who asked", async () => {
  const sent = [], workers = [];
  globalThis.Worker = class {
    listeners = {};
    constructor(url, options) {
      Object.assign(this, { url: String(url), options });
      workers.push(this);
    }
    addEventListener = (kind, listener) => { this.listeners[kind] = listener; };
    postMessage = (message) => sent.push(message);
    terminate = () => { this.isEnded = true; };
  };
  const { isAbort, Searches } = await at("searches.js");
  const searches = new Searches(), [worker] = workers, say = (data) => worker.listeners.message({ data });
  assert.ok(worker.url.endsWith("/worker.js") && worker.options.type === "module");
  const game = engine.fromText(LATE), told = [];
  const values = searches.ask("values", game, { milliseconds: 9 }, { onProgress: (found) => told.push(found) });
  const chosen = searches.ask("choose", game, { kind: "greedy" });
  assert.deepEqual(sent.map(({ id, ...rest }) => rest), [["values", { milliseconds: 9 }], ["choose", { kind: "greedy" }]].map(([task, options]) => ({ task, options, position: { dials: game.ruleset.dials, text: LATE } })));
  const [first, second] = sent.map(({ id }) => id);
  assert.notEqual(first, second);
  say({ id: first, progress: 1 });
  say({ id: second, progress: 0 }); // nobody listens
  say({ id: 99, result: "of nobody" });
  say({ id: first, result: "values" });
  say({ id: first, progress: 2 }); // too late
  assert.equal(await values, "values");
  assert.deepEqual(told, [1]);
  say({ id: second, error: "no engine" });
  await assert.rejects(chosen, (error) => error.message === "no engine" && !isAbort(error));
  const stop = new AbortController();
  const aborted = searches.ask("values", game, {}, { signal: stop.signal });
  stop.abort();
  await assert.rejects(aborted, isAbort);
  assert.deepEqual(sent.at(-1), { id: sent.at(-2).id, cancel: true });
  const number = sent.length;
  await assert.rejects(searches.ask("values", game, {}, { signal: stop.signal }), isAbort);
  assert.equal(sent.length, number); // not even asked
  const late = new AbortController(), done = searches.ask("values", null, {}, { signal: late.signal });
  assert.equal(sent.at(-1).position, null);
  say({ id: sent.at(-1).id, result: 7 });
  assert.equal(await done, 7);
  late.abort();
  assert.equal(sent.length, number + 1); // an answered task is not cancelled
  const lost = [searches.ask("values", game), searches.ask("values", game)];
  worker.listeners.error({ message: "out of memory" });
  for (const one of lost) await assert.rejects(one, /out of memory/);
  assert.deepEqual([workers.length, worker.isEnded], [1, true]);
  const again = searches.ask("values", game); // a new worker: the server may be back
  assert.equal(workers.length, 2);
  workers[1].listeners.error({});
  await assert.rejects(again, (error) => error.message.length > 10);
  const once = searches.ask("values", game);
  workers[2].listeners.message({ data: { id: sent.at(-1).id, result: 8 } });
  assert.equal(await once, 8);
  searches.close();
  assert.equal(workers[2].isEnded, true);
});

// Ruleset files

test("the form of a ruleset opens a ruleset file, shows its rule options and saves them", async () => {
  const { rulesetFields } = await at("rulesets.js");
  const warned = [], saved = [], { createObjectURL, revokeObjectURL } = URL;
  const form = rulesetFields({ engine, warn: (text) => warned.push(text) }, "play");
  const one = (name, holds) => form.element.all().find((each) => each.name === name && holds(each));
  const file = one("input", (each) => each.getAttribute("type") === "file");
  const open = async (name, text) => {
    file.files = [{ name, arrayBuffer: async () => new TextEncoder().encode(text).buffer }];
    file.fire("change");
    await soon();
  };
  let changes = 0;
  form.element.addEventListener("change", () => { changes += 1; });
  file.value = "mine.yaml";
  await open("mine.yaml", "like: leyla\nrow_width: 5\ntitle: Mine\n");
  assert.deepEqual([changes, warned], [1, [""]]); // as if the user had chosen the rules
  assert.equal(file.value, ""); // so that the same file can be opened again
  const { dials } = form.read();
  assert.deepEqual([dials.name, dials.title, dials.row_width, dials.landing], ["mine", "Mine", 5, "pair"]);
  assert.ok(one("input", (each) => each.getAttribute("type") === "number" && each.value === 5));
  await open("wrong.yaml", "row_width: 55");
  assert.match(warned.at(-1), /wrong\.yaml.*55/);
  assert.equal(form.read().rowWidth, 5);
  URL.createObjectURL = (blob) => (saved.push(blob), "blob:1");
  URL.revokeObjectURL = () => {};
  globalThis.setTimeout = () => {};
  document.body.append = (link) => { saved.push(link.getAttribute("download")); };
  try {
    one("button", (each) => each.textContent === t("ruleset.save")).click();
  } finally {
    globalThis.setTimeout = realTimeout;
    delete document.body.append;
    Object.assign(URL, { createObjectURL, revokeObjectURL });
  }
  assert.equal(saved[1], "mine.json");
  assert.equal(JSON.parse(await saved[0].text()).row_width, 5);
  form.set(engine.ruleset("leyla"));
  assert.equal(form.read(), engine.ruleset("leyla"));
});

test("a ruleset file on the page opens its start position in Study", async () => {
  const { takeFile } = await at("files.js"), went = [], said = [];
  const app = { engine, go: (view, given) => went.push([view, given.line.game.text]), say: (text) => said.push(text) };
  const text = '{"name": "mine", "row_width": 3, "seeds_per_hole": 2, "title": "Mine"}';
  await takeFile(app, { name: "mine.json", size: text.length, arrayBuffer: async () => new TextEncoder().encode(text).buffer });
  assert.deepEqual(went, [["study", "mine 2,2,2/2,2,2 0-0 S"]]);
  assert.match(said[0], /Mine/);
});

test("an upright board is centred, and its marks lie in the space of their holes", () => {
  for (const ruleset of engine.rulesets) {
    const layout = new UprightLayout(ruleset), { board } = layout;
    assert.equal(2 * board.x + board.width, layout.width);
    for (let hole = 0; hole < ruleset.numHoles; hole++) {
      const [[south], [upper, lower]] = [0, 1].map((sower) => layout.strip(hole, sower));
      assert.deepEqual([upper.y, lower.y + lower.height, upper.height, upper.x], [south.y, south.y + south.height, lower.height, south.x]);
      assert.equal(lower.y - upper.y - upper.height, 8); // the gap between North's two bars
      const [x, y] = layout.hole(hole), [atX, atY] = layout.value(hole);
      assert.deepEqual([x - atX, y - atY].map((away) => away * layout.outward(hole)), [measures.hole + 2, 31]);
    }
  }
});
