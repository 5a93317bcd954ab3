/** Charts: lines over time (uPlot), histograms, and bars within a cell. */

import { colour, h, put, s } from "./dom.js";
import { UNKNOWN, clock, count } from "./format.js";

const HEIGHT = 150;

/** Lines over time, one per name. */
export class Lines {
  #plot = null;
  #names = [];
  #frame;
  #format;
  #said = h("output");
  #data = null;
  #dark = matchMedia("(prefers-color-scheme: dark)");

  /** ``format`` makes the text of a value. */
  constructor(title, format) {
    this.#format = format;
    this.#frame = h("div", { class: "plot" });
    this.element = h("figure", { class: "chart" }, h("figcaption", null, title), this.#said, this.#frame);
    this.#dark.addEventListener("change", () => this.#again());
    new ResizeObserver(() => this.#plot?.setSize({ width: this.#frame.clientWidth, height: HEIGHT })).observe(
      this.#frame,
    );
  }

  /** Show ``lines``: {name, values, colour}; values that are null leave a gap. */
  show(times, lines) {
    const names = lines.map((line) => `${line.colour} ${line.name}`);
    this.#data = { times, lines };
    const data = [times, ...lines.map((line) => line.values)];
    if (this.#plot && names.join("\n") === this.#names.join("\n")) this.#plot.setData(data);
    else {
      this.#names = names;
      this.#again();
    }
    this.#say(this.#plot?.cursor.idx);
  }

  #again() {
    if (this.#frame.clientWidth === 0 || !(this.#data?.times.length > 0)) return;
    this.#plot?.destroy();
    const { times, lines } = this.#data;
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const options = {
      width: this.#frame.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      hooks: { setCursor: [(plot) => this.#say(plot.cursor.idx)] },
      cursor: { sync: { key: "history" }, drag: { x: false, y: false } },
      scales: {
        x: { range: (_, low, high) => [Math.min(low ?? 0, (high ?? 0) - 60), high ?? 0] },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.05 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 30,
          space: 70,
          values: (_, splits) =>
            splits.map((time) =>
              new Date(time * 1000).toLocaleTimeString("en-GB", {
                hour: "2-digit",
                minute: "2-digit",
                second: splits.at(-1) - splits[0] < 240 ? "2-digit" : undefined,
              }),
            ),
        },
        { ...axis, size: 62, values: (_, splits) => splits.map((each) => this.#format(each)) },
      ],
      series: [
        {},
        ...lines.map((line) => ({
          label: line.name,
          stroke: colour(`--hue-${line.colour}`),
          width: 1.5,
          points: { show: false },
        })),
      ],
    };
    put(this.#frame);
    this.#plot = new uPlot(options, [times, ...lines.map((line) => line.values)], this.#frame);
  }

  /** Write the values at a moment, largest first; those of the last one where the mouse is at none. */
  #say(index) {
    const { times, lines } = this.#data;
    const at = index ?? times.length - 1;
    const values = lines.map((line) => [line.values[at], line.name]).filter(([value]) => typeof value === "number");
    values.sort((a, b) => b[0] - a[0]);
    this.#said.textContent =
      times.length === 0
        ? "no figures yet"
        : `${clock(times[at])}  ${values.map(([value, name]) => `${name} ${this.#format(value)}`).join(", ") || UNKNOWN}`;
  }

  destroy() {
    this.#plot?.destroy();
    this.#plot = null;
  }
}

/** Return a bar that fills ``share`` of its cell, with a text over it. */
export function bar(share, text, kind = "") {
  const width = `${Math.round(Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0)) * 100)}%`;
  return h("span", { class: `bar ${kind}`, css: { "--share": width } }, h("span", null, text));
}

/** Return the bars of a histogram: one more bound than counts, or one less where the outer bars have no end. */
export function histogram(bounds, counts, format) {
  const width = 100 / Math.max(1, counts.length);
  const most = Math.max(1, ...counts);
  const edges = bounds.length > counts.length ? bounds : [null, ...bounds, null].slice(0, counts.length + 1);
  const bars = counts.map((each, index) => {
    const [low, high] = [edges[index], edges[index + 1]];
    const range =
      low === null || low === undefined
        ? `below ${format(high)}`
        : high === null || high === undefined
          ? `above ${format(low)}`
          : `${format(low)} to ${format(high)}`;
    const height = (each / most) * 100;
    return s(
      "rect",
      { x: index * width + width * 0.05, y: 100 - height, width: width * 0.9, height, class: "count" },
      s("title", null, `${range}: ${count(each)}`),
    );
  });
  const known = edges.filter((edge) => typeof edge === "number");
  return h(
    "figure",
    { class: "histogram" },
    s(
      "svg",
      {
        viewBox: "0 0 100 100",
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `Histogram of ${count(counts.reduce((a, b) => a + b, 0))} values`,
      },
      bars,
    ),
    h("figcaption", null, h("span", null, format(known[0])), h("span", null, format(known.at(-1)))),
  );
}
