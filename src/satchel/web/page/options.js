// What the server offers: kinds, formats, lenses, choices. Asked for once; the page works with what it knows by itself.

import { look } from "./api.js";

let known = Object.freeze({
  kinds: ["memories", "code", "experiences", "values", "commits", "docs", "notes", "conversations"],
  file_kinds: ["code", "doc", "note"],
  formats: ["markdown", "xml", "plain", "json"],
  lenses: ["general"],
  categories: [],
  domains: [],
  documents: new Map(),
  root: "",
  folder: "",
  capture: "suggest",
});

/** What is known of the server now. */
export function knowledge() {
  return known;
}

/** Ask the server what it offers. */
export async function learnOptions() {
  const found = await look("options");
  known = Object.freeze(
    {
      ...known,
      ...Object.fromEntries(Object.entries(found).filter(([name]) => name in known && name !== "documents")),
    },
  );
}

let changed = () => {};

/** Call this whenever there are other numbers of documents than before, as after the first index. */
export function whenCounted(listener) {
  changed = listener;
}

/** Remember how many documents of each kind there are: [[plural name, number]]. Records count as documents here. */
export function learnDocuments(rows) {
  const isOther = JSON.stringify(rows) !== JSON.stringify([...known.documents]);
  known = Object.freeze({ ...known, documents: new Map(rows) });
  if (isOther) {
    changed();
  }
}
