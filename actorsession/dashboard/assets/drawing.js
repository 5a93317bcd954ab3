/**
 * Boxes and arrows in layers, in frames where boxes have groups, to move and to zoom.
 *
 * The wheel zooms while the drawing has the focus or Ctrl is held, so that it does not hold up who scrolls past.
 */

import { h, put, s } from "./dom.js";
import { arrange } from "./layers.js";

const FONT = "600 12px system-ui, sans-serif";
const LINE = 16; // pixels from line to line of a box
const PADDING = 9;
const NARROW = 600; // pixels
const READABLE = 0.6; // of the size at which texts are laid out
const LONGEST = 34; // characters of a line; the whole text is its tooltip
const pen = document.createElement("canvas").getContext("2d");

const cut = (text) =>
  text.length > LONGEST ? `${text.slice(0, LONGEST / 2 - 1)}…${text.slice(1 - LONGEST / 2)}` : text;

function width(text) {
  pen.font = FONT;
  return pen.measureText(text).width;
}

export class Drawing {
  #svg;
  #scene = s("g");
  #at = { x: 0, y: 0, zoom: 1 };
  #size = { width: 1, height: 1 };
  #pointers = new Map();
  #moved = 0;
  #held = false; // whether somebody has chosen what is seen, which a new size leaves then
  #opened;
  #boxes = new Map();
  #arrows = [];

  /** ``opened`` gets the id of a box that is pressed. */
  constructor(label, opened = null) {
    this.#opened = opened;
    this.#svg = s(
      "svg",
      { class: "drawing", role: "group", "aria-label": label, tabindex: "0" },
      marker("tip"),
      this.#scene,
    );
    const button = (text, name, press) =>
      h("button", { type: "button", "aria-label": name, title: name, click: press }, text);
    const tools = h("div", { class: "zoom" }, [
      button("+", "Zoom in", () => this.zoom(1.3)),
      button("−", "Zoom out", () => this.zoom(1 / 1.3)),
      button("⤢", "Show all", () => this.fit()),
    ]);
    this.element = h("figure", { class: "picture" }, this.#svg, tools);
    this.#listen();
  }

  get size() {
    return this.#size;
  }

  /**
   * Lay out and draw. ``boxes``: {id, title, lines, group, kind, hue, tip, open}; ``group`` is the path of frames around it,
   * ``open`` says what a press does. ``arrows``: {from, to, label, kind, tip, weight}. ``options``: {down, keep, frame(path)}.
   */
  show(boxes, arrows, options = {}) {
    const sized = boxes.map((box) => {
      const texts = [box.title, ...(box.lines ?? [])].map((text) => cut(String(text)));
      const size = { width: Math.max(48, ...texts.map(width)) + 2 * PADDING, height: texts.length * LINE + PADDING };
      return { ...box, ...size, texts, group: box.group ?? [] };
    });
    const labelled = arrows.map((arrow) => {
      const label = arrow.label ? cut(arrow.label) : "";
      return { ...arrow, label, labelWidth: width(label) + 8 };
    });
    // On a phone from top to bottom, or nothing could be read.
    const at = arrange(sized, labelled, options.down !== false || this.element.clientWidth < NARROW);
    this.#boxes.clear();
    this.#arrows = [];
    put(
      this.#scene,
      at.frames.map((frame) => this.#frame(frame, options.frame)),
      at.arrows.map((each) => this.#arrow(each)),
      sized.map((box) => this.#box(box, at.boxes.get(box.id))),
    );
    this.#size = { width: Math.max(1, at.width), height: Math.max(1, at.height) };
    this.#svg.style.setProperty("--high", `${Math.ceil(this.#size.height)}px`);
    if (options.keep && this.#held) this.#place();
    else this.fit(READABLE);
  }

  #frame({ path, x, y, width: wide, height }, close) {
    const name = path.at(-1);
    const [left, top] = [x - wide / 2, y - height / 2];
    const title = s("title", null, path.join("/"));
    const text = s(
      "text",
      { x: left + 8, y: top + 15, class: "frame-name" },
      cut(`${close ? "▾ " : ""}${name}`),
      title,
    );
    const attributes = close ? { class: "closes", ...this.#pressed(() => close(path), `Close ${name}`) } : {};
    return [s("rect", { x: left, y: top, width: wide, height, rx: 8, class: "frame" }), s("g", attributes, text)];
  }

  #box(box, { x, y }) {
    const { texts, width: wide, height } = box;
    const [left, top] = [x - wide / 2, y - height / 2];
    const lines = texts.map((text, index) =>
      s("text", { x, y: top + PADDING / 2 + LINE * (index + 0.72), class: index === 0 ? "name" : "line" }, text),
    );
    const kind = `box ${box.kind ?? ""} ${box.hue === undefined ? "" : `hue-${box.hue}`}`;
    const press = this.#opened && this.#pressed(() => this.#opened(box.id), box.open ?? box.title);
    const tip = s("title", null, box.tip ?? [box.title, ...(box.lines ?? [])].join("\n"));
    const filled = s("rect", { x: left, y: top, width: wide, height, rx: 5 });
    const element = s("g", { class: kind, ...press }, filled, lines, tip);
    if (box.heat !== undefined) element.style.setProperty("--heat", String(box.heat));
    this.#boxes.set(box.id, { element, x, y });
    return element;
  }

  #arrow({ arrow, points, x, y, width: wide }) {
    const path = s("path", { d: curve(points), class: "arrow", "marker-end": "url(#tip)" });
    path.style.setProperty("stroke-width", String(1 + Math.min(3, Math.log10(arrow.weight ?? 1))));
    const label = arrow.label && [
      s("rect", { x: x - wide / 2, y: y - LINE / 2, width: wide, height: LINE, class: "under" }),
      s("text", { x, y: y + 4, class: "label" }, arrow.label),
    ];
    const tip = s("title", null, arrow.tip ?? arrow.label);
    const element = s("g", { class: `edge ${arrow.kind ?? ""}` }, path, label, tip);
    this.#arrows.push({ arrow, element, path });
    return element;
  }

  #pressed(press, label) {
    return {
      tabindex: "0",
      role: "button",
      "aria-label": label,
      click: () => this.#moved < 5 && press(),
      keydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        press();
      },
    };
  }

  /** Return the element of a box, and where it stands. */
  box(id) {
    return this.#boxes.get(id);
  }

  /** The arrows as drawn: {arrow, element, path}. */
  get arrows() {
    return this.#arrows;
  }

  /** Something that is drawn over the scene. */
  over(...elements) {
    this.#scene.append(...elements);
  }

  /** Bring a box to the middle. */
  centre(id) {
    const box = this.#boxes.get(id);
    if (!box) return;
    const zoom = Math.max(this.#at.zoom, 0.9);
    this.#held = true;
    this.#at = { zoom, x: this.#svg.clientWidth / 2 - box.x * zoom, y: this.#svg.clientHeight / 2 - box.y * zoom };
    this.#place();
  }

  /** Show all of it, as large as it can be, but not larger than it is; ``least`` is a size that can be read. */
  fit(least = 0) {
    this.#held = false;
    const [wide, high] = [this.#svg.clientWidth, this.#svg.clientHeight];
    if (wide === 0)
      return void requestAnimationFrame(() => this.#svg.isConnected && this.#svg.clientWidth > 0 && this.fit(least));
    const zoom = Math.max(least, Math.min(1.25, wide / this.#size.width, high / this.#size.height));
    this.#at = { zoom, x: (wide - this.#size.width * zoom) / 2, y: Math.max(0, (high - this.#size.height * zoom) / 2) };
    this.#place();
  }

  /** Make it larger by a factor, about a point of the element or its middle. */
  zoom(factor, x = this.#svg.clientWidth / 2, y = this.#svg.clientHeight / 2) {
    const zoom = Math.min(4, Math.max(0.02, this.#at.zoom * factor));
    const change = zoom / this.#at.zoom;
    this.#held = true;
    this.#at = { zoom, x: x - (x - this.#at.x) * change, y: y - (y - this.#at.y) * change };
    this.#place();
  }

  #move(x, y) {
    this.#held = true;
    this.#at.x += x;
    this.#at.y += y;
    this.#place();
  }

  #place() {
    this.#scene.setAttribute("transform", `translate(${this.#at.x} ${this.#at.y}) scale(${this.#at.zoom})`);
  }

  #listen() {
    const svg = this.#svg;
    const place = (event) => [
      event.clientX - svg.getBoundingClientRect().left,
      event.clientY - svg.getBoundingClientRect().top,
    ];
    svg.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !svg.contains(document.activeElement)) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), ...place(event));
      },
      { passive: false },
    );
    svg.addEventListener("pointerdown", (event) => {
      if (this.#pointers.size === 0) this.#moved = 0;
      this.#pointers.set(event.pointerId, place(event));
    });
    svg.addEventListener("pointermove", (event) => {
      const before = this.#pointers.get(event.pointerId);
      if (!before) return;
      const now = place(event);
      const [x, y] = [now[0] - before[0], now[1] - before[1]];
      this.#moved += Math.abs(x) + Math.abs(y);
      if (this.#moved >= 5 && !svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
      if (this.#pointers.size === 1) this.#move(x, y);
      else {
        const other = [...this.#pointers].find(([id]) => id !== event.pointerId)[1];
        const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
        this.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      }
      this.#pointers.set(event.pointerId, now);
    });
    for (const end of ["pointerup", "pointercancel"])
      svg.addEventListener(end, (event) => this.#pointers.delete(event.pointerId));
    svg.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
      if (event.key in moves) this.#move(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    new ResizeObserver(() => this.#size.width > 1 && !this.#held && this.fit(READABLE)).observe(svg);
  }
}

function marker(id) {
  return s(
    "defs",
    null,
    s(
      "marker",
      {
        id,
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        markerUnits: "userSpaceOnUse",
        orient: "auto-start-reverse",
      },
      s("path", { d: "M0 0 8 4 0 8Z", class: "tip" }),
    ),
  );
}

/** Return a smooth path through points. */
function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  for (let index = 0; index < rest.length - 1; index++) {
    const [point, next] = [rest[index], rest[index + 1]];
    path += `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  }
  const last = rest.at(-1);
  return `${path}L${last.x} ${last.y}`;
}
