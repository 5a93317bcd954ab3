/** Quantities as text: short, with their unit, and a dash for what is not known. */

export const UNKNOWN = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

/** Return a number with three digits, without zeros at its end. */
const digits = (value) => String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));

const MICRO = 0.9995e-3; // what is rounded up to a millisecond is one

/** Return seconds as text, such as ``1.25 ms``. */
export function duration(seconds) {
  if (!known(seconds)) return UNKNOWN;
  const size = Math.abs(seconds);
  if (size === 0) return "0";
  if (size < MICRO) return `${digits(seconds * 1e6)} µs`;
  if (size < 1000 * MICRO) return `${digits(seconds * 1e3)} ms`;
  if (size < 120) return `${digits(seconds)} s`;
  if (size < 7200) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (size < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

/** Return bytes as text, such as ``1.25 MB``; a kilobyte has a thousand. */
export function bytes(size) {
  if (!known(size)) return UNKNOWN;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = size;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${Math.round(value)} B` : `${digits(value)} ${units[unit]}`;
}

/** Return a count with its thousands set apart. */
export const count = (value) => (known(value) ? Math.round(value).toLocaleString("en") : UNKNOWN);

/** Return a figure with three digits. */
export const figure = (value) =>
  !known(value)
    ? UNKNOWN
    : value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)
      ? value.toExponential(2)
      : digits(value);

/** Return a number of things per second. */
export const rate = (value) => (known(value) ? `${digits(value)}/s` : UNKNOWN);

export const percent = (share) => (known(share) ? `${Math.round(share * 100)} %` : UNKNOWN);

/** Return the time of day, with the date where it is another day. */
export function clock(seconds) {
  if (!known(seconds)) return UNKNOWN;
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

/** Return how long ago something was. */
export const ago = (seconds, now) =>
  known(seconds) ? (now - seconds < 1 ? "now" : `${duration(now - seconds)} ago`) : UNKNOWN;

/** Return a shape as Python writes it; what is not known of it is a question mark. */
export function shape(sizes) {
  if (typeof sizes === "string") return sizes;
  if (!Array.isArray(sizes)) return "?";
  return `(${sizes.map((size) => size ?? "?").join(", ")}${sizes.length === 1 ? "," : ""})`;
}

/** Return a count with the word for it. */
export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

/** Return the end of the number of a step, which is long and random where a master gives it. */
export const step_name = (id) => (String(id).length > 8 ? `…${String(id).slice(-6)}` : String(id));

/** Return the name of a tensor that a partition sends, or a client of a partial run: without the number of its edge. */
export const tensor = (edge) => edge.replace(/^(edge|feed|fetch)_\d+_/, "");

/** Return a device or task without what all names of a cluster share. */
export const short = (name) =>
  (name ?? "").replace(/\/job:(\w+)(?:\/replica:0)?\/task:(\d+)/g, "$1:$2").replace(/\/device:/g, " ");
