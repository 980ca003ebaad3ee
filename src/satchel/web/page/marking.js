// The words of the question, marked where they occur in the answer. Ranges are marked, so the texts stay as they are.

const SKIPPED = new Set(
  (
    "a about after all also am an and any are as at be because been before but by can change changed could did do does " +
    "done for from get gets had has have here how i if in into is it its just let me most my no not of on only or our " +
    "out over please say show so some such than that the their them then there these they this to up us use used want " +
    "was we were what when where which who why will with work works would you your"
  ).split(" "),
);
const ENDINGS = /(?:ations?|ings?|ers?|ed|ies|es|s|ion)$/;
const LEAST_STEM = 3;
const LONGEST_ENDING = 12;
const MAX_RANGES = 4000;
const PLACES = ".source, .prose, h4, .range-name, .left-out-text > :first-child";

/** The stems of the telling words of a question; parts of a name count: `ParseFlags` has `pars` and `flag`. */
export function stemsOf(question) {
  const words = question.match(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}{2,}|\p{Lo}+/gu) ?? [];
  const telling = words.map((word) => word.toLowerCase()).filter((word) => !SKIPPED.has(word) && word.length > 1);
  return [...new Set(telling.map(stem))];
}

function stem(word) {
  const cut = word.replace(ENDINGS, "");
  return cut.length >= LEAST_STEM ? cut : word;
}

/** Where the stems begin a word or a part of a name: [[start, end]]. */
export function marksIn(text, stems) {
  if (!stems.length) {
    return [];
  }
  const pattern = new RegExp(stems.join("|"), "giu");
  const found = [];
  for (const hit of text.matchAll(pattern)) {
    const before = text[hit.index - 1] ?? " ";
    const isStart = !/\p{L}/u.test(before) || /\p{Lo}/u.test(hit[0]) || (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(hit[0][0]));
    if (isStart) {
      const end = hit.index + hit[0].length;
      found.push([hit.index, end + /^\p{Ll}*/u.exec(text.slice(end, end + LONGEST_ENDING))[0].length]);
    }
  }
  return found;
}

/** Mark the words of a question inside a place; a browser without highlights shows the texts unmarked. */
export function markWords(place, question) {
  if (!("highlights" in CSS)) {
    return;
  }
  const stems = stemsOf(question);
  const ranges = [];
  for (const box of place.querySelectorAll(PLACES)) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < MAX_RANGES; node = walker.nextNode()) {
      for (const [start, end] of marksIn(node.data, stems)) {
        const range = new Range();
        range.setStart(node, start);
        range.setEnd(node, end);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("question", new Highlight(...ranges));
}
