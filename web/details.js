// The sheet with everything about one op.

import { button, el } from "./dom.js";
import { bytesText, flopsText, secondsText } from "./format.js";
import { badge, deviceLabel } from "./palette.js";

/** @typedef {import("./data.js").Report} Report */

const kMostNeighbours = 12;

export class Details {
  /** @param {Report} report @param {(op: number) => void} choose @param {(op: number) => void} reveal */
  constructor(report, choose, reveal) {
    this.report = report;
    this.choose = choose;
    this.reveal = reveal;
    this.inputs = /** @type {{begin: Uint32Array, tensor: Uint32Array} | null} */ (null);
    this.outputs = /** @type {{begin: Uint32Array, tensor: Uint32Array} | null} */ (null);
    this.element = el("aside", { class: "sheet", hidden: true, "aria-label": "Chosen op", "aria-live": "polite" });
  }

  /** Tensors by consumer and by producer. */
  index() {
    const { ops, tensors } = this.report;
    const rows = (/** @type {(add: (op: number, tensor: number) => void) => void} */ each) => {
      const begin = new Uint32Array(ops.count + 1);
      each((op) => ++begin[op + 1]);
      for (let i = 0; i < ops.count; ++i) begin[i + 1] += begin[i];
      const next = begin.slice();
      const tensor = new Uint32Array(begin[ops.count]);
      each((op, t) => {
        tensor[next[op]++] = t;
      });
      return { begin, tensor };
    };
    this.inputs = rows((add) => {
      for (let t = 0; t < tensors.count; ++t) for (let k = tensors.begin[t]; k < tensors.begin[t + 1]; ++k) add(tensors.to[k], t);
    });
    this.outputs = rows((add) => {
      for (let t = 0; t < tensors.count; ++t) add(tensors.from[t], t);
    });
  }

  hide() {
    this.element.hidden = true;
  }

  /** @param {number} op */
  show(op) {
    if (!this.inputs) this.index();
    const { report } = this;
    const { ops } = report;
    const type = report.types[ops.type[op]];
    const facts = [
      ["Device", el("span", {}, deviceLabel(report, ops.device[op]), ops.pinned[op] ? " (pinned)" : "")],
      ["Time", ops.unknown[op] ? "unknown" : secondsText(ops.seconds[op])],
      ops.start && ops.end ? ["Runs", `${secondsText(ops.start[op], 5)} to ${secondsText(ops.end[op], 5)}`] : null,
      ops.slack ? ["Slack", ops.slack[op] > 0 ? secondsText(ops.slack[op]) : "none: a delay here delays the result"] : null,
      ops.memory ? ["Memory", bytesText(ops.memory[op])] : null,
      ops.flops ? ["Work", flopsText(ops.flops[op])] : null,
      report.models.length > 1 ? ["Model", report.models[ops.model[op]].name] : null,
      ops.phase[op] > 0 ? ["Phase", ["forward", "backward", "update"][ops.phase[op]]] : null,
    ];
    this.element.replaceChildren(
      el("div", { class: "top" }, el("div", {}, el("h3", {}, ops.names[op] || "(no name)"), type ? el("div", { class: "muted" }, type) : null), button("×", "Close", () => this.hide())),
      el("dl", { class: "facts" }, ...facts.flatMap((fact) => (fact ? [el("dt", {}, fact[0]), el("dd", {}, fact[1])] : []))),
      this.classTimes(op) ?? "",
      this.neighbours("Inputs from", op, this.inputs, true) ?? "",
      this.neighbours("Output goes to", op, this.outputs, false) ?? "",
      el("div", { class: "row" }, button("Show in graph", "Show this op in the graph", () => this.reveal(op))),
    );
    this.element.hidden = false;
  }

  /** @param {number} op */
  classTimes(op) {
    const { ops, classes, devices } = this.report;
    if (!ops.times) return null;
    const times = ops.times;
    const own = devices[ops.device[op]]?.class;
    const seconds = classes.map((_, c) => times[op * classes.length + c]);
    const most = Math.max(...seconds.filter(Number.isFinite), 0);
    return el(
      "div",
      {},
      el("h4", {}, "On each class of device"),
      el(
        "div",
        { class: "class-times" },
        ...classes.flatMap((cls, c) => {
          const here = c === own ? "here" : "";
          const can = Number.isFinite(seconds[c]);
          return [
            el("span", { class: here }, cls.name),
            can ? el("i", { class: here, vars: `width:${most > 0 ? (100 * seconds[c]) / most : 0}%` }) : el("span", { class: "muted" }, "cannot run"),
            el("span", { class: here }, can ? secondsText(seconds[c], 3) : "–"),
          ];
        }),
      ),
    );
  }

  /** @param {string} title @param {number} op @param {{begin: Uint32Array, tensor: Uint32Array} | null} rows @param {boolean} inputs */
  neighbours(title, op, rows, inputs) {
    if (!rows) return null;
    const { ops, tensors, devices } = this.report;
    /** @type {[number, number][]} */
    const found = [];
    for (let k = rows.begin[op]; k < rows.begin[op + 1]; ++k) {
      const t = rows.tensor[k];
      if (inputs) found.push([tensors.from[t], t]);
      else for (let j = tensors.begin[t]; j < tensors.begin[t + 1]; ++j) found.push([tensors.to[j], t]);
    }
    if (found.length === 0) return null;
    const items = found.slice(0, kMostNeighbours).map(([other, t]) => {
      const cut = ops.device[other] !== ops.device[op];
      const size = tensors.bytes ? bytesText(tensors.bytes[t]) : cut && tensors.cut ? secondsText(tensors.cut[t], 3) : "";
      return el(
        "li",
        {},
        el(
          "button",
          { type: "button", onclick: () => this.choose(other) },
          badge(ops.device[other], devices[ops.device[other]]?.name ?? ""),
          el("span", { class: "name" }, ops.names[other] || "(no name)"),
          el("span", { class: cut ? "cut" : "muted" }, cut ? `cut ${size}` : size),
        ),
      );
    });
    const more = found.length - items.length;
    return el("div", {}, el("h4", {}, title), el("ul", {}, ...items, more > 0 ? el("li", { class: "muted" }, `and ${more} more`) : null));
  }
}
