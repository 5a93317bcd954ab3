/** The tasks of the cluster: what is wrong, rates over the last hour, one row each, and the details of one. */

import { Lines, bar } from "../charts.js";
import { where_time_went } from "../critical.js";
import { Colours, h, hash, nothing, put, renew } from "../dom.js";
import { heaviest, of_tasks, of_transfers, per_step } from "../findings.js";
import { UNKNOWN, bytes, count, duration, percent, plural, rate, short } from "../format.js";
import { advice, plan_of } from "../plan.js";
import { now } from "../source.js";
import { Table } from "../table.js";

export const title = "Overview";

const HISTORY = 3600;
const LINES = 8; // of a chart: more than these nobody tells apart
const TAIL = 12;

export function open(root, page, chosen) {
  const colours = new Colours();
  const charts = [
    ["rate", new Lines("Steps per second", (value) => rate(value))],
    ["p99", new Lines("Slowest of a hundred steps", duration)],
    ["cpu", new Lines("Cores busy", (value) => percent(value))],
    ["memory", new Lines("Memory", bytes)],
  ];
  const tiles = h("dl", { class: "tiles" });
  const findings = h("div", { class: "findings", "aria-live": "polite" });
  const slowest = h("div");
  const running = h("div");
  const legend = h("div", { class: "legend" });
  const details = h("section", { class: "details", "aria-label": "Details of a task", hidden: true });
  const about = h("div", { class: "stack" });
  const tail = h("pre", { class: "tail" });
  let cluster = null;
  let found = new Map(); // task to texts
  let history = null;
  let stop_tail = null;

  const noticed = (task) => found.get(task.task) ?? [];
  const table = new Table(
    columns(() => cluster, noticed),
    {
      label: "Tasks",
      key: (task) => task.task,
      open: (task) => choose(task.task === chosen ? undefined : task.task),
      bad: (task) => noticed(task).length > 0,
      empty: "No task has answered yet.",
      rows: 12,
    },
  );
  const search = h("input", {
    type: "search",
    placeholder: "Filter tasks",
    "aria-label": "Filter tasks",
    input: () => table.filter(search.value),
  });

  put(details, about, tail);
  put(
    root,
    tiles,
    findings,
    slowest,
    running,
    h("div", { class: "bar-of-tools" }, h("h2", null, "Tasks"), search),
    table.element,
    details,
    h("div", { class: "bar-of-tools" }, h("h2", null, "The last hour"), legend),
    h(
      "div",
      { class: "charts" },
      charts.map(([, chart]) => chart.element),
    ),
  );

  function choose(task) {
    chosen = task;
    page.at("overview", ...(task ? [task] : []));
    follow();
    show();
  }

  function follow() {
    stop_tail?.();
    stop_tail = null;
    put(tail);
    if (!chosen) return;
    const path = `/api/logs/${encodeURIComponent(chosen)}?lines=${TAIL}`;
    stop_tail = page.source.watch(
      path,
      3,
      (log) => renew(tail, log.lines.slice(-TAIL).join("\n") || "Nothing was logged."),
      (refusal) => renew(tail, refusal.message),
    );
  }

  function show() {
    table.select(chosen ?? null);
    if (cluster !== null) {
      const lines = of_tasks(cluster.tasks);
      found = new Map();
      for (const { task, text } of lines) found.set(task, [...(found.get(task) ?? []), text]);
      renew(tiles, summary(cluster));
      renew(findings, callout(lines));
      table.show(cluster.tasks);
      const task = cluster.tasks.find((each) => each.task === chosen);
      details.hidden = !chosen;
      tail.hidden = !task;
      renew(
        about,
        task ? of_task(task, noticed(task), () => choose(undefined)) : nothing(`There is no task ${chosen}.`),
      );
    }
  }

  /** The tasks whose lines are drawn: the chosen one, or those with the slowest steps; none for those that the server takes. */
  function shown() {
    if (chosen) return [chosen];
    const slowness = (task) => task.latency?.p99 ?? task.cpu ?? 0;
    return (cluster?.tasks ?? [])
      .toSorted((a, b) => slowness(b) - slowness(a))
      .slice(0, LINES)
      .map((task) => task.task);
  }

  function draw() {
    const kept = Object.keys(history.tasks).slice(0, LINES);
    for (const task of kept) colours.of(task);
    renew(
      legend,
      kept.map((task) => h("span", { class: `swatch hue-${colours.of(task)}` }, short(task))),
    );
    for (const [what, chart] of charts) {
      const lines = kept.map((task) => ({
        name: short(task),
        values: history.tasks[task][what] ?? [],
        colour: colours.of(task),
      }));
      chart.show(history.times, lines);
    }
  }

  const stops = [
    page.source.watch(
      "/api/cluster",
      2,
      (answer) => {
        cluster = answer;
        show();
      },
      (refusal) => renew(tiles, nothing(refusal.message)),
    ),
    page.source.watch(
      () => `/api/history?${new URLSearchParams([["seconds", HISTORY], ...shown().map((task) => ["task", task])])}`,
      5,
      (answer) => {
        history = answer;
        draw();
      },
    ),
  ];
  let asked = null;
  stops.push(
    page.source.watch("/api/why", 15, (why) => {
      const kernels = why.waits.filter((wait) => !wait.key && wait.for.endsWith(" runs"));
      renew(running, kernels.length > 0 && callout_of_kernels(kernels));
    }),
    page.source.watch("/api/steps", 5, async (steps) => {
      const most = heaviest(steps.last);
      if (most === null || most.typical.key === asked) return;
      asked = most.typical.key;
      try {
        renew(
          slowest,
          of_steps(
            most,
            ...(await Promise.all([
              page.source.get(`/api/steps/${encodeURIComponent(asked)}`),
              plan_of(page, most.typical),
            ])),
          ),
        );
      } catch {
        asked = null; // it has left the ring, or the connection is lost, which the page says elsewhere
      }
    }),
  );
  follow();
  return () => {
    for (const stop of stops) stop();
    stop_tail?.();
    for (const [, chart] of charts) chart.destroy();
  };
}

function columns(cluster, noticed) {
  const sorted = new Map(); // what is compared to its values in their order, once for each answer
  let of_answer = null;
  function values(of) {
    if (of_answer !== cluster()) sorted.clear();
    of_answer = cluster();
    if (!sorted.has(of)) {
      const known = of_answer.tasks.map(of).filter((value) => typeof value === "number");
      sorted.set(of, Float64Array.from(known).sort());
    }
    return sorted.get(of);
  }
  const compared =
    (of, text, full = 0) =>
    (task) => {
      const [value, all] = [of(task), values(of)];
      if (typeof value !== "number") return UNKNOWN;
      return bar(value / (Math.max(full, all.at(-1)) || 1), text(value), stands_out(value, all) ? "much" : "");
    };
  const p99 = (task) => task.latency?.p99;
  const memory = (task) => task.memory;
  const round_trip = (task) => task.round_trip;
  const cpu = (task) => task.cpu;
  return [
    { name: "task", label: "Task", value: (task) => short(task.task), cell: state, width: "minmax(8rem, 1.3fr)" },
    { name: "rate", label: "Steps/s", number: true, value: (task) => task.rate, cell: (task) => rate(task.rate) },
    {
      name: "p50",
      label: "Median",
      number: true,
      wide: true,
      value: (task) => task.latency?.p50,
      cell: (task) => duration(task.latency?.p50),
    },
    { name: "p99", label: "p99", number: true, value: p99, cell: compared(p99, duration) },
    {
      name: "kernels",
      label: "Kernels/step",
      number: true,
      wide: true,
      value: per_step,
      cell: compared(per_step, duration),
      width: "minmax(6.5rem, 0.7fr)",
    },
    { name: "cpu", label: "CPU", number: true, value: cpu, cell: compared(cpu, percent, 1) },
    { name: "memory", label: "Memory", number: true, wide: true, value: memory, cell: compared(memory, bytes) },
    {
      name: "link",
      label: "Answers in",
      number: true,
      wide: true,
      value: round_trip,
      cell: compared(round_trip, duration),
      width: "minmax(6.2rem, 0.6fr)",
    },
    {
      name: "errors",
      label: "Errors",
      number: true,
      wide: true,
      value: (task) => task.errors,
      cell: (task) => count(task.errors),
    },
    {
      name: "findings",
      label: "Finding",
      wide: true,
      value: (task) => noticed(task).join("; "),
      width: "minmax(8rem, 3fr)",
    },
  ];
}

const OUT = 3; // times the median of all tasks

/** Return whether a value is much larger than those of most tasks, which ``all`` has in their order. */
const stands_out = (value, all) => all.length > 1 && value > OUT * all[Math.floor((all.length - 1) / 2)];

/** Return the name of a task behind the colour of its state. */
const state = (task) =>
  h(
    "span",
    { class: `state ${task.state}`, title: `${task.task} is ${task.state}` },
    short(task.task),
    task.state !== "up" && ` ${task.state}`,
  );

function summary(cluster) {
  const tasks = cluster.tasks;
  const sum = (of) =>
    tasks.some((task) => typeof of(task) === "number")
      ? tasks.reduce((total, task) => total + (of(task) ?? 0), 0)
      : null;
  const up = tasks.filter((task) => task.state === "up").length;
  const tile = (name, value, kind) => h("div", { class: kind }, h("dt", null, name), h("dd", null, value));
  return [
    tile("Tasks up", `${up} of ${tasks.length}`, up < tasks.length ? "bad" : ""),
    tile("Steps/s", rate(sum((task) => task.whole_rate))),
    tile("Steps running", count(sum((task) => task.steps))),
    tile("Memory", bytes(sum((task) => task.memory))),
    tile("Errors", count(sum((task) => task.errors)), sum((task) => task.errors) > 0 ? "warn" : ""),
    tile("Up for", duration(Math.max(...tasks.map((task) => task.uptime ?? 0)))),
  ];
}

function callout(lines) {
  const shown = lines
    .slice(0, 12)
    .map(({ task, text }) =>
      h("li", { "data-key": task }, h("a", { href: hash("overview", task) }, short(task)), ": ", h("span", null, text)),
    );
  if (shown.length === 0)
    return h("p", { class: "fine" }, "Nothing stands out: all tasks answer, and none is slower than the others.");
  return h(
    "div",
    { class: "callout" },
    h("h2", null, plural(lines.length, "finding")),
    h("ul", null, shown),
    lines.length > shown.length && h("p", null, `and ${count(lines.length - shown.length)} more`),
  );
}

/** Return the kernels that run at the moment, of which a slow one is seen again and again. */
function callout_of_kernels(kernels) {
  const lines = kernels
    .slice(0, 5)
    .map((wait) =>
      h("li", null, [
        h("code", null, wait.node),
        ` (${wait.for.replace(/ runs$/, "")}) at ${short(wait.task)}, for ${duration(Math.max(0, now() - wait.since))}`,
        wait.line && [", ", h("code", null, wait.line)],
      ]),
    );
  return h(
    "div",
    { class: "callout calm" },
    h("h2", null, "Seen running when the tasks were asked"),
    h("ul", null, lines),
  );
}

/** Return what the steps do that the most time goes into. */
function of_steps({ fetches, steps, typical }, whole, plan) {
  const link = (step, text) => h("a", { href: hash("steps", step.key) }, text);
  const last = steps.at(-1);
  return h("div", { class: "callout calm" }, [
    h("h2", null, "Most time of the last steps: ", h("code", null, fetches.join(", ") || "a run without fetches")),
    h("p", null, [
      `${plural(steps.length, "step")}, typically `,
      link(typical, duration(typical.took)),
      ", at most ",
      link(last, duration(last.took)),
      ". Of a typical one:",
    ]),
    where_time_went(whole),
    of_transfers(whole, !plan?.findings?.length).map((text) => h("p", null, text)),
    advice(plan, 3),
  ]);
}

function of_task(task, noticed, close) {
  const row = (name, value) => [h("dt", null, name), h("dd", null, value ?? UNKNOWN)];
  const total = Math.max(...(task.devices ?? []).map((device) => device.kernel_seconds ?? 0), 1e-9);
  return [
    h(
      "div",
      { class: "bar-of-tools" },
      h("h3", null, task.task),
      h("button", { type: "button", click: close }, "Close"),
    ),
    noticed.length > 0 &&
      h(
        "ul",
        { class: "callout" },
        noticed.map((text) => h("li", null, text)),
      ),
    h(
      "div",
      { class: "halves" },
      h("dl", { class: "facts" }, [
        row("Address", task.address),
        row("Process", task.pid ? `${task.pid}, version ${task.version}` : null),
        row("Answers in", duration(task.round_trip)),
        row("Up for", duration(task.uptime)),
        row("Restarts", count(task.restarts)),
        row("Memory", `${bytes(task.memory)}, ${bytes(task.peak_memory)} at most`),
        row("Steps", `${count(task.steps)} run, ${count(task.waiting)} wait`),
        row("Event loop late by", duration(task.loop_lag)),
        row("Last snapshot", typeof task.snapshot_age !== "number" ? "none" : `${duration(task.snapshot_age)} ago`),
      ]),
      h("div", null, [
        h("h4", null, "Devices by kernel time"),
        (task.devices ?? []).map((device) =>
          h(
            "p",
            { class: "of" },
            h("span", null, short(device.name)),
            bar((device.kernel_seconds ?? 0) / total, duration(device.kernel_seconds)),
          ),
        ),
        h("h4", null, "Links"),
        (task.links ?? [])
          .slice(0, 20)
          .map((link) =>
            h(
              "p",
              { class: "of" },
              h("span", { title: link.address }, short(link.peer)),
              h(
                "span",
                null,
                `${bytes(link.bytes_sent)} sent, ${bytes(link.bytes_received)} received${link.unsent ? `, ${bytes(link.unsent)} to send` : ""}`,
              ),
            ),
          ),
      ]),
    ),
    h(
      "p",
      { class: "bar-of-tools" },
      h("h4", null, "Last lines of the log"),
      h("a", { href: hash("logs", task.task) }, "the whole log"),
    ),
  ];
}
