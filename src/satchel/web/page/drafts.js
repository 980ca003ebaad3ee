// Text that was typed and not sent: it survives a reload, another tab, an error, and an answer that arrives meanwhile.

const PREFIX = "satchel.draft.";
const drafts = new Map();

/** The draft of a field, or null. Storage of this browser tab keeps it over a reload, where it is switched on. */
export function draftOf(field) {
  if (!drafts.has(field.id)) {
    try {
      drafts.set(field.id, window.sessionStorage.getItem(PREFIX + field.id));
    } catch {
      return null; // storage may be switched off: then a draft lasts as long as the page
    }
  }
  return drafts.get(field.id);
}

function keep(field, text) {
  drafts.set(field.id, text);
  try {
    if (text === null) {
      window.sessionStorage.removeItem(PREFIX + field.id);
    } else {
      window.sessionStorage.setItem(PREFIX + field.id, text);
    }
  } catch {
    return; // as above
  }
}

/** Keep what is typed into a field. `changed` is called whenever there begins or ends to be a draft. */
export function keepDrafts(field, changed = () => {}) {
  field.addEventListener("input", () => {
    keep(field, field.value === (field.dataset.sent ?? "") ? null : field.value);
    changed();
  });
}

/** Show the text that was sent, unless another one was typed since. */
export function showText(field, sent) {
  field.dataset.sent = sent;
  const text = draftOf(field) ?? sent;
  if (field.value !== text) {
    field.value = text;
  }
}

/** Forget the draft: its text was sent. */
export function sentDraft(field) {
  keep(field, null);
}
