/**
 * Tables of which only the rows in sight are elements, so that a thousand tasks scroll like ten.
 *
 * A row keeps its element while it is in sight: focus and selection outlive new answers. Arrow keys, Page Up, Page Down,
 * Home and End move the selected row, and Enter opens it.
 */

import { h, nothing, renew } from "./dom.js";

const ROW = 34; // pixels, as in style.css
const MARGIN = 6; // rows above and below those in sight

export class Table {
  #columns;
  #options;
  #all = [];
  #rows = [];
  #drawn = new Map();
  #selected = null;
  #sort;
  #filter = "";
  #head;
  #body;
  #space;
  #empty;

  /**
   * ``columns``: {name, label, value(row), cell(row), width, number, wide}: ``value`` sorts and is searched, ``cell`` is what is
   * shown, ``wide`` columns are left out on a phone, where ``narrow`` is the width of others. ``options``: {label, key(row), open(row), sort, descending, empty, rows}.
   */
  constructor(columns, options) {
    this.#columns = columns;
    this.#options = options;
    this.#sort = { name: options.sort, descending: options.descending ?? false };
    this.#head = h(
      "div",
      { role: "row", class: "row head" },
      columns.map((column) => this.#heading(column)),
    );
    this.#space = h("div", { role: "presentation", class: "space" });
    this.#body = h("div", { role: "rowgroup", class: "rows", scroll: () => this.#draw() }, this.#space);
    this.#body.style.setProperty("--rows", String(options.rows ?? 14));
    this.#empty = nothing(options.empty ?? "Nothing here.");
    this.element = h(
      "div",
      {
        class: "table",
        role: "grid",
        tabindex: "0",
        "aria-label": options.label,
        keydown: (event) => this.#key(event),
      },
      this.#head,
      this.#body,
      this.#empty,
    );
    this.element.style.setProperty(
      "--columns",
      this.#widths(() => true),
    );
    this.element.style.setProperty(
      "--few-columns",
      this.#widths((column) => !column.wide, true),
    );
    new ResizeObserver(() => this.#draw()).observe(this.#body);
    this.show([]);
  }

  #widths(kept, narrow = false) {
    const width = (column) => column.width ?? (column.number ? "minmax(5.2rem, 0.6fr)" : "minmax(6rem, 1fr)");
    const share = (column) => column.narrow ?? width(column).replace(/minmax\([^,]*,/, "minmax(0,");
    return this.#columns
      .filter(kept)
      .map(narrow ? share : width)
      .join(" ");
  }

  #heading(column) {
    const sort = () => {
      const again = this.#sort.name === column.name;
      this.#sort = { name: column.name, descending: again ? !this.#sort.descending : Boolean(column.number) };
      this.show(this.#all);
    };
    const button = h("button", { type: "button", tabindex: "-1", title: column.label, click: sort }, column.label);
    return h("div", { role: "columnheader", class: style(column), "data-column": column.name }, button);
  }

  /** Show these rows, of which the filter leaves some. */
  show(rows) {
    this.#all = rows;
    const words = this.#filter.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = (row) =>
      this.#columns
        .map((column) => String(column.value?.(row) ?? ""))
        .join("\n")
        .toLowerCase();
    this.#rows =
      words.length === 0 ? [...rows] : rows.filter((row) => words.every((word) => texts(row).includes(word)));
    const column = this.#columns.find((each) => each.name === this.#sort.name);
    if (column) {
      this.#rows.sort((a, b) => compare(column.value(a), column.value(b), this.#sort.descending ? -1 : 1));
    }
    for (const heading of this.#head.children) {
      const sorted = heading.dataset.column === this.#sort.name;
      heading.setAttribute("aria-sort", sorted ? (this.#sort.descending ? "descending" : "ascending") : "none");
    }
    this.element.setAttribute("aria-rowcount", String(this.#rows.length));
    this.element.classList.toggle("empty", this.#rows.length === 0);
    this.#space.style.setProperty("height", `${this.#rows.length * ROW}px`);
    this.#draw();
  }

  /** Show rows alone that have all words of ``text``. */
  filter(text) {
    this.#filter = text;
    this.show(this.#all);
  }

  /** Mark a row by its key. */
  select(key) {
    this.#selected = key;
    this.#draw();
  }

  #draw() {
    const top = this.#body.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - MARGIN);
    const last = Math.min(this.#rows.length, Math.ceil((top + this.#body.clientHeight) / ROW) + MARGIN);
    const kept = new Map();
    for (let index = first; index < last; index++) {
      const row = this.#rows[index];
      const key = this.#options.key(row);
      const drawn = this.#drawn.get(key) ?? this.#row();
      kept.set(key, drawn);
      this.#fill(drawn, row, key, index);
    }
    for (const [key, drawn] of this.#drawn) if (kept.get(key) !== drawn) drawn.element.remove();
    this.#drawn = kept;
  }

  #row() {
    const cells = this.#columns.map((column) => h("div", { role: "gridcell", class: style(column) }));
    const drawn = { cells, texts: [] };
    const click = (event) => event.target.closest("a, button") === null && this.#open(drawn.row);
    drawn.element = h("div", { role: "row", class: this.#options.open ? "row opens" : "row", click }, cells);
    this.#space.append(drawn.element);
    return drawn;
  }

  #fill(drawn, row, key, index) {
    drawn.row = row;
    drawn.element.style.setProperty("transform", `translateY(${index * ROW}px)`);
    drawn.element.setAttribute("aria-rowindex", String(index + 1));
    const selected = key === this.#selected;
    drawn.element.setAttribute("aria-selected", String(selected));
    drawn.element.classList.toggle("bad", Boolean(this.#options.bad?.(row)));
    if (selected) {
      drawn.element.id = `row-${this.#options.label.replace(/\W+/g, "-")}`;
      this.element.setAttribute("aria-activedescendant", drawn.element.id);
    } else drawn.element.removeAttribute("id");
    this.#columns.forEach((column, at) => {
      const content = column.cell ? column.cell(row) : String(column.value(row) ?? "");
      if (typeof content === "string") {
        if (drawn.texts[at] === content) return;
        drawn.cells[at].textContent = content;
        drawn.cells[at].title = content;
        drawn.texts[at] = content;
      } else {
        renew(drawn.cells[at], content);
        drawn.texts[at] = null;
      }
    });
  }

  #open(row) {
    this.select(this.#options.key(row));
    this.#options.open?.(row);
  }

  #key(event) {
    if (event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#body.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const at = this.#rows.findIndex((row) => this.#options.key(row) === this.#selected);
    if (event.key === "Enter" && at >= 0 && event.target === this.element) this.#open(this.#rows[at]);
    else if (event.key in steps && this.#rows.length > 0) {
      const to = Math.min(this.#rows.length - 1, Math.max(0, at + steps[event.key]));
      this.#selected = this.#options.key(this.#rows[to]);
      const top = to * ROW;
      if (top < this.#body.scrollTop) this.#body.scrollTop = top;
      else if (top + ROW > this.#body.scrollTop + this.#body.clientHeight)
        this.#body.scrollTop = top + ROW - this.#body.clientHeight;
      this.#draw();
    } else return;
    event.preventDefault();
  }
}

const style = (column) => `cell${column.number ? " number" : ""}${column.wide ? " wide" : ""}`;

/** Compare two values; what is not known comes last in both orders. */
function compare(a, b, sign) {
  const unknown = (value) => value === null || value === undefined || Number.isNaN(value);
  if (unknown(a) || unknown(b)) return unknown(a) - unknown(b);
  const numbers = typeof a === "number" && typeof b === "number";
  return sign * (numbers ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
}
