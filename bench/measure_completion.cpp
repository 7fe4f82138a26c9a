// The portfolio for several models against every rule in use today: how often it is worse (never), and how
// much better it is, on random problems with links and memory.
//
// Usage: allot_bench_completion [problems] [work limit] [seed of the first]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "allot/solve.h"
#include "solve/collector.h"
#include "support/random_models.h"

int main(int argc, char** argv) {
  using namespace allot;
  const auto problems = static_cast<std::uint64_t>(argc > 1 ? std::atoi(argv[1]) : 2000);
  const auto first = static_cast<std::uint64_t>(argc > 3 ? std::atoi(argv[3]) : 0);
  RunOptions run;
  run.work_limit = static_cast<std::uint64_t>(argc > 2 ? std::atoi(argv[2]) : 200);
  run.threads = 1;
  run.helpers = Helpers::kOff;
  struct Tally {
    std::size_t plans = 0, worse = 0;
    double ratio = 0;  // sum of its value / ours
  };
  std::map<std::string, Tally> rules;
  std::size_t planned = 0, wrong = 0, optimal = 0, worse = 0;
  double best_ratio = 0, gap = 0;
  std::size_t compared = 0;
  for (std::uint64_t seed = first; seed < first + problems; ++seed) {
    const Problem problem = randomModels(seed, 2 + seed % 4, 4 + seed % 7);
    const SolveOutcome ours = solve(problem, run);
    wrong += ours.message.empty() ? 0 : 1;
    planned += ours.plan.hasPlan() ? 1 : 0;
    optimal += ours.plan.status == Status::kOptimal ? 1 : 0;
    if (ours.plan.hasPlan()) gap += ours.plan.gap();
    double best = kCannotRun;
    for (const Solver& solver : solvers()) {
      if (solver.name == "packing") break;  // rules in use today come first
      if (!solver.accepts(problem)) continue;
      const Budget budget(run, nullptr);
      Collector collector(problem, budget, {});
      solver.solve(problem, budget, collector);
      const double theirs = collector.bestValue();
      if (!std::isfinite(theirs)) continue;
      Tally& tally = rules[std::string(solver.name)];
      ++tally.plans;
      tally.ratio += theirs / ours.plan.value;
      if (!(ours.plan.value <= theirs * (1 + 1e-12))) {
        ++tally.worse;
        ++worse;
      }
      best = std::min(best, theirs);
    }
    if ((seed + 1) % 200 == 0) fmt::print(stderr, "{} problems, worse {} times\n", seed + 1, worse);
    if (best != kCannotRun) {
      best_ratio += best / ours.plan.value;
      ++compared;
    }
  }
  fmt::print(
      "{} problems: {} planned, {} optimal, {} internal errors, mean gap {:.2f}%; worse than a rule {} "
      "times; best rule {:.4f}x ours\n",
      problems, planned, optimal, wrong, 100 * gap / static_cast<double>(std::max<std::size_t>(1, planned)),
      worse, best_ratio / static_cast<double>(std::max<std::size_t>(1, compared)));
  for (const auto& [rule, tally] : rules)
    fmt::print("  {:<28} {} plans, {:.3f}x ours, better {} times\n", rule, tally.plans,
               tally.ratio / static_cast<double>(tally.plans), tally.worse);
}
