// Linear orders, refinement and multilevel search: valid on tiny problems of every mode, close to the bound
// on wide graphs, the same for any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "solve/throughput/chain_refine.h"
#include "solve/throughput/linear_dp.h"
#include "solve/throughput/linear_dp_split.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/wide_graphs.h"

namespace allot {
namespace {

using Kind = OrderRule::Kind;

RunOptions runOptions(const char* solver, std::uint32_t threads = 1) {
  RunOptions run;
  run.solver = solver;
  run.threads = threads;
  run.time_limit_seconds = 600;
  return run;
}

Problem must(Result<Problem> problem) {
  EXPECT_TRUE(problem.has_value());
  return std::move(*problem);
}

constexpr std::array<OrderRule, 8> kRules{{{Kind::kGiven, false, 0, 0},
                                           {Kind::kGiven, true, 0, 0},
                                           {Kind::kDepth, false, 1, 1},
                                           {Kind::kDepth, true, 0, 0},
                                           {Kind::kBreadth, false, 0, 0},
                                           {Kind::kLevel, true, 1, 2},
                                           {Kind::kFrontier, false, 0, 0},
                                           {Kind::kFrontier, true, 1, 3}}};

TEST(WideGraphs, PlansOfTinyProblemsAreNeverBelowTheOptimum) {
  std::size_t chains = 0, found = 0, best = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {});
    const auto optimum = bruteForce(problem);
    chains += problem.modes.contiguity == Contiguity::kChain && optimum;
    for (const char* solver : {"linear-dp", "beam", "multilevel"}) {
      const SolveOutcome outcome = solve(problem, runOptions(solver));
      ASSERT_EQ(outcome.message, "") << solver << " on " << describe(problem) << " seed " << seed;
      if (!outcome.plan.hasPlan()) continue;
      ASSERT_TRUE(optimum.has_value()) << solver << " on " << describe(problem) << " seed " << seed;
      EXPECT_GE(outcome.plan.value, *optimum * (1 - 1e-9))
          << solver << " on " << describe(problem) << " seed " << seed;
      if (problem.modes.contiguity != Contiguity::kChain || solver != std::string_view("linear-dp")) continue;
      ++found;
      best += outcome.plan.value <= *optimum * (1 + 1e-9);
    }
  }
  // Heuristics may miss plans; these numbers only say that they rarely do.
  EXPECT_GE(static_cast<double>(found), 0.99 * static_cast<double>(chains));
  EXPECT_GE(static_cast<double>(best), 0.85 * static_cast<double>(found));
}

// Under via-host transfers and added parts the model's value of a plan is the plan's value.
TEST(WideGraphs, TheModelValuesPlansAsTheEvaluatorDoes) {
  std::size_t compared = 0;
  const Budget budget(runOptions(""), nullptr);
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {9, 4});
    if (problem.transfers() != Transfers::kViaHost || problem.modes.training_load == TrainingLoad::kMaxParts)
      continue;
    const LineModel model(problem);
    for (const OrderRule& rule : kRules) {
      const auto order = makeOrder(model, rule, {}, budget);
      ASSERT_EQ(order.size(), model.item_count);
      const LinePlan line = splitLine(model, order, {}, budget);
      if (!line.found()) continue;
      const Evaluation evaluated = evaluate(problem, model.toPlan(line));
      ASSERT_TRUE(evaluated.valid()) << describe(problem) << " seed " << seed << ": "
                                     << evaluated.violations.front();
      ASSERT_NEAR(evaluated.plan.value, line.value, 1e-9 * (1 + line.value)) << describe(problem) << seed;
      ++compared;
      const LinePlan refined =
          refineChain(model, line, {.moves = 2000, .first_acceptance = 0.5, .seed = seed}, budget);
      const Evaluation again = evaluate(problem, model.toPlan(refined));
      ASSERT_TRUE(again.valid()) << describe(problem) << " seed " << seed;
      ASSERT_NEAR(again.plan.value, refined.value, 1e-9 * (1 + refined.value)) << describe(problem) << seed;
      ASSERT_LE(refined.value, line.value * (1 + 1e-9));
    }
  }
  EXPECT_GT(compared, 1000u);
}

TEST(WideGraphs, OrdersAreTopologicalAndKeepStages) {
  const Problem problem = must(layeredGraph(600, 20, {}));
  const LineModel model(problem);
  const Budget budget(runOptions(""), nullptr);
  const LinePlan plan = bestSplit(model, kRules, {}, kCannotRun, budget);
  ASSERT_TRUE(plan.found());
  for (const OrderRule& rule : kRules) {
    for (const bool staged : {false, true}) {
      const auto order = makeOrder(
          model, rule,
          staged ? std::span<const std::uint32_t>(plan.stage_of) : std::span<const std::uint32_t>(), budget);
      std::vector<std::uint32_t> place(model.item_count, UINT32_MAX);
      for (std::uint32_t p = 0; p < order.size(); ++p) place[order[p]] = p;
      for (std::uint32_t i = 0; i < model.item_count; ++i) {
        ASSERT_NE(place[i], UINT32_MAX);
        for (const std::uint32_t next : model.after[i]) ASSERT_LT(place[i], place[next]);
      }
      for (std::uint32_t p = 1; staged && p < order.size(); ++p)
        ASSERT_LE(plan.stage_of[order[p - 1]], plan.stage_of[order[p]]);
    }
  }
}

TEST(WideGraphs, RefiningDoesNotDependOnTheUnitOfTime) {
  const Problem problem = must(gridGraph(20, 20, {.devices = 4, .unlike = true}));
  const LineModel model(problem);
  LineModel longer = model;
  for (auto* times : {&longer.seconds, &longer.send, &longer.receive}) {
    for (double& time : *times) time *= 1024;
  }
  const Budget budget(runOptions(""), nullptr);
  const LinePlan start = bestSplit(model, kRules, {}, kCannotRun, budget);
  for (const double acceptance : {0.03, 0.4, 0.9}) {
    const RefineOptions options{.moves = 200'000, .first_acceptance = acceptance};
    const LinePlan refined = refineChain(model, start, options, budget);
    EXPECT_LT(refined.value, start.value) << acceptance;
    EXPECT_EQ(refineChain(longer, start, options, budget).stage_of, refined.stage_of) << acceptance;
  }
}

TEST(WideGraphs, RefiningCoolsDownWithinItsTime) {
  const Problem problem = must(gridGraph(20, 20, {.devices = 4}));
  const LineModel model(problem);
  const Budget budget(runOptions(""), nullptr);
  const LinePlan start = bestSplit(model, std::span(kRules).first(1), {}, kCannotRun, budget);
  const LinePlan refined = refineChain(
      model, start, {.moves = 1'000'000'000'000, .seconds = 0.2, .first_acceptance = 0.9}, budget);
  EXPECT_LT(budget.elapsedSeconds(), 60);
  // Nearly all moves are taken at first: only a cold end is better than the start.
  EXPECT_LT(refined.value, start.value);
}

// A coarse plan is a plan of the fine graph with the same loads.
TEST(WideGraphs, CoarserModelsKeepValues) {
  const Problem problem = must(gridGraph(20, 20, {.devices = 4, .unlike = true}));
  const LineModel model(problem);
  const Budget budget(runOptions(""), nullptr);
  const auto order = makeOrder(model, {Kind::kFrontier, false, 0, 0}, {}, budget);
  std::vector<std::uint32_t> part(model.item_count);
  for (std::uint32_t p = 0; p < order.size(); ++p) part[order[p]] = p / 7;
  const LineModel coarse = model.coarser(part, (order.size() + 6) / 7);
  LinePlan plan = bestSplit(coarse, kRules, {}, kCannotRun, budget);
  ASSERT_TRUE(plan.found());
  LinePlan fine = plan;
  fine.stage_of.resize(model.item_count);
  for (std::size_t i = 0; i < model.item_count; ++i) fine.stage_of[i] = plan.stage_of[part[i]];
  EXPECT_NEAR(lineValue(model, fine), plan.value, 1e-12);
  EXPECT_NEAR(evaluate(problem, model.toPlan(fine)).plan.value, plan.value, 1e-12);
}

// Two chains a1 a2 a3 and b1 b2 b3 of ops of 1 s, tensors of 0.5 s, two devices: one chain each, without any
// transfer, is worth 3.
TEST(WideGraphs, TwoChainsGetADeviceEach) {
  Problem problem;
  problem.graph.model_name = {"model"};
  problem.model_weight = {1};
  problem.model_release = {0};
  problem.modes.goal = Goal::kThroughput;
  problem.cluster.classes.push_back({.name = "acc"});
  for (const char* name : {"d0", "d1"})
    problem.cluster.devices.push_back({.name = name, .cls = ClassId(0), .memory_bytes = {}, .host = {}});
  for (const char* name : {"a1", "b1", "a2", "b2", "a3", "b3"}) {
    problem.graph.addOp(name);
    problem.op_seconds.push_back(1);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const OpId reader(i + 2);
    problem.addTensor(OpId(i), {&reader, 1}, 0, 0.5);
  }
  ASSERT_TRUE(problem.finish().has_value());
  EXPECT_DOUBLE_EQ(solve(problem, runOptions("linear-dp")).plan.value, 3);
  EXPECT_DOUBLE_EQ(solve(problem, runOptions("multilevel")).plan.value, 3);
}

struct GapCase {
  const char* name;
  Problem problem;
  double gap;
};

TEST(WideGraphs, GapsAreSmall) {
  std::vector<GapCase> cases;
  const WideOptions four{.devices = 4, .transfer = 0.3};
  const WideOptions unlike{.devices = 4, .unlike = true, .transfer = 0.3};
  cases.push_back({"branches", must(branchGraph(16, 40, four)), 0.02});
  cases.push_back({"branches unlike", must(branchGraph(16, 40, unlike)), 0.06});
  cases.push_back({"heads", must(headGraph(4, 32, 6, four)), 0.04});
  cases.push_back({"heads unlike", must(headGraph(4, 32, 6, unlike)), 0.07});
  cases.push_back({"grid", must(gridGraph(40, 40, four)), 0.05});
  cases.push_back({"layered", must(layeredGraph(4000, 40, four)), 0.03});
  for (const GapCase& c : cases) {
    const SolveOutcome start = solve(c.problem, runOptions("linear-dp", 2));
    ASSERT_TRUE(start.plan.hasPlan()) << c.name;
    RunOptions run = runOptions("multilevel", 2);
    run.gap = c.gap;
    const SolveOutcome outcome = solve(c.problem, run, &start.plan);
    EXPECT_EQ(outcome.message, "");
    EXPECT_LE(outcome.plan.gap(), c.gap) << c.name;
    EXPECT_LE(outcome.plan.value, start.plan.value) << c.name;
  }
}

TEST(WideGraphs, ThreadsDoNotChangeThePlan) {
  const Problem problem = must(headGraph(2, 8, 3, {.devices = 5, .unlike = true, .seed = 3}));
  for (const char* solver : {"linear-dp", "beam", "multilevel"}) {
    const SolveOutcome one = solve(problem, runOptions(solver, 1));
    const SolveOutcome three = solve(problem, runOptions(solver, 3));
    ASSERT_TRUE(one.plan.hasPlan());
    EXPECT_EQ(one.plan.assignment, three.plan.assignment) << solver;
    EXPECT_EQ(one.plan.value, three.plan.value) << solver;
  }
}

// 24 devices that all differ make 2^24 sets of devices; they are used in sequences instead.
TEST(WideGraphs, ManyUnlikeDevicesStillGetAPlan) {
  Problem problem = must(branchGraph(8, 30, {.devices = 24}));
  for (std::size_t d = 0; d < 24; ++d)
    problem.cluster.devices[d].memory_bytes = (std::int64_t{1} << 30) + static_cast<std::int64_t>(d);
  problem.replacePlacement({});
  const SolveOutcome outcome = solve(problem, runOptions("linear-dp"));
  ASSERT_TRUE(outcome.plan.hasPlan());
  EXPECT_EQ(outcome.message, "");
  EXPECT_LT(outcome.plan.gap(), 0.2);
}

TEST(WideGraphs, LargeProblemsStopInTime) {
  const Problem problem = must(layeredGraph(20'000, 150, {.devices = 8, .unlike = true}));
  for (const char* solver : {"linear-dp", "multilevel"}) {
    RunOptions run = runOptions(solver);
    run.time_limit_seconds = 1;
    const SolveOutcome outcome = solve(problem, run);
    EXPECT_TRUE(outcome.plan.hasPlan()) << solver;
    // Valuing and checking a last plan of this size takes its time on a busy machine.
    EXPECT_LT(outcome.plan.seconds, 2.5) << solver;
  }
}

}  // namespace
}  // namespace allot
