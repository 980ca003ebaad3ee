// Experiences with their life cycle: from a hypothesis to an outcome and what it taught.

import { call } from "./api.js";
import { offer } from "./controls.js";
import { byId, element } from "./dom.js";
import { empty, present } from "./notice.js";
import { knowledge } from "./options.js";
import { factList, steps } from "./records.js";
import { change } from "./state.js";
import { badge } from "./why.js";
import { many, minute, short } from "./words.js";

const LISTED = 500;
const STATES = ["active", "confirmed", "falsified", "abandoned"];

/** Wire the filters. */
export function wireExperiences() {
  byId("experience-outcome").addEventListener("change", (event) => change({ outcome: event.target.value }));
  byId("experience-domain").addEventListener("change", (event) => change({ domain: event.target.value }));
}

/** Show the experiences. */
export function showExperiences(now) {
  offer("experience-outcome", [["", "all"], ...STATES.map((name) => [name, name])], now.outcome);
  offer("experience-domain", [["", "all"], ...knowledge().domains.map((name) => [name, name])], now.domain);
  void present(
    byId("experience-cards"),
    "Looking",
    () => call("experiences", { limit: LISTED }),
    (answer) => cards(answer.experiences, now),
  );
}

function cards(experiences, { outcome, domain }) {
  const rows = experiences.filter((one) => (!outcome || one.status === outcome) && (!domain || one.domain === domain));
  if (!rows.length) {
    return experiences.length
      ? empty("No experience matches.", "Remove a filter.")
      : empty(
        "No experience is recorded here yet.",
        "`satchel experience start` begins one: what you try, and what you expect.",
      );
  }
  return [
    element("p", { class: "told" }, many(rows.length, "experience")),
    element("div", { class: "cards wide" }, rows.map(card)),
  ];
}

const KINDS = { active: "now", confirmed: "good", falsified: "bad", abandoned: "over" };

function card(experience) {
  const { status, outcome, confidence_tier: tier, root_cause: cause, lesson } = experience;
  return element(
    "article",
    { class: "card kind-experience", "aria-label": short(experience.goal), data: { id: experience.id } },
    element(
      "header",
      { class: "card-head" },
      element("h2", {}, experience.goal),
      badge(status, `state-${status}`),
      tier && tier !== status ? badge(tier, `tier-${tier}`, "How far it can be relied on") : null,
    ),
    steps(cycle(experience), "Its life"),
    factList([
      ["work", `${experience.domain}, ${experience.strategy}`],
      ["hypothesis", experience.hypothesis],
      ["action", experience.action],
      ["prediction", experience.prediction],
      ["result", outcome?.result],
      ["surprise", experience.surprise],
      ["root cause", cause ? `${cause.category}: ${cause.description}` : ""],
      ["lesson", lesson?.what_worked],
      ["takeaway", lesson?.takeaway],
      ["id", element("code", {}, experience.id)],
    ]),
    earlier(experience),
  );
}

function cycle({ status, created_at: created, updated_at: updated, history, notes, outcome }) {
  const rows = [{ name: "started", told: minute(created) }];
  if (history?.length) {
    rows.push({ name: "changed its mind", told: many(history.length, "earlier attempt") });
  }
  if (notes?.length) {
    rows.push({ name: "noted", told: many(notes.length, "note") });
  }
  return [...rows, { name: status, told: minute(outcome?.captured_at ?? updated), kind: KINDS[status] }];
}

function earlier({ history, notes }) {
  if (!history?.length && !notes?.length) {
    return null;
  }
  return element(
    "details",
    {},
    element("summary", {}, "Attempts and notes"),
    element("ol", {}, (history ?? []).map((attempt) => element("li", {}, attempt.hypothesis ?? ""))),
    element(
      "ul",
      {},
      (notes ?? []).map((note) => element("li", {}, typeof note === "string" ? note : note.text ?? "")),
    ),
  );
}
