// How the index is: what it holds, how fresh it is, what was left out, and whether everything works.

import { call, look } from "./api.js";
import { singular } from "./controls.js";
import { byId, element, replace, sized } from "./dom.js";
import { failures, present } from "./notice.js";
import { learnDocuments } from "./options.js";
import { factList } from "./records.js";
import { inline } from "./prose.js";
import { badge } from "./why.js";
import { count, many, minute, size } from "./words.js";

const POLL_MILLISECONDS = 1000;
// While an index is being built: often enough to see it move, seldom enough to cost it nothing.

const PLURALS = { memory: "memories", code: "code" };

let timer = 0;

/** Wire the button. */
export function wireHealth() {
  byId("look-again").addEventListener("click", () => showHealth());
}

/** Show status and checks. */
export function showHealth() {
  void present(byId("status"), "Looking", pulse, facts);
  void present(byId("doctor"), "Checking", () => call("doctor", {}), checks);
}

/** Ask how the index is, and show it at the top of the page; asked again while it is being built. */
export async function pulse() {
  window.clearTimeout(timer);
  const status = await look("status");
  learnDocuments(Object.entries({ ...status.documents, ...status.records }).map(([kind, number]) => [PLURALS[kind] ?? `${kind}s`, number]));
  byId("place").textContent = status.root.split("/").at(-1);
  byId("place").title = status.root;
  const indexing = status.indexing ?? {};
  const [text, kind] = sentence(status, indexing);
  replace(byId("pulse"), element("span", { class: `dot ${kind}`, "aria-hidden": "true" }), text);
  replace(byId("progress"), indexing.running ? bar(indexing) : null);
  if (indexing.running) {
    timer = window.setTimeout(() => void pulse().then(again, lost), POLL_MILLISECONDS);
  }
  return status;
}

function again(status) {
  if (!byId("view-index").hidden) {
    replace(byId("status"), facts(status));
  }
}

function lost(error) {
  replace(byId("pulse"), element("span", { class: "dot bad", "aria-hidden": "true" }), error.message);
}

function sentence(status, indexing) {
  if (indexing.running) {
    const done = indexing.total ? `${count(indexing.done)} of ${count(indexing.total)}` : "";
    return [`indexing: ${indexing.phase || "starting"} ${done}`.trim(), "busy"];
  }
  if (status.building) {
    return [status.building, "busy"];
  }
  if (indexing.failure) {
    return ["the index could not be brought up to date", "bad"];
  }
  return status.freshness.is_fresh ? ["up to date", "good"] : ["files changed: the next question reads them", "busy"];
}

function bar(indexing) {
  return element(
    "section",
    { class: "panel" },
    element("label", { class: "label", for: "index-progress" }, `Indexing: ${indexing.phase || "starting"}`),
    element(
      "progress",
      { id: "index-progress", max: Math.max(1, indexing.total), value: indexing.total ? indexing.done : null },
    ),
    element("span", { class: "figure" }, indexing.total ? `${count(indexing.done)} of ${count(indexing.total)}` : ""),
  );
}

function facts(status) {
  const fresh = status.freshness;
  const moved = [
    [fresh.new, "new"],
    [fresh.changed, "changed"],
    [fresh.gone, "gone"],
  ].filter(([number]) => number).map(([number, word]) => `${count(number)} ${word}`);
  return [
    failures(status.failures),
    documents({ ...status.documents, ...status.records }),
    factList([
      ["root", element("span", { class: "path" }, status.root)],
      ["up to date", fresh.is_fresh ? `yes, checked at ${minute(fresh.checked)} UTC` : moved.join(", ") || "HEAD moved"],
      ["HEAD", fresh.head ? element("code", {}, fresh.head.slice(0, 10)) : ""],
      ["revision", status.revision],
      ["files", listed(status.languages)],
      ["relations", listed(status.edges)],
      ["files left out", listed(status.skipped)],
      ["hidden", listed(status.hidden)],
      [
        "cleaned",
        [
          [status.redacted, "secret"],
          [status.cleaned, "hidden character"],
        ].filter(([number]) => number).map(([number, noun]) => many(number, noun)).join(", "),
      ],
      [
        "sizes",
        Object.entries(status.sizes).filter(([, bytes]) => bytes).map(([name, bytes]) =>
          `${name} ${size(bytes)}`,
        ).join(", "),
      ],
      ["by meaning", vectors(status.vectors)],
      ["broken links", status.broken_links?.count ? count(status.broken_links.count) : ""],
      [
        "instruction files",
        status.trusted ? "this folder is trusted" : inline("shown as data; `satchel trust` lets them instruct agents"),
      ],
    ]),
  ];
}

function listed(counts) {
  return Object.entries(counts ?? {})
    .filter(([, number]) => number)
    .sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1))
    .map(([name, number]) => `${name} ${count(number)}`)
    .join(", ");
}

function vectors(found) {
  if (!found?.embedder) {
    return "off: search by words only";
  }
  const rows = Object.entries(found.kinds);
  const kinds = rows.map(([kind, { done, total }]) => `${kind} ${count(done)} of ${count(total)}`);
  return `${found.embedder}${kinds.length ? `: ${kinds.join(", ")}` : ""}`;
}

function documents(counts) {
  const rows = Object.entries(counts).filter(([, number]) => number);
  const most = Math.max(1, ...rows.map(([, number]) => number));
  if (!rows.length) {
    return element("p", { class: "told" }, "Nothing is indexed yet: the first question builds the index.");
  }
  return element(
    "ul",
    { class: "shares plain-list", "aria-label": "Documents by kind" },
    rows.map(([kind, number]) =>
      element(
        "li",
        {},
        element("span", {}, PLURALS[kind] ?? `${kind}s`),
        sized(
          element("span", { class: `share-bar kind-${singular(kind)}`, "aria-hidden": "true" }),
          { "inline-size": `${Math.max(0.15, (number / most) * 8)}rem` },
        ),
        element("span", { class: "figure" }, count(number)),
      ),
    ),
  );
}

const WORDS = { ok: "works", warn: "costs something", fail: "is broken" };

function checks(answer) {
  const order = ["fail", "warn", "ok"];
  const rows = [...answer.checks].sort((one, other) => order.indexOf(one.outcome) - order.indexOf(other.outcome));
  return element(
    "ul",
    { class: "checks plain-list" },
    rows.map((check) =>
      element(
        "li",
        { class: `check-${check.outcome}` },
        badge(check.outcome, `outcome-${check.outcome}`, WORDS[check.outcome]),
        element(
          "span",
          {},
          element("strong", {}, check.name),
          " ",
          inline(check.message),
          check.fix ? element("span", { class: "fix" }, "To fix it: ", element("code", {}, check.fix)) : null,
        ),
      ),
    ),
  );
}
