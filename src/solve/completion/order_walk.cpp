#include "solve/completion/order_walk.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/random.h"
#include "evaluate/sweep.h"
#include "problem/idle.h"

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
        assignment_(start.assignment),
        used_(problem.deviceCount(), 0),
        size_(problem.unitCount(), 0),
        position_(problem.opCount()) {
    for (std::size_t i = 0; i < n_; ++i) {
      used_[assignment_[i].index()] += problem.residentBytes(OpId(i));
      if (limit_ != nullptr && assignment_[i] != limit_->base[i]) ++moved_;
      size_[problem.unit(OpId(i)).index()] += problem.residentBytes(OpId(i));
    }
    // By start; ops of zero time go behind their producers, which end when they start at the latest.
    const OpGraph& graph = problem.graph;
    order_.assign(graph.topologicalOrder().begin(), graph.topologicalOrder().end());
    std::vector<std::pair<double, std::uint32_t>> key(n_);
    for (const OpId op : order_) {
      key[op.index()] = {start.start[op.index()], 0};
      for (const TensorId tensor : graph.inputs(op)) {
        const auto& before = key[graph.producer(tensor).index()];
        key[op.index()] = std::max(key[op.index()], {before.first, before.second + 1});
      }
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](OpId a, OpId b) { return key[a.index()] < key[b.index()]; });
    for (std::uint32_t p = 0; p < n_; ++p) position_[order_[p].index()] = p;
  }

  WalkResult run(std::uint64_t moves, std::size_t memory, const Budget& budget) {
    double current = sweep_.run(order_, assignment_);
    const double first = current;
    double best = current;
    std::vector<double> history(memory, current);
    Plan kept;
    const std::uint64_t poll = 1 + kOpsBetweenPolls / (n_ + 1);
    for (std::uint64_t move = 0; move < moves; ++move) {
      if (move % poll == 0 && budget.stopped()) break;
      undo_units_.clear();
      undo_shifts_.clear();
      change();
      if (undo_units_.empty() && undo_shifts_.empty()) continue;
      double& late = history[move % memory];
      const double value = fits() ? sweep_.run(order_, assignment_) : kInfinity;
      if (value <= current || value <= late) {
        current = value;
        if (value < best * (1 - 1e-10)) {
          best = value;
          sweep_.record(order_, assignment_, kept);
          kept.assignment = assignment_;
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
    const double value = sweep_.record(order_, assignment_, next);
    next.assignment = assignment_;
    double idle = idleSeconds(problem_, next);
    const double first = idle;
    Plan kept;
    const std::uint64_t poll = 1 + kOpsBetweenPolls / (n_ + 1);
    for (std::uint64_t move = 0; move < moves && idle > 0; ++move) {
      if (move % poll == 0 && budget.stopped()) break;
      undo_units_.clear();
      undo_shifts_.clear();
      change();
      if (undo_units_.empty() && undo_shifts_.empty()) continue;
      if (fits() && sweep_.run(order_, assignment_) <= value) {
        next = {};
        sweep_.record(order_, assignment_, next);
        next.assignment = assignment_;
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
  std::uint32_t n_;
  std::vector<DeviceId> assignment_;
  std::vector<double> used_, size_;  // bytes by device, by unit
  std::vector<OpId> order_;
  std::vector<std::uint32_t> position_;
  std::vector<std::pair<UnitId, DeviceId>> undo_units_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> undo_shifts_;  // from, to

  ModelId modelOf(OpId op) const { return problem_.graph.op_model[op.index()]; }

  void change() {
    const std::uint32_t at = random_.below(n_);
    const DeviceId device(random_.below(static_cast<std::uint32_t>(problem_.deviceCount())));
    switch (random_.below(8)) {
      case 0:
      case 1:
        place(problem_.unit(order_[at]), device);
        break;
      case 2:
        placeRun(at, 2 + random_.below(6), device);
        break;
      case 3: {
        // Two units change places.
        const OpId a = order_[at], b = order_[random_.below(n_)];
        const DeviceId on_a = assignment_[a.index()], on_b = assignment_[b.index()];
        if (on_a == on_b) break;
        place(problem_.unit(a), on_b);
        place(problem_.unit(b), on_a);
        break;
      }
      case 4:
      case 5:
        shift(order_[at], 1 + random_.below(8));
        break;
      case 6:
        shift(order_[at], 1 + random_.below(n_));
        break;
      default:
        shiftRun(at, 2 + random_.below(10), 1 + random_.below(40));
        break;
    }
  }

  bool fits() const {
    if (limit_ != nullptr && moved_ > limit_->most) return false;
    for (const auto& [unit, from] : undo_units_) {
      const DeviceId to = assignment_[problem_.unitOps(unit).front().index()];
      if (used_[to.index()] > problem_.memoryLimit(to)) return false;
    }
    return true;
  }

  void place(UnitId unit, DeviceId to) {
    const DeviceId from = assignment_[problem_.unitOps(unit).front().index()];
    if (from == to || !problem_.allowed(unit, to)) return;
    undo_units_.emplace_back(unit, from);
    assign(unit, from, to);
  }

  void assign(UnitId unit, DeviceId from, DeviceId to) {
    for (const OpId op : problem_.unitOps(unit)) {
      assignment_[op.index()] = to;
      if (limit_ == nullptr) continue;
      const DeviceId base = limit_->base[op.index()];
      moved_ = moved_ + (to != base ? 1 : 0) - (from != base ? 1 : 0);
    }
    used_[from.index()] -= size_[unit.index()];
    used_[to.index()] += size_[unit.index()];
  }

  // The next ops of one model in the order.
  void placeRun(std::uint32_t at, std::uint32_t count, DeviceId to) {
    const ModelId model = modelOf(order_[at]);
    for (std::uint32_t p = at; p < n_ && count > 0; ++p) {
      if (modelOf(order_[p]) != model) continue;
      place(problem_.unit(order_[p]), to);
      --count;
    }
  }

  // Within the places its producers and consumers leave.
  void shift(OpId op, std::uint32_t reach) {
    const OpGraph& graph = problem_.graph;
    const std::uint32_t from = position_[op.index()];
    std::uint32_t to = from;
    if (random_.below(2) == 0) {
      std::uint32_t low = from - std::min(from, reach);
      for (const TensorId tensor : graph.inputs(op))
        low = std::max(low, position_[graph.producer(tensor).index()] + 1);
      to = low;
    } else {
      std::uint32_t high = std::min(n_ - 1, from + reach);
      for (const TensorId tensor : graph.outputs(op)) {
        for (const OpId consumer : graph.consumers(tensor))
          high = std::min(high, position_[consumer.index()] - 1);
      }
      to = high;
    }
    if (to == from) return;
    undo_shifts_.emplace_back(from, to);
    rotate(from, to);
  }

  // Several ops of one model go earlier together, first the first, so that each finds its producers before
  // it.
  void shiftRun(std::uint32_t at, std::uint32_t count, std::uint32_t reach) {
    const OpGraph& graph = problem_.graph;
    const ModelId model = modelOf(order_[at]);
    for (std::uint32_t p = at; p < n_ && count > 0; ++p) {
      const OpId op = order_[p];
      if (modelOf(op) != model) continue;
      --count;
      std::uint32_t low = p - std::min(p, reach);
      for (const TensorId tensor : graph.inputs(op))
        low = std::max(low, position_[graph.producer(tensor).index()] + 1);
      if (low >= p) continue;
      undo_shifts_.emplace_back(p, low);
      rotate(p, low);
    }
  }

  void rotate(std::uint32_t from, std::uint32_t to) {
    const auto at = [&](std::uint32_t p) { return order_.begin() + p; };
    if (from < to) std::rotate(at(from), at(from) + 1, at(to) + 1);
    if (to < from) std::rotate(at(to), at(from), at(from) + 1);
    for (std::uint32_t p = std::min(from, to); p <= std::max(from, to); ++p) position_[order_[p].index()] = p;
  }

  void undo() {
    for (auto it = undo_units_.rbegin(); it != undo_units_.rend(); ++it)
      assign(it->first, assignment_[problem_.unitOps(it->first).front().index()], it->second);
    for (auto it = undo_shifts_.rbegin(); it != undo_shifts_.rend(); ++it) rotate(it->second, it->first);
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
