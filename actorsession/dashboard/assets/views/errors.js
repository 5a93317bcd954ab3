/** The last errors of all tasks: counts by class, one row each, and the whole message of one. */

import { h, hash, put, renew } from "../dom.js";
import { clock, count, short, step_name } from "../format.js";
import { Table } from "../table.js";

export const title = "Errors";

export function open(root, page) {
  let errors = [];
  let only = null;
  const classes = h("div", { class: "chips", role: "group", "aria-label": "Classes of errors" });
  const details = h("section", { class: "details", "aria-label": "One error", hidden: true });
  const table = new Table(
    [
      {
        name: "when",
        label: "When",
        value: (error) => error.when,
        cell: (error) => clock(error.when),
        width: "minmax(6rem, 0.8fr)",
        narrow: "4.5rem",
      },
      { name: "code", label: "Class", value: (error) => error.code, width: "minmax(11rem, 1fr)" },
      { name: "task", label: "Task", wide: true, value: (error) => short(error.task) },
      { name: "session", label: "Session", wide: true, value: (error) => error.session },
      {
        name: "step",
        label: "Step",
        wide: true,
        number: true,
        value: (error) => error.step_id,
        cell: (error) => step_name(error.step_id),
      },
      { name: "message", label: "Message", value: (error) => error.message, width: "minmax(10rem, 4fr)" },
    ],
    {
      label: "Errors",
      key,
      open: details_of,
      sort: "when",
      descending: true,
      empty: "No task remembers an error.",
      rows: 16,
    },
  );
  const search = h("input", {
    type: "search",
    placeholder: "Filter errors",
    "aria-label": "Filter errors",
    input: () => table.filter(search.value),
  });
  const said = h("p", { class: "hint" });
  put(
    root,
    h("div", { class: "bar-of-tools" }, h("h2", null, "Errors"), said, search),
    classes,
    table.element,
    details,
  );

  function details_of(error) {
    details.hidden = false;
    const step =
      error.step_id &&
      h(
        "a",
        { href: hash("steps", `${error.task}/${error.session}/${error.step_id}`) },
        `step ${step_name(error.step_id)}`,
      );
    put(
      details,
      h("h3", null, error.code),
      h("p", { class: "hint" }, `${clock(error.when)} at ${error.task} `, step),
      h("pre", null, error.message),
    );
  }

  function show() {
    const tally = new Map();
    for (const error of errors) tally.set(error.code, (tally.get(error.code) ?? 0) + 1);
    const chips = [...tally]
      .sort((a, b) => b[1] - a[1])
      .map(([code, number]) => {
        const chosen = code === only;
        const press = () => {
          only = chosen ? null : code;
          show();
        };
        return h(
          "button",
          { type: "button", "aria-pressed": String(chosen), "data-key": code, click: press },
          `${code} ${count(number)}`,
        );
      });
    renew(classes, chips);
    table.show(errors.filter((error) => only === null || error.code === only));
  }

  return page.source.watch(
    "/api/errors",
    3,
    (answer) => {
      said.textContent = "";
      const changed = JSON.stringify(answer) !== JSON.stringify(errors);
      errors = answer;
      if (changed) show();
    },
    (refusal) => (said.textContent = refusal.message),
  );
}

const key = (error) => `${error.when}\n${error.task}\n${error.step_id}\n${error.message}`;
