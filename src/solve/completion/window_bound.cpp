#include "solve/completion/window_bound.h"

#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

WindowBound::WindowBound(const Problem& problem)
    : problem_(problem),
      n_(problem.opCount()),
      devices_(problem.deviceCount()),
      models_(problem.graph.modelCount()),
      tail_(n_ * models_) {}

double WindowBound::leastSeconds(const OrderedPlan& plan, const WindowPart& part, OpId op) const {
  const UnitId unit = problem_.unit(op);
  if (part.is_free[op.index()] == 0 || part.unit_open[unit.index()] == 0)
    return problem_.opSeconds(op, plan.assignment[op.index()]);
  double least = kInfinity;
  for (std::size_t d = 0; d < devices_; ++d) {
    if (problem_.allowed(unit, DeviceId(d))) least = std::min(least, problem_.opSeconds(op, DeviceId(d)));
  }
  return least;
}

void WindowBound::prepare(const OrderedPlan& plan, const WindowPart& part) {
  const OpGraph& graph = problem_.graph;
  std::fill(tail_.begin(), tail_.end(), -kInfinity);
  std::vector<OpId> next(devices_, OpId(n_));
  next_other_.assign((part.others.size() + 1) * devices_, OpId(n_));
  const auto follow = [&](OpId op, double gap, OpId then) {
    const double seconds = gap + leastSeconds(plan, part, then);
    for (std::size_t m = 0; m < models_; ++m) {
      double& tail = tail_[op.index() * models_ + m];
      tail = std::max(tail, seconds + tail_[then.index() * models_ + m]);
    }
  };
  std::size_t taken = part.others.size();
  for (std::size_t p = n_; p-- > 0;) {
    if (p + 1 == part.end)
      std::copy(next.begin(), next.end(), next_other_.end() - static_cast<std::ptrdiff_t>(devices_));
    const OpId op = plan.order[p];
    const DeviceId on = plan.assignment[op.index()];
    const bool fixed = part.is_free[op.index()] == 0;
    tail_[op.index() * models_ + graph.op_model[op.index()].index()] = 0;
    for (const TensorId tensor : graph.outputs(op)) {
      for (const OpId consumer : graph.consumers(tensor)) {
        const DeviceId to = plan.assignment[consumer.index()];
        const bool known = fixed && part.is_free[consumer.index()] == 0 && to != on;
        follow(op, known ? problem_.transferSeconds(tensor, on, to) : 0, consumer);
      }
    }
    if (!fixed) continue;
    if (problem_.opSeconds(op, on) > 0) {
      if (next[on.index()] != OpId(n_))
        follow(op, problem_.cluster.classOf(on).launch_seconds, next[on.index()]);
      next[on.index()] = op;
    }
    if (part.begin <= p && p < part.end) {
      --taken;
      std::copy(next.begin(), next.end(),
                next_other_.begin() + static_cast<std::ptrdiff_t>(taken * devices_));
    }
  }
}

void WindowBound::raise(Ends& ends, OpId op, double seconds) const {
  for (std::size_t m = 0; m < models_; ++m) {
    const double end = seconds + tail_[op.index() * models_ + m];
    if (end <= ends.end[m]) continue;
    ends.sum += problem_.model_weight[m] * (end - ends.end[m]);
    ends.end[m] = end;
  }
}

}  // namespace allot
