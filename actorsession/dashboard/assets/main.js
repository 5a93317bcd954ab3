/** The frame of the page: its views with their addresses and keys, the name of the cluster, the state of the connection. */

import { h, hash, pressed, put, renew } from "./dom.js";
import { duration } from "./format.js";
import { Source, set_clock } from "./source.js";
import * as errors from "./views/errors.js";
import * as graph from "./views/graph.js";
import * as logs from "./views/logs.js";
import * as overview from "./views/overview.js";
import * as queues from "./views/queues.js";
import * as sessions from "./views/sessions.js";
import * as step from "./views/step.js";
import * as steps from "./views/steps.js";
import * as stuck from "./views/stuck.js";
import * as variables from "./views/variables.js";

/** The views in the order of the keys 1 to 9: a view's module has ``title`` and ``open(root, page, ...names)``. */
const VIEWS = { overview, steps, stuck, graph, variables, queues, sessions, errors, logs };

const KEYS = [
  ["1 – 9", "the views, in their order"],
  ["/", "search or filter"],
  ["↑ ↓ Page Up Page Down Home End", "move in a table; Enter opens the row"],
  ["Space, ← →", "play a step, or move through it"],
  ["+ − 0, arrows", "zoom and move a drawing"],
  ["Esc", "close a panel or this list"],
  ["?", "this list"],
];

const element = (id) => document.getElementById(id);
const links = new Map();
let close = null;

const page = {
  source: new Source(connection),
  go: (...names) => (location.hash = hash(...names)),
  /** Put names into the address without opening the view again, unless somebody is on the way to another view. */
  at: (...names) => location.hash.startsWith(hash(names[0])) && history.replaceState(null, "", hash(...names)),
};

function open() {
  const [name, ...names] = location.hash.replace(/^#\//, "").split("/").map(decode);
  const found = Object.hasOwn(VIEWS, name) ? name : "overview";
  if (found !== name) history.replaceState(null, "", hash(found));
  const view = found === "steps" && names[0] ? step : VIEWS[found];
  close?.();
  for (const [each, link] of links) link.setAttribute("aria-current", each === found ? "page" : "false");
  links.get(found).scrollIntoView({ block: "nearest", inline: "nearest" });
  const root = h("section", { class: `view ${found}`, "aria-label": view.title });
  put(element("content"), root);
  document.title = `${view.title} · ${element("cluster").textContent}`;
  close = view.open(root, page, ...(found === name ? names : []));
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address that somebody typed
  }
}

let counting = null;

function connection(lost) {
  const line = element("connection");
  clearInterval(counting);
  line.hidden = lost === null;
  document.body.classList.toggle("lost", lost !== null);
  if (lost === null) return;
  const say = () => {
    if (pressed()) return;
    const wait = duration(Math.max(0, Math.ceil((lost.at - Date.now()) / 1000)));
    const text = `The server does not answer. The page shows what it last said; next try in ${wait}. `;
    renew(line, text, h("button", { type: "button", click: lost.now }, "Try now"));
  };
  say();
  counting = setInterval(say, 500);
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const number = Number(event.key);
  const names = Object.keys(VIEWS);
  if (event.key === "?") element("keys").showModal();
  else if (event.key === "/" && document.querySelector("input[type=search]"))
    document.querySelector("input[type=search]").focus();
  else if (number >= 1 && number <= names.length && !event.target.closest("svg")) page.go(names[number - 1]);
  else return;
  event.preventDefault();
}

for (const [name, view] of Object.entries(VIEWS)) {
  const link = h("a", { href: hash(name) }, view.title);
  links.set(name, link);
  element("views").append(link);
}
const rows = KEYS.map(([keys, text]) => [h("dt", null, keys), h("dd", null, text)]);
put(
  element("keys"),
  h("h2", null, "Keys"),
  h("dl", null, rows),
  h("form", { method: "dialog" }, h("button", null, "Close")),
);
element("help").addEventListener("click", () => element("keys").showModal());
document.addEventListener("keydown", key);
window.addEventListener("hashchange", open);
page.source.watch("/api/cluster", 10, (cluster) => {
  set_clock(cluster.now);
  const name = cluster.name || "actorsession";
  if (element("cluster").textContent === name) return;
  element("cluster").textContent = name;
  document.title = `${document.title.split(" · ")[0]} · ${name}`;
});
open();
