// Reads the data block that src/report/report_data.cpp writes.

/** @typedef {Uint8Array | Uint16Array | Uint32Array} Whole */
/**
 * @typedef {object} Device
 * @property {string} name @property {number} class @property {string} [host]
 * @property {number | null} limit @property {number} memory @property {number} compute
 * @property {number} communication @property {number} load @property {boolean} [binds]
 */
/**
 * @typedef {object} Ops
 * @property {number} count @property {string[]} names @property {Whole} type @property {Whole} device
 * @property {Whole} model @property {Whole} phase @property {Float32Array} seconds
 * @property {Float32Array | null} memory @property {Float32Array | null} flops @property {Whole} unknown
 * @property {Whole} position @property {Whole} pinned @property {Float64Array | null} start
 * @property {Float64Array | null} end @property {Float32Array | null} slack @property {Float32Array | null} times
 */
/**
 * @typedef {object} Tensors
 * @property {number} count @property {Whole} from @property {Uint32Array} begin @property {Whole} to
 * @property {Float32Array | null} bytes @property {Float32Array | null} cut
 */
/**
 * @typedef {object} Transfers
 * @property {number} count @property {Whole} tensor @property {Whole} from @property {Whole} to
 * @property {Float64Array} start @property {Float64Array} end
 */
/**
 * @typedef {object} Path steps that decide the end; op, device and to are index + 1, 0 = none
 * @property {number} count @property {Whole} kind @property {Whole} op @property {Whole} device @property {Whole} to
 * @property {Float64Array} start @property {Float64Array} end
 */
/** @typedef {{devices: number[], ops: number, load: number, sync: number, parts: number[][]}} Stage */
/**
 * @typedef {object} PlanFacts
 * @property {string} status @property {number} value @property {number | null} bound @property {number | null} gap
 * @property {string} solver @property {string} proof @property {number} seed @property {number} seconds
 * @property {boolean} time_limited @property {string} costs @property {{share: number, mean: number, p95: number}} [noise]
 * @property {[string, string, string][]} modes @property {[number, number | null, number | null][]} curve
 */
/**
 * @typedef {object} OpMoves
 * @property {number} op @property {number} together
 * @property {{device: number, here: boolean, seconds: number | null, value: number | null, obstacle: string}[]} devices
 */
/**
 * @typedef {object} Report
 * @property {string} version @property {string} name @property {string} cluster
 * @property {"throughput" | "latency" | "completion"} goal @property {PlanFacts} plan
 * @property {{name: string, kind: string, launch: number, catalogue?: string}[]} classes @property {Device[]} devices
 * @property {{name: string, completion?: number | null, weight?: number, release?: number}[]} models
 * @property {string[]} types @property {Ops} ops @property {Tensors} tensors @property {Transfers | null} transfers
 * @property {Path | null} path @property {Stage[]} stages
 * @property {{bottleneck?: number, excluded: string[], ops: OpMoves[], cuts: {op: number, sends: boolean, seconds: number, peer?: number}[]}} why
 * @property {{note: string, rows: {change: string, same_plan: number | null, value?: number | null, bound?: number | null}[]}} what_if
 * @property {{name: string, status: string, value?: number}[]} baselines
 */

/** @param {string} text "u8:", "u16:", "u32:" or "f32:" and base64 */
export function decodeColumn(text) {
  const colon = text.indexOf(":");
  const kind = text.slice(0, colon);
  const bytes = atob(text.slice(colon + 1));
  const raw = new Uint8Array(bytes.length);
  for (let i = 0; i < raw.length; ++i) raw[i] = bytes.charCodeAt(i);
  if (kind === "u8") return raw;
  if (kind === "u16") return new Uint16Array(raw.buffer);
  if (kind === "u32") return new Uint32Array(raw.buffer);
  return new Float32Array(raw.buffer);
}

/** @param {string | undefined} text @param {number} count @returns {Whole} zeros where the column was left out */
function whole(text, count) {
  return text === undefined ? new Uint8Array(count) : /** @type {Whole} */ (decodeColumn(text));
}

/** @param {string | undefined} text @returns {Float32Array | null} */
function figures(text) {
  return text === undefined ? null : /** @type {Float32Array} */ (decodeColumn(text));
}

/** @param {string | undefined} text @param {number} tick @returns {Float64Array} */
function moments(text, tick) {
  return Float64Array.from(whole(text, 0), (ticks) => ticks * tick);
}

/** @param {string[]} rests @param {string} shared */
function decodeNames(rests, shared) {
  const lengths = whole(shared, rests.length);
  const names = new Array(rests.length);
  let before = "";
  for (let i = 0; i < rests.length; ++i) {
    before = before.slice(0, lengths[i]) + rests[i];
    names[i] = before;
  }
  return names;
}

/** @param {string} text @returns {Report} */
export function readReport(text) {
  const raw = JSON.parse(text);
  const { tick } = raw;
  const { count } = raw.ops;
  const ops = {
    count,
    names: decodeNames(raw.ops.names, raw.ops.names_shared),
    type: whole(raw.ops.type, count),
    device: whole(raw.ops.device, count),
    model: whole(raw.ops.model, count),
    phase: whole(raw.ops.phase, count),
    seconds: figures(raw.ops.seconds),
    memory: figures(raw.ops.memory),
    flops: figures(raw.ops.flops),
    unknown: whole(raw.ops.unknown, count),
    position: raw.ops.position ? whole(raw.ops.position, count) : Uint32Array.from({ length: count }, (_, i) => i),
    pinned: whole(raw.ops.pinned, count),
    start: raw.ops.start ? moments(raw.ops.start, tick) : null,
    end: raw.ops.end ? moments(raw.ops.end, tick) : null,
    slack: figures(raw.ops.slack),
    times: figures(raw.ops.times),
  };
  const fan = whole(raw.tensors.fan, raw.tensors.count);
  const begin = new Uint32Array(raw.tensors.count + 1);
  for (let t = 0; t < raw.tensors.count; ++t) begin[t + 1] = begin[t] + fan[t];
  const tensors = {
    count: raw.tensors.count,
    from: whole(raw.tensors.from, raw.tensors.count),
    begin,
    to: whole(raw.tensors.to, 0),
    bytes: figures(raw.tensors.bytes),
    cut: figures(raw.tensors.cut),
  };
  /** @param {any} part @param {string[]} ids */
  const timed = (part, ids) =>
    part
      ? {
          count: part.count,
          ...Object.fromEntries(ids.map((id) => [id, whole(part[id], part.count)])),
          start: moments(part.start, tick),
          end: moments(part.end, tick),
        }
      : null;
  return {
    ...raw,
    ops,
    tensors,
    transfers: timed(raw.transfers, ["tensor", "from", "to"]),
    path: timed(raw.path, ["kind", "op", "device", "to"]),
    stages: raw.stages ?? [],
  };
}
