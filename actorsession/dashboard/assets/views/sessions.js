/** The sessions: who they are, what they run, and ways to their graphs. */

import { h, hash, put } from "../dom.js";
import { count, short } from "../format.js";
import { Table } from "../table.js";

export const title = "Sessions";

export function open(root, page) {
  const table = new Table(
    [
      {
        name: "name",
        label: "Session",
        value: (session) => session.name || session.handle,
        width: "minmax(8rem, 1.6fr)",
      },
      {
        name: "client",
        label: "Client",
        wide: true,
        value: (session) => session.client ?? "",
        width: "minmax(8rem, 1.6fr)",
      },
      { name: "task", label: "Master", value: (session) => short(session.task) },
      {
        name: "nodes",
        label: "Nodes",
        number: true,
        wide: true,
        value: (session) => session.nodes,
        cell: (session) => count(session.nodes),
      },
      {
        name: "steps",
        label: "Running",
        number: true,
        wide: true,
        value: (session) => session.steps,
        cell: (session) => count(session.steps),
      },
      {
        name: "waiting",
        label: "Waiting",
        number: true,
        wide: true,
        value: (session) => session.waiting,
        cell: (session) => count(session.waiting),
      },
      {
        name: "runs",
        label: "Runs",
        number: true,
        value: (session) => session.runs,
        cell: (session) => count(session.runs),
      },
      {
        name: "partial",
        label: "Partial runs",
        number: true,
        wide: true,
        value: (session) => session.partial_runs,
        cell: (session) => count(session.partial_runs),
      },
      {
        name: "handle",
        label: "Graph",
        value: (session) => session.handle,
        cell: (session) => h("a", { href: hash("graph", session.handle) }, "graph"),
        width: "5rem",
      },
    ],
    {
      label: "Sessions",
      key: (session) => `${session.task}\n${session.handle}`,
      open: (session) => page.go("graph", session.handle),
      sort: "runs",
      descending: true,
      empty: "No session is open.",
      rows: 16,
    },
  );
  const search = h("input", {
    type: "search",
    placeholder: "Filter sessions",
    "aria-label": "Filter sessions",
    input: () => table.filter(search.value),
  });
  const said = h("p", { class: "hint" });
  put(root, h("div", { class: "bar-of-tools" }, h("h2", null, "Sessions"), said, search), table.element);
  return page.source.watch(
    "/api/sessions",
    2,
    (sessions) => {
      said.textContent = "";
      table.show(sessions);
    },
    (refusal) => (said.textContent = refusal.message),
  );
}
