// How soon a solver ends once it is asked to.
#pragma once

#include "allot/solve.h"

namespace allot {

struct StoppedRun {
  SolveOutcome outcome;
  double seconds = 0;  // from the request to the end; negative when the run had ended before
};

// Runs the solver of `run` and asks it to stop after `wait_seconds`. 50 ms is the goal on an idle machine;
// tests allow for one that does other work too.
StoppedRun stopAfter(const Problem& problem, const RunOptions& run, double wait_seconds);

inline constexpr double kStopAllowance = 0.5;

// Fails the test where the solver, with one thread, ends before it is asked to or later than allowed.
void expectStopsSoon(const Problem& problem, const char* solver);

}  // namespace allot
