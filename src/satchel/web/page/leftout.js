// The best of what stayed out: why, and what lets it in.

import { button, element } from "./dom.js";
import { placeLink } from "./editor.js";
import { nameOf, placeOf } from "./item.js";
import { inline } from "./prose.js";
import { badge, icon, matchMeter } from "./why.js";
import { count, many, reason, score, short, strength } from "./words.js";

const SHOWN = 8;
const MORE = 40;

/** A list of omissions, the most relevant first. `admit` is called with the one that shall come in. */
export function leftOut(overflow, admit) {
  if (!overflow.length) {
    return element("p", { class: "told" }, "Nothing that matches was left out.");
  }
  const ordered = [...overflow].sort((one, other) =>
    other.relevance - one.relevance || one.budget - other.budget || (one.id < other.id ? -1 : 1),
  );
  const rest = ordered.slice(SHOWN, MORE);
  const hidden = ordered.length - MORE;
  return element(
    "div",
    {},
    element("ul", { class: "left-out plain-list" }, ordered.slice(0, SHOWN).map((row) => rowOf(row, admit))),
    rest.length
      ? element(
        "details",
        {},
        element("summary", {}, `${count(rest.length)} more`),
        element("ul", { class: "left-out plain-list" }, rest.map((row) => rowOf(row, admit))),
      )
      : null,
    hidden > 0
      ? element(
        "p",
        { class: "told" },
        inline(`${many(hidden, "weaker one")} not listed: \`satchel search\` shows all.`),
      )
      : null,
  );
}

function rowOf(row, admit) {
  const name = nameOf(row);
  return element(
    "li",
    { class: `kind-${row.source}`, data: { id: row.id } },
    element(
      "div",
      { class: "left-out-text" },
      element("span", {}, short(row.title || row.id, 90)),
      row.location ? placeLink(short(placeOf(row), 90), row.location.path, row.location.start_line, { class: "told path" }) : null,
      element("span", { class: "told" }, `${reason(row.reason)}${cost(row)}`),
      element(
        "span",
        { class: "left-out-facts" },
        badge(row.source, `kind kind-${row.source}`),
        matchMeter(row.relevance),
        element("span", { class: "told", title: `relevance ${score(row.relevance)}` }, strength(row.relevance)),
      ),
    ),
    button([icon("expand"), "Show it"], () => admit(row), {
      class: "quiet",
      "aria-label": `Show it: ${name}`,
      title: placeOf(row) ? `Always show ${placeOf(row)}` : "Raise the budget until it fits",
      data: { act: "admit" },
    }),
  );
}

function cost(row) {
  if (!row.budget) {
    return "";
  }
  return `; about ${count(row.budget)} tokens would show it`;
}
