// Notes, docs and records as paragraphs, lists and headings: a small part of Markdown, all of it through text nodes.

import { element, link } from "./dom.js";
import { listing } from "./code.js";

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|\[([^\]\n]{1,200})\]\(([^()\s]{1,500})\)|(https?:\/\/[^\s<>()"'`]{1,500})/g;

/** The words of one line, with code, bold parts and links. */
export function inline(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(at, found.index), styled(found));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

function styled([, , code, bold, label, target, address]) {
  if (code !== undefined) {
    return element("code", {}, code);
  }
  if (bold !== undefined) {
    return element("strong", {}, bold);
  }
  if (label !== undefined) {
    return link(label, target);
  }
  const bare = address.replace(/[.,;:!?]+$/, "");
  return [link(bare, bare), address.slice(bare.length)];
}

/** A text as blocks. */
export function prose(text, label) {
  const lines = text.split("\n");
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    const [block, next] = blockAt(lines, at, label);
    if (block) {
      blocks.push(block);
    }
    at = next;
  }
  return element("div", { class: "prose" }, blocks);
}

function blockAt(lines, at, label) {
  const line = lines[at];
  const fence = /^\s*(`{3,}|~{3,})\s*([\w+-]*)/.exec(line);
  if (fence) {
    const inner = lines.slice(at + 1);
    const end = inner.findIndex((one) => one.trim().startsWith(fence[1]));
    const code = end < 0 ? inner : inner.slice(0, end);
    return [listing(code.join("\n"), [], fence[2].toLowerCase(), `Code in ${label}`), at + code.length + 2];
  }
  const heading = /^#{1,6}\s+(.*)$/.exec(line);
  if (heading) {
    return [element("p", { class: "prose-head" }, inline(heading[1])), at + 1];
  }
  if (/^\s*[-*+]\s+/.test(line)) {
    return group(lines, at, /^\s*[-*+]\s+/, "ul");
  }
  if (/^\s*\d+[.)]\s+/.test(line)) {
    return group(lines, at, /^\s*\d+[.)]\s+/, "ol");
  }
  if (!line.trim()) {
    return [null, at + 1];
  }
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !/^\s*([-*+]\s|\d+[.)]\s|#{1,6}\s|`{3}|~{3})/.test(lines[end])) {
    end += 1;
  }
  const words = lines.slice(at, end).flatMap((one, index) => [index ? element("br") : null, inline(one)]);
  return [element("p", {}, words), end];
}

function group(lines, at, mark, name) {
  let end = at;
  const rows = [];
  while (end < lines.length && mark.test(lines[end])) {
    rows.push(element("li", {}, inline(lines[end].replace(mark, ""))));
    end += 1;
  }
  return [element(name, {}, rows), end];
}
