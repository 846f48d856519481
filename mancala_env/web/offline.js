/** A service worker that lets the page work offline after the first visit. Files from the network take precedence over the cache. */

const CACHE = "mancala";
const FILES = [
  "./", "address.js", "advice.js", "agents.js", "api/about", "app.js", "board.js", "book.js", "books.json",
  "caption_line.js", "coach.js", "coach_card.js", "docs_link.js", "dom.js", "engine.js", "engine/game_state.js",
  "engine/input.js", "engine/kernels.js", "engine/mcts.js", "engine/minimax.js", "engine/position_text.js",
  "engine/ruleset.js", "engine/search.js", "engine/solver.js", "engine/timeline.js", "engine/value_network.js",
  "explorer.js", "files.js", "film.js", "game.js", "game_analysis.js", "graph.js", "icon-192.png", "icon-512.png",
  "icon-maskable-512.png", "icon.svg", "index.html", "keys.js", "learn.js", "left_game.js", "lessons.json",
  "mancala.json", "mancala.wasm", "manifest.webmanifest", "measures.js", "motion.js", "networks.js",
  "networks/list.json", "new_game_form.js", "palette.css", "place.js", "play.js", "play_layout.js", "play_status.js",
  "playback.js", "proof_card.js", "proof_file.js", "proof_rules.js", "proof_walk.js", "proofs/list.json",
  "proofs/gabata_3.proof", "proofs/gabata_five_holes.proof", "proofs/layli_goobalay.proof", "proofs/leyla.proof",
  "proofs/leyla_gobale_ii.proof", "proofs/ludii_gabata_five_holes.proof", "proofs/ludii_gabata_i.proof",
  "proofs/ludii_leyla.proof", "proofs/ludii_leyla_gobale_somaliland.proof", "puzzle_proof.js", "puzzle_set.js",
  "puzzles.js", "record.js", "record_row.js", "report.js", "report_card.js", "ruleset_file.js", "rulesets.js",
  "saved_games.js", "scene.js", "searches.js", "served.js", "set_up.js", "share.js", "sounds.js", "start_cards.js",
  "study.js", "style.css", "texts.js", "texts/am.json", "texts/en.json", "texts/so.json", "toasts.js", "turn_words.js",
  "turns_list.js", "values.js", "values_table.js", "worker.js",
];

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith(answer(request));
});

async function answer(request) {
  const cache = await caches.open(CACHE).catch(() => null); // null if the browser blocks storage
  try {
    const response = await fetch(request);
    if (response.ok) cache?.put(request, response.clone()).catch(() => {}); // the storage may be full
    return response;
  } catch (error) {
    const kept = await cache?.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw error;
  }
}
