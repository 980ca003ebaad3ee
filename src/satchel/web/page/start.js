// What the page shows before a question is asked: questions to try, the last ones, and a map of the files.

import { look } from "./api.js";
import { button, element, replace, sized } from "./dom.js";
import { placeLink } from "./editor.js";
import { empty, present, waiting } from "./notice.js";
import { knowledge } from "./options.js";
import { change, state } from "./state.js";
import { squarified } from "./treemap.js";
import { many, minute, percent, short, size } from "./words.js";

const STORED = "satchel.questions.";
const KEPT = 8;
const HEATS = 4;
const WIDE = { width: 160, height: 90 };
const TALL = { width: 100, height: 120 };
const HEAD = 12;
// Height of the name of a folder above what is inside, in units of the map.

const LEAST_SHARE = 0.004;
// Part of the map that the smallest tile gets: it must be possible to hit it.

const ASIDE = /^(?:.*\/)?(?:tests?|specs?|__tests__|__snapshots__|fixtures?|test-?data|testing|corpora|e2e|vendor|third_party)$/i;
// Folders that would fill the map and that nobody looks for first. They are named below it, and open like any other.

let shown = "";

/** Show the start screen. `ask` is called with a question. */
export function showStart(place, ask) {
  const { path } = state();
  const key = JSON.stringify([path, questions()]);
  if (shown === key && place.querySelector(".start")) {
    return;
  }
  shown = key;
  const map = element("section", { class: "panel map", "aria-labelledby": "map-head" });
  const tries = element("section", { class: "panel tries" }, element("h2", {}, "Try one of these"), waiting("Looking for examples"));
  const start = element(
    "div",
    { class: "start" },
    element("div", { class: "start-questions" }, tries, lastQuestions(place, ask)),
    map,
  );
  replace(place, start);
  void present(
    map,
    "Reading the map of the files",
    () => look("map", { path }),
    (found) => {
      tries.hidden = found.questions.length === 0;
      replace(tries, element("h2", {}, "Try one of these"), asking(found.questions, ask));
      return mapOf(found, ask);
    },
  );
}

/** Remember a question in this browser, the newest first. */
export function rememberQuestion(text) {
  store([text, ...questions().filter((one) => one !== text)].slice(0, KEPT));
}

function questions() {
  try {
    const rows = JSON.parse(window.localStorage.getItem(STORED + knowledge().root) ?? "[]");
    return Array.isArray(rows) ? rows.filter((row) => typeof row === "string") : [];
  } catch {
    return []; // storage may be switched off, or something else wrote there
  }
}

function store(rows) {
  try {
    window.localStorage.setItem(STORED + knowledge().root, JSON.stringify(rows));
  } catch {
    return; // as above
  }
}

function asking(texts, ask) {
  return element(
    "ul",
    { class: "plain-list questions" },
    texts.map((text) => element("li", {}, button(short(text, 160), () => ask(text), { class: "question" }))),
  );
}

function lastQuestions(place, ask) {
  const texts = questions();
  if (!texts.length) {
    return null;
  }
  const clear = () => {
    store([]);
    showStart(place, ask);
  };
  return element(
    "section",
    { class: "panel" },
    element(
      "div",
      { class: "panel-head" },
      element("h2", {}, "Your last questions"),
      button("Clear", clear, { class: "quiet", "aria-label": "Clear the last questions" }),
    ),
    asking(texts, ask),
  );
}

function mapOf(found, ask) {
  if (!found.files) {
    return empty("Nothing is indexed yet.", "The first question builds the index.");
  }
  const others = found.entries.filter((entry) => !isAside(entry, found.path));
  const year = found.since ? `the year to ${minute(found.since + 365 * 86400).slice(0, 10)}` : "";
  return [
    element("h2", { id: "map-head" }, crumbs(found)),
    element(
      "p",
      { class: "told" },
      `${many(found.files, "file")}, ${size(found.size)}. A tile is as large as its files; `,
      year ? `the warmer its colour, the more of the ${many(found.commits, "commit")} of ${year} changed it.` : "no history.",
    ),
    tiles({ ...found, entries: others.length ? others : found.entries }, ask),
    others.length ? aside(found) : null,
    hot(found),
  ];
}

/** Whether a folder is folded away; inside of one that was opened nothing is. */
export function isAside(entry, path) {
  return entry.is_folder && ASIDE.test(entry.path) && !path.split("/").some((name) => ASIDE.test(name));
}

function aside(found) {
  const rows = found.entries.filter((entry) => isAside(entry, found.path));
  return rows.length
    ? element(
      "p",
      { class: "told aside" },
      "Not in the map: ",
      rows.map((entry) =>
        button(`${entry.name}/ (${toldOf(entry)})`, () => change({ path: entry.path }), { class: "crumb", data: { path: entry.path } }),
      ),
    )
    : null;
}

function crumbs(found) {
  const parts = found.path ? found.path.split("/") : [];
  const root = knowledge().root || "The files";
  return [
    parts.length ? button(root, () => change({ path: "" }), { class: "crumb" }) : root,
    parts.map((name, index) => {
      const path = parts.slice(0, index + 1).join("/");
      const isLast = index === parts.length - 1;
      return [" / ", isLast ? name : button(name, () => change({ path }), { class: "crumb" })];
    }),
  ];
}

function tiles(found, ask) {
  const box = window.matchMedia("(width < 48rem)").matches ? TALL : WIDE;
  const rows = found.entries.filter((entry) => entry.size > 0);
  const least = rows.reduce((sum, entry) => sum + entry.size, 0) * LEAST_SHARE;
  const places = squarified(rows.map((entry) => Math.max(entry.size, least)), box.width, box.height);
  const most = Math.max(1, ...rows.map((entry) => entry.commits));
  return element(
    "div",
    { class: "treemap heat-map", role: "group", "aria-label": "The files by size; a folder opens, a file is asked about" },
    rows.map((entry, index) => tile(entry, places[index], box, most, ask)),
  );
}

/** 0 (never changed) to 4 (changed most): by the square root, so that one hot file does not make all others cold. */
export function heatOf(commits, most) {
  return commits ? Math.max(1, Math.round(Math.sqrt(commits / most) * HEATS)) : 0;
}

function toldOf(entry) {
  return [
    entry.is_folder ? many(entry.files, "file") : size(entry.size),
    entry.commits ? many(entry.commits, "commit") : "",
  ].filter(Boolean).join(", ");
}

function tile(entry, place, box, most, ask) {
  const label = `${entry.name}${entry.is_folder ? "/" : ""}`;
  const act = entry.is_folder ? () => change({ path: entry.path }) : () => ask(`What is in ${entry.path}?`);
  const title = `${label}: ${toldOf(entry)}`;
  const named = [element("span", { class: "tile-name" }, label), " ", element("span", { class: "tile-told" }, toldOf(entry))];
  const front = entry.path
    ? button(named, act, { class: "tile-front", title, data: { path: entry.path } })
    : element("span", { class: "tile-front", title }, named);
  const made = element("div", { class: `tile heat-${heatOf(entry.commits, most)}` }, front);
  if (entry.inside.length > 1 && place.height > 2 * HEAD && place.width > HEAD) {
    made.append(inner(entry.inside, { width: place.width, height: place.height - HEAD }, most));
  }
  return placed(made, place, box);
}

/** What is inside a folder, as a picture: the folder itself is what can be chosen. */
function inner(entries, box, most) {
  const rows = entries.filter((entry) => entry.size > 0);
  const places = squarified(rows.map((entry) => entry.size), box.width, box.height);
  return element(
    "div",
    { class: "tile-inside", "aria-hidden": "true" },
    rows.map((entry, index) =>
      placed(
        element("div", { class: `tile heat-${heatOf(entry.commits, most)}` }, element("span", { class: "tile-name" }, entry.name)),
        places[index],
        box,
      ),
    ),
  );
}

function placed(made, place, box) {
  return sized(made, {
    "inset-inline-start": `${(place.left / box.width) * 100}%`,
    "inset-block-start": `${(place.top / box.height) * 100}%`,
    "inline-size": `${(place.width / box.width) * 100}%`,
    "block-size": `${(place.height / box.height) * 100}%`,
  });
}

function hot(found) {
  if (!found.hot.length) {
    return null;
  }
  const most = found.hot[0][1];
  return [
    element("h3", {}, "Changed most often"),
    element(
      "ul",
      { class: "shares plain-list hot", "aria-label": "Files that changed most often" },
      found.hot.map(([path, commits]) =>
        element(
          "li",
          {},
          placeLink(path, path, 1, { class: "path" }),
          sized(
            element("span", { class: "share-bar heat-bar", "aria-hidden": "true" }),
            { "inline-size": `${(commits / most) * 5}rem` },
          ),
          element("span", { class: "figure told", title: percent(commits / Math.max(1, found.commits)) }, many(commits, "commit")),
        ),
      ),
    ),
  ];
}
