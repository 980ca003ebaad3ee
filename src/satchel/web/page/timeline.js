// What happened when: commits, memories and experiences on one line of time, and as a list by month.

import { call } from "./api.js";
import { button, byId, drawn, element } from "./dom.js";
import { keepDrafts, sentDraft, showText } from "./drafts.js";
import { empty, failures, present } from "./notice.js";
import { change, state } from "./state.js";
import { badge } from "./why.js";
import { count, many, minute, short } from "./words.js";

const LISTED = 500;
const SHOWN = 60;
const BARS = 60;
const LANES = [["commit", "Commits"], ["memory", "Memories"], ["experience", "Experiences"]];
const LANE = 44;
const narrow = window.matchMedia("(width < 48rem)");

let shownRows = SHOWN;

/** Wire the form. */
export function wireTimeline() {
  const field = byId("timeline-path");
  keepDrafts(field);
  byId("timeline-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sentDraft(field);
    change({ under: field.value.trim() });
  });
}

/** Show the time line of all, or of the commits below a path. */
export function showTimeline(now, former) {
  showText(byId("timeline-path"), now.under);
  if (former?.under !== now.under) {
    shownRows = SHOWN;
  }
  void present(
    byId("timeline"),
    "Reading the history",
    async () => {
      const path = now.under;
      const [history, memories, experiences] = await Promise.all([
        call("history", { path, limit: LISTED }),
        path ? { memories: [] } : call("memories", { limit: LISTED, superseded: true }),
        path ? { experiences: [] } : call("experiences", { limit: LISTED }),
      ]);
      return { history, rows: eventsOf(history.changes, memories.memories, experiences.experiences) };
    },
    page,
  );
}

/** All that has a time, the newest first: [{time, kind, title, told, question}]. Times are in seconds. */
export function eventsOf(commits, memories, experiences) {
  const rows = [
    ...commits.map((one) => ({
      time: one.time,
      kind: "commit",
      title: one.subject,
      told: `${one.sha.slice(0, 7)}, ${one.author}, ${many(one.file_count, "file")}`,
      question: `Why was this changed: ${one.subject}`,
    })),
    ...memories.map((one) => ({
      time: Date.parse(one.created_at) / 1000,
      kind: "memory",
      title: one.content,
      told: one.superseded_by ? `${one.category}, replaced since` : one.category,
      find: one.id,
    })),
    ...experiences.map((one) => ({
      time: Date.parse(one.outcome?.captured_at ?? one.updated_at ?? one.created_at) / 1000,
      kind: "experience",
      title: one.goal,
      told: one.status,
    })),
  ];
  return rows.filter((row) => Number.isFinite(row.time)).sort((one, other) => other.time - one.time);
}

function page({ history, rows }) {
  if (!rows.length) {
    return [
      failures(history.failures),
      empty("Nothing has happened here yet.", "Commits, memories and experiences appear here with their time."),
    ];
  }
  const older = history.total > history.changes.length
    ? ` The newest ${many(history.changes.length, "commit")} of ${count(history.total)}.`
    : "";
  return [
    failures(history.failures),
    element("section", { class: "panel", "aria-label": "Time line" }, chart(rows)),
    element("p", { class: "told" }, `${many(rows.length, "event")}, newest first, times in UTC.${older}`),
    months(rows.slice(0, shownRows)),
    rows.length > shownRows
      ? button(`Show ${Math.min(SHOWN, rows.length - shownRows)} more`, () => {
        shownRows += SHOWN;
        showTimeline(state(), state());
      }, { class: "quiet", data: { act: "more" } })
      : null,
  ];
}

/** How many rows fall into each of so many equal parts of the time from `first` to `last`. */
export function barsOf(rows, first, last) {
  const bars = Array.from({ length: BARS }, () => 0);
  for (const { time } of rows) {
    bars[Math.min(BARS - 1, Math.floor(((time - first) / Math.max(1, last - first)) * BARS))] += 1;
  }
  return bars;
}

function chart(rows) {
  const [last, first] = [rows[0].time, rows.at(-1).time];
  const lanes = LANES.map(([kind, name]) => ({ kind, name, rows: rows.filter((row) => row.kind === kind) }));
  const height = lanes.length * LANE + 22;
  const [whole, left] = narrow.matches ? [340, 92] : [1160, 110];
  const room = whole - left;
  const label = lanes.map(({ name, rows: own }) => `${own.length} ${name.toLowerCase()}`).join(", ");
  const day = (time) => minute(time).slice(0, 10);
  return drawn(
    "svg",
    {
      class: "time-chart",
      viewBox: `0 0 ${whole} ${height}`,
      role: "img",
      "aria-label": `${label}, from ${day(first)} to ${day(last)}`,
    },
    lanes.map(({ kind, name, rows: own }, index) => {
      const floor = (index + 1) * LANE;
      const bars = barsOf(own, first, last);
      const most = Math.max(1, ...bars);
      const width = room / BARS;
      return drawn(
        "g",
        { class: `kind-${kind}` },
        drawn("text", { x: 0, y: floor - 12, class: "lane-name" }, name),
        drawn("line", { x1: left, x2: whole, y1: floor, y2: floor, class: "lane-floor" }),
        bars.map((number, at) => {
          const high = number ? 6 + (number / most) * (LANE - 16) : 0;
          const place = { x: left + at * width + 1, y: floor - high, width: width - 2, height: high };
          return number ? drawn("rect", { class: "lane-bar", ...place }) : null;
        }),
      );
    }),
    drawn("text", { x: left, y: height - 4, class: "lane-name" }, day(first)),
    drawn("text", { x: whole, y: height - 4, class: "lane-name", "text-anchor": "end" }, day(last)),
  );
}

function months(rows) {
  const groups = new Map();
  for (const row of rows) {
    const month = minute(row.time).slice(0, 7);
    groups.set(month, [...(groups.get(month) ?? []), row]);
  }
  return [...groups].map(([month, own]) =>
    element(
      "section",
      { class: "month", "aria-label": month },
      element("h2", {}, month, element("span", { class: "told figure" }, many(own.length, "event"))),
      element("ol", { class: "plain-list events" }, own.map(eventRow)),
    ),
  );
}

function eventRow(row) {
  const act = row.question
    ? ["Ask about it", () => change({ view: "ask", q: row.question, raised: [] })]
    : ["Open", () => change({ view: row.kind === "memory" ? "memories" : "experiences", find: row.find ?? "" })];
  return element(
    "li",
    { class: `event kind-${row.kind}` },
    element("time", { class: "figure told" }, minute(row.time)),
    badge(row.kind, `kind kind-${row.kind}`),
    element("span", { class: "event-text" }, short(row.title, 140), " ", element("span", { class: "told" }, row.told)),
    button(act[0], act[1], { class: "quiet", "aria-label": `${act[0]}: ${short(row.title, 60)}` }),
  );
}
