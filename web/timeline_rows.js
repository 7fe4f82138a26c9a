// What the timeline shows: a row for each device and each used link, or for each stage of a pipeline.

import { bytesText, secondsText } from "./format.js";

/** @typedef {import("./data.js").Report} Report */
/**
 * @typedef {object} Row
 * @property {string} label @property {number} device whose colour @property {number} to of a link: its other end, else -1
 * @property {number} height pixels
 * @property {Float64Array} start ascending @property {Float64Array} end @property {Uint8Array} tint one of kTint
 * @property {(i: number) => string} name @property {(i: number) => string[]} tip first line is the title
 * @property {(i: number) => number} op to choose on a click, or -1
 */

export const kTint = { strong: 0, light: 1, hatched: 2 };
const kMostLinkRows = 24;
const kSamples = 8;
const kManyRows = 48;
const kMostRows = 1500;

/** @param {number[] | Uint32Array} ids @param {Float64Array} start */
function byStart(ids, start) {
  return Uint32Array.from(ids).sort((a, b) => start[a] - start[b]);
}

/** @param {Report} report @returns {Row[]} */
function deviceRows(report) {
  const { ops } = report;
  const start = /** @type {Float64Array} */ (ops.start);
  const end = /** @type {Float64Array} */ (ops.end);
  /** @type {number[][]} */
  const members = report.devices.map(() => []);
  // Ops without duration hold no device and have nothing to draw.
  for (let i = 0; i < ops.count; ++i) if (end[i] > start[i] && members[ops.device[i]]) members[ops.device[i]].push(i);
  return report.devices.map((device, d) => {
    const ids = byStart(members[d], start);
    return {
      label: device.name,
      device: d,
      to: -1,
      height: 34,
      start: Float64Array.from(ids, (i) => start[i]),
      end: Float64Array.from(ids, (i) => end[i]),
      tint: Uint8Array.from(ids, (i) => (ops.slack && ops.slack[i] > 0 ? kTint.light : kTint.strong)),
      name: (k) => ops.names[ids[k]],
      tip: (k) => opTip(report, ids[k]),
      op: (k) => ids[k],
    };
  });
}

/** @param {Report} report @param {number} i */
export function opTip(report, i) {
  const { ops } = report;
  const lines = [ops.names[i]];
  const type = report.types[ops.type[i]];
  if (type) lines.push(type);
  const device = report.devices[ops.device[i]];
  lines.push(`${secondsText(ops.seconds[i])} on ${device ? device.name : "no device"}`);
  if (ops.start && ops.end) lines.push(`from ${secondsText(ops.start[i], 5)} to ${secondsText(ops.end[i], 5)}`);
  if (ops.slack) lines.push(ops.slack[i] > 0 ? `could be ${secondsText(ops.slack[i])} late` : "any delay here delays the result");
  return lines;
}

/** @param {Report} report @returns {Row[]} */
function linkRows(report) {
  const { transfers, tensors, devices, ops } = report;
  if (!transfers) return [];
  /** @type {Map<number, number[]>} */
  const links = new Map();
  for (let i = 0; i < transfers.count; ++i) {
    if (transfers.end[i] <= transfers.start[i]) continue;
    const key = transfers.from[i] * devices.length + transfers.to[i];
    const list = links.get(key);
    if (list) list.push(i);
    else links.set(key, [i]);
  }
  // Many links: one row for all that a device sends.
  const joined = links.size > kMostLinkRows;
  /** @type {Map<number, number[]>} */
  const rows = new Map();
  for (const [key, list] of [...links].sort((a, b) => a[0] - b[0])) {
    const row = joined ? Math.floor(key / devices.length) * devices.length : key;
    const all = rows.get(row);
    if (all) all.push(...list);
    else rows.set(row, list);
  }
  return [...rows].map(([key, list]) => {
    const from = Math.floor(key / devices.length);
    const ids = byStart(list, transfers.start);
    return {
      label: joined ? `${devices[from].name} →` : `${devices[from].name} → ${devices[key % devices.length].name}`,
      device: from,
      to: joined ? -1 : key % devices.length,
      height: 22,
      start: Float64Array.from(ids, (i) => transfers.start[i]),
      end: Float64Array.from(ids, (i) => transfers.end[i]),
      tint: new Uint8Array(ids.length).fill(kTint.hatched),
      name: (k) => ops.names[tensors.from[transfers.tensor[ids[k]]]],
      tip: (k) => {
        const i = ids[k];
        const tensor = transfers.tensor[i];
        return [
          `output of ${ops.names[tensors.from[tensor]]}`,
          `${devices[transfers.from[i]].name} → ${devices[transfers.to[i]].name}`,
          `${tensors.bytes ? `${bytesText(tensors.bytes[tensor])} in ` : ""}${secondsText(transfers.end[i] - transfers.start[i])}`,
          `from ${secondsText(transfers.start[i], 5)} to ${secondsText(transfers.end[i], 5)}`,
        ];
      },
      op: (k) => tensors.from[transfers.tensor[ids[k]]],
    };
  });
}

/** @param {Report} report */
export function scheduleRows(report) {
  return slim([...deviceRows(report).filter((row) => row.start.length > 0), ...linkRows(report)]);
}

/** Rows of large clusters are lower. @param {Row[]} rows */
function slim(rows) {
  if (rows.length > kManyRows) for (const row of rows) row.height = 20;
  return rows.slice(0, kMostRows);
}

/**
 * A few samples on their way through the stages. Stage i takes sample k in period i + k; in training, its backward part comes
 * back up after the last stage: in period k + 2 S - 1 - i.
 * @param {Report} report
 */
export function pipelineRows(report) {
  const period = report.plan.value;
  const overlap = report.plan.modes.some(([name, value]) => name === "overlap" && value === "max");
  const stages = report.stages.length;
  const training = report.stages.some((stage) => stage.parts[1].some((seconds) => seconds > 0));
  // Replicas take samples in turn and have a period each; what comes behind waits for the slowest.
  const delay = [0];
  for (const stage of report.stages) delay.push(delay[delay.length - 1] + stage.devices.length);
  const rows = report.stages.flatMap((stage, s) =>
    stage.devices.map((device, replica) => {
      /** @type {{start: number, end: number, sample: number, back: boolean, what: string, light: boolean}[]} */
      const spans = [];
      for (let sample = replica; sample < kSamples; sample += stage.devices.length) {
        let clock = (delay[s] + sample) * period;
        for (const part of [0, 1]) {
          if (part === 1 && !training) continue;
          const [receive, compute, send] = stage.parts[part];
          if (part === 1) clock = (2 * delay[stages] - delay[s + 1] + sample) * period + span(stage.parts[0], overlap);
          const first = overlap ? Math.max(compute, receive + send) : receive;
          const add = (/** @type {number} */ seconds, /** @type {string} */ what, /** @type {boolean} */ light) => {
            if (seconds > 0) spans.push({ start: clock, end: clock + seconds, sample, back: part === 1, what, light });
            clock += seconds;
          };
          if (overlap) {
            add(first, "computes while it sends and receives", false);
          } else {
            add(receive, "receives", true);
            add(compute, "computes", false);
            add(send, "sends", true);
          }
        }
      }
      spans.sort((a, b) => a.start - b.start);
      return {
        label: report.devices[device].name,
        device,
        to: -1,
        height: 38,
        start: Float64Array.from(spans, (x) => x.start),
        end: Float64Array.from(spans, (x) => x.end),
        tint: Uint8Array.from(spans, (x) => (x.light ? kTint.hatched : (training ? x.back : x.sample % 2 === 1) ? kTint.light : kTint.strong)),
        name: (/** @type {number} */ k) => (spans[k].light ? "" : `${spans[k].sample + 1}${training ? (spans[k].back ? "B" : "F") : ""}`),
        tip: (/** @type {number} */ k) => [
          `sample ${spans[k].sample + 1}`,
          `${report.devices[device].name} ${spans[k].what}${spans[k].back ? " (backward)" : ""}`,
          `${secondsText(spans[k].end - spans[k].start)} of a load of ${secondsText(stage.load)} per sample`,
          ...(stage.devices.length > 1 ? [`one of ${stage.devices.length} replicas`] : []),
        ],
        op: () => -1,
      };
    }),
  );
  return slim(rows);
}

/** @param {number[]} part @param {boolean} overlap */
function span([receive, compute, send], overlap) {
  return overlap ? Math.max(compute, receive + send) : receive + compute + send;
}
