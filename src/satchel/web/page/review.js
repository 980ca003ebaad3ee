// Candidates for memories, found in conversations: each waits until somebody accepts, corrects or rejects it.

import { call } from "./api.js";
import { button, byId, element } from "./dom.js";
import { keepDrafts, sentDraft, showText } from "./drafts.js";
import { announce, empty, failure, present } from "./notice.js";
import { knowledge } from "./options.js";
import { prose } from "./prose.js";
import { factList } from "./records.js";
import { state } from "./state.js";
import { badge } from "./why.js";
import { count, many, minute, short } from "./words.js";

const LISTED = 500;
const EXPERIENCE = "experience"; // the only kind whose text cannot be corrected: it is made of several fields

/** Show the candidates. */
export function showReview() {
  void present(byId("review-cards"), "Looking", listed, (rows) => cards(rows));
}

/** Ask for the candidates. The tab says how many wait; without any it is hidden, unless conversations are looked through. */
export async function listed() {
  const { candidates } = await call("remember", { action: "review", limit: LISTED });
  const tab = byId("tab-review");
  tab.textContent = candidates.length ? `Review ${count(candidates.length)}` : "Review";
  const isLookedThrough = knowledge().capture !== "off" && knowledge().documents.get("conversations") > 0;
  tab.hidden = !candidates.length && !isLookedThrough && state().view !== "review";
  return candidates;
}

function cards(rows, told = null, focused = 0) {
  if (!rows.length) {
    const hint = knowledge().capture === "off"
      ? "`memory.capture` is off: conversations are not looked through."
      : "When a conversation ends, what is worth remembering in it appears here.";
    return [told, element("div", { tabindex: "-1", data: { focus: "" } }, empty("Nothing to review.", hint))];
  }
  return [
    told,
    element("p", { class: "told" }, many(rows.length, "candidate")),
    element("div", { class: "cards" }, rows.map((row, at) => card(row, rows, at === Math.min(focused, rows.length - 1)))),
  ];
}

function card(row, rows, isFocused) {
  const field = row.kind === EXPERIENCE ? null : correction(row);
  const decide = (verdict) => () => void decided(verdict, row, rows, field);
  return element(
    "article",
    {
      class: `card kind-${row.kind === EXPERIENCE ? EXPERIENCE : "memory"}`,
      "aria-label": short(row.text),
      tabindex: "-1",
      data: { id: row.id, ...(isFocused ? { focus: "" } : {}) },
    },
    element("header", { class: "card-head" }, badge(row.kind, "kind")),
    prose(row.text, "a candidate"),
    row.text.includes(row.quote) ? null : element("blockquote", { class: "quoted" }, row.quote),
    factList([
      ["from", element("span", { class: "path" }, row.source)],
      ["found", minute(row.created)],
      ["id", element("code", {}, row.id)],
    ]),
    field
      ? element(
        "details",
        { class: "correction", open: field.value !== row.text },
        element("summary", { data: { act: "edit" } }, "Edit"),
        element("label", { class: "label", for: field.id }, "Text to remember"),
        field,
      )
      : null,
    element(
      "footer",
      { class: "tools" },
      act("Accept", decide("accept"), row, "strong"),
      act("Reject", decide("reject"), row, "quiet danger-text"),
    ),
  );
}

function act(name, decide, row, kind) {
  const label = `${name}: ${short(row.text, 60)}`;
  return button(name, decide, { class: kind, "aria-label": label, data: { act: name.toLowerCase() } });
}

function correction(row) {
  const field = element("textarea", { id: `text-${row.id}`, rows: "3" });
  showText(field, row.text);
  keepDrafts(field);
  return field;
}

/** Decide on a candidate. If that is refused, as for one that was decided on elsewhere, the list is shown with why. */
async function decided(verdict, row, rows, field) {
  const place = byId("review-cards");
  if (place.hasAttribute("aria-busy")) {
    return;
  }
  const typed = field?.value.trim();
  if (verdict === "accept" && typed === "") {
    field.focus();
    return;
  }
  const text = verdict === "accept" && typed !== row.text ? typed : "";
  let told = null;
  await present(
    place,
    "Deciding",
    async (asksNow) => {
      told = null;
      try {
        await call("remember", { action: "review", verdict, ids: [row.id], text });
        announce(verdict === "accept" ? "Remembered" : "Rejected");
        if (field) {
          sentDraft(field);
        }
      } catch (error) {
        if (error.status !== 400) {
          throw error;
        }
        told = failure(error);
      }
      asksNow();
      return listed();
    },
    (found) => cards(found, told, rows.indexOf(row)),
  );
}
