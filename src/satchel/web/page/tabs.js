// The views as tabs: one in the order of the Tab key, arrows go to the others.

import { byId } from "./dom.js";
import { change } from "./state.js";

const tabs = () => [...byId("tabs").querySelectorAll('[role="tab"]')];

/** The names of the views that can be chosen, in their order. */
export function viewNames() {
  return tabs().filter((tab) => !tab.hidden).map((tab) => tab.dataset.view);
}

/** Show tabs that are hidden until there is something in their views. */
export function unveil(...views) {
  for (const view of views) {
    byId(`tab-${view}`).hidden = false;
  }
}

/** Wire the tabs. */
export function wireTabs() {
  for (const tab of tabs()) {
    tab.addEventListener("click", () => change({ view: tab.dataset.view }));
  }
  byId("tabs").addEventListener("keydown", (event) => {
    const all = tabs().filter((tab) => !tab.hidden);
    const at = all.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at >= 0 && next !== undefined) {
      event.preventDefault();
      const tab = all.at(next % all.length);
      change({ view: tab.dataset.view });
      tab.focus();
    }
  });
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment of the address is the state of the page
    byId("main").focus();
  });
}

/** Show one view and hide the others. */
export function showTab(view) {
  for (const tab of tabs()) {
    const isShown = tab.dataset.view === view;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !isShown;
    if (isShown) {
      tab.hidden = false; // an address may name a view that nothing is in
      document.title = `${tab.textContent} · satchel`;
      tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
}
