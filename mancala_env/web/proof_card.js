/** The card "Proof" of Study: the proof of the position that is shown, from this page or from a file of the user, and its check. */

import { DOCS } from "./docs_link.js";
import { h } from "./dom.js";
import { proofGame, readProof } from "./proof_file.js";
import { playerName } from "./scene.js";
import { isAbort, Searches } from "./searches.js";
import { numberText, t } from "./texts.js";

const FOLDER = new URL("proofs/", import.meta.url);
const keyOf = (game) => `${game.ruleset.rules} ${game.text}`;
/** A number with at most one decimal place, and at least 0.1. */
const shortText = (number) => numberText(Math.max(0.1, Math.round(10 * number) / 10));

export class ProofCard {
  #opened = new Map(); // the user's files, by position: {name, bytes, size, total, counts}
  #shipped = null; // this page's files, in the same form with `file` in place of `name` and `bytes`
  #key = "";
  #offer = null; // the proof of the position that is shown
  #checking = null; // cancels the check
  #searches = null;

  constructor(app) {
    this.app = app;
    this.about = h("p", {});
    this.button = h("button", { type: "button", "data-does": "check_proof", onclick: () => (this.#checking ? this.stop() : this.check()) });
    this.result = h("p", { class: "verdict" });
    this.element = h("section", { class: "card", hidden: true }, h("h2", {}, t("proof.title")), this.about, h("div", { class: "row" }, this.button), this.result,
      h("p", { class: "docs" }, h("a", { href: `${DOCS}reference/proofs.html` }, t("proof.docs"))));
  }

  /** Offer the proof of a position, if there is one. */
  async show(game) {
    const key = keyOf(game);
    if (key === this.#key) return;
    this.stop();
    this.#key = key;
    this.#show(this.#opened.get(key));
    const shipped = await (this.#shipped ??= this.#list());
    if (this.#key === key && !this.#offer) this.#show(shipped.get(key));
  }

  /** Offer a file of the user for its position, which is shown, and check it.
   * @param {import("./engine.js").Game} game
   * @param {{name: string, bytes: ArrayBuffer, size: number, total: number, counts: number[]}} offer
   */
  take(game, offer) {
    this.stop();
    this.#key = keyOf(game);
    this.#opened.set(this.#key, offer);
    this.#show(offer);
    return this.check();
  }

  async #list() {
    const offers = new Map();
    try {
      const files = await (await fetch(new URL("list.json", FOLDER))).json();
      for (const { position, ...offer } of files) offers.set(keyOf(this.app.engine.fromText(position)), offer);
    } catch {
      this.#shipped = null; // without a connection; the next position asks again
    }
    return offers;
  }

  #show(offer = null) {
    this.#offer = offer;
    this.element.hidden = !offer;
    if (!offer) return;
    const { name, size } = offer;
    this.about.textContent = t(name ? "proof.opened" : "proof.shipped", { name, size: shortText(size / 1000), claim: claimText(offer) });
    this.#draw(offer.result ?? "");
  }

  #draw(text, isWorking = false) {
    this.result.textContent = text;
    this.button.textContent = t(isWorking ? "proof.stop" : "proof.check");
  }

  /** Check the proof that is offered in a worker, and show what it proves or what is wrong. */
  async check() {
    const offer = this.#offer, key = this.#key, { signal } = (this.#checking = new AbortController());
    const onProgress = ({ share, positions }) => this.#draw(t("proof.progress", { percent: Math.floor(100 * share), positions: numberText(positions) }), true);
    onProgress({ share: 0, positions: 0 });
    try {
      const bytes = offer.bytes ?? (await this.#load(offer.file));
      this.#searches ??= new Searches(); // a worker is started when it is first needed
      const found = await this.#searches.ask("proof", null, { bytes }, { signal, onProgress });
      if (signal.aborted) return;
      const isOther = found.wrong === undefined && keyOf(proofGame(this.app.engine, readProof(bytes))) !== key;
      offer.result = resultText(isOther ? { wrong: t("proof.other") } : found);
      this.#draw(offer.result);
      this.app.say(offer.result);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.#draw("");
      this.app.warn(error.message);
    }
    this.#checking = null;
  }

  async #load(file) {
    try {
      const response = await fetch(new URL(file, FOLDER));
      if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}`);
      return await response.arrayBuffer();
    } catch (error) {
      throw new Error(t("proof.not_loaded", { why: error.message }));
    }
  }

  /** Stop the check. */
  stop() {
    if (!this.#checking) return;
    this.#checking.abort();
    this.#checking = null;
    this.#draw("");
  }
}

/** What a check found: the claims of the file that was checked, or what is wrong with it. */
function resultText({ wrong, counts, total, positions, seconds }) {
  if (wrong !== undefined) return t("proof.invalid", { why: wrong });
  return t("proof.valid", { claim: claimText({ counts, total }), positions: numberText(positions), seconds: shortText(seconds) });
}

/** What a file claims: the final lead of best play, or the least seeds of each player. */
function claimText({ counts, total }) {
  const [south, north] = counts, leader = south > north ? 0 : 1;
  if (south + north < total) return [0, 1].filter((player) => counts[player]).map((player) => t("proof.least", { player: playerName(player), count: counts[player], total })).join(" ") || t("proof.nothing");
  return south === north ? t("proof.even") : t("proof.lead", { player: playerName(leader), lead: Math.abs(south - north), most: counts[leader], total });
}
