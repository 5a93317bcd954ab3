/** The graph of a session: scopes that open, coloured by device, type or time; search; a node with the user's line. */

import { Colours, choice, h, labelled, nothing, put, renew } from "../dom.js";
import { Drawing } from "../drawing.js";
import { count, duration, plural, shape, short } from "../format.js";
import { Scopes } from "../scopes.js";

export const title = "Graph";

const FOUND = 30; // results of a search
const MOST = 300; // boxes that are laid out without a pause that is felt

const COLOURS = [
  ["device", "device"],
  ["op", "type"],
  ["time", "time"],
];

export function open(root, page, chosen, wanted) {
  let scopes = null;
  let by = "device";
  let marked = null;
  let names = "";
  let asked = new AbortController();
  const drawing = new Drawing("Graph", press);
  const tools = h("span");
  const said = h("p", { class: "hint", role: "status" });
  const legend = h("div", { class: "legend" });
  const results = h("ul", { class: "results" });
  const details = h("section", { class: "details", "aria-label": "Details of a node" });
  const search = h("input", {
    type: "search",
    placeholder: "Find a node, a type or a line",
    "aria-label": "Find a node, a type or a line",
    input: find,
    keydown: (event) => event.key === "Enter" && results.querySelector("button")?.click(),
  });
  const colour_by = choice(COLOURS, by, (value) => {
    by = value;
    draw(true);
  });
  const everything = h("button", { type: "button", click: () => collapse() }, "Close all scopes");
  put(
    root,
    h("div", { class: "bar-of-tools" }, tools, labelled("colour by", colour_by), everything, search, said),
    results,
    h("div", { class: "beside" }, h("div", null, legend, drawing.element), details),
  );
  put(
    details,
    h("p", { class: "hint" }, "Press a scope to open it, its frame's name to close it, a node to see what it is."),
  );

  async function choose(session, node = null) {
    asked.abort();
    asked = new AbortController();
    chosen = session;
    if (!node) page.at("graph", session);
    said.textContent = "Reading the graph …";
    try {
      const graph = await page.source.get(`/api/graphs/${encodeURIComponent(session)}`, asked.signal);
      scopes = new Scopes(graph.nodes);
      said.textContent = `${plural(graph.nodes.length, "node")}${graph.more ? `, ${count(graph.more)} more are left out` : ""}`;
      drawing.element.hidden = graph.nodes.length === 0;
      if (node) reveal(node);
      else draw(false);
    } catch (error) {
      if (error.name !== "AbortError") said.textContent = error.message || "The server does not answer.";
    }
  }

  function press(id) {
    const scope = scopes.find(id);
    if (!scope) return;
    if (scope.leaf) show_node(scope.node, scope.id);
    else {
      scopes.open(scope);
      draw(false);
      show_scope(scope);
    }
  }

  function collapse() {
    if (scopes === null) return;
    scopes.close(scopes.root);
    scopes.open(scopes.root);
    draw(false);
  }

  function draw(keep) {
    if (scopes === null) return;
    const { boxes, edges } = scopes.visible();
    const colours = new Colours();
    const most = Math.max(...boxes.map((box) => box.seconds), 0);
    const shown = boxes.slice(0, MOST);
    if (boxes.length > MOST)
      said.textContent = `${plural(boxes.length, "box")} are open and ${MOST} are drawn: close some scopes.`;
    const figures = shown.map((box) => {
      const value = by === "time" ? null : shared(box, by);
      return {
        id: box.id,
        title: box.name,
        lines: box.leaf ? [box.node.op] : [plural(box.nodes, "node")],
        group: box.path.slice(0, -1),
        kind: `${box.leaf ? "" : "scope"} ${box.id === marked ? "marked" : ""} ${by === "time" && most > 0 ? "heat" : ""}`,
        hue: by === "time" || value === null ? undefined : colours.of(value),
        heat: by === "time" && most > 0 ? box.seconds / most : undefined,
        tip: box.leaf
          ? [box.node.name, box.node.op, short(box.node.device), box.node.line].filter(Boolean).join("\n")
          : `${box.path.join("/")}: ${plural(box.nodes, "node")}`,
        open: box.leaf ? `Show ${box.name}` : `Open ${box.name}`,
      };
    });
    const arrows = edges.map((edge) => ({
      from: edge.from,
      to: edge.to,
      kind: edge.control ? "control" : "",
      weight: edge.inputs.length,
      tip: edge.inputs.slice(0, 20).join("\n"),
      label: edge.inputs.length > 1 ? count(edge.inputs.length) : "",
    }));
    drawing.show(figures, arrows, {
      keep,
      frame: (path) => {
        scopes.close(scopes.at(path));
        draw(false);
      },
    });
    const shared_by = by === "time" ? [] : colours.names.slice(0, 12);
    put(
      legend,
      by === "time"
        ? [
            h(
              "span",
              { class: "heat-legend" },
              most > 0
                ? `0 to ${duration(most)} of a step, measured or else expected`
                : "no step of this graph has run lately",
            ),
          ]
        : shared_by.map((name) =>
            h(
              "span",
              { class: `swatch hue-${colours.of(name)}` },
              by === "device" ? short(name) || "not placed" : name,
            ),
          ),
    );
  }

  /** The device or type that all nodes of a box have, or null. */
  function shared(box, what) {
    if (box.leaf) return box.node[what] ?? "";
    let seen;
    const walk = (scope) => {
      if (scope.node) {
        const value = scope.node[what] ?? "";
        if (seen !== undefined && seen !== value) return false;
        seen = value;
      }
      for (const child of scope.children.values()) if (!walk(child)) return false;
      return true;
    };
    return walk(box) ? seen : null;
  }

  function show_scope(scope) {
    put(
      details,
      h("h3", null, scope.name),
      h("p", null, `${plural(scope.nodes, "node")}${scope.seconds > 0 ? `, ${duration(scope.seconds)}` : ""}`),
      h(
        "button",
        {
          type: "button",
          click: () => {
            scopes.close(scope);
            draw(false);
          },
        },
        "Close this scope",
      ),
    );
  }

  function show_node(node, id) {
    marked = id;
    page.at("graph", chosen, node.name);
    draw(true);
    const row = (name, value) => value && [h("dt", null, name), h("dd", null, value)];
    const link = (input) => {
      const name = input.replace(/^\^/, "").replace(/:\d+$/, "");
      return h("li", null, h("button", { type: "button", class: "link", click: () => reveal(name) }, input));
    };
    put(
      details,
      h("h3", null, node.name),
      h("dl", { class: "facts" }, [
        row("Type", node.op),
        row("Device", node.device),
        row("Placed there", node.reason),
        row("Output", node.dtype && `${shape(node.shape)} ${node.dtype}`),
        row("Time", typeof node.seconds === "number" && duration(node.seconds)),
        row("Your line", node.line && h("code", null, node.line)),
      ]),
      node.inputs.length > 0 && [
        h("h4", null, "Inputs"),
        h("ul", { class: "inputs" }, node.inputs.slice(0, 50).map(link)),
      ],
    );
  }

  function reveal(name) {
    const id = scopes.reveal(name);
    if (id === null) return void (said.textContent = `The graph has no node ${name}.`);
    const node = scopes.nodes.find((each) => each.name === name);
    draw(false);
    show_node(node, id);
    drawing.centre(id);
  }

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (scopes === null || words.length === 0) return put(results);
    const found = scopes.nodes.filter((node) =>
      words.every((word) => `${node.name}\n${node.op}\n${node.line ?? ""}`.toLowerCase().includes(word)),
    );
    const rows = found.slice(0, FOUND).map((node) =>
      h(
        "li",
        null,
        h(
          "button",
          {
            type: "button",
            class: "link",
            click: () => {
              put(results);
              reveal(node.name);
            },
          },
          node.name,
        ),
        ` ${node.op} `,
        node.line && h("small", null, node.line),
      ),
    );
    put(
      results,
      rows,
      found.length > FOUND && h("li", null, `and ${count(found.length - FOUND)} more`),
      found.length === 0 && h("li", null, "no node has all these words"),
    );
  }

  const stop = page.source.watch(
    "/api/sessions",
    10,
    (sessions) => {
      const handles = sessions.map((session) => session.handle).join("\n");
      if (handles === names) return;
      names = handles;
      if (sessions.length === 0 && !chosen) return renew(tools, nothing("No session is open."));
      const options = sessions.map((session) => [session.handle, session.name || session.handle]);
      if (chosen && !sessions.some((session) => session.handle === chosen)) options.unshift([chosen, chosen]);
      if (!chosen) choose(sessions.reduce((a, b) => (b.nodes > a.nodes ? b : a)).handle);
      renew(tools, labelled("session", choice(options, chosen, choose)));
    },
    (refusal) => (said.textContent = refusal.message),
  );
  if (chosen) choose(chosen, wanted);
  return () => {
    stop();
    asked.abort();
  };
}
