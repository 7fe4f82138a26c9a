#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "allot/formats.h"
#include "allot/solve.h"
#include "base/random.h"
#include "solve/latency/refute.h"
#include "solve/latency/schedule_bound.h"
#include "solve/latency/windows.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Budget budgetOf(double seconds, std::uint64_t work_limit = 0) {
  RunOptions run;
  run.time_limit_seconds = seconds;
  run.work_limit = work_limit;
  run.threads = 1;
  return Budget(run, nullptr);
}

bool isEvents(const Problem& problem) {
  return problem.modes.model == LatencyModel::kEvents;
}

// Best makespan over all orders of a machine, with heads and tails.
double bestOrder(std::vector<Activity> set) {
  std::vector<std::size_t> order(set.size());
  std::iota(order.begin(), order.end(), 0);
  double best = kInfinity;
  do {
    double now = 0, end = 0;
    for (const std::size_t i : order) {
      now = std::max(now, set[i].head) + set[i].length;
      end = std::max(end, now + set[i].tail);
    }
    best = std::min(best, end);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Windows, RefuseNothingThatFits) {
  Random random(1);
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<Activity> set;
    for (std::uint32_t i = 0, n = 1 + random.below(5); i < n; ++i)
      set.push_back({1.0 * random.below(8), 1.0 + random.below(5), random.below(9) - 1.0});
    const double best = bestOrder(set);
    Windows windows;
    std::vector<Activity> copy = set;
    EXPECT_EQ(windows.overfull(copy, best), 0);
    const Activity last = set.back();
    set.pop_back();
    windows.prepare(set);
    EXPECT_EQ(windows.overfullWith(last, best), 0);
    refused += windows.overfullWith(last, best - 1) > 0;
  }
  EXPECT_GT(refused, 1000);
}

TEST(Windows, TakeOneAfterAnotherIntoAccount) {
  // Heads 0, 2, 2, lengths 3, 2, 2, tails 0, 4, 1: the second runs from 2, the rest after it: 2 + 2 + 2 + 1
  // for the last, and 7 for the first, which was interrupted.
  Windows windows;
  std::vector<Activity> set = {{0, 3, 0}, {2, 2, 4}, {2, 2, 1}};
  EXPECT_EQ(windows.overfull(set, 7.9), 8);
  EXPECT_EQ(windows.overfull(set, 8), 0);
}

TEST(ScheduleBound, IsNeverAboveTheOptimum) {
  int problems = 0, tight = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {5, 3});
    if (!isEvents(problem) || findConflict(problem)) continue;
    const std::optional<double> best = bruteForce(problem);
    if (!best) continue;
    const ScheduleModel model(problem);
    const ScheduleBoundReport free = scheduleBound(model, kInfinity, budgetOf(10, 2000), {});
    EXPECT_LE(free.bound, *best) << "seed " << seed << " " << describe(problem);
    const ScheduleBoundReport aimed = scheduleBound(model, *best, budgetOf(10, 2000), {});
    EXPECT_LE(aimed.bound, *best) << "seed " << seed << " " << describe(problem);
    ++problems;
    tight += aimed.bound >= *best * (1 - 1e-9);
  }
  EXPECT_GT(problems, 1000);
  RecordProperty("tight", tight);
  std::printf("tight %d of %d\n", tight, problems);
}

}  // namespace
}  // namespace allot
