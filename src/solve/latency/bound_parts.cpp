#include "solve/latency/bound_parts.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFirstStep = 0.1;    // of the bound
constexpr double kNextStep = 0.02;    // at a higher level
constexpr double kResolution = 2e-3;  // smaller steps wait for the next level
constexpr double kExact = 1e-10;         // an item this close below a possible time is closed
constexpr int kMaxLevel = 12;
constexpr std::uint64_t kGrowth = 6;  // of nodes from level to level

std::uint64_t nodeLimit(int level) {
  std::uint64_t limit = 1;
  for (int i = 0; i < level; ++i) limit *= kGrowth;
  return limit;
}

}  // namespace

BoundParts::BoundParts(const ScheduleModel& model, const BoundChain& chain, const Budget& budget)
    : budget_(budget) {
  for (std::size_t t = 0; t < chain.inner.size(); ++t) {
    const std::uint32_t entry = t == 0 ? BoundModule::kNone : chain.ops[t - 1];
    const std::uint32_t exit = t == chain.ops.size() ? BoundModule::kNone : chain.ops[t];
    Part part;
    part.module = std::make_unique<BoundModule>(model, entry, chain.inner[t], exit);
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
      for (const double bound : least) {
        Item item;
        item.bound = bound;
        item.step = kFirstStep * (bound + work);
        item.closed = chain.inner[t].empty() || bound == kInfinity;
        part.items.push_back(item);
      }
    }
    parts_.push_back(std::move(part));
    if (budget_.stopped()) {
      // What is missing at the end counts as nothing.
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

bool BoundParts::raise(double upper) {
  // The item of the shortest path that has been tried least.
  std::size_t from = 0, best_part = 0, best_item = 0;
  int least = kMaxLevel + 1;
  for (std::size_t t = 0; t < parts_.size(); ++t) {
    const Part& part = parts_[t];
    std::size_t next = 0;
    double length = kInfinity;
    for (std::size_t to = 0; to < part.tos; ++to) {
      const double through = part.items[from * part.tos + to].bound + behind_[t + 1][to];
      if (through >= length) continue;
      length = through;
      next = to;
    }
    const std::size_t at = from * part.tos + next;
    if (!part.items[at].closed && part.items[at].level < least) {
      least = part.items[at].level;
      best_part = t;
      best_item = at;
    }
    from = next;
  }
  if (least > kMaxLevel) return false;
  level_ = least;
  Part& part = parts_[best_part];
  const double rest = ahead_[best_part][best_item / part.tos] + behind_[best_part + 1][best_item % part.tos];
  tryItem(part, best_item, upper - rest);
  update();
  return true;
}

void BoundParts::tryItem(Part& part, std::size_t at, double most) {
  Item& item = part.items[at];
  // Just below a time that is possible, halfway below one that could not be refuted, or a step ahead.
  double target = item.bound + item.step;
  if (item.failed < kInfinity)
    target = (item.bound + std::min(item.failed, item.open)) / 2;
  else if (item.open < kInfinity)
    target = item.open * (1 - kExact);
  target = std::min(target, most);
  if (target <= item.bound) {
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
  const std::uint32_t from =
      part.module->has_entry ? static_cast<std::uint32_t>(at / part.tos) : Refuter::kAnyDevice;
  const std::uint32_t to =
      part.module->has_exit ? static_cast<std::uint32_t>(at % part.tos) : Refuter::kAnyDevice;
  switch (part.refuter->refute(target, from, to, nodeLimit(item.level))) {
    case Refuter::Outcome::kRefuted:
      item.bound = std::max(item.bound, std::min(part.refuter->next, most));
      item.step *= 2;
      break;
    case Refuter::Outcome::kOpen:
      item.open = std::min(item.open, part.refuter->open);
      break;
    case Refuter::Outcome::kLimit:
      item.failed = std::min(item.failed, target);
      break;
    case Refuter::Outcome::kStopped:
      break;
  }
}

}  // namespace allot
