// The page: views that follow the state, which follows the address.

import { call, look } from "./api.js";
import { showAsk, wireAsk } from "./ask.js";
import { byId, replace } from "./dom.js";
import { showExperiences, wireExperiences } from "./experiences.js";
import { wireEditor } from "./editor.js";
import { showFind, wireFind } from "./find.js";
import { showGraph, wireGraph } from "./graph.js";
import { pulse, showHealth, wireHealth } from "./health.js";
import { showHooks } from "./hooks.js";
import { wireKeys } from "./keys.js";
import { showMemories, wireMemories } from "./memories.js";
import { failure } from "./notice.js";
import { learnOptions } from "./options.js";
import { listed, showReview } from "./review.js";
import { state, subscribe } from "./state.js";
import { showTab, unveil, viewNames, wireTabs } from "./tabs.js";
import { wireTheme } from "./themes.js";
import { showTimeline, wireTimeline } from "./timeline.js";
import { showValues } from "./values.js";

const VIEWS = {
  ask: showAsk,
  find: showFind,
  graph: showGraph,
  timeline: showTimeline,
  memories: showMemories,
  experiences: showExperiences,
  values: showValues,
  index: showHealth,
  hooks: showHooks,
  review: showReview,
};

function show(now, former) {
  const view = now.view in VIEWS ? now.view : "ask";
  showTab(view);
  VIEWS[view](now, former);
}

async function start() {
  wireTheme();
  wireTabs();
  wireKeys(viewNames);
  wireAsk();
  wireFind();
  wireGraph();
  wireMemories();
  wireExperiences();
  wireTimeline();
  wireHealth();
  wireEditor(() => window.location.reload());
  try {
    await Promise.all([learnOptions(), pulse()]);
  } catch (error) {
    showTab("ask");
    replace(byId("answer"), failure(error, () => window.location.reload()));
    document.documentElement.dataset.ready = "failed";
    return;
  }
  subscribe(show);
  show(state(), undefined);
  const isUsed = (asked, rows) => asked.then((found) => found[rows].length > 0, () => true);
  await Promise.all([
    isUsed(call("experiences", { limit: 1 }), "experiences").then((isThere) => isThere && unveil("experiences", "values")),
    isUsed(look("hooks", { limit: 1 }), "entries").then((isThere) => isThere && unveil("hooks")),
    listed().catch(() => unveil("review")), // the view says what is wrong
  ]);
  document.documentElement.dataset.ready = "true";
}

void start();
