#include "report/slack.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Ops come first, transfers behind them. What waits for an activity ends no earlier, so going through them by
// decreasing end settles what waits before what it waits for.
class Backward {
 public:
  Backward(const Problem& problem, const Plan& plan)
      : problem_(problem),
        plan_(plan),
        ops_(problem.opCount()),
        latest_start_(ops_ + plan.transfers.size(), kInfinity),
        transfers_of_(ops_),
        device_next_(problem.deviceCount(), kInfinity),
        port_next_(2 * problem.deviceCount(), kInfinity) {
    for (std::size_t t = 0; t < plan.transfers.size(); ++t)
      transfers_of_[problem.graph.producer(plan.transfers[t].tensor).index()].push_back(t);
  }

  std::vector<double> run() {
    std::vector<std::size_t> order(latest_start_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
    std::vector<double> slack(ops_, 0);
    for (const std::size_t item : order) {
      const double latest_end = item < ops_ ? settleOp(OpId(item)) : settleTransfer(item - ops_);
      if (item < ops_) slack[item] = std::max(0.0, latest_end - plan_.end[item]);
    }
    return slack;
  }

 private:
  const Problem& problem_;
  const Plan& plan_;
  std::size_t ops_;
  std::vector<double> latest_start_;
  std::vector<std::vector<std::size_t>> transfers_of_;
  std::vector<double> device_next_;  // latest start of the op behind, by device
  std::vector<double> port_next_;    // the same of transfers; send ports, then receive ports

  using Key = std::tuple<double, double, std::size_t>;
  // Activities of zero time at the same moment follow the graph.
  Key key(std::size_t item) const {
    const OpGraph& graph = problem_.graph;
    if (item < ops_) return {plan_.end[item], plan_.start[item], 2 * graph.position(OpId(item))};
    const PlanTransfer& transfer = plan_.transfers[item - ops_];
    return {transfer.end, transfer.start, 2 * graph.position(graph.producer(transfer.tensor)) + 1};
  }

  double settleOp(OpId op) {
    const std::size_t i = op.index();
    const DeviceId on = plan_.assignment[i];
    double end = problem_.goal() == Goal::kCompletion ? plan_.completion[problem_.graph.op_model[i].index()]
                                                      : plan_.value;
    for (const TensorId tensor : problem_.graph.outputs(op)) {
      for (const OpId consumer : problem_.graph.consumers(tensor)) {
        if (plan_.assignment[consumer.index()] == on || problem_.isOrder(tensor))
          end = std::min(end, latest_start_[consumer.index()]);
      }
    }
    for (const std::size_t t : transfers_of_[i]) end = std::min(end, latest_start_[ops_ + t]);
    const double seconds = plan_.end[i] - plan_.start[i];
    if (seconds > 0) {
      double& next = device_next_[on.index()];
      end = std::min(end, next - problem_.cluster.classOf(on).launch_seconds);
      next = end - seconds;
    }
    latest_start_[i] = end - seconds;
    return end;
  }

  double settleTransfer(std::size_t index) {
    const PlanTransfer& transfer = plan_.transfers[index];
    double end = kInfinity;
    for (const OpId consumer : transfer.consumers) end = std::min(end, latest_start_[consumer.index()]);
    const double seconds = transfer.end - transfer.start;
    if (seconds > 0 && problem_.modes.link_mode != LinkMode::kFree) {
      const std::size_t behind =
          problem_.modes.link_mode == LinkMode::kHalfDuplex ? 0 : problem_.deviceCount();
      double& send = port_next_[transfer.from.index()];
      double& receive = port_next_[behind + transfer.to.index()];
      end = std::min({end, send, receive});
      send = receive = end - seconds;
    }
    latest_start_[ops_ + index] = end - seconds;
    return end;
  }
};

}  // namespace

std::vector<double> opSlack(const Problem& problem, const Plan& plan) {
  return Backward(problem, plan).run();
}

}  // namespace allot
