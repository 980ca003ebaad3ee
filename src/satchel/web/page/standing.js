// Why something that somebody misses is not in: its rank, its signals, and what would let it in.

import { call } from "./api.js";
import { button, element } from "./dom.js";
import { keepDrafts, showText } from "./drafts.js";
import { present } from "./notice.js";
import { icon, signalTable } from "./why.js";
import { count, score, short, strength } from "./words.js";

/** A field that asks how something stands for the question; `given` are the arguments of the question. */
export function standingForm(given, admit) {
  const field = element(
    "input",
    { type: "search", id: "missed", spellcheck: "false", placeholder: "a path, a name or an id" },
  );
  showText(field, "");
  keepDrafts(field);
  const found = element("div", { class: "standings" });
  const asking = element(
    "form",
    { class: "standing-form", on: { submit: (event) => asked(event, field, found, given, admit) } },
    element("label", { class: "label", for: "missed" }, "Why is this missing?"),
    element(
      "div",
      { class: "standing-row" },
      field,
      element("button", { type: "submit", class: "quiet", data: { act: "why" } }, "Why?"),
    ),
  );
  return [asking, found];
}

function asked(event, field, found, given, admit) {
  event.preventDefault();
  const target = field.value.trim();
  if (!target) {
    field.focus();
    return;
  }
  const { question, max_tokens, types, exclude, purpose } = given;
  void present(
    found,
    "Looking",
    () => call("why", { target, question, max_tokens, types, exclude, purpose }),
    (answer) => element("ul", { class: "left-out plain-list" }, answer.standings.map((row) => rowOf(row, admit))),
  );
}

function rowOf(row, admit) {
  const lines = row.shown.map(([start, end]) => `${start}–${end}`).join(", ");
  const told = row.is_shown ? `It is shown${lines ? `: lines ${lines}` : "."}` : `Not shown, ${row.reason}: ${row.detail}`;
  const place = row.rank
    ? `Rank ${count(row.rank)} of ${count(row.of)}, ${strength(row.relevance)} (${score(row.relevance)}).`
    : "It does not match.";
  return element(
    "li",
    { class: `kind-${row.source}`, data: { id: row.id } },
    element(
      "div",
      { class: "left-out-text" },
      element("span", {}, short(row.id, 90)),
      element("span", { class: "told" }, told),
      element("span", { class: "told" }, place),
      row.signals.length
        ? element("details", {}, element("summary", {}, "Signals"), signalTable(row.signals, `Signals of ${row.id}`))
        : null,
    ),
    row.is_shown
      ? null
      : button(
        [icon("expand"), "Show it"],
        () => admit({ ...row, title: row.id, location: row.path ? { path: row.path } : null }),
        { class: "quiet", "aria-label": `Show it: ${row.id}`, data: { act: "admit" } },
      ),
  );
}
