/** What the plan of a step says before it runs: what would make it slow, and the code that was generated. */

import { h } from "./dom.js";
import { duration, plural, short } from "./format.js";
import { Refusal } from "./source.js";

/** Return the explanation of a step's plan, or null where its session cannot explain it any more. */
export async function plan_of(page, step, signal) {
  const names = [
    ["session", step.session],
    ...step.fetches.map((name) => ["fetches", name]),
    ...step.feeds.map((name) => ["feeds", name]),
  ];
  try {
    return await page.source.get(`/api/explain?${new URLSearchParams(names)}`, signal);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** Return what would make a step slow, with what to do, as a list; nothing where there is nothing. */
export function advice(plan, most = Infinity) {
  const lines = (plan?.findings ?? [])
    .slice(0, most)
    .map((finding) =>
      h("li", null, [
        short(finding.what),
        "; ",
        h("em", null, short(finding.advice)),
        finding.line && [" ", h("code", null, finding.line)],
      ]),
    );
  return lines.length > 0 && h("ul", null, lines);
}

/** Return the generated code of each part, line by line with the nodes that they are of. */
export function code(plan) {
  const parts = (plan?.partitions ?? []).filter((part) => part.segments.length > 0);
  if (parts.length === 0) return null;
  const line = ({ text, node, line: user }) =>
    h("span", { title: [node, user].filter(Boolean).join("\n") || null }, text, "\n");
  const segment = ({ name, waits, lines, seconds }) => [
    h(
      "h4",
      null,
      name,
      waits.length > 0 && ` waits for ${plural(waits.length, "value")}`,
      seconds > 0 && `, expected ${duration(seconds)}`,
    ),
    h("pre", { class: "tail code", tabindex: "0", "aria-label": `The code of ${name}` }, lines.map(line)),
  ];
  return h("details", { class: "stack" }, [
    h(
      "summary",
      null,
      "The generated code of each part; a line says in its tooltip which node and which line of yours it is",
    ),
    parts.map((part) =>
      h(
        "section",
        { class: "details" },
        h("h3", null, `${short(part.device)}: ${plural(part.nodes.length, "node")}`),
        part.segments.map(segment),
      ),
    ),
  ]);
}
