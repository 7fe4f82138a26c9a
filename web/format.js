// Numbers as people read them.

/** @param {number} number @param {number} digits */
function short(number, digits) {
  return String(Number(number.toPrecision(digits)));
}

/** @param {number | null | undefined} seconds @param {number} [digits] */
export function secondsText(seconds, digits = 4) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 1e-6) return `${short(seconds * 1e9, digits)} ns`;
  if (size < 1e-3) return `${short(seconds * 1e6, digits)} µs`;
  if (size < 1) return `${short(seconds * 1e3, digits)} ms`;
  return `${short(seconds, digits)} s`;
}

/** @param {number | null | undefined} bytes */
export function bytesText(bytes) {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return "–";
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let step = 0;
  while (Math.abs(bytes) >= 1024 && step + 1 < names.length) {
    bytes /= 1024;
    ++step;
  }
  return `${step === 0 ? Math.round(bytes) : short(bytes, 3)} ${names[step]}`;
}

/** @param {number} flops */
export function flopsText(flops) {
  const names = ["", "k", "M", "G", "T", "P", "E"];
  let step = 0;
  while (flops >= 1000 && step + 1 < names.length) {
    flops /= 1000;
    ++step;
  }
  return `${short(flops, 3)} ${names[step]}FLOP`;
}

/** @param {number} count */
export function countText(count) {
  return count.toLocaleString("en-GB").replaceAll(",", "\u202f");
}

/** @param {number} count @param {string} one */
export function plural(count, one) {
  return `${countText(count)} ${one}${count === 1 ? "" : "s"}`;
}

/** @param {number} share */
export function percentText(share) {
  if (!Number.isFinite(share)) return "–";
  return share > 0 && share < 1e-5 ? "<0.001%" : `${short(100 * share, 3)}%`;
}

/** @param {number} seconds */
export function rateText(seconds) {
  return seconds > 0 && Number.isFinite(seconds) ? short(1 / seconds, 4) : "–";
}
