// Runs before the first paint, so it is not a module: a chosen theme must not flash in the other one.
(() => {
  let chosen = null;
  try {
    chosen = window.localStorage.getItem("satchel.theme");
  } catch {
    chosen = null; // storage may be switched off: then the system decides
  }
  if (chosen === "light" || chosen === "dark") {
    document.documentElement.dataset.theme = chosen;
  }
})();
