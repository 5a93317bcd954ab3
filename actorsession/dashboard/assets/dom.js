/**
 * Elements. Names, log lines and error messages come from programs that this page does not know, so text is only
 * ever a text node, and no attribute whose name or whose link's scheme comes from data is set.
 */

const SVG = "http://www.w3.org/2000/svg";

const handlers = new Set(); // the names of all that listen, such as ``onclick``

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      handlers.add(`on${name}`);
      element[`on${name}`] = (event) => void value(event); // one that returns false would keep the browser from acting
    } else if (name === "css")
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

/**
 * Let an element hold what a new answer says: ``children``, which are made anew each time.
 *
 * What it holds already is changed where it differs, so that the focus, what is selected, an open list and what a screen
 * reader has read outlive the answer. Of children whose order changes ``data-key`` says which is which. What listens in a
 * child that is not kept may be moved to the one that is: it finds its element in the event.
 */
export function renew(element, ...children) {
  const focused = document.activeElement;
  const fresh = document.createDocumentFragment();
  append(fresh, children);
  merge(element, fresh);
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true }); // it was moved
}

function merge(element, fresh) {
  const old = [...element.childNodes];
  const nodes = [...fresh.childNodes].map((node) => {
    const at = old.findIndex((each) => each.nodeName === node.nodeName && each.dataset?.key === node.dataset?.key);
    return at < 0 ? node : change(old.splice(at, 1)[0], node);
  });
  for (const each of old) each.remove();
  nodes.forEach((node, at) => element.childNodes[at] !== node && element.insertBefore(node, element.childNodes[at]));
}

/** Make a node like a new one, and return it. */
function change(node, fresh) {
  if (!(node instanceof Element)) {
    if (node.data !== fresh.data) node.data = fresh.data;
    return node;
  }
  for (const name of node.getAttributeNames()) if (!fresh.hasAttribute(name)) node.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (node.getAttribute(name) === value) continue;
    if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  for (const name of handlers) node[name] = fresh[name];
  merge(node, fresh);
  return node;
}

/** Return a link within the page: the parts are names, which may hold any character. */
export const hash = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

/** Return the colour of the class ``name`` of the style sheet, as canvas wants it. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Whether something of the page is pressed, by the mouse or by a key. */
export const pressed = () => document.querySelector(":active") !== null;

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
  const field = h("select", { change: (event) => changed(event.target.value) });
  for (const [value, text] of options)
    field.append(h("option", { value, "data-key": value, selected: value === chosen }, text));
  return field;
}

/** Return what stands where there is nothing to show. */
export const nothing = (text) => h("p", { class: "nothing" }, text);
