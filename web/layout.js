// Layered drawing of a directed graph (after Sugiyama, Tagawa and Toda, 1981).
//
// Layers by longest path, long edges bent at every layer they cross, order in a layer by a few barycentre sweeps, then places by
// relaxation towards neighbours. Edges against the given order (modules may depend on each other both ways) are kept out of the
// layering and drawn back. O((nodes + bends) log) for each of a fixed number of sweeps.

/** @typedef {{from: number, to: number}} Edge indices of nodes */
/** @typedef {{x: number, y: number}} Point */

const kSweeps = 6;
const kMostBends = 4000;
const kBend = 2;

/**
 * @param {number[]} width of each node; nodes come in the order of execution
 * @param {Edge[]} edges
 * @param {{height: number, gapX: number, gapY: number}} sizes
 * @returns {{points: Point[], bends: Point[][], width: number, height: number}} centres of nodes, bends of edges
 */
export function layered(width, edges, sizes) {
  const layer = layersOf(width.length, edges);
  /** @type {number[]} */
  const w = [...width];
  const at = [...layer];
  const bendsOf = edges.map(() => /** @type {number[]} */ ([]));
  /** @type {Edge[]} */
  const links = [];
  let room = kMostBends;
  edges.forEach(({ from, to }, e) => {
    const length = layer[to] - layer[from];
    if (to <= from || length < 1) return;
    let before = from;
    if (length > 1 && room >= length) {
      for (let l = layer[from] + 1; l < layer[to]; ++l) {
        const bend = w.push(kBend) - 1;
        at[bend] = l;
        bendsOf[e].push(bend);
        links.push({ from: before, to: bend });
        before = bend;
        --room;
      }
    }
    links.push({ from: before, to });
  });
  const layers = order(w.length, at, links);
  // Edges that run side by side need little room.
  const gap = (/** @type {number} */ a, /** @type {number} */ b) => (w[a] > kBend && w[b] > kBend ? sizes.gapX : w[a] > kBend || w[b] > kBend ? sizes.gapX / 2 : 6);
  const x = places(layers, w, links, gap);
  const left = Math.min(...x.map((v, i) => v - w[i] / 2), 0);
  const right = Math.max(...x.map((v, i) => v + w[i] / 2), 0);
  const point = (/** @type {number} */ i) => ({ x: x[i] - left, y: at[i] * (sizes.height + sizes.gapY) + sizes.height / 2 });
  return {
    points: width.map((_, i) => point(i)),
    bends: bendsOf.map((list) => list.map(point)),
    width: right - left,
    height: layers.length * (sizes.height + sizes.gapY) - sizes.gapY,
  };
}

/** @param {number} count @param {Edge[]} edges */
function layersOf(count, edges) {
  const layer = new Array(count).fill(0);
  /** @type {number[][]} */
  const inputs = Array.from({ length: count }, () => []);
  for (const { from, to } of edges) if (to > from) inputs[to].push(from);
  for (let i = 0; i < count; ++i) for (const from of inputs[i]) layer[i] = Math.max(layer[i], layer[from] + 1);
  // Sources move down to their first consumer, which shortens edges.
  const lowest = new Array(count).fill(Infinity);
  for (const { from, to } of edges) if (to > from) lowest[from] = Math.min(lowest[from], layer[to] - 1);
  for (let i = 0; i < count; ++i) if (inputs[i].length === 0 && Number.isFinite(lowest[i])) layer[i] = Math.max(0, lowest[i]);
  return layer;
}

/** @param {number} count @param {number[]} at @param {Edge[]} links */
function neighboursOf(count, at, links) {
  /** @type {number[][]} */
  const up = Array.from({ length: count }, () => []);
  /** @type {number[][]} */
  const down = Array.from({ length: count }, () => []);
  for (const { from, to } of links) {
    up[to].push(from);
    down[from].push(to);
  }
  return { up, down };
}

/** @param {number} count @param {number[]} at @param {Edge[]} links @returns {number[][]} nodes by layer, in order */
function order(count, at, links) {
  /** @type {number[][]} */
  const layers = Array.from({ length: Math.max(-1, ...at) + 1 }, () => []);
  for (let i = 0; i < count; ++i) layers[at[i]].push(i);
  const { up, down } = neighboursOf(count, at, links);
  const rank = new Array(count).fill(0);
  const settle = (/** @type {number[]} */ nodes) => nodes.forEach((node, i) => (rank[node] = (i + 0.5) / nodes.length));
  layers.forEach(settle);
  for (let sweep = 0; sweep < kSweeps; ++sweep) {
    const upwards = sweep % 2 === 1;
    for (let k = 0; k < layers.length; ++k) {
      const nodes = layers[upwards ? layers.length - 1 - k : k];
      const near = upwards ? down : up;
      const key = new Map(nodes.map((node) => [node, near[node].length ? mean(near[node].map((n) => rank[n])) : rank[node]]));
      nodes.sort((a, b) => /** @type {number} */ (key.get(a)) - /** @type {number} */ (key.get(b)) || a - b);
      settle(nodes);
    }
  }
  return layers;
}

/** @param {number[][]} layers @param {number[]} w @param {Edge[]} links @param {(a: number, b: number) => number} gap */
function places(layers, w, links, gap) {
  const { up, down } = neighboursOf(w.length, [], links);
  const x = new Array(w.length).fill(0);
  for (const nodes of layers) {
    let right = 0;
    nodes.forEach((node, i) => {
      if (i > 0) right += gap(nodes[i - 1], node);
      x[node] = right + w[node] / 2;
      right += w[node];
    });
    for (const node of nodes) x[node] -= right / 2;
  }
  for (let sweep = 0; sweep < 2 * kSweeps; ++sweep) {
    const upwards = sweep % 2 === 1;
    for (let k = 0; k < layers.length; ++k) {
      const nodes = layers[upwards ? layers.length - 1 - k : k];
      const wish = nodes.map((node) => {
        const near = sweep < kSweeps ? (upwards ? down : up)[node] : [...up[node], ...down[node]];
        return near.length ? mean(near.map((n) => x[n])) : x[node];
      });
      spread(nodes, wish, w, gap, x);
    }
  }
  return x;
}

/** Puts nodes as near to their wishes as their order and widths allow. */
function spread(/** @type {number[]} */ nodes, /** @type {number[]} */ wish, /** @type {number[]} */ w, /** @type {(a: number, b: number) => number} */ gap, /** @type {number[]} */ x) {
  // Blocks of touching nodes move as one, to the mean of what their members wish (isotonic regression).
  /** @type {{begin: number, end: number, sum: number, place: number}[]} */
  const blocks = [];
  const offset = [0];
  for (let i = 1; i < nodes.length; ++i) offset.push(offset[i - 1] + (w[nodes[i - 1]] + w[nodes[i]]) / 2 + gap(nodes[i - 1], nodes[i]));
  for (let i = 0; i < nodes.length; ++i) {
    let block = { begin: i, end: i + 1, sum: wish[i] - offset[i], place: wish[i] - offset[i] };
    while (blocks.length && blocks[blocks.length - 1].place > block.place) {
      const before = /** @type {typeof block} */ (blocks.pop());
      const sum = before.sum + block.sum;
      block = { begin: before.begin, end: block.end, sum, place: sum / (block.end - before.begin) };
    }
    blocks.push(block);
  }
  for (const block of blocks) for (let i = block.begin; i < block.end; ++i) x[nodes[i]] = block.place + offset[i];
}

/** @param {number[]} numbers */
function mean(numbers) {
  return numbers.reduce((a, b) => a + b, 0) / numbers.length;
}
