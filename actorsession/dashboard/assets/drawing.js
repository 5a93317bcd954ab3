/**
 * Boxes and arrows in layers (dagre), in frames where boxes have groups, to move and to zoom.
 *
 * The wheel zooms while the drawing has the focus or Ctrl is held, so that it does not hold up who scrolls past.
 */

import { h, put, s } from "./dom.js";
import { Graph, layout } from "./vendor/dagre.esm.js";

const FONT = "600 12px system-ui, sans-serif";
const LINE = 16; // pixels from line to line of a box
const NAME = 18; // pixels of a frame above what is in it, for its name
const PADDING = 9;
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
    const button = (text, label, press) =>
      h("button", { type: "button", "aria-label": label, title: label, click: press }, text);
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
    const deepest = Math.max(0, ...boxes.map((box) => box.group?.length ?? 0));
    const graph = new Graph({ compound: true, multigraph: true });
    graph.setGraph({
      rankdir: options.down === false ? "LR" : "TB",
      nodesep: 16 + NAME * deepest * (options.down === false),
      ranksep: 38 + (NAME * deepest) / 2,
      edgesep: 8,
      marginx: 12,
      marginy: 12 + NAME * deepest,
    });
    graph.setDefaultEdgeLabel(() => ({}));
    const frames = new Map();
    for (const box of boxes) {
      const texts = [box.title, ...(box.lines ?? [])].map((text) => cut(String(text)));
      const size = { width: Math.max(48, ...texts.map(width)) + 2 * PADDING, height: texts.length * LINE + PADDING };
      graph.setNode(`box ${box.id}`, { ...size, box, texts });
      (box.group ?? []).forEach((_, depth) => {
        const path = box.group.slice(0, depth + 1);
        const id = `frame ${path.join("\n")}`;
        if (!frames.has(id)) graph.setNode(id, { frame: path });
        frames.set(id, path);
        if (depth > 0) graph.setParent(id, `frame ${path.slice(0, -1).join("\n")}`);
      });
      if (box.group?.length) graph.setParent(`box ${box.id}`, `frame ${box.group.join("\n")}`);
    }
    arrows.forEach((arrow, index) => {
      if (!graph.hasNode(`box ${arrow.from}`) || !graph.hasNode(`box ${arrow.to}`)) return;
      const label = arrow.label ? cut(arrow.label) : "";
      graph.setEdge(
        `box ${arrow.from}`,
        `box ${arrow.to}`,
        { arrow, label, width: label ? width(label) + 8 : 0, height: label ? LINE : 0, labelpos: "c" },
        String(index),
      );
    });
    layout(graph);
    this.#draw(graph, [...frames.values()], options);
  }

  #draw(graph, frames, options) {
    this.#boxes.clear();
    this.#arrows = [];
    const inside = (path) =>
      Math.max(
        0,
        ...frames
          .filter((other) => path.every((name, at) => other[at] === name))
          .map((other) => other.length - path.length),
      );
    frames.sort((a, b) => a.length - b.length);
    const parts = frames.map((path) =>
      this.#frame(graph.node(`frame ${path.join("\n")}`), NAME * (1 + inside(path)), options),
    );
    for (const id of graph.edges()) parts.push(this.#arrow(graph.edge(id)));
    for (const id of graph.nodes()) if (id.startsWith("box ")) parts.push(this.#box(graph.node(id)));
    put(this.#scene, parts);
    const { width: wide, height: high } = graph.graph();
    this.#size = { width: Math.max(1, wide), height: Math.max(1, high) };
    this.#svg.style.setProperty("--high", `${Math.ceil(high)}px`);
    if (options.keep) this.#place();
    else this.fit(READABLE);
  }

  /** ``above`` is how far the frame reaches above what dagre has laid out, for names. */
  #frame(at, above, options) {
    const name = at.frame.at(-1);
    const close = options.frame;
    const [left, top] = [at.x - at.width / 2, at.y - at.height / 2 - above];
    const text = s(
      "text",
      { x: left + 8, y: top + 15, class: "frame-name" },
      cut(`${close ? "▾ " : ""}${name}`),
      s("title", null, at.frame.join("/")),
    );
    const rectangle = s("rect", { x: left, y: top, width: at.width, height: at.height + above, rx: 8, class: "frame" });
    const attributes = close ? { class: "closes", ...this.#pressed(() => close(at.frame), `Close ${name}`) } : {};
    return [rectangle, s("g", attributes, text)];
  }

  #box(at) {
    const { box, texts } = at;
    const [left, top] = [at.x - at.width / 2, at.y - at.height / 2];
    const lines = texts.map((text, index) =>
      s("text", { x: at.x, y: top + PADDING / 2 + LINE * (index + 0.72), class: index === 0 ? "name" : "line" }, text),
    );
    const filled = s("rect", { x: left, y: top, width: at.width, height: at.height, rx: 5 });
    const kind = `box ${box.kind ?? ""} ${box.hue === undefined ? "" : `hue-${box.hue}`}`;
    const press = this.#opened && this.#pressed(() => this.#opened(box.id), box.open ?? box.title);
    const element = s(
      "g",
      { class: kind, ...press },
      filled,
      lines,
      s("title", null, box.tip ?? [box.title, ...(box.lines ?? [])].join("\n")),
    );
    if (box.heat !== undefined) element.style.setProperty("--heat", String(box.heat));
    this.#boxes.set(box.id, { element, x: at.x, y: at.y, width: at.width, height: at.height });
    return element;
  }

  #arrow(at) {
    const { arrow } = at;
    const path = s("path", { d: curve(at.points), class: "arrow", "marker-end": "url(#tip)" });
    path.style.setProperty("stroke-width", String(1 + Math.min(3, Math.log10(1 + (arrow.weight ?? 0)))));
    const label = at.label && [
      s("rect", { x: at.x - at.width / 2, y: at.y - LINE / 2, width: at.width, height: LINE, class: "under" }),
      s("text", { x: at.x, y: at.y + 4, class: "label" }, at.label),
    ];
    const element = s(
      "g",
      { class: `edge ${arrow.kind ?? ""}` },
      path,
      label,
      s("title", null, arrow.tip ?? arrow.label ?? ""),
    );
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
    this.#at = { zoom, x: this.#svg.clientWidth / 2 - box.x * zoom, y: this.#svg.clientHeight / 2 - box.y * zoom };
    this.#place();
  }

  /** Show all of it, as large as it can be, but not larger than it is; ``least`` is a size that can be read. */
  fit(least = 0) {
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
    this.#at = { zoom, x: x - (x - this.#at.x) * change, y: y - (y - this.#at.y) * change };
    this.#place();
  }

  #move(x, y) {
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
    new ResizeObserver(() => this.#size.width > 1 && this.fit(READABLE)).observe(svg);
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
