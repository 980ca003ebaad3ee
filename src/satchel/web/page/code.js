// Source code with its line numbers and a little colour. Every token is a text node: content never becomes markup.

import { element } from "./dom.js";

const C_LIKE = { line: "//", open: "/*", close: "*/", strings: "\"'`" };
const HASH = { line: "#", open: null, close: null, strings: "\"'" };
const FORMS = {
  python: { ...HASH, triple: true },
  bash: HASH,
  ruby: HASH,
  yaml: HASH,
  toml: { ...HASH, triple: true },
  sql: { line: "--", open: "/*", close: "*/", strings: "'" },
  lua: { line: "--", open: "--[[", close: "]]", strings: "\"'" },
  php: C_LIKE,
  html: { line: null, open: "<!--", close: "-->", strings: "\"" },
  xml: { line: null, open: "<!--", close: "-->", strings: "\"" },
  css: { line: null, open: "/*", close: "*/", strings: "\"'" },
  rust: { ...C_LIKE, strings: "\"" },
};

const KEYWORDS = new Set(
  (
    "abstract and as assert async await auto begin bool boolean break byte case catch chan char class const " +
    "continue def default defer del delete do double elif else elsif end enum except export extends extern " +
    "false False final finally float fn for foreach from func function global go goto if impl implements " +
    "import in include init instanceof int interface is lambda let long loop match mod module mut namespace " +
    "new nil None nonlocal not null nullptr operator or override package pass private protected pub public " +
    "raise range readonly require return self short signed sizeof static string struct super switch template " +
    "then this throw throws trait true True try type typedef typeof union unless unsafe unsigned until use " +
    "using var virtual void volatile when where while with yield"
  ).split(" "),
);

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)/iy;
const LONGEST_LINE = 2000;
// A minified line is shown whole but in one colour: thousands of elements a line would make the page crawl.

/** Split a line into [kind, text] pairs. `inside` is the mark that ends a text or comment begun on a line before. */
export function tokens(line, language, inside = "") {
  const form = FORMS[language] ?? C_LIKE;
  if (line.length > LONGEST_LINE) {
    return { found: [["plain", line]], inside };
  }
  const found = [];
  let at = 0;
  let open = inside;
  while (at < line.length) {
    if (open) {
      const end = line.indexOf(open, at);
      const until = end < 0 ? line.length : end + open.length;
      found.push([open === form.close ? "comment" : "text", line.slice(at, until)]);
      open = end < 0 ? open : "";
      at = until;
      continue;
    }
    const [kind, until, opened] = next(line, at, form);
    found.push([kind, line.slice(at, until)]);
    at = until;
    open = opened;
  }
  return { found: joined(found), inside: open };
}

function next(line, at, form) {
  if (form.open && line.startsWith(form.open, at)) {
    const end = line.indexOf(form.close, at + form.open.length);
    return end < 0 ? ["comment", line.length, form.close] : ["comment", end + form.close.length, ""];
  }
  if (form.line && line.startsWith(form.line, at)) {
    return ["comment", line.length, ""];
  }
  const mark = line[at];
  if (form.triple && (line.startsWith('"""', at) || line.startsWith("'''", at))) {
    const triple = mark.repeat(3);
    const end = line.indexOf(triple, at + 3);
    return end < 0 ? ["text", line.length, triple] : ["text", end + 3, ""];
  }
  if (form.strings.includes(mark)) {
    return ["text", quoted(line, at, mark), ""];
  }
  for (const [kind, shape] of [["word", WORD], ["number", NUMBER]]) {
    shape.lastIndex = at;
    const hit = shape.exec(line);
    if (hit) {
      return [kind === "word" ? (KEYWORDS.has(hit[0]) ? "keyword" : "plain") : "number", at + hit[0].length, ""];
    }
  }
  return ["plain", at + (line.codePointAt(at) > 0xffff ? 2 : 1), ""];
}

function quoted(line, start, mark) {
  for (let at = start + 1; at < line.length; at += 1) {
    if (line[at] === "\\") {
      at += 1;
    } else if (line[at] === mark) {
      return at + 1;
    }
  }
  return line.length;
}

function joined(found) {
  const merged = [];
  for (const [kind, text] of found) {
    const last = merged.at(-1);
    if (last?.[0] === kind) {
      last[1] += text;
    } else {
      merged.push([kind, text]);
    }
  }
  return merged;
}

/**
 * The lines of a text in ranges of a file. `spans` are [first, last] pairs; where the text has other lines than they
 * say (a shortened one has), the lines stand without numbers. `told` names a range, for the line above it, and `linked`
 * makes a link of its lines.
 */
export function listing(text, spans, language, label, told = () => "", linked = (lines) => lines) {
  const lines = text.split("\n");
  const numbers = spans.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, step) => first + step));
  const isNumbered = numbers.length === lines.length;
  const heads = new Map(spans.map(([first, last]) => [first, head(linked(linesOf(first, last), first), told([first, last]))]));
  let inside = "";
  const rows = lines.map((line, index) => {
    const begins = isNumbered && heads.has(numbers[index]);
    const read = tokens(line, language, begins ? "" : inside);
    inside = read.inside;
    const row = element(
      "span",
      { class: "line" },
      isNumbered ? element("span", { class: "number", "aria-hidden": "true", data: { line: numbers[index] } }) : null,
      element(
        "span",
        { class: "source" },
        read.found.map(([kind, part]) => (kind === "plain" ? part : element("span", { class: `is-${kind}` }, part))),
        "\n",
      ),
    );
    return begins ? [heads.get(numbers[index]), row] : row;
  });
  return element(
    "pre",
    { class: isNumbered ? "code numbered" : "code", tabindex: "0", role: "region", "aria-label": label },
    element("code", {}, rows),
  );
}

/** `line 3`, `lines 3–9` */
export function linesOf(first, last) {
  return first === last ? `line ${first}` : `lines ${first}–${last}`;
}

function head(lines, name) {
  return element(
    "span",
    { class: "range-head" },
    lines,
    name ? element("span", { class: "range-name" }, name) : null,
    "\n",
  );
}
