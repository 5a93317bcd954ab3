/** The log of one task, which goes on as the task writes. */

import { choice, h, labelled, put, renew } from "../dom.js";
import { short } from "../format.js";

export const title = "Logs";

const FIRST = 200; // lines that are read at once
const KEPT = 2000; // lines that the page holds

export function open(root, page, chosen) {
  const lines = h("div", {
    class: "log",
    role: "log",
    tabindex: "0",
    "aria-label": "Lines of the log",
    "aria-live": "off",
  });
  const tasks = h("span");
  const said = h("p", { class: "hint", role: "status" });
  const follow = h("input", { type: "checkbox", checked: true });
  const search = h("input", { type: "search", placeholder: "Filter lines", "aria-label": "Filter lines", input: show });
  let next = null;
  let all = [];
  let names = "";
  let stop_log = null;
  put(root, h("div", { class: "bar-of-tools" }, tasks, labelled("follow", follow), search, said), lines);

  function choose(task) {
    chosen = task;
    page.at("logs", task);
    next = null;
    all = [];
    put(lines);
    stop_log?.();
    const path = () => `/api/logs/${encodeURIComponent(task)}?lines=${FIRST}${next === null ? "" : `&after=${next}`}`;
    stop_log = page.source.watch(path, 1, extend, (refusal) => (said.textContent = refusal.message));
  }

  function extend(log) {
    const first = next === null;
    next = log.next;
    const level = log.level ? `from level ${log.level} on` : "";
    said.textContent = first && log.lines.length === 0 ? `Nothing was logged ${level}.` : level;
    if (log.lines.length === 0) return;
    all = [...all, ...log.lines].slice(-KEPT);
    const fresh = log.lines.filter(wanted).map(line);
    lines.append(...fresh);
    while (lines.childElementCount > KEPT) lines.firstElementChild.remove();
    if (follow.checked) lines.scrollTop = lines.scrollHeight;
  }

  const wanted = (text) => text.toLowerCase().includes(search.value.toLowerCase());

  function show() {
    put(lines, all.filter(wanted).map(line));
    if (follow.checked) lines.scrollTop = lines.scrollHeight;
  }

  follow.addEventListener("change", () => follow.checked && (lines.scrollTop = lines.scrollHeight));
  const stop = page.source.watch("/api/cluster", 10, (cluster) => {
    const found = cluster.tasks.map((task) => task.task);
    if (names === found.join("\n")) return;
    names = found.join("\n");
    if (!chosen && found.length > 0) choose(found[0]);
    const every = chosen && !found.includes(chosen) ? [chosen, ...found] : found;
    renew(
      tasks,
      labelled(
        "task",
        choice(
          every.map((task) => [task, short(task)]),
          chosen,
          choose,
        ),
      ),
    );
  });
  if (chosen) choose(chosen);
  return () => {
    stop();
    stop_log?.();
  };
}

/** Return a line with the class of its level, which the server writes as a word of its own. */
function line(text) {
  const level = /\b(ERROR|CRITICAL|WARNING)\b/i.exec(text.slice(0, 80))?.[1].toLowerCase();
  return h("div", { class: level === "warning" ? "warn" : level ? "bad" : null }, text);
}
