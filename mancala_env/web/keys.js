/**
 * Keyboard shortcuts. Each key is a command of {@link KEYS}, the same in every view.
 *
 * Shortcuts are off in text fields and while Ctrl, Alt or Meta is held.
 */

/** Command of each key. Digits sow holes 1 to 9, 0 sows hole 10, - hole 11 and = hole 12. */
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
  a: "again",
  ",": "step_back",
  ".": "step_on",
  Escape: "skip",
  "?": "keys",
};

const SOWING = "1234567890-=";

/** Listen for keys on the page: call `does[command]()`, or `does.sow(action)` for a digit. */
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
