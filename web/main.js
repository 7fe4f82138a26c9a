// Puts the report together: the summary at once, the rest piece by piece so that the page never stalls.

import { bars } from "./bars.js";
import { readReport } from "./data.js";
import { Details } from "./details.js";
import { el, section } from "./dom.js";
import { baselines, curve, models, settings, whatIf } from "./extras.js";
import { plural } from "./format.js";
import { Graph } from "./graph.js";
import { summary } from "./summary.js";
import { OpTable } from "./table.js";
import { Timeline } from "./timeline.js";
import { pipelineRows, scheduleRows } from "./timeline_rows.js";
import { why } from "./why.js";

/** @typedef {import("./data.js").Report} Report */

/** @param {Report} report @param {(op: number) => void} choose */
function timelineSection(report, choose) {
  const throughput = report.goal === "throughput";
  const rows = throughput ? pipelineRows(report) : scheduleRows(report);
  if (rows.length === 0) return null;
  const legend = el("div", { class: "legend" });
  const entry = (/** @type {string} */ kind, /** @type {string} */ text) => legend.append(el("span", {}, el("i", { class: kind }), text));
  let lead = "";
  if (throughput) {
    const chain = report.plan.modes.some(([name, value]) => name === "contiguity" && value === "chain");
    lead = `The first samples on their way: numbers are samples, dashes are periods of the steady state. ${chain ? "Each stage hands on to the next." : "A block is all of a device's work for one sample; with stages that are no chain it may be spread over several periods."}`;
    const training = report.stages.some((stage) => stage.parts[1].some((seconds) => seconds > 0));
    entry("", training ? "forward" : "computes");
    if (training) entry("light", "backward");
    entry("hatch", "sends or receives");
  } else {
    lead = "What every device and every link does, from the first op to the last result.";
    if (report.ops.slack) {
      entry("", "any delay delays the result");
      entry("light", "has slack");
    }
    entry("hatch", "transfer");
  }
  const timeline = new Timeline(rows, throughput ? "Samples in the pipeline." : "Schedule of devices and links.", choose, throughput ? report.plan.value : 0);
  return section("timeline", throughput ? "Pipeline" : "Timeline", lead, el("div", { class: "row end" }, timeline.controls, legend), timeline.element);
}

/** @param {Graph} graph */
function graphSection(graph) {
  return section(
    "graph",
    "Graph",
    "Modules by their names; ▸ opens one, an op shows its details. Bars and letters tell the device.",
    el("div", { class: "row end" }, graph.controls, el("div", { class: "legend" }, el("span", {}, el("i", { class: "edge" }), "between devices"), el("span", {}, el("i", { class: "edge thin" }), "within one"))),
    graph.chips,
    graph.view,
  );
}

function start() {
  const app = /** @type {HTMLElement} */ (document.getElementById("app"));
  const report = readReport(/** @type {HTMLElement} */ (document.getElementById("data")).textContent ?? "");
  const paper = (/** @type {boolean} */ on) => document.documentElement.classList.toggle("printing", on);
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
  const page = el("main", { class: "page", id: "main" }, ...summary(report));
  const nav = el("nav", { "aria-label": "Sections" }, el("a", { class: "brand", href: "#main" }, "Allot"));
  app.append(el("div", { class: "bar-top" }, nav), page);
  performance.mark("allot-first");

  /** @type {OpTable | null} */
  let ops = null;
  /** @type {Graph | null} */
  let graph = null;
  const choose = (/** @type {number} */ op) => {
    details.show(op);
    ops?.mark(op);
    graph?.mark(op);
  };
  const details = new Details(report, choose, (op) => graph?.reveal(op));
  document.body.append(details.element);

  /** @type {[string, () => HTMLElement | null][]} */
  const pieces = [
    [report.goal === "throughput" ? "Pipeline" : "Timeline", () => timelineSection(report, choose)],
    ["Devices", () => bars(report)],
    ["Models", () => models(report)],
    ["Rules", () => baselines(report)],
    ["Why", () => why(report, choose)],
    ["What if", () => whatIf(report)],
    ["Graph", () => graphSection((graph = new Graph(report, choose)))],
    ["Ops", () => section("ops", "Ops", null, (ops = new OpTable(report, choose)).controls, ops.element)],
    ["Gap", () => curve(report)],
    ["Costs", () => settings(report)],
  ];
  const next = () => {
    const piece = pieces.shift();
    if (!piece) {
      page.append(el("footer", {}, `Made by Allot ${report.version}. This file holds all of its data (${plural(report.ops.count, "op")}) and loads nothing.`));
      performance.mark("allot-ready");
      document.documentElement.dataset.ready = "true";
      return;
    }
    const part = piece[1]();
    if (part) {
      page.append(part);
      nav.append(el("a", { href: `#${part.id}` }, piece[0]));
      if (part.id === "graph") graph?.draw();
    }
    setTimeout(next);
  };
  setTimeout(next);

  addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && ops) {
      event.preventDefault();
      ops.search.focus();
      ops.search.scrollIntoView({ block: "center" });
    } else if (event.key === "Escape") {
      details.hide();
    }
  });
}

start();
