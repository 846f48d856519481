/** Writes the caption under the board: in one line if it fits, else in two smaller ones. */

import { measures as m } from "./measures.js";
import { shortened } from "./scene.js";

const SMALLER = 0.76;

/** Write a text into the caption's element.
 * @param {Element} line @param {string} text @param {{width: number, footer: number}} layout
 * @param {(name: string, attributes: object, parent: Element) => Element} element  Makes SVG elements.
 * @param {number} [taken]  Letters of the score beside the caption.
 */
export function writeCaption(line, text, layout, element, taken = 0) {
  const room = layout.width - 2 * m.margin - 36 - taken * m.word * m.letter;
  const isShort = text.length * m.line * m.letter <= room;
  const size = isShort ? m.line : m.line * SMALLER;
  line.setAttribute("font-size", String(size));
  line.setAttribute("y", String(layout.footer));
  if (isShort) {
    line.textContent = text;
    return;
  }
  const [first, second] = broken(text, Math.floor(room / (size * m.letter)));
  line.setAttribute("y", String(layout.footer - (second ? 10 : 0)));
  line.textContent = "";
  element("tspan", {}, line).textContent = second ? `${first} ` : first;
  if (second) element("tspan", { x: line.getAttribute("x"), dy: String(size * 1.1) }, line).textContent = shortened(second, room, size);
}

/** Break a text at the last space before `most` letters. */
function broken(text, most) {
  if (text.length <= most) return [text, ""];
  const at = text.lastIndexOf(" ", most);
  return at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, ""];
}
