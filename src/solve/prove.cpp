#include "allot/prove.h"

#include <array>

namespace allot {
namespace {

// Solvers that can prove a value; each rests on other code and another argument.
constexpr std::array<std::string_view, 5> kProvers{"exhaustive", "chain", "packing-bound", "cp-sat-free",
                                                   "highs-free"};

// The bound of single items is a part of the bound by prices.
bool sameRoute(std::string_view prover, std::string_view proof) {
  return proof.starts_with(prover) || (prover == "packing-bound" && proof.starts_with("item-bound"));
}

}  // namespace

ProofAgain proveAgain(const Problem& problem, const Plan& plan, const RunOptions& run,
                      const std::atomic<bool>* stop_flag) {
  ProofAgain again;
  again.better = plan.value;
  const Budget whole(run, stop_flag);
  for (const std::string_view name : kProvers) {
    const Solver* solver = findSolver(name);
    if (solver == nullptr || !solver->accepts(problem) || sameRoute(name, plan.proof)) continue;
    if (whole.stopped()) break;
    RunOptions part = run;
    part.solver = name;
    part.time_limit_seconds = std::max(0.0, run.time_limit_seconds - whole.elapsedSeconds());
    const SolveOutcome outcome = solve(problem, part, &plan, stop_flag);
    if (!outcome.plan.hasPlan()) continue;
    again.better = std::min(again.better, outcome.plan.value);
    again.bound = std::max(again.bound, outcome.plan.bound);
    again.proved = plan.value - again.bound <= kOptimalGap * plan.value;
    if (again.proved || again.better < plan.value * (1 - kOptimalGap)) {
      again.by = name;
      break;
    }
  }
  return again;
}

}  // namespace allot
