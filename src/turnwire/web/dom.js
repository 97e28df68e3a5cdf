// DOM nodes without markup: text always goes in as text.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. `props`: attributes; `on` listeners, `data` dataset; null and false are left out. */
export const el = (name, props, ...children) => build(document.createElement(name), props, children);

/** An SVG element, with the same `props`. */
export const svg = (name, props, ...children) => build(document.createElementNS(SVG, name), props, children);

function build(element, props, children) {
  const { on = {}, data = {}, ...attributes } = props ?? {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  for (const [name, value] of Object.entries(data)) element.dataset[name] = String(value);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
