// Other hardware, other rules, how the search went, and what the figures stand on.

import { el, section, svg, table } from "./dom.js";
import { percentText, rateText, secondsText } from "./format.js";
import { niceStep } from "./canvas.js";

/** @typedef {import("./data.js").Report} Report */

/** @param {Report} report */
export function whatIf(report) {
  const { note, rows } = report.what_if;
  const { value } = report.plan;
  if (!rows.length) return note ? section("what-if", "What if", note) : null;
  const cells = rows.map((row) => {
    const found = row.value ?? row.same_plan;
    const best = Math.min(row.same_plan ?? Infinity, found ?? Infinity);
    const gain = best > 0 && Number.isFinite(best) ? value / best : NaN;
    return [
      row.change,
      secondsText(row.same_plan),
      row.value === undefined ? "–" : secondsText(row.value),
      el("span", { class: `gain${gain > 1.005 ? " up" : ""}` }, Number.isFinite(gain) ? `${gain.toFixed(2)}×` : "–"),
      row.bound === undefined ? "–" : secondsText(row.bound),
    ];
  });
  return section("what-if", "What if", `What other hardware would give: this plan on it as it is, and a new plan made for it. ${note}`, table(["change", "#this plan", "#new plan", "#gain", "#bound"], cells, "What other hardware would give"));
}

/** @param {Report} report */
export function baselines(report) {
  if (!report.baselines.length) return null;
  const ours = report.plan.value;
  const rows = [{ name: "this plan", status: report.plan.status, value: ours, own: true }, ...report.baselines.map((row) => ({ ...row, own: false }))];
  const worth = (/** @type {{value?: number}} */ row) => row.value ?? Infinity;
  rows.sort((a, b) => worth(a) - worth(b) || Number(b.own) - Number(a.own));
  // One rule that is a hundred times slower must not make all others look alike: bars end at four times ours.
  const most = Math.min(4 * ours, Math.max(...rows.map((row) => row.value ?? 0)));
  return section(
    "rules",
    "Against other rules",
    `The same problem placed by the rules people use today; shorter is better.${rows.some((row) => (row.value ?? 0) > most) ? " Bars that fade go on beyond the edge." : ""}`,
    el(
      "div",
      { class: "race" },
      ...rows.flatMap((row) => {
        const mark = row.own ? "ours" : "";
        if (row.value === undefined) return [el("span", {}, row.name), el("span", { class: "muted" }, "no valid plan"), el("span", {}, "–")];
        return [
          el("span", { class: mark }, row.name),
          el("i", { class: `${mark}${row.value > most ? " beyond" : ""}`, vars: `width:${most > 0 ? Math.min(100, (100 * row.value) / most) : 0}%` }),
          el("span", { class: mark }, `${secondsText(row.value)}${row.own ? "" : `, ${(row.value / ours).toFixed(2)}×`}`),
        ];
      }),
    ),
  );
}

/** Value and bound over the time of the search. @param {Report} report */
export function curve(report) {
  const points = report.plan.curve.filter((point) => point[1] !== null || point[2] !== null);
  if (points.length < 2) return null;
  const [w, h, left, top, bottom] = [640, 240, 64, 12, 26];
  const last = Math.max(points[points.length - 1][0], report.plan.seconds, 1e-9);
  const values = points.flatMap((point) => [point[1], point[2]]).filter((v) => v !== null && v > 0).map(Number);
  const best = report.plan.value;
  const high = Math.min(Math.max(...values), 2.2 * best);
  const x = (/** @type {number} */ seconds) => left + ((w - left - 10) * seconds) / last;
  const y = (/** @type {number} */ value) => top + (h - top - bottom) * (1 - Math.min(1.02, value / (high * 1.05)));
  const steps = (/** @type {1 | 2} */ which) => {
    let path = "";
    let before = 0;
    for (const point of points) {
      const value = point[which];
      if (value === null) continue;
      path += path ? `L${x(point[0])} ${y(before)}L${x(point[0])} ${y(value)}` : `M${x(point[0])} ${y(value)}`;
      before = value;
    }
    return path && `${path}L${x(last)} ${y(before)}`;
  };
  const step = niceStep((high * 1.05) / 4);
  const grid = [];
  for (let v = 0; v <= high * 1.05; v += step) {
    grid.push(svg("line", { class: "axis", x1: left, x2: w - 10, y1: y(v), y2: y(v) }));
    grid.push(svg("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, secondsText(v, 3)));
  }
  for (let i = 0; i <= 4; ++i) grid.push(svg("text", { x: x((last * i) / 4), y: h - 6, "text-anchor": i === 4 ? "end" : "middle" }, secondsText((last * i) / 4, 2)));
  return section(
    "search",
    "How the search went",
    "Plans found (line) and what no plan can beat (dashes), over the time of the search. The area between them is what was not known yet.",
    el("div", { class: "legend" }, el("span", {}, el("i", { class: "edge" }), "best plan"), el("span", {}, el("i", { class: "edge dashes" }), "proven bound")),
    svg(
      "svg",
      { class: "curve", viewBox: `0 0 ${w} ${h}`, width: "100%", role: "img", "aria-label": `After ${secondsText(last, 2)}: value ${secondsText(best)}, bound ${secondsText(report.plan.bound)}, gap ${percentText(report.plan.gap ?? 0)}`, vars: "max-width:860px;display:block" },
      ...grid,
      svg("path", { class: "bound", d: steps(2) }),
      svg("path", { class: "value", d: steps(1) }),
    ),
  );
}

/** @param {Report} report */
export function models(report) {
  if (report.models.length < 2) return null;
  const rows = report.models.map((model) => [model.name, secondsText(model.completion), model.completion ? rateText(model.completion) : "–", String(model.weight ?? 1), secondsText(model.release ?? 0)]);
  return section("models", "Models", "", table(["model", "#done after", "#per second", "#weight", "#released at"], rows, "Completion of each model"));
}

/** @param {Report} report */
export function settings(report) {
  const { plan } = report;
  const facts = [
    ["Costs", costsText(report)],
    ["Found by", plan.solver || "–"],
    ["Proof", plan.proof || "none"],
    ["Seed", String(plan.seed)],
    ["Search took", `${secondsText(plan.seconds, 3)}${plan.time_limited && plan.status !== "optimal" ? ", stopped by its time limit" : ""}`],
  ];
  const classes = report.classes.map((cls) => [cls.name, cls.kind, cls.launch > 0 ? secondsText(cls.launch, 3) : "–", cls.catalogue || "–"]);
  return section(
    "costs",
    "What the figures stand on",
    "",
    el("dl", { class: "facts" }, ...facts.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])),
    el("details", {}, el("summary", {}, "Classes of devices"), table(["class", "kind", "#launch of an op", "from the catalogue"], classes, "Classes of devices")),
    el("details", {}, el("summary", {}, "Modes this plan was made for"), table(["mode", "value", "meaning"], plan.modes.map(([name, value, help]) => [el("span", { class: "mono" }, name), el("span", { class: "mono" }, value), help]), "Modes")),
  );
}

/** @param {Report} report */
function costsText(report) {
  const { costs } = report.plan;
  if (!costs || costs === "given") return "given: the problem's file says what each op takes; nothing was estimated here";
  const estimated = /estimat|predict|roofline/i.test(costs);
  if (estimated && /measured|given/i.test(costs)) return `${costs}: some times were calculated from what devices can do at best, not measured`;
  if (/measured/i.test(costs)) return `${costs}: times were measured on devices`;
  if (estimated) return `${costs}: times were calculated from what devices can do at best, not measured`;
  return costs;
}
