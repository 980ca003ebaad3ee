// What is said to people: the live region, messages about failures, and the empty states.

import { byId, button, element, replace } from "./dom.js";
import { inline } from "./prose.js";

/** Say something to those who do not see the page change. */
export function announce(text) {
  byId("live").textContent = text;
}

/** A failure as a message, with what to do and a way to try again. */
export function failure(error, again = null) {
  return element(
    "div",
    { class: "message bad", role: "alert" },
    element("p", { class: "message-head" }, error.message),
    error.hint ? element("p", {}, inline(error.hint)) : null,
    again ? button("Try again", again, { class: "quiet", data: { act: "retry" } }) : null,
  );
}

/** What parts of an answer could not do. */
export function failures(rows) {
  if (!rows?.length) {
    return null;
  }
  return element(
    "ul",
    { class: "message warn plain-list", "aria-label": "What did not work" },
    rows.map((row) =>
      element(
        "li",
        {},
        element("strong", {}, row.source),
        ": ",
        inline(row.message),
        row.hint ? [" (", inline(row.hint), ")"] : null,
      ),
    ),
  );
}

/** Nothing to show, and what would change that. */
export function empty(text, hint = "") {
  return element(
    "div",
    { class: "message calm" },
    element("p", { class: "message-head" }, text),
    hint ? element("p", {}, inline(hint)) : null,
  );
}

/** Shapes that hold the place of what is on its way. */
export function waiting(text) {
  return element(
    "div",
    { class: "waiting", role: "status" },
    element("p", { class: "told" }, `${text} …`),
    [1, 2, 3].map(() => element("div", { class: "shade", "aria-hidden": "true" })),
  );
}

/**
 * Fill a place again without losing the focus: if it was inside, it goes to the same button of what is new, else to
 * what is marked with `data-focus`.
 */
export function keepingFocus(place, fill) {
  const before = document.activeElement;
  const wasInside = place !== before && place.contains(before);
  const sought = before === null ? "" : markOf(before);
  fill();
  if (!wasInside) {
    return;
  }
  const same = [...place.querySelectorAll("[data-act]")].find((one) => markOf(one) === sought);
  (same ?? place.querySelector("[data-focus]"))?.focus({ preventScroll: same !== undefined });
}

function markOf(made) {
  const { act, node, handle } = made.dataset;
  return JSON.stringify([act, node, handle, made.closest("[data-id]")?.dataset.id]);
}

const asking = new WeakMap();

/**
 * Fill a place with what `ask` brings: first shapes, then `show` of the answer, or the failure with a retry. Of several
 * for one place the one that asked last is shown: `ask` calls what it is given if it asks only after something else.
 */
export async function present(place, text, ask, show) {
  let own;
  const asksNow = () => {
    own = {};
    asking.set(place, own);
  };
  const isLast = () => asking.get(place) === own;
  asksNow();
  place.setAttribute("aria-busy", "true");
  if (!place.childElementCount) {
    replace(place, waiting(text));
  }
  try {
    const answer = await ask(asksNow);
    if (isLast()) {
      keepingFocus(place, () => replace(place, show(answer)));
    }
  } catch (error) {
    if (isLast()) {
      replace(place, failure(error, () => present(place, text, ask, show)));
    }
    if (error.name !== "ApiError") {
      throw error; // a fault of the page itself: it belongs into the console too
    }
  } finally {
    if (isLast()) {
      place.removeAttribute("aria-busy");
    }
  }
}
