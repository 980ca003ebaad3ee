// Where the nodes of a walk stand: the start in the middle, each step further out on a ring of its own.

const BOX = { width: 960, height: 600 };

const RINGS = [[0, 1], [0, 0.56, 1], [0, 0.42, 0.74, 1]];
const WIDTH_SHARE = 0.37;
const HEIGHT_SHARE = 0.44;
// The rings are not evenly apart: most nodes stand on the first. Names stand outside, so the width is not used up.

const UPRIGHT = 0.1;
// Only straight above and below the middle a name stands over or under its node, else beside it.

const CHARACTER = 7.4;
const MARGIN = 24;
// Of a name, in units of the drawing: what the frame of the drawing has to hold beside the nodes.

/**
 * Nodes with a place and the node that they were reached from: [{node, x, y, parent, relation, direction, isDirect}].
 * `nodes` are as in the answer, the best first. A node whose way leads over one that is not shown hangs on the last
 * one that is (`isDirect` false).
 */
export function laidOut(nodes) {
  const placed = new Map(nodes.map((node) => [node.id, { node, ...origin(node, nodes) }]));
  const children = new Map();
  for (const entry of placed.values()) {
    const key = entry.parent ?? "";
    children.set(key, [...(children.get(key) ?? []), entry]);
  }
  const depth = Math.max(1, ...nodes.map((node) => node.distance));
  const roots = children.get("") ?? [];
  spread(roots, children, 0, 1, roots.length === 1 ? 0 : 1, depth + (roots.length === 1 ? 0 : 1));
  return [...placed.values()];
}

/** The part of the plane that holds all nodes and names of so many characters: `x y width height`. */
export function frame(entries, characters) {
  const shares = { middle: { start: 0.5, end: 0.5 }, start: { start: 1, end: 0 }, end: { start: 0, end: 1 } };
  const reach = (entry, side) => shares[entry.side][side] * characters * CHARACTER + MARGIN;
  const left = Math.min(...entries.map((entry) => entry.x - reach(entry, "end")));
  const right = Math.max(...entries.map((entry) => entry.x + reach(entry, "start")));
  const top = Math.min(...entries.map((entry) => entry.y)) - 2 * MARGIN;
  const bottom = Math.max(...entries.map((entry) => entry.y)) + 2 * MARGIN;
  return [left, top, right - left, bottom - top].map(Math.round).join(" ");
}

function origin(node, nodes) {
  const hop = node.path.at(-1);
  const shown = new Set(nodes.map((one) => one.id));
  const before = node.path.slice(0, -1).map((step) => step.id);
  const near = before.findLast((identity) => shown.has(identity));
  const starts = nodes.filter((one) => one.distance === 0);
  const start = node.distance > 0 && starts.length === 1 ? starts[0].id : null;
  const parent = near ?? start;
  return {
    parent,
    relation: hop?.type ?? "",
    direction: hop?.direction ?? "out",
    isDirect: before.length === 0 ? parent !== null : parent === before.at(-1),
  };
}

function spread(entries, children, from, to, ring, rings) {
  const weights = entries.map((entry) => leaves(entry, children));
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  let at = from;
  const scale = RINGS[rings - 1] ?? Array.from({ length: rings + 1 }, (_, step) => step / rings);
  entries.forEach((entry, index) => {
    const width = ((to - from) * weights[index]) / total;
    const { x, y } = onCircle(at + width / 2);
    entry.x = BOX.width / 2 + x * scale[ring] * BOX.width * WIDTH_SHARE;
    entry.y = BOX.height / 2 + y * scale[ring] * BOX.height * HEIGHT_SHARE;
    entry.side = ring === 0 || Math.abs(x) < UPRIGHT ? "middle" : x > 0 ? "start" : "end";
    entry.isBelow = y >= 0;
    spread(children.get(entry.node.id) ?? [], children, at, at + width, ring + 1, rings);
    at += width;
  });
}

/** A place on a circle, for a share of the way around from the top. Heights are evenly apart: names have room. */
function onCircle(share) {
  const isRight = share < 0.5;
  const y = isRight ? 4 * share - 1 : 3 - 4 * share;
  return { x: (isRight ? 1 : -1) * Math.sqrt(Math.max(0, 1 - y * y)), y };
}

function leaves(entry, children) {
  const below = children.get(entry.node.id) ?? [];
  return below.length ? below.reduce((sum, child) => sum + leaves(child, children), 0) : 1;
}
