/** What stands out, in words: a task beside the others, and the transfers of a step. Plain data in, texts out. */

import { count, duration, percent, short, tensor } from "./format.js";

const OUT = 3; // times the others
const KERNEL = 1e-3; // seconds per step below which nobody looks for a slow kernel
const TRIP = 5e-3; // seconds of a round trip that is slow within one building
const NOTICED = 0.1; // share of a step

/** Return the middle of some numbers, or null. */
function median(values) {
  const sorted = values.filter((value) => typeof value === "number").sort((a, b) => a - b);
  return sorted.length > 0 ? sorted[Math.floor((sorted.length - 1) / 2)] : null;
}

/** Return the seconds of kernels per step of a task, or null. */
export function per_step(task) {
  const seconds = (task.devices ?? []).reduce((sum, device) => sum + (device.kernel_seconds ?? 0), 0);
  const begun = Math.max(0, ...(task.devices ?? []).map((device) => device.partitions ?? 0));
  return begun > 0 ? seconds / begun : null;
}

/** Return what is wrong with tasks, by what they say of themselves and beside the others: {task, text}. */
export function of_tasks(tasks) {
  const own = tasks.flatMap((task) =>
    [task.fault, ...(task.findings ?? [])].filter(Boolean).map((text) => ({ task: task.task, text })),
  );
  const kernels = beside(tasks, per_step, KERNEL).map(([task, value, others]) => ({
    task: task.task,
    text: `its kernels take ${duration(value)} per step, those of other tasks ${duration(others)}: it is the slow one`,
  }));
  const links = beside(tasks, (task) => task.round_trip, TRIP).map(([task, value, others]) => ({
    task: task.task,
    text: `it answers in ${duration(value)}, other tasks in ${duration(others)}: the link to it is slow, or its event loop is busy`,
  }));
  return [...own, ...kernels, ...links];
}

/** Return tasks of which a value is above a floor and several times that of the others, with both values. */
function beside(tasks, of, floor) {
  const middle = median(tasks.map(of));
  return tasks.flatMap((task) => {
    const value = of(task);
    if (typeof value !== "number" || value < floor || tasks.length < 2) return [];
    const others = tasks.length > 8 ? middle : median(tasks.filter((other) => other !== task).map(of));
    return others !== null && value > OUT * others ? [[task, value, others]] : [];
  });
}

/**
 * Return what the most time went into of some steps: {fetches, steps, typical}; those of one session with the same fetches
 * are compared, and the one in the middle is typical. Null where there is none.
 */
export function heaviest(steps) {
  const groups = new Map();
  for (const step of steps) {
    if (step.error || !(step.took > 0)) continue;
    const name = [step.session, ...step.fetches].join("\n");
    groups.set(name, [...(groups.get(name) ?? []), step]);
  }
  const total = (group) => group.reduce((sum, step) => sum + step.took, 0);
  const [first, ...others] = groups.values();
  if (first === undefined) return null;
  const most = others.reduce((a, b) => (total(b) > total(a) ? b : a), first).sort((a, b) => a.took - b.took);
  return { fetches: most[0].fetches, steps: most, typical: most[Math.floor((most.length - 1) / 2)] };
}

/** Return how long a tensor was on its way, or null. */
export const on_the_way = (transfer) =>
  typeof transfer.sent === "number" && typeof transfer.received === "number" ? transfer.received - transfer.sent : null;

/** Return what is wrong with the transfers of a step; of those to and fro a plan may say more. */
export function of_transfers(step, to_and_fro = true) {
  const pairs = new Map();
  for (const transfer of step.transfers ?? []) {
    if ([transfer.source, transfer.target].includes("client")) continue; // what a partial run is fed, and fetches
    const pair = [transfer.source, transfer.target].join("\n");
    pairs.set(pair, [...(pairs.get(pair) ?? []), transfer]);
  }
  const [texts, crossings] = [[], []];
  for (const [pair, list] of pairs) {
    const [source, target] = pair.split("\n");
    const times = list.map(on_the_way);
    const middle = median(times);
    const share = step.took > 0 ? `: ${percent(middle / step.took)} of the step each` : ""; // one that runs took no time yet
    if (middle !== null && middle > TRIP / 2 && middle > (NOTICED / 2) * step.took)
      texts.push(`Tensors take ${duration(middle)} from ${short(source)} to ${short(target)}${share}.`);
    const back = pairs.get(`${target}\n${source}`);
    if (back && source < target)
      crossings.push(
        `Tensors cross from ${short(source)} to ${short(target)} and back: ${tensor(list[0].edge)} there${list.length > 1 ? ` and ${count(list.length - 1)} more` : ""}, ${tensor(back[0].edge)} back${back.length > 1 ? ` and ${count(back.length - 1)} more` : ""}. On one device they would not cross.`,
      );
  }
  return to_and_fro ? [...texts, ...crossings] : texts;
}
