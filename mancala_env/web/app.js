/** The page around the views Play, Study, Puzzles and Learn: header, settings, messages, and the choice of the view. */

import { addressOf, readAddress } from "./address.js";
import { field, h, kept, select } from "./dom.js";
import { Engine } from "./engine.js";
import { KEYS, listen } from "./keys.js";
import { LearnView } from "./learn.js";
import { PlayView } from "./play.js";
import { PuzzlesView } from "./puzzles.js";
import { Served } from "./served.js";
import { lineOf } from "./share.js";
import { useSounds } from "./sounds.js";
import { StudyView } from "./study.js";
import { LANGUAGES, loadTexts, t } from "./texts.js";
import { Toasts } from "./toasts.js";

/** Seconds that a seed takes to fall, and most seconds that the animation of a turn takes. */
const SPEEDS = { off: [0, 0], slow: [0.3, 40], normal: [0.1, 10], fast: [0.05, 6] };
const VIEWS = { play: PlayView, study: StudyView, puzzles: PuzzlesView, learn: LearnView };

class App {
  /** The user's settings, saved in this browser. */
  settings = { theme: "auto", speed: null, keys: true, sounds: false, engines: false, language: null, ...kept.read("settings", {}) };
  /** Value networks that the user opened, by the key of the rules: {id, weights}. */
  networks = new Map();
  #views = {};
  #shown = null;
  #written = []; // times at which the address was changed
  #later = 0;
  /** The address as the page last read or wrote it. */
  #hash = "";

  /** The client of `mancala serve`; null on any other server. @type {Served | null} */
  served = null;

  constructor(engine, languages, served) {
    this.engine = engine;
    this.languages = languages;
    this.served = served;
    this.live = h("p", { class: "unseen", "aria-live": "polite", role: "status" });
    this.toasts = new Toasts();
    ({ notice: this.notice, news: this.news } = this.toasts);
    this.main = h("main", { id: "main", tabindex: "-1" });
    this.links = Object.fromEntries(Object.keys(VIEWS).map((view) => [view, h("a", { href: `#${view}` }, t(`nav.${view}`))]));
    document.title = t("app.title");
    document.getElementById("app").append(
      h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); this.main.focus(); } }, t("app.skip")),
      h("header", {},
        h("a", { class: "name", href: "#play", "aria-label": t("app.name") }, h("img", { src: "icon.svg", alt: "", width: 34, height: 34 }), h("span", {}, t("app.name"))),
        h("nav", { "aria-label": t("nav.label") }, Object.values(this.links)),
        h("button", { class: "quiet", type: "button", onclick: () => this.#settingsDialog() }, t("settings.open")),
        h("button", { class: "quiet wide-only", type: "button", onclick: () => this.showKeys() }, t("keys.open"))),
      this.main,
      h("footer", {}, h("p", {}, `${t("app.about")} ${t(served ? "app.served" : "app.private")}`)),
      this.toasts.element,
      this.live,
    );
    if (served) served.onReturn = () => this.tell(t("served.back"));
    // Load Study now: without a service worker, its modules cannot be loaded after the server has stopped.
    if (served && !navigator.serviceWorker) this.#views.study = new StudyView(this);
    this.#applySettings();
    addEventListener("hashchange", () => {
      kept.carry();
      this.#follow();
    });
    matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", () => this.#follow());
    listen(() => (this.settings.keys ? { keys: () => this.showKeys(), ...this.#views[this.#shown]?.commands } : {}));
    this.#acceptFiles();
    this.#follow();
  }

  /** Seconds that a seed takes to fall, and most seconds of a turn's animation. */
  get speed() {
    const isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    return SPEEDS[this.settings.speed] ?? SPEEDS[isReduced ? "off" : "normal"];
  }

  set(name, value) {
    Object.assign(this.settings, kept.read("settings", {}), { [name]: value }); // another tab may have changed others
    kept.write("settings", this.settings);
    this.#applySettings();
  }

  /** Announce a text to screen readers. */
  say(text) {
    // Screen readers repeat the same words only if the text changes.
    this.live.textContent = this.live.textContent === text ? `${text}\u00a0` : text;
  }

  /** Show and announce an error; "" removes it. */
  warn(text) {
    this.toasts.warn(text);
  }

  /** Show a notice that is not an error, and announce it if `isSaid`. `options` are those of {@link Toasts#tell}. */
  tell(text, isSaid = true, options = {}) {
    this.toasts.tell(text, options);
    if (isSaid) this.say(text);
  }

  /** Ask the server as {@link Served.ask} does. If it fails, show a notice and call `own` instead.
   * @param {() => Promise<any>} own
   * @param {{label: string, agent: string} | null} instead  The server's agent (label) and the agent that replaces it.
   */
  askServer(task, game, options, listening, own, instead = null) {
    const ownNow = (why, isNew) => {
      this.tell(instead ? t("served.agent", { why, ...instead }) : t("served.values", { why }), isNew);
      return own();
    };
    if (this.served) return this.served.askOr(ownNow, task, game, options, listening);
    this.tell(t("served.absent", instead));
    return own();
  }

  /** The ruleset of the view that is shown. */
  get shownRuleset() {
    return this.#views[this.#shown]?.line?.ruleset;
  }

  /** A copy of the game that is being played; null if no turn has been played. */
  get playedLine() {
    const line = this.#views.play?.line;
    return line?.turns.length ? line.copy() : null;
  }

  /** Write the position of a view into the address. */
  address(view, game) {
    const isOwn = !this.engine.rulesets.includes(game.ruleset);
    this.#write(addressOf(view, game, isOwn));
  }

  addressText(text) {
    this.#write(`#${text}`);
  }

  /** Change the address, at most 150 times in ten seconds (browsers allow about 200). A later change is delayed, not lost. */
  #write(fragment) {
    clearTimeout(this.#later);
    if (location.hash !== this.#hash) return; // the user has just changed it, and hashchange follows
    const now = performance.now();
    this.#written = this.#written.filter((when) => when > now - 10_000);
    if (this.#written.length >= 150) {
      this.#later = setTimeout(() => this.#write(fragment), 300);
    } else if (location.hash !== fragment) {
      this.#written.push(now);
      history.replaceState(history.state, "", fragment);
      this.#hash = location.hash;
    }
  }

  /** Change to a view and pass it what to show: a game line or a position. The browser's Back returns to the view before. */
  go(view, given) {
    if (this.#shown && this.#shown !== view) {
      clearTimeout(this.#later);
      history.pushState(history.state, "", `#${view}`);
      this.#hash = location.hash;
    }
    this.#show(view, given);
  }

  #show(view, given) {
    this.#views[this.#shown]?.leave?.();
    this.#shown = view;
    this.warn("");
    this.#views[view] ??= new VIEWS[view](this);
    for (const [name, link] of Object.entries(this.links)) {
      if (name === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.main.replaceChildren(this.#views[view].root);
    this.#views[view].enter(given);
  }

  /** Show what the address names. */
  #follow() {
    clearTimeout(this.#later);
    this.#hash = location.hash;
    const address = readAddress(location.hash), { view, rest } = address;
    const name = Object.hasOwn(VIEWS, view) ? view : "play";
    if (name === "learn" || name === "puzzles") return this.#show(name, { at: rest });
    if (!rest) return this.#show(name, {});
    try {
      const line = lineOf(this.engine, address);
      this.#show(name, line.turns.length ? { line } : { game: line.start });
    } catch (error) {
      this.#show(name, {});
      this.warn(t("error.address", { why: error.message }));
    }
  }

  #applySettings() {
    const { theme, sounds } = this.settings;
    useSounds(sounds);
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }

  /** Accept files that are dropped onto the page. */
  #acceptFiles() {
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      const [file] = event.dataTransfer?.files ?? [];
      if (file) this.take(file);
    });
  }

  /** Open a file: show a game record in Study, or use a value network in searches. @param {File} file */
  async take(file) {
    this.warn("");
    try {
      const { takeFile } = await import("./files.js");
      await takeFile(this, file);
    } catch (error) {
      this.warn(t("error.file", { file: file.name, why: error.message }));
    }
  }

  /** Show the list of keyboard shortcuts. */
  showKeys() {
    const rows = [["1 2 3 ...", "sow"], ["\u2190 \u2191 \u2192 \u2193", "walk"], ["Enter", "press"]];
    for (const [key, command] of Object.entries(KEYS)) if (key !== "Backspace") rows.push([key === "Escape" ? "Esc" : key, command]);
    this.#dialog(t("keys.title"),
      h("table", { class: "keys" }, h("tbody", {}, rows.map(([key, command]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, t(`keys.${command}`)))))),
      h("p", {}, t("keys.note")));
  }

  #settingsDialog() {
    const { settings } = this;
    const choice = (name, values) => field(t(`settings.${name}`), select(values.map((value) => [value, t(`settings.${name}.${value}`)]), settings[name] ?? values[0], (value) => this.set(name, value)));
    const check = (name) => {
      const box = h("input", { type: "checkbox", checked: settings[name], onchange: () => this.set(name, box.checked) });
      return h("label", { class: "check" }, box, t(`settings.${name}`));
    };
    const speed = select(Object.keys(SPEEDS).map((value) => [value, t(`settings.speed.${value}`)]), settings.speed ?? (this.speed[0] ? "normal" : "off"), (value) => this.set("speed", value));
    const language = select(this.languages.map((name) => [name, LANGUAGES[name]]), document.documentElement.lang, (name) => {
      this.set("language", name);
      location.reload();
    });
    this.#dialog(t("settings.title"),
      field(t("settings.speed"), speed),
      choice("theme", ["auto", "light", "dark"]),
      this.languages.length > 1 && field(t("settings.language"), language),
      check("keys"), check("sounds"));
  }

  #dialog(title, ...content) {
    const close = h("button", { type: "button", class: "main" }, t("dialog.close"));
    const id = `dialog-${Date.now()}`;
    const dialog = h("dialog", { "aria-labelledby": id }, h("h2", { id, tabindex: "-1", autofocus: true }, title), content, h("div", { class: "row end" }, close));
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("keydown", (event) => event.stopPropagation());
    document.body.append(dialog);
    dialog.showModal();
  }
}

async function start() {
  if (!globalThis.WebAssembly) throw new Error("it needs WebAssembly, which this browser lacks or blocks");
  const wanted = kept.read("settings", {}).language ?? navigator.language.split("-")[0];
  const [engine, { language, languages }, served] = await Promise.all([Engine.fetch(), loadTexts(wanted), Served.find()]);
  document.documentElement.lang = language;
  new App(engine, languages, served);
  document.documentElement.dataset.ready = "";
  try {
    if ("serviceWorker" in navigator && window.isSecureContext) navigator.serviceWorker.register("offline.js").catch(() => {});
  } catch {
    // A browser that blocks storage also blocks service workers.
  }
}

start().catch((error) => {
  document.getElementById("app").textContent = `This page could not start: ${error.message}`;
});
