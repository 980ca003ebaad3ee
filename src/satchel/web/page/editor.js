// Links that open a place in an editor. Which editor is a choice of this browser, kept beside the theme.

import { byId, element, openIn } from "./dom.js";
import { announce } from "./notice.js";
import { knowledge } from "./options.js";

const STORED = "satchel.editor";
const NONE = "none";
const EDITORS = [
  ["vscode", "VS Code", "vscode://file{path}:{line}"],
  ["cursor", "Cursor", "cursor://file{path}:{line}"],
  ["windsurf", "Windsurf", "windsurf://file{path}:{line}"],
  ["zed", "Zed", "zed://file{path}:{line}"],
  ["idea", "JetBrains IDE", "idea://open?file={path}&line={line}"],
  ["sublime", "Sublime Text", "subl://open?url=file://{path}&line={line}"],
  [NONE, "no links", ""],
];

let chosen = EDITORS[0][2];

/** The address of a place: `{path}` and `{line}` of a template filled in, so that no file name changes the address. */
export function addressOf(template, folder, path, line) {
  const whole = `${folder.startsWith("/") ? "" : "/"}${folder}/${path}`;
  const safe = whole.split("/").map((part) => encodeURIComponent(part).replace(/^([A-Za-z])%3A$/, "$1:")).join("/");
  return template.replaceAll("{path}", safe).replaceAll("{line}", String(line));
}

/** A place as a link that opens the editor, or as text where no editor is chosen. */
export function placeLink(label, path, line = 1, properties = {}) {
  const { folder } = knowledge();
  const address = chosen && folder ? addressOf(chosen, folder, path, line) : "";
  return openIn(label, address, { title: `Open ${path}:${line} in the editor`, ...properties });
}

/** Wire the choice: an editor of the list, or a template of one's own. */
export function wireEditor(changed) {
  const select = byId("editor");
  const field = byId("editor-template");
  select.append(...EDITORS.map(([name, label]) => element("option", { value: name }, label)));
  select.append(element("option", { value: "other" }, "another editor"));
  const saved = read();
  const listed = EDITORS.find(([name]) => name === saved);
  select.value = listed ? saved : "other";
  chosen = listed ? listed[2] : saved;
  const show = () => {
    field.value = chosen;
    field.readOnly = select.value !== "other";
  };
  show();
  select.addEventListener("change", () => {
    chosen = EDITORS.find(([name]) => name === select.value)?.[2] ?? chosen;
    store(select.value === "other" ? chosen : select.value);
    show();
    changed();
  });
  field.addEventListener("change", () => {
    chosen = field.value.trim();
    store(chosen);
    changed();
  });
}

function read() {
  try {
    return window.localStorage.getItem(STORED) || EDITORS[0][0];
  } catch {
    return EDITORS[0][0]; // storage may be switched off: then the choice lasts as long as the page
  }
}

function store(value) {
  try {
    window.localStorage.setItem(STORED, value);
  } catch {
    announce("This browser stores nothing: the editor lasts as long as the page");
  }
}
