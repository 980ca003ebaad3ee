// Where the tokens went: a bar by section, and a treemap by item.

import { byId, element, sized } from "./dom.js";
import { nameOf, placed } from "./item.js";
import { squarified } from "./treemap.js";
import { count, percent, short } from "./words.js";

const BOX = { width: 160, height: 100 };
const LABELLED_WIDTH = 14;
const LABELLED_HEIGHT = 9;
// Percent of the box: a smaller tile has no room for a word; its name is in its label all the same.

/**
 * An answer whose items add up to no more than what it used: the tokens of an item are an estimate, those of the whole
 * text are counted. `areEstimates` says whether they had to be scaled.
 */
export function measured(answer) {
  const whole = answer.items.map(placed);
  const told = whole.reduce((total, item) => total + item.tokens, 0);
  const { used } = answer.usage;
  if (told <= used) {
    return { ...answer, items: whole, areEstimates: false };
  }
  const items = whole.map((item) => ({ ...item, tokens: Math.floor((item.tokens * used) / told) }));
  return { ...answer, items, areEstimates: true };
}

/** The sections of an answer in their order: [{name, kind, tokens, items}]. */
export function sections(items) {
  const found = new Map();
  items.forEach((item, index) => {
    const name = item.section || heading(item.source);
    const known = found.get(name) ?? { name, kind: item.source, tokens: 0, items: [] };
    known.tokens += item.tokens;
    known.items.push({ item, rank: index + 1 });
    found.set(name, known);
  });
  return [...found.values()];
}

const HEADINGS = { memory: "Memories", code: "Code" };

function heading(source) {
  return HEADINGS[source] ?? `${source[0].toUpperCase()}${source.slice(1)}s`;
}

/** The budget as one bar: sections, frame, and what is free. */
export function budgetBar(answer) {
  const { limit, used } = answer.usage;
  const whole = Math.max(limit, used, 1);
  const parts = sections(answer.items).map((section) => ({ ...section, section: section.items[0].rank }));
  const framed = Math.max(0, used - parts.reduce((total, part) => total + part.tokens, 0));
  const free = Math.max(0, limit - used);
  const rows = [
    ...parts,
    { name: "Headings and labels", kind: "frame", tokens: framed },
    { name: "Not used", kind: "free", tokens: free },
  ].filter((part) => part.tokens > 0);
  return element(
    "div",
    { class: "budget-bar-box" },
    element(
      "div",
      { class: "budget-bar", role: "group", "aria-label": "Tokens by section" },
      rows.map((part) => segment(part, whole)),
    ),
    element("ul", { class: "legend plain-list" }, rows.map((part) => legendRow(part, whole))),
    answer.areEstimates ? element("p", { class: "told" }, "The sum is counted, its parts are estimates.") : null,
  );
}

function segment(part, whole) {
  const label = `${part.name}: ${count(part.tokens)} tokens, ${percent(part.tokens / whole)} of the budget`;
  const properties = { class: `segment kind-${part.kind}`, title: label, "aria-label": label };
  const made = part.section
    ? element("button", { type: "button", ...properties, on: { click: () => goTo(part.section) } })
    : element("span", { ...properties, role: "img", tabindex: "0" });
  return sized(made, { "flex-grow": String(part.tokens) });
}

function legendRow(part, whole) {
  return element(
    "li",
    {},
    element("span", { class: `swatch kind-${part.kind}`, "aria-hidden": "true" }),
    element("span", {}, part.name),
    element("span", { class: "figure" }, count(part.tokens)),
    element("span", { class: "figure told" }, percent(part.tokens / whole)),
  );
}

/** One tile an item, as large as what it costs. */
export function treemap(answer) {
  const rows = answer.items
    .map((item, index) => ({ item, rank: index + 1 }))
    .filter(({ item }) => item.tokens > 0)
    .sort((one, other) => other.item.tokens - one.item.tokens || one.rank - other.rank);
  if (!rows.length) {
    return null;
  }
  const places = squarified(rows.map(({ item }) => item.tokens), BOX.width, BOX.height);
  return element(
    "div",
    { class: "treemap", role: "group", "aria-label": "Tokens by item" },
    rows.map((row, index) => tile(row, places[index])),
  );
}

function tile({ item, rank }, place) {
  const share = (value, whole) => (value / whole) * 100;
  const width = share(place.width, BOX.width);
  const height = share(place.height, BOX.height);
  const isNamed = width > LABELLED_WIDTH && height > LABELLED_HEIGHT;
  const label = `${nameOf(item)}: ${count(item.tokens)} tokens`;
  const made = element(
    "button",
    {
      type: "button",
      class: `tile kind-${item.source}`,
      title: label,
      "aria-label": isNamed ? null : label,
      on: { click: () => goTo(rank) },
    },
    isNamed
      ? [
        element("span", { class: "tile-name" }, short(fileName(item), 40)),
        " ",
        element("span", { class: "figure" }, count(item.tokens)),
      ]
      : null,
  );
  return sized(made, {
    "inset-inline-start": `${share(place.left, BOX.width)}%`,
    "inset-block-start": `${share(place.top, BOX.height)}%`,
    "inline-size": `${width}%`,
    "block-size": `${height}%`,
  });
}

function fileName(item) {
  return item.location?.path?.split("/").at(-1) ?? item.title;
}

/** Show an item and put the focus on it. */
export function goTo(rank) {
  const card = byId(`item-${rank}`);
  if (card === null) {
    return;
  }
  card.scrollIntoView({ block: "start", behavior: isStill() ? "auto" : "smooth" });
  card.focus({ preventScroll: true });
}

function isStill() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
