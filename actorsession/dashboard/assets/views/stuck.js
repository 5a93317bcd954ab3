/** What steps wait for: the graph of who waits for whom, with the root causes marked. */

import { Drawing } from "../drawing.js";
import { h, nothing, put, renew } from "../dom.js";
import { duration, short, step_name } from "../format.js";
import { now } from "../source.js";
import { Table } from "../table.js";

export const title = "Stuck";

export function open(root, page) {
  const causes = h("div", { class: "findings", "aria-live": "polite" });
  const drawing = new Drawing("Who waits for whom");
  drawing.element.hidden = true;
  const text = h("pre", { class: "tail" });
  let last = "";
  const table = new Table(
    [
      {
        name: "step",
        label: "Step",
        wide: true,
        value: (wait) => wait.step,
        cell: (wait) => step_name(wait.step),
        width: "minmax(4rem, 0.6fr)",
      },
      { name: "task", label: "Task", value: (wait) => short(wait.task) },
      { name: "node", label: "Node", value: (wait) => wait.node, width: "minmax(8rem, 1.6fr)" },
      { name: "for", label: "Waits for", value: (wait) => wait.for, width: "minmax(8rem, 2fr)" },
      {
        name: "since",
        label: "Since",
        number: true,
        value: (wait) => age(wait),
        cell: (wait) => duration(age(wait)),
        narrow: "4rem",
      },
      { name: "key", label: "Key", wide: true, value: (wait) => wait.key ?? "", width: "minmax(8rem, 2fr)" },
    ],
    {
      label: "Waits",
      key: (wait) => `${wait.task}\n${wait.step}\n${wait.node}\n${wait.key}`,
      sort: "since",
      descending: true,
      empty: "Nothing waits.",
      rows: 10,
    },
  );
  put(causes, h("p", { class: "hint" }, "Asking every task what it waits for …"));
  put(
    root,
    causes,
    drawing.element,
    h("h2", null, "Waits"),
    table.element,
    h("details", null, h("summary", null, "The report as text"), text),
  );

  function show(why) {
    renew(text, why.text);
    table.show(why.waits);
    renew(causes, found(why));
    const pointing = new Set(why.edges.map(([from]) => from));
    const boxes = [...new Set(why.edges.flatMap(([from, to]) => [from, to]))].map((name) => ({
      id: name,
      title: short(name),
      tip: name,
      kind: pointing.has(name) ? "" : "cause",
    }));
    const arrows = why.edges.map(([from, to, label]) => ({ from, to, label }));
    drawing.element.hidden = boxes.length === 0;
    const edges = JSON.stringify(why.edges);
    if (edges !== last) drawing.show(boxes, arrows, { down: false, keep: true });
    last = edges;
  }

  // Every task looks several times to tell what waits from what only passes by.
  return page.source.watch("/api/why", 10, show, (refusal) => renew(causes, nothing(refusal.message)));
}

/** Return for how long a wait has lasted; the server gives the time at which it began. */
const age = (wait) => (typeof wait.since === "number" ? Math.max(0, now() - wait.since) : null);

function found(why) {
  const silent =
    why.silent.length > 0 &&
    h("p", null, `No answer from ${why.silent.map((each) => `${short(each.task)} (${each.fault})`).join(", ")}.`);
  if (why.waits.length === 0 && why.cause.length === 0)
    return [h("p", { class: "fine" }, "No step waits for anything."), silent];
  if (why.cause.length === 0) return [h("p", { class: "hint" }, why.text.split("\n")[0]), silent];
  return h(
    "div",
    { class: "callout" },
    h("h2", null, why.cause.length === 1 ? "The root cause" : "The root causes"),
    h(
      "ul",
      null,
      why.cause.map((cause) => h("li", null, short(cause))),
    ),
    silent,
  );
}
