// How the portfolio spends its time on a problem, and why.
//
// The solvers that take the problem run one after the other, each from the best plan and bound so far. A
// solver gets a share of the time limit, so that one that could go on for ever does not keep others from
// their turn; one that ends early leaves its time to those behind it. A solver may come twice: what others
// found meanwhile can let it close what it could not before. Only structure decides (goal, modes, sizes).
#pragma once

#include <string>
#include <vector>

#include "allot/solve.h"

namespace allot {

struct CourseStep {
  const Solver* solver;
  double share;            // of the time limit, at most
  double least_seconds{};  // even of a short limit, as long as others get most of it
  // Turns the solver had before this one. Under a work limit there is only one, for nothing stops it.
  std::uint32_t turn = 0;
  // An engine behind it, or a turn of its own, makes up for what it leaves out; not under a work limit.
  double patience = 1;
};

std::vector<CourseStep> courseOf(const Problem& problem);

// In one sentence, which methods decide the problem and what in its structure made the choice.
std::string chosenMethod(const Problem& problem);

}  // namespace allot
