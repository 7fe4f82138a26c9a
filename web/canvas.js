// Small tools of drawing on a canvas.

/** First index whose value is above `key`. @param {Float64Array} sorted @param {number} key */
export function lowerBound(sorted, key) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {number} least */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} x2 @param {number} y2 */
export function line(context, x, y, x2, y2) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x2, y2);
  context.stroke();
}

/** The end of a long name says more than its beginning. @param {string} name */
export function lastPart(name) {
  const parts = name.split("/");
  return parts[parts.length - 1] || name;
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
export function fitText(context, text, width) {
  if (width < 5) return "";
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : "";
}

/** @type {Map<string, CanvasPattern | string>} */
const patterns = new Map();

/** @param {CanvasRenderingContext2D} context @param {string} colour @param {number} kind */
export function hatch(context, colour, kind) {
  const key = `${colour} ${kind}`;
  const known = patterns.get(key);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  if (!pen) return colour;
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 1.6;
  if (kind === 2) {
    pen.fillRect(1, 1, 2, 2);
  } else {
    const down = kind === 3;
    for (const shift of [-6, 0, 6]) {
      pen.beginPath();
      pen.moveTo(shift, down ? 0 : 6);
      pen.lineTo(shift + 6, down ? 6 : 0);
      pen.stroke();
    }
  }
  const pattern = context.createPattern(tile, "repeat") ?? colour;
  patterns.set(key, pattern);
  return pattern;
}
