// How the portfolio spends its time on a problem, and why.
//
// A solver gets a share of the time limit, so that one that could go on for ever does not keep others from
// their turn; one that ends early leaves its time to those behind it. Only structure decides (goal, modes,
// sizes).
#pragma once

#include <string>
#include <string_view>

#include "allot/problem.h"

namespace allot {

// Share of the time limit that the portfolio gives to the solver, 0 .. 1; 0 = leave it out.
double timeShare(const Problem& problem, std::string_view solver);

// In one sentence, which methods decide the problem and what in its structure made the choice.
std::string chosenMethod(const Problem& problem);

}  // namespace allot
