// Memories with their life cycle: what replaced what, and how to forget one.

import { call } from "./api.js";
import { offer } from "./controls.js";
import { button, byId, element } from "./dom.js";
import { keepDrafts, sentDraft, showText } from "./drafts.js";
import { announce, empty, present } from "./notice.js";
import { knowledge } from "./options.js";
import { confirmed } from "./dialogs.js";
import { prose } from "./prose.js";
import { factList, steps } from "./records.js";
import { change, state } from "./state.js";
import { badge, meter } from "./why.js";
import { many, minute, score, short } from "./words.js";

const LISTED = 500;

/** Wire the forms. */
export function wireMemories() {
  byId("remember-form").addEventListener("submit", (event) => {
    event.preventDefault();
    void remember();
  });
  keepDrafts(byId("remember-text"));
  byId("memory-find").addEventListener("input", (event) => change({ find: event.target.value }, { quiet: true }));
  byId("memory-category").addEventListener("change", (event) => change({ category: event.target.value }));
  byId("memory-replaced").addEventListener("change", (event) => change({ replaced: event.target.checked }));
}

async function remember() {
  const field = byId("remember-text");
  const text = field.value.trim();
  if (!text) {
    field.focus();
    return;
  }
  await present(
    byId("memory-cards"),
    "Remembering",
    async (asksNow) => {
      await call("remember", { action: "store", text, category: byId("remember-category").value, provenance: "user" });
      sentDraft(field);
      field.value = "";
      announce("Remembered");
      asksNow();
      return listed();
    },
    cards,
  );
}

let all = null;

/** Show the memories, asked for again unless only the filter changed. */
export function showMemories(now, former) {
  const { categories } = knowledge();
  offer("remember-category", categories.map((name) => [name, name]), byId("remember-category").value || "fact");
  offer("memory-category", [["", "all"], ...categories.map((name) => [name, name])], now.category);
  byId("memory-replaced").checked = now.replaced;
  showText(byId("remember-text"), "");
  if (document.activeElement !== byId("memory-find")) {
    byId("memory-find").value = now.find;
  }
  const isOnlyFiltered = all !== null && former?.view === "memories" && former.replaced === now.replaced;
  all = isOnlyFiltered ? all : null;
  void present(byId("memory-cards"), "Looking", async () => all ?? listed(), cards);
}

async function listed() {
  return (await call("memories", { superseded: Boolean(state().replaced), limit: LISTED })).memories;
}

function cards(memories) {
  all = memories;
  const { category, find } = state();
  const words = find.toLowerCase();
  const rows = memories.filter((memory) =>
    (!category || memory.category === category) && (
      !words
      || JSON.stringify([memory.content, memory.tags, memory.id]).toLowerCase().includes(words)
    ),
  );
  if (!rows.length) {
    return memories.length
      ? empty("No memory matches.", "Remove a filter.")
      : empty("Nothing is remembered here yet.", "Write it above, or `satchel remember \"...\"` in a terminal.");
  }
  return [
    element("p", { class: "told" }, many(rows.length, "memory", "memories")),
    element("div", { class: "cards" }, rows.map(card)),
  ];
}

function card(memory) {
  const isReplaced = Boolean(memory.superseded_by);
  return element(
    "article",
    {
      class: `card kind-memory${isReplaced ? " replaced" : ""}`,
      "aria-label": short(memory.content),
      data: { id: memory.id },
    },
    element(
      "header",
      { class: "card-head" },
      badge(memory.category, "kind kind-memory"),
      element(
        "span",
        { class: "summary-figure" },
        meter(memory.importance),
        element("span", { class: "figure told" }, `importance ${score(memory.importance)}`),
      ),
      badge(memory.provenance, memory.provenance === "user" ? "" : "warn-badge", "Who says it"),
    ),
    prose(memory.content, "a memory"),
    (memory.tags ?? []).length
      ? element(
        "ul",
        { class: "tags plain-list", "aria-label": "Tags" },
        memory.tags.map((tag) => element("li", { class: "tag" }, tag)),
      )
      : null,
    steps(cycle(memory), "Its life"),
    factList([
      ["id", element("code", {}, memory.id)],
      ["origin", memory.origin === memory.provenance ? "" : memory.origin],
      ["for", memory.workspace ? "this repository" : "every folder"],
    ]),
    element(
      "footer",
      { class: "tools" },
      button(
        "Forget",
        () => void forget(memory),
        { class: "quiet danger-text", "aria-label": `Forget: ${short(memory.content, 60)}`, data: { act: "forget" } },
      ),
    ),
  );
}

function cycle(memory) {
  const rows = [{ name: "stored", told: minute(memory.created_at) }];
  if (memory.supersedes) {
    rows.unshift({ name: "replaced", told: memory.supersedes });
  }
  return memory.superseded_by
    ? [...rows, { name: "replaced by", told: memory.superseded_by, kind: "over" }]
    : [...rows, { name: "current", told: "", kind: "good" }];
}

async function forget(memory) {
  if (!(await confirmed("Forget this memory?", memory.content, "Forget it"))) {
    return;
  }
  await present(
    byId("memory-cards"),
    "Forgetting",
    async (asksNow) => {
      await call("remember", { action: "forget", ids: [memory.id] });
      announce("Forgotten");
      asksNow();
      return listed();
    },
    cards,
  );
  byId("memory-find").focus();
}
