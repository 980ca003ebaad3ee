// The graph of a whole repository: which files or folders are its nodes, and where they are.

const MAX_NODES = 160;
// More files are drawn as their folders: so many circles with names cannot be told apart.

const STEPS = 160;
const SPACE = 90;
const TURN = Math.PI * (3 - Math.sqrt(5));
// The golden angle: points of a spiral with it are evenly apart.

/**
 * The nodes and links of a folder: {nodes: [{id, isFolder, files, uses, users}], links: [[place, place]]}, by id. Files
 * are their own nodes; where there are too many, or an import names a folder (a package of Go), folders are.
 */
export function foldedGraph({ files, links }, folder) {
  const paths = files.filter((file) => !file.secondary && (!folder || file.path.startsWith(`${folder}/`))).map((file) => file.path);
  const known = new Set(paths);
  const all = new Set(files.map((file) => file.path));
  const deepest = Math.max(0, ...paths.map(depthOf));
  const isOfFolders = links.some(([from, to]) => known.has(from) && !all.has(to) && isInside(to, folder));
  let made = isOfFolders ? null : paths.map((path) => [path, path]);
  for (let depth = deepest; !made || (new Set(made.map(([, id]) => id)).size > MAX_NODES && depth > 0); depth -= 1) {
    made = paths.map((path) => [path, path.split("/").slice(0, -1).slice(0, depth).join("/") || "."]);
  }
  return graphOf(new Map(made), links, known);
}

function isInside(path, folder) {
  return !folder || path === folder || path.startsWith(`${folder}/`);
}

function depthOf(path) {
  return path.split("/").length - 1;
}

function graphOf(idOf, links, known) {
  const nodes = new Map();
  for (const [path, id] of [...idOf].sort()) {
    const node = nodes.get(id) ?? { id, isFolder: id !== path, files: 0, uses: 0, users: 0 };
    node.files += 1;
    nodes.set(id, node);
  }
  const place = new Map([...nodes.keys()].map((id, index) => [id, index]));
  const rows = [...nodes.values()];
  const found = new Map();
  for (const [from, to] of links) {
    const ends = [place.get(idOf.get(from)), place.get(idOf.get(to)) ?? place.get(to)];
    if (known.has(from) && ends[1] !== undefined && ends[0] !== ends[1]) {
      found.set(ends.join(), ends);
    }
  }
  for (const [from, to] of found.values()) {
    rows[from].uses += 1;
    rows[to].users += 1;
  }
  return { nodes: rows, links: [...found.values()] };
}

/**
 * Places [{x, y}] for nodes: linked ones attract each other, all others repel. The same graph always gets the same places.
 */
export function spread(count, links) {
  const places = Array.from({ length: count }, (_, index) => {
    const radius = SPACE * Math.sqrt(index + 0.5) * 0.6;
    return { x: radius * Math.cos(index * TURN), y: radius * Math.sin(index * TURN) };
  });
  for (let step = 0; step < STEPS; step += 1) {
    const moves = places.map(({ x, y }) => ({ x: -x * 0.1, y: -y * 0.18 }));
    for (let one = 0; one < count; one += 1) {
      for (let other = one + 1; other < count; other += 1) {
        push(places, moves, one, other, (distance) => (SPACE * SPACE) / distance);
      }
    }
    for (const [from, to] of links) {
      push(places, moves, from, to, (distance) => -(distance * distance) / SPACE / 4);
    }
    const most = SPACE * (1 - step / STEPS);
    places.forEach((place, index) => {
      const { x, y } = moves[index];
      const share = Math.min(1, most / Math.max(1, Math.hypot(x, y)));
      place.x += x * share;
      place.y += y * share;
    });
  }
  return places;
}

function push(places, moves, one, other, force) {
  const x = places[one].x - places[other].x;
  const y = places[one].y - places[other].y;
  const distance = Math.max(1, Math.hypot(x, y));
  const share = force(distance) / distance;
  moves[one].x += x * share;
  moves[one].y += y * share;
  moves[other].x -= x * share;
  moves[other].y -= y * share;
}
