// The two dialogs: the keys, and the question before something is lost.

import { byId } from "./dom.js";

/** Ask before something that cannot be undone. Resolves to whether it was confirmed; Escape means no. */
export function confirmed(head, text, label) {
  const dialog = byId("confirm");
  byId("confirm-head").textContent = head;
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = label;
  return new Promise((resolve) => {
    const yes = byId("confirm-yes");
    const no = byId("confirm-no");
    const finish = (event) => {
      dialog.close(event.currentTarget === yes ? "yes" : "no");
    };
    yes.addEventListener("click", finish, { once: true });
    no.addEventListener("click", finish, { once: true });
    dialog.addEventListener(
      "close",
      () => {
        yes.removeEventListener("click", finish);
        no.removeEventListener("click", finish);
        resolve(dialog.returnValue === "yes");
      },
      { once: true },
    );
    dialog.returnValue = "no";
    dialog.showModal();
    no.focus();
  });
}

/** Open the list of keys. */
export function showShortcuts() {
  const dialog = byId("shortcuts");
  if (!dialog.open) {
    dialog.showModal();
  }
}
