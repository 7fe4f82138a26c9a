// The flow of job queues: an exact optimum where the network is exact, the same after changes as from
// scratch, and of use to the planner.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "allot/online.h"
#include "base/random.h"
#include "flow/certificate.h"
#include "solve/online/engine_state.h"
#include "support/online_log.h"
#include "support/online_problem.h"

namespace allot {
namespace {

using online::EngineState;
using online::QueueFlow;

std::unique_ptr<EngineState> stateFor(const Problem& problem, const OnlineOptions& options = {}) {
  auto plans = online::modelPlansOf(problem);
  EXPECT_TRUE(plans);
  return std::make_unique<EngineState>(problem, options, std::move(*plans));
}

std::vector<std::uint32_t> waitingJobs(const EngineState& state) {
  std::vector<std::uint32_t> jobs;
  for (const std::uint32_t j : state.world.open_jobs) {
    if (state.world.jobs[j].waiting > 0) jobs.push_back(j);
  }
  return jobs;
}

double response(const EngineState& state) {
  double sum = 0;
  for (const online::Job& job : state.world.jobs)
    sum += job.report.weight * (job.report.completion - job.report.arrival);
  return sum;
}

void run(EngineState& state, const std::vector<OnlineEvent>& events) {
  bool changed = false;
  for (const OnlineEvent& event : events) {
    if (changed && event.time > state.world.now) state.replan();
    changed = state.apply(event).has_value();
    EXPECT_TRUE(changed);
  }
  state.replan();
  state.advance(online::kNever);
}

// Least sum of completions of whole jobs: all assignments, the shortest first on each device.
double bestSum(const std::vector<std::vector<double>>& seconds, std::size_t devices) {
  double best = online::kNever;
  std::vector<std::vector<double>> on(devices);
  const std::function<void(std::size_t)> place = [&](std::size_t job) {
    if (job == seconds.size()) {
      double sum = 0;
      for (std::vector<double> list : on) {
        std::sort(list.begin(), list.end());
        for (std::size_t i = 0; i < list.size(); ++i) sum += list[i] * static_cast<double>(list.size() - i);
      }
      best = std::min(best, sum);
      return;
    }
    for (std::size_t d = 0; d < devices; ++d) {
      on[d].push_back(seconds[job][d]);
      place(job + 1);
      on[d].pop_back();
    }
  };
  place(0);
  return best;
}

TEST(OnlineFlow, IsTheOptimumOfWholeJobsOnUnlikeDevices) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed, 41);
    OnlineShape shape;
    shape.models = 1 + random.below(4);
    shape.ops = 1;
    shape.devices = 2 + random.below(3);
    shape.kinds = 1 + random.below(3);
    const Problem problem = onlineProblem(seed, shape);
    const auto state = stateFor(problem);
    std::vector<std::vector<double>> seconds;
    const std::uint32_t jobs = 1 + random.below(6);
    for (std::uint32_t j = 0; j < jobs; ++j) {
      OnlineEvent event;
      event.job = "j" + std::to_string(j);
      event.model = ModelId(random.below(shape.models));
      ASSERT_TRUE(state->apply(event));
      seconds.emplace_back();
      for (std::size_t d = 0; d < problem.deviceCount(); ++d)
        seconds.back().push_back(problem.opSeconds(OpId(event.model.index()), DeviceId(d)));
    }
    QueueFlow queues(state->world);
    ASSERT_TRUE(queues.assign(waitingJobs(*state)));
    // The sum that these homes give: in a group the shortest first, on the device that is free first.
    double sum = 0;
    for (std::uint32_t g = 0; g < queues.groupCount(); ++g) {
      std::vector<double> here;
      for (std::uint32_t j = 0; j < jobs; ++j) {
        for (std::size_t d = 0; queues.homeOf(j) == g && d < problem.deviceCount(); ++d) {
          if (queues.groupOf(DeviceId(d)) != g) continue;
          here.push_back(seconds[j][d]);
          break;
        }
      }
      std::sort(here.begin(), here.end());
      std::vector<double> free(queues.devicesOf(g), 0);
      for (const double time : here) {
        double& first = *std::min_element(free.begin(), free.end());
        first += time;
        sum += first;
      }
    }
    const double best = bestSum(seconds, problem.deviceCount());
    EXPECT_NEAR(sum, best, 1e-5 * best) << seed;
  }
}

// Events in any order: the kept network costs what a new one does, and proves it.
TEST(OnlineFlow, ChangesGiveWhatANewNetworkGives) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    OnlineShape shape = randomShape(seed);
    shape.devices = 3 + seed % 4;
    shape.memory = false;
    const Problem problem = onlineProblem(seed, shape);
    const auto state = stateFor(problem);
    QueueFlow kept(state->world);
    std::vector<OnlineEvent> events = randomEvents(problem, seed, 60, 2);
    Random random(seed, 42);
    for (OnlineEvent& event : events) {
      if (event.kind == EventKind::kArrive && seed % 3 == 0) event.weight = random.below(5);
      if (event.time > state->world.now) state->replan();
      ASSERT_TRUE(state->apply(event)) << seed;
      const std::vector<std::uint32_t> jobs = waitingJobs(*state);
      QueueFlow fresh(state->world);
      const bool some = fresh.assign(jobs);
      ASSERT_EQ(kept.assign(jobs), some) << seed;
      if (!some) continue;
      EXPECT_EQ(kept.network().cost(), fresh.network().cost()) << seed;
      // The kept network has dropped blocks since it was solved; they carried nothing.
      const auto proven = flow::checkOptimal(kept.network().certificate());
      ASSERT_TRUE(proven) << seed << ' ' << proven.error().text();
      EXPECT_EQ(*proven, kept.network().cost()) << seed;
      for (const std::uint32_t j : jobs) EXPECT_LT(kept.homeOf(j), kept.groupCount()) << seed;
    }
  }
}

// More waits than exchanges of neighbours can set right.
TEST(OnlineFlow, ShortensResponseWhereUnlikeDevicesAreBusy) {
  double with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    OnlineShape shape;
    shape.models = 8;
    shape.ops = 6;
    shape.devices = 4;
    shape.kinds = 3;
    const Problem problem = onlineProblem(seed, shape);
    for (const bool use : {true, false}) {
      const auto state = stateFor(problem);
      state->planner.use_queues = use;
      run(*state, randomEvents(problem, seed, 150, 1.5, true));
      (use ? with : without) += response(*state);
    }
  }
  EXPECT_LT(with, 0.95 * without) << with / without;
}

// Both jobs want the gpu next; the one that loses less on the cpu makes way, and the log says why.
TEST(OnlineFlow, AJobMakesWayForOneThatGainsMore) {
  OnlineShape shape;
  shape.models = 2;
  shape.ops = 1;
  shape.devices = 2;
  Problem problem = onlineProblem(1, shape);
  problem.op_seconds = {21, 10, 100, 10};  // [op][class]
  ASSERT_TRUE(problem.finish());
  const auto state = stateFor(problem);
  OnlineEvent event;
  for (const char* job : {"first", "easy", "hard"}) {
    event.job = job;
    event.model = ModelId(event.job == "easy" ? 0 : 1);
    ASSERT_TRUE(state->apply(event));
    state->replan();
    event.time += 0.125;
  }
  const Decision move = state->decisions.back();
  EXPECT_EQ(move.kind, DecisionKind::kMove);
  EXPECT_EQ(move.why, "leaves d1 to jobs that gain more there");
  state->advance(online::kNever);
  EXPECT_EQ(state->world.jobs[1].report.completion, 0.25 + 21);
  EXPECT_EQ(state->world.jobs[2].report.completion, 20);
}

}  // namespace
}  // namespace allot
