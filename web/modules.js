// The tree of modules that the names of ops spell out: "layers.3/attention/query" lies in "layers.3/attention".
//
// Names are split at "/" and ".", numbers stay with what they count; a module with a single thing inside is one with it. Where more than kMost things lie side by
// side (models without module names above all), neighbours in the order of execution are gathered into parts, so that a drawing
// never has to show more than a few dozen at once. Linear in ops but for sorting.

/** @typedef {import("./data.js").Report} Report */
/**
 * @typedef {object} Module
 * @property {number} id @property {string} name @property {number} parent -1 = the root
 * @property {Item[]} children in the order of execution @property {number} ops @property {number} seconds
 * @property {number} first smallest position of an op inside @property {[number, number][] | null} shares
 * @property {boolean} gathered a part made here, whose name is none of the model's @property {string} last name of its last item
 */
/** @typedef {number} Item a module's id, or -1 - op */

const kMost = 40;
const kDeepest = 40;

/** @param {number} item */
export const isOp = (item) => item < 0;
/** @param {number} item */
export const opOf = (item) => -1 - item;

/** Whether a name is split at `c`: at "/" and ".", but "layers.3" is one. @param {string} name @param {number} c */
function splitsAt(name, c) {
  const code = name.charCodeAt(c);
  if (code !== 47 && code !== 46) return false;
  let digits = c + 1;
  while (digits < name.length && name.charCodeAt(digits) >= 48 && name.charCodeAt(digits) <= 57) ++digits;
  const next = name.charCodeAt(digits);
  return c === 0 || digits === c + 1 || (digits < name.length && next !== 47 && next !== 46);
}

export class ModuleTree {
  /** @param {Report} report */
  constructor(report) {
    this.report = report;
    /** @type {Module[]} */
    this.modules = [];
    this.root = this.add("", -1);
    /** Module of each op. */
    this.home = new Int32Array(report.ops.count);
    /** How many modules each op stands for because it was alone in them. */
    this.alone = new Uint8Array(report.ops.count);
    this.build();
    this.squeeze();
    this.measure();
    for (const module of [...this.modules]) this.gather(module);
    this.settleHomes();
  }

  /** @param {string} name @param {number} parent @returns {Module} */
  add(name, parent) {
    const module = { id: this.modules.length, name, parent, children: [], ops: 0, seconds: 0, first: Infinity, shares: null, gathered: false, last: name };
    this.modules.push(module);
    return module;
  }

  build() {
    const { ops, models } = this.report;
    /** @type {Map<string, Module>[]} */
    const known = [];
    const inside = (/** @type {Module} */ parent, /** @type {string} */ name) => {
      const names = (known[parent.id] ??= new Map());
      let module = names.get(name);
      if (!module) {
        module = this.add(name, parent.id);
        names.set(name, module);
        parent.children.push(module.id);
      }
      return module;
    };
    const tops = models.length > 1 ? models.map((model, m) => inside(this.root, `${model.name || `model ${m}`}`)) : [this.root];
    // Neighbours share most of their modules: those whose names end within the common beginning are known already.
    /** @type {{end: number, module: Module}[]} */
    let trail = [];
    let before = "";
    let top = -1;
    for (let i = 0; i < ops.count; ++i) {
      const name = ops.names[i];
      let same = 0;
      if (top === ops.model[i]) while (same < name.length && same < before.length && name.charCodeAt(same) === before.charCodeAt(same)) ++same;
      top = ops.model[i];
      before = name;
      while (trail.length && trail[trail.length - 1].end >= same) trail.pop();
      let at = trail.length ? trail[trail.length - 1].module : tops[models.length > 1 ? top : 0];
      let begin = trail.length ? trail[trail.length - 1].end + 1 : 0;
      for (let c = begin; c + 1 < name.length && trail.length < kDeepest; ++c) {
        if (!splitsAt(name, c)) continue;
        if (c > begin) {
          at = inside(at, name.slice(begin, c));
          trail.push({ end: c, module: at });
        }
        begin = c + 1;
      }
      at.children.push(-1 - i);
    }
  }

  /** Joins modules with the only thing in them; a module's parent always has the smaller id. */
  squeeze() {
    for (let m = this.modules.length - 1; m >= 0; --m) {
      const module = this.modules[m];
      for (let k = 0; k < module.children.length; ++k) {
        const item = module.children[k];
        if (isOp(item) || this.modules[item].children.length !== 1) continue;
        const [only] = this.modules[item].children;
        if (isOp(only)) this.alone[opOf(only)] += 1;
        else this.modules[only].name = `${this.modules[item].name}.${this.modules[only].name}`;
        this.modules[item].children = [];
        module.children[k] = only;
      }
    }
    // The outermost module is the model itself; alone, it says nothing.
    while (this.root.children.length === 1 && !isOp(this.root.children[0])) {
      const only = this.modules[this.root.children[0]];
      this.root.children = only.children;
      only.children = [];
    }
  }

  /** Sums from the leaves up. */
  measure() {
    const { position } = this.report.ops;
    const first = (/** @type {number} */ item) => (isOp(item) ? position[opOf(item)] : this.modules[item].first);
    for (let m = this.modules.length - 1; m >= 0; --m) {
      this.sum(this.modules[m]);
      this.modules[m].children.sort((a, b) => first(a) - first(b));
    }
  }

  /** @param {Module} module */
  sum(module) {
    const { ops } = this.report;
    for (const item of module.children) {
      const inner = isOp(item) ? null : this.modules[item];
      module.ops += inner ? inner.ops : 1;
      module.seconds += inner ? inner.seconds : ops.seconds[opOf(item)];
      module.first = Math.min(module.first, inner ? inner.first : ops.position[opOf(item)]);
    }
  }

  /** Gathers neighbours until at most kMost lie side by side. @param {Module} module */
  gather(module) {
    while (module.children.length > kMost) {
      const { children } = module;
      const parts = Math.max(2, Math.ceil(children.length / Math.ceil(kMost * 0.6)));
      module.children = Array.from({ length: parts }, (_, p) => {
        const share = children.slice(Math.floor((p * children.length) / parts), Math.floor(((p + 1) * children.length) / parts));
        const part = this.add(rangeName(this.shortName(share[0]), this.lastName(share[share.length - 1])), module.id);
        part.children = share;
        part.gathered = true;
        part.last = this.lastName(share[share.length - 1]);
        this.sum(part);
        return part.id;
      });
    }
  }

  /** Seconds by device, or ops where none takes time; largest first. @param {Module} module */
  sharesOf(module) {
    if (module.shares) return module.shares;
    const { ops } = this.report;
    /** @type {Map<number, number>} */
    const amounts = new Map();
    const waiting = [module.id];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      for (const item of this.modules[id].children) {
        if (!isOp(item)) {
          waiting.push(item);
          continue;
        }
        const op = opOf(item);
        amounts.set(ops.device[op], (amounts.get(ops.device[op]) ?? 0) + (module.seconds > 0 ? ops.seconds[op] : 1));
      }
    }
    module.shares = [...amounts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return module.shares;
  }

  settleHomes() {
    for (const module of this.modules) {
      for (const item of module.children) {
        if (isOp(item)) this.home[opOf(item)] = module.id;
        else this.modules[item].parent = module.id;
      }
    }
  }

  /** An item's name within its module. @param {number} item */
  shortName(item) {
    if (!isOp(item)) return this.modules[item].name.split(" … ")[0];
    const full = this.report.ops.names[opOf(item)];
    let cut = full.length - 1;
    for (let parts = this.alone[opOf(item)]; parts >= 0 && cut >= 0; --parts) do --cut; while (cut >= 0 && !splitsAt(full, cut));
    return full.slice(cut + 1) || "(no name)";
  }

  /** The same of the last thing that was gathered into a part. @param {number} item */
  lastName(item) {
    return isOp(item) ? this.shortName(item) : this.modules[item].gathered ? this.modules[item].last : this.modules[item].name;
  }

  /** What a drawing calls it. @param {number} item */
  label(item) {
    return isOp(item) ? this.shortName(item) : this.modules[item].name;
  }

  /** Where a module lies. @param {number} id */
  path(id) {
    const names = [this.modules[id].name];
    for (let m = this.modules[id].parent; m > 0; m = this.modules[m].parent) if (!this.modules[m].gathered) names.unshift(this.modules[m].name);
    return names.join("/");
  }
}

/** "layers.0", "layers.22": "layers.0 … 22". @param {string} first @param {string} last */
function rangeName(first, last) {
  let same = 0;
  while (same < first.length && same < last.length && first[same] === last[same]) ++same;
  const digits = /[0-9]*$/.exec(first.slice(0, same))?.[0].length ?? 0;
  const rest = last.slice(same - digits);
  return `${first} … ${/^[0-9]/.test(rest) ? rest : last}`;
}
