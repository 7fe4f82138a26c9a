// The tree of modules that the names of ops spell out: "layers.3/attention/query" lies in "layers.3/attention".
//
// Names are split at "/" and "."; a module with a single module inside is one with it. Where more than kMost things lie side by
// side (models without module names above all), neighbours in the order of execution are gathered into parts, so that a drawing
// never has to show more than a few dozen at once. Linear in ops but for sorting.

/** @typedef {import("./data.js").Report} Report */
/**
 * @typedef {object} Module
 * @property {number} id @property {string} name @property {number} parent -1 = the root
 * @property {Item[]} children in the order of execution @property {number} ops @property {number} seconds
 * @property {Map<number, number>} devices seconds by device @property {Map<number, number>} counts ops by device
 * @property {number} first smallest position of an op inside
 */
/** @typedef {number} Item a module's id, or -1 - op */

const kMost = 40;

/** @param {number} item */
export const isOp = (item) => item < 0;
/** @param {number} item */
export const opOf = (item) => -1 - item;

export class ModuleTree {
  /** @param {Report} report */
  constructor(report) {
    this.report = report;
    /** @type {Module[]} */
    this.modules = [];
    this.root = this.add("", -1);
    /** Module of each op. */
    this.home = new Int32Array(report.ops.count);
    this.build();
    this.squeeze(this.root);
    this.measure();
    for (const module of [...this.modules]) this.gather(module);
    this.settleHomes();
  }

  /** @param {string} name @param {number} parent @returns {Module} */
  add(name, parent) {
    const module = { id: this.modules.length, name, parent, children: [], ops: 0, seconds: 0, devices: new Map(), counts: new Map(), first: Infinity };
    this.modules.push(module);
    return module;
  }

  build() {
    const { ops, models } = this.report;
    /** @type {Map<string, Module>} */
    const known = new Map();
    const inside = (/** @type {Module} */ parent, /** @type {string} */ name, /** @type {string} */ path) => {
      const key = `${parent.id}\n${path}`;
      let module = known.get(key);
      if (!module) {
        module = this.add(name, parent.id);
        known.set(key, module);
        parent.children.push(module.id);
      }
      return module;
    };
    for (let i = 0; i < ops.count; ++i) {
      const name = ops.names[i];
      let at = models.length > 1 ? inside(this.root, models[ops.model[i]].name || `model ${ops.model[i]}`, "") : this.root;
      let begin = 0;
      for (let c = 0; c + 1 < name.length; ++c) {
        const code = name.charCodeAt(c);
        if (code !== 47 && code !== 46) continue;
        if (c > begin) at = inside(at, name.slice(begin, c), name.slice(begin, c));
        begin = c + 1;
      }
      at.children.push(-1 - i);
    }
  }

  /** Joins a module with the only thing in it, when that is a module. @param {Module} top */
  squeeze(top) {
    const waiting = [top];
    for (let module = waiting.pop(); module; module = waiting.pop()) {
      while (module.children.length === 1 && !isOp(module.children[0])) {
        const only = this.modules[module.children[0]];
        if (module !== this.root) module.name += `.${only.name}`;
        module.children = only.children;
        only.children = [];
        only.parent = -2;
        for (const item of module.children) if (!isOp(item)) this.modules[item].parent = module.id;
      }
      for (const item of module.children) if (!isOp(item)) waiting.push(this.modules[item]);
    }
  }

  /** Sums from the leaves up; a parent always has the smaller id but for gathered parts. */
  measure() {
    const { ops } = this.report;
    for (let m = this.modules.length - 1; m >= 0; --m) {
      const module = this.modules[m];
      for (const item of module.children) {
        if (isOp(item)) {
          const op = opOf(item);
          module.ops += 1;
          module.seconds += ops.seconds[op];
          module.first = Math.min(module.first, ops.position[op]);
          addTo(module.devices, ops.device[op], ops.seconds[op]);
          addTo(module.counts, ops.device[op], 1);
        } else {
          this.include(module, this.modules[item]);
        }
      }
      const first = (/** @type {number} */ item) => (isOp(item) ? ops.position[opOf(item)] : this.modules[item].first);
      module.children.sort((a, b) => first(a) - first(b));
    }
  }

  /** @param {Module} module @param {Module} part */
  include(module, part) {
    module.ops += part.ops;
    module.seconds += part.seconds;
    module.first = Math.min(module.first, part.first);
    for (const [device, seconds] of part.devices) addTo(module.devices, device, seconds);
    for (const [device, count] of part.counts) addTo(module.counts, device, count);
  }

  /** Gathers neighbours until at most kMost lie side by side. @param {Module} module */
  gather(module) {
    const { ops } = this.report;
    while (module.children.length > kMost) {
      const parts = Math.max(2, Math.ceil(module.children.length / Math.ceil(kMost * 0.6)));
      /** @type {number[]} */
      const gathered = [];
      for (let p = 0; p < parts; ++p) {
        const share = module.children.slice(Math.floor((p * module.children.length) / parts), Math.floor(((p + 1) * module.children.length) / parts));
        const part = this.add(`${this.shortName(share[0])} … ${this.shortName(share[share.length - 1])}`, module.id);
        part.children = share;
        for (const item of share) {
          if (isOp(item)) {
            const op = opOf(item);
            part.ops += 1;
            part.seconds += ops.seconds[op];
            part.first = Math.min(part.first, ops.position[op]);
            addTo(part.devices, ops.device[op], ops.seconds[op]);
            addTo(part.counts, ops.device[op], 1);
          } else {
            this.modules[item].parent = part.id;
            this.include(part, this.modules[item]);
          }
        }
        gathered.push(part.id);
      }
      module.children = gathered;
    }
  }

  settleHomes() {
    for (const module of this.modules) {
      for (const item of module.children) if (isOp(item)) this.home[opOf(item)] = module.id;
    }
  }

  /** The last part of an item's name. @param {number} item */
  shortName(item) {
    if (!isOp(item)) {
      const { name } = this.modules[item];
      const dots = name.indexOf(" … ");
      return dots < 0 ? name : name.slice(0, dots);
    }
    const full = this.report.ops.names[opOf(item)];
    const cut = Math.max(full.lastIndexOf("/", full.length - 2), full.lastIndexOf(".", full.length - 2));
    return full.slice(cut + 1) || full || "(no name)";
  }

  /** Names from the root to the module. @param {number} id */
  path(id) {
    /** @type {string[]} */
    const names = [];
    for (let m = id; m > 0; m = this.modules[m].parent) names.unshift(this.modules[m].name);
    return names;
  }
}

/** @param {Map<number, number>} map @param {number} key @param {number} amount */
function addTo(map, key, amount) {
  map.set(key, (map.get(key) ?? 0) + amount);
}
