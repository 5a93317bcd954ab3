/** Where the time of a step went, in words: its critical path where that is known, else the parts that worked. */

import { h } from "./dom.js";
import { duration, percent, short, tensor } from "./format.js";

/** The kinds of pieces of a critical path, in words. */
export const KINDS = { work: "working", wire: "on the wire", wait: "waiting", queue: "in a queue" };

const length = (piece) => piece.ended - piece.began;

/** Return paragraphs: the longest piece, and the shares of all kinds. */
export function where_time_went(step) {
  const path = step.critical ?? [];
  if (path.length === 0) return h("p", null, of_parts(step));
  const total = path.reduce((sum, piece) => sum + length(piece), 0) || 1;
  const share = (kind) => path.filter((piece) => piece.kind === kind).reduce((sum, piece) => sum + length(piece), 0);
  const kinds = Object.keys(KINDS)
    .filter((kind) => share(kind) / total >= 0.01)
    .sort((a, b) => share(b) - share(a));
  const longest = path.reduce((a, b) => (length(b) > length(a) ? b : a));
  return [
    h(
      "p",
      null,
      h("strong", null, `${percent(length(longest) / total)} of the time: `),
      `${duration(length(longest))} ${KINDS[longest.kind] ?? longest.kind} at ${short(longest.where)}`,
      longest.what && [": ", h("code", null, tensor(longest.what))],
    ),
    h(
      "p",
      null,
      "The critical path was ",
      kinds.map((kind, index) => `${index > 0 ? ", " : ""}${duration(share(kind))} ${KINDS[kind]}`),
      ".",
    ),
  ];
}

function of_parts(step) {
  const worked = (step.parts ?? [])
    .filter((part) => part.ended > part.began)
    .map((part) => [part.ended - part.began - (part.waited ?? 0), part.device]);
  if (worked.length === 0) return "What the step did is not known: its parts were not recorded.";
  worked.sort((a, b) => b[0] - a[0]);
  const [[longest, device], ...others] = worked;
  const total = step.took || longest;
  return [
    h("strong", null, `${percent(longest / total)} of the time: `),
    `${short(device)} works for ${duration(longest)}`,
    others.slice(0, 3).map(([seconds, other]) => `, ${short(other)} for ${duration(seconds)}`),
    "; the rest is waiting for values.",
  ];
}
