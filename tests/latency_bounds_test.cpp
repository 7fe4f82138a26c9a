#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include "allot/evaluate.h"
#include "allot/formats.h"
#include "allot/solve.h"
#include "base/random.h"
#include "solve/latency/schedule_bound.h"
#include "solve/latency/windows.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Budget workBudget(std::uint64_t nodes) {
  RunOptions run;
  run.work_limit = nodes;
  run.threads = 1;
  return Budget(run, nullptr);
}

// Keeps the best of what is reported and the order of bounds.
class Recorder : public Progress {
 public:
  Recorder(const Problem& problem, double value) : problem_(problem), value_(value) {}

  bool plan(Plan decisions, std::string_view) override {
    const Evaluation evaluated = evaluate(problem_, std::move(decisions));
    if (!evaluated.valid() || !(evaluated.plan.value < value_)) return false;
    value_ = evaluated.plan.value;
    return true;
  }
  void bound(double bound, std::string_view) override { bounds.push_back(bound); }
  double bestValue() const override { return value_; }
  double bestBound() const override { return bounds.empty() ? 0 : bounds.back(); }
  const Plan* bestPlan() const override { return nullptr; }
  bool done() const override { return value_ < kInfinity && value_ - bestBound() <= kOptimalGap * value_; }

  std::vector<double> bounds;

 private:
  const Problem& problem_;
  double value_;
};

bool isEvents(const Problem& problem) {
  return problem.modes.model == LatencyModel::kEvents;
}

// Ops with unrelated times, each read by a few of those that follow closely; transfers take as long as ops.
Problem windowProblem(std::uint32_t ops, std::uint32_t devices, std::uint32_t window, LinkMode mode,
                      std::uint64_t seed) {
  Random random(seed, 3);
  Problem problem;
  problem.modes.goal = Goal::kLatency;
  problem.modes.link_mode = mode;
  for (std::uint32_t d = 0; d < devices; ++d) {
    DeviceClass cls;
    cls.name = "k" + std::to_string(d);
    problem.cluster.classes.push_back(cls);
    Device device;
    device.name = "d" + std::to_string(d);
    device.cls = ClassId(d);
    problem.cluster.devices.push_back(device);
  }
  problem.graph.model_name.push_back("m");
  problem.model_weight.push_back(1);
  problem.model_release.push_back(0);
  for (std::uint32_t i = 0; i < ops; ++i) {
    problem.graph.addOp("o" + std::to_string(i));
    for (std::uint32_t d = 0; d < devices; ++d) problem.op_seconds.push_back(1 + 0.25 * random.below(80));
  }
  for (std::uint32_t i = 0; i < ops; ++i) {
    for (std::uint32_t k = 0, outputs = 1 + random.below(3); k < outputs; ++k) {
      const std::uint32_t reader = i + 1 + random.below(window);
      if (reader >= ops) continue;
      const OpId consumer(reader);
      problem.addTensor(OpId(i), {&consumer, 1}, 1, 0.25 + 0.25 * random.below(60));
    }
  }
  EXPECT_TRUE(problem.finish());
  return problem;
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

void expectBelow(const Problem& problem, double best, std::uint64_t seed) {
  const ScheduleModel model(problem);
  for (const double known : {kInfinity, best}) {
    Recorder recorder(problem, known);
    const ScheduleBoundReport report = scheduleBound(model, workBudget(2000), recorder);
    EXPECT_LE(report.bound, best) << "seed " << seed << " " << describe(problem);
    EXPECT_FALSE(report.impossible) << "seed " << seed << " " << describe(problem);
    EXPECT_GE(recorder.bestValue(), best) << "seed " << seed << " " << describe(problem);
    EXPECT_TRUE(std::is_sorted(recorder.bounds.begin(), recorder.bounds.end()));
  }
}

TEST(ScheduleBound, IsNeverAboveTheOptimum) {
  int problems = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {5, 3});
    if (!isEvents(problem) || findConflict(problem)) continue;
    RunOptions run;
    run.solver = "exhaustive";
    run.work_limit = 50'000;
    run.threads = 1;
    const SolveOutcome outcome = solve(problem, run);
    if (outcome.plan.status != Status::kOptimal) continue;
    expectBelow(problem, outcome.plan.value, seed);
    ++problems;
  }
  EXPECT_GT(problems, 2000);
}

TEST(ScheduleBound, IsNeverAboveEnumeration) {
  int problems = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {4, 2});
    if (!isEvents(problem) || problem.modes.memory == MemoryModel::kLive || findConflict(problem)) continue;
    const std::optional<double> best = bruteForce(problem);
    if (!best) continue;
    expectBelow(problem, *best, seed);
    ++problems;
  }
  EXPECT_GT(problems, 300);
}

TEST(ScheduleBound, ProvesWhatItFindsOnSmallGraphs) {
  int proven = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const LinkMode mode : {LinkMode::kFree, LinkMode::kFullDuplex, LinkMode::kHalfDuplex}) {
      const Problem problem = windowProblem(16, 3, 5, mode, seed);
      RunOptions run;
      run.solver = "schedule-bound";
      run.threads = 1;
      run.work_limit = 100'000;
      const SolveOutcome outcome = solve(problem, run);
      EXPECT_TRUE(outcome.message.empty()) << outcome.message;
      EXPECT_LE(outcome.plan.bound, outcome.plan.value);
      proven += outcome.plan.status == Status::kOptimal;
    }
  }
  EXPECT_GE(proven, 30);
}

TEST(ScheduleBound, AddsUpPartsBetweenBarriers) {
  // a, then b and c side by side, then d, then e and f side by side, then g; every op takes 2 on either
  // device, every transfer 3. To use the other device takes two transfers, 6, longer than the second op, 2:
  // all seven ops run one after the other, 14. Paths alone say 10, the work on two devices 7.
  Problem problem;
  problem.modes.goal = Goal::kLatency;
  problem.cluster.classes.emplace_back();
  problem.cluster.classes.back().name = "k";
  for (const char* name : {"x", "y"}) {
    Device device;
    device.name = name;
    device.cls = ClassId(0);
    problem.cluster.devices.push_back(device);
  }
  problem.graph.model_name.push_back("m");
  problem.model_weight.push_back(1);
  problem.model_release.push_back(0);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    problem.graph.addOp(name);
    problem.op_seconds.push_back(2);
  }
  const std::pair<int, int> edges[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {4, 6}, {5, 6}};
  for (const auto& [from, to] : edges) {
    const OpId consumer(static_cast<std::uint32_t>(to));
    problem.addTensor(OpId(static_cast<std::uint32_t>(from)), {&consumer, 1}, 1, 3);
  }
  ASSERT_TRUE(problem.finish());
  EXPECT_NEAR(lowerBound(problem), 10, 1e-9);
  Recorder recorder(problem, kInfinity);
  scheduleBound(ScheduleModel(problem), workBudget(1000), recorder);
  EXPECT_NEAR(recorder.bestBound(), 14, 1e-8);
  EXPECT_EQ(recorder.bestValue(), 14);
}

TEST(ScheduleBound, RepeatsUnderAWorkLimit) {
  const Problem problem = windowProblem(60, 3, 8, LinkMode::kFullDuplex, 5);
  const ScheduleModel model(problem);
  Recorder first(problem, kInfinity), second(problem, kInfinity), more(problem, kInfinity);
  scheduleBound(model, workBudget(3000), first);
  scheduleBound(model, workBudget(3000), second);
  scheduleBound(model, workBudget(30'000), more);
  EXPECT_EQ(first.bounds, second.bounds);
  EXPECT_EQ(first.bestValue(), second.bestValue());
  EXPECT_GE(more.bestBound(), first.bestBound());
}

TEST(ScheduleBound, StopsInTime) {
  for (const std::uint32_t ops : {300u, 1400u, 5000u, 50'000u}) {
    const Problem problem = windowProblem(ops, 8, 30, LinkMode::kFullDuplex, 2);
    const ScheduleModel model(problem);
    RunOptions run;
    run.time_limit_seconds = 0.3;
    run.threads = 1;
    const Budget budget(run, nullptr);
    Recorder recorder(problem, kInfinity);
    scheduleBound(model, budget, recorder);
    EXPECT_LT(budget.elapsedSeconds(), 0.3 + 1) << ops;  // 50 ms on an idle machine
    EXPECT_GT(recorder.bestBound(), 0);
  }
}

struct Published {
  const char* file;
  LinkMode mode;
  double value;  // milliseconds, of a known plan
  double bound;  // that must be reached
};

void PrintTo(const Published& published, std::ostream* out) {
  *out << published.file << " " << name(published.mode);
}

class PublishedLatency : public testing::TestWithParam<Published> {};

TEST_P(PublishedLatency, BoundIsStrongAndBelowKnownPlans) {
  const char* data = std::getenv("ALLOT_DATA");
  if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published graphs";
  const std::string path = std::string(data) + "/moirai/" + GetParam().file;
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  Warnings warnings;
  auto problem = readProblem(text.str(), path, {}, nullptr, warnings);
  ASSERT_TRUE(problem) << problem.error().text();
  Modes modes = problem->modes;
  modes.goal = Goal::kLatency;
  modes.link_mode = GetParam().mode;
  ASSERT_TRUE(problem->setModes(modes));
  Recorder recorder(*problem, kInfinity);
  scheduleBound(ScheduleModel(*problem), workBudget(30'000), recorder);
  EXPECT_LE(recorder.bestBound() * 1e3, GetParam().value * (1 + 1e-9));
  EXPECT_GE(recorder.bestBound() * 1e3, GetParam().bound);
}

INSTANTIATE_TEST_SUITE_P(Moirai, PublishedLatency,
                         testing::Values(Published{"googlenet.json", LinkMode::kFree, 1.24132, 1.24131},
                                         Published{"googlenet.json", LinkMode::kFullDuplex, 1.27811, 1.2781},
                                         Published{"googlenet.json", LinkMode::kHalfDuplex, 1.27811, 1.2781},
                                         Published{"yolov5x.json", LinkMode::kFree, 23.502, 23.5019},
                                         Published{"yolov5x.json", LinkMode::kFullDuplex, 23.745, 23.7449},
                                         Published{"inceptionv4.json", LinkMode::kFree, 9.95, 9.4},
                                         Published{"inceptionv4.json", LinkMode::kFullDuplex, 10.05, 9.5},
                                         Published{"transformer.json", LinkMode::kFree, 17.7, 17},
                                         Published{"transformer.json", LinkMode::kFullDuplex, 20.8, 17}));

}  // namespace
}  // namespace allot
