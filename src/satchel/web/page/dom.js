// The only place that makes elements. Text goes in as text nodes: there is no way from a string to markup.

const SVG = "http://www.w3.org/2000/svg";

const FORBIDDEN = /^(on|style$|src|href$|action$|formaction$)/i;

function dress(made, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) {
        made.addEventListener(event, handler);
      }
    } else if (name === "data") {
      Object.assign(made.dataset, value);
    } else if (FORBIDDEN.test(name)) {
      throw new Error(`${name} is not set from values: use link() or sized()`);
    } else {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

function fill(made, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      made.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return made;
}

/** An HTML element. Properties are attributes; `on` holds listeners, `data` the dataset. Strings become text. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  dress(made, properties);
  return fill(made, children);
}

/** An SVG element, made as `element` makes HTML ones. */
export function drawn(name, properties = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  dress(made, properties);
  return fill(made, children);
}

/** A button that does one thing. */
export function button(label, act, properties = {}) {
  return element("button", { type: "button", ...properties, on: { click: act } }, label);
}

/** Where a text leads, as a link only for http and https; anything else stays text. */
export function link(label, target) {
  const address = webAddress(target);
  if (address === null) {
    return document.createTextNode(label === target ? label : `${label} (${target})`);
  }
  const made = element("a", { class: "outward", rel: "noreferrer noopener", target: "_blank", title: address }, label);
  made.href = address;
  return made;
}

/** Something to open in another program, as a link; without an address, or for one that could run here, as text. */
export function openIn(label, address, properties = {}) {
  const { title, ...own } = properties;
  if (!/^[a-z][a-z0-9+.-]*:/i.test(address) || /^(?:javascript|vbscript|data|blob|about|https?):/i.test(address)) {
    return element("span", own, label);
  }
  const made = element("a", { ...own, class: `${own.class ?? ""} editor`.trim(), title }, label);
  made.href = address;
  return made;
}

function webAddress(target) {
  try {
    const parsed = new URL(target);
    return ["http:", "https:"].includes(parsed.protocol) ? parsed.href : null;
  } catch {
    return null; // not an absolute address: nothing on this page leads to a relative one
  }
}

/** Set sizes and places through the object model: style attributes are forbidden here. Returns the element. */
export function sized(made, sizes) {
  for (const [name, value] of Object.entries(sizes)) {
    made.style.setProperty(name, value);
  }
  return made;
}

/** Take the place of everything inside. */
export function replace(parent, ...children) {
  parent.replaceChildren();
  return fill(parent, children);
}

/** The element with this id. It stands in index.html. */
export function byId(id) {
  return document.getElementById(id);
}
