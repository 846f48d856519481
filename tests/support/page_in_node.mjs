// Answer questions of Python with the page's modules, as JSON: node page_in_node.mjs FOLDER < questions > answers
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const at = (name) => import(new URL(name, pathToFileURL(`${process.argv[2]}/`)));
const read = (name) => fs.readFileSync(`${process.argv[2]}/${name}`);

const texts = await at("texts.js");
texts.useTexts(JSON.parse(read("texts/en.json")));
const scene = await at("scene.js"), motion = await at("motion.js"), records = await at("record.js"), files = await at("ruleset_file.js");
const { Engine, InvalidInput } = await at("engine.js"), { GameLine } = await at("game.js"), { Book } = await at("book.js");
const proofs = await at("proof_walk.js"), proofFiles = await at("proof_file.js"), rules = await at("proof_rules.js");
const engine = await Engine.load(read("mancala.wasm"), JSON.parse(read("mancala.json")));

const ANSWERS = {
  scene({ dials, text, options }) {
    const game = gameOf(dials, text);
    const { shapes, width, height, title } = scene.describe(new scene.Layout(game.ruleset), game, options);
    return { shapes, width, height, title };
  },
  turn({ dials, text, action, maxLaps }) {
    const game = gameOf(dials, text), timeline = motion.timelineOf(game, action);
    const steps = motion.steps(game, timeline, 0.18, maxLaps);
    return {
      events: timeline.events.map(({ kind, player, hole, seeds, reason }) => [kind, player, hole, seeds, reason]),
      steps: steps.map(({ start, seconds, state, source, inHand, lap }) => [start, seconds, state.seeds, state.stores, state.owner, source, inHand, lap]),
      captions: steps.map((step) => motion.caption(game.ruleset, timeline, step)),
      ends: motion.endsOf(timeline),
      words: motion.inWords(game.ruleset, timeline),
      position: motion.positionInWords(game),
    };
  },
  record({ text }) {
    return records.writeRecord(records.readRecord(engine, text).line);
  },
  ruleset({ text, file }) {
    try {
      const ruleset = files.readRuleset(engine, text, file);
      return { dials: ruleset.dials, written: files.writeRuleset(ruleset) };
    } catch (error) {
      if (error instanceof InvalidInput) return { error: error.message };
      throw error;
    }
  },
  recordOrError({ text }) {
    try {
      return ANSWERS.record({ text });
    } catch (error) {
      if (error instanceof InvalidInput) return null;
      throw error;
    }
  },
  list({ text }) {
    return records.listGames(text).map((game) => [game.headers.South ?? "", records.readRecord(engine, game.text).line.turns.length]);
  },
  wrongRecord({ text, list }) {
    try {
      list ? records.listGames(text) : records.readRecord(engine, text);
      return null;
    } catch (error) {
      return error.message;
    }
  },
  book({ name, texts: positions }) {
    const book = new Book(engine.newGame(name), JSON.parse(read("books.json"))[name]);
    return positions.map((text) => [book.value(engine.fromText(text)), book.values(engine.fromText(text))]);
  },
  positions({ texts }) {
    return texts.map((text) => {
      try {
        return engine.fromText(text).text;
      } catch (error) {
        if (error instanceof InvalidInput) return null;
        throw error;
      }
    });
  },
  wrongPositions({ texts }) {
    return texts.map((text) => {
      try {
        engine.fromText(text);
        return null;
      } catch (error) {
        return error.message;
      }
    });
  },
  lineOfBook({ name, texts: positions }) {
    const book = new Book(engine.newGame(name), JSON.parse(read("books.json"))[name]);
    return positions.map((text) => book.action(engine.fromText(text)) ?? null);
  },
  async proof({ content }) {
    const bytes = Uint8Array.from(Buffer.from(content, "base64")).buffer;
    const found = await proofs.checkProof(bytes, { slice: Infinity });
    return { ...found, ...(found.wrong === undefined && { position: proofFiles.proofGame(engine, proofFiles.readProof(bytes)).text }) };
  },
  /** Turns of proofs: the numbers that turns.c prints. */
  proofTurns({ options, total, turns }) {
    return turns.map(({ player, cap, mover, stall, got, seeds, owners, hole }) => {
      const held = seeds.reduce((sum, level, at) => sum + (owners[at] === player ? level : 0), 0);
      const one = new rules.Accounts({ options, total }, { player, cap }), { size, stride } = one;
      one.begin({ seeds, owners: owners.map((owner) => "SN-"[owner]), stores: [got - held, got - held], mover, stall });
      one.play(0, stride, hole);
      const [cells, parts] = [[...one.rows.slice(stride, stride + size)], [...one.rows.slice(stride + size, 2 * stride)]];
      const isOver = parts[rules.IS_OVER], owned = cells.map((cell) => (cell >> 8 ? (cell >> 8) - 1 : 2));
      return [isOver, one.mover(stride), parts[rules.TURN] % 64, parts[rules.GOT], ...cells.map((cell) => cell & 255), ...owned, ...(isOver ? [] : one.legal(stride))];
    });
  },
  line({ text, rounds, actions }) {
    const line = new GameLine(engine.fromText(text), rounds ?? Infinity);
    actions.forEach((action) => line.play(action));
    return { text: line.game.text, margin: line.margin, isOver: line.isOver };
  },
};

function gameOf(dials, text) {
  return engine.fromText(text, engine.rulesets.find(({ name }) => name === dials.name) ?? engine.ownRuleset(dials));
}

const questions = JSON.parse(fs.readFileSync(0, "utf8"));
const found = [];
for (const [what, options] of questions) found.push(await ANSWERS[what](options));
process.stdout.write(JSON.stringify(found));
