// Why the plan is worth what it is: what the time goes into, and what the heaviest ops would cost elsewhere.

import { el, section, table } from "./dom.js";
import { percentText, plural, secondsText } from "./format.js";
import { deviceLabel, deviceVars, letterOf } from "./palette.js";

/** @typedef {import("./data.js").Report} Report */

/** Seconds on the critical path: by device, in transfers, in launches, waiting. @param {Report} report */
function pathParts(report) {
  const path = /** @type {import("./data.js").Path} */ (report.path);
  const parts = { devices: new Map(), transfers: 0, launches: 0, waiting: 0 };
  for (let i = 0; i < path.count; ++i) {
    const seconds = path.end[i] - path.start[i];
    if (path.kind[i] === 0) parts.devices.set(path.device[i] - 1, (parts.devices.get(path.device[i] - 1) ?? 0) + seconds);
    else if (path.kind[i] === 1) parts.transfers += seconds;
    else if (path.kind[i] === 2) parts.launches += seconds;
    else parts.waiting += seconds;
  }
  return parts;
}

/** @param {Report} report */
function criticalPath(report) {
  const parts = pathParts(report);
  /** @type {{text: string, seconds: number, vars: string, device: number}[]} */
  const pieces = [...parts.devices].sort((a, b) => a[0] - b[0]).map(([device, seconds]) => ({ text: report.devices[device]?.name ?? "", seconds, vars: deviceVars(device), device }));
  pieces.push({ text: "transfers", seconds: parts.transfers, vars: "--c:var(--accent)", device: -1 });
  pieces.push({ text: "launches", seconds: parts.launches, vars: "--c:var(--muted)", device: -1 });
  pieces.push({ text: "waiting", seconds: parts.waiting, vars: "--c:var(--line)", device: -1 });
  const shown = pieces.filter((piece) => piece.seconds > 0);
  const total = shown.reduce((sum, piece) => sum + piece.seconds, 0);
  return el(
    "div",
    { class: "keep" },
    el("h3", {}, "Along the critical path"),
    el("p", { class: "lead" }, "The chain of ops and transfers that decides when the last result is there. Shortening anything else changes nothing."),
    el(
      "div",
      { class: "stack", role: "img", "aria-label": shown.map((piece) => `${piece.text} ${secondsText(piece.seconds)}`).join(", "), vars: "margin:10px 0" },
      ...shown.map((piece) => el("i", { vars: `${piece.vars};width:${(100 * piece.seconds) / total}%`, title: `${piece.text}: ${secondsText(piece.seconds)}` })),
    ),
    el(
      "div",
      { class: "legend" },
      ...shown.map((piece) =>
        el("span", {}, el("i", { vars: `${piece.vars};background:var(--c)` }), `${piece.device >= 0 ? `${letterOf(piece.device)} ` : ""}${piece.text} ${secondsText(piece.seconds, 3)} (${percentText(piece.seconds / total)})`),
      ),
    ),
  );
}

/** @param {Report} report */
function cuts(report) {
  const busiest = report.why.bottleneck ?? 0;
  const rows = report.why.cuts.map((cut) => [
    cut.sends ? "sends" : "receives",
    el("span", { class: "name" }, report.ops.names[cut.op]),
    cut.peer === undefined ? "host" : deviceLabel(report, cut.peer),
    secondsText(cut.seconds, 3),
  ]);
  return el("div", {}, el("h3", {}, `What ${report.devices[busiest]?.name ?? ""} sends and receives`), table(["", "output of", "to or from", "#time"], rows, "Dearest transfers of the busiest device"));
}

/** @param {number} change */
function changeText(change) {
  return Math.abs(change) < 5e-7 ? "±0%" : `${change > 0 ? "+" : "−"}${percentText(Math.abs(change))}`;
}

/** @param {Report} report @param {import("./data.js").OpMoves} item @param {(op: number) => void} choose */
function moves(report, item, choose) {
  const { value } = report.plan;
  const rows = item.devices.map((there) => {
    const known = there.value !== null && !there.obstacle;
    const change = known && value > 0 ? Number(there.value) / value - 1 : 0;
    const remark = there.here ? "is here" : there.obstacle ? `no valid plan: ${there.obstacle}` : "";
    return [
      deviceLabel(report, there.device),
      secondsText(there.seconds, 3),
      there.value === null ? "–" : secondsText(there.value),
      there.here || !known ? "" : changeText(change),
      el("span", { class: "muted" }, remark),
    ];
  });
  const home = item.devices.find((there) => there.here);
  const others = item.devices.filter((there) => !there.here && there.value !== null && !there.obstacle);
  others.sort((a, b) => Number(a.value) - Number(b.value));
  const best = others[0];
  const hint = best && value > 0 ? `at best ${changeText(Number(best.value) / value - 1)} elsewhere` : "no valid place elsewhere";
  return el(
    "details",
    { class: "move" },
    el("summary", {}, el("span", { class: "name" }, report.ops.names[item.op]), el("span", { class: "muted" }, home ? `${secondsText(home.seconds, 3)} on ${report.devices[home.device].name}; ${hint}` : "")),
    table(["on", "#its time", "#value then", "#change", ""], rows, "This op on every device"),
    item.together > 1 ? el("p", { class: "lead" }, `${plural(item.together, "op")} must share a device; times are of all of them.`) : null,
    el("p", {}, el("button", { type: "button", onclick: () => choose(item.op) }, "Show the op")),
  );
}

/** @param {Report} report @param {(op: number) => void} choose */
export function why(report, choose) {
  const parts = [];
  if (report.path && report.path.count > 0) parts.push(criticalPath(report));
  if (report.why.cuts.length) parts.push(cuts(report));
  if (report.why.ops.length) {
    parts.push(
      el(
        "div",
        {},
        el("h3", {}, "The heaviest ops, and what moving one would do"),
        el("p", { class: "lead", vars: "margin-bottom:10px" }, "Each figure is the value of the plan with that op elsewhere and everything else as it is."),
        el("div", { class: "moves" }, ...report.why.ops.map((item) => moves(report, item, choose))),
      ),
    );
  }
  if (report.why.excluded.length) {
    parts.push(el("div", {}, el("h3", {}, "Constraints that cost time"), el("ul", {}, ...report.why.excluded.slice(0, 20).map((line) => el("li", {}, line)))));
  }
  return parts.length ? section("why", "Why", "", ...parts) : null;
}
