// The graph around a topic or an item: a drawing whose nodes can be walked to, and the same as a list.

import { call } from "./api.js";
import { offer } from "./controls.js";
import { button, byId, drawn, element, replace } from "./dom.js";
import { frame, laidOut } from "./graph_layout.js";
import { itemCard, placed } from "./item.js";
import { announce, empty, failures, present } from "./notice.js";
import { knowledge } from "./options.js";
import { change, state } from "./state.js";
import { meter } from "./why.js";
import { count, many, score, short } from "./words.js";

const DRAWN_NODES = 20;
// More cannot be told apart in the drawing; the list has all.

const NAME_CHARACTERS = 22;
const RADIUS = { start: 13, other: 10 };
const NAMED_EDGES = 10;
// With more edges their names lie over each other: then they show for the node that has the focus, and in the list.

let asked = "";

/** Wire the form. */
export function wireGraph() {
  byId("graph-form").addEventListener("submit", (event) => {
    event.preventDefault();
    walkTo(byId("graph-query").value.trim());
  });
  byId("graph-depth").addEventListener("change", (event) => change({ depth: Number(event.target.value) }));
  byId("graph-lens").addEventListener("change", (event) => change({ walk: event.target.value }));
}

function walkTo(node) {
  change({ node, view: "graph" });
}

/** Show the graph that the state names. */
export function showGraph(now) {
  byId("graph-query").value = now.node;
  offer("graph-depth", [1, 2, 3, 4, 5].map((depth) => [String(depth), String(depth)]), String(now.depth));
  offer("graph-lens", knowledge().lenses.map((name) => [name, name]), now.walk);
  const given = { query: now.node, depth: now.depth, lens: now.walk, max_tokens: now.max };
  const key = JSON.stringify(given);
  if (key === asked) {
    return;
  }
  asked = key;
  const place = byId("graph-place");
  if (!now.node) {
    replace(
      place,
      empty("Start from a topic, a file or the id of a node.", "“Graph” on any item of an answer leads here too."),
    );
    return;
  }
  void present(
    place,
    "Walking",
    async () => {
      const answer = await call("graph_context", given);
      return key === asked ? answer : Promise.reject(new DOMException("another walk was asked for", "AbortError"));
    },
    drawing,
  );
}

function drawing(answer) {
  const rows = answer.items.map((item) => ({ item: placed(item), node: item.metadata.node }));
  if (!rows.length) {
    announce("No node found");
    return [
      failures(answer.failures),
      empty(
        "Nothing here is about that.",
        "Try other words, or the id of a node: the handles of an answer and its items show ids.",
      ),
    ];
  }
  const entries = laidOut(rows.slice(0, DRAWN_NODES).map(({ node }) => node));
  announce(`${many(rows.length, "node")} around ${rows[0].node.name}`);
  return [
    failures(answer.failures),
    answer.meta.warnings?.length
      ? element(
        "ul",
        { class: "message warn plain-list" },
        answer.meta.warnings.map((warning) => element("li", {}, warning)),
      )
      : null,
    element("p", { class: "told", id: "graph-summary" }, summary(rows, answer)),
    element(
      "div",
      { class: "graph-columns" },
      element("div", { class: "graph-side" }, picture(entries), details(rows[0].item)),
      list(rows),
    ),
  ];
}

function summary(rows, answer) {
  const reached = answer.meta.reached ?? rows.length;
  const beyond = reached - rows.length;
  const more = beyond > 0 ? `, ${count(beyond)} more did not fit into ${count(answer.usage.limit)} tokens` : "";
  const undrawn = rows.length > DRAWN_NODES ? `; the drawing has the first ${DRAWN_NODES}` : "";
  const { lens, depth } = answer.meta;
  return `${many(rows.length, "node")} by lens ${lens}, ${many(depth, "step")}${more}${undrawn}.`;
}

function picture(entries) {
  const places = new Map(entries.map((entry) => [entry.node.id, entry]));
  const tied = entries.filter((entry) => entry.parent !== null && places.has(entry.parent));
  const lines = tied.map((entry) => edge(entry, places.get(entry.parent), tied.length <= NAMED_EDGES));
  const longest = Math.min(NAME_CHARACTERS, Math.max(...entries.map(({ node }) => lastName(node).length)));
  const made = drawn(
    "svg",
    {
      class: tied.length <= NAMED_EDGES ? "graph-drawing" : "graph-drawing many",
      viewBox: frame(entries, longest),
      role: "group",
      "aria-label": "Nodes; Enter walks to one, arrows go from one to the next",
    },
    drawn("g", { class: "edges" }, lines),
    drawn("g", { class: "nodes" }, entries.map((entry, index) => knot(entry, index))),
  );
  made.addEventListener("keydown", (event) => step(made, event));
  return made;
}

function edge(entry, parent, isNamed) {
  const middle = { x: (entry.x + parent.x) / 2, y: (entry.y + parent.y) / 2 };
  return drawn(
    "g",
    { class: `edge edge-${entry.relation}${entry.isDirect ? "" : " indirect"}` },
    drawn("line", { x1: parent.x, y1: parent.y, x2: entry.x, y2: entry.y }),
    isNamed ? drawn("text", { x: middle.x, y: middle.y - 4, class: "edge-name" }, relationOf(entry)) : null,
  );
}

function relationOf({ relation, direction }) {
  return direction === "in" ? `← ${relation}` : `${relation} →`;
}

function knot(entry, index) {
  const { node } = entry;
  const isStart = node.distance === 0;
  const away = `${many(node.distance, "step")} away by ${relationOf(entry)}`;
  const told = `${node.name}, ${isStart ? "where the walk starts" : away}`;
  const walk = () => walkTo(node.id);
  return drawn(
    "g",
    {
      class: `knot${isStart ? " start" : ""}`,
      tabindex: index === 0 ? "0" : "-1",
      role: "button",
      "aria-label": told,
      transform: `translate(${entry.x} ${entry.y})`,
      data: { node: node.id, ...(index === 0 ? { focus: "" } : {}) },
      on: {
        click: walk,
        keydown: (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            walk();
          }
        },
      },
    },
    drawn("title", {}, told),
    drawn("circle", { r: isStart ? RADIUS.start : RADIUS.other }),
    drawn("text", { class: "knot-number", dy: "0.35em" }, index + 1),
    drawn(
      "text",
      { class: "knot-name", "text-anchor": entry.side, ...namePlace(entry) },
      short(lastName(node), NAME_CHARACTERS),
    ),
    index > 0 && node.path.length
      ? drawn("text", { class: "knot-relation", "text-anchor": entry.side, ...namePlace(entry, 14) }, relationOf(entry))
      : null,
  );
}

function namePlace({ side, isBelow }, further = 0) {
  if (side === "middle") {
    return { x: 0, y: isBelow ? RADIUS.start + 16 + further : -RADIUS.start - 6 - further };
  }
  return { x: side === "start" ? RADIUS.start + 4 : -RADIUS.start - 4, y: 4 + further };
}

/** A path without its folders, a definition without its owner; the list has the whole name. */
function lastName({ id, name }) {
  return id.includes("::") ? name.split(/[.>]/).at(-1).trim() || name : name.split("/").at(-1);
}

function step(made, event) {
  const direction = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const knots = [...made.querySelectorAll(".knot")];
  const at = knots.indexOf(document.activeElement);
  if (!direction || at < 0) {
    return;
  }
  event.preventDefault();
  const next = knots[(at + direction + knots.length) % knots.length];
  knots[at].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

function list(rows) {
  return element(
    "ol",
    { class: "node-list", "aria-label": "The nodes as a list" },
    rows.map(({ item, node }) =>
      element(
        "li",
        {},
        element(
          "div",
          { class: "node-text" },
          element("span", { class: "path" }, short(node.name, 80)),
          element("span", { class: "told" }, way(node)),
          element(
            "span",
            { class: "left-out-facts" },
            meter(node.score),
            element("span", { class: "figure told" }, `score ${score(node.score)}`),
          ),
        ),
        isWhereWeAre(node, rows)
          ? null
          : button(
            "Walk here",
            () => walkTo(node.id),
            {
              class: "quiet",
              "aria-label": `Walk to ${node.name}`,
              data: { act: "walk", node: node.id, source: item.source },
            },
          ),
      ),
    ),
  );
}

function isWhereWeAre(node, rows) {
  return node.id === state().node || (
    node.distance === 0
    && rows.filter((row) => row.node.distance === 0).length === 1
  );
}

function way(node) {
  const hop = node.path.at(-1);
  if (!hop) {
    return "start";
  }
  const over = node.path.slice(0, -1).map((step) => short(step.name, 40));
  const relation = relationOf({ relation: hop.type, direction: hop.direction });
  return over.length ? `over ${over.join(", ")}: ${relation}` : relation;
}

function details(item) {
  return element(
    "section",
    { class: "panel", "aria-label": "Where the walk starts" },
    element("h2", {}, "Where the walk starts"),
    itemCard(item, 1, {}),
  );
}
