#include "solve/exhaustive/exhaustive.h"

#include <fmt/format.h>

#include <cmath>

#include "problem/calls_model.h"

namespace allot {
namespace {

// Logarithm of the number of assignments.
double logPlacements(const Problem& problem) {
  double sum = 0;
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    int devices = 0;
    for (std::size_t d = 0; d < problem.deviceCount(); ++d)
      devices += problem.allowed(UnitId(u), DeviceId(d)) ? 1 : 0;
    sum += std::log(std::max(1, devices));
  }
  return sum;
}

constexpr std::uint64_t kMaxSteps = 1'000'000;  // a second or two

}  // namespace

Steps::Steps(const Budget& budget)
    : budget_(budget), limit_(budget.work_limit > 0 ? budget.work_limit : kMaxSteps) {}

bool exhaustiveAccepts(const Problem& problem) {
  if (problem.opCount() > 40 || problem.deviceCount() > 16) return false;
  const double placements = logPlacements(problem);
  if (problem.goal() == Goal::kThroughput) return placements < std::log(5e6);
  if (isCallsModel(problem)) {
    const double labels = std::log(1.0 + problem.modes.calls) * static_cast<double>(problem.opCount());
    return placements + labels < std::log(5e7);
  }
  return problem.opCount() <= 12 && placements < std::log(1e6);
}

std::vector<DeviceId> assignmentOf(const Problem& problem, const std::vector<DeviceId>& choice) {
  std::vector<DeviceId> assignment(problem.opCount());
  for (std::size_t i = 0; i < assignment.size(); ++i) assignment[i] = choice[problem.unit(OpId(i)).index()];
  return assignment;
}

SolveResult solveExhaustive(const Problem& problem, const Budget& budget, Progress& progress) {
  Steps steps(budget);
  bool whole = false;
  if (problem.goal() == Goal::kThroughput)
    whole = exhaustPipelines(problem, progress, steps);
  else if (isCallsModel(problem))
    whole = exhaustCalls(problem, progress, steps);
  else
    whole = exhaustSchedules(problem, progress, steps);
  if (!whole) return {steps.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
  return {SolveEnd::kExhausted, fmt::format("exhaustive search, {} complete plans valued", steps.plans)};
}

}  // namespace allot
