#include "report/critical_path.h"
#include "problem/calls_model.h"

#include <algorithm>
#include <cmath>

namespace allot {
namespace {

using Kind = PathStep::Kind;

// Something that ended: an op (with the launch behind it) or a transfer.
struct Cause {
  double ready = -1;  // when it let go
  OpId op;
  std::size_t transfer = SIZE_MAX;
};

class Walker {
 public:
  Walker(const Problem& problem, const Plan& plan)
      : problem_(problem), plan_(plan), calls_(isCallsModel(problem)) {
    const std::size_t devices = problem.deviceCount();
    device_ops_.resize(devices);
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      if (plan.end[i] > plan.start[i]) device_ops_[plan.assignment[i].index()].push_back(OpId(i));
      last_ = std::max(last_, plan.end[i]);
    }
    for (auto& ops : device_ops_) {
      std::sort(ops.begin(), ops.end(),
                [&](OpId a, OpId b) { return plan.end[a.index()] < plan.end[b.index()]; });
    }
    arrivals_.resize(problem.opCount());
    port_.resize(2 * devices);
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      const PlanTransfer& transfer = plan.transfers[t];
      for (const OpId consumer : transfer.consumers) arrivals_[consumer.index()].push_back(t);
      if (problem.modes.link_mode == LinkMode::kFree || transfer.end <= transfer.start) continue;
      port_[sendPort(transfer.from)].push_back(t);
      port_[receivePort(transfer.to)].push_back(t);
    }
    for (auto& list : port_) {
      std::sort(list.begin(), list.end(),
                [&](std::size_t a, std::size_t b) { return plan.transfers[a].end < plan.transfers[b].end; });
    }
    eps_ = 1e-9 * last_;
  }

  std::vector<PathStep> walk() {
    OpId op;
    for (std::size_t i = 0; i < problem_.opCount(); ++i) {
      if (!op.valid() || plan_.end[i] > plan_.end[op.index()]) op = OpId(i);
    }
    Cause at{plan_.end[op.index()], op, SIZE_MAX};
    // Every step moves to something that ended no later; zero-time ops could stall, so their number is
    // bounded.
    for (std::size_t guard = 2 * (problem_.opCount() + plan_.transfers.size()) + 2; guard > 0; --guard) {
      const double begin = at.op.valid() ? plan_.start[at.op.index()] : plan_.transfers[at.transfer].start;
      if (at.op.valid()) {
        push(Kind::kOp, at.op, plan_.assignment[at.op.index()], {}, begin, plan_.end[at.op.index()]);
      } else {
        const PlanTransfer& transfer = plan_.transfers[at.transfer];
        push(Kind::kTransfer, problem_.graph.producer(transfer.tensor), transfer.from, transfer.to, begin,
             transfer.end);
      }
      if (begin <= eps_) break;
      const Cause cause = at.op.valid() ? causeOfOp(at.op, begin) : causeOfTransfer(at.transfer, begin);
      if (!cause.op.valid() && cause.transfer == SIZE_MAX) {
        push(Kind::kWait, at.op, deviceOf(at), {}, 0, begin);
        break;
      }
      if (cause.ready < begin - eps_) push(Kind::kWait, at.op, deviceOf(at), {}, cause.ready, begin);
      pushGap(cause, at);
      at = cause;
    }
    std::reverse(steps_.begin(), steps_.end());
    return std::move(steps_);
  }

 private:
  const Problem& problem_;
  const Plan& plan_;
  bool calls_;
  double last_ = 0, eps_ = 0;
  std::vector<std::vector<OpId>> device_ops_;       // of non-zero time, by end
  std::vector<std::vector<std::size_t>> arrivals_;  // transfers by consumer
  std::vector<std::vector<std::size_t>> port_;      // transfers by port, by end
  std::vector<PathStep> steps_;

  std::size_t sendPort(DeviceId device) const { return 2 * device.index(); }
  std::size_t receivePort(DeviceId device) const {
    return problem_.modes.link_mode == LinkMode::kHalfDuplex ? sendPort(device) : 2 * device.index() + 1;
  }
  DeviceId deviceOf(const Cause& at) const {
    return at.op.valid() ? plan_.assignment[at.op.index()] : plan_.transfers[at.transfer].from;
  }

  void push(Kind kind, OpId op, DeviceId device, DeviceId to, double start, double end) {
    steps_.push_back({kind, op, device, to, start, end});
  }

  // What lies between the end of the cause and the moment it let go: a launch, or a transfer that the plan
  // does not list.
  void pushGap(const Cause& cause, const Cause& at) {
    if (!cause.op.valid() || cause.ready <= plan_.end[cause.op.index()] + eps_) return;
    const DeviceId from = plan_.assignment[cause.op.index()];
    const DeviceId to = deviceOf(at);
    push(from == to ? Kind::kLaunch : Kind::kTransfer, cause.op, from, to, plan_.end[cause.op.index()],
         cause.ready);
  }

  void offer(Cause& best, Cause candidate, double begin) const {
    if (candidate.ready <= begin + eps_ && candidate.ready > best.ready) best = candidate;
  }

  Cause causeOfOp(OpId op, double begin) const {
    Cause best;
    const DeviceId device = plan_.assignment[op.index()];
    offerInputs(best, op, begin);
    if (calls_ && problem_.cluster.isAccelerator(device)) {
      // All ops of a call start together, so the call waited for any of their inputs.
      for (const OpId other : device_ops_[device.index()]) {
        if (other != op && plan_.start[other.index()] == plan_.start[op.index()])
          offerInputs(best, other, begin);
      }
    }
    for (const std::size_t t : arrivals_[op.index()]) offer(best, {plan_.transfers[t].end, {}, t}, begin);
    const bool exclusive = !calls_ || problem_.cluster.isAccelerator(device);
    if (!exclusive || plan_.end[op.index()] <= plan_.start[op.index()]) return best;
    const auto& ops = device_ops_[device.index()];
    auto after = std::upper_bound(ops.begin(), ops.end(), begin + eps_,
                                  [&](double time, OpId other) { return time < plan_.end[other.index()]; });
    while (after != ops.begin()) {
      const OpId other = *--after;
      if (other == op) continue;
      const double launch = calls_ ? 0 : problem_.cluster.classOf(device).launch_seconds;
      offer(best, {plan_.end[other.index()] + launch, other, SIZE_MAX}, begin);
      break;
    }
    return best;
  }

  void offerInputs(Cause& best, OpId op, double begin) const {
    const DeviceId device = plan_.assignment[op.index()];
    for (const TensorId tensor : problem_.graph.inputs(op)) {
      const OpId producer = problem_.graph.producer(tensor);
      const double end = plan_.end[producer.index()];
      if (end > begin + eps_) continue;  // the same call
      const DeviceId from = plan_.assignment[producer.index()];
      const bool listed = std::any_of(arrivals_[op.index()].begin(), arrivals_[op.index()].end(),
                                      [&](std::size_t t) { return plan_.transfers[t].tensor == tensor; });
      if (listed) continue;
      const double transfer = from == device || calls_ ? 0 : problem_.transferSeconds(tensor, from, device);
      offer(best, {end + transfer, producer, SIZE_MAX}, begin);
    }
  }

  Cause causeOfTransfer(std::size_t index, double begin) const {
    const PlanTransfer& transfer = plan_.transfers[index];
    Cause best;
    const OpId producer = problem_.graph.producer(transfer.tensor);
    offer(best, {plan_.end[producer.index()], producer, SIZE_MAX}, begin);
    for (const std::size_t port : {sendPort(transfer.from), receivePort(transfer.to)}) {
      const auto& list = port_[port];
      auto after = std::upper_bound(list.begin(), list.end(), begin + eps_, [&](double time, std::size_t t) {
        return time < plan_.transfers[t].end;
      });
      while (after != list.begin()) {
        const std::size_t other = *--after;
        if (other == index) continue;
        offer(best, {plan_.transfers[other].end, {}, other}, begin);
        break;
      }
    }
    return best;
  }
};

}  // namespace

std::vector<PathStep> criticalPath(const Problem& problem, const Plan& plan) {
  return Walker(problem, plan).walk();
}

}  // namespace allot
