// Exact and regular searches: every matching line by file, and the files themselves.

import { call } from "./api.js";
import { button, byId, element } from "./dom.js";
import { keepDrafts, sentDraft, showText } from "./drafts.js";
import { fileView } from "./file.js";
import { empty, failures, present } from "./notice.js";
import { change, state } from "./state.js";
import { count, many, short } from "./words.js";

const LISTED = 400;
// Matching lines that are listed; a search for a letter has many thousands.

const LINE_CHARACTERS = 240;
const SIGNS = /[\\^$.|?*+()[\]{}]/g;

let asked = "";

/** The pattern that finds a text as it is written. */
export function exactly(text) {
  return text.replace(SIGNS, "\\$&");
}

/** Wire the form. */
export function wireFind() {
  byId("find-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sentDraft(byId("pattern"));
    sentDraft(byId("find-in"));
    change({ pattern: byId("pattern").value, within: byId("find-in").value.trim(), file: "", line: 0 });
  });
  byId("is-regex").addEventListener("change", (event) => change({ regex: event.target.checked }));
  keepDrafts(byId("pattern"));
  keepDrafts(byId("find-in"));
}

/** Show the matches or the file that the state names. */
export function showFind(now) {
  showText(byId("pattern"), now.pattern);
  showText(byId("find-in"), now.within);
  byId("is-regex").checked = now.regex;
  const key = JSON.stringify([now.pattern, now.regex, now.within, now.file, now.line]);
  if (key === asked) {
    return;
  }
  asked = key;
  const place = byId("found");
  if (now.file) {
    fileView(place, now);
  } else if (now.pattern) {
    void present(place, "Searching", () => matches(now), found);
  } else {
    void present(place, "", async () => null, () =>
      empty("Every line that matches.", "Write a text exactly as in the files, or a regular expression."),
    );
  }
}

function matches(now) {
  const pattern = now.regex ? now.pattern : exactly(now.pattern);
  return call("search", { pattern, ...(now.within ? { paths: [now.within] } : {}) });
}

function found(answer) {
  if (!answer.matches.length) {
    return [failures(answer.failures), empty("No line matches.", "Check upper and lower case, or leave the folder out.")];
  }
  const files = Map.groupBy(answer.matches.slice(0, LISTED), (row) => row.path);
  const hidden = answer.total - Math.min(answer.total, LISTED);
  return [
    failures(answer.failures),
    element(
      "p",
      { class: "told", role: "status" },
      `${many(answer.total, "line")} in ${many(answer.files, "file")}${hidden ? `; the first ${count(LISTED)} are listed` : ""}`,
    ),
    [...files].map(([path, rows]) => fileOf(path, rows)),
  ];
}

function fileOf(path, rows) {
  return element(
    "section",
    { class: "panel matches", "aria-label": path },
    element("h2", { class: "path" }, button(path, () => change({ file: path, line: 0 }), { class: "crumb" })),
    element("ul", { class: "plain-list" }, rows.sort((one, other) => one.line - other.line).map((row) => element("li", {}, lineOf(row)))),
  );
}

function lineOf(row) {
  return button(
    [
      element("span", { class: "number-cell figure" }, row.line),
      element("code", {}, parts(row.text.slice(0, LINE_CHARACTERS))),
      row.name ? element("span", { class: "told" }, short(row.name, 60)) : null,
    ],
    () => change({ file: row.path, line: row.line }),
    { class: "match", data: { line: row.line } },
  );
}

/** The text with what matches marked. An expression that only the server understands marks nothing. */
function parts(text) {
  const { pattern, regex } = state();
  let expression;
  try {
    expression = new RegExp(regex ? pattern : exactly(pattern), "gu");
  } catch {
    return text;
  }
  const made = [];
  let from = 0;
  for (const match of text.matchAll(expression)) {
    if (match[0]) {
      made.push(text.slice(from, match.index), element("mark", {}, match[0]));
      from = match.index + match[0].length;
    }
  }
  return [...made, text.slice(from)];
}
