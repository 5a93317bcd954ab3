/** The queues: how full they are, and how many runs wait to put something in or to take something out. */

import { bar } from "../charts.js";
import { h, put } from "../dom.js";
import { count, short } from "../format.js";
import { Table } from "../table.js";

export const title = "Queues";

export function open(root, page) {
  const table = new Table(
    [
      { name: "name", label: "Queue", value: (queue) => queue.name, width: "minmax(8rem, 2fr)" },
      { name: "task", label: "Task", wide: true, value: (queue) => short(queue.task) },
      { name: "device", label: "Device", wide: true, value: (queue) => short(queue.device) },
      {
        name: "size",
        label: "Filled",
        number: true,
        value: (queue) => queue.size,
        cell: filled,
        width: "minmax(8rem, 1.5fr)",
      },
      {
        name: "enqueues",
        label: "Writers wait",
        number: true,
        wide: true,
        value: (queue) => queue.waiting_enqueues,
        cell: (queue) => count(queue.waiting_enqueues),
      },
      {
        name: "dequeues",
        label: "Readers wait",
        number: true,
        wide: true,
        value: (queue) => queue.waiting_dequeues,
        cell: (queue) => count(queue.waiting_dequeues),
      },
      { name: "state", label: "State", value: state, width: "minmax(11rem, 1.4fr)" },
    ],
    {
      label: "Queues",
      key: (queue) => [queue.task, queue.container, queue.session, queue.name].join("\n"),
      sort: "name",
      bad: (queue) => queue.closed || queue.waiting_dequeues > 0 || queue.waiting_enqueues > 0,
      empty: "No task has a queue.",
      rows: 16,
    },
  );
  const search = h("input", {
    type: "search",
    placeholder: "Filter queues",
    "aria-label": "Filter queues",
    input: () => table.filter(search.value),
  });
  const said = h("p", { class: "hint" });
  put(root, h("div", { class: "bar-of-tools" }, h("h2", null, "Queues"), said, search), table.element);
  return page.source.watch(
    "/api/queues",
    2,
    (queues) => {
      said.textContent = "";
      table.show(queues);
    },
    (refusal) => (said.textContent = refusal.message),
  );
}

const bounded = (queue) => typeof queue.capacity === "number" && queue.capacity > 0;
const filled = (queue) =>
  bar(
    bounded(queue) ? queue.size / queue.capacity : 0,
    bounded(queue) ? `${count(queue.size)} of ${count(queue.capacity)}` : count(queue.size),
  );

function state(queue) {
  if (queue.closed) return "closed";
  if (queue.waiting_dequeues > 0) return "empty: its readers wait";
  if (queue.waiting_enqueues > 0) return "full: its writers wait";
  return "open";
}
