#include "solve/baselines/mincut_balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "solve/baselines/rule_devices.h"
#include "solve/module_order.h"
#include "solve/throughput/pipeline_model.h"

namespace allot::baseline {
namespace {

constexpr double kImbalance = 0.03;  // of the work of the region that is cut in two
constexpr int kPasses = 8;

// Cuts sets of items in two. Sides are 0 and 1; items of other regions do not take part.
class Bisection {
 public:
  Bisection(const PipelineModel& model, const Budget& budget, std::vector<double> work, bool ideals)
      : model_(model),
        budget_(budget),
        work_(std::move(work)),
        ideals_(ideals),
        side_(model.itemCount(), kOutside),
        locked_(model.itemCount(), 0),
        gain_(model.itemCount(), 0),
        blockers_(model.itemCount(), 0),
        ends_{std::vector<std::uint32_t>(model.netCount(), 0),
              std::vector<std::uint32_t>(model.netCount(), 0)} {
    // Partitioners know one weight per edge: the mean of both ways on the first pool that pays for it.
    for (std::size_t net = 0; net < model.netCount(); ++net) {
      double weight = 0;
      for (std::size_t pool = 0; pool < model.poolCount() && weight == 0; ++pool)
        weight = (model.cost(net, pool, true) + model.cost(net, pool, false)) / 2;
      weight_.push_back(weight);
    }
  }

  // Cuts `region` (in topological order) so that the first part has about `share` of the work; returns how
  // many items stand in the first part, which come first in `region` afterwards, order kept.
  std::size_t cut(std::span<std::uint32_t> region, double share) {
    total_ = 0;
    for (const std::uint32_t i : region) total_ += work_[i];
    target_ = share * total_;
    double largest = 0;
    for (const std::uint32_t i : region) largest = std::max(largest, work_[i]);
    slack_ = kImbalance * total_;
    reach_ = std::max(slack_, largest);
    left_ = 0;
    bool full = false;
    for (const std::uint32_t i : region) {
      full = full || left_ + work_[i] / 2 > target_;
      side_[i] = full ? 1 : 0;
      if (!full) left_ += work_[i];
    }
    for (int pass = 0; pass < kPasses && !budget_.stopped(); ++pass) {
      if (!improve(region)) break;
    }
    const auto middle =
        std::stable_partition(region.begin(), region.end(), [&](std::uint32_t i) { return side_[i] == 0; });
    const std::size_t count = static_cast<std::size_t>(middle - region.begin());
    for (const std::uint32_t i : region) side_[i] = kOutside;
    return count;
  }

 private:
  static constexpr std::uint8_t kOutside = 2;
  struct Candidate {
    double gain;
    std::uint32_t item;
    bool operator<(const Candidate& other) const {
      return gain != other.gain ? gain < other.gain : item > other.item;
    }
  };

  const PipelineModel& model_;
  const Budget& budget_;
  std::vector<double> work_;
  bool ideals_;
  std::vector<double> weight_;            // by net
  std::vector<std::uint8_t> side_;        // by item
  std::vector<std::uint8_t> locked_;      // by item: moved in this pass
  std::vector<double> gain_;              // by item: cut weight that a move saves
  std::vector<std::uint32_t> blockers_;   // by item: neighbours that must move before it may
  std::vector<std::uint32_t> ends_[2];    // by net: items on each side
  std::priority_queue<Candidate> queue_;  // entries whose gain is out of date are passed over
  double total_ = 0, target_ = 0, left_ = 0;
  double slack_ = 0,
         reach_ = 0;  // distance from the target that a result and that a step on the way may have

  // What the move of an item saves on one net with `here` items on its side, itself included.
  static double contribution(std::uint32_t here, std::uint32_t there, double weight) {
    if (there == 0) return here > 1 ? -weight : 0;
    return here == 1 ? weight : 0;
  }

  double gainOf(std::uint32_t item) const {
    const std::uint8_t here = side_[item];
    double gain = 0;
    for (const std::uint32_t net : model_.item_nets[item])
      gain += contribution(ends_[here][net], ends_[1 - here][net], weight_[net]);
    return gain;
  }

  // An item leaves the first part only after all that follow it there, and joins it only after all before it.
  std::uint32_t blockersOf(std::uint32_t item) const {
    if (!ideals_) return 0;
    const auto row = side_[item] == 0 ? model_.after[item] : model_.before[item];
    return static_cast<std::uint32_t>(
        std::count_if(row.begin(), row.end(), [&](std::uint32_t j) { return side_[j] == side_[item]; }));
  }

  bool balanced(std::uint32_t item) const {
    const double after = side_[item] == 0 ? left_ - work_[item] : left_ + work_[item];
    return std::fabs(after - target_) <= reach_ || std::fabs(after - target_) < std::fabs(left_ - target_);
  }

  void offer(std::uint32_t item) {
    if (!locked_[item] && blockers_[item] == 0) queue_.push({gain_[item], item});
  }

  void move(std::uint32_t item) {
    const std::uint8_t from = side_[item];
    const std::uint8_t to = 1 - from;
    left_ += from == 0 ? -work_[item] : work_[item];
    locked_[item] = 1;
    for (const std::uint32_t net : model_.item_nets[item]) {
      const std::uint32_t old_from = ends_[from][net]--, old_to = ends_[to][net]++;
      // Gains of others change only where a side was or becomes empty or single.
      if (old_to > 1 && old_from > 2) continue;
      for (const std::uint32_t other : model_.net_items[net]) {
        if (side_[other] == kOutside || locked_[other]) continue;
        const bool with = side_[other] == from;
        const double before = with ? contribution(old_from, old_to, weight_[net])
                                   : contribution(old_to, old_from, weight_[net]);
        const double after = with ? contribution(old_from - 1, old_to + 1, weight_[net])
                                  : contribution(old_to + 1, old_from - 1, weight_[net]);
        if (before == after) continue;
        gain_[other] += after - before;
        offer(other);
      }
    }
    side_[item] = to;
    if (!ideals_) return;
    // Those behind wait for it while they and it are in the second part, those before while in the first.
    for (const std::uint32_t other : model_.after[item]) {
      if (side_[other] != 1) continue;
      blockers_[other] += to == 1 ? 1 : -1u;
      offer(other);
    }
    for (const std::uint32_t other : model_.before[item]) {
      if (side_[other] != 0) continue;
      blockers_[other] += to == 0 ? 1 : -1u;
      offer(other);
    }
  }

  // One pass; false when it found nothing better.
  bool improve(std::span<const std::uint32_t> region) {
    for (const std::uint32_t i : region) {
      locked_[i] = 0;
      for (const std::uint32_t net : model_.item_nets[i]) ends_[0][net] = ends_[1][net] = 0;
    }
    for (const std::uint32_t i : region) {
      for (const std::uint32_t net : model_.item_nets[i]) ++ends_[side_[i]][net];
    }
    queue_ = {};
    for (const std::uint32_t i : region) {
      gain_[i] = gainOf(i);
      blockers_[i] = blockersOf(i);
      offer(i);
    }
    // States are compared by balance first: outside the slack, the nearer to the target; inside, the cut.
    const auto excess = [&] { return std::max(0.0, std::fabs(left_ - target_) - slack_); };
    const double eps = 1e-12 * total_;
    double saved = 0, best_saved = 0, best_excess = excess();
    std::vector<std::uint32_t> moved, waiting;
    std::size_t best_length = 0;
    while (!queue_.empty()) {
      if (moved.size() % 256 == 0 && budget_.stopped()) break;
      const Candidate top = queue_.top();
      queue_.pop();
      if (locked_[top.item] || blockers_[top.item] > 0 || top.gain != gain_[top.item]) continue;
      if (!balanced(top.item)) {
        waiting.push_back(top.item);
        continue;
      }
      saved += top.gain;
      move(top.item);
      moved.push_back(top.item);
      // What did not fit the balance may do so now.
      for (const std::uint32_t i : waiting) offer(i);
      waiting.clear();
      const double now = excess();
      if (now < best_excess - eps ||
          (now <= best_excess + eps && saved > best_saved * (1 + 1e-12) + 1e-300)) {
        best_excess = now;
        best_saved = saved;
        best_length = moved.size();
      }
    }
    while (moved.size() > best_length) {
      const std::uint32_t item = moved.back();
      moved.pop_back();
      left_ += side_[item] == 0 ? -work_[item] : work_[item];
      side_[item] = 1 - side_[item];
    }
    return best_length > 0;
  }
};

class Partition {
 public:
  Partition(const Problem& problem, const Budget& budget, const PipelineModel& model,
            std::vector<DeviceId> devices)
      : problem_(problem),
        model_(model),
        devices_(std::move(devices)),
        share_(devices_.size(), 0),
        place_(model.itemCount()),
        bisection_(model, budget, workOn(devices_.front()), problem.modes.contiguity != Contiguity::kNone) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const std::vector<double> work = workOn(devices_[d]);
      const double total = std::accumulate(work.begin(), work.end(), 0.0);
      share_[d] = total > 0 ? 1 / total : 1;
    }
  }

  std::vector<DeviceId> run() {
    // Units in module order, which also says where backward work belongs.
    std::vector<std::uint32_t> order;
    for (const UnitId unit : moduleOrder(problem_).units) {
      const std::uint32_t item = model_.item_of_unit[unit.index()];
      if (order.empty() || order.back() != item) order.push_back(item);
    }
    split(order, 0, devices_.size());
    return model_.assignment(place_);
  }

 private:
  const Problem& problem_;
  const PipelineModel& model_;
  std::vector<DeviceId> devices_;
  std::vector<double> share_;  // by device
  std::vector<DeviceId> place_;
  Bisection bisection_;

  // By item; an item that may not run there counts as on the device where it is fastest.
  std::vector<double> workOn(DeviceId device) const {
    std::size_t pool = 0;
    for (std::size_t p = 0; p < model_.poolCount(); ++p) {
      const auto& members = model_.pools[p].devices;
      if (std::find(members.begin(), members.end(), device) != members.end()) pool = p;
    }
    std::vector<double> work;
    for (std::size_t i = 0; i < model_.itemCount(); ++i) {
      double seconds = model_.time(i, pool);
      for (std::size_t p = 0; seconds == kCannotRun && p < model_.poolCount(); ++p)
        seconds = std::min(seconds, model_.time(i, p));
      work.push_back(seconds == kCannotRun ? 0 : seconds);
    }
    return work;
  }

  void split(std::span<std::uint32_t> region, std::size_t first, std::size_t last) {
    if (last - first == 1) {
      for (const std::uint32_t i : region) place_[i] = devices_[first];
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    const auto sum = [&](std::size_t from, std::size_t to) {
      return std::accumulate(share_.begin() + static_cast<std::ptrdiff_t>(from),
                             share_.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
    };
    const std::size_t count = bisection_.cut(region, sum(first, middle) / sum(first, last));
    split(region.first(count), first, middle);
    split(region.subspan(count), middle, last);
  }
};

}  // namespace

SolveResult minCutBalance(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const PipelineModel model(problem, problem.modes.contiguity == Contiguity::kNone
                                         ? PipelineModel::Items::kUnits
                                         : PipelineModel::Items::kBlocks);
  std::vector<DeviceId> tried;
  for (const bool with_cpus : {false, true}) {
    std::vector<DeviceId> devices = ruleDevices(problem, with_cpus);
    if (devices.empty() || devices == tried) continue;
    tried = devices;
    Plan plan;
    plan.modes = problem.modes;
    plan.assignment = Partition(problem, budget, model, std::move(devices)).run();
    if (budget.stopped()) return {SolveEnd::kStopped, {}};
    if (!fitsDevices(problem, plan.assignment)) continue;
    progress.plan(std::move(plan), "mincut-balance");
    break;
  }
  return {};
}

}  // namespace allot::baseline
