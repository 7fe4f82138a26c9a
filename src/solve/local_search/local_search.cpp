#include "solve/local_search/local_search.h"

#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "problem/calls_model.h"
#include "solve/packing.h"

namespace allot {
namespace {

constexpr double kHot = 0.03, kCold = 1e-5;  // temperatures as shares of the start's value
constexpr double kOpsBetweenPolls = 100'000;

}  // namespace

Annealing::Annealing(const Budget& budget, std::uint64_t chain, std::uint64_t moves, double scale,
                     double ops_per_move)
    : budget_(budget),
      random_(budget.seed, chain),
      moves_(budget.work_limit > 0 ? budget.work_limit / kChains : moves),
      poll_(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kOpsBetweenPolls / (ops_per_move + 1)))),
      scale_(scale),
      temperature_(kHot * scale) {}

bool Annealing::next() {
  if (done_ >= moves_ || (done_ % poll_ == 0 && budget_.stopped())) return false;
  const double share = static_cast<double>(done_) / static_cast<double>(moves_);
  if (done_ % 64 == 0) temperature_ = scale_ * kHot * std::pow(kCold / kHot, share);
  ++done_;
  return true;
}

bool Annealing::accept(double delta) {
  return delta <= 0 || random_.unit() < std::exp(-delta / temperature_);
}

SolveResult solveLocalSearch(const Problem& problem, const Budget& budget, Progress& progress) {
  Plan start;
  if (progress.bestPlan() != nullptr) {
    start = *progress.bestPlan();
  } else {
    Packing packing = pack(problem, budget);
    if (packing.end == PackingEnd::kNone)
      return {SolveEnd::kExhausted, "no assignment fits the memory of the devices"};
    if (packing.end == PackingEnd::kUnknown) return {SolveEnd::kStopped, ""};
    start.modes = problem.modes;
    start.assignment = std::move(packing.assignment);
  }
  const auto anneal = problem.goal() == Goal::kThroughput ? annealPipeline
                      : isCallsModel(problem)             ? annealCalls
                                                          : annealSchedule;
  std::vector<ChainResult> results(kChains);
  parallelFor(kChains, budget.threads, [&](std::size_t chain) {
    if (!budget.stopped()) results[chain] = anneal(problem, budget, start, chain);
  });
  // By value, the earlier chain on a tie: the same report for any number of threads.
  std::stable_sort(results.begin(), results.end(),
                   [](const ChainResult& a, const ChainResult& b) { return a.value < b.value; });
  for (ChainResult& result : results) {
    if (!std::isfinite(result.value)) break;
    if (problem.goal() == Goal::kThroughput && problem.modes.replicate) {
      progress.plan(addReplicas(problem, result.decisions), "local-search");
    }
    progress.plan(std::move(result.decisions), "local-search");
  }
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace allot
