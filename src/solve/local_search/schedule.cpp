// Annealing of schedules: (device of each unit, topological order of the ops), decoded by the sweep.
#include <algorithm>
#include <limits>

#include "allot/evaluate.h"
#include "evaluate/live_memory.h"
#include "evaluate/sweep.h"
#include "solve/local_search/local_search.h"
#include "solve/local_search/ordered_plan.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSweeps = 3e8;  // ops and edges visited by one chain

class ScheduleChain {
 public:
  ScheduleChain(const Problem& problem, const Plan& start)
      : problem_(problem), sweep_(problem), live_(problem.liveMemory()), state_(problem, start.assignment) {
    const Plan timed = start.start.size() == problem.opCount() ? start : evaluate(problem, start).plan;
    state_.setOrder(orderOfStarts(problem, timed));
  }

  double value() { return valueOf(); }

  ChainResult run(Annealing& annealing) {
    double current = valueOf();
    double best = feasible_ ? current : kInfinity;
    Plan kept;
    while (annealing.next()) {
      Random& random = annealing.random();
      const std::uint32_t kind = random.below(10);
      state_.accept();
      if (kind < 3)
        moveUnit(random);
      else if (kind < 4)
        swapUnits(random);
      else if (kind < 6)
        moveWindow(random);
      else
        shiftOp(random);
      if (!state_.changed()) continue;
      const double candidate = valueOf();
      if (!annealing.accept(candidate - current)) {
        state_.undo();
        continue;
      }
      current = candidate;
      if (feasible_ && candidate < best * (1 - 1e-10)) {
        best = candidate;
        sweep_.record(state_.order, state_.assignment, kept);
        kept.assignment = state_.assignment;
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
  OrderedPlan state_;
  Plan scratch_;

  // The objective, made dearer by memory above the limits: tight packings are only reached through states
  // that do not fit.
  double valueOf() {
    double value = 0;
    double over = 0;
    if (live_) {
      scratch_.assignment = state_.assignment;
      value = sweep_.record(state_.order, state_.assignment, scratch_);
      over = overflow(livePeaks(problem_, scratch_));
    } else {
      value = sweep_.run(state_.order, state_.assignment);
      over = overflow(state_.used);
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

  OpId randomOp(Random& random) const {
    return state_.order[random.below(static_cast<std::uint32_t>(state_.order.size()))];
  }

  // To the device of a neighbour, or any.
  void moveUnit(Random& random) {
    const OpId op = randomOp(random);
    state_.place(problem_.unit(op), targetFor(op, random));
  }

  void swapUnits(Random& random) {
    const OpId a = randomOp(random), b = randomOp(random);
    const DeviceId on_a = state_.assignment[a.index()], on_b = state_.assignment[b.index()];
    if (on_a == on_b) return;
    state_.place(problem_.unit(a), on_b);
    state_.place(problem_.unit(b), on_a);
  }

  DeviceId targetFor(OpId op, Random& random) const {
    const OpGraph& graph = problem_.graph;
    if (random.below(2) == 0) {
      const auto inputs = graph.inputs(op);
      const auto outputs = graph.outputs(op);
      const auto pick = random.below(static_cast<std::uint32_t>(inputs.size() + outputs.size() + 1));
      if (pick < inputs.size()) return state_.assignment[graph.producer(inputs[pick]).index()];
      if (pick < inputs.size() + outputs.size()) {
        const auto consumers = graph.consumers(outputs[pick - inputs.size()]);
        if (!consumers.empty()) {
          return state_
              .assignment[consumers[random.below(static_cast<std::uint32_t>(consumers.size()))].index()];
        }
      }
    }
    return DeviceId(random.below(static_cast<std::uint32_t>(problem_.deviceCount())));
  }

  // Neighbours in the order that sit on one device go to another together.
  void moveWindow(Random& random) {
    const std::uint32_t begin = random.below(static_cast<std::uint32_t>(state_.order.size()));
    const std::uint32_t length = 2 + random.below(14);
    const DeviceId from = state_.assignment[state_.order[begin].index()];
    const DeviceId to(random.below(static_cast<std::uint32_t>(problem_.deviceCount())));
    for (std::uint32_t p = begin; p < std::min<std::size_t>(begin + length, state_.order.size()); ++p) {
      if (state_.assignment[state_.order[p].index()] == from)
        state_.place(problem_.unit(state_.order[p]), to);
    }
  }

  // Within the places its producers and consumers leave.
  void shiftOp(Random& random) {
    const OpId op = randomOp(random);
    const std::uint32_t from = state_.position(op);
    constexpr std::uint32_t kReach = 200;  // far shifts cost as much as a sweep and seldom help
    const std::uint32_t low = std::max(state_.earliest(op), from > kReach ? from - kReach : 0);
    const std::uint32_t high = std::min(state_.latest(op), from + kReach);
    state_.shift(from, low + random.below(high - low + 1));
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
