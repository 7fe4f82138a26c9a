// CP-SAT: linear models over integers and schedules, solved exactly by constraint propagation with clause
// learning.
//
// Problem: minimise objective * x, row_lower <= A x <= row_upper where the row is on, lower <= x <= upper,
//   all of it integer; the intervals of a disjoint set that are there do not overlap. The objective must not
//   be able to fall below 0.
// Guarantee: CP-SAT counts in 64-bit integers, so solutions and bounds are exact; one faulty step of its
//   presolve is switched off. It refuses models whose rows could overflow: keep the sum of |coefficient| *
//   range of each row below 2^61.
// When time runs out: the best solution and bound so far. A stop reaches it within a few milliseconds once
//   presolve is over. Its C interface has no callbacks: what it finds is known when it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "allot/result.h"

namespace allot {

// Below a folder of helpers (library.h).
inline constexpr const char* kCpLibrary = "ortools/ortools/.libs/libortools.so.9";

// [start, start + size) of a variable start, there when the literal (a 0-1 variable) is 1.
struct CpInterval {
  std::int32_t start;
  std::int64_t size;
  std::int32_t literal;
};

struct CpModel {
  std::vector<std::int64_t> objective, lower, upper;  // by variable
  std::vector<std::int64_t> row_lower, row_upper;
  std::vector<std::uint32_t> row_begin{0};
  std::vector<std::int32_t> row_variable;
  std::vector<std::int64_t> row_value;
  std::vector<std::int32_t> row_if;  // by row: on when this 0-1 variable is 1, or -1; empty = all are on
  std::vector<CpInterval> intervals;
  std::vector<std::vector<std::int32_t>> disjoint;  // sets of intervals
};

struct CpRun {
  std::uint32_t threads = 1;
  std::uint64_t seed = 0;
  double gap = 0;                       // relative gap at which to end
  std::size_t memory_bytes = 0;         // 0 = no limit
  std::span<const std::int64_t> start;  // by variable, or empty
  std::function<bool()> stopped;        // asked about every 10 ms, from another thread
};

enum class CpEnd : std::uint8_t { kOptimal, kInfeasible, kStopped };

struct CpAnswer {
  CpEnd end = CpEnd::kStopped;
  std::int64_t bound = 0;              // the objective is at least this
  std::vector<std::int64_t> solution;  // empty when none was found
};

// Loads CP-SAT on the first call. An error says why it cannot be used.
Result<void> loadCpSolver();
Result<CpAnswer> solveCp(const CpModel& model, const CpRun& run);

}  // namespace allot
