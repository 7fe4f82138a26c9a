// HiGHS: mixed-integer linear programmes.
//
// Problem: minimise cost * x, row_lower <= A x <= row_upper, lower <= x <= upper, some x integer.
// Guarantee: what HiGHS gives. It works in floating point: solutions and bounds hold up to `kMilpTolerance`
//   per row and column, and the caller takes that off.
// When time runs out: the best solution and bound so far. It keeps to `seconds` within some 20 ms. `stopped`
// it
//   asks between the steps of its search, not inside a linear programme: at the root of a large model one of
//   these can take a second.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "allot/result.h"

namespace allot {

// Below a folder of helpers (library.h).
inline constexpr const char* kMilpLibrary = "highsbox/highs_dist/lib/libhighs.so";

// Feasibility and dual tolerance that HiGHS is told to work to.
inline constexpr double kMilpTolerance = 1e-9;

struct MilpModel {
  std::vector<double> cost, lower, upper;  // by column
  std::vector<std::int32_t> integer;       // by column, 1 = integer
  std::vector<double> row_lower, row_upper;
  std::vector<std::int32_t> row_begin, row_column;  // rows one after the other, as in Csr
  std::vector<double> row_value;
};

struct MilpRun {
  std::uint32_t threads = 1;
  double seconds = std::numeric_limits<double>::infinity();  // looked at where `stopped` is not
  std::uint64_t seed = 0;
  double gap = 0;                 // relative gap at which to end
  std::span<const double> start;  // by column, or empty
  std::function<bool()> stopped;
  // Called from inside the search, never two at a time.
  std::function<void(std::span<const double>)> on_solution;
  std::function<void(double)> on_bound;
};

enum class MilpEnd : std::uint8_t { kOptimal, kInfeasible, kStopped };

struct MilpAnswer {
  MilpEnd end = MilpEnd::kStopped;
  double bound = -std::numeric_limits<double>::infinity();
  std::vector<double> solution;  // empty when none was found
};

// Loads HiGHS on the first call. An error says why it cannot be used.
Result<void> loadMilpSolver();
Result<MilpAnswer> solveMilp(const MilpModel& model, const MilpRun& run);

}  // namespace allot
