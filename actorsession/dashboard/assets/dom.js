/**
 * Elements. Names, log lines and error messages come from programs that this page does not know, so text is only
 * ever a text node, and no attribute whose name or whose link's scheme comes from data is set.
 */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "css")
      for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** Append nodes and texts, of which there may be lists; what is absent is left out. */
export function append(element, children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) element.append(child);
}

/** Return a new element of HTML. A function among the attributes listens to the event of its name. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** Return a new element of SVG. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Replace what an element holds. */
export function put(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Replace what an element holds with what a new answer says: not while something in it is pressed, and its focus stays. */
export function renew(element, ...children) {
  if (element.matches(":active")) return;
  const focused = [...element.querySelectorAll("a, button")].indexOf(document.activeElement);
  put(element, children);
  if (focused >= 0) element.querySelectorAll("a, button")[focused]?.focus();
}

/** Return a link within the page: the parts are names, which may hold any character. */
export const hash = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

/** Return the colour of the class ``name`` of the style sheet, as canvas wants it. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const HUES = 8;

/** Return the number of the colour of a name: the same name always has the same. */
export function hue(name) {
  let sum = 7;
  for (const character of name) sum = (sum * 31 + character.codePointAt(0)) >>> 0;
  return sum % HUES;
}

/** Gives names their colours in the order in which they come, so that the first eight differ. */
export class Colours {
  #known = new Map();

  of(name) {
    if (!this.#known.has(name)) this.#known.set(name, this.#known.size % HUES);
    return this.#known.get(name);
  }

  get names() {
    return [...this.#known.keys()];
  }
}

/** Return a labelled field. */
export const labelled = (text, field) => h("label", { class: "field" }, h("span", null, text), field);

/** Return a choice among texts; ``changed`` gets the chosen one. */
export function choice(options, chosen, changed) {
  const field = h("select", { change: () => changed(field.value) });
  for (const [value, text] of options) field.append(h("option", { value, selected: value === chosen }, text));
  return field;
}

/** Return what stands where there is nothing to show. */
export const nothing = (text) => h("p", { class: "nothing" }, text);
