// Light, dark, or as the system says.

import { byId, element, replace } from "./dom.js";
import { announce } from "./notice.js";

const STORED = "satchel.theme";
const ORDER = ["system", "light", "dark"];
const LABELS = { system: ["◐", "System"], light: ["☀", "Light"], dark: ["☾", "Dark"] };

function chosen() {
  return document.documentElement.dataset.theme ?? "system";
}

/** Wire the button. */
export function wireTheme() {
  byId("theme").addEventListener("click", nextTheme);
  label();
}

/** The next of system, light and dark. */
export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length];
  if (next === "system") {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = next;
  }
  try {
    window.localStorage.setItem(STORED, next);
  } catch {
    announce("This browser stores nothing: the theme lasts as long as the page");
  }
  label();
}

function label() {
  const name = chosen();
  const [sign, word] = LABELS[name];
  replace(byId("theme"), element("span", { "aria-hidden": "true" }, sign), element("span", { class: "roomy" }, word));
  byId("theme").setAttribute("aria-label", `Theme: ${name === "system" ? "as the system" : name}`);
}
