/** A graph of a game's values: South's final lead at each turn, where it is known; bounds and estimates in grey where not. */

import { t } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 150, LEFT = 50, RIGHT = 10, TOP = 12, BOTTOM = 12;

/** Draw the final leads of a game's positions.
 * @param {HTMLElement} place @param {({lower: number, upper: number, estimate?: number} | null)[]} leads @param {number} at  The current turn.
 * @param {number} total  Number of seeds on the board and in the stores.
 */
export function drawGraph(place, leads, at, total) {
  const width = Math.max(240, place.clientWidth || 600);
  const exact = leads.filter((lead) => lead && lead.lower === lead.upper).map(({ lower }) => Math.abs(lower));
  const most = Math.min(total, Math.max(12, ...exact) + 2);
  const x = (n) => LEFT + ((width - LEFT - RIGHT) * n) / Math.max(1, leads.length - 1);
  const y = (lead) => TOP + ((HEIGHT - TOP - BOTTOM) * (most - Math.max(-most, Math.min(most, lead)))) / (2 * most);
  const svg = make("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "graph", role: "img", "aria-label": inWords(leads, at) });
  make("line", { x1: LEFT, x2: width - RIGHT, y1: y(0), y2: y(0), stroke: "var(--m-hole_edge)", "stroke-width": 1 }, svg);
  for (const [lead, side] of [[most, "south"], [-most, "north"]]) make("text", { x: 4, y: y(lead) + (side === "south" ? 4 : 2), fill: "currentColor" }, svg).textContent = `${t(`graph.${side}`, { lead: most })}`;
  for (const [n, lead] of leads.entries()) {
    if (!lead || lead.lower === lead.upper) continue;
    make("line", { x1: x(n), x2: x(n), y1: y(lead.lower), y2: y(lead.upper), stroke: "var(--m-hole)", "stroke-width": 4, "stroke-linecap": "round" }, svg);
    if (lead.estimate !== undefined) make("circle", { cx: x(n), cy: y(lead.estimate), r: 3, fill: "var(--m-faint)" }, svg);
  }
  let run = [];
  const finish = () => {
    if (run.length === 1 && leads.length >= 80) {
      const [cx, cy] = run[0].split(",");
      make("circle", { cx, cy, r: 2.6, fill: "var(--m-south)" }, svg);
    }
    if (run.length > 1) make("polyline", { points: run.join(" "), fill: "none", stroke: "var(--m-south)", "stroke-width": 2.5, "stroke-linejoin": "round" }, svg);
    run = [];
  };
  leads.forEach((lead, n) => (lead && lead.lower === lead.upper ? run.push(`${x(n).toFixed(1)},${y(lead.lower).toFixed(1)}`) : finish()));
  finish();
  leads.forEach((lead, n) => {
    if (lead && lead.lower === lead.upper && leads.length < 80) make("circle", { cx: x(n), cy: y(lead.lower), r: 2.6, fill: "var(--m-south)" }, svg);
  });
  make("line", { x1: x(at), x2: x(at), y1: TOP - 6, y2: HEIGHT - BOTTOM + 6, stroke: "var(--m-ink)", "stroke-width": 2, "stroke-dasharray": "4 3" }, svg);
  place.replaceChildren(svg);
}

function inWords(leads, at) {
  const lead = leads[at];
  if (!lead) return t("graph.open");
  return lead.lower === lead.upper ? t("graph.exact", { lead: lead.lower }) : t("graph.bounds", { lower: lead.lower, upper: lead.upper });
}

function make(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}
