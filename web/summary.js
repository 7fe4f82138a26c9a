// Head of the report: what the plan is worth, how good that is, and where the figures come from.

import { el } from "./dom.js";
import { bytesText, percentText, plural, rateText, secondsText } from "./format.js";

/** @typedef {import("./data.js").Report} Report */

/** @param {Report} report [value, what it is per, sentence] */
function worth(report) {
  const { value } = report.plan;
  if (report.goal === "throughput") {
    return ["per sample", `${rateText(value)} samples per second, one after another through a pipeline of ${plural(report.stages.length, "stage")}.`];
  }
  if (report.goal === "latency") return ["for one sample", `${rateText(value)} per second when samples run one at a time.`];
  return ["summed completion times", `${plural(report.models.length, "model")} share the devices; the value is the weighted sum of their completion times.`];
}

/** @param {Report} report */
function statusPill(report) {
  const { status, time_limited } = report.plan;
  if (status === "optimal") return el("span", { class: "pill good" }, "✓ proven optimal");
  return el("span", { class: "pill plain" }, time_limited ? `${status}, time limit met` : status);
}

/** @param {Report} report */
function proof(report) {
  const { value, bound } = report.plan;
  const known = bound !== null && bound > 0 && value > 0;
  const share = known ? Math.min(1, bound / value) : 0;
  const gap = report.plan.status === "optimal" ? 0 : (report.plan.gap ?? 1);
  return el(
    "div",
    { class: "keep" },
    el(
      "div",
      { class: "proof-labels" },
      el("span", {}, "No plan can be below ", el("b", {}, known ? secondsText(bound) : "–")),
      el("span", {}, "gap ", el("b", {}, known ? percentText(gap) : "unknown")),
    ),
    el(
      "div",
      { class: "proof-bar", role: "img", "aria-label": known ? `The proven bound is ${percentText(share)} of the value` : "No bound is known" },
      el("i", { vars: `width:${100 * share}%` }),
      el("u", { vars: `width:${100 * (1 - share)}%` }),
    ),
    el("p", { class: "lead", vars: "margin-top:8px" }, proofText(report)),
  );
}

/** @param {Report} report */
function proofText(report) {
  const { status, proof: how } = report.plan;
  if (status === "optimal") return how ? `Proven: ${how}.` : "Proven: the bound meets the value.";
  if (!report.plan.bound) return "Nobody has proven how much better a plan could be.";
  return "The hatched part is what a better plan could gain at most.";
}

/** @param {Report} report */
function costsNote(report) {
  const { costs } = report.plan;
  let unknown = 0;
  for (const flag of report.ops.unknown) unknown += flag;
  const parts = [];
  if (/estimat|predict|roofline/i.test(costs)) {
    parts.push(el("p", { class: "note", role: "note" }, el("strong", {}, `Costs: ${costs}. `), "Times come from a model of the devices, not from measurements. Ratios between plans are more reliable than the times themselves; measure the ops that matter."));
  }
  if (unknown > 0) {
    parts.push(el("p", { class: "note", role: "note" }, el("strong", {}, `${plural(unknown, "op")} of unknown cost. `), "Their work could not be told from the model; search the table for “unknown”."));
  }
  return parts;
}

/** @param {Report} report */
function busiestText(report) {
  const device = report.devices[report.why.bottleneck ?? -1];
  return device ? device.name : "–";
}

/** Every cut tensor once for each device it goes to. @param {Report} report */
function sentText(report) {
  const { ops, tensors } = report;
  let bytes = 0;
  let count = 0;
  for (let t = 0; t < tensors.count; ++t) {
    const targets = new Set();
    for (let k = tensors.begin[t]; k < tensors.begin[t + 1]; ++k) targets.add(ops.device[tensors.to[k]]);
    targets.delete(ops.device[tensors.from[t]]);
    count += targets.size;
    if (tensors.bytes) bytes += targets.size * tensors.bytes[t];
  }
  return bytes > 0 ? `${bytesText(bytes)}, ${plural(count, "tensor")}` : plural(count, "tensor");
}

/** @param {Report} report */
export function summary(report) {
  const { plan, ops, devices } = report;
  const [per, sentence] = worth(report);
  const used = new Set([...ops.device, ...report.stages.flatMap((stage) => stage.devices)]).size;
  /** @param {string} label @param {string} text */
  const fact = (label, text) => el("div", { class: "fact" }, el("span", {}, label), el("b", {}, text));
  return [
    el(
      "header",
      { class: "title-block" },
      el("h1", {}, report.name || "Plan"),
      el("p", { class: "sub" }, [plural(ops.count, "op"), report.cluster || plural(devices.length, "device"), `goal ${report.goal}`].join(" · ")),
    ),
    el(
      "section",
      { id: "summary", class: "hero", "aria-label": "Summary" },
      el(
        "div",
        {},
        el("p", { class: "row", vars: "margin-bottom:10px" }, statusPill(report), el("span", { class: `pill${/estimat|predict|roofline/i.test(plan.costs) ? " warn" : /measured/i.test(plan.costs) ? " good" : ""}` }, `costs ${plan.costs || "given"}`)),
        el("p", { class: "big" }, secondsText(plan.value), el("small", {}, per)),
        el("p", { class: "sentence muted" }, sentence),
      ),
      proof(report),
      el(
        "div",
        { class: "facts-row full" },
        fact("Found by", plan.solver || "–"),
        fact("Search took", secondsText(plan.seconds, 3)),
        fact("Devices used", `${used} of ${devices.length}`),
        fact("Busiest device", busiestText(report)),
        fact("Sent between devices", sentText(report)),
        plan.noise ? fact(`With ${percentText(plan.noise.share)} noise`, `${secondsText(plan.noise.mean)} (95%: ${secondsText(plan.noise.p95)})`) : null,
      ),
      ...costsNote(report).map((note) => {
        note.classList.add("full");
        return note;
      }),
    ),
  ];
}
