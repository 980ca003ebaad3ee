// Where the nodes of a graph are: the start in the middle, what uses it to the left, what it uses to the right.

const COLUMN = 250;
const ROW = 58;
const GAP = 18;
const INDENT = 22;
export const BOX = { width: 186, height: 44 };

/**
 * The tree of an answer: [{id, name, node, parent, relation, direction, distance}], parents first. `nodes` are as in
 * the answer; one that only lies on the way to another, and is not in the answer, has no `node`.
 */
export function treeOf(nodes) {
  const found = new Map();
  const add = (step, parent, distance) => {
    if (!found.has(step.id)) {
      const { id, name, type: relation = "", direction = "out" } = step;
      found.set(id, { id, name, node: null, parent, relation, direction, distance });
    }
  };
  for (const node of nodes) {
    const chain = [node.start ?? node, ...node.path];
    chain.forEach((step, index) => add({ ...step, ...(index ? {} : { type: "" }) }, index ? chain[index - 1].id : null, index));
  }
  for (const node of nodes) {
    found.get(node.id).node = node;
  }
  return [...found.values()].sort((one, other) => one.distance - other.distance);
}

/** What a node is to where the walk starts: `start`, `test`, `user`, `used`, `part`, `commit` or `other`. */
export function roleOf(entry) {
  if (entry.parent === null) {
    return "start";
  }
  if (entry.node?.role === "test" || (!entry.node && /(^|[/_.-])tests?([/_.-]|$)/i.test(entry.id))) {
    return "test";
  }
  const roles = { contains: "part", touches: "commit", calls: "use", imports: "use", inherits: "use", reference: "use" };
  const role = roles[entry.relation] ?? "other";
  return role === "use" ? (entry.direction === "in" ? "user" : "used") : role;
}

/** The entries with a place each, `x` and `y` of the middle of their boxes. `isNarrow` puts them below each other. */
export function laidOut(entries, isNarrow) {
  const children = new Map();
  for (const entry of entries) {
    children.set(entry.parent, [...(children.get(entry.parent) ?? []), entry]);
  }
  const roots = children.get(null) ?? [];
  if (isNarrow) {
    inRows(roots, children);
  } else {
    inColumns(roots, children);
  }
  return entries;
}

/** The part of the plane that all boxes need: [x, y, width, height]. */
export function frame(entries) {
  const left = Math.min(...entries.map((entry) => entry.x)) - BOX.width / 2 - GAP;
  const right = Math.max(...entries.map((entry) => entry.x)) + BOX.width / 2 + GAP;
  const top = Math.min(...entries.map((entry) => entry.y)) - BOX.height / 2 - GAP;
  const bottom = Math.max(...entries.map((entry) => entry.y)) + BOX.height / 2 + GAP;
  return [left, top, right - left, bottom - top];
}

function inRows(roots, children) {
  let row = 0;
  const place = (entry, depth) => {
    Object.assign(entry, { x: depth * INDENT, y: row * ROW, side: 1 });
    row += 1;
    for (const child of children.get(entry.id) ?? []) {
      place(child, depth + 1);
    }
  };
  roots.forEach((root) => place(root, 0));
}

/** Each start with a tree to each side; a tree hangs together, a parent is in the middle of its children. */
function inColumns(roots, children) {
  let top = 0;
  for (const root of roots) {
    const near = children.get(root.id) ?? [];
    const sides = [near.filter((one) => one.direction === "in"), near.filter((one) => one.direction !== "in")];
    const heights = sides.map((side) => Math.max(1, sum(side.map((one) => leaves(one, children)))) * ROW);
    const height = Math.max(...heights);
    Object.assign(root, { x: 0, y: top + height / 2, side: 1 });
    sides.forEach((side, index) => {
      let at = top + (height - heights[index]) / 2;
      for (const child of side) {
        at = hang(child, children, at, index ? 1 : -1, 1);
      }
    });
    top += height + GAP;
  }
}

/** Place a node and what hangs on it, from this height down; the height where the next one begins. */
function hang(entry, children, top, side, depth) {
  const bottom = top + leaves(entry, children) * ROW;
  Object.assign(entry, { x: side * depth * COLUMN, y: (top + bottom) / 2, side });
  let at = top;
  for (const child of children.get(entry.id) ?? []) {
    at = hang(child, children, at, side, depth + 1);
  }
  return bottom;
}

function leaves(entry, children) {
  const below = children.get(entry.id) ?? [];
  return below.length ? sum(below.map((child) => leaves(child, children))) : 1;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

/** The line from a parent to a node, as the path of an SVG. */
export function lineOf(entry, parent, isNarrow) {
  const half = BOX.width / 2;
  if (isNarrow) {
    const x = parent.x - half + INDENT / 2;
    return `M${x} ${parent.y + BOX.height / 2}V${entry.y}H${entry.x - half}`;
  }
  const from = parent.x + entry.side * half;
  const to = entry.x - entry.side * half;
  const middle = (from + to) / 2;
  return `M${from} ${parent.y}C${middle} ${parent.y} ${middle} ${entry.y} ${to} ${entry.y}`;
}
