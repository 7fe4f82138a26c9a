// What verbs that search share.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot::cli {

// The name under which the portfolio goes among the solvers.
inline constexpr std::string_view kPortfolio = "portfolio";

// Ctrl-C and SIGTERM set the flag that is returned, which ends a search with its best plan; the second one
// ends the program.
const std::atomic<bool>& catchStopSignals();
// What RunOptions::solver takes for a solver the user named; fails when there is none or it does not take the
// problem.
Result<std::string> solverFor(const Problem& problem, const std::string& wanted);

// Why a search of this problem ended without a plan and without a proof, and what to try.
Error noPlanError(const std::string& file, const Problem& problem, const RunOptions& run, const Plan& plan,
                  bool stopped);

}  // namespace allot::cli
