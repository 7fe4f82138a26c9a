#include "evaluate/event_simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

#include "evaluate/sweep.h"

namespace allot {
namespace {

struct Ports {
  Ports(const Problem& problem)
      : free(2 * problem.deviceCount()),
        receive_offset(problem.modes.link_mode == LinkMode::kHalfDuplex ? 0 : problem.deviceCount()),
        none(problem.modes.link_mode == LinkMode::kFree) {}

  // Appends a transfer that is ready at `ready`; returns its start.
  double append(DeviceId from, DeviceId to, double ready, double seconds) {
    if (none || seconds == 0) return ready;
    double& send = free[from.index()];
    double& receive = free[receive_offset + to.index()];
    const double start = std::max({ready, send, receive});
    send = receive = start + seconds;
    return start;
  }

  std::vector<double> free;
  std::size_t receive_offset;
  bool none;
};

// The transfers an assignment needs: once per tensor and destination, or once per edge. Order constraints are
// among them, with zero time, because they carry the waiting; they are never listed in a plan.
std::vector<PlanTransfer> neededTransfers(const Problem& problem, std::span<const DeviceId> assignment) {
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::vector<PlanTransfer> needed;
  std::vector<std::uint32_t> to_device(problem.deviceCount(), kNone);  // the tensor's transfer there
  const bool once = problem.modes.send == Send::kOnce;
  for (std::size_t t = 0; t < problem.graph.tensorCount(); ++t) {
    const DeviceId from = assignment[problem.graph.tensor_producer[t].index()];
    const std::size_t first = needed.size();
    for (const OpId consumer : problem.graph.tensor_consumers[t]) {
      const DeviceId to = assignment[consumer.index()];
      if (to == from) continue;
      std::uint32_t& transfer = to_device[to.index()];
      if (once && transfer != kNone) {
        needed[transfer].consumers.push_back(consumer);
      } else {
        transfer = static_cast<std::uint32_t>(needed.size());
        needed.push_back({TensorId(t), {consumer}, from, to, 0, 0});
      }
    }
    for (std::size_t i = first; i < needed.size(); ++i) to_device[needed[i].to.index()] = kNone;
  }
  return needed;
}

// When the plan starts each of the needed transfers: NaN where it does not say. Both are compared by their
// first consumer.
std::vector<double> givenStarts(const Problem& problem, const Plan& plan,
                                const std::vector<PlanTransfer>& needed) {
  Csr<std::uint32_t> by_tensor;  // of the plan
  std::vector<std::uint32_t> next(problem.graph.tensorCount() + 1, 0);
  for (const PlanTransfer& transfer : plan.transfers) ++next[transfer.tensor.index() + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  by_tensor.begin = next;
  by_tensor.items.resize(plan.transfers.size());
  for (std::uint32_t i = 0; i < plan.transfers.size(); ++i)
    by_tensor.items[next[plan.transfers[i].tensor.index()]++] = i;
  std::vector<double> of_consumer(problem.opCount(), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> starts(needed.size());
  const auto setAll = [&](std::size_t tensor, bool known) {
    for (const std::uint32_t i : by_tensor[tensor]) {
      const PlanTransfer& transfer = plan.transfers[i];
      for (const OpId consumer : transfer.consumers) {
        if (transfer.to != plan.assignment[consumer.index()]) continue;
        of_consumer[consumer.index()] = known ? transfer.start : std::numeric_limits<double>::quiet_NaN();
      }
    }
  };
  for (std::size_t i = 0; i < needed.size();) {
    const TensorId tensor = needed[i].tensor;
    setAll(tensor.index(), true);
    for (; i < needed.size() && needed[i].tensor == tensor; ++i)
      starts[i] = of_consumer[needed[i].consumers.front().index()];
    setAll(tensor.index(), false);
  }
  return starts;
}

// Transfers by producing op.
Csr<std::uint32_t> byProducer(const Problem& problem, const std::vector<PlanTransfer>& transfers) {
  Csr<std::uint32_t> rows;
  std::vector<std::uint32_t> count(problem.opCount() + 1, 0);
  for (const PlanTransfer& transfer : transfers) ++count[problem.graph.producer(transfer.tensor).index() + 1];
  for (std::size_t i = 0; i < problem.opCount(); ++i) count[i + 1] += count[i];
  rows.begin = count;
  rows.items.resize(transfers.size());
  for (std::uint32_t t = 0; t < transfers.size(); ++t) {
    rows.items[count[problem.graph.producer(transfers[t].tensor).index()]++] = t;
  }
  return rows;
}

void dropOrderTransfers(const Problem& problem, Plan& plan) {
  std::erase_if(plan.transfers,
                [&](const PlanTransfer& transfer) { return problem.isOrder(transfer.tensor); });
}

double releaseOf(const Problem& problem, std::size_t op) {
  return problem.goal() == Goal::kCompletion ? problem.model_release[problem.graph.op_model[op].index()] : 0;
}

class RankSimulation {
 public:
  RankSimulation(const Problem& problem, Plan& plan, std::span<const double> wanted_start)
      : problem_(problem),
        plan_(plan),
        n_(problem.opCount()),
        rank_(upwardRanks(problem, plan.assignment)),
        transfers_(neededTransfers(problem, plan.assignment)),
        by_producer_(byProducer(problem, transfers_)),
        ports_(problem),
        waiting_(n_),
        ready_(n_),
        device_free_(problem.deviceCount()),
        next_(problem.deviceCount()) {
    queue_.resize(problem.deviceCount());
    for (std::size_t i = 0; i < n_; ++i) {
      waiting_[i] = static_cast<std::uint32_t>(problem.graph.inputs(OpId(i)).size());
      ready_[i] = releaseOf(problem, i);
      if (seconds(OpId(i)) > 0) queue_[plan.assignment[i].index()].push_back(OpId(i));
    }
    for (auto& queue : queue_) {
      std::sort(queue.begin(), queue.end(), [&](OpId a, OpId b) {
        if (!wanted_start.empty() && wanted_start[a.index()] != wanted_start[b.index()]) {
          return wanted_start[a.index()] < wanted_start[b.index()];
        }
        return rank_[a.index()] != rank_[b.index()] ? rank_[a.index()] > rank_[b.index()] : a < b;
      });
    }
    for (PlanTransfer& transfer : transfers_)
      transfer.start = transfer.end = std::numeric_limits<double>::quiet_NaN();
  }

  // False when the device orders block each other.
  bool run() {
    plan_.start.assign(n_, 0);
    plan_.end.assign(n_, 0);
    for (std::size_t i = 0; i < n_; ++i) {
      if (waiting_[i] == 0) inputsThere(OpId(i));
    }
    while (!events_.empty()) {
      const double now = events_.top().time;
      released_.clear();
      while (!events_.empty() && events_.top().time == now) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
      sendReleased();
    }
    plan_.transfers = std::move(transfers_);
    dropOrderTransfers(problem_, plan_);
    return ended_ == n_;
  }

 private:
  enum class Kind : std::uint8_t { kOpEnds, kTransferEnds };
  struct Event {
    double time;
    Kind kind;
    std::uint32_t index;
    bool operator>(const Event& other) const {
      return std::tie(time, kind, index) > std::tie(other.time, other.kind, other.index);
    }
  };

  const Problem& problem_;
  Plan& plan_;
  std::size_t n_;
  std::vector<double> rank_;
  std::vector<PlanTransfer> transfers_;
  Csr<std::uint32_t> by_producer_;
  Ports ports_;
  std::vector<std::uint32_t> waiting_;  // inputs still missing
  std::vector<double> ready_;
  std::vector<double> device_free_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<OpId>> queue_;  // non-zero ops of each device, in its order
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::uint32_t> released_;  // transfers whose producer ended now
  std::size_t ended_ = 0;

  double seconds(OpId op) const { return problem_.opSeconds(op, plan_.assignment[op.index()]); }

  void begin(OpId op, double start) {
    const std::size_t i = op.index();
    plan_.start[i] = start;
    plan_.end[i] = start + seconds(op);
    events_.push({plan_.end[i], Kind::kOpEnds, op.value});
  }

  void inputsThere(OpId op) {
    if (seconds(op) > 0)
      startHead(plan_.assignment[op.index()]);
    else
      begin(op, ready_[op.index()]);
  }

  // Starts the next ops of a device as long as their inputs are there.
  void startHead(DeviceId device) {
    std::size_t& next = next_[device.index()];
    const auto& queue = queue_[device.index()];
    while (next < queue.size() && waiting_[queue[next].index()] == 0) {
      const OpId op = queue[next++];
      const double start = std::max(ready_[op.index()], device_free_[device.index()]);
      device_free_[device.index()] = start + problem_.busySeconds(op, device);
      begin(op, start);
    }
  }

  void inputArrives(OpId consumer, double time) {
    ready_[consumer.index()] = std::max(ready_[consumer.index()], time);
    if (--waiting_[consumer.index()] == 0) inputsThere(consumer);
  }

  void handle(const Event& event) {
    if (event.kind == Kind::kTransferEnds) {
      for (const OpId consumer : transfers_[event.index].consumers) inputArrives(consumer, event.time);
      return;
    }
    const OpId op(event.index);
    ++ended_;
    const auto before = static_cast<std::ptrdiff_t>(released_.size());
    for (const std::uint32_t transfer : by_producer_[op.index()]) released_.push_back(transfer);
    for (const TensorId tensor : problem_.graph.outputs(op)) {
      for (const OpId consumer : problem_.graph.consumers(tensor)) {
        if (plan_.assignment[consumer.index()] == plan_.assignment[op.index()])
          inputArrives(consumer, event.time);
      }
    }
    // Zero-time transfers hold no port and may wake zero-time ops at this very moment.
    const auto instant = [&](std::uint32_t index) {
      PlanTransfer& transfer = transfers_[index];
      if (problem_.transferSeconds(transfer.tensor, transfer.from, transfer.to) != 0) return false;
      transfer.start = transfer.end = event.time;
      events_.push({event.time, Kind::kTransferEnds, index});
      return true;
    };
    released_.erase(std::remove_if(released_.begin() + before, released_.end(), instant), released_.end());
  }

  double consumerRank(const PlanTransfer& transfer) const {
    double rank = 0;
    for (const OpId consumer : transfer.consumers) rank = std::max(rank, rank_[consumer.index()]);
    return rank;
  }

  void sendReleased() {
    std::sort(released_.begin(), released_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double x = consumerRank(transfers_[a]), y = consumerRank(transfers_[b]);
      return x != y ? x > y : a < b;
    });
    for (const std::uint32_t index : released_) {
      PlanTransfer& transfer = transfers_[index];
      const double seconds = problem_.transferSeconds(transfer.tensor, transfer.from, transfer.to);
      const double ready = plan_.end[problem_.graph.producer(transfer.tensor).index()];
      transfer.start = ports_.append(transfer.from, transfer.to, ready, seconds);
      transfer.end = transfer.start + seconds;
      events_.push({transfer.end, Kind::kTransferEnds, index});
    }
  }
};

}  // namespace

std::vector<double> upwardRanks(const Problem& problem, std::span<const DeviceId> assignment) {
  std::vector<double> rank(problem.opCount());
  const auto order = problem.graph.topologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const DeviceId from = assignment[it->index()];
    double below = 0;
    for (const TensorId tensor : problem.graph.outputs(*it)) {
      for (const OpId consumer : problem.graph.consumers(tensor)) {
        const double transfer = problem.transferSeconds(tensor, from, assignment[consumer.index()]);
        below = std::max(below, transfer + rank[consumer.index()]);
      }
    }
    rank[it->index()] = problem.opSeconds(*it, from) + below;
  }
  return rank;
}

void simulateByRank(const Problem& problem, Plan& plan, std::span<const double> wanted_start) {
  if (!RankSimulation(problem, plan, wanted_start).run() && !wanted_start.empty())
    RankSimulation(problem, plan, {}).run();
}

void retime(const Problem& problem, Plan& plan, bool keep_delays) {
  // Kahn's algorithm over ops and transfers, the earliest given start first; each is appended to what it
  // holds.
  const std::size_t n = problem.opCount();
  std::vector<PlanTransfer> transfers = neededTransfers(problem, plan.assignment);
  const std::vector<double> given = givenStarts(problem, plan, transfers);
  const Csr<std::uint32_t> by_producer = byProducer(problem, transfers);
  // (wanted start, op before transfer, index); transfers have indices behind the ops.
  using Key = std::tuple<double, std::uint32_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> queue;
  std::vector<double> wanted(n + transfers.size());
  for (std::size_t i = 0; i < n; ++i) wanted[i] = plan.start[i];
  for (std::size_t t = 0; t < transfers.size(); ++t) {
    wanted[n + t] =
        std::isnan(given[t]) ? plan.end[problem.graph.producer(transfers[t].tensor).index()] : given[t];
  }
  std::vector<std::uint32_t> waiting(n);
  std::vector<double> ready(n);
  for (std::size_t i = 0; i < n; ++i) {
    waiting[i] = static_cast<std::uint32_t>(problem.graph.inputs(OpId(i)).size());
    ready[i] = releaseOf(problem, i);
    if (waiting[i] == 0) queue.emplace(wanted[i], static_cast<std::uint32_t>(i));
  }
  Ports ports(problem);
  std::vector<double> device_free(problem.deviceCount());
  const auto arrive = [&](OpId consumer, double time) {
    ready[consumer.index()] = std::max(ready[consumer.index()], time);
    if (--waiting[consumer.index()] == 0) queue.emplace(wanted[consumer.index()], consumer.value);
  };
  while (!queue.empty()) {
    const std::uint32_t item = std::get<1>(queue.top());
    queue.pop();
    if (item >= n) {
      PlanTransfer& transfer = transfers[item - n];
      const double seconds = problem.transferSeconds(transfer.tensor, transfer.from, transfer.to);
      double from_time = plan.end[problem.graph.producer(transfer.tensor).index()];
      if (keep_delays) from_time = std::max(from_time, wanted[item]);
      transfer.start = ports.append(transfer.from, transfer.to, from_time, seconds);
      transfer.end = transfer.start + seconds;
      for (const OpId consumer : transfer.consumers) arrive(consumer, transfer.end);
      continue;
    }
    const OpId op(item);
    const DeviceId on = plan.assignment[item];
    const double seconds = problem.opSeconds(op, on);
    if (keep_delays) ready[item] = std::max(ready[item], wanted[item]);
    double& free = device_free[on.index()];
    plan.start[item] = seconds > 0 ? std::max(ready[item], free) : ready[item];
    plan.end[item] = plan.start[item] + seconds;
    if (seconds > 0) free = plan.start[item] + problem.busySeconds(op, on);
    for (const TensorId tensor : problem.graph.outputs(op)) {
      for (const OpId consumer : problem.graph.consumers(tensor)) {
        if (plan.assignment[consumer.index()] == on) arrive(consumer, plan.end[item]);
      }
    }
    for (const std::uint32_t t : by_producer[item]) {
      queue.emplace(wanted[n + t], static_cast<std::uint32_t>(n + t));
    }
  }
  plan.transfers = std::move(transfers);
  dropOrderTransfers(problem, plan);
}

}  // namespace allot
