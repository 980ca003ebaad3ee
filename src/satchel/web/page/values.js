// Values: what experiences teach together, with the groups that they rest on.

import { call } from "./api.js";
import { byId, element, sized } from "./dom.js";
import { empty, present } from "./notice.js";
import { inline } from "./prose.js";
import { factList } from "./records.js";
import { badge, meter } from "./why.js";
import { many, minute, score, short } from "./words.js";

/** Show the values, and the groups that could become some. */
export function showValues() {
  void present(
    byId("value-cards"),
    "Looking",
    () => Promise.all([call("values", {}), call("proposals", {})]),
    ([found, groups]) => [values(found.values), proposals(groups.proposals)],
  );
}

function values(rows) {
  if (!rows.length) {
    return empty(
      "There are no values yet.",
      "`satchel values cluster` groups experiences, `satchel values propose` names the lesson of each group.",
    );
  }
  return [
    element("p", { class: "told" }, many(rows.length, "value")),
    element("div", { class: "cards wide" }, rows.map(card)),
  ];
}

function card(value) {
  return element(
    "article",
    { class: "card kind-value", "aria-label": short(value.text), data: { id: value.id } },
    element("header", { class: "card-head" }, element("h2", {}, value.text), badge(value.axis, "kind kind-value")),
    element(
      "p",
      { class: "told" },
      element(
        "span",
        { class: "summary-figure" },
        meter(value.similarity_to_centroid),
        element(
          "span",
          {},
          `${score(value.similarity_to_centroid)} to the centre of ${many(value.cluster_size, "experience")}, `,
          `by ${value.label}`,
        ),
      ),
    ),
    shares(value.domains, "Domains"),
    shares(value.strategies, "Strategies"),
    factList([
      ["group", element("code", {}, value.cluster_id)],
      ["accepted", minute(value.created)],
      ["id", element("code", {}, value.id)],
    ]),
    element(
      "details",
      {},
      element("summary", {}, `Evidence: ${many(value.member_ids.length, "experience")}`),
      element(
        "ul",
        { class: "members plain-list" },
        value.member_ids.map((identity) => element("li", {}, element("code", {}, identity))),
      ),
    ),
  );
}

function shares(counts, label) {
  const rows = Object.entries(counts ?? {})
    .filter(([name, number]) => name && number > 0)
    .sort(([one, first], [other, second]) => second - first || (one < other ? -1 : 1));
  if (!rows.length) {
    return null;
  }
  const most = rows[0][1];
  return element(
    "ul",
    { class: "shares plain-list", "aria-label": label },
    rows.map(([name, number]) =>
      element(
        "li",
        {},
        element("span", {}, name),
        sized(
          element("span", { class: "share-bar", "aria-hidden": "true" }),
          { "inline-size": `${(number / most) * 6}rem` },
        ),
        element("span", { class: "figure" }, number),
      ),
    ),
  );
}

function proposals(rows) {
  if (!rows.length) {
    return null;
  }
  const most = Math.max(...rows.map((row) => row.size));
  return element(
    "section",
    { class: "panel", "aria-labelledby": "groups-head" },
    element("h2", { id: "groups-head" }, "Groups of experiences"),
    element(
      "p",
      { class: "told" },
      inline(
        "What each group teaches, in the words of a member whose lesson most of the others share. " +
          "`satchel values accept` keeps one as a value.",
      ),
    ),
    element(
      "ul",
      { class: "groups plain-list" },
      rows.map((row) =>
        element(
          "li",
          {},
          element("span", {}, row.text ? (row.member ? `example: ${row.text}` : row.text) : "No three members say the same."),
          element(
            "span",
            { class: "left-out-facts" },
            element("code", {}, row.cluster),
            sized(
              element("span", { class: "share-bar kind-value", "aria-hidden": "true" }),
              { "inline-size": `${(row.size / most) * 6}rem` },
            ),
            element("span", { class: "figure told" }, many(row.size, "experience")),
          ),
        ),
      ),
    ),
  );
}
