#include "random/calls.h"

#include <algorithm>
#include <cmath>

namespace allot::tiny {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

Ops before(const Rules& rules, Ops set) {
  Ops all = 0;
  for (const auto& [from, to] : rules.edges) all |= in(set, to) && !in(set, from) ? Ops{1} << from : 0;
  return all;
}

double callSeconds(const Rules& rules, const Stage& call) {
  const int device = call.devices.front();
  double sum = 0;
  for (int i = 0; i < rules.ops; ++i) sum += in(call.ops, i) ? rules.seconds(i, device) : 0;
  for (int t = 0; t < static_cast<int>(rules.tiny.tensors.size()); ++t) {
    const Tensor& tensor = rules.tiny.tensors[at(t)];
    bool inside = false, outside = false;
    for (const int op : tensor.to) (in(call.ops, op) ? inside : outside) = true;
    if (in(call.ops, tensor.from))
      sum += outside ? rules.toHost(t, device) : 0;
    else
      sum += inside ? rules.fromHost(t, device) : 0;
  }
  return sum;
}

class CallSearch {
 public:
  explicit CallSearch(const Rules& rules) : rules_(rules), device_(at(rules.ops)), call_(at(rules.ops)) {}

  BestCalls run() {
    place(0);
    return std::move(best_);
  }

 private:
  const Rules& rules_;
  BestCalls best_;
  std::vector<int> device_;
  std::vector<std::uint32_t> call_;

  void place(std::size_t unit) {
    if (unit == rules_.units.size()) {
      for (const Stage& stage : stagesOf(rules_, device_)) {
        if (rules_.resident(stage.ops) > rules_.limit(stage.devices.front())) return;
      }
      label(0);
      return;
    }
    for (int d = 0; d < rules_.devices; ++d) {
      if (!rules_.allowed(rules_.units[unit], d)) continue;
      for (int i = 0; i < rules_.ops; ++i) {
        if (in(rules_.units[unit], i)) device_[at(i)] = d;
      }
      place(unit + 1);
    }
  }

  void label(int op) {
    if (op == rules_.ops) {
      judge();
      return;
    }
    const std::uint32_t most = rules_.isCpu(device_[at(op)]) ? 1 : rules_.modes().calls;
    for (std::uint32_t c = 0; c < std::min(most, static_cast<std::uint32_t>(rules_.ops)); ++c) {
      call_[at(op)] = c;
      label(op + 1);
    }
  }

  void judge() {
    std::vector<Stage> calls;
    for (int d = 0; d < rules_.devices; ++d) {
      for (std::uint32_t c = 0; c < rules_.modes().calls && !rules_.isCpu(d); ++c) {
        Stage call{{d}, 0};
        for (int i = 0; i < rules_.ops; ++i)
          call.ops |= device_[at(i)] == d && call_[at(i)] == c ? Ops{1} << i : 0;
        if (call.ops != 0) calls.push_back(call);
      }
    }
    const auto value = callsValue(rules_, device_, calls);
    if (!value || (best_.value && !(*value < *best_.value))) return;
    best_ = {value, device_, calls};
  }
};

}  // namespace

std::optional<double> callsValue(const Rules& rules, const std::vector<int>& device,
                                 const std::vector<Stage>& calls) {
  std::vector<double> end(at(rules.ops), 0), call_end(calls.size(), 0);
  Ops done = 0;
  std::vector<bool> called(calls.size(), false);
  const auto latest = [&](Ops set) {
    double time = 0;
    for (int i = 0; i < rules.ops; ++i) time = in(set, i) ? std::max(time, end[at(i)]) : time;
    return time;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < rules.ops; ++i) {
      const Ops waits = before(rules, Ops{1} << i);
      if (!rules.isCpu(device[at(i)]) || in(done, i) || (waits & ~done) != 0) continue;
      end[at(i)] = latest(waits) + rules.seconds(i, device[at(i)]);
      done |= Ops{1} << i;
      moved = true;
    }
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const Ops waits = before(rules, calls[c].ops);
      if (called[c] || (waits & ~done) != 0) continue;
      double start = latest(waits);
      bool turn = true;
      for (std::size_t b = 0; b < c; ++b) {
        if (calls[b].devices != calls[c].devices) continue;
        turn = turn && called[b];
        start = std::max(start, call_end[b]);
      }
      if (!turn) continue;
      call_end[c] = start + callSeconds(rules, calls[c]);
      for (int i = 0; i < rules.ops; ++i) end[at(i)] = in(calls[c].ops, i) ? call_end[c] : end[at(i)];
      done |= calls[c].ops;
      called[c] = moved = true;
    }
  }
  if (done != (Ops{1} << rules.ops) - 1) return std::nullopt;
  return *std::max_element(end.begin(), end.end());
}

std::string wrongCalls(const Rules& rules, const std::vector<int>& device, const std::vector<Stage>& calls) {
  Ops called = 0;
  std::vector<std::uint32_t> count(at(rules.devices), 0);
  for (const Stage& call : calls) {
    if (call.devices.size() != 1 || rules.isCpu(call.devices.front())) return "a call of no accelerator";
    if (++count[at(call.devices.front())] > rules.modes().calls) return "too many calls";
    for (int i = 0; i < rules.ops; ++i) {
      if (in(call.ops, i) && device[at(i)] != call.devices.front()) return "a call of ops that are elsewhere";
    }
    if ((called & call.ops) != 0) return "an op in two calls";
    called |= call.ops;
  }
  for (int i = 0; i < rules.ops; ++i) {
    if (!rules.isCpu(device[at(i)]) && !in(called, i)) return "an op of an accelerator in no call";
    const Ops unit = rules.units[at(rules.unit_of[at(i)])];
    if (!rules.allowed(unit, device[at(i)])) return "an op where it cannot run";
    for (int j = 0; j < i; ++j) {
      if (in(unit, j) && device[at(j)] != device[at(i)]) return "a unit on two devices";
    }
  }
  for (const Stage& stage : stagesOf(rules, device)) {
    if (rules.resident(stage.ops) > rules.limit(stage.devices.front())) return "too little memory";
  }
  return callsValue(rules, device, calls) ? "" : "calls that wait for each other";
}

BestCalls bestCalls(const Rules& rules) {
  return CallSearch(rules).run();
}

}  // namespace allot::tiny
