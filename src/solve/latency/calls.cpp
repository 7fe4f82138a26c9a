#include "solve/latency/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "problem/calls_model.h"
#include "solve/latency/calls_pack.h"
#include "solve/latency/calls_search.h"

namespace allot {
namespace {

constexpr std::string_view kName = "calls";
constexpr std::size_t kMostOps = 8192;  // reachability takes ops^2 bits
constexpr std::size_t kBeam = 2000;
constexpr double kEqual = 1e-10;  // what rounding and dropped near-ties may cost, relative

}  // namespace

bool callsAccepts(const Problem& problem) {
  return isCallsModel(problem) && problem.opCount() <= kMostOps;
}

SolveResult solveCalls(const Problem& problem, const Budget& budget, Progress& progress) {
  const CallItems items(problem);
  if (!items.suitable || items.poolCount() > kMostCallPools) return {SolveEnd::kNotSuitable, ""};
  const CallGraphFacts facts(items);
  const bool once = problem.modes.calls == 1;
  std::vector<std::uint32_t> calls;
  for (const CallPool& pool : items.pools) {
    const std::size_t most = std::min({pool.devices.size() * std::size_t{problem.modes.calls},
                                       items.itemCount(), std::size_t{kMostCallsOfPool} + 1});
    if (most > kMostCallsOfPool) return {SolveEnd::kNotSuitable, ""};
    calls.push_back(static_cast<std::uint32_t>(most));
  }
  const auto report = [&](const CallSearchOutcome& outcome) {
    return outcome.found && progress.plan(packCalls(items, outcome.parts, budget), kName);
  };
  CallSearchLimits limits;
  limits.below = progress.bestValue();
  limits.beam = kBeam;
  CallSearchOutcome outcome = searchCalls(facts, calls, once, limits, budget);
  report(outcome);
  if (!outcome.complete) {
    if (budget.stopped()) return {SolveEnd::kStopped, ""};
    limits.beam = 0;
    limits.below = progress.bestValue();
    if (budget.work_limit > 0) limits.most_labels = budget.work_limit * 100;
    outcome = searchCalls(facts, calls, once, limits, budget);
    if (outcome.bound < std::numeric_limits<double>::infinity())
      progress.bound(outcome.bound * (1 - kEqual), kName);
    if (!outcome.complete) return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
    report(outcome);
  }
  const double least = (outcome.found ? outcome.value : limits.below) * (1 - kEqual);
  if (least == std::numeric_limits<double>::infinity()) return {SolveEnd::kExhausted, "no plan exists"};
  progress.bound(least, kName);
  const std::string proof = fmt::format("every plan below the value ruled out: {} labels over {} modules",
                                        outcome.labels, facts.cuts.size() - 1);
  const bool met = progress.bestValue() <= least * (1 + 3 * kEqual);
  return {met ? SolveEnd::kExhausted : SolveEnd::kFinished, proof};
}

}  // namespace allot
