// The graph of the whole repository: its files, or its folders where there are many, and which imports which.

import { look } from "./api.js";
import { button, drawn, element } from "./dom.js";
import { drawingTools, step, wirePan } from "./graph_tools.js";
import { announce, empty, present } from "./notice.js";
import { foldedGraph, spread } from "./repository_layout.js";
import { change } from "./state.js";
import { many, short } from "./words.js";

const MARGIN = 70;
const GROUPS = ["code", "note", "commit", "value", "experience"];
// Colours of the largest folders; all others share a grey.

const LISTED = 10;

/** Show the graph of a folder, the root by default. `walkTo` starts a walk at a file. */
export function showRepository(place, folder, walkTo) {
  return present(
    place,
    "Reading the imports",
    () => look("map", { links: true }),
    (found) => repository(foldedGraph(found, folder), folder, walkTo),
  );
}

function repository({ nodes, links }, folder, walkTo) {
  if (!nodes.length) {
    return empty("No code is indexed here.", "The graph of a repository shows which files import which.");
  }
  const noun = nodes[0].isFolder ? "folder" : "file";
  const colours = coloursOf(nodes, folder);
  const alone = nodes.filter((node) => !node.uses && !node.users).length;
  const undrawn = alone && links.length ? ` Hidden: ${many(alone, noun)} without any.` : "";
  const told = `What uses what: ${many(nodes.length, noun)} without tests, ${many(links.length, "link")} by import.${undrawn}`;
  announce(told);
  return [
    element(
      "p",
      { class: "told", id: "graph-summary" },
      folder ? [button("All folders", () => change({ path: "" }), { class: "crumb" }), ` / ${folder}. `] : null,
      told,
      " A circle grows with what imports it. Choose one, or write a topic, a file or the name of a function above.",
    ),
    legend(colours),
    ...picture(...drawnOf(nodes, links), colours, actOf(walkTo)),
    list(nodes, actOf(walkTo)),
  ];
}

/** What is drawn: nodes with links, which move to other places; all of them where there is no link. */
function drawnOf(nodes, links) {
  const kept = links.length ? nodes.filter((node) => node.uses || node.users) : nodes;
  const place = new Map(kept.map((node, index) => [node, index]));
  return [kept, links.map((ends) => ends.map((end) => place.get(nodes[end])))];
}

/** A file starts a walk, a folder is opened. */
function actOf(walkTo) {
  return (node) => (node.isFolder ? change({ path: node.id }) : walkTo(node.id));
}

function branchOf(id, depth) {
  return id.split("/").slice(0, depth).join("/");
}

/** The largest branches of the tree of folders, each with a colour: Map of branch -> name of a kind. */
function coloursOf(nodes, folder) {
  const start = folder ? folder.split("/").length : 0;
  for (let depth = start + 1; depth < start + 6; depth += 1) {
    const sizes = new Map();
    for (const node of nodes) {
      const branch = branchOf(node.isFolder ? node.id : node.id.split("/").slice(0, -1).join("/"), depth);
      sizes.set(branch, (sizes.get(branch) ?? 0) + node.files);
    }
    const largest = [...sizes].sort(([one, left], [other, right]) => right - left || (one < other ? -1 : 1));
    if (largest.length > 2 || depth === start + 5) {
      return new Map(largest.slice(0, GROUPS.length).map(([branch], index) => [branch, GROUPS[index]]));
    }
  }
  return new Map();
}

function colourOf(node, colours) {
  const folder = node.isFolder ? node.id : node.id.split("/").slice(0, -1).join("/");
  const branches = folder.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/"));
  return branches.map((branch) => colours.get(branch)).findLast(Boolean) ?? "conversation";
}

function legend(colours) {
  return element(
    "ul",
    { class: "roles plain-list", "aria-label": "Colours of the drawing" },
    [...colours].map(([branch, kind]) =>
      element("li", {}, element("span", { class: `swatch kind-${kind}`, "aria-hidden": "true" }), branch || "."),
    ),
  );
}

function radiusOf(node) {
  return 6 + 2.5 * Math.sqrt(node.users);
}

function picture(nodes, links, colours, act) {
  const places = spread(nodes.length, links);
  const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
  const [left, top] = [Math.min(...xs) - MARGIN, Math.min(...ys) - MARGIN];
  const [width, height] = [Math.max(...xs) + MARGIN - left, Math.max(...ys) + MARGIN - top];
  const major = new Set(ranked(nodes).slice(0, LISTED));
  const looks = (node) => `${colourOf(node, colours)}${major.has(node) ? " major" : ""}`;
  const lines = links.map(([from, to]) =>
    drawn("line", {
      class: "link",
      x1: places[from].x,
      y1: places[from].y,
      x2: places[to].x,
      y2: places[to].y,
      data: { ends: `${from} ${to}` },
    }),
  );
  const made = drawn(
    "svg",
    {
      class: "graph-drawing repository-drawing",
      viewBox: `${left} ${top} ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": "Files or folders; Enter opens one, arrows go from one to the next",
    },
    drawn("g", {}, lines),
    drawn("g", {}, nodes.map((node, index) => dot(node, index, places[index], looks(node), act))),
  );
  wireLinks(made, lines);
  made.addEventListener("keydown", (event) => step(made, event));
  const box = element("div", { class: "graph-box" }, made);
  const best = places[nodes.indexOf(ranked(nodes)[0])];
  const middle = (scale = 1) => {
    box.scrollLeft = (best.x - left) * scale - box.clientWidth / 2;
    box.scrollTop = (best.y - top) * scale - box.clientHeight / 2;
  };
  wirePan(box);
  const tools = drawingTools(made, box, [width, height], middle);
  window.requestAnimationFrame(() => tools.querySelector("[data-act='fit']").click());
  return [tools, box];
}

/** The last part of a path, with the one before it where many files have that name. */
function nameOf(path) {
  const parts = path.split("/");
  const shown = /^(?:__init__|index|mod|lib|main)\.\w+$/.test(parts.at(-1)) ? (parts.at(-2) === "src" ? 3 : 2) : 1;
  return parts.slice(-shown).join("/");
}

function dot(node, index, { x, y }, kind, act) {
  const told = `${node.id}: imported by ${node.users}, imports ${node.uses}`;
  const radius = radiusOf(node);
  return drawn(
    "g",
    {
      class: `knot file-dot kind-${kind}`,
      tabindex: index === 0 ? "0" : "-1",
      role: "button",
      "aria-label": told,
      transform: `translate(${x} ${y})`,
      data: { node: node.id, place: index, ...(index === 0 ? { focus: "" } : {}) },
      on: {
        click: () => act(node),
        keydown: (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            act(node);
          }
        },
      },
    },
    drawn("circle", { r: radius }),
    drawn("text", { class: "file-dot-name", y: radius, dy: "1em", "text-anchor": "middle" }, short(nameOf(node.id), 24)),
    drawn("title", {}, told),
  );
}

/** The links of what the pointer or the focus is on stand out. */
function wireLinks(made, lines) {
  const light = (event) => {
    const { place } = event.target.closest(".knot")?.dataset ?? {};
    for (const line of lines) {
      line.classList.toggle("lit", line.dataset.ends.split(" ").includes(place));
    }
  };
  made.addEventListener("pointerover", light);
  made.addEventListener("focusin", light);
}

function ranked(nodes) {
  return [...nodes].sort((one, other) => other.users - one.users || (one.id < other.id ? -1 : 1));
}

function list(nodes, act) {
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "What others import most"),
    element(
      "ul",
      { class: "plain-list imported" },
      ranked(nodes).slice(0, LISTED).map((node) =>
        element(
          "li",
          {},
          button(node.id, () => act(node), { class: "crumb path" }),
          element("span", { class: "figure told" }, ` imported by ${node.users}, imports ${node.uses}`),
        ),
      ),
    ),
  );
}
