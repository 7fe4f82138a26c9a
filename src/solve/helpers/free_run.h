// One run of an optional solver on the model of free_model.h, as the solvers of free_solvers.h start it.
#pragma once

#include <cstdint>
#include <functional>

#include "allot/solve.h"
#include "solve/helpers/free_model.h"

namespace allot {

struct FreeRun {
  const Budget& budget;
  Progress& progress;
  std::uint32_t threads;
  double seconds;                 // from now; the share of the time this run may take
  std::function<bool()> stopped;  // thread-safe
};

// The library must have been loaded.
SolveResult runHighsFree(const FreeModel& model, const FreeRun& run);
SolveResult runCpSatFree(const FreeModel& model, const FreeRun& run);

}  // namespace allot
