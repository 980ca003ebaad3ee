// Keys: every single one can be switched off, for those who speak to their machine.

import { byId, element, replace } from "./dom.js";
import { goTo } from "./budget.js";
import { showShortcuts } from "./dialogs.js";
import { stepBudget } from "./controls.js";
import { nextTheme } from "./themes.js";
import { change, state } from "./state.js";

const STORED = "satchel.keys";

const KEYS = [
  ["/", "write a question", () => focusQuestion()],
  ["[", "a smaller budget", () => stepBudget(-1)],
  ["]", "a larger budget", () => stepBudget(1)],
  ["j", "the next item", () => move(1)],
  ["k", "the item before", () => move(-1)],
  ["e", "expand the item", () => press("expand")],
  ["g", "the graph around the item", () => press("graph")],
  ["o", "open the item in the editor", () => current()?.querySelector("a.editor")?.click()],
  ["p", "pin the item", () => press("pin")],
  ["w", "why the item is here", () => openWhy()],
  ["r", "readable, or the exact text", () => change({ view: "ask", raw: !state().raw })],
  ["c", "copy the context", () => document.querySelector('[data-act="copy"]')?.click()],
  ["t", "the next theme", () => nextTheme()],
  ["?", "this list", () => showShortcuts()],
];

/** Listen, and write the list. `views` gives the names of the tabs that are shown, reached by their numbers. */
export function wireKeys(views) {
  const isOn = byId("single-keys");
  isOn.checked = stored() !== "off";
  isOn.addEventListener("change", () => store(isOn.checked ? "on" : "off"));
  byId("help").addEventListener("click", showShortcuts);
  byId("close-shortcuts").addEventListener("click", () => byId("shortcuts").close());
  const rows = [
    ...KEYS.map(([key, told]) => [key, told]),
    ["1 to 9", "the views"],
    ["Esc", "leave a field or a dialog"],
  ];
  replace(
    byId("key-list"),
    rows.map(([key, told]) => element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, told))),
  );
  document.addEventListener("keydown", (event) => pressed(event, isOn.checked, views));
}

function pressed(event, isOn, views) {
  if (event.key === "Escape" && isField(event.target)) {
    event.target.blur();
    return;
  }
  const isOurs = !(event.ctrlKey || event.metaKey || event.altKey || isField(event.target));
  if (!isOn || !isOurs || document.querySelector("dialog[open]")) {
    return;
  }
  const view = views()[Number(event.key) - 1];
  const act = view ? () => change({ view }) : KEYS.find(([key]) => key === event.key)?.[2];
  if (act) {
    event.preventDefault();
    act();
  }
}

function isField(target) {
  return target instanceof HTMLElement && (
    target.isContentEditable
    || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)
  );
}

function focusQuestion() {
  change({ view: "ask" });
  byId("question").focus();
}

function current() {
  return document.activeElement?.closest?.(".item") ?? null;
}

function move(direction) {
  const at = current();
  const rank = at ? Number(at.id.replace("item-", "")) + direction : 1;
  goTo(rank);
}

function press(act) {
  current()?.querySelector(`[data-act="${act}"]`)?.click();
}

function openWhy() {
  const details = current()?.querySelector(".why");
  if (details) {
    details.open = !details.open;
  }
}

function stored() {
  try {
    return window.localStorage.getItem(STORED);
  } catch {
    return null; // storage may be switched off: then the choice lasts as long as the page
  }
}

function store(value) {
  try {
    window.localStorage.setItem(STORED, value);
  } catch {
    return; // as above
  }
}
