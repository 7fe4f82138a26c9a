// Table of all ops: search, sort, and only the rows in view are in the page.

import { el } from "./dom.js";
import { bytesText, countText, plural, secondsText } from "./format.js";
import { badge, deviceVars } from "./palette.js";

/** @typedef {import("./data.js").Report} Report */
/**
 * @typedef {object} Column
 * @property {string} title @property {string} width of the grid's column @property {boolean} [figure] @property {string} [slim] on phones
 * @property {boolean} [wide] not on phones @property {boolean} [roomy] only where there is much room
 * @property {(a: number, b: number) => number} order @property {(op: number) => Node | string} cell
 */

const kRow = 32;
const kPrinted = 100;

export class OpTable {
  /** @param {Report} report @param {(op: number) => void} choose */
  constructor(report, choose) {
    this.report = report;
    this.choose = choose;
    const { ops } = report;
    this.lower = ops.names.map((name) => name.toLowerCase());
    this.most = ops.seconds.reduce((a, b) => Math.max(a, b), 0);
    this.columns = this.makeColumns();
    this.sorted = { column: ops.start ? this.columns.findIndex((c) => c.title === "Start") : 0, down: false };
    if (!ops.start) this.sorted.column = -1;
    this.needle = "";
    this.cursor = 0;
    this.chosen = -1;
    this.printing = false;
    /** @type {Uint32Array} */
    this.ids = new Uint32Array(0);
    this.count = el("span", { class: "muted", role: "status", "aria-live": "polite" });
    this.search = el("input", { type: "search", placeholder: "Search ops, types, devices", "aria-label": "Search ops by name, type or device", oninput: () => this.find(this.search.value) });
    this.titles = el("div", { class: "line titles", role: "group", "aria-label": "Order of the table" });
    this.rows = el("div", { class: "rows", role: "rowgroup" });
    this.view = el("div", { class: "view", tabindex: 0, role: "grid", "aria-label": "Ops; arrow keys move, Enter shows an op", onscroll: () => this.paint(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event) }, this.rows);
    this.element = el("div", { class: "grid" }, this.titles, this.view);
    this.controls = el("div", { class: "row" }, el("span", { class: "search-row controls" }, this.search, el("span", { class: "muted hint" }, el("kbd", {}, "/"), " to search")), this.count);
    new ResizeObserver(() => this.layout()).observe(this.element);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    this.find("");
  }

  /** @returns {Column[]} */
  makeColumns() {
    const { ops, types, devices } = this.report;
    const { start, slack, memory } = ops;
    const position = ops.position;
    /** @param {ArrayLike<number>} values */
    const by = (values) => (/** @type {number} */ a, /** @type {number} */ b) => values[a] - values[b] || position[a] - position[b];
    /** @type {Column[]} */
    const columns = [
      { title: "Op", width: "minmax(0, 3fr)", order: (a, b) => (this.lower[a] < this.lower[b] ? -1 : this.lower[a] > this.lower[b] ? 1 : a - b), cell: (op) => el("span", { class: "name", title: ops.names[op] }, ...this.marked(ops.names[op] || "(no name)")) },
    ];
    if (types.length > 1) columns.push({ title: "Type", width: "minmax(0, 1fr)", wide: true, order: (a, b) => types[ops.type[a]].localeCompare(types[ops.type[b]]) || a - b, cell: (op) => types[ops.type[op]] });
    columns.push(
      { title: "Device", width: "minmax(58px, 1.3fr)", slim: "58px", order: by(ops.device), cell: (op) => el("span", { class: "device" }, badge(ops.device[op], devices[ops.device[op]]?.name ?? ""), el("span", { class: "device-name wide" }, devices[ops.device[op]]?.name ?? "no device")) },
      { title: "Time", width: "84px", figure: true, order: by(ops.seconds), cell: (op) => (ops.unknown[op] ? "unknown" : secondsText(ops.seconds[op], 3)) },
      { title: "Share", width: "72px", wide: true, roomy: true, order: by(ops.seconds), cell: (op) => el("div", { class: "share", vars: `${deviceVars(ops.device[op])};width:${this.most > 0 ? (100 * ops.seconds[op]) / this.most : 0}%` }) },
    );
    if (start) columns.push({ title: "Start", width: "84px", figure: true, wide: true, order: by(start), cell: (op) => secondsText(start[op], 4) });
    if (slack) columns.push({ title: "Slack", width: "84px", figure: true, wide: true, order: by(slack), cell: (op) => (slack[op] > 0 ? secondsText(slack[op], 3) : "critical") });
    if (memory) columns.push({ title: "Memory", width: "84px", figure: true, wide: true, order: by(memory), cell: (op) => bytesText(memory[op]) });
    return columns;
  }

  /** The name with the part that was searched for marked. @param {string} name */
  marked(name) {
    const at = this.needle ? name.toLowerCase().indexOf(this.needle) : -1;
    if (at < 0) return [name];
    const end = at + this.needle.length;
    return [name.slice(0, at), el("mark", {}, name.slice(at, end)), name.slice(end)];
  }

  /** @param {string} text */
  find(text) {
    this.needle = text.trim().toLowerCase();
    const { ops } = this.report;
    // A word may also be part of a type or a device: looked up once, not for every op.
    const words = this.needle.split(/\s+/).filter(Boolean);
    const types = words.map((word) => this.report.types.map((type) => type.toLowerCase().includes(word)));
    const devices = words.map((word) => this.report.devices.map((device) => device.name.toLowerCase().includes(word)));
    const ids = [];
    for (let i = 0; i < ops.count; ++i) {
      const name = this.lower[i];
      if (
        name.includes(this.needle) ||
        words.every((word, w) => types[w][ops.type[i]] || devices[w][ops.device[i]] || name.includes(word) || (ops.unknown[i] && word === "unknown"))
      ) {
        ids.push(i);
      }
    }
    this.ids = Uint32Array.from(ids);
    this.cursor = 0;
    this.sort();
    this.view.scrollTop = 0;
  }

  sort() {
    const { column, down } = this.sorted;
    if (column >= 0) {
      const { order } = this.columns[column];
      this.ids.sort(down ? (a, b) => order(b, a) : order);
    }
    this.layout();
  }

  /** @param {number} column */
  sortBy(column) {
    // Figures are most telling from the top.
    const down = this.sorted.column === column ? !this.sorted.down : Boolean(this.columns[column].figure && this.columns[column].title !== "Start");
    this.sorted = { column, down };
    this.find(this.search.value);
    /** @type {HTMLElement} */ (this.titles.children[this.seen().indexOf(this.columns[column])])?.focus();
  }

  seen() {
    return this.columns.filter((column) => !((this.narrow && column.wide) || (this.element.clientWidth < 860 && column.roomy)));
  }

  get narrow() {
    return this.element.clientWidth > 0 && this.element.clientWidth < 700;
  }

  layout() {
    const seen = this.seen();
    this.element.style.setProperty("--columns", seen.map((column) => (this.narrow && column.slim) || column.width).join(" "));
    this.layoutTitles(seen);
    const total = this.report.ops.count;
    this.count.textContent = this.ids.length === total ? plural(total, "op") : `${countText(this.ids.length)} of ${plural(total, "op")}`;
    this.view.setAttribute("aria-rowcount", String(this.ids.length));
    this.view.style.height = this.printing ? "auto" : `${Math.max(96, Math.min(420, this.ids.length * kRow + 2))}px`;
    this.paint();
  }

  /** Titles that stay the same stay in the page: a new button would not have the focus of the old one. @param {Column[]} seen */
  layoutTitles(seen) {
    const texts = seen.map((column) => (this.sorted.column === this.columns.indexOf(column) ? `${column.title} ${this.sorted.down ? "↓" : "↑"}` : column.title));
    const old = [...this.titles.children].map((title) => title.textContent);
    if (texts.length === old.length && texts.every((text, i) => text === old[i])) return;
    this.titles.replaceChildren(
      ...seen.map((column, i) => {
        const index = this.columns.indexOf(column);
        const on = this.sorted.column === index;
        return el(
          "button",
          { type: "button", class: `${column.figure ? "figure" : ""}${on ? " on" : ""}`, "aria-label": `Sort by ${column.title}${on ? (this.sorted.down ? ", now descending" : ", now ascending") : ""}`, onclick: () => this.sortBy(index) },
          texts[i],
        );
      }),
    );
  }

  paint() {
    const seen = this.seen();
    const from = this.printing ? 0 : Math.max(0, Math.floor(this.view.scrollTop / kRow) - 6);
    const to = Math.min(this.ids.length, this.printing ? kPrinted : from + Math.ceil(this.view.clientHeight / kRow) + 14);
    this.rows.style.height = `${this.ids.length * kRow}px`;
    const lines = [];
    for (let i = from; i < to; ++i) {
      const op = this.ids[i];
      lines.push(
        el(
          "div",
          { class: "line", role: "row", id: `op-row-${i}`, "aria-rowindex": i + 1, "aria-selected": i === this.cursor && this.chosen === op ? "true" : "false", vars: `top:${i * kRow}px`, onclick: () => this.pick(i) },
          ...seen.map((column) => el("div", { role: "gridcell", class: column.figure ? "figure" : "" }, column.cell(op))),
        ),
      );
    }
    if (this.ids.length === 0) lines.push(el("p", { class: "empty" }, "No op matches."));
    if (this.printing && this.ids.length > to) lines.push(el("p", { class: "empty" }, `… and ${countText(this.ids.length - to)} more`));
    this.rows.replaceChildren(...lines);
  }

  /** @param {number} index row */
  pick(index) {
    this.cursor = Math.max(0, Math.min(this.ids.length - 1, index));
    const op = this.ids[this.cursor];
    if (op === undefined) return;
    this.chosen = op;
    this.bringIntoView();
    this.paint();
    this.view.setAttribute("aria-activedescendant", `op-row-${this.cursor}`);
    this.choose(op);
  }

  bringIntoView() {
    const top = this.cursor * kRow;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    if (top + kRow > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = top + kRow - this.view.clientHeight;
  }

  /** Marks an op that was chosen elsewhere. @param {number} op */
  mark(op) {
    if (this.chosen === op) return;
    this.chosen = op;
    const at = this.ids.indexOf(op);
    if (at >= 0) {
      this.cursor = at;
      this.bringIntoView();
    }
    this.paint();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const page = Math.max(1, Math.floor(this.view.clientHeight / kRow) - 1);
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity, Enter: 0 });
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.pick(this.chosen < 0 && Math.abs(step) <= 1 ? this.cursor : this.cursor + step);
  }

  /** @param {boolean} on */
  print(on) {
    this.printing = on;
    this.layout();
  }
}
