// The view that asks: from the controls to a request, from the answer to the page.

import { call } from "./api.js";
import { showAnswer } from "./answer.js";
import { measured } from "./budget.js";
import { offer, showBudget, showKinds, showPins, wireBudget } from "./controls.js";
import { byId, replace } from "./dom.js";
import { draftOf, keepDrafts, sentDraft, showText } from "./drafts.js";
import { nameOf, placeOf } from "./item.js";
import { announce, failure, waiting } from "./notice.js";
import { knowledge, whenCounted } from "./options.js";
import { rememberQuestion, showStart } from "./start.js";
import { MAX_BUDGET, change, state } from "./state.js";
import { differences, summary } from "./changes.js";
import { count, many } from "./words.js";

const PAUSE_MILLISECONDS = 250;
// After the last movement of the slider: shorter asks for budgets that nobody wants, longer feels stuck.

const MAX_RAISES = 4;
// The budget that shows something is an estimate; each try uses the new estimate.

const MARGIN = 1.05;

const GLOB_SIGNS = /[*?[\]\\]/g;

let shown = null;
let timer = 0;
let running = null;
let wanted = null;

/** The arguments of the request that a state stands for, with the operation that answers it. */
export function requestOf(now) {
  const question = now.q.trim();
  if (now.lens) {
    return [
      "graph_context",
      { query: question, lens: now.lens, max_tokens: now.max, format: now.format === "json" ? "json" : "markdown" },
    ];
  }
  const given = { question, max_tokens: now.max, format: now.format };
  const listed = { types: now.types, include: now.pin, exclude: now.without };
  const asked = Object.entries(listed).filter(([, values]) => values.length);
  return ["context_query", { ...given, ...Object.fromEntries(asked), ...(now.limit ? { limit: now.limit } : {}) }];
}

/** Wire the form. */
export function wireAsk() {
  const form = byId("ask-form");
  const question = byId("question");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(question.value);
  });
  question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit(question.value);
    }
  });
  keepDrafts(question, noteDraft);
  byId("format").addEventListener("change", (event) => change({ format: event.target.value }));
  byId("lens").addEventListener("change", (event) => change({ lens: event.target.value }));
  byId("more-controls").open = window.matchMedia("(width >= 48rem)").matches;
  whenCounted(() => showKinds(knowledge().kinds, knowledge().documents));
  wireBudget();
}

function submit(text) {
  sentDraft(byId("question"));
  sentDraft({ id: "missed" });
  noteDraft();
  if (text.trim()) {
    rememberQuestion(text.trim());
  }
  if (text.trim() === state().q.trim()) {
    ask(state(), 0);
  } else {
    change({ q: text.trim(), raised: [] });
  }
}

/** Ask a question that was chosen; one that was typed and not asked stays among the last questions. */
function choose(text) {
  const typed = draftOf(byId("question"))?.trim();
  if (typed) {
    rememberQuestion(typed);
  }
  submit(text);
}

function noteDraft() {
  byId("draft-note").hidden = draftOf(byId("question")) === null || !state().q;
}

/** Show the controls, and ask again if the request is another one. */
export function showAsk(now, former) {
  const known = knowledge();
  showText(byId("question"), now.q);
  noteDraft();
  showBudget(now.max);
  showKinds(known.kinds, known.documents);
  offer("format", known.formats.map((name) => [name, name]), now.format);
  offer("lens", [["", "words"], ...known.lenses.map((name) => [name, `relations: ${name}`])], now.lens);
  showPins();
  byId("kinds").closest(".control").hidden = now.lens !== "";
  const isOther = shown === null || JSON.stringify(requestOf(now)) !== shown.key;
  if (!now.q.trim()) {
    stop();
    shown = null;
    showStart(byId("answer"), choose);
  } else if (isOther) {
    ask(now, shown === null || former?.q !== now.q ? 0 : PAUSE_MILLISECONDS);
  } else if (former?.raw !== now.raw || former?.view !== now.view) {
    stop();
    showAnswer(shown.answer, shown.former, acts());
  } else {
    stop();
  }
}

function stop() {
  window.clearTimeout(timer);
  running?.abort();
  running = null;
  byId("answer").removeAttribute("aria-busy");
}

function ask(now, pause) {
  stop();
  byId("answer").setAttribute("aria-busy", "true");
  timer = window.setTimeout(() => void asked(now), pause);
}

async function asked(now, more = {}) {
  const [operation, given] = requestOf(now);
  const key = JSON.stringify([operation, given]);
  const attempt = new AbortController();
  running = attempt;
  const place = byId("answer");
  if (shown === null) {
    replace(place, waiting(byId("progress").childElementCount ? "The index is being built, then this is answered" : "Searching"));
  }
  try {
    const answer = measured(await call(operation, { ...given, ...more }, attempt.signal));
    if (attempt.signal.aborted || raisedAgain(answer)) {
      return;
    }
    const former = formerOf(key, given);
    shown = { key, request: given, answer, former };
    showAnswer(answer, former, acts());
    announce(spoken(answer, former));
  } catch (error) {
    if (error.name === "AbortError") {
      return;
    }
    shown = null;
    replace(place, failure(error, () => ask(state(), 0)));
    if (error.name !== "ApiError") {
      throw error;
    }
  } finally {
    if (running === attempt) {
      place.removeAttribute("aria-busy");
    }
  }
}

/** The answer to compare with: that to the same request with another budget; asked again, the same as before. */
function formerOf(key, given) {
  const plain = ({ max_tokens: _, ...rest }) => JSON.stringify(rest);
  if (shown === null || plain(shown.request) !== plain(given)) {
    return null;
  }
  return shown.key === key ? shown.former : shown.answer;
}

function spoken(answer, former) {
  const { used, limit } = answer.usage;
  const base = `${many(answer.items.length, "item")}, ${count(used)} of ${count(limit)} tokens`;
  return former ? `${base}. ${summary(differences(former, answer), former)}` : base;
}

/** What can be done with an item: a walk by a lens takes neither pins nor exclusions. */
function acts() {
  const always = { admit, walk: (item) => change({ view: "graph", node: item.id }) };
  if (state().lens) {
    return always;
  }
  return {
    ...always,
    asked: shown.request,
    pin: (item) => change({ pin: withOne(state().pin, placeOf(item)) }),
    without: (item) => change({ without: withOne(state().without, item.location.path.replace(GLOB_SIGNS, "\\$&")) }),
  };
}

function withOne(places, place) {
  return places.includes(place) ? places : [...places, place];
}

/** Let something in: a place is pinned, for a record what is allowed is raised. */
function admit(row) {
  const now = state();
  const place = placeOf(row);
  if (place && !now.lens) {
    change({ pin: withOne(now.pin, place) });
    return;
  }
  if (!row.budget && !now.lens) {
    const limit = shown.answer.meta.request.limit;
    change({ limit: limit * 2, raised: ["limit", String(now.limit), nameOf(row)] });
    return;
  }
  wanted = { id: row.id, raises: 0 };
  raise(row, now);
}

function raise(row, now) {
  const before = now.raised[0] === "max" ? now.raised[1] : String(now.max);
  const needed = Math.max(row.budget, Math.ceil(now.max * MARGIN));
  if (needed > MAX_BUDGET) {
    wanted = null;
    byId("answer").prepend(tooLarge(row, needed));
    return;
  }
  wanted.raises += 1;
  change({ max: needed, raised: ["max", before, nameOf(row)] });
}

function tooLarge(row, needed) {
  const text = `${nameOf(row)} needs about ${count(needed)} tokens, more than the ${count(MAX_BUDGET)} of this page.`;
  return failure(new Error(text));
}

/** Whether what shall come in is still out, so that the budget was raised once more. */
function raisedAgain(answer) {
  if (wanted === null) {
    return false;
  }
  const row = answer.overflow.find((one) => one.id === wanted.id);
  if (row === undefined || wanted.raises >= MAX_RAISES || answer.usage.limit !== state().max) {
    wanted = null;
    return false;
  }
  const before = state().max;
  raise(row, state());
  return state().max !== before;
}
