#include "solve/completion/order_walk.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/random.h"
#include "evaluate/sweep.h"
#include "problem/idle.h"
#include "solve/local_search/ordered_plan.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kOpsBetweenPolls = 100'000;

class Walk {
 public:
  Walk(const Problem& problem, const Plan& start, Random random, const WalkLimit* limit)
      : problem_(problem),
        sweep_(problem),
        random_(random),
        limit_(limit),
        n_(static_cast<std::uint32_t>(problem.opCount())),
        state_(problem, start.assignment) {
    for (std::size_t i = 0; limit_ != nullptr && i < n_; ++i) {
      if (start.assignment[i] != limit_->base[i]) ++moved_;
    }
    state_.setOrder(orderOfStarts(problem, start));
  }

  WalkResult run(std::uint64_t moves, std::size_t memory, const Budget& budget) {
    double current = sweep_.run(state_.order, state_.assignment);
    const double first = current;
    double best = current;
    std::vector<double> history(memory, current);
    Plan kept;
    const std::uint64_t poll = 1 + kOpsBetweenPolls / (n_ + 1);
    for (std::uint64_t move = 0; move < moves; ++move) {
      if (move % poll == 0 && budget.stopped()) break;
      begin();
      change();
      if (!state_.changed()) continue;
      double& late = history[move % memory];
      const double value = fits() ? sweep_.run(state_.order, state_.assignment) : kInfinity;
      if (value <= current || value <= late) {
        current = value;
        if (value < best * (1 - 1e-10)) {
          best = value;
          sweep_.record(state_.order, state_.assignment, kept);
          kept.assignment = state_.assignment;
        }
      } else {
        undo();
      }
      late = current;
    }
    if (!(best < first)) return {kInfinity, {}};
    kept.modes = problem_.modes;
    return {best, std::move(kept)};
  }

  WalkResult lessenIdle(std::uint64_t moves, const Budget& budget) {
    Plan next;
    const double value = sweep_.record(state_.order, state_.assignment, next);
    next.assignment = state_.assignment;
    double idle = idleSeconds(problem_, next);
    const double first = idle;
    Plan kept;
    const std::uint64_t poll = 1 + kOpsBetweenPolls / (n_ + 1);
    for (std::uint64_t move = 0; move < moves && idle > 0; ++move) {
      if (move % poll == 0 && budget.stopped()) break;
      begin();
      change();
      if (!state_.changed()) continue;
      if (fits() && sweep_.run(state_.order, state_.assignment) <= value) {
        next = {};
        sweep_.record(state_.order, state_.assignment, next);
        next.assignment = state_.assignment;
        const double less = idleSeconds(problem_, next);
        if (less < idle * (1 - 1e-9)) {
          idle = less;
          kept = std::move(next);
        }
        if (less <= idle) continue;
      }
      undo();
    }
    if (!(idle < first)) return {kInfinity, {}};
    kept.modes = problem_.modes;
    return {value, std::move(kept)};
  }

 private:
  const Problem& problem_;
  Sweep sweep_;
  Random random_;
  const WalkLimit* limit_;
  std::uint32_t moved_ = 0;  // ops on another device than in the limit's base
  std::uint32_t moved_before_ = 0;
  std::uint32_t n_;
  OrderedPlan state_;

  void begin() {
    state_.accept();
    moved_before_ = moved_;
  }

  void undo() {
    state_.undo();
    moved_ = moved_before_;
  }

  ModelId modelOf(OpId op) const { return problem_.graph.op_model[op.index()]; }

  void change() {
    const std::uint32_t at = random_.below(n_);
    const DeviceId device(random_.below(static_cast<std::uint32_t>(problem_.deviceCount())));
    switch (random_.below(8)) {
      case 0:
      case 1:
        place(problem_.unit(state_.order[at]), device);
        break;
      case 2:
        placeRun(at, 2 + random_.below(6), device);
        break;
      case 3: {
        // Two units change places.
        const OpId a = state_.order[at], b = state_.order[random_.below(n_)];
        const DeviceId on_a = state_.assignment[a.index()], on_b = state_.assignment[b.index()];
        if (on_a == on_b) break;
        place(problem_.unit(a), on_b);
        place(problem_.unit(b), on_a);
        break;
      }
      case 4:
      case 5:
        shift(state_.order[at], 1 + random_.below(8));
        break;
      case 6:
        shift(state_.order[at], 1 + random_.below(n_));
        break;
      default:
        shiftRun(at, 2 + random_.below(10), 1 + random_.below(40));
        break;
    }
  }

  bool fits() const {
    if (limit_ != nullptr && moved_ > limit_->most) return false;
    for (const auto& [unit, from] : state_.moved_units) {
      const DeviceId to = state_.deviceOf(unit);
      if (state_.used[to.index()] > problem_.memoryLimit(to)) return false;
    }
    return true;
  }

  void place(UnitId unit, DeviceId to) {
    const DeviceId from = state_.deviceOf(unit);
    if (!state_.place(unit, to) || limit_ == nullptr) return;
    for (const OpId op : problem_.unitOps(unit)) {
      const DeviceId base = limit_->base[op.index()];
      moved_ = moved_ + (to != base ? 1 : 0) - (from != base ? 1 : 0);
    }
  }

  // The next ops of one model in the order.
  void placeRun(std::uint32_t at, std::uint32_t count, DeviceId to) {
    const ModelId model = modelOf(state_.order[at]);
    for (std::uint32_t p = at; p < n_ && count > 0; ++p) {
      if (modelOf(state_.order[p]) != model) continue;
      place(problem_.unit(state_.order[p]), to);
      --count;
    }
  }

  // Within the places its producers and consumers leave.
  void shift(OpId op, std::uint32_t reach) {
    const std::uint32_t from = state_.position(op);
    const bool earlier = random_.below(2) == 0;
    state_.shift(from, earlier ? std::max(state_.earliest(op), from - std::min(from, reach))
                               : std::min(state_.latest(op), from + reach));
  }

  // Several ops of one model go earlier together, first the first, so that each finds its producers before
  // it.
  void shiftRun(std::uint32_t at, std::uint32_t count, std::uint32_t reach) {
    const ModelId model = modelOf(state_.order[at]);
    for (std::uint32_t p = at; p < n_ && count > 0; ++p) {
      const OpId op = state_.order[p];
      if (modelOf(op) != model) continue;
      --count;
      const std::uint32_t low = std::max(state_.earliest(op), p - std::min(p, reach));
      if (low < p) state_.shift(p, low);
    }
  }
};

}  // namespace

WalkResult walkOrders(const Problem& problem, const Plan& start, std::uint64_t moves, std::size_t memory,
                      std::uint64_t stream, const Budget& budget, const WalkLimit* limit) {
  return Walk(problem, start, Random(budget.seed, stream), limit).run(moves, memory, budget);
}

WalkResult lessenIdle(const Problem& problem, const Plan& start, std::uint64_t moves, const Budget& budget,
                      const WalkLimit* limit) {
  return Walk(problem, start, Random(budget.seed, 997), limit).lessenIdle(moves, budget);
}

}  // namespace allot
