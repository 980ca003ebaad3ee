// What the drawings of graphs have in common: zoom, filter, dragging, and arrow keys from node to node.

import { button, element, sized } from "./dom.js";

const ZOOMS = [0.4, 0.55, 0.75, 1, 1.35, 1.8, 2.4];
const PLAIN = 3;
// Where 1 is among the zooms.

const FAR = 0.7;
// Below this zoom only the most important names are readable.

/** Zoom by buttons, and a field that leaves only what has these letters in full colour. */
export function drawingTools(made, box, [width, height], middle) {
  let at = PLAIN;
  const zoom = (scale) => {
    made.setAttribute("width", width * scale);
    made.setAttribute("height", height * scale);
    sized(made, { "--scale": String(scale) });
    made.classList.toggle("far", scale < FAR);
    middle(scale);
  };
  const step = (change) => {
    at = Math.min(ZOOMS.length - 1, Math.max(0, at + change));
    zoom(ZOOMS[at]);
  };
  const fit = () => {
    const scale = Math.min(1, box.clientWidth / width, box.clientHeight / height);
    at = Math.max(0, ZOOMS.findLastIndex((one) => one <= scale));
    zoom(scale);
  };
  const field = element("input", { type: "search", id: "graph-filter", spellcheck: "false", placeholder: "part of a name or path" });
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const one of made.querySelectorAll(".knot")) {
      one.classList.toggle("dim", !one.textContent.toLowerCase().includes(wanted));
    }
  });
  return element(
    "div",
    { class: "toolbar graph-tools" },
    element("div", { class: "control" }, element("label", { class: "label", for: "graph-filter" }, "Filter"), field),
    button("−", () => step(-1), { class: "quiet", "aria-label": "Smaller drawing", data: { act: "zoom-out" } }),
    button("+", () => step(1), { class: "quiet", "aria-label": "Larger drawing", data: { act: "zoom-in" } }),
    button("Fit", fit, { class: "quiet", title: "The whole drawing at once", data: { act: "fit" } }),
  );
}

/** The empty part of the drawing is dragged with the pointer; touch and wheel scroll it anyway. */
export function wirePan(box) {
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch" || event.target.closest(".knot")) {
      return;
    }
    const [left, top] = [box.scrollLeft + event.clientX, box.scrollTop + event.clientY];
    const move = (now) => box.scrollTo(left - now.clientX, top - now.clientY);
    box.setPointerCapture(event.pointerId);
    box.addEventListener("pointermove", move);
    box.addEventListener("lostpointercapture", () => box.removeEventListener("pointermove", move), { once: true });
  });
}

/** Move the focus from node to node with the arrow keys. */
export function step(made, event) {
  const direction = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const knots = [...made.querySelectorAll(".knot")];
  const at = knots.indexOf(document.activeElement);
  if (!direction || at < 0) {
    return;
  }
  event.preventDefault();
  const next = knots[(at + direction + knots.length) % knots.length];
  knots[at].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}
