// How numbers, names and times are said.

const WHOLE = new Intl.NumberFormat("en");

/** `12,345` */
export function count(number) {
  return WHOLE.format(number);
}

/** `1 item`, `2 items` */
export function many(number, noun, nouns = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : nouns}`;
}

/** `41 %` of a share between 0 and 1; never more than there is: nearly all is `99.8 %`, hardly any is `< 1 %`. */
export function percent(share) {
  const tenths = Math.floor(share * 1000) / 10;
  const shown = share > 0 && share < 0.01 ? "< 1" : tenths > 99 && tenths < 100 ? tenths.toFixed(1) : Math.floor(share * 100);
  return `${shown} %`;
}

/** `0.42`; whole numbers without a tail. */
export function score(value) {
  return Number.isInteger(value) ? String(value) : Number(value).toFixed(2);
}

/** `1.4 MB` */
export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A time of the answer (`2026-05-01T10:30:00Z` or epoch seconds) as `2026-05-01 10:30`, always UTC. */
export function minute(moment) {
  if (moment === null || moment === undefined || moment === "") {
    return "";
  }
  const date = typeof moment === "number" ? new Date(moment * 1000) : new Date(moment);
  return Number.isNaN(date.getTime()) ? String(moment) : date.toISOString().slice(0, 16).replace("T", " ");
}

/** Enough of a text for one line. */
export function short(text, characters = 80) {
  const line = String(text).replace(/\s+/g, " ").trim();
  return line.length > characters ? `${line.slice(0, characters - 1)}…` : line;
}

const STRONG = 0.2;
const FAIR = 0.08;

/** How well something matches, in words: the number alone says nothing to a visitor. */
export function strength(relevance) {
  return relevance >= STRONG ? "strong match" : relevance >= FAIR ? "fair match" : "weak match";
}

const MEANINGS = {
  "best part": "one place matches well",
  "top three parts": "several places match",
  "whole file": "the file as a whole matches",
  "file score": "how the file ranks among all that match",
  "file rank": "each file further down counts less",
  "name": "its names match",
  "file name": "the file is called so",
  "path mention": "the question names its path",
  "symbol mention": "the question names what it defines",
  "trace": "a stack trace or a named line leads here",
  "traced file": "a stack trace or a named line leads to this file",
  "history": "commits about this changed it",
  "calls": "tied by calls to what matches",
  "words": "its words match",
  "vectors": "it means something like the question",
  "likeness": "it means something like the question",
  "change": "the change concerns it",
  "pin": "you asked for it",
  "importance": "somebody said that it matters",
  "recency": "it is new",
  "tier": "how far the experience can be relied on",
  "distance": "how near it is in the graph",
  "edges": "how much the relations on the way are worth",
  "source": "how well the starting point matches",
};

/** What a signal measures, empty where its name says it. */
export function meaning(signal) {
  return MEANINGS[signal] ?? "";
}

const REASONS = {
  budget: "no tokens were left for it",
  limit: "there are enough items of its kind",
  value: "it adds little to what is shown",
};

/** Why something stayed out. */
export function reason(name) {
  return REASONS[name] ?? name;
}
