#include "random/schedules.h"

#include <algorithm>
#include <cmath>

namespace allot::tiny {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

constexpr double kEver = std::numeric_limits<double>::infinity();

struct Hold {
  double from, to;
  std::int64_t bytes;
};

constexpr double kTolerance = 1e-9;  // of the larger

bool before(double a, double b) {
  return a < b - kTolerance * std::max(std::abs(a), std::abs(b));
}

bool overlap(double from, double to, double from2, double to2) {
  return before(from, to2) && before(from2, to);
}

// An end that is not known yet lies anywhere later.
double known(double time) {
  return std::isnan(time) ? kEver : time;
}

std::vector<Hold> holdsOn(const Rules& rules, const Schedule& s, int device) {
  std::vector<Hold> holds;
  const auto add = [&](double from, double to, std::int64_t bytes) {
    if (!std::isnan(from) && bytes > 0) holds.push_back({from, to, bytes});
  };
  const auto lastEnd = [&](const std::vector<int>& readers, double least) {
    double end = least;
    for (const int op : readers) end = s.device[at(op)] == device ? std::max(end, known(s.end[at(op)])) : end;
    return end;
  };
  for (int i = 0; i < rules.ops; ++i) {
    if (s.device[at(i)] == device) add(s.start[at(i)], s.end[at(i)], rules.tiny.ops[at(i)].workspace);
  }
  for (int t = 0; t < static_cast<int>(rules.tiny.tensors.size()); ++t) {
    const Tensor& tensor = rules.tiny.tensors[at(t)];
    double arrives = kEver;
    bool sent = false;
    double gone = 0;
    for (const Transfer& transfer : s.transfers) {
      if (transfer.tensor != t) continue;
      sent = true;
      gone = std::max(gone, known(transfer.end));
      if (transfer.to == device && !std::isnan(transfer.start)) arrives = std::min(arrives, transfer.start);
    }
    if (s.device[at(tensor.from)] == device) {
      const double made = s.start[at(tensor.from)];
      const double end = tensor.to.empty()
                             ? kEver
                             : lastEnd(tensor.to, std::max(known(s.end[at(tensor.from)]), sent ? gone : 0));
      add(made, end, tensor.bytes);
    } else if (arrives < kEver) {
      add(arrives, lastEnd(tensor.to, 0), tensor.bytes);
    }
  }
  for (const Shared& input : rules.tiny.inputs) {
    double from = kEver;
    for (const int op : input.readers) {
      if (s.device[at(op)] == device && !std::isnan(s.start[at(op)])) from = std::min(from, s.start[at(op)]);
    }
    if (from < kEver) add(from, lastEnd(input.readers, 0), input.bytes);
  }
  return holds;
}

Ops opsOn(const Rules& rules, const Schedule& schedule, int device) {
  Ops set = 0;
  for (int i = 0; i < rules.ops; ++i) set |= schedule.device[at(i)] == device ? Ops{1} << i : 0;
  return set;
}

}  // namespace

std::vector<Transfer> transfersOf(const Rules& rules, const std::vector<int>& device) {
  std::vector<Transfer> list;
  for (int t = 0; t < static_cast<int>(rules.tiny.tensors.size()); ++t) {
    const Tensor& tensor = rules.tiny.tensors[at(t)];
    const int from = device[at(tensor.from)];
    for (const int op : tensor.to) {
      const int to = device[at(op)];
      if (to == from) continue;
      Transfer* same = nullptr;
      for (Transfer& other : list) {
        if (other.tensor == t && other.to == to && rules.modes().send == Send::kOnce) same = &other;
      }
      if (same == nullptr) same = &list.emplace_back(Transfer{t, from, to, 0, 0, 0});
      same->consumers |= Ops{1} << op;
    }
  }
  return list;
}

double valueOf(const Rules& rules, const std::vector<double>& end) {
  if (*rules.modes().goal == Goal::kLatency) return *std::max_element(end.begin(), end.end());
  double sum = 0;
  for (int m = 0; m < static_cast<int>(rules.tiny.models.size()); ++m) {
    double completion = 0;
    for (int i = 0; i < rules.ops; ++i) {
      if (rules.tiny.ops[at(i)].model == m) completion = std::max(completion, end[at(i)]);
    }
    sum += rules.tiny.models[at(m)].weight * completion;
  }
  return sum;
}

double livePeak(const Rules& rules, const Schedule& schedule, int device, double until) {
  const std::vector<Hold> holds = holdsOn(rules, schedule, device);
  std::int64_t most = 0, good = 0;
  for (const Hold& at_start : holds) {
    if (!(at_start.from < until)) continue;
    std::int64_t sum = 0;
    for (const Hold& hold : holds) {
      // What is kept for good counts even where it is put out at the very end.
      if (hold.from <= at_start.from && (at_start.from < hold.to || hold.to == kEver)) sum += hold.bytes;
    }
    most = std::max(most, sum);
    good += at_start.to == kEver ? at_start.bytes : 0;
  }
  return rules.resident(opsOn(rules, schedule, device), std::max(most, good));
}

double memoryOf(const Rules& rules, const Schedule& schedule, int device) {
  return rules.modes().memory == MemoryModel::kLive ? livePeak(rules, schedule, device, kEver)
                                                    : rules.resident(opsOn(rules, schedule, device));
}

std::string wrongSchedule(const Rules& rules, const Schedule& s) {
  const Modes& modes = rules.modes();
  // It ends as long after its start as it takes.
  const auto lasts = [](double start, double end, double seconds) {
    return !before(end, start + seconds) && !before(start + seconds, end);
  };
  for (const Ops unit : rules.units) {
    int device = -1;
    for (int i = 0; i < rules.ops; ++i) {
      if (!in(unit, i)) continue;
      if (device >= 0 && s.device[at(i)] != device) return "a unit on two devices";
      device = s.device[at(i)];
    }
    if (!rules.allowed(unit, device)) return "an op where it cannot run";
  }
  for (int i = 0; i < rules.ops; ++i) {
    const double release =
        *modes.goal == Goal::kCompletion ? rules.tiny.models[at(rules.tiny.ops[at(i)].model)].release : 0;
    if (before(s.start[at(i)], release)) return "an op before its release";
    if (!lasts(s.start[at(i)], s.end[at(i)], rules.seconds(i, s.device[at(i)])))
      return "an op of another length";
    for (int j = 0; j < i; ++j) {
      const int device = s.device[at(i)];
      if (s.device[at(j)] != device || rules.seconds(i, device) == 0 || rules.seconds(j, device) == 0)
        continue;
      const double launch = rules.launch(device);
      if (overlap(s.start[at(i)], s.end[at(i)] + launch, s.start[at(j)], s.end[at(j)] + launch))
        return "two ops at once on one device";
    }
  }
  for (const auto& [first, then] : rules.edges) {
    if (before(s.start[at(then)], s.end[at(first)])) return "an op before one it waits for";
  }
  for (const Transfer& a : s.transfers) {
    const int producer = rules.tiny.tensors[at(a.tensor)].from;
    if (before(a.start, s.end[at(producer)])) return "a transfer before its tensor is there";
    const double seconds = rules.transfer(a.tensor, a.from, a.to);
    if (!lasts(a.start, a.end, seconds)) return "a transfer of another length";
    for (int i = 0; i < rules.ops; ++i) {
      if (in(a.consumers, i) && before(s.start[at(i)], a.end)) return "an op before its tensor arrives";
    }
    if (modes.link_mode == LinkMode::kFree || seconds == 0) continue;
    for (const Transfer& b : s.transfers) {
      if (&a == &b || rules.transfer(b.tensor, b.from, b.to) == 0) continue;
      const bool half = modes.link_mode == LinkMode::kHalfDuplex;
      const bool port = a.from == b.from || a.to == b.to || (half && (a.from == b.to || a.to == b.from));
      if (port && overlap(a.start, a.end, b.start, b.end)) return "two transfers at once at one port";
    }
  }
  for (int d = 0; d < rules.devices; ++d) {
    if (memoryOf(rules, s, d) > rules.limit(d)) return "too little memory";
  }
  return "";
}

}  // namespace allot::tiny
