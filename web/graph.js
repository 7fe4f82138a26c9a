// The graph by modules, in the colours of the devices; a click opens a module, edges between devices stand out.

import { button, el, svg } from "./dom.js";
import { bytesText, plural, secondsText } from "./format.js";
import { layered } from "./layout.js";
import { isOp, ModuleTree, opOf } from "./modules.js";
import { deviceVars, letterOf } from "./palette.js";

/** @typedef {import("./data.js").Report} Report */
/** @typedef {{from: number, to: number, cut: boolean, bytes: number, seconds: number, tensors: number}} Link */

const kHeight = 50;
const kFirstNodes = 30;
const kMostLabels = 40;
const kOpenAll = 300;

export class Graph {
  /** @param {Report} report @param {(op: number) => void} choose */
  constructor(report, choose) {
    this.report = report;
    this.choose = choose;
    this.tree = new ModuleTree(report);
    this.scale = 0;
    this.chosen = -1;
    /** @type {Set<number>} */
    this.open = new Set([0]);
    this.openFirst();
    this.chips = el("div", { class: "chips controls", role: "group", "aria-label": "Open modules" });
    this.view = el("div", { class: "graph", role: "group", "aria-label": "Graph of modules; Enter opens one" });
    this.status = el("span", { class: "muted", "aria-live": "polite" });
    const all = report.ops.count <= kOpenAll;
    this.controls = el(
      "div",
      { class: "row controls" },
      button("+", "Larger", () => this.resize(1.25)),
      button("−", "Smaller", () => this.resize(0.8)),
      button("Fit", "Fit the width", () => this.fit()),
      all ? button("Open all", "Open all modules", () => this.openAll()) : null,
      button("Close all", "Close all modules", () => this.closeAll()),
      this.status,
    );
  }

  /** Opens outer modules while what they hold stays easy to survey. */
  openFirst() {
    const { modules } = this.tree;
    let shown = modules[0].children.length;
    for (let again = shown <= 8; again; ) {
      const level = this.visible().filter((item) => !isOp(item));
      const more = level.reduce((sum, item) => sum + modules[item].children.length - 1, 0);
      again = level.length > 0 && shown + more <= kFirstNodes;
      if (again) level.forEach((item) => this.open.add(item));
      shown += more;
    }
  }

  openAll() {
    for (const module of this.tree.modules) if (module.children.length) this.open.add(module.id);
    this.draw();
  }

  closeAll() {
    this.open = new Set([0]);
    this.draw();
  }

  /** @param {number} id */
  toggle(id) {
    if (this.open.has(id)) this.close(id);
    else this.open.add(id);
    this.draw();
    // The keyboard goes on where it was: at the first thing inside.
    const next = this.open.has(id) ? this.tree.modules[id].children[0] : id;
    /** @type {SVGElement | null} */ (this.view.querySelector(`[data-item="${next}"]`))?.focus({ preventScroll: true });
  }

  /** @param {number} id */
  close(id) {
    this.open.delete(id);
    for (const item of this.tree.modules[id].children) if (!isOp(item) && this.open.has(item)) this.close(item);
  }

  /** Opens what hides an op and brings it into view. @param {number} op */
  reveal(op) {
    for (let m = this.tree.home[op]; m >= 0; m = this.tree.modules[m].parent) this.open.add(m);
    this.mark(op);
    this.draw();
    const node = this.view.querySelector(`[data-item="${-1 - op}"]`);
    this.view.scrollIntoView({ block: "nearest" });
    if (!node) return;
    const box = node.getBoundingClientRect();
    const frame = this.view.getBoundingClientRect();
    this.view.scrollBy(box.left - frame.left - frame.width / 2 + box.width / 2, box.top - frame.top - frame.height / 2 + box.height / 2);
  }

  /** @param {number} op */
  mark(op) {
    this.chosen = op;
    for (const node of this.view.querySelectorAll(".node.on")) node.classList.remove("on");
    this.view.querySelector(`[data-item="${-1 - op}"]`)?.classList.add("on");
  }

  /** @returns {number[]} items that are shown, in the order of execution */
  visible() {
    /** @type {number[]} */
    const items = [];
    const visit = (/** @type {number} */ id) => {
      for (const item of this.tree.modules[id].children) {
        if (!isOp(item) && this.open.has(item)) visit(item);
        else items.push(item);
      }
    };
    visit(0);
    const { position } = this.report.ops;
    const first = (/** @type {number} */ item) => (isOp(item) ? position[opOf(item)] : this.tree.modules[item].first);
    return items.sort((a, b) => first(a) - first(b));
  }

  /** @param {number[]} items @returns {Link[]} */
  links(items) {
    const { ops, tensors } = this.report;
    const shownAs = new Int32Array(ops.count);
    const spread = (/** @type {number} */ item, /** @type {number} */ index) => {
      if (isOp(item)) shownAs[opOf(item)] = index;
      else for (const inner of this.tree.modules[item].children) spread(inner, index);
    };
    items.forEach(spread);
    /** @type {Map<number, Link>} */
    const found = new Map();
    for (let t = 0; t < tensors.count; ++t) {
      const from = shownAs[tensors.from[t]];
      const home = ops.device[tensors.from[t]];
      for (let k = tensors.begin[t], last = -1; k < tensors.begin[t + 1]; ++k) {
        const to = shownAs[tensors.to[k]];
        if (to === from) continue;
        const key = from * items.length + to;
        let link = found.get(key);
        if (!link) found.set(key, (link = { from, to, cut: false, bytes: 0, seconds: 0, tensors: 0 }));
        if (to !== last) link.tensors += 1;
        last = to;
        if (ops.device[tensors.to[k]] === home) continue;
        link.cut = true;
        link.bytes += tensors.bytes ? tensors.bytes[t] : 0;
        link.seconds += tensors.cut ? tensors.cut[t] : 0;
      }
    }
    return [...found.values()];
  }

  /** @param {number} factor */
  resize(factor) {
    this.scale = Math.max(0.15, Math.min(2.5, this.scale * factor));
    this.draw();
  }

  fit() {
    this.scale = 0;
    this.draw();
  }

  draw() {
    const items = this.visible();
    const links = this.links(items);
    const labels = items.map((item) => this.tree.label(item));
    const badges = (/** @type {number} */ item) => (isOp(item) ? 1 : Math.min(3, this.tree.sharesOf(this.tree.modules[item]).length));
    const width = labels.map((label, i) => Math.max(132, Math.min(280, 42 + 18 * badges(items[i]) + 7.1 * label.length)));
    const plan = layered(width, links, { height: kHeight, gapX: 22, gapY: 40 });
    const pad = 26;
    const w = plan.width + 2 * pad;
    const h = plan.height + 2 * pad;
    if (!(this.scale > 0)) this.scale = Math.max(0.55, Math.min(1, (this.view.clientWidth - 4) / w));
    const drawing = svg("svg", { width: w * this.scale, height: h * this.scale, viewBox: `${-pad} ${-pad} ${w} ${h}` });
    drawing.append(...this.frames(items, plan.points, width));
    const cuts = links.filter((link) => link.cut).length;
    links.forEach((link, e) => drawing.append(...this.edge(link, plan.points, plan.bends[e], cuts <= kMostLabels, items)));
    items.forEach((item, i) => drawing.append(this.node(item, labels[i], plan.points[i], width[i])));
    const scroll = [this.view.scrollLeft, this.view.scrollTop];
    this.view.replaceChildren(drawing);
    this.view.scrollTo(scroll[0] || (w * this.scale - this.view.clientWidth) / 2, scroll[1]);
    this.status.textContent = `${plural(items.length, "box").replace("boxs", "boxes")} for ${plural(this.report.ops.count, "op")}`;
    this.drawChips();
  }

  drawChips() {
    const ids = [...this.open].filter((id) => id > 0).sort((a, b) => a - b);
    const shown = ids.slice(0, 12).map((id) => {
      const name = this.tree.path(id);
      return button(`${name} ×`, `Close ${name}`, () => this.toggle(id));
    });
    this.chips.hidden = ids.length === 0;
    this.chips.replaceChildren(...(ids.length ? [el("span", { class: "muted" }, "Open:"), ...shown] : []), ids.length > 12 ? `and ${ids.length - 12} more` : "");
  }

  /**
   * A frame around what lies in an open module, where nothing foreign lies between.
   * @param {number[]} items @param {{x: number, y: number}[]} points @param {number[]} width
   */
  frames(items, points, width) {
    const drawn = [];
    for (const id of this.open) {
      if (id === 0) continue;
      const inside = new Set();
      const collect = (/** @type {number} */ m) => {
        for (const item of this.tree.modules[m].children) {
          if (!isOp(item) && this.open.has(item)) collect(item);
          else inside.add(item);
        }
      };
      collect(id);
      let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
      items.forEach((item, i) => {
        if (!inside.has(item)) return;
        x0 = Math.min(x0, points[i].x - width[i] / 2 - 10);
        x1 = Math.max(x1, points[i].x + width[i] / 2 + 10);
        y0 = Math.min(y0, points[i].y - kHeight / 2 - 18);
        y1 = Math.max(y1, points[i].y + kHeight / 2 + 12);
      });
      const foreign = items.some((item, i) => !inside.has(item) && points[i].x + width[i] / 2 > x0 && points[i].x - width[i] / 2 < x1 && points[i].y + kHeight / 2 > y0 && points[i].y - kHeight / 2 < y1);
      if (foreign || inside.size === 0) continue;
      drawn.push(svg("rect", { class: "frame", x: x0, y: y0, width: x1 - x0, height: y1 - y0, rx: 12 }));
      drawn.push(svg("text", { class: "frame-name", x: x0 + 10, y: y0 + 13 }, this.tree.modules[id].name));
    }
    return drawn;
  }

  /** @param {Link} link @param {{x: number, y: number}[]} points @param {{x: number, y: number}[]} bends @param {boolean} labelled @param {number[]} items */
  edge(link, points, bends, labelled, items) {
    const a = points[link.from];
    const b = points[link.to];
    const back = b.y <= a.y;
    const half = kHeight / 2;
    let path;
    if (back) {
      const side = Math.max(a.x, b.x) + 130;
      path = `M${a.x} ${a.y + half} C${side} ${a.y + half + 60} ${side} ${b.y - half - 60} ${b.x} ${b.y - half}`;
    } else {
      const stops = [{ x: a.x, y: a.y + half }, ...bends, { x: b.x, y: b.y - half }];
      path = `M${stops[0].x} ${stops[0].y}`;
      for (let i = 1; i < stops.length; ++i) {
        const middle = (stops[i - 1].y + stops[i].y) / 2;
        path += ` C${stops[i - 1].x} ${middle} ${stops[i].x} ${middle} ${stops[i].x} ${stops[i].y}`;
      }
    }
    const cost = [link.bytes > 0 ? bytesText(link.bytes) : "", link.seconds > 0 ? secondsText(link.seconds, 3) : ""].filter(Boolean).join(", ");
    const title = `${this.tree.label(items[link.from])} → ${this.tree.label(items[link.to])}: ${plural(link.tensors, "tensor")}${link.cut ? `, between devices ${cost}` : ""}`;
    const drawn = [svg("path", { class: `edge${link.cut ? " cut" : ""}${back ? " back" : ""}${bends.length > 3 ? " far" : ""}`, d: path }, svg("title", {}, title))];
    if (link.cut && labelled && cost) {
      const at = bends.length ? bends[Math.floor(bends.length / 2)] : { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
      // @ts-ignore the element type has no common text attribute map
      drawn.push(svg("text", { class: "edge-text", x: at.x + 7, y: at.y + 4 }, link.bytes > 0 ? bytesText(link.bytes) : cost));
    }
    return drawn;
  }

  /** @param {number} item @param {string} label @param {{x: number, y: number}} at @param {number} width */
  node(item, label, at, width) {
    const { report, tree } = this;
    const module = isOp(item) ? null : tree.modules[item];
    const op = opOf(item);
    const seconds = module ? module.seconds : report.ops.seconds[op];
    /** @type {[number, number][]} */
    const parts = module ? tree.sharesOf(module) : [[report.ops.device[op], 1]];
    const total = parts.reduce((sum, part) => sum + part[1], 0) || 1;
    const names = parts.map(([device]) => report.devices[device]?.name ?? "no device");
    const what = module ? `${plural(module.ops, "op")}, ${secondsText(seconds, 3)}` : `${report.types[report.ops.type[op]] || "op"}, ${secondsText(seconds, 3)}`;
    const full = module ? tree.path(item) : report.ops.names[op];
    const act = () => (module ? this.toggle(item) : this.choose(op));
    const x = at.x - width / 2;
    const y = at.y - kHeight / 2;
    const group = svg("g", {
      class: `node${!module && op === this.chosen ? " on" : ""}`,
      tabindex: 0,
      role: "button",
      "data-item": item,
      "aria-label": `${full}: ${what}, on ${names.join(", ")}${module ? "; opens" : ""}`,
      onclick: act,
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        act();
      },
    });
    group.append(svg("title", {}, `${full}\n${what}\n${names.join(", ")}`));
    if (module) group.append(svg("rect", { class: "under", x: x + 4, y: y + 4, width, height: kHeight, rx: 9 }));
    group.append(svg("rect", { class: "box", x, y, width, height: kHeight, rx: 9 }));
    let left = x + 9;
    for (const [device, amount] of parts) {
      const wide = ((width - 18) * amount) / total;
      group.append(svg("rect", { x: left, y: y + kHeight - 9, width: Math.max(1, wide - 1), height: 5, rx: 2, vars: `${deviceVars(device)};fill:var(--c)` }));
      left += wide;
    }
    let lx = x + width - 6;
    for (const [device] of parts.slice(0, 3).reverse()) {
      const letter = letterOf(device);
      const wide = 8 + 7 * letter.length;
      lx -= wide + 3;
      group.append(svg("rect", { x: lx, y: y + 7, width: wide, height: 15, rx: 4, vars: `${deviceVars(device)};fill:var(--c)` }));
      group.append(svg("text", { class: "letter", x: lx + wide / 2, y: y + 18, vars: `${deviceVars(device)};fill:var(--ct)` }, letter));
    }
    const room = Math.floor((width - 22 - 18 * Math.min(3, parts.length) - (module ? 12 : 0)) / 7);
    const text = label.length > room ? `${label.slice(0, Math.max(1, room - 1))}…` : label;
    group.append(svg("text", { class: "label", x: x + 10, y: y + 18 }, module ? `▸ ${text}` : text));
    group.append(svg("text", { class: "small", x: x + 10, y: y + 34 }, what));
    return group;
  }
}
