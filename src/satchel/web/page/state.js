// What the page shows, in the fragment of its address: it can be shared, and the back button works.

export const LEAST_BUDGET = 200;
export const MAX_BUDGET = 32000;

const DEFAULTS = Object.freeze({
  view: "ask",
  q: "",
  max: 4000,
  types: [],
  format: "markdown",
  lens: "",
  pin: [],
  without: [],
  raised: [],
  limit: 0,
  raw: false,
  node: "",
  depth: 2,
  walk: "general",
  category: "",
  replaced: false,
  find: "",
  outcome: "",
  domain: "",
  path: "",
  under: "",
  pattern: "",
  regex: false,
  within: "",
  file: "",
  line: 0,
});
// `raised` remembers what the budget (or the limit) was before something was let in: ["max", "4000", "its title"].

const listeners = new Set();
let current = read();

/** The state now. It is never changed, only replaced. */
export function state() {
  return current;
}

/** Call with (state, former state) after every change. */
export function subscribe(listener) {
  listeners.add(listener);
}

/** Change some of it. With `quiet` the back button does not stop here (a slider that is being moved). */
export function change(parts, { quiet = false } = {}) {
  const next = Object.freeze({ ...current, ...parts });
  const fragment = write(next);
  if (fragment === write(current)) {
    return;
  }
  window.history[quiet ? "replaceState" : "pushState"](null, "", fragment);
  tell(next);
}

/** A budget that can be asked for. */
export function withinBudget(tokens) {
  const whole = Math.round(Number(tokens));
  return Number.isFinite(whole) ? Math.min(MAX_BUDGET, Math.max(LEAST_BUDGET, whole)) : DEFAULTS.max;
}

function tell(next) {
  const former = current;
  current = next;
  for (const listener of listeners) {
    listener(next, former);
  }
}

function write(values) {
  const parameters = new URLSearchParams();
  for (const [name, fallback] of Object.entries(DEFAULTS)) {
    const value = values[name];
    if (name === "view" || String(value) === String(fallback)) {
      continue;
    }
    for (const one of Array.isArray(value) ? value : [value]) {
      parameters.append(name, String(one));
    }
  }
  return `#${values.view}${parameters.size ? `?${parameters}` : ""}`;
}

function read() {
  const [view, query = ""] = window.location.hash.slice(1).split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  const found = { ...DEFAULTS, view: view || DEFAULTS.view };
  for (const [name, fallback] of Object.entries(DEFAULTS)) {
    if (name !== "view" && parameters.has(name)) {
      found[name] = Array.isArray(fallback) ? parameters.getAll(name) : parsed(parameters.get(name), fallback);
    }
  }
  found.max = withinBudget(found.max);
  found.depth = Math.min(5, Math.max(1, Math.round(found.depth)));
  return Object.freeze(found);
}

function parsed(text, fallback) {
  if (typeof fallback === "number") {
    return Number.isFinite(Number(text)) ? Number(text) : fallback;
  }
  return typeof fallback === "boolean" ? text === "true" : text;
}

window.addEventListener("popstate", () => tell(read()));
