// The controls of a question: budget, kinds, format, lens, pins. They show the state and change it, nothing else.

import { button, byId, element, replace } from "./dom.js";
import { announce } from "./notice.js";
import { LEAST_BUDGET, MAX_BUDGET, change, state, withinBudget } from "./state.js";
import { icon } from "./why.js";
import { count, short } from "./words.js";

const STEPS = 100;
const ROUND = 50;
const FINE = 1000;
// The slider is logarithmic: from 200 to 400 is as far as from 16,000 to 32,000. Above 1,000 it moves in fifties.

/** The place of a budget on the slider, 0 to 100. */
export function placeOnSlider(tokens) {
  return Math.round((Math.log(tokens / LEAST_BUDGET) / Math.log(MAX_BUDGET / LEAST_BUDGET)) * STEPS);
}

/** The budget at a place of the slider. */
export function budgetAt(place) {
  const exact = LEAST_BUDGET * (MAX_BUDGET / LEAST_BUDGET) ** (place / STEPS);
  const round = exact < FINE ? 10 : ROUND;
  return withinBudget(Math.round(exact / round) * round);
}

/** Give the budget another value; what had been raised for something is forgotten. */
export function setBudget(tokens, options = {}) {
  change({ max: withinBudget(tokens), raised: [] }, options);
}

/** One step of the slider up (+1) or down (-1). */
export function stepBudget(direction) {
  const place = placeOnSlider(state().max) + direction * 5;
  setBudget(budgetAt(Math.min(STEPS, Math.max(0, place))));
  announce(`Budget ${count(state().max)} tokens`);
}

/** Wire the budget: the slider asks while it moves, the number when it is entered. */
export function wireBudget() {
  const slider = byId("budget-slider");
  const number = byId("budget-number");
  slider.addEventListener("input", () => setBudget(budgetAt(Number(slider.value)), { quiet: true }));
  number.addEventListener("change", () => {
    if (number.value === "") {
      number.value = String(state().max);
      return;
    }
    const wanted = withinBudget(number.value);
    if (String(wanted) !== number.value) {
      announce(`The budget is ${count(LEAST_BUDGET)} to ${count(MAX_BUDGET)} tokens: ${count(wanted)} it is`);
    }
    setBudget(wanted);
    number.value = String(state().max);
  });
}

/** Show the budget of the state. */
export function showBudget(tokens) {
  const slider = byId("budget-slider");
  if (budgetAt(Number(slider.value)) !== tokens) {
    slider.value = String(placeOnSlider(tokens));
  }
  slider.setAttribute("aria-valuetext", `${count(tokens)} tokens`);
  if (document.activeElement !== byId("budget-number")) {
    byId("budget-number").value = String(tokens);
  }
}

/** Kinds as buttons that stay pressed; none pressed means every kind that has documents. The others are not shown. */
export function showKinds(kinds, documents) {
  const chosen = state().types;
  const focused = document.activeElement?.dataset?.kind;
  const shown = kinds.filter((name) => !documents.size || documents.get(name) || chosen.includes(name));
  replace(
    byId("kinds"),
    shown.map((name) => kindChip(name, documents.get(name), chosen.includes(name))),
  );
  if (focused) {
    byId("kinds").querySelector(`[data-kind="${CSS.escape(focused)}"]`)?.focus();
  }
}

function kindChip(name, number, isChosen) {
  const label = [
    element("span", { class: `swatch kind-${singular(name)}`, "aria-hidden": "true" }),
    name,
    number === undefined ? null : element("span", { class: "figure told" }, count(number)),
  ];
  const properties = { class: "chip", "aria-pressed": String(isChosen), data: { kind: name } };
  return button(label, () => toggleKind(name), properties);
}

function toggleKind(name) {
  const chosen = state().types;
  change({ types: chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name] });
}

/** `memories` as `memory`: the name of one of a kind. */
export function singular(name) {
  return name === "memories" ? "memory" : name === "code" ? name : name.replace(/s$/, "");
}

/** Offer choices in a select, with the one of the state chosen. */
export function offer(id, choices, chosen) {
  const select = byId(id);
  const known = [...select.options].map((option) => option.value).join();
  const wanted = choices.map(([value]) => value);
  if (known !== wanted.join()) {
    replace(select, choices.map(([value, label]) => element("option", { value }, label)));
  }
  select.value = wanted.includes(chosen) ? chosen : wanted[0];
}

/** What was pinned, left out or raised, each with a way to take it back. */
export function showPins() {
  const { pin, without, raised } = state();
  const rows = [
    ...pin.map((place) => chip("pin", "always", place, () => change({ pin: pin.filter((one) => one !== place) }))),
    ...without.map((place) =>
      chip("hide", "without", place, () => change({ without: without.filter((one) => one !== place) })),
    ),
    ...raisedChips(raised),
  ];
  const place = byId("pins");
  const hadFocus = place.contains(document.activeElement);
  place.hidden = rows.length === 0;
  replace(place, rows);
  if (hadFocus) {
    (place.querySelector("button") ?? byId("question")).focus();
  }
}

function raisedChips(raised) {
  if (raised.length !== 3) {
    return [];
  }
  const [what, before, name] = raised;
  const verb = what === "max" ? `raised from ${count(Number(before))} tokens for` : "more of a kind for";
  return [chip("expand", verb, name, () => change({ [what]: Number(before), raised: [] }))];
}

function chip(picture, verb, name, remove) {
  return element(
    "li",
    { class: "pin-chip" },
    icon(picture),
    element("span", { class: "told" }, verb),
    element("span", { class: "path" }, short(name, 60)),
    button(
      icon("close"),
      remove,
      { class: "bare", "aria-label": `Take back: ${verb} ${name}`, data: { act: "unpin" } },
    ),
  );
}
