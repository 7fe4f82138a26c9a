// Load and memory of every device.

import { el, section } from "./dom.js";
import { bytesText, percentText, plural, secondsText } from "./format.js";
import { deviceLabel, deviceVars } from "./palette.js";

/** @typedef {import("./data.js").Report} Report */

/** @param {Report} report @param {number} d @param {number} whole @param {number} widest */
function loadMeter(report, d, whole, widest) {
  const device = report.devices[d];
  const throughput = report.goal === "throughput";
  const inside = throughput ? device.load : device.compute;
  const share = whole > 0 ? inside / whole : 0;
  // Under overlap the two do not add up; the bar shows the larger.
  const scale = throughput && device.compute + device.communication > 0 ? device.load / (device.compute + device.communication) : 1;
  const width = (/** @type {number} */ s) => `width:${widest > 0 ? (100 * s) / widest : 0}%`;
  return el(
    "div",
    { class: "meter", role: "img", "aria-label": `${device.name}: busy ${secondsText(inside)}, ${percentText(share)}` },
    el(
      "div",
      { class: "track", vars: deviceVars(d) },
      el("i", { vars: width(device.compute * scale) }),
      throughput ? el("i", { class: "comm", vars: width(device.communication * scale) }) : null,
    ),
    el(
      "div",
      { class: "text" },
      el("span", {}, el("b", {}, secondsText(inside)), device.communication > 0 ? `, transfers ${secondsText(device.communication, 3)}` : ""),
      el("span", {}, percentText(share)),
    ),
  );
}

/** @param {Report} report @param {number} d @param {number} most */
function memoryMeter(report, d, most) {
  const device = report.devices[d];
  const limited = device.limit !== null;
  const whole = limited ? Number(device.limit) : most;
  const share = whole > 0 ? device.memory / whole : 0;
  return el(
    "div",
    { class: "meter", role: "img", "aria-label": `${device.name}: memory ${bytesText(device.memory)} of ${limited ? bytesText(device.limit) : "unlimited"}` },
    el("div", { class: "track", vars: deviceVars(d) }, el("i", { vars: `width:${Math.min(100, 100 * share)}%` })),
    el(
      "div",
      { class: "text" },
      el("span", {}, el("b", {}, bytesText(device.memory)), limited ? ` of ${bytesText(device.limit)}` : ", unlimited"),
      device.binds ? el("span", { class: "warn" }, "full: nothing more fits") : el("span", {}, limited ? percentText(share) : ""),
    ),
  );
}

/** @param {Report} report */
export function bars(report) {
  const { devices, ops } = report;
  const count = new Array(devices.length).fill(0);
  for (let i = 0; i < ops.count; ++i) count[ops.device[i]] += 1;
  const throughput = report.goal === "throughput";
  let last = 0;
  if (ops.end) for (const end of ops.end) last = Math.max(last, end);
  const whole = throughput ? report.plan.value : last;
  const widest = Math.max(whole, ...devices.map((device) => (throughput ? device.load : device.compute)));
  const most = Math.max(0, ...devices.map((device) => device.memory));
  const memory = devices.some((device) => device.memory > 0 || device.limit !== null);
  const copies = new Set(report.stages.flatMap((stage) => stage.devices.slice(1)));
  const idle = devices.map((_, d) => d).filter((d) => count[d] === 0 && devices[d].load === 0 && !copies.has(d));
  // A few idle devices are worth a line each; many would hide the others.
  const hidden = new Set(idle.length > 3 ? idle : []);
  const items = devices.flatMap((device, d) =>
    hidden.has(d)
      ? []
      : [
          el(
            "div",
            { class: "item keep" },
            el("div", { class: "who" }, deviceLabel(report, d), el("small", {}, `${report.classes[device.class].name}, ${copies.has(d) ? "replica" : plural(count[d], "op")}`)),
            loadMeter(report, d, whole, widest),
            memory ? memoryMeter(report, d, most) : null,
          ),
        ],
  );
  if (hidden.size) items.push(el("p", { class: "muted idle" }, `${plural(hidden.size, "device")} without work: `, ...[...hidden].flatMap((d) => [deviceLabel(report, d), " "])));
  const busiest = report.why.bottleneck;
  const lead =
    busiest === undefined || !devices[busiest]
      ? ""
      : throughput
        ? `${devices[busiest].name} has the largest load: a faster pipeline must relieve it first.`
        : `Share of the whole time in which a device computes. ${devices[busiest].name} is the busiest.`;
  return section(
    "devices",
    "Devices",
    lead,
    el("div", { class: "legend" }, el("span", {}, el("i", {}), "computing"), throughput ? el("span", {}, el("i", { class: "hatch" }), "transfers") : null),
    el("div", { class: "bars" }, el("div", { class: "item head", "aria-hidden": "true" }, el("span", {}, "device"), el("span", {}, throughput ? "load per sample, transfers in it" : "computing, transfers beside it"), memory ? el("span", {}, "memory") : null), ...items),
  );
}
