/** The variables: where they lie and how large they are; the values of one as a histogram when it is asked for. */

import { bar, histogram } from "../charts.js";
import { h, nothing, put } from "../dom.js";
import { bytes, count, figure, plural, shape, short } from "../format.js";
import { Table } from "../table.js";

export const title = "Variables";

export function open(root, page, chosen_task, chosen_name) {
  let largest = 1;
  let wanted = chosen_name ? { task: chosen_task, name: chosen_name } : null;
  const total = h("p", { class: "hint" });
  const details = h("section", { class: "details", "aria-label": "Values of a variable", hidden: true });
  let asked = null;
  const table = new Table(
    [
      { name: "name", label: "Variable", value: (variable) => variable.name, width: "minmax(9rem, 2.5fr)" },
      { name: "task", label: "Task", value: (variable) => short(variable.task) },
      { name: "device", label: "Device", wide: true, value: (variable) => short(variable.device) },
      { name: "shape", label: "Shape", wide: true, value: (variable) => shape(variable.shape) },
      { name: "dtype", label: "Type", wide: true, value: (variable) => variable.dtype, width: "5.5rem" },
      {
        name: "bytes",
        label: "Size",
        number: true,
        value: (variable) => variable.bytes,
        cell: (variable) => bar(variable.bytes / largest, bytes(variable.bytes)),
        width: "minmax(7rem, 1fr)",
      },
      { name: "container", label: "Container", wide: true, value: (variable) => variable.container },
    ],
    { label: "Variables", key, open: ask, sort: "bytes", descending: true, empty: "No task has a variable.", rows: 16 },
  );
  const search = h("input", {
    type: "search",
    placeholder: "Filter variables",
    "aria-label": "Filter variables",
    input: () => table.filter(search.value),
  });
  put(root, h("div", { class: "bar-of-tools" }, h("h2", null, "Variables"), total, search), table.element, details);

  async function ask(variable) {
    const { task, name, device, container, session = "" } = variable;
    asked?.abort();
    asked = new AbortController();
    page.at("variables", task, name);
    table.select(key(variable));
    details.hidden = false;
    put(details, h("h3", null, name), h("p", { class: "hint" }, "Reading its values at the task …"));
    try {
      const path = `/api/variables/${encodeURIComponent(task)}/${encodeURIComponent(name)}?${new URLSearchParams({ device, container, session })}`;
      put(details, values({ ...variable, ...(await page.source.get(path, asked.signal)) }));
    } catch (error) {
      if (error.name !== "AbortError")
        put(details, h("h3", null, name), nothing(error.message || "The server does not answer."));
    }
    details.scrollIntoView({ block: "nearest" });
  }

  const stop = page.source.watch(
    "/api/variables",
    5,
    (variables) => {
      largest = Math.max(1, ...variables.map((variable) => variable.bytes ?? 0));
      total.textContent = `${plural(variables.length, "variable")}, ${bytes(variables.reduce((sum, variable) => sum + (variable.bytes ?? 0), 0))}`;
      table.show(variables);
      const found =
        wanted && variables.find((variable) => variable.task === wanted.task && variable.name === wanted.name);
      if (found) ask(found);
      wanted = null;
    },
    (refusal) => (total.textContent = refusal.message),
  );
  return () => {
    stop();
    asked?.abort();
  };
}

const key = (variable) => [variable.task, variable.name, variable.device, variable.session].join("\n");

function values(variable) {
  const row = (name, value) => [h("dt", null, name), h("dd", null, value)];
  return [
    h("h3", null, variable.name),
    h(
      "div",
      { class: "halves" },
      h("dl", { class: "facts" }, [
        row("Task and device", `${short(variable.task)}, ${short(variable.device)}`),
        row("Shape and type", `${shape(variable.shape)} ${variable.dtype}`),
        row("Size", bytes(variable.bytes)),
        row("Smallest, largest", `${figure(variable.min)}, ${figure(variable.max)}`),
        row("Mean", `${figure(variable.mean)}, standard deviation ${figure(variable.deviation)}`),
        row("Zeros", count(variable.zeros)),
        row("Not finite", `${count(variable.nans)} NaN, ${count(variable.infinite)} infinite`),
      ]),
      variable.histogram?.counts.length > 0
        ? histogram(variable.histogram.bounds, variable.histogram.counts, figure)
        : nothing("There is no histogram of values that are not numbers."),
    ),
  ];
}
