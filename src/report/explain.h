// Why a plan is worth what it is.
//
// Problem: say what limits a plan, what each op costs here and elsewhere, which constraints bind, and what
// other hardware would
//   give.
// Guarantee: every figure comes from the evaluator or from `solve`, so each is the value of a plan one could
// have. A move
//   changes one unit and keeps the rest; where a schedule follows, the better of "same order" and "order by
//   rank" counts.
// Complexity: one or two evaluations per unit and device asked for, one time-limited solve per what-if.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"
#include "report/critical_path.h"
#include "report/cut_tensors.h"

namespace allot {

struct OpCost {
  OpId op;
  double seconds = 0;
};

// An op's unit on one device.
struct Elsewhere {
  DeviceId device;
  double unit_seconds = 0;  // busy time of the whole unit; infinite where it cannot run
  bool here = false;
  double value = 0;      // of the plan with the unit there
  std::string obstacle;  // why that would be no valid plan; empty = it would
};

struct OpExplanation {
  OpId op;
  std::size_t unit_size = 1;
  double slack = 0;  // seconds; 0 where the goal has no schedule
  std::vector<Elsewhere> devices;
};

struct MemoryFullness {
  DeviceId device;
  double used = 0, limit = 0;  // bytes; limit infinite = unlimited
  bool binds = false;          // no unit placed elsewhere that may run here would fit
};

// A block of weights that several devices hold.
struct WeightCopies {
  std::string name;
  std::int64_t bytes = 0;
  std::vector<DeviceId> devices;
};

struct WhatIf {
  std::string change;
  double same_plan = 0;  // value of this plan on the changed hardware
  bool replanned = false;
  double value = 0, bound = 0;  // of a new plan found in the time given
};

struct Explanation {
  double value = 0;
  DeviceId bottleneck;           // largest load
  std::vector<OpCost> heaviest;  // on the bottleneck, or on the critical path
  std::vector<CutPayment> cuts;  // throughput: what the bottleneck pays, dearest first
  std::vector<PathStep> path;    // latency and completion
  std::vector<double> slack;     // by op, seconds; events model only
  std::vector<MemoryFullness> memory;
  std::vector<WeightCopies> copies;   // the largest first
  std::vector<std::string> excluded;  // pins and forbids that keep units off faster devices
  std::vector<OpExplanation> ops;
  std::vector<WhatIf> what_ifs;
};

struct ExplainRequest {
  std::vector<OpId> ops;       // empty = the heaviest of the bottleneck
  double what_if_seconds = 2;  // for each new plan; 0 = only value this plan on the changed hardware
  std::uint32_t threads = 0;
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop_flag = nullptr;
};

// `plan` must be evaluated (value, devices and schedule filled in).
Explanation explain(const Problem& problem, const Plan& plan, const ExplainRequest& request);

}  // namespace allot
