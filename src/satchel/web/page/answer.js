// An answer: how much of the budget it used, what is in it, and what stayed out.

import { button, byId, element, replace } from "./dom.js";
import { budgetBar, sections, treemap } from "./budget.js";
import { callers, places } from "./callers.js";
import { changeList, differences } from "./changes.js";
import { itemCard } from "./item.js";
import { markWords } from "./marking.js";
import { leftOut } from "./leftout.js";
import { announce, empty, failures, keepingFocus } from "./notice.js";
import { standingForm } from "./standing.js";
import { change, state } from "./state.js";
import { icon, meter } from "./why.js";
import { count, many, percent } from "./words.js";

const COPIED_MILLISECONDS = 2000;

/** Show an answer. `former` is the one to the same question with another budget, or null; `acts` act on items. */
export function showAnswer(answer, former, acts) {
  const rows = former ? differences(former, answer) : [];
  const place = byId("answer");
  const parts = [
    usageLine(answer, rows, former),
    weakness(answer.meta, answer.items.length > 0),
    failures(answer.failures),
    element(
      "div",
      { class: "answer-columns" },
      element(
        "aside",
        { class: "side", "aria-label": "Budget and what was left out" },
        tokensPanel(answer),
        outPanel(answer, acts),
      ),
      element(
        "div",
        { class: answer.meta.weak ? "packed weak" : "packed" },
        packed(answer, { ...acts, changed: new Map(rows.map((row) => [row.id, row.mark])) }),
      ),
    ),
  ];
  keepingFocus(place, () => replace(place, parts));
  markWords(place, state().q);
  place.querySelectorAll(".item[data-best]").forEach(scrollToBest);
}

/** A long listing begins with what matches best; what is above it can be scrolled to. */
function scrollToBest(card) {
  const code = card.querySelector(".code");
  const line = card.dataset.best && code?.querySelector(`[data-line="${card.dataset.best}"]`)?.closest(".line");
  if (line && code.scrollHeight > code.clientHeight) {
    const head = line.previousElementSibling?.matches(".range-head") ? line.previousElementSibling : line;
    code.scrollTop = head.getBoundingClientRect().top - code.getBoundingClientRect().top;
  }
}

/** That nothing answers the question well, and which of its words occur nowhere, or in tests alone. */
function weakness({ weak, missing_terms: missing, only_in_tests: ofTests }, hasItems) {
  const words = (label, list) => (list?.length ? element("p", {}, label, list.map((word) => [element("code", {}, word), " "])) : null);
  if (!missing?.length && !ofTests?.length && !(weak && hasItems)) {
    return null;
  }
  return element(
    "div",
    { class: "message warn" },
    weak ? element("p", { class: "message-head" }, "Weak match: nothing here answers this well.") : null,
    words("These words occur nowhere here: ", missing),
    words("Only tests and examples have these words: ", ofTests),
    weak && hasItems ? element("p", {}, "The few best places follow. Try other words, or names from the code.") : null,
  );
}

function usageLine({ usage, items, sources_used: used }, rows, former) {
  const sources = Object.keys(used ?? {}).length;
  return element(
    "div",
    { class: "usage" },
    element(
      "p",
      { class: "usage-text", id: "usage-text", tabindex: "-1", data: { focus: "" } },
      element("strong", { class: "figure" }, count(usage.used)),
      ` of ${count(usage.limit)} tokens`,
      element(
        "span",
        { class: "told" },
        ` (${percent(usage.utilization)}, ${usage.exact ? "counted" : "estimated"} for ${usage.tokenizer}); `,
        `${many(items.length, "item")} from ${many(sources, "source")}`,
      ),
    ),
    meter(usage.utilization, "budget-meter"),
    rows.length || former ? changeList(rows, former) : null,
  );
}

function packed(answer, acts) {
  if (!answer.items.length && !answer.text) {
    return empty(
      "Nothing here is relevant to that.",
      "Try other words, or names from the code; search in more kinds.",
    );
  }
  return [
    element("div", { class: "packed-head" }, views(), linkButton(), copyButton(answer)),
    state().raw ? raw(answer) : [callers(answer.meta.callers), rendered(answer, acts), places(answer.meta.places)],
  ];
}

function views() {
  const one = (label, isRaw) =>
    button(
      label,
      () => change({ raw: isRaw }),
      {
        class: "choice",
        "aria-pressed": String(state().raw === isRaw),
        data: { raw: String(isRaw), act: `raw-${isRaw}` },
      },
    );
  return element(
    "div",
    { class: "choices", role: "group", "aria-label": "How the context is shown" },
    one("Readable", false),
    one("Exact text", true),
  );
}

function copyButton(answer) {
  const label = element("span", {}, "Copy");
  const copy = async () => {
    const isCopied = await copied(answer.text);
    label.textContent = isCopied ? "Copied" : "Select it by hand";
    announce(
      isCopied
        ? `Copied ${many(answer.usage.used, "token")}`
        : "The browser does not let pages copy: the text is shown, select it by hand",
    );
    if (!isCopied) {
      change({ raw: true });
    }
    window.setTimeout(() => {
      label.textContent = "Copy";
    }, COPIED_MILLISECONDS);
  };
  return button(
    [icon("copy"), label],
    copy,
    { class: "quiet", data: { act: "copy" }, "aria-label": "Copy the exact text of the context" },
  );
}

/** The address has the question and everything that shapes its answer. */
function linkButton() {
  const label = element("span", {}, "Copy link");
  const copy = async () => {
    const done = await copied(window.location.href);
    label.textContent = done ? "Copied" : "The address bar has it";
    announce(label.textContent);
    window.setTimeout(() => {
      label.textContent = "Copy link";
    }, COPIED_MILLISECONDS);
  };
  return button(label, copy, { class: "quiet", title: "The address of this answer", data: { act: "link" } });
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // refused, or no clipboard in this browser: the text is shown instead
  }
}

function raw(answer) {
  return element(
    "pre",
    { class: "raw", tabindex: "0", role: "region", "aria-label": "The exact text of the context" },
    answer.text,
  );
}

function rendered(answer, acts) {
  return sections(answer.items).map((section) =>
    element(
      "section",
      { class: "section", "aria-label": `${section.name}, ${many(section.items.length, "item")}` },
      element(
        "h3",
        {},
        section.name,
        element(
          "span",
          { class: "told figure" },
          `${many(section.items.length, "item")}, ${many(section.tokens, "token")}`,
        ),
      ),
      section.items.map(({ item, rank }) => itemCard(item, rank, acts)),
    ),
  );
}

function tokensPanel(answer) {
  return folding("Where the tokens went", "", budgetBar(answer), treemap(answer));
}

function outPanel(answer, acts) {
  const number = answer.overflow.length ? count(answer.overflow.length) : "";
  return folding(
    "What was left out",
    number,
    leftOut(answer.overflow, acts.admit),
    acts.asked ? standingForm(acts.asked, acts.admit) : null,
  );
}

const open = new Map();

/** A panel that is open where there is room for it beside the answer, until somebody folds it. */
function folding(head, told, ...parts) {
  const isWide = window.matchMedia("(width >= 64rem)").matches;
  const panel = element(
    "details",
    { class: "panel folding", open: open.get(head) ?? isWide },
    element("summary", {}, element("h2", {}, head), told ? element("span", { class: "told figure" }, told) : null),
    element("div", { class: "folded" }, parts),
  );
  panel.querySelector("summary").addEventListener("click", () => open.set(head, !panel.open));
  return panel;
}
