/** The steps: those that run now and those of the last seconds as lanes that move, and the last steps, slow ones first. */

import { bar } from "../charts.js";
import { Colours, choice, colour, h, hash, labelled, put } from "../dom.js";
import { ago, count, duration, plural, short, step_name } from "../format.js";
import { now } from "../source.js";
import { Table } from "../table.js";

export const title = "Steps";

const WINDOW = 20; // seconds that the lanes show
const LANE = 22; // pixels
const LANES = 16;
const FRAME = 40; // milliseconds in which a lane moves by two pixels

export function open(root, page) {
  const table = new Table(
    columns(() => longest),
    {
      label: "Last steps",
      key: (step) => step.key,
      open: (step) => page.go("steps", step.key),
      bad: (step) => Boolean(step.error),
      sort: "took",
      descending: true,
      empty: "No step has ended yet, or the servers keep no ring of steps.",
      rows: 16,
    },
  );
  let slower = 0;
  let answer = null;
  let longest = 1;
  const lanes = new Lanes((step) => page.go("steps", step.key));
  const running = h("p", { class: "hint", role: "status" });
  const search = h("input", {
    type: "search",
    placeholder: "Filter steps",
    "aria-label": "Filter steps",
    input: () => table.filter(search.value),
  });
  const limits = [
    ["0", "all"],
    ["0.001", "1 ms"],
    ["0.01", "10 ms"],
    ["0.05", "50 ms"],
    ["0.1", "100 ms"],
    ["1", "1 s"],
    ["10", "10 s"],
  ];
  const limit = choice(limits, "0", (value) => {
    slower = Number(value);
    show();
  });

  put(
    root,
    h("div", { class: "bar-of-tools" }, h("h2", null, "Now"), running),
    lanes.element,
    h("div", { class: "bar-of-tools" }, h("h2", null, "Last steps"), labelled("slower than", limit), search),
    table.element,
  );

  function show() {
    if (answer === null) return;
    const all = [...answer.running, ...answer.last];
    longest = Math.max(...answer.last.map((step) => step.took), 1e-9);
    running.textContent =
      answer.running.length === 0 ? "no step runs" : `${plural(answer.running.length, "step")} running`;
    lanes.show(all);
    table.show(all.filter((step) => taken(step) >= slower));
  }

  const stop = page.source.watch(
    "/api/steps",
    1,
    (steps) => {
      answer = steps;
      show();
    },
    (refusal) => (running.textContent = refusal.message),
  );
  return () => {
    stop();
    lanes.close();
  };
}

const runs = (step) => step.took === 0 && !step.error;

/** Return how long a step took, or has taken so far. */
const taken = (step) => (runs(step) ? now() - step.began : step.took);

/** Return the part of a step that waited the longest. */
const waited = (step) => Math.max(0, ...step.parts.map((part) => part.waited ?? 0));

function columns(longest) {
  const names = (list) => list.join(", ");
  return [
    {
      name: "id",
      label: "Step",
      value: (step) => String(step.step_id),
      cell: (step) => h("a", { href: hash("steps", step.key), tabindex: "-1" }, step_name(step.step_id)),
      width: "minmax(5rem, 0.7fr)",
      narrow: "3.5rem",
    },
    {
      name: "took",
      label: "Took",
      number: true,
      value: taken,
      cell: (step) => bar(runs(step) ? 1 : step.took / longest(), duration(taken(step)), runs(step) ? "runs" : ""),
      width: "minmax(7rem, 1.2fr)",
    },
    {
      name: "waited",
      label: "Waited",
      number: true,
      wide: true,
      value: waited,
      cell: (step) => duration(waited(step)),
    },
    {
      name: "began",
      label: "Began",
      number: true,
      value: (step) => step.began,
      cell: (step) => ago(step.began, now()),
      width: "minmax(6rem, 0.8fr)",
      narrow: "5.5rem",
    },
    { name: "task", label: "Task", wide: true, value: (step) => short(step.task) },
    { name: "session", label: "Session", wide: true, value: (step) => step.session },
    { name: "kind", label: "Kind", wide: true, value: (step) => step.kind, width: "4.5rem" },
    {
      name: "parts",
      label: "Parts",
      number: true,
      wide: true,
      value: (step) => step.parts.length,
      cell: (step) => count(step.parts.length),
    },
    {
      name: "transfers",
      label: "Transfers",
      number: true,
      wide: true,
      value: (step) => step.transfers,
      cell: (step) => count(step.transfers),
    },
    {
      name: "fetches",
      label: "Fetches",
      value: (step) => step.error || names(step.fetches),
      width: "minmax(8rem, 2fr)",
    },
  ];
}

/** One lane per task, in which its steps move to the left as time passes; those that run grow at the right edge. */
class Lanes {
  #canvas = h("canvas", {
    class: "lanes",
    role: "img",
    "aria-label": "Steps of the last seconds by task; the table below lists them",
  });
  #tip = h("p", { class: "hint", "aria-hidden": "true" });
  #colours = new Colours();
  #steps = [];
  #drawn = [];
  #frame = 0;
  #last = 0;
  #still = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(opened) {
    const hit = (event) => {
      const box = this.#canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      return this.#drawn.findLast(
        (each) => x >= each.x - 3 && x <= each.x + each.width + 3 && y >= each.y && y < each.y + LANE,
      )?.step;
    };
    let aimed = null; // what was pressed: until the release it has moved on
    this.#canvas.addEventListener("pointerdown", (event) => (aimed = hit(event)));
    this.#canvas.addEventListener("click", () => aimed && opened(aimed));
    this.#canvas.addEventListener("pointermove", (event) => {
      const step = hit(event);
      this.#canvas.style.setProperty("cursor", step ? "pointer" : "default");
      this.#tip.textContent = step
        ? `Step ${step_name(step.step_id)} of ${step.session || "a session"} at ${short(step.task)}: ${runs(step) ? "runs for" : "took"} ${duration(taken(step))}${step.error ? `, ${step.error}` : ""}`
        : "";
    });
    this.element = h("div", { class: "moving" }, this.#canvas, this.#tip);
    this.#next();
  }

  show(steps) {
    const since = now() - WINDOW;
    this.#steps = steps.filter((step) => runs(step) || step.began + step.took > since);
    this.#draw(); // now, for it moves what is below: with a frame it could do so while that is pressed
  }

  close() {
    cancelAnimationFrame(this.#frame);
  }

  #next() {
    this.#frame = requestAnimationFrame(() => {
      if (performance.now() - this.#last >= (this.#still.matches ? 1000 : FRAME)) this.#draw();
      this.#next();
    });
  }

  #draw() {
    this.#last = performance.now();
    const known = new Map(); // reading a colour of the style sheet takes longer than drawing with it
    const ink = (name) => known.get(name) ?? known.set(name, colour(name)).get(name);
    const time = now();
    const tasks = [...new Set(this.#steps.map((step) => step.task))].sort((a, b) =>
      a.localeCompare(b, "en", { numeric: true }),
    );
    const lanes = [];
    for (const task of tasks)
      lanes.push(...in_rows(this.#steps.filter((step) => step.task === task)).map((steps) => ({ task, steps })));
    const shown = lanes.slice(0, LANES);
    const width = this.#canvas.parentElement.clientWidth;
    const height = Math.max(2, shown.length) * LANE + 20;
    const scale = devicePixelRatio || 1;
    if (this.#canvas.width !== Math.round(width * scale) || this.#canvas.height !== Math.round(height * scale)) {
      this.#canvas.width = Math.round(width * scale);
      this.#canvas.height = Math.round(height * scale);
      this.#canvas.style.setProperty("height", `${height}px`);
    }
    const pen = this.#canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const left = Math.min(150, width * 0.25);
    const at = (moment) => left + (1 - (time - moment) / WINDOW) * (width - left - 8);
    pen.fillStyle = ink("--soft");
    pen.strokeStyle = ink("--line");
    for (let past = 0; past <= WINDOW; past += 5) {
      const x = at(time - past);
      pen.beginPath();
      pen.moveTo(x, 0);
      pen.lineTo(x, height - 18);
      pen.stroke();
      pen.textAlign = past === 0 ? "right" : "center";
      pen.fillText(past === 0 ? "now" : `−${past} s`, x, height - 8);
    }
    pen.textAlign = "left";
    this.#drawn = [];
    shown.forEach(({ task, steps }, lane) => {
      const y = lane * LANE;
      pen.fillStyle = ink("--text");
      if (shown[lane - 1]?.task !== task) pen.fillText(short(task), 2, y + LANE / 2, left - 8);
      for (const step of steps) {
        const [from, to] = [Math.max(left, at(step.began)), at(runs(step) ? time : step.began + step.took)];
        if (to < left) continue;
        pen.fillStyle = step.error ? ink("--bad") : ink(`--hue-${this.#colours.of(step.session)}`);
        pen.globalAlpha = runs(step) ? 1 : 0.65;
        pen.fillRect(from, y + 3, Math.max(2, to - from), LANE - 6);
        this.#drawn.push({ step, x: from, y, width: Math.max(2, to - from) });
        pen.globalAlpha = 1;
      }
    });
    if (shown.length === 0) {
      pen.fillStyle = ink("--soft");
      pen.fillText(`No step in the last ${WINDOW} seconds.`, left, LANE);
    } else if (lanes.length > shown.length) {
      pen.fillStyle = ink("--soft");
      pen.fillText(`and ${lanes.length - shown.length} more lanes`, 2, height - 8);
    }
  }
}

const ROWS = 4; // of one task

/** Put steps that run at once into rows, in which none is over another; what has no row is in the last one. */
function in_rows(steps) {
  const rows = [];
  const end = (step) => (runs(step) ? Infinity : step.began + step.took);
  for (const step of [...steps].sort((a, b) => a.began - b.began)) {
    const row =
      rows.find((each) => end(each.at(-1)) <= step.began) ??
      (rows.length < ROWS ? rows[rows.push([]) - 1] : rows.at(-1));
    row.push(step);
  }
  return rows;
}
