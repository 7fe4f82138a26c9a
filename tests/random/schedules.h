// Latency and completion by events: whether a schedule may run, what it is worth, and the best of all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "random/rules.h"

namespace allot::tiny {

struct Transfer {
  int tensor = 0, from = 0, to = 0;
  Ops consumers = 0;
  double start = 0, end = 0;
};

// Complete: every transfer that the assignment needs is there.
struct Schedule {
  std::vector<int> device;         // by op
  std::vector<double> start, end;  // by op
  std::vector<Transfer> transfers;
};

// The transfers that an assignment needs, without times.
std::vector<Transfer> transfersOf(const Rules& rules, const std::vector<int>& device);

// Weighted sum of completions, or the latest end.
double valueOf(const Rules& rules, const std::vector<double>& end);

// Largest live sum of a device up to (but not at) `until`: resident bytes and what is held before. Ops and
// transfers without a time yet (NaN) hold what they wait for.
double livePeak(const Rules& rules, const Schedule& schedule, int device, double until);
// Bytes on a device as the mode counts them.
double memoryOf(const Rules& rules, const Schedule& schedule, int device);

// "" = the schedule may run.
std::string wrongSchedule(const Rules& rules, const Schedule& schedule);

struct BestSchedule {
  std::optional<double> value;
  Schedule schedule;
  bool whole = true;  // false: given up, too many
};

// `base` and `most_moves`: of assignments that differ in so many ops at most (base empty: all).
BestSchedule bestSchedule(const Rules& rules, const std::vector<int>& base, int most_moves);

}  // namespace allot::tiny
