// Annealing of schedules: (device of each unit, topological order of the ops), decoded by the sweep.
#include <algorithm>
#include <limits>
#include <numeric>

#include "allot/evaluate.h"
#include "evaluate/live_memory.h"
#include "evaluate/sweep.h"
#include "solve/local_search/local_search.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSweeps = 3e8;  // ops and edges visited by one chain

class ScheduleChain {
 public:
  ScheduleChain(const Problem& problem, const Plan& start)
      : problem_(problem),
        sweep_(problem),
        live_(problem.modes.memory == MemoryModel::kLive),
        assignment_(start.assignment),
        position_(problem.opCount()),
        used_(problem.deviceCount(), 0),
        size_(problem.unitCount(), 0) {
    const Plan timed = start.start.size() == problem.opCount() ? start : evaluate(problem, start).plan;
    const auto topological = problem.graph.topologicalOrder();
    order_.assign(topological.begin(), topological.end());
    std::stable_sort(order_.begin(), order_.end(),
                     [&](OpId a, OpId b) { return timed.start[a.index()] < timed.start[b.index()]; });
    // A zero-time op may start with its producer: restore precedence among equal starts.
    repairOrder();
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      used_[assignment_[i].index()] += problem.residentBytes(OpId(i));
      size_[problem.unit(OpId(i)).index()] += problem.residentBytes(OpId(i));
    }
  }

  double value() { return valueOf(); }

  ChainResult run(Annealing& annealing) {
    double current = valueOf();
    double best = feasible_ ? current : kInfinity;
    Plan kept;
    while (annealing.next()) {
      Random& random = annealing.random();
      const std::uint32_t kind = random.below(10);
      undo_units_.clear();
      undo_shift_ = {0, 0};
      if (kind < 3)
        moveUnit(random);
      else if (kind < 4)
        swapUnits(random);
      else if (kind < 6)
        moveWindow(random);
      else
        shiftOp(random);
      if (undo_units_.empty() && undo_shift_.first == undo_shift_.second) continue;
      const double candidate = valueOf();
      if (!annealing.accept(candidate - current)) {
        undo();
        continue;
      }
      current = candidate;
      if (feasible_ && candidate < best * (1 - 1e-10)) {
        best = candidate;
        sweep_.record(order_, assignment_, kept);
        kept.assignment = assignment_;
      }
    }
    if (kept.assignment.empty()) return {kInfinity, {}};
    kept.modes = problem_.modes;
    return {best, std::move(kept)};
  }

 private:
  const Problem& problem_;
  Sweep sweep_;
  bool live_;
  bool feasible_ = true;
  std::vector<DeviceId> assignment_;  // by op
  std::vector<OpId> order_;
  std::vector<std::uint32_t> position_;  // of each op in order_
  std::vector<double> used_;             // resident bytes by device
  std::vector<double> size_;             // resident bytes by unit
  std::vector<std::pair<UnitId, DeviceId>> undo_units_;
  std::pair<std::uint32_t, std::uint32_t> undo_shift_;  // an op went from .first to .second
  Plan scratch_;

  void repairOrder() {
    std::vector<std::uint32_t> waiting(problem_.opCount());
    std::vector<std::uint8_t> listed(problem_.opCount(), 0);
    for (std::size_t i = 0; i < waiting.size(); ++i)
      waiting[i] = static_cast<std::uint32_t>(problem_.graph.inputs(OpId(i)).size());
    std::vector<OpId> fixed;
    fixed.reserve(order_.size());
    // An op is listed when its turn has come and its producers are listed; late producers pull their
    // consumers along.
    std::vector<std::uint8_t> due(problem_.opCount(), 0);
    std::vector<OpId> stack;
    for (const OpId next : order_) {
      due[next.index()] = 1;
      if (waiting[next.index()] == 0) stack.push_back(next);
      while (!stack.empty()) {
        const OpId op = stack.back();
        stack.pop_back();
        if (listed[op.index()]) continue;
        listed[op.index()] = 1;
        fixed.push_back(op);
        for (const TensorId tensor : problem_.graph.outputs(op)) {
          for (const OpId consumer : problem_.graph.consumers(tensor)) {
            if (--waiting[consumer.index()] == 0 && due[consumer.index()]) stack.push_back(consumer);
          }
        }
      }
    }
    order_ = std::move(fixed);
    for (std::uint32_t p = 0; p < order_.size(); ++p) position_[order_[p].index()] = p;
  }

  // The objective, made dearer by memory above the limits: tight packings are only reached through states
  // that do not fit.
  double valueOf() {
    double value = 0;
    double over = 0;
    if (live_) {
      scratch_.assignment = assignment_;
      value = sweep_.record(order_, assignment_, scratch_);
      over = overflow(livePeaks(problem_, scratch_));
    } else {
      value = sweep_.run(order_, assignment_);
      over = overflow(used_);
    }
    feasible_ = over == 0;
    return value * (1 + over);
  }

  // Sum of the shares by which devices are above their limits.
  double overflow(const std::vector<double>& bytes) const {
    double share = 0;
    for (std::size_t d = 0; d < bytes.size(); ++d) {
      const double limit = problem_.memoryLimit(DeviceId(d));
      if (bytes[d] > limit) share += (bytes[d] - limit) / (limit + 1);
    }
    return share;
  }

  void place(UnitId unit, DeviceId to) {
    const DeviceId from = assignment_[problem_.unitOps(unit).front().index()];
    if (from == to || !problem_.allowed(unit, to)) return;
    undo_units_.emplace_back(unit, from);
    assign(unit, from, to);
  }

  void assign(UnitId unit, DeviceId from, DeviceId to) {
    for (const OpId op : problem_.unitOps(unit)) assignment_[op.index()] = to;
    used_[from.index()] -= size_[unit.index()];
    used_[to.index()] += size_[unit.index()];
  }

  OpId randomOp(Random& random) const {
    return order_[random.below(static_cast<std::uint32_t>(order_.size()))];
  }

  // To the device of a neighbour, or any.
  void moveUnit(Random& random) {
    const OpId op = randomOp(random);
    place(problem_.unit(op), targetFor(op, random));
  }

  void swapUnits(Random& random) {
    const OpId a = randomOp(random), b = randomOp(random);
    const DeviceId on_a = assignment_[a.index()], on_b = assignment_[b.index()];
    if (on_a == on_b) return;
    place(problem_.unit(a), on_b);
    place(problem_.unit(b), on_a);
  }

  DeviceId targetFor(OpId op, Random& random) const {
    const OpGraph& graph = problem_.graph;
    if (random.below(2) == 0) {
      const auto inputs = graph.inputs(op);
      const auto outputs = graph.outputs(op);
      const auto pick = random.below(static_cast<std::uint32_t>(inputs.size() + outputs.size() + 1));
      if (pick < inputs.size()) return assignment_[graph.producer(inputs[pick]).index()];
      if (pick < inputs.size() + outputs.size()) {
        const auto consumers = graph.consumers(outputs[pick - inputs.size()]);
        if (!consumers.empty()) {
          return assignment_[consumers[random.below(static_cast<std::uint32_t>(consumers.size()))].index()];
        }
      }
    }
    return DeviceId(random.below(static_cast<std::uint32_t>(problem_.deviceCount())));
  }

  // Neighbours in the order that sit on one device go to another together.
  void moveWindow(Random& random) {
    const std::uint32_t begin = random.below(static_cast<std::uint32_t>(order_.size()));
    const std::uint32_t length = 2 + random.below(14);
    const DeviceId from = assignment_[order_[begin].index()];
    const DeviceId to(random.below(static_cast<std::uint32_t>(problem_.deviceCount())));
    for (std::uint32_t p = begin; p < std::min<std::size_t>(begin + length, order_.size()); ++p) {
      if (assignment_[order_[p].index()] == from) place(problem_.unit(order_[p]), to);
    }
  }

  // Within the places its producers and consumers leave.
  void shiftOp(Random& random) {
    const OpGraph& graph = problem_.graph;
    const OpId op = randomOp(random);
    std::uint32_t low = 0, high = static_cast<std::uint32_t>(order_.size() - 1);
    for (const TensorId tensor : graph.inputs(op))
      low = std::max(low, position_[graph.producer(tensor).index()] + 1);
    for (const TensorId tensor : graph.outputs(op)) {
      for (const OpId consumer : graph.consumers(tensor))
        high = std::min(high, position_[consumer.index()] - 1);
    }
    const std::uint32_t from = position_[op.index()];
    constexpr std::uint32_t kReach = 200;  // far shifts cost as much as a sweep and seldom help
    low = std::max(low, from > kReach ? from - kReach : 0);
    high = std::min(high, from + kReach);
    const std::uint32_t to = low + random.below(high - low + 1);
    undo_shift_ = {from, to};
    shift(from, to);
  }

  void shift(std::uint32_t from, std::uint32_t to) {
    const auto at = [&](std::uint32_t p) { return order_.begin() + p; };
    if (from < to) std::rotate(at(from), at(from) + 1, at(to) + 1);
    if (to < from) std::rotate(at(to), at(from), at(from) + 1);
    for (std::uint32_t p = std::min(from, to); p <= std::max(from, to); ++p) position_[order_[p].index()] = p;
  }

  void undo() {
    for (auto it = undo_units_.rbegin(); it != undo_units_.rend(); ++it) {
      assign(it->first, assignment_[problem_.unitOps(it->first).front().index()], it->second);
    }
    shift(undo_shift_.second, undo_shift_.first);
  }
};

}  // namespace

ChainResult annealSchedule(const Problem& problem, const Budget& budget, const Plan& start,
                           std::uint64_t chain) {
  ScheduleChain search(problem, start);
  const double size = static_cast<double>(problem.opCount() + problem.graph.tensor_consumers.items.size());
  const auto moves = static_cast<std::uint64_t>(std::clamp(kSweeps / size, 500.0, 200'000.0));
  Annealing annealing(budget, chain, moves, search.value(), size);
  return search.run(annealing);
}

}  // namespace allot
