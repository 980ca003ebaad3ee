// Why something is in: its signals with their weights, its trust, its freshness.

import { drawn, element, sized } from "./dom.js";
import { meaning, score, strength } from "./words.js";

const TRUST = {
  guidance: ["your instructions", "An instruction file of a folder that you trust."],
  satchel: ["by satchel", "Written by satchel itself."],
};

const FRESHNESS = {
  moved: ["moved", "The same text, now on other lines than when it was indexed."],
  changed: ["changed since", "The same definition, with another text than when it was indexed."],
  stale: ["old text", "The text as it was indexed: the file no longer contains it."],
};

/** A short word in a frame, with what it means. */
export function badge(text, kind = "", title = "") {
  return element("span", { class: `badge ${kind}`, title: title || null }, text);
}

/** What is unusual about the text of an item: text of the project that is up to date has no badge. */
export function standing(item) {
  const freshness = item.metadata?.freshness;
  const trust = TRUST[item.trust];
  const fresh = FRESHNESS[freshness];
  return [
    trust ? badge(trust[0], `trust-${item.trust}`, trust[1]) : null,
    fresh ? badge(fresh[0], `fresh-${freshness}`, fresh[1]) : null,
  ];
}

/** A share from 0 to 1 as a small bar. It repeats what stands beside it, so it is hidden from readers. */
export function meter(share, kind = "") {
  const inner = sized(
    element("span", { class: `meter-fill ${kind}` }),
    { "inline-size": `${Math.max(0, Math.min(1, share)) * 100}%` },
  );
  return element("span", { class: "meter", "aria-hidden": "true" }, inner);
}

const MAX_RELEVANCE = 0.46;
// Of the first item of the surest answer: a full bar.

/** How well something matches, in the colour of a warning where it hardly does. */
export function matchMeter(relevance) {
  return meter(relevance / MAX_RELEVANCE, strength(relevance).replace(" ", "-"));
}

/** What each signal measured, the weight that it got, and what it so added: a table. */
export function signalTable(signals, label) {
  const largest = Math.max(...signals.map((signal) => Math.abs(signal.value * signal.weight)), 1e-9);
  return element(
    "div",
    { class: "scrolls", tabindex: "0", role: "region", "aria-label": label },
    element(
      "table",
      { class: "signals" },
      element(
        "thead",
        {},
        element("tr", {}, ["Signal", "Value", "Weight", "Adds"].map((name) => element("th", { scope: "col" }, name))),
      ),
      element("tbody", {}, signals.map((signal) => signalRow(signal, largest))),
    ),
  );
}

function signalRow(signal, largest) {
  const added = signal.value * signal.weight;
  const told = meaning(signal.name);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, signal.name, told ? element("span", { class: "told" }, told) : null),
    element("td", { class: "figure" }, score(signal.value)),
    element("td", { class: "figure" }, score(signal.weight)),
    element(
      "td",
      { class: "adds" },
      meter(Math.abs(added) / largest, added < 0 ? "negative" : ""),
      element("span", { class: "figure" }, score(added)),
    ),
  );
}

const ICONS = {
  close: "M4 4l8 8M12 4l-8 8",
  expand: "M8 3v10M3 8h10",
  graph: "M4 8a1.5 1.5 0 1 0 0-.01M12 4a1.5 1.5 0 1 0 0-.01M12 12a1.5 1.5 0 1 0 0-.01M5.4 7.3l5.2-2.6M5.4 8.7l5.2 2.6",
  pin: "M6 2.5h4l-.6 4.2 2.1 2.1H4.5l2.1-2.1zM8 8.8V14",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  hide: "M3 8h10",
};

/** A small picture beside words. */
export function icon(name) {
  return drawn(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    drawn("path", { d: ICONS[name] }),
  );
}
