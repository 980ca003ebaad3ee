// One file: its lines, the commits that changed it, and where a name in it is used.

import { call } from "./api.js";
import { listing } from "./code.js";
import { button, byId, element } from "./dom.js";
import { placeLink } from "./editor.js";
import { LANGUAGES } from "./item.js";
import { failures, present } from "./notice.js";
import { knowledge } from "./options.js";
import { change } from "./state.js";
import { count, minute, short } from "./words.js";

const PROSE = /\.(?:adoc|markdown|mdx?|rst|txt)$/i;
const MAX_TOKENS = 32000;
const COMMITS = 12;

/** Show the file that the state names. */
export function fileView(place, { file, line, pattern }) {
  const wanted = () => Promise.all([whole(file), call("history", { path: file, limit: COMMITS })]);
  void present(place, "Opening the file", wanted, ([answer, history]) => [
    failures(answer.failures),
    head(file, line, pattern),
    element("div", { class: "file-columns" }, lines(answer, file), element("aside", { class: "side" }, uses(), commits(file, history))),
  ]).then(() => reach(line));
}

/** A file is of the first kind that has it, beginning with the likeliest. */
async function whole(path) {
  let refused;
  const kinds = knowledge().file_kinds;
  for (const kind of PROSE.test(path) ? [...kinds.filter((name) => name !== "code"), "code"] : kinds) {
    try {
      return await call("document", { id: `${kind}:${path}`, max_tokens: MAX_TOKENS });
    } catch (error) {
      if (error.type !== "UsageError") {
        throw error;
      }
      refused ??= error;
    }
  }
  throw refused;
}

function head(file, line, pattern) {
  return element(
    "div",
    { class: "panel-head" },
    element("h2", { class: "path" }, placeLink(file, file, line || 1)),
    pattern ? button("All matches", () => change({ file: "", line: 0 }), { class: "quiet" }) : null,
  );
}

function lines(answer, file) {
  const ending = file.split(".").at(-1);
  return element(
    "div",
    { class: "file-lines" },
    answer.items.map((item) => [
      listing(item.content, item.location?.spans ?? [], LANGUAGES[ending] ?? ending, file),
      item.cuts.length ? element("p", { class: "told" }, `Longer than ${count(MAX_TOKENS)} tokens: the rest is not shown.`) : null,
    ]),
  );
}

function reach(line) {
  const row = line && byId("found").querySelector(`[data-line="${line}"]`)?.closest(".line");
  if (row) {
    row.classList.add("is-target");
    const code = row.closest(".code");
    code.scrollTop = row.getBoundingClientRect().top - code.getBoundingClientRect().top - code.clientHeight / 3;
  }
}

/** A name that is selected in the file, or written here, is looked for everywhere. */
function uses() {
  const field = element("input", { type: "search", id: "use-name", spellcheck: "false", placeholder: "select one in the file" });
  const form = element(
    "form",
    { class: "standing-form", autocomplete: "off" },
    element("label", { class: "label", for: "use-name" }, "Where is this name used"),
    element("div", { class: "standing-row" }, field, element("button", { type: "submit", class: "quiet" }, "Find")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = field.value.trim();
    if (name) {
      change({ pattern: /^\w+$/.test(name) ? `\\b${name}\\b` : name, regex: /^\w+$/.test(name), within: "", file: "", line: 0 });
    }
  });
  byId("found").onmouseup = () => {
    const chosen = window.getSelection()?.toString().trim() ?? "";
    if (/^[\w$.:]+$/.test(chosen)) {
      field.value = chosen;
    }
  };
  return element("section", { class: "panel" }, form);
}

function commits(file, { changes, total }) {
  return element(
    "section",
    { class: "panel" },
    element("h3", {}, "Who changed it"),
    changes.length ? null : element("p", { class: "told" }, "No commit here changed it."),
    element(
      "ul",
      { class: "plain-list file-commits" },
      changes.map((row) =>
        element(
          "li",
          {},
          element("span", {}, short(row.subject, 120)),
          element("span", { class: "told" }, `${minute(row.time).slice(0, 10)} · ${row.author} · `, element("code", {}, row.sha.slice(0, 8))),
        ),
      ),
    ),
    total > changes.length
      ? button(`All ${count(total)} commits`, () => change({ view: "timeline", under: file }), { class: "quiet" })
      : null,
  );
}
