/**
 * One step: what made it take as long as it did, its partitions over time with their transfers, and the same as boxes.
 *
 * Both pictures show one moment, which plays slowly or is moved by hand: partitions that have not begun are pale, those that
 * run are lit, and tensors on their way are dots.
 */

import { bar } from "../charts.js";
import { Colours, h, hash, nothing, put, renew, s } from "../dom.js";
import { KINDS, where_time_went } from "../critical.js";
import { Drawing } from "../drawing.js";
import { of_transfers, on_the_way } from "../findings.js";
import { bytes, clock, count, duration, plural, short, step_name, tensor } from "../format.js";
import { advice, code, plan_of } from "../plan.js";
import { now } from "../source.js";
import { Table } from "../table.js";

export const title = "Step";

const PLAYED = 8; // seconds that a step takes when it is played, however short it was
const LABELS = 6; // transfers that are written beside their arrows: the slowest

export function open(root, page, key) {
  const head = h("div", { class: "stack" });
  const player = new Player();
  const tables = new Tables();
  const body = h("div", { class: "stack", hidden: true }, player.element, tables.elements);
  const planned = h("div", { class: "stack" });
  const ended = new AbortController();
  let explained = false;
  let shown = null;
  put(root, h("p", null, h("a", { href: hash("steps") }, "← all steps")), head, body, planned);

  function show(step) {
    renew(head, summary(step));
    if (!explained) explain(step);
    explained = true;
    const text = JSON.stringify(step);
    if (text === shown) return;
    shown = text;
    body.hidden = false;
    player.show(step);
    tables.show(step);
    if (step.took > 0 || step.error) stop();
  }

  const stop = page.source.watch(`/api/steps/${encodeURIComponent(key)}`, 1, show, (refusal) =>
    renew(head, nothing(refusal.message)),
  );
  async function explain(step) {
    try {
      const plan = await plan_of(page, step, ended.signal);
      const slow = advice(plan);
      put(
        planned,
        slow && [h("h3", null, "What its plan says would make it slow"), h("div", { class: "callout calm" }, slow)],
        code(plan),
      );
    } catch {
      explained = false; // the connection is lost, which the page says elsewhere
    }
  }

  return () => {
    stop();
    ended.abort();
    player.close();
  };
}

function summary(step) {
  const running = step.took === 0 && !step.error;
  const took = running ? `runs for ${duration(now() - step.began)}` : `took ${duration(step.took)}`;
  const fact = (name, value) => value && [h("dt", null, name), h("dd", null, value)];
  return [
    h("h2", null, `Step ${step_name(step.step_id)} ${took}`),
    step.error && h("p", { class: "callout bad" }, step.error),
    h(
      "div",
      { class: "callout" },
      where_time_went(step),
      of_transfers(step).map((text) => h("p", null, text)),
    ),
    h("dl", { class: "facts" }, [
      fact("Began", clock(step.began)),
      fact("At", `${step.task}, session ${step.session}${step.kind === "partial" ? ", a partial run" : ""}`),
      fact("Feeds", step.feeds.join(", ")),
      fact("Fetches", step.fetches.join(", ")),
    ]),
    // Of one that has ended nobody remembers when what was fed.
    step.kind === "partial" && Object.keys(step.fed ?? {}).length > 0 && partial(step),
  ];
}

/** What a partial run was fed and has fetched so far, in the order in which it came. */
function partial(step) {
  const events = (names, when, verb) => names.map((name) => ({ name, when: when?.[name] ?? null, verb }));
  const all = [...events(step.feeds, step.fed, "fed"), ...events(step.fetches, step.fetched, "fetched")];
  all.sort((a, b) => (a.when ?? Infinity) - (b.when ?? Infinity));
  return h(
    "div",
    null,
    h("h3", null, "Fed and fetched"),
    h(
      "ol",
      { class: "partial" },
      all.map((each) =>
        h(
          "li",
          { class: each.when === null ? "pending" : "" },
          h("code", null, each.name),
          ` ${each.when === null ? `not ${each.verb} yet` : `${each.verb} after ${duration(each.when - step.began)}`}`,
        ),
      ),
    ),
  );
}

/** The tables of a step, in sections that are hidden where a step has nothing for them. */
class Tables {
  #step = null;
  #path = new Table(
    [
      {
        name: "at",
        label: "After",
        number: true,
        wide: true,
        value: (piece) => piece.began,
        cell: (piece) => duration(Math.max(0, piece.began - this.#step.began)),
      },
      {
        name: "took",
        label: "Took",
        number: true,
        value: (piece) => piece.ended - piece.began,
        cell: (piece) =>
          bar((piece.ended - piece.began) / (this.#step.took || 1), duration(piece.ended - piece.began), piece.kind),
        width: "minmax(7rem, 1.2fr)",
      },
      {
        name: "kind",
        label: "Kind",
        value: (piece) => piece.kind,
        cell: (piece) => h("span", { class: `kind ${piece.kind}` }, KINDS[piece.kind] ?? piece.kind),
        width: "minmax(6rem, 0.8fr)",
      },
      { name: "where", label: "Where", wide: true, value: (piece) => short(piece.where), width: "minmax(7rem, 1.5fr)" },
      { name: "what", label: "What", value: (piece) => tensor(piece.what ?? ""), width: "minmax(8rem, 2.5fr)" },
    ],
    {
      label: "Critical path",
      key: (piece) => `${piece.began}\n${piece.kind}\n${piece.what}\n${piece.where}`,
      sort: "took",
      descending: true,
      rows: 8,
    },
  );
  #moved = new Table(
    [
      { name: "edge", label: "Tensor", value: (transfer) => tensor(transfer.edge), width: "minmax(8rem, 1.6fr)" },
      { name: "source", label: "From", value: (transfer) => short(transfer.source) },
      { name: "target", label: "To", value: (transfer) => short(transfer.target) },
      {
        name: "bytes",
        label: "Size",
        number: true,
        wide: true,
        value: (transfer) => transfer.bytes,
        cell: (transfer) => bytes(transfer.bytes),
      },
      {
        name: "took",
        label: "On the way",
        number: true,
        value: on_the_way,
        cell: (transfer) => duration(on_the_way(transfer)),
      },
      { name: "key", label: "Key", wide: true, value: (transfer) => transfer.key, width: "minmax(8rem, 2.5fr)" },
    ],
    {
      label: "Transfers",
      key: (transfer) => transfer.key,
      sort: "took",
      descending: true,
      empty: "No tensor crossed from one device to another, or its transfer is not remembered.",
      rows: 8,
    },
  );
  #slow = new Table(
    [
      { name: "name", label: "Node", value: (node) => node.name, width: "minmax(8rem, 2fr)" },
      { name: "op", label: "Type", wide: true, value: (node) => node.op },
      { name: "where", label: "Device", value: (node) => short(node.device) },
      {
        name: "took",
        label: "Time",
        number: true,
        value: (node) => node.took ?? node.seconds,
        cell: (node) => bar((node.took ?? node.seconds) / (this.#step.took || 1), expected(node)),
        width: "minmax(7rem, 1.2fr)",
      },
      { name: "line", label: "Your line", wide: true, value: (node) => node.line ?? "", width: "minmax(8rem, 2fr)" },
    ],
    { label: "Nodes", key: (node) => `${node.device}\n${node.name}`, sort: "took", descending: true, rows: 8 },
  );
  #about_nodes = h("h3");
  elements = [
    h("section", { class: "stack" }, h("h3", null, "Critical path, longest first"), this.#path.element),
    h("section", { class: "stack" }, this.#about_nodes, this.#slow.element),
    h("section", { class: "stack" }, h("h3", null, "Transfers, slowest first"), this.#moved.element),
  ];

  show(step) {
    this.#step = step;
    const nodes = step.partitions.flatMap(nodes_of);
    const traced = nodes.some((node) => node.took !== null);
    this.elements[0].hidden = !(step.critical?.length > 0);
    this.elements[1].hidden = nodes.length === 0;
    this.#about_nodes.textContent = traced
      ? "Nodes, slowest first"
      : "Nodes of the plan, with what each is expected to take";
    this.#path.show(step.critical ?? []);
    this.#slow.show(nodes);
    this.#moved.show(step.transfers);
  }
}

/** Return how long a node took or is expected to take, which is more where the plan does not know the sizes of its values. */
const expected = (node) =>
  `${node.took === null && node.seconds !== null && !node.known ? "≥ " : ""}${duration(node.took ?? node.seconds)}`;

/** Return the nodes of a partition: those that are planned, with the time that each took where the step was traced. */
function nodes_of(part) {
  const planned = new Map((part.planned ?? []).map((node) => [node.name, node]));
  for (const node of part.nodes) planned.set(node.name, { ...planned.get(node.name), ...node });
  return [...planned.values()].map((node) => ({
    ...node,
    device: part.device,
    took: typeof node.ended === "number" ? node.ended - node.began : null,
    seconds: node.seconds || null,
  }));
}

/** Return for how long a part ran, in words. */
function ran(part) {
  if (typeof part.began !== "number") return "not begun, or not remembered";
  const waiting = part.waited > 0 ? `, ${duration(part.waited)} of it waiting` : "";
  return part.ended ? `${duration(part.ended - part.began)}${waiting}` : `runs${waiting}`;
}

/** The two pictures of a step with the moment that they show. */
class Player {
  #step = null;
  #from = 0;
  #until = 1;
  #share = 1;
  #slider = h("input", {
    type: "range",
    min: "0",
    max: "1000",
    value: "1000",
    "aria-label": "Moment of the step",
    input: () => this.#pause(this.#slider.value / 1000),
  });
  #moment = h("output");
  #button = h("button", { type: "button", class: "play", click: () => this.#toggle() }, "▶ Play");
  #playing = 0;
  #timeline = new Timeline((share) => this.#pause(share));
  #boxes = new Boxes();
  #kinds = h(
    "div",
    { class: "legend" },
    Object.entries(KINDS).map(([kind, text]) => h("span", { class: `kind ${kind}` }, text)),
  );
  element = h("div", { class: "player", keydown: (event) => this.#key(event) }, [
    h("div", { class: "bar-of-tools" }, this.#button, this.#slider, this.#moment),
    h("div", { class: "bar-of-tools" }, h("h3", null, "Over time"), this.#kinds),
    this.#timeline.element,
    h("h3", null, "Partitions and what they send"),
    this.#boxes.element,
  ]);

  /** Show what is known of a step by now, at the moment that is chosen. */
  show(step) {
    this.#step = step;
    const times = [
      ...step.partitions.flatMap((part) => [part.began, part.ended]),
      ...step.transfers.flatMap((each) => [each.sent, each.received]),
      ...(step.critical ?? []).flatMap((piece) => [piece.began, piece.ended]),
    ].filter((time) => typeof time === "number" && time > 0);
    this.#from = Math.min(step.began, ...times);
    this.#until = Math.max(step.took > 0 ? step.began + step.took : now(), ...times, this.#from + 1e-6);
    const colours = new Colours();
    for (const part of step.partitions) colours.of(part.task);
    this.#kinds.hidden = !(step.critical?.length > 0);
    this.#timeline.show(step, this.#from, this.#until, colours);
    this.#boxes.show(step, colours);
    this.#move();
  }

  close() {
    cancelAnimationFrame(this.#playing);
    this.#timeline.close();
  }

  #pause(share) {
    cancelAnimationFrame(this.#playing);
    this.#playing = 0;
    this.#button.textContent = "▶ Play";
    this.#share = Math.min(1, Math.max(0, share));
    this.#move();
  }

  #toggle() {
    if (this.#playing) return this.#pause(this.#share);
    this.#button.textContent = "⏸ Pause";
    if (this.#share >= 1) this.#share = 0;
    let last = performance.now();
    const next = (frame) => {
      this.#share = Math.min(1, this.#share + (frame - last) / 1000 / PLAYED);
      last = frame;
      if (this.#share >= 1) return this.#pause(1);
      this.#move();
      this.#playing = requestAnimationFrame(next);
    };
    this.#playing = requestAnimationFrame(next);
  }

  #key(event) {
    if (event.target.closest("svg.drawing") || (event.target !== this.#slider && event.target.closest("input"))) return;
    if (event.key === " " && event.target !== this.#button) this.#toggle();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
      this.#pause(this.#share + (event.key === "ArrowLeft" ? -0.01 : 0.01));
    else return;
    event.preventDefault();
  }

  #move() {
    const moment = this.#from + (this.#until - this.#from) * this.#share;
    this.#slider.value = String(Math.round(this.#share * 1000));
    this.#moment.textContent = `${duration(moment - this.#step.began)} of ${duration(this.#until - this.#step.began)}`;
    this.#slider.setAttribute("aria-valuetext", this.#moment.textContent);
    this.#timeline.at(moment);
    this.#boxes.at(moment);
  }
}

const LANE = 30;
const GAP = 10;
const WIDER = 30; // between lanes that have arrows between them
const TOP = 24;

/** Devices as lanes from top to bottom, time from left to right. */
class Timeline {
  #step = null;
  #from;
  #until;
  #colours;
  #svg = s("svg", {
    class: "timeline",
    role: "img",
    tabindex: "0",
    "aria-label": "The partitions of the step over time; the tables below have the same",
  });
  #head = s("line", { class: "playhead" });
  #shade = s("rect", { class: "shade" });
  #left = 0;
  #width = 0;
  #watch;

  /** ``moved`` gets the share of the step at which the pointer is. */
  constructor(moved) {
    this.element = h("div", { class: "over-time" }, this.#svg);
    const move = (event) => moved((event.clientX - this.#svg.getBoundingClientRect().left - this.#left) / this.#width);
    this.#svg.addEventListener("pointerdown", (event) => {
      this.#svg.setPointerCapture(event.pointerId);
      move(event);
    });
    this.#svg.addEventListener("pointermove", (event) => this.#svg.hasPointerCapture(event.pointerId) && move(event));
    this.#watch = new ResizeObserver(() => this.#draw());
    this.#watch.observe(this.element);
  }

  show(step, from, until, colours) {
    [this.#step, this.#from, this.#until, this.#colours] = [step, from, until, colours];
    this.#draw();
  }

  close() {
    this.#watch.disconnect();
  }

  #x(time) {
    return this.#left + ((time - this.#from) / (this.#until - this.#from)) * this.#width;
  }

  #draw() {
    const wide = this.element.clientWidth;
    if (wide === 0 || this.#step === null) return;
    this.#left = Math.min(170, wide * 0.27);
    this.#width = wide - this.#left - 12;
    const parts = [];
    const lanes = new Map();
    let y = TOP;
    if (this.#step.critical?.length > 0) {
      parts.push(
        this.#name("Critical path", y, "strong"),
        this.#step.critical.map((piece) => this.#piece(piece, y)),
      );
      y += LANE + GAP;
    }
    const partitions = [...this.#step.partitions].sort((a, b) =>
      `${a.task}${a.device}`.localeCompare(`${b.task}${b.device}`, "en", { numeric: true }),
    );
    for (const part of partitions) {
      const rows = pack(part.nodes);
      const height = Math.max(LANE, rows.length * 9 + 20);
      lanes.set(part.device, { y, height });
      parts.push(this.#name(short(part.device || part.task), y), this.#partition(part, rows, y, height));
      y += height + (this.#step.transfers.length > 0 ? WIDER : GAP);
    }
    parts.push(this.#transfers(lanes));
    const height = y + 4;
    this.#svg.setAttribute("viewBox", `0 0 ${wide} ${height}`);
    this.#svg.style.setProperty("height", `${height}px`);
    put(this.#svg, this.#axis(height), parts, this.#shade, this.#head);
    for (const [name, value] of [
      ["y1", TOP - 6],
      ["y2", height],
    ])
      this.#head.setAttribute(name, String(value));
    for (const [name, value] of [
      ["y", TOP - 6],
      ["height", height],
    ])
      this.#shade.setAttribute(name, String(value));
  }

  #axis(height) {
    const [first, last] = [this.#from, this.#until].map((time) => time - this.#step.began);
    const apart = round_step((last - first) / Math.max(2, this.#width / 90));
    const ticks = [];
    for (let index = Math.ceil(first / apart); index * apart <= last; index++) {
      const x = this.#x(this.#step.began + index * apart);
      const anchor = x > this.#left + this.#width - 20 ? "end" : "middle";
      ticks.push(
        s("line", { x1: x, x2: x, y1: TOP - 6, y2: height, class: "grid" }),
        s("text", { x, y: 12, class: "tick", "text-anchor": anchor }, duration(index * apart)),
      );
    }
    return ticks;
  }

  #name(text, y, kind = "") {
    const most = Math.floor(this.#left / 6.6);
    const cut = text.length > most ? `${text.slice(0, most - 1)}…` : text;
    return s("text", { x: 0, y: y + LANE / 2 + 4, class: `lane-name ${kind}` }, cut, s("title", null, text));
  }

  #piece(piece, y) {
    const [x, end] = [this.#x(piece.began), this.#x(piece.ended)];
    const wide = Math.max(1.5, end - x);
    const text = `${KINDS[piece.kind] ?? piece.kind} ${duration(piece.ended - piece.began)}`;
    const words = [text, tensor(piece.what ?? "")].filter(Boolean).join(" · ");
    const fitting = [words, text, duration(piece.ended - piece.began)].find((each) => each.length * 6.6 + 8 < wide);
    return s(
      "g",
      { class: `piece ${piece.kind}` },
      s("rect", { x, y, width: wide, height: LANE, rx: 3 }),
      fitting && s("text", { x: x + 5, y: y + LANE / 2 + 4 }, fitting),
      s("title", null, `${words}\n${piece.where}`),
    );
  }

  #partition(part, rows, y, height) {
    if (typeof part.began !== "number")
      return s("text", { x: this.#left + 5, y: y + height / 2 + 4, class: "tick" }, ran(part));
    const [x, text] = [this.#x(part.began), ran(part)];
    const wide = Math.max(2, this.#x(part.ended || this.#until) - x);
    const bars = rows.flatMap((row, index) =>
      row.map((node) => {
        const from = this.#x(node.began);
        return s(
          "rect",
          {
            x: from,
            y: y + 17 + index * 9,
            width: Math.max(1.5, this.#x(node.ended) - from),
            height: 7,
            class: "node",
          },
          s("title", null, `${node.name} (${node.op}), ${duration(node.ended - node.began)}`),
        );
      }),
    );
    const inside = text.length * 6.6 + 8 < wide;
    const anchor = !inside && x > this.#left + this.#width * 0.6 ? "end" : "start";
    const at = inside ? x + 5 : anchor === "end" ? x - 4 : x + wide + 4;
    return s(
      "g",
      { class: `part hue-${this.#colours.of(part.task)}` },
      s("rect", { x, y, width: wide, height, rx: 3, class: "whole" }, s("title", null, `${part.device}\n${text}`)),
      bars,
      s("text", { x: at, y: y + (rows.length > 0 ? 13 : height / 2 + 4), "text-anchor": anchor }, text),
    );
  }

  /** Arrows from lane to lane; the slowest have their name beside them. */
  #transfers(lanes) {
    const drawn = this.#step.transfers.filter(
      (each) => lanes.has(each.source) && lanes.has(each.target) && on_the_way(each) !== null,
    );
    const slow = [...drawn].sort((a, b) => on_the_way(b) - on_the_way(a)).slice(0, LABELS);
    const noticed = (this.#until - this.#from) * 0.05;
    return drawn.map((each) => {
      const [from, to] = [lanes.get(each.source), lanes.get(each.target)];
      const down = to.y > from.y;
      const [x, y] = [this.#x(each.sent), from.y + (down ? from.height : 0)];
      const [end, bottom] = [this.#x(each.received), to.y + (down ? 0 : to.height)];
      const late = on_the_way(each) > noticed;
      const text = `${tensor(each.edge)} ${duration(on_the_way(each))}`;
      const fits = slow.includes(each) && late;
      const middle = (x + end) / 2;
      const anchor = middle > this.#left + this.#width * 0.7 ? "end" : "start";
      return s(
        "g",
        { class: `transfer ${late ? "late" : ""}` },
        s("path", { d: `M${x} ${y}L${end} ${bottom}`, "marker-end": "url(#tip)" }),
        fits &&
          s("text", { x: middle + (anchor === "end" ? -6 : 6), y: (y + bottom) / 2 + 4, "text-anchor": anchor }, text),
        s("title", null, `${text}\n${bytes(each.bytes)}\n${each.key}`),
      );
    });
  }

  at(moment) {
    const x = this.#x(moment);
    for (const name of ["x1", "x2"]) this.#head.setAttribute(name, String(x));
    this.#shade.setAttribute("x", String(x));
    this.#shade.setAttribute("width", String(Math.max(0, this.#left + this.#width - x)));
  }
}

/** Return the next larger number with one digit that is 1, 2 or 5. */
function round_step(least) {
  const ten = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * ten).find((step) => step >= least);
}

/** Put nodes into rows in which none overlaps another. */
function pack(nodes) {
  const rows = [];
  for (const node of [...nodes].sort((a, b) => a.began - b.began)) {
    const row = rows.find((each) => each.at(-1).ended <= node.began);
    if (row) row.push(node);
    else if (rows.length < 8) rows.push([node]);
    else rows[0].push(node);
  }
  return rows;
}

/** Partitions as boxes within their tasks; tensors as arrows between them, and as dots while they are on their way. */
class Boxes {
  #step = null;
  #drawing = new Drawing("Partitions of the step, by task");
  #dots = new Map();
  element = this.#drawing.element;

  show(step, colours) {
    this.#step = step;
    const parts = step.partitions;
    const boxes = parts.map((part) => ({
      id: part.device,
      title: short(part.device || part.task),
      lines: [
        ran(part),
        ...(part.nodes.length > 0
          ? [slowest(part.nodes)]
          : part.planned?.length > 0
            ? [plural(part.planned.length, "node")]
            : []),
      ],
      group: [short(part.task)],
      hue: colours.of(part.task),
      tip: `${part.device}\n${nodes_of(part)
        .map((node) => node.name)
        .slice(0, 30)
        .join("\n")}`,
    }));
    // Of a partial run, whose values come and go one by one.
    if (step.transfers.some((each) => [each.source, each.target].includes("client")))
      boxes.unshift({ id: "client", title: "client", lines: [], group: [], tip: "the program" });
    const pairs = new Map();
    for (const transfer of step.transfers) {
      const pair = `${transfer.source}\n${transfer.target}`;
      pairs.set(pair, [...(pairs.get(pair) ?? []), transfer]);
    }
    const arrows = [...pairs.values()].map((list) => ({
      from: list[0].source,
      to: list[0].target,
      list,
      weight: list.length,
      label:
        list.length === 1
          ? `${tensor(list[0].edge)}, ${bytes(list[0].bytes)}`
          : `${count(list.length)} tensors, ${bytes(list.reduce((sum, each) => sum + each.bytes, 0))}`,
      tip: list
        .slice(0, 30)
        .map((each) => `${tensor(each.edge)}  ${bytes(each.bytes)}  ${duration(on_the_way(each))}\n${each.key}`)
        .join("\n"),
    }));
    this.#drawing.show(boxes, arrows, { down: false, keep: true });
    this.#dots.clear();
    for (const drawn of this.#drawing.arrows) {
      const dot = s("circle", { r: 5, class: "dot" });
      this.#dots.set(drawn, dot);
      this.#drawing.over(dot);
    }
  }

  at(moment) {
    for (const part of this.#step.partitions) {
      const begun = typeof part.began === "number" && part.began <= moment;
      const state = !begun ? "before" : !part.ended || part.ended > moment ? "running" : "after";
      const element = this.#drawing.box(part.device)?.element;
      for (const each of ["before", "running", "after"]) element?.classList.toggle(each, each === state);
    }
    for (const [drawn, dot] of this.#dots) {
      const under_way = drawn.arrow.list.find(
        (each) => on_the_way(each) > 0 && each.sent <= moment && each.received > moment,
      );
      dot.classList.toggle("moves", Boolean(under_way));
      drawn.element.classList.toggle(
        "before",
        drawn.arrow.list.every((each) => (each.sent ?? 0) > moment),
      );
      if (!under_way) continue;
      const point = drawn.path.getPointAtLength(
        drawn.path.getTotalLength() * ((moment - under_way.sent) / on_the_way(under_way)),
      );
      dot.setAttribute("cx", String(point.x));
      dot.setAttribute("cy", String(point.y));
    }
  }
}

function slowest(nodes) {
  const node = nodes.reduce((a, b) => (b.ended - b.began > a.ended - a.began ? b : a));
  return `slowest: ${node.name} ${duration(node.ended - node.began)}`;
}
