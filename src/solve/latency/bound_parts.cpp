#include "solve/latency/bound_parts.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFirstStep = 0.1;    // of the bound
constexpr double kNextStep = 0.02;    // at a higher level
constexpr double kResolution = 2e-3;  // smaller steps wait for the next level
constexpr double kExact = 1e-10;      // an item this close below a possible time is closed
constexpr int kMaxLevel = 12;
constexpr double kProbe = 1.5;  // of the bound and the work of a part
constexpr std::uint64_t kProbeNodes = 300;
constexpr std::uint64_t kGrowth = 6;  // of nodes from level to level

std::uint64_t nodeLimit(int level) {
  std::uint64_t limit = 1;
  for (int i = 0; i < level; ++i) limit *= kGrowth;
  return limit;
}

// Parts of which a node takes too long, or a branch too much memory, count by a path only.
bool tooLarge(std::size_t ops, std::size_t devices) {
  return ops * ops * devices > 8'000'000 || ops * devices * devices > 200'000;
}

// Longest path through the ops, each on its best device, from the end of the entry.
double pathBetween(const ScheduleModel& model, std::uint32_t entry, std::span<const std::uint32_t> inner) {
  std::vector<double> end(inner.empty() ? 0 : inner.back() - inner.front() + 1, 0);
  double longest = 0;
  for (const std::uint32_t op : inner) {
    const double* row = &model.seconds[op * model.devices];
    double start = 0;
    for (const std::uint32_t p : model.before[op]) {
      if (p != entry && p >= inner.front()) start = std::max(start, end[p - inner.front()]);
    }
    end[op - inner.front()] = start + *std::min_element(row, row + model.devices);
    longest = std::max(longest, end[op - inner.front()]);
  }
  return longest;
}

}  // namespace

BoundParts::BoundParts(const ScheduleModel& model, const BoundChain& chain, const Budget& budget)
    : model_(model), budget_(budget) {
  std::size_t covered = chain.ops.size();
  for (const auto& inner : chain.inner) covered += inner.size();
  complete_ = covered == model.opCount();
  for (std::size_t t = 0; t < chain.inner.size(); ++t) {
    const std::uint32_t entry = t == 0 ? BoundModule::kNone : chain.ops[t - 1];
    const std::uint32_t exit = t == chain.ops.size() ? BoundModule::kNone : chain.ops[t];
    Part part;
    const bool large = tooLarge(chain.inner[t].size(), model.devices);
    part.module = std::make_unique<BoundModule>(
        model, entry, large ? std::span<const std::uint32_t>{} : chain.inner[t], exit);
    const double between = large ? pathBetween(model, entry, chain.inner[t]) : 0;
    complete_ = complete_ && !large;
    part.refuter = std::make_unique<Refuter>(*part.module, budget);
    part.froms = part.module->has_entry ? model.devices : 1;
    part.tos = part.module->has_exit ? model.devices : 1;
    double work = 0;
    for (const std::uint32_t op : chain.inner[t]) {
      const double* row = &model.seconds[op * model.devices];
      work += *std::min_element(row, row + model.devices);
    }
    for (std::uint32_t from = 0; from < part.froms; ++from) {
      const bool can = !part.module->has_entry || model.runs(entry, from);
      const std::vector<double> least =
          can ? part.refuter->paths(part.module->has_entry ? from : Refuter::kAnyDevice)
              : std::vector<double>(part.tos, kInfinity);
      for (const double path : least) {
        Item item;
        const double bound =
            std::max(path, between + (can && part.module->has_entry ? model.time(entry, from) : 0));
        item.bound = bound;
        item.step = kFirstStep * (bound + work);
        // One edge and nothing else takes just its time.
        item.closed =
            bound == kInfinity || large || (chain.inner[t].empty() && part.module->edges.size() <= 1);
        part.items.push_back(item);
      }
    }
    part.work = work;
    parts_.push_back(std::move(part));
    // What is missing at the end counts as nothing.
    if (budget_.stopped() && t + 1 < chain.inner.size()) {
      complete_ = false;
      break;
    }
  }
  update();
}

void BoundParts::update() {
  ahead_.assign(parts_.size() + 1, {});
  behind_.assign(parts_.size() + 1, {});
  ahead_[0] = {0};
  for (std::size_t t = 0; t < parts_.size(); ++t) {
    const Part& part = parts_[t];
    ahead_[t + 1].assign(part.tos, kInfinity);
    for (std::size_t from = 0; from < part.froms; ++from) {
      for (std::size_t to = 0; to < part.tos; ++to) {
        double& least = ahead_[t + 1][to];
        least = std::min(least, ahead_[t][from] + part.items[from * part.tos + to].bound);
      }
    }
  }
  behind_[parts_.size()].assign(parts_.back().tos, 0);
  for (std::size_t t = parts_.size(); t-- > 0;) {
    const Part& part = parts_[t];
    behind_[t].assign(part.froms, kInfinity);
    for (std::size_t from = 0; from < part.froms; ++from) {
      for (std::size_t to = 0; to < part.tos; ++to) {
        double& least = behind_[t][from];
        least = std::min(least, behind_[t + 1][to] + part.items[from * part.tos + to].bound);
      }
    }
  }
  bound_ = std::max(bound_, behind_[0][0]);
}

std::uint64_t BoundParts::nodes() const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += part.refuter->nodes;
  return sum;
}

double BoundParts::work() const {
  double sum = 0;
  for (const Part& part : parts_)
    sum += static_cast<double>(part.refuter->nodes) * static_cast<double>(part.module->opCount());
  return sum;
}

bool BoundParts::raise(double upper) {
  // Of the item of the shortest path that has been tried least.
  const bool by_schedules = complete_ && (turn_ = !turn_);
  if (by_schedules) openPath();
  const auto& behind = by_schedules ? open_behind_ : behind_;
  std::size_t from = 0, best_part = 0, best_item = 0;
  int least = kMaxLevel + 1;
  for (std::size_t t = 0; t < parts_.size(); ++t) {
    const Part& part = parts_[t];
    std::size_t next = from * part.tos;
    double length = kInfinity;
    for (std::size_t to = 0; to < part.tos; ++to) {
      const Item& item = part.items[from * part.tos + to];
      const double through = (by_schedules ? item.open : item.bound) + behind[t + 1][to];
      if (through >= length) continue;
      length = through;
      next = from * part.tos + to;
    }
    if (!part.items[next].closed && part.items[next].level < least) {
      least = part.items[next].level;
      best_part = t;
      best_item = next;
    }
    from = next % part.tos;
  }
  if (least > kMaxLevel) return by_schedules;
  Part& part = parts_[best_part];
  const double around =
      ahead_[best_part][best_item / part.tos] + behind_[best_part + 1][best_item % part.tos];
  const double before = part.items[best_item].bound;
  tryItem(part, best_item, upper - around);
  if (part.items[best_item].bound > before) update();
  return true;
}

void BoundParts::tryItem(Part& part, std::size_t at, double most) {
  Item& item = part.items[at];
  if (!item.probed) {
    // Room for any schedule.
    item.probed = true;
    refuteItem(part, at, std::min(most, kProbe * (item.bound + part.work)), most, kProbeNodes);
    item.failed = kInfinity;
    return;
  }
  // Just below a time that is possible, halfway below one that could not be refuted, or a step ahead.
  double target = item.bound + item.step;
  if (item.failed < kInfinity)
    target = (item.bound + std::min(item.failed, item.open)) / 2;
  else if (item.open < kInfinity)
    target = item.open * (1 - kExact);
  target = std::min(target, most);
  if (target <= item.bound) {  // possible, or of no use
    item.closed = true;
    return;
  }
  if (item.failed < kInfinity && target - item.bound <= kResolution * item.bound) {
    if (item.level == kMaxLevel) {
      item.closed = true;
    } else {
      ++item.level;
      item.failed = kInfinity;
      item.step = kNextStep * item.bound;
    }
    return;
  }
  refuteItem(part, at, target, most, nodeLimit(item.level));
}

void BoundParts::refuteItem(Part& part, std::size_t at, double target, double most,
                            std::uint64_t node_limit) {
  Item& item = part.items[at];
  const std::uint32_t from =
      part.module->has_entry ? static_cast<std::uint32_t>(at / part.tos) : Refuter::kAnyDevice;
  const std::uint32_t to =
      part.module->has_exit ? static_cast<std::uint32_t>(at % part.tos) : Refuter::kAnyDevice;
  switch (part.refuter->refute(target, from, to, node_limit)) {
    case Refuter::Outcome::kRefuted:
      item.bound = std::max(item.bound, std::min(part.refuter->next, most));
      item.step *= 2;
      // It can pass a time that was not refuted before: prices of device time have moved since.
      if (item.failed <= item.bound) item.failed = kInfinity;
      break;
    case Refuter::Outcome::kOpen:
      if (part.refuter->open >= item.open) break;
      item.open = part.refuter->open;
      if (complete_) item.schedule = part.refuter->schedule;
      fresh_ = true;
      break;
    case Refuter::Outcome::kLimit:
      item.failed = std::min(item.failed, target);
      break;
    case Refuter::Outcome::kStopped:
      break;
  }
}

// Time of the item's best schedule; those of single edges are made when they are asked for.
double BoundParts::openTime(Part& part, std::size_t at) {
  Item& item = part.items[at];
  if (item.bound < kInfinity && !item.probed && item.closed) {
    item.probed = true;
    refuteItem(part, at, item.bound, item.bound, 2);
  }
  return item.open;
}

void BoundParts::learn(const Schedule& known) {
  if (!complete_) return;
  for (Part& part : parts_) {
    const BoundModule& module = *part.module;
    const std::uint32_t entry = module.op.front(), exit = module.op.back();
    const std::size_t from = module.has_entry ? known.device[entry] : 0;
    const std::size_t to = module.has_exit ? known.device[exit] : 0;
    const double begin = module.has_entry ? known.start[entry] : 0;
    double end = module.has_exit ? known.start[exit] : 0;
    if (!module.has_exit) {
      for (const std::uint32_t op : module.op)
        end = std::max(end, known.start[op] + model_.time(op, known.device[op]));
    }
    Item& item = part.items[from * part.tos + to];
    if (end - begin >= item.open) continue;
    item.open = end - begin;
    item.schedule = {};
    for (const std::uint32_t op : module.op) {
      item.schedule.device.push_back(known.device[op]);
      item.schedule.start.push_back(known.start[op] - begin);
    }
    for (NetTransfer transfer : known.transfers) {
      if (std::find(module.model_net.begin(), module.model_net.end(), transfer.net) == module.model_net.end())
        continue;
      transfer.start -= begin;
      transfer.end -= begin;
      item.schedule.transfers.push_back(transfer);
    }
    fresh_ = true;
  }
}

// Shortest path by the times of schedules, from the end.
void BoundParts::openPath() {
  open_behind_.assign(parts_.size() + 1, {});
  open_behind_.back().assign(parts_.back().tos, 0);
  for (std::size_t t = parts_.size(); t-- > 0;) {
    Part& part = parts_[t];
    open_behind_[t].assign(part.froms, kInfinity);
    for (std::size_t at = 0; at < part.items.size(); ++at) {
      double& least = open_behind_[t][at / part.tos];
      least = std::min(least, openTime(part, at) + open_behind_[t + 1][at % part.tos]);
    }
  }
}

Schedule BoundParts::assemble(double upper) {
  fresh_ = false;
  openPath();
  const auto& rest = open_behind_;
  Schedule whole;
  if (!(rest[0][0] < upper)) return whole;
  whole.device.assign(model_.opCount(), 0);
  whole.start.assign(model_.opCount(), 0);
  double offset = 0;
  std::size_t from = 0;
  for (std::size_t t = 0; t < parts_.size(); ++t) {
    const Part& part = parts_[t];
    std::size_t best = from * part.tos;
    for (std::size_t to = 0; to < part.tos; ++to) {
      const std::size_t at = from * part.tos + to;
      if (part.items[at].open + rest[t + 1][to] < part.items[best].open + rest[t + 1][best % part.tos])
        best = at;
    }
    const Schedule& own = part.items[best].schedule;
    for (std::size_t i = 0; i < own.device.size(); ++i) {
      whole.device[part.module->op[i]] = own.device[i];
      whole.start[part.module->op[i]] = offset + own.start[i];
    }
    for (NetTransfer transfer : own.transfers) {
      transfer.start += offset;
      transfer.end += offset;
      whole.transfers.push_back(transfer);
    }
    offset += part.items[best].open;
    from = best % part.tos;
  }
  return whole;
}

}  // namespace allot
