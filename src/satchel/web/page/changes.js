// What another budget changed: what came in, what went out, what shows more or less.

import { element } from "./dom.js";
import { nameOf } from "./item.js";
import { count, many, short } from "./words.js";

const NAMED = 6;

/** The differences of two answers: [{mark, name, told}], nothing for equal ones. */
export function differences(former, answer) {
  const before = new Map(former.items.map((item) => [item.id, item]));
  const after = new Map(answer.items.map((item) => [item.id, item]));
  const rows = [];
  for (const item of answer.items) {
    const known = before.get(item.id);
    if (!known) {
      rows.push({ id: item.id, mark: "in", name: nameOf(item), told: `is new, ${many(item.tokens, "token")}` });
    } else if (known.content !== item.content) {
      const grew = item.content.length > known.content.length;
      rows.push(
        {
          id: item.id,
          mark: grew ? "more" : "less",
          name: nameOf(item),
          told: `shows ${grew ? "more" : "less"}: ${count(known.tokens)} to ${count(item.tokens)} tokens`,
        },
      );
    }
  }
  for (const item of former.items) {
    if (!after.has(item.id)) {
      rows.push({ id: item.id, mark: "out", name: nameOf(item), told: "is no longer shown" });
    }
  }
  return rows;
}

/** One sentence about the differences. */
export function summary(rows, former) {
  const counted = (mark) => rows.filter((row) => row.mark === mark).length;
  const parts = [
    [counted("in"), "new"],
    [counted("out"), "no longer shown"],
    [counted("more"), "shows more", "show more"],
    [counted("less"), "shows less", "show less"],
  ].filter(([number]) => number > 0);
  const told = parts.map(([number, one, several]) =>
    `${count(number)} ${number > 1 && several ? several : one}`,
  ).join(", ") || "the same items";
  return `Compared with ${count(former.usage.limit)} tokens: ${told}`;
}

const MARKS = { in: "+", out: "−", more: "↑", less: "↓" };

/** The differences as a short list. */
export function changeList(rows, former) {
  return element(
    "details",
    { class: "changes", open: rows.length > 0 },
    element("summary", {}, summary(rows, former)),
    element(
      "ul",
      { class: "plain-list" },
      rows.slice(0, NAMED).map((row) =>
        element(
          "li",
          {},
          element("span", { class: `mark mark-${row.mark}`, "aria-hidden": "true" }, MARKS[row.mark]),
          element("span", {}, short(row.name, 70)),
          " ",
          element("span", { class: "told" }, row.told),
        ),
      ),
      rows.length > NAMED ? element("li", { class: "told" }, `and ${count(rows.length - NAMED)} more`) : null,
    ),
  );
}
