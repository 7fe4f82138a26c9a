#include "solve/latency/calls_pack.h"

#include <algorithm>

#include "base/union_find.h"

namespace allot {
namespace {

constexpr std::uint64_t kMostSteps = 200'000;

struct Call {
  std::size_t pool = 0;
  std::vector<OpId> ops;
  double bytes = 0, start = 0, end = 0;
  std::uint32_t group = 0;  // calls that must share a device
};

class Packing {
 public:
  Packing(const CallItems& items, std::vector<Call>& calls, const Budget& budget)
      : items_(items), calls_(calls), budget_(budget), device_of_(calls.size()) {
    for (const CallPool& pool : items.pools) {
      for (const DeviceId device : pool.devices) most_ = std::max(most_, device.index() + 1);
    }
    bytes_.assign(most_, 0);
    count_.assign(most_, 0);
    free_at_.assign(most_, 0);
  }

  // Without waiting; else with.
  std::vector<DeviceId> run() {
    for (const bool waits : {false, true}) {
      waits_ = waits;
      steps_ = 0;
      if (place(0)) return device_of_;
    }
    return {};
  }

 private:
  const CallItems& items_;
  std::vector<Call>& calls_;
  const Budget& budget_;
  std::vector<DeviceId> device_of_;
  std::size_t most_ = 0;
  std::vector<double> bytes_, free_at_;
  std::vector<std::uint32_t> count_;
  bool waits_ = false;
  std::uint64_t steps_ = 0;

  bool place(std::size_t c) {
    if (c == calls_.size()) return true;
    if (++steps_ > kMostSteps || ((steps_ & 255) == 0 && budget_.stopped())) return false;
    const Call& call = calls_[c];
    const CallPool& pool = items_.pools[call.pool];
    DeviceId must;
    for (std::size_t other = 0; other < c; ++other) {
      if (calls_[other].group == call.group) must = device_of_[other];
    }
    std::vector<DeviceId> order;
    bool fresh = false;
    for (const DeviceId device : pool.devices) {
      const std::size_t d = device.index();
      if (must.valid() && device != must) continue;
      if (count_[d] == items_.problem->modes.calls || bytes_[d] + call.bytes > pool.memory) continue;
      if (!waits_ && free_at_[d] > call.start * (1 + 1e-12)) continue;
      // Devices without calls are all alike.
      if (count_[d] == 0 && fresh) continue;
      fresh = fresh || count_[d] == 0;
      order.push_back(device);
    }
    // Fullest first where nobody waits, earliest free first where somebody has to.
    std::stable_sort(order.begin(), order.end(), [&](DeviceId a, DeviceId b) {
      return waits_ ? free_at_[a.index()] < free_at_[b.index()] : bytes_[a.index()] > bytes_[b.index()];
    });
    for (const DeviceId device : order) {
      const std::size_t d = device.index();
      const double free_before = free_at_[d];
      bytes_[d] += call.bytes;
      ++count_[d];
      free_at_[d] = call.end;
      device_of_[c] = device;
      if (place(c + 1)) return true;
      bytes_[d] -= call.bytes;
      --count_[d];
      free_at_[d] = free_before;
    }
    return false;
  }
};

// Starts and ends when no call waits for another one of its device.
void timeCalls(const CallItems& items, const std::vector<CallPart>& parts, std::vector<Call>& calls) {
  std::vector<double> end(items.itemCount(), 0);
  std::vector<std::uint32_t> part_of(items.itemCount(), 0), paid(items.netCount(), UINT32_MAX);
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    for (const std::uint32_t i : parts[p].items) part_of[i] = p;
  }
  std::size_t c = 0;
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    double start = 0, seconds = 0;
    for (const std::uint32_t i : parts[p].items) {
      const auto pool = static_cast<std::size_t>(std::max(0, parts[p].pool));
      seconds += parts[p].pool < 0 ? items.cpu[i] : items.onPool(i, pool);
      for (const std::uint32_t net : items.item_inputs[i]) {
        const std::uint32_t from = items.net_producer[net];
        if (part_of[from] == p) continue;
        start = std::max(start, end[from]);
        if (parts[p].pool < 0 || paid[net] == p) continue;
        paid[net] = p;
        seconds += items.in(net, pool);
      }
      if (parts[p].pool < 0) continue;
      for (const std::uint32_t net : items.item_outputs[i]) {
        const auto consumers = items.net_consumers[net];
        const auto& inside = parts[p].tails;
        const bool leaves = std::any_of(consumers.begin(), consumers.end(),
                                        [&](std::uint32_t to) { return part_of[to] != p; }) ||
                            std::any_of(items.tail_ops[net].begin(), items.tail_ops[net].end(), [&](OpId op) {
                              return std::find(inside.begin(), inside.end(), op) == inside.end();
                            });
        if (leaves) seconds += items.out(net, pool);
      }
    }
    for (const std::uint32_t i : parts[p].items) end[i] = start + seconds;
    if (parts[p].pool < 0) continue;
    calls[c].start = start;
    calls[c++].end = start + seconds;
  }
}

}  // namespace

Plan packCalls(const CallItems& items, const std::vector<CallPart>& parts, const Budget& budget) {
  const Problem& problem = *items.problem;
  std::vector<Call> calls;
  UnionFind groups(parts.size());
  std::vector<std::uint32_t> call_of_unit(problem.unitCount(), UINT32_MAX);
  for (const CallPart& part : parts) {
    if (part.pool < 0) continue;
    Call call;
    call.pool = static_cast<std::size_t>(part.pool);
    for (const std::uint32_t i : part.items)
      call.ops.insert(call.ops.end(), items.item_ops[i].begin(), items.item_ops[i].end());
    call.ops.insert(call.ops.end(), part.tails.begin(), part.tails.end());
    for (const OpId op : call.ops) {
      call.bytes += problem.residentBytes(op);
      std::uint32_t& first = call_of_unit[problem.unit(op).index()];
      if (first == UINT32_MAX) first = static_cast<std::uint32_t>(calls.size());
      groups.join(first, static_cast<std::uint32_t>(calls.size()));
    }
    calls.push_back(std::move(call));
  }
  for (std::uint32_t c = 0; c < calls.size(); ++c) calls[c].group = groups.find(c);
  timeCalls(items, parts, calls);
  std::vector<DeviceId> device_of = Packing(items, calls, budget).run();
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment.assign(problem.opCount(), DeviceId());
  if (device_of.empty()) {
    for (const Call& call : calls) device_of.push_back(items.pools[call.pool].devices.front());
  }
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (const OpId op : calls[c].ops) plan.assignment[op.index()] = device_of[c];
    plan.stages.push_back({{device_of[c]}, std::move(calls[c].ops)});
  }
  // Units on the cpu: the first of the equally fast devices with room.
  std::vector<double> used(problem.deviceCount(), 0);
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    // Where the search left out that ops of a unit share a device, some are placed, and the plan is not
    // valid.
    std::vector<OpId> ops;
    for (const OpId op : problem.unitOps(UnitId(u))) {
      if (!plan.assignment[op.index()].valid()) ops.push_back(op);
    }
    if (ops.empty()) continue;
    double bytes = 0;
    for (const OpId op : ops) bytes += problem.residentBytes(op);
    DeviceId on = items.cpu_device[ops.front().index()];
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      const DeviceId device(d);
      if (!problem.allowed(UnitId(u), device) || problem.cluster.isAccelerator(device)) continue;
      const bool as_fast = std::all_of(ops.begin(), ops.end(), [&](OpId op) {
        return problem.opSeconds(op, device) <= problem.opSeconds(op, items.cpu_device[op.index()]);
      });
      if (!as_fast || used[d] + bytes > problem.memoryLimit(device)) continue;
      on = device;
      break;
    }
    used[on.index()] += bytes;
    for (const OpId op : ops) plan.assignment[op.index()] = on;
  }
  return plan;
}

}  // namespace allot
