// Lists of an answer: who calls or uses a definition, line by line, and places to look at next.

import { element } from "./dom.js";
import { placeLink } from "./editor.js";
import { count, many } from "./words.js";

const OPEN = 6;
// Files of a list that are shown without a click.

/** The lists of `meta.callers`: one for each definition in question. */
export function callers(listing) {
  return (listing ?? []).map((target) => {
    const rows = target.files.map(fileRow);
    return element(
      "section",
      { class: "callers section", "aria-label": `Uses of ${target.name}` },
      element("h3", {}, headOf(target)),
      rows.length ? element("ul", { class: "plain-list" }, rows.slice(0, OPEN)) : null,
      rows.length > OPEN
        ? element(
          "details",
          {},
          element("summary", {}, `${many(rows.length - OPEN, "more file")}`),
          element("ul", { class: "plain-list" }, rows.slice(OPEN)),
        )
        : null,
      unresolved(target),
    );
  });
}

/** `Call sites of Client.send: 12 in 5 files and 3 other uses`, as the exact text has it. */
function headOf(target) {
  const files = target.files;
  if (target.told) {
    const found = `${target.at_least ? "at least " : ""}${count(target.definitions)} in ${many(files.length, "file")}`;
    return `${target.told} of ${target.name}: ${files.length ? found : "none resolved"}`;
  }
  const uses = files.reduce((sum, file) => sum + file.uses.length, 0);
  const calling = files.filter((file) => file.lines.length).length;
  if (!target.calls && uses) {
    return `Uses of ${target.name}: ${count(uses)} in ${many(files.length, "file")}`;
  }
  const calls = target.calls ? `${count(target.calls)} in ${many(calling, "file")}` : "none resolved";
  return `Call sites of ${target.name}: ${calls}${uses ? ` and ${many(uses, "other use")}` : ""}`;
}

function fileRow(file) {
  const defined = new Map(file.definitions ?? []);
  return element(
    "li",
    { class: file.test ? "told path" : "path" },
    `${file.path}: `,
    file.lines.map((line, at) => [at ? ", " : "", placeLink(lineName(line, defined), file.path, line)]),
    file.uses.length ? [file.lines.length ? "; " : "", "named ", file.uses.map((line, at) => [at ? ", " : "", placeLink(String(line), file.path, line)])] : null,
    file.test ? " (test)" : "",
  );
}

function lineName(line, defined) {
  return defined.has(line) ? `${line} ${defined.get(line)}` : String(line);
}

function unresolved(target) {
  const lines = (target.unresolved ?? []).reduce((sum, file) => sum + file.lines.length, 0);
  if (!lines && !target.unread_files) {
    return null;
  }
  return element(
    "details",
    {},
    element(
      "summary",
      {},
      [
        lines ? `${many(lines, "more line")} with the name, not resolved` : "",
        target.unread_files ? `${many(target.unread_files, "file")} not read` : "",
      ].filter(Boolean).join("; "),
    ),
    element(
      "ul",
      { class: "plain-list" },
      (target.unresolved ?? []).map((file) =>
        element(
          "li",
          { class: "told path" },
          `${file.path}: `,
          file.lines.map((line, at) => [at ? ", " : "", placeLink(String(line), file.path, line)]),
        ),
      ),
    ),
  );
}

/** The places that an answer names beside what it shows: `meta.places`. */
export function places(rows) {
  if (!rows?.length) {
    return null;
  }
  return element(
    "section",
    { class: "places section", "aria-label": "Places to look at next" },
    element("h3", {}, "Places to look at next"),
    element("ul", { class: "plain-list" }, rows.map(placeRow)),
  );
}

function placeRow(row) {
  const ranges = row.ranges.map(({ start, end }) => (end > start ? `${start}-${end}` : start)).join(",");
  return element(
    "li",
    {},
    placeLink(`${row.path}:${ranges}`, row.path, row.ranges[0].start, { class: "path" }),
    ` ${row.name}`,
    element("span", { class: "told" }, ` ${row.test ? "test, " : ""}${row.why}: ${row.text}`),
  );
}
