// A timeline on a canvas, with zoom and pan by wheel, drag, pinch, buttons and keys.

import { fitText, hatch, lastPart, line, lowerBound, niceStep } from "./canvas.js";
import { button, el } from "./dom.js";
import { secondsText } from "./format.js";
import { canvasColours, letterOf, patternOf } from "./palette.js";
import { kTint } from "./timeline_rows.js";

/** @typedef {import("./timeline_rows.js").Row} Row */

const kAxis = 26;
const kPad = 5;

export class Timeline {
  /**
   * @param {Row[]} rows @param {string} label for those who cannot see it
   * @param {(op: number) => void} choose @param {number} period of vertical lines, 0 = none
   */
  constructor(rows, label, choose, period = 0) {
    this.rows = rows;
    this.choose = choose;
    this.period = period;
    this.last = 0;
    for (const row of rows) if (row.end.length) this.last = Math.max(this.last, row.end.reduce((a, b) => Math.max(a, b), 0));
    this.width = 0;
    this.from = 0;
    this.to = this.last || 1;
    this.hover = /** @type {{row: number, span: number} | null} */ (null);
    this.pointers = /** @type {Map<number, {x: number, y: number}>} */ (new Map());
    this.moved = 0;
    this.queued = false;
    this.canvas = el("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label": `${label} Arrow keys move, plus and minus zoom, 0 shows all. The table of ops holds the same figures.`,
    });
    this.tip = el("div", { class: "tip", hidden: true });
    this.range = el("span", { class: "muted", "aria-live": "polite" });
    this.controls = el(
      "div",
      { class: "row controls" },
      button("+", "Zoom in", () => this.zoom(0.5)),
      button("−", "Zoom out", () => this.zoom(2)),
      button("←", "Earlier", () => this.pan(-0.25)),
      button("→", "Later", () => this.pan(0.25)),
      button("All", "Show all", () => this.show(0, this.last)),
      this.range,
      el("span", { class: "muted hint" }, "Click the timeline, then the wheel zooms; drag to move."),
    );
    this.element = el("div", { class: "timeline" }, this.canvas);
    this.listen();
  }

  get height() {
    return kAxis + this.rows.reduce((sum, row) => sum + row.height, 0) + 6;
  }

  get gutter() {
    return this.width < 560 ? 52 : 168;
  }

  listen() {
    const { canvas } = this;
    new ResizeObserver(() => this.draw()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    for (const moment of ["beforeprint", "afterprint"]) addEventListener(moment, () => this.paint());
    canvas.addEventListener(
      "wheel",
      (event) => {
        // Unfocused, the wheel scrolls the page as everywhere.
        if (document.activeElement !== canvas && !event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / 800);
        else this.zoom(Math.exp(event.deltaY / 400), this.timeAt(event.offsetX));
      },
      { passive: false },
    );
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      this.moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    const lift = (/** @type {PointerEvent} */ event) => {
      if (event.type === "pointerup" && this.pointers.size === 1 && this.moved < 5) {
        const hit = this.hit(event);
        if (hit) {
          const op = this.rows[hit.row].op(hit.span);
          if (op >= 0) this.choose(op);
        }
      }
      this.pointers.delete(event.pointerId);
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", () => this.setHover(null));
    canvas.addEventListener("keydown", (event) => {
      const actions = /** @type {Record<string, () => void>} */ ({
        ArrowLeft: () => this.pan(-0.15),
        ArrowRight: () => this.pan(0.15),
        "+": () => this.zoom(0.6),
        "=": () => this.zoom(0.6),
        "-": () => this.zoom(1 / 0.6),
        0: () => this.show(0, this.last),
        Home: () => this.show(0, this.to - this.from),
        End: () => this.show(this.last - (this.to - this.from), this.last),
      });
      const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  /** @param {PointerEvent} event */
  onMove(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.setHover(this.hit(event), event);
      return;
    }
    const now = { x: event.clientX, y: event.clientY };
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId);
      if (other) {
        const was = Math.abs(before.x - other[1].x);
        const is = Math.abs(now.x - other[1].x);
        const box = this.canvas.getBoundingClientRect();
        if (was > 8 && is > 8) this.zoom(was / is, this.timeAt((now.x + other[1].x) / 2 - box.left));
      }
    } else {
      this.moved += Math.abs(now.x - before.x);
      this.pan((before.x - now.x) / Math.max(1, this.width - this.gutter));
    }
    this.pointers.set(event.pointerId, now);
  }

  /** @param {number} x pixels from the left of the canvas */
  timeAt(x) {
    return this.from + ((x - this.gutter) / Math.max(1, this.width - this.gutter - kPad)) * (this.to - this.from);
  }

  /** @param {number} factor @param {number} [about] */
  zoom(factor, about = (this.from + this.to) / 2) {
    const least = this.last * 1e-7;
    const width = Math.min(this.last, Math.max(least, (this.to - this.from) * factor));
    const share = (about - this.from) / (this.to - this.from);
    this.show(about - share * width, about - share * width + width);
  }

  /** @param {number} share of what is seen */
  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    const width = Math.min(this.last || 1, to - from);
    this.from = Math.max(0, Math.min(from, this.last - width));
    this.to = this.from + width;
    this.draw();
  }

  /** @param {{offsetX: number, offsetY: number}} event */
  hit({ offsetX, offsetY }) {
    let top = kAxis;
    for (let r = 0; r < this.rows.length; ++r) {
      const row = this.rows[r];
      if (offsetY >= top && offsetY < top + row.height) {
        if (offsetX < this.gutter) return null;
        const time = this.timeAt(offsetX);
        const slop = (2 * (this.to - this.from)) / Math.max(1, this.width);
        for (let i = Math.min(lowerBound(row.start, time + slop), row.start.length) - 1, looked = 0; i >= 0 && looked < 64; --i, ++looked) {
          if (row.end[i] + slop >= time) return { row: r, span: i };
        }
        return null;
      }
      top += row.height;
    }
    return null;
  }

  /** @param {{row: number, span: number} | null} hit @param {PointerEvent} [event] */
  setHover(hit, event) {
    const same = hit?.row === this.hover?.row && hit?.span === this.hover?.span;
    this.hover = hit;
    this.tip.hidden = hit === null;
    if (hit && event) {
      if (!same) {
        const [title, ...lines] = this.rows[hit.row].tip(hit.span);
        this.tip.replaceChildren(el("b", {}, title), ...lines.map((line) => el("div", {}, line)));
        if (!this.tip.isConnected) document.body.append(this.tip);
      }
      const left = Math.max(8, Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8));
      const below = event.clientY + 18;
      this.tip.style.left = `${left}px`;
      this.tip.style.top = `${below + this.tip.offsetHeight > innerHeight ? event.clientY - this.tip.offsetHeight - 12 : below}px`;
    }
    if (!same) this.draw();
  }

  draw() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.paint();
    });
  }

  paint() {
    this.width = this.element.clientWidth;
    if (this.width === 0) return;
    const { canvas, height, width } = this;
    // Memory for very many rows is better spent elsewhere.
    const scale = height > 4000 ? 1 : Math.min(2, devicePixelRatio || 1);
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    const colours = canvasColours();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    this.paintAxis(context, colours);
    let top = kAxis;
    this.rows.forEach((row, r) => {
      this.paintRow(context, colours, row, r, top);
      top += row.height;
    });
    this.range.textContent = `${secondsText(this.from, 4)} to ${secondsText(this.to, 4)}`;
  }

  /** @param {CanvasRenderingContext2D} context @param {import("./palette.js").Colours} colours */
  paintAxis(context, colours) {
    const plot = this.width - this.gutter - kPad;
    const step = niceStep((this.to - this.from) / Math.max(2, plot / 110));
    context.font = `11px ${colours.font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (let i = Math.ceil(this.from / step); i * step <= this.to; ++i) {
      const x = Math.round(this.x(i * step)) + 0.5;
      context.strokeStyle = colours.faint;
      line(context, x, kAxis, x, this.height);
      context.fillStyle = colours.muted;
      if (x > this.gutter + 14 && x < this.width - 22) context.fillText(secondsText(i * step, 5), x, kAxis / 2);
    }
    if (this.period > 0 && (this.to - this.from) / this.period < 200) {
      context.setLineDash([3, 4]);
      context.strokeStyle = colours.muted;
      for (let i = Math.ceil(this.from / this.period); i * this.period <= this.to; ++i) {
        const x = Math.round(this.x(i * this.period)) + 0.5;
        line(context, x, kAxis, x, this.height);
      }
      context.setLineDash([]);
    }
  }

  /** @param {number} time */
  x(time) {
    return this.gutter + ((time - this.from) / (this.to - this.from)) * (this.width - this.gutter - kPad);
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {import("./palette.js").Colours} colours
   * @param {Row} row @param {number} r @param {number} top
   */
  paintRow(context, colours, row, r, top) {
    const tone = row.device % colours.device.length;
    const plain = colours.device[tone];
    const lines = hatch(context, plain, 1);
    const over = patternOf(row.device);
    const y = top + 3;
    const h = row.height - 6;
    context.save();
    context.beginPath();
    context.rect(this.gutter, top, this.width - this.gutter, row.height);
    context.clip();
    context.font = `11px ${colours.font}`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    // Spans of a device do not overlap; those of a joined row may, so start one long span earlier.
    let painted = -1;
    for (let i = Math.max(0, lowerBound(row.end, this.from) - 1); i < row.start.length && row.start[i] <= this.to; ++i) {
      const left = this.x(row.start[i]);
      const right = Math.max(left + 0.8, this.x(row.end[i]));
      // Many spans in one pixel are one stroke.
      if (right <= painted) continue;
      painted = right;
      const wide = right - left;
      const gap = wide > 3 ? 1 : 0;
      context.globalAlpha = row.tint[i] === kTint.light ? 0.42 : 1;
      if (row.tint[i] === kTint.hatched) {
        context.globalAlpha = 0.35;
        context.fillStyle = plain;
        context.fillRect(left, y, wide - gap, h);
        context.globalAlpha = 1;
      }
      context.fillStyle = row.tint[i] === kTint.hatched ? lines : plain;
      context.fillRect(left, y, wide - gap, h);
      if (over > 0 && wide > 3) {
        context.fillStyle = hatch(context, colours.surface, over);
        context.fillRect(left, y, wide - gap, h);
      }
      context.globalAlpha = 1;
      if (this.hover && this.hover.row === r && this.hover.span === i) {
        context.strokeStyle = colours.text;
        context.lineWidth = 2;
        context.strokeRect(left, y, Math.max(2, wide - gap), h);
        context.lineWidth = 1;
      }
      if (wide > 12 && row.tint[i] !== kTint.hatched) {
        const seen = Math.max(left, this.gutter);
        const inset = wide > 26 ? 5 : 3;
        const text = fitText(context, lastPart(row.name(i)), Math.min(right, this.width) - seen - 2 * inset);
        context.fillStyle = row.tint[i] === kTint.light ? colours.text : colours.deviceText[tone];
        if (text) context.fillText(text, seen + inset, y + h / 2 + 0.5);
      }
    }
    context.restore();
    this.paintLabel(context, colours, row, top);
  }

  /** @param {CanvasRenderingContext2D} context @param {import("./palette.js").Colours} colours @param {Row} row @param {number} top */
  paintLabel(context, colours, row, top) {
    context.strokeStyle = colours.faint;
    line(context, 0, top + row.height - 0.5, this.width, top + row.height - 0.5);
    const middle = top + row.height / 2;
    const narrow = this.gutter < 80;
    this.paintBadge(context, colours, row.device, narrow && row.to >= 0 ? 3 : 9, middle, row.height);
    if (row.to >= 0) {
      context.fillStyle = colours.muted;
      context.fillText("→", narrow ? 25.5 : 40, middle);
      this.paintBadge(context, colours, row.to, narrow ? 31 : 51, middle, row.height);
    }
    if (row.to >= 0 && narrow) return;
    if (this.gutter < 80) return;
    context.textAlign = "left";
    context.font = `${row.height > 26 ? "600 12.5px" : "11px"} ${colours.font}`;
    context.fillStyle = row.height > 26 ? colours.text : colours.muted;
    const text = row.to >= 0 ? row.label.slice(row.label.indexOf("→ ") + 2) : row.label;
    const left = row.to >= 0 ? 76 : 36;
    context.fillText(fitText(context, text, this.gutter - left - 8), left, middle + 0.5);
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {import("./palette.js").Colours} colours
   * @param {number} device @param {number} left @param {number} middle @param {number} height of the row
   */
  paintBadge(context, colours, device, left, middle, height) {
    const tone = device % colours.device.length;
    const size = Math.min(18, height - 6);
    context.fillStyle = colours.device[tone];
    context.beginPath();
    context.roundRect(left, middle - size / 2, size + 2, size, 5);
    context.fill();
    context.fillStyle = colours.deviceText[tone];
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `700 ${size > 16 ? 11 : 9.5}px ${colours.font}`;
    context.fillText(letterOf(device), left + 1 + size / 2, middle + 0.5);
  }
}
