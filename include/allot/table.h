// The best value of every smaller cluster.
//
// Problem: throughput with chain contiguity and via-host transfers. For each number of devices of each kind,
// up to those there are, the least largest load of a pipeline on at most so many devices. Guarantee: rows
// with status optimal are proven; a row that the time did not suffice for has a bound only. Every value has
// been confirmed by the evaluator.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "allot/options.h"
#include "allot/plan.h"
#include "allot/problem.h"
#include "allot/result.h"

namespace allot {

struct CompositionRow {
  std::vector<std::uint32_t> counts;  // by kind of device
  Status status = Status::kNoPlan;    // optimal, infeasible, or no-plan when it is not known
  double value = 0;                   // of an optimal row
  double bound = 0;
};

struct CompositionTable {
  std::vector<std::string> kinds;    // interchangeable devices, by the name of their class
  std::vector<CompositionRow> rows;  // from one device to all
};

// Whether the goal and modes are those the table is defined for.
bool hasCompositionTable(const Problem& problem);
Result<CompositionTable> compositionTable(const Problem& problem, const RunOptions& run,
                                          const std::atomic<bool>* stop_flag = nullptr);

}  // namespace allot
