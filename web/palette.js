// Colours of devices. Eight that people with any kind of colour vision can tell apart (after Okabe and Ito), then the same
// again with stripes, and so on; a letter beside each colour says the same without it.

import { el } from "./dom.js";

const kColours = 8;

/** @param {number} device 0 is "A", 26 is "AA" */
export function letterOf(device) {
  let text = "";
  for (let rest = device; rest >= 0; rest = Math.floor(rest / 26) - 1) text = String.fromCharCode(65 + (rest % 26)) + text;
  return text;
}

/** @param {number} device the CSS properties that give an element its device's colour */
export function deviceVars(device) {
  return `--c:var(--d${device % kColours});--ct:var(--t${device % kColours})`;
}

/** @param {number} device which pattern lies over the colour; 0 = none */
export function patternOf(device) {
  return Math.floor(device / kColours) % 4;
}

/** @param {number} device @param {string} name */
export function badge(device, name) {
  return el("span", { class: `badge p${patternOf(device)}`, vars: deviceVars(device), title: name, "aria-hidden": "true" }, letterOf(device));
}

/** Badge and name of a device. @param {import("./data.js").Report} report @param {number} device */
export function deviceLabel(report, device) {
  const known = report.devices[device];
  if (!known) return el("span", { class: "muted" }, "no device");
  return el("span", { class: "device" }, badge(device, known.name), el("span", { class: "device-name" }, known.name));
}

/** The colours a canvas needs, as the style sheet has them now. */
export function canvasColours() {
  const style = getComputedStyle(document.documentElement);
  const read = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    device: Array.from({ length: kColours }, (_, i) => read(`--d${i}`)),
    deviceText: Array.from({ length: kColours }, (_, i) => read(`--t${i}`)),
    text: read("--text"),
    muted: read("--muted"),
    line: read("--line"),
    faint: read("--faint"),
    surface: read("--surface"),
    accent: read("--accent"),
    font: style.fontFamily,
  };
}

/** @typedef {ReturnType<typeof canvasColours>} Colours */
