// What the hooks of an editor injected, when, and what it cost.

import { look } from "./api.js";
import { byId, element } from "./dom.js";
import { empty, present } from "./notice.js";
import { badge } from "./why.js";
import { count, many, minute, short } from "./words.js";

const LISTED = 200;
const COLUMNS = ["When (UTC)", "Repository", "Event", "Result", "Tokens", "Took"];
const LOOKS = { injected: "outcome-ok", failed: "outcome-fail", saved: "trust-data", nothing: "" };

const LESSONS = /^(memory|experience):/;

/** Show the log, the newest first. */
export function showHooks() {
  void present(
    byId("hook-log"),
    "Looking",
    () => look("hooks", { limit: LISTED }),
    (answer) => page([...answer.entries].reverse()),
  );
}

function page(rows) {
  if (!rows.length) {
    return empty(
      "No hook has run yet.",
      "`satchel setup claude-code --with-hooks` installs them; each shows here what it injected.",
    );
  }
  const injected = rows.filter((row) => row.outcome === "injected");
  const tokens = injected.reduce((total, row) => total + row.tokens, 0);
  return [
    element(
      "p",
      { class: "told" },
      `${many(rows.length, "event")}; ${many(injected.length, "injection")} with ${many(tokens, "token")}`,
    ),
    lessons(injected),
    element(
      "div",
      { class: "panel scrolls", tabindex: "0", role: "region", "aria-label": "What hooks injected" },
      element(
        "table",
        { class: "log" },
        element("thead", {}, element("tr", {}, COLUMNS.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, rows.map(rowOf)),
      ),
    ),
  ];
}

/** Each memory and experience that reached an agent, with how often and when last; `rows` are the newest first. */
function lessons(rows) {
  const told = new Map();
  for (const row of rows) {
    for (const item of (row.items ?? []).filter(({ id }) => LESSONS.test(id))) {
      const lesson = told.get(item.id) ?? { title: item.title || item.id, last: row.at, times: 0 };
      told.set(item.id, { ...lesson, times: lesson.times + 1 });
    }
  }
  if (!told.size) {
    return null;
  }
  return element(
    "section",
    { class: "panel", "aria-label": "Lessons delivered" },
    element("h2", {}, "Lessons delivered"),
    element(
      "ul",
      { class: "plain-list" },
      [...told.values()].map(({ title, last, times }) =>
        element("li", {}, short(title, 160), element("span", { class: "told" }, ` ${many(times, "time")}, last ${minute(last)}`))),
    ),
  );
}

function rowOf(row) {
  const cells = [
    minute(row.at),
    (row.folder ?? "").split(/[\\/]/).filter(Boolean).at(-1) ?? "",
    [row.event, row.host ? element("span", { class: "told" }, ` ${row.host}`) : null],
    [badge(row.outcome, LOOKS[row.outcome] ?? ""), " ", row.reason, items(row.items ?? [])],
    row.tokens ? count(row.tokens) : "",
    `${count(row.ms)} ms`,
  ];
  return element("tr", {}, cells.map((cell, index) => element("td", { data: { label: COLUMNS[index] } }, cell)));
}

function items(rows) {
  if (!rows.length) {
    return null;
  }
  return element(
    "details",
    {},
    element("summary", {}, many(rows.length, "item")),
    element(
      "ul",
      { class: "plain-list told" },
      rows.map((row) => element("li", {}, short(row.title ? `${row.title} (${row.id})` : row.id, 120))),
    ),
  );
}
