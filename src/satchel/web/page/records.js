// What cards of memories, experiences and values have in common.

import { element } from "./dom.js";

/** Facts as a list of terms; what is empty is left out. */
export function factList(rows) {
  const told = rows.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return element(
    "dl",
    { class: "facts" },
    told.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

/** A life cycle: steps with the one that it is at. */
export function steps(rows, label) {
  return element(
    "ol",
    { class: "steps", "aria-label": label },
    rows.map(({ name, told, kind }, index) =>
      element(
        "li",
        { class: `step ${kind ?? ""}`, "aria-current": index === rows.length - 1 ? "step" : null },
        element("span", { class: "step-name" }, name),
        told ? element("span", { class: "told" }, told) : null,
      ),
    ),
  );
}
