/**
 * The keyboard. Every view understands the same keys; each is one command of {@link KEYS}.
 *
 * Keys count while nothing is typed into: not in fields, and not with Ctrl, Alt or Meta held.
 */

/** Command by key. The digits and the two keys right of them sow: 1 to 9, 0 for 10, - for 11, = for 12. */
export const KEYS = {
  t: "last_turn",
  l: "legal",
  v: "values",
  p: "position",
  u: "take_back",
  Backspace: "take_back",
  h: "hint",
  n: "new_game",
  g: "go_on",
  r: "resign",
  "[": "earlier",
  "]": "later",
  "{": "first",
  "}": "last",
  b: "board",
  Escape: "skip",
  "?": "keys",
};

const SOWING = "1234567890-=";

/** Listen on the page: `does[command]()` is called, and `does.sow(action)` for digits. */
export function listen(commands) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    const does = commands();
    const action = SOWING.indexOf(event.key);
    if (action >= 0 && does.sow) does.sow(action);
    else if (event.key.startsWith("Arrow") && does.board && !event.target.closest("[data-keeps-arrows]")) does.board();
    else if (does[KEYS[event.key]]) does[KEYS[event.key]]();
    else return;
    event.preventDefault();
  });
}

function isTyping(target) {
  if (target.isContentEditable || target.tagName === "TEXTAREA" || target.tagName === "SELECT") return true;
  return target.tagName === "INPUT" && !["checkbox", "radio", "button"].includes(target.type);
}
