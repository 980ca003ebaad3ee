// The graph around a topic or an item: a drawing whose nodes can be walked to, and the same as a list.

import { call } from "./api.js";
import { offer } from "./controls.js";
import { button, byId, drawn, element } from "./dom.js";
import { keepDrafts, sentDraft, showText } from "./drafts.js";
import { placeLink } from "./editor.js";
import { BOX, frame, laidOut, lineOf, roleOf, treeOf } from "./graph_layout.js";
import { drawingTools, step, wirePan } from "./graph_tools.js";
import { itemCard, placed } from "./item.js";
import { announce, empty, failures, present } from "./notice.js";
import { knowledge } from "./options.js";
import { showRepository } from "./repository.js";
import { change, state } from "./state.js";
import { badge, meter } from "./why.js";
import { count, many, score, short } from "./words.js";

const FEW_NODES = 5;
const DRAWN_NODES = 40;
// More cannot be told apart in the drawing; the list has all.

const NAME_CHARACTERS = 22;
const ROLES = {
  start: "where it starts",
  user: "uses it",
  used: "used by it",
  test: "test",
  part: "contains it, or part of it",
  commit: "commit that changed it",
  other: "related in another way",
};
const RELATIONS = {
  calls: ["calls", "called by"],
  imports: ["imports", "imported by"],
  inherits: ["extends", "extended by"],
  contains: ["contains", "part of"],
  touches: ["changed", "changed by"],
  reference: ["refers to", "referred to by"],
  child: ["above", "below"],
  parent: ["below", "above"],
};
const narrow = window.matchMedia("(width < 48rem)");

let asked = "";

/** Wire the form. */
export function wireGraph() {
  byId("graph-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sentDraft(byId("graph-query"));
    walkTo(byId("graph-query").value.trim());
  });
  byId("graph-depth").addEventListener("change", (event) => change({ depth: Number(event.target.value) }));
  byId("graph-lens").addEventListener("change", (event) => change({ walk: event.target.value }));
  keepDrafts(byId("graph-query"));
  narrow.addEventListener("change", () => {
    asked = "";
    if (state().view === "graph") {
      showGraph(state());
    }
  });
}

function walkTo(node) {
  change({ node, view: "graph" });
}

/** Show the graph that the state names. */
export function showGraph(now) {
  showText(byId("graph-query"), now.node);
  offer("graph-depth", [1, 2, 3, 4, 5].map((depth) => [String(depth), String(depth)]), String(now.depth));
  offer("graph-lens", knowledge().lenses.map((name) => [name, name]), now.walk);
  const given = { query: now.node, depth: now.depth, lens: now.walk, max_tokens: now.max };
  const key = JSON.stringify(now.node ? given : { path: now.path });
  if (key === asked) {
    return;
  }
  asked = key;
  const place = byId("graph-place");
  if (!now.node) {
    void showRepository(place, now.path, walkTo);
    return;
  }
  void present(place, "Following the relations", () => call("graph_context", given), drawing);
}

function drawing(answer) {
  const rows = answer.items.map((item) => ({ item: placed(item), node: item.metadata.node }));
  if (!rows.length) {
    announce("No node found");
    return [
      failures(answer.failures),
      empty(
        "Nothing here is about that.",
        "Try other words, or the name of a file or a function.",
      ),
    ];
  }
  const nodes = drawnNodes(rows.map(({ node }) => node));
  const entries = laidOut(treeOf(nodes), narrow.matches);
  announce(`${many(rows.length, "node")} around ${rows[0].node.name}`);
  return [
    failures(answer.failures),
    element("p", { class: "told", id: "graph-summary" }, summary(rows, nodes, answer)),
    legend(entries),
    ...picture(entries),
    element("div", { class: "graph-columns" }, list(rows), details(rows[0].item)),
  ];
}

/**
 * What is drawn: the best nodes, and what only the file of a definition has (its imports, its other definitions) where
 * there is little else. The list has all.
 */
function drawnNodes(nodes) {
  const others = nodes.filter(({ start, path }) => {
    const [first, second] = path;
    const isOfFile = first?.type === "imports" || (first?.type === "contains" && first.direction === "in" && second);
    return !(start?.id.includes("::") && isOfFile);
  });
  return (others.length < FEW_NODES ? nodes : others).slice(0, DRAWN_NODES);
}

function summary(rows, nodes, answer) {
  const reached = answer.meta.reached ?? rows.length;
  const beyond = reached - rows.length;
  const more = beyond > 0 ? `, ${count(beyond)} more did not fit into ${count(answer.usage.limit)} tokens` : "";
  const undrawn = rows.length > nodes.length ? `; the drawing shows ${nodes.length} of them, the list below all` : "";
  const notes = (answer.meta.warnings ?? []).map((warning) => ` ${warning}.`);
  return `${many(rows.length, "node")} up to ${many(answer.meta.depth, "step")} away${more}${undrawn}.${notes.join("")}`;
}

function legend(entries) {
  const roles = entries.map(roleOf);
  const rows = Object.entries(ROLES).filter(([role]) => roles.includes(role));
  return element(
    "ul",
    { class: "roles plain-list", "aria-label": "Colours of the drawing" },
    rows.map(([role, told]) =>
      element("li", {}, element("span", { class: `swatch role-${role}`, "aria-hidden": "true" }), told),
    ),
  );
}

function picture(entries) {
  const places = new Map(entries.map((entry) => [entry.id, entry]));
  const [x, y, width, height] = frame(entries);
  const roots = entries.filter((entry) => entry.parent === null);
  const made = drawn(
    "svg",
    {
      class: "graph-drawing",
      viewBox: `${x} ${y} ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": "Nodes; Enter makes one the start, arrows go from one to the next",
    },
    drawn("g", {}, roots.slice(1).map((root, index) => spine(roots[index], root))),
    drawn("g", {}, entries.filter((entry) => entry.parent !== null).map((entry) => edge(entry, places.get(entry.parent)))),
    drawn("g", {}, entries.map((entry, index) => knot(entry, index, places.get(entry.parent)))),
  );
  made.addEventListener("keydown", (event) => step(made, event));
  const box = element("div", { class: "graph-box" }, made);
  const middle = (scale = 1) => {
    box.scrollLeft = (roots[0].x - x) * scale - box.clientWidth / 2;
    box.scrollTop = (roots[0].y - y) * scale - box.clientHeight / 2;
  };
  window.requestAnimationFrame(() => middle());
  wirePan(box);
  return [drawingTools(made, box, [width, height], middle), box];
}

/** Several starts match one topic: a dashed line ties them. */
function spine(one, other) {
  const x = narrow.matches ? one.x - BOX.width / 2 + 8 : one.x;
  return drawn("path", { class: "edge spine", d: `M${x} ${one.y + BOX.height / 2}V${other.y - BOX.height / 2}` });
}

function edge(entry, parent) {
  return drawn("path", { class: `edge role-${roleOf(entry)}`, d: lineOf(entry, parent, narrow.matches) });
}

function relationOf({ relation, direction }) {
  return RELATIONS[relation]?.[direction === "in" ? 0 : 1] ?? `${relation} of`;
}

function knot(entry, index, parent) {
  const isStart = entry.parent === null;
  const place = entry.node?.location?.file ?? entry.id.replace(/^\w+:/, "").split("::")[0];
  const told = isStart
    ? `${entry.name}, ${ROLES.start}`
    : `${entry.name}, ${relationOf(entry)} ${parent.name}${roleOf(entry) === "test" ? ", a test" : ""}`;
  const name = short(lastName(entry), NAME_CHARACTERS);
  const [file, folder] = place.split("/").reverse();
  const about = short([isStart ? "" : `${relationOf(entry)} it`, file === name ? folder : file].filter(Boolean).join(" · "), NAME_CHARACTERS + 6);
  const walk = () => walkTo(entry.id);
  const left = -BOX.width / 2;
  return drawn(
    "g",
    {
      class: `knot role-${roleOf(entry)}${entry.node ? "" : " between"}`,
      tabindex: index === 0 ? "0" : "-1",
      role: "button",
      "aria-label": `${name} ${about}: ${told}`,
      transform: `translate(${entry.x} ${entry.y})`,
      data: { node: entry.id, ...(index === 0 ? { focus: "" } : {}) },
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
    drawn("rect", { x: left, y: -BOX.height / 2, width: BOX.width, height: BOX.height, rx: 6 }),
    drawn("text", { class: "knot-name", x: left + 9, y: -3 }, name),
    " ",
    drawn("text", { class: "knot-told", x: left + 9, y: 14 }, about),
    drawn("title", {}, `${told}\n${place}`),
  );
}

/** A path without its folders, a definition without its owner; the list has the whole name. */
function lastName({ id, name }) {
  return id.includes("::") ? name.split(/[.>]/).at(-1).trim() || name : name.split("/").at(-1);
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
          node.location ? placeOfNode(node.location) : null,
          element(
            "span",
            { class: "left-out-facts" },
            meter(node.score),
            element("span", { class: "figure told" }, `score ${score(node.score)}`),
            node.role === "test" ? badge("test", "role-test") : null,
          ),
        ),
        isWhereWeAre(node, rows)
          ? null
          : button(
            "Start here",
            () => walkTo(node.id),
            {
              class: "quiet",
              "aria-label": `Start here: ${node.name}`,
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

function placeOfNode({ file, lines }) {
  return placeLink(`${file}:${lines}`, file, Number(lines.split("-")[0]), { class: "told path" });
}

function way(node) {
  const hop = node.path.at(-1);
  if (!hop) {
    return ROLES.start;
  }
  const before = node.path.at(-2) ?? node.start;
  return `${relationOf({ relation: hop.type, direction: hop.direction })} ${short(before.name, 60)}`;
}

function details(item) {
  return element(
    "section",
    { class: "panel start-card", "aria-label": "Where it starts" },
    element("h2", {}, "Where it starts"),
    itemCard(item, 1, { level: "h3" }),
  );
}
