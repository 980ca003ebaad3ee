// One item of an answer: what it is, its text, why it is in, and what can be done with it.

import { call } from "./api.js";
import { button, element, replace } from "./dom.js";
import { linesOf, listing } from "./code.js";
import { placeLink } from "./editor.js";
import { markWords } from "./marking.js";
import { failures, present } from "./notice.js";
import { prose } from "./prose.js";
import { state } from "./state.js";
import { badge, icon, matchMeter, signalTable, standing } from "./why.js";
import { count, many, minute, score, short, strength } from "./words.js";

export const LANGUAGES = {
  py: "python",
  sh: "bash",
  rb: "ruby",
  rs: "rust",
  js: "javascript",
  ts: "typescript",
  md: "markdown",
};

/** A node of a graph as an item like any other: its place stands among its node's data. */
export function placed(item) {
  const place = item.metadata?.node?.location;
  if (item.location || !place) {
    return item;
  }
  const [start, end] = place.lines.split("-").map(Number);
  const ending = place.file.split(".").at(-1);
  const { freshness } = item.metadata.node;
  return {
    ...item,
    location: { path: place.file, start_line: start, end_line: end, spans: [[start, end]] },
    metadata: { ...item.metadata, language: LANGUAGES[ending] ?? ending, ...(freshness ? { freshness } : {}) },
  };
}

/** `src/a.py:10-20`, as a pin is written; the path alone where many ranges are shown. */
export function placeOf(row) {
  const place = row.location;
  if (!place?.path) {
    return "";
  }
  return place.start_line ? `${place.path}:${place.start_line}-${place.end_line}` : place.path;
}

/** The name that people know an item by. */
export function nameOf(row) {
  return row.location?.path && row.title !== row.location.path
    ? `${row.title} (${row.location.path})`
    : row.title || row.id;
}

/** An item as a card. `acts` are `pin`, `without` and `walk`, each called with the item. */
export function itemCard(item, rank, acts) {
  const title = item.title || item.id;
  const below = element("div", { class: "expanded" });
  return element(
    "article",
    {
      class: `card item kind-${item.source}`,
      id: `item-${rank}`,
      tabindex: "-1",
      "aria-label": `${rank}. ${title}`,
      data: { id: item.id, best: bestLine(item) },
    },
    head(item, rank, title, { changed: acts.changed?.get(item.id), level: acts.level }),
    body(item, title),
    facts(item),
    why(item),
    tools(item, below, acts),
    below,
  );
}

/** The first line of what matches best, for a long listing to begin there. */
function bestLine(item) {
  const shown = (item.metadata?.entities ?? []).filter(({ start_line: line }) =>
    item.location?.spans?.some(([first, last]) => first <= line && line <= last),
  );
  return shown.sort((one, other) => other.score - one.score)[0]?.start_line ?? "";
}

const CHANGED = { in: "new", more: "shows more", less: "shows less" };

function head(item, rank, title, { changed, level = "h4" }) {
  const place = item.location;
  return element(
    "header",
    { class: "card-head" },
    element("span", { class: "rank", "aria-hidden": "true" }, rank),
    element(
      level,
      { class: title === place?.path ? "path" : "" },
      place?.path ? placeLink(title, place.path, place.spans?.[0]?.[0] ?? place.start_line ?? 1) : title,
    ),
    badge(item.source, `kind kind-${item.source}`),
    item.detail === "full" ? null : badge("in part", "", "Less than all of it is shown; Expand shows the rest"),
    changed ? badge(CHANGED[changed], "changed", "Compared with the budget before") : null,
    element("span", { class: "tokens figure" }, many(item.tokens, "token")),
  );
}

const NAME_CHARACTERS = 100;

/** The names of what a range shows, as one text. */
function namesIn(item, [first, last]) {
  const entities = (item.metadata?.entities ?? []).filter((entity) =>
    entity.start_line <= last && entity.end_line >= first && entity.type !== "gap",
  );
  const inOrder = entities.sort((one, other) =>
    one.start_line - other.start_line,
  ).map((entity) => entity.qualified_name);
  const names = [...new Set(inOrder)].filter((name) => name !== item.location?.path);
  return short(names.join(", "), NAME_CHARACTERS);
}

function linked(item, lines, first) {
  return item.location?.path ? placeLink(lines, item.location.path, first, { class: "figure" }) : lines;
}

function ranges(item) {
  const spans = item.location?.spans ?? [];
  return element(
    "ul",
    { class: "ranges plain-list", "aria-label": "What is shown" },
    spans.map(([first, last]) =>
      element(
        "li",
        {},
        linked(item, linesOf(first, last), first),
        element("span", { class: "told" }, namesIn(item, [first, last])),
      ),
    ),
  );
}

function body(item, title) {
  const spans = item.location?.spans ?? [];
  if (item.content.trim() === title) {
    return null; // a memory of one line has its text in the title
  }
  if (!item.content) {
    return [ranges(item), element("p", { class: "told" }, "Only its place is shown.")];
  }
  if (item.source === "code") {
    const lines = item.content.split("\n").length;
    const isWhole = spans.reduce((sum, [first, last]) => sum + last - first + 1, 0) === lines;
    const code = listing(
      item.content,
      spans,
      item.metadata?.language ?? "",
      title,
      (span) => namesIn(item, span),
      (lines, first) => linked(item, lines, first),
    );
    return isWhole || !spans.length ? code : [ranges(item), code];
  }
  return spans.length ? [ranges(item), prose(item.content, title)] : prose(item.content, title);
}

function facts(item) {
  const known = item.metadata ?? {};
  const rows = [
    ["author", known.author],
    ["when", minute(known.created_at ?? (known.timestamp || ""))],
    [
      "files",
      known.files_changed?.length
        ? known.files_changed.map((file) => (typeof file === "string" ? file : file.path)).join(", ")
        : "",
    ],
    ["category", known.category],
    ["importance", known.importance],
    ["domain", known.domain],
    ["outcome", known.outcome_status],
    ["reliability", known.confidence_tier],
    [
      "same text at",
      (known.also_at ?? []).map((place) => `${place.path}:${place.start_line}-${place.end_line}`).join(", "),
    ],
  ].filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (!rows.length) {
    return null;
  }
  return element(
    "dl",
    { class: "facts" },
    rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, short(value, 160)))),
  );
}

function why(item) {
  return element(
    "details",
    { class: "why" },
    element(
      "summary",
      {},
      "Why it is here",
      element(
        "span",
        { class: "summary-figure", title: `relevance ${score(item.relevance)} of 1` },
        matchMeter(item.relevance),
        strength(item.relevance),
      ),
      standing(item),
    ),
    item.signals.length
      ? signalTable(item.signals, `Signals of ${item.title}`)
      : element("p", { class: "told" }, "You asked for it by name."),
    item.handle
      ? element("p", { class: "told" }, "In a terminal: ", element("code", {}, `satchel expand ${item.handle}`))
      : null,
  );
}

function tools(item, below, acts) {
  const title = item.title || item.id;
  const place = item.location?.path;
  return element(
    "footer",
    { class: "tools" },
    item.handle ? expandButton("Expand", item.handle, below, `Expand ${title}`) : null,
    (item.cuts ?? []).map((cut) =>
      expandButton(
        `${cut.name || "lines"} ${cut.start_line}–${cut.end_line}`,
        cut.handle,
        below,
        `${cut.name || "lines"} ${cut.start_line}–${cut.end_line}: show all of it`,
      ),
    ),
    acts.walk
      ? button(
        [icon("graph"), "Graph"],
        () => acts.walk(item),
        { class: "quiet", data: { act: "graph" }, "aria-label": `Graph around ${title}` },
      )
      : null,
    acts.pin && place
      ? button(
        [icon("pin"), "Pin"],
        () => acts.pin(item),
        { class: "quiet", data: { act: "pin" }, "aria-label": `Pin ${title}: always show it` },
      )
      : null,
    acts.without && place
      ? button(
        [icon("hide"), "Leave out"],
        () => acts.without(item),
        { class: "quiet", data: { act: "without" }, "aria-label": `Leave out ${title}` },
      )
      : null,
  );
}

function expandButton(label, handle, below, name) {
  const made = button([icon("expand"), label], () => toggle(made, handle, below), {
    class: "quiet",
    "aria-expanded": "false",
    "aria-label": name,
    data: { act: "expand", handle },
  });
  return made;
}

function toggle(made, handle, below) {
  const isOpen = made.getAttribute("aria-expanded") === "true";
  for (const other of made.parentElement.querySelectorAll("[aria-expanded]")) {
    other.setAttribute("aria-expanded", "false");
  }
  replace(below);
  if (!isOpen) {
    made.setAttribute("aria-expanded", "true");
    void open(handle, below);
  }
}

async function open(handle, below) {
  await present(
    below,
    "Getting the rest",
    () => call("expand", { handles: [handle] }),
    (answer) => [failures(answer.failures), answer.items.map(wholeOf)],
  );
  markWords(below.closest("#answer") ?? below, state().q);
}

function wholeOf(item) {
  const left = (item.cuts ?? []).length
    ? element("p", { class: "told" }, `${count(item.cuts.length)} parts are still cut: ask again with a larger budget.`)
    : null;
  return element(
    "section",
    { class: "whole", "aria-label": `All of ${item.title}` },
    element("h5", {}, item.title),
    body(item, item.title),
    left,
  );
}
