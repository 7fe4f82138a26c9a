// The anytime search over schedules, on its own and against brute force.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "solve/latency/search.h"
#include "solve/latency/search_modules.h"
#include "solve/latency/serial_place.h"
#include "solve/packing.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/stop_time.h"

namespace allot {
namespace {

bool isEvents(const Problem& problem) {
  return problem.modes.model == LatencyModel::kEvents;
}

RunOptions searchAlone(std::uint64_t work) {
  RunOptions run;
  run.solver = "schedule-search";
  run.work_limit = work;
  run.threads = 1;
  return run;
}

// Layers of ops that read one or two of the layer before; a joint after every few layers makes a barrier.
Problem layered(std::uint64_t seed, std::uint32_t layers, std::uint32_t width, bool joints, double memory) {
  Problem problem;
  Random random(seed);
  constexpr std::uint32_t kDevices = 3;
  for (std::uint32_t d = 0; d < kDevices; ++d) {
    DeviceClass cls;
    cls.name = "c" + std::to_string(d);
    problem.cluster.classes.push_back(cls);
    Device device;
    device.name = "d" + std::to_string(d);
    device.cls = ClassId(d);
    problem.cluster.devices.push_back(device);
  }
  problem.graph.model_name = {"m"};
  problem.model_weight = {1};
  problem.model_release = {0};
  std::vector<OpId> above;
  double bytes = 0;
  const auto add = [&](const std::vector<OpId>& reads) {
    const OpId op = problem.graph.addOp("op" + std::to_string(problem.graph.opCount()));
    for (std::uint32_t d = 0; d < kDevices; ++d) problem.op_seconds.push_back(1 + random.below(20) + 5.0 * d);
    const std::int64_t size = 1 + random.below(9);
    problem.graph.op_memory_bytes[op.index()] = size;
    bytes += static_cast<double>(size);
    for (const OpId from : reads) problem.addTensor(from, std::vector{op}, 1, 1 + random.below(8));
    return op;
  };
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    std::vector<OpId> here;
    if (joints && layer % 3 == 0) {
      here.push_back(add(above));
    } else {
      for (std::uint32_t i = 0; i < width; ++i) {
        std::vector<OpId> reads;
        if (!above.empty()) {
          reads.push_back(above[random.below(static_cast<std::uint32_t>(above.size()))]);
          const OpId second = above[random.below(static_cast<std::uint32_t>(above.size()))];
          if (second != reads.front()) reads.push_back(second);
        }
        here.push_back(add(reads));
      }
    }
    above = here;
  }
  if (memory > 0) {
    for (Device& device : problem.cluster.devices)
      device.memory_bytes = static_cast<std::int64_t>(bytes * memory / kDevices + 1);
  }
  problem.modes.goal = Goal::kLatency;
  problem.modes.link_mode = seed % 2 == 0 ? LinkMode::kFullDuplex : LinkMode::kHalfDuplex;
  const auto finished = problem.finish();
  EXPECT_TRUE(finished);
  return problem;
}

TEST(ScheduleSearch, ReachesTheOptimumOfTinyProblems) {
  int optimal = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {4, 3});
    if (!isEvents(problem) || problem.modes.memory == MemoryModel::kLive) continue;
    const std::optional<double> best = bruteForce(problem);
    const SolveOutcome outcome = solve(problem, searchAlone(4000));
    ASSERT_TRUE(outcome.message.empty()) << outcome.message << describe(problem);
    ASSERT_EQ(outcome.plan.hasPlan(), best.has_value()) << describe(problem);
    if (!best) continue;
    ++all;
    EXPECT_GE(outcome.plan.value, *best - 1e-9) << describe(problem);
    optimal += outcome.plan.value <= *best + 1e-9;
  }
  EXPECT_GT(all, 200);
  EXPECT_GE(optimal, all * 98 / 100);
}

// Brute force over starts is slow under live memory; the exhaustive solver's value is a bound there too.
TEST(ScheduleSearch, KeepsToLiveMemory) {
  int plans = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {6, 3});
    if (!isEvents(problem) || problem.modes.memory != MemoryModel::kLive) continue;
    const SolveOutcome outcome = solve(problem, searchAlone(300));
    ASSERT_TRUE(outcome.message.empty()) << outcome.message << describe(problem);
    plans += outcome.plan.hasPlan();
  }
  EXPECT_GT(plans, 100);
}

TEST(ScheduleSearch, IsNeverWorseThanItsStart) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {12, 3});
    if (!isEvents(problem)) continue;
    RunOptions run;
    run.solver = "heft";
    const Plan start = solve(problem, run).plan;
    if (!start.hasPlan()) continue;
    const SolveOutcome outcome = solve(problem, searchAlone(500), &start);
    ASSERT_TRUE(outcome.plan.hasPlan()) << outcome.message;
    EXPECT_LE(outcome.plan.value, start.value) << describe(problem);
  }
}

TEST(ScheduleSearch, GivesTheSamePlanForAnyNumberOfThreads) {
  for (const bool joints : {false, true}) {
    const Problem problem = layered(2, 10, 4, joints, 0);
    RunOptions run = searchAlone(20'000);
    const Plan one = solve(problem, run).plan;
    run.threads = 3;
    const Plan three = solve(problem, run).plan;
    EXPECT_EQ(one.value, three.value);
    EXPECT_EQ(one.assignment, three.assignment);
    EXPECT_EQ(one.start, three.start);
  }
}

TEST(ScheduleSearch, EndsByItself) {
  for (const bool joints : {false, true}) {
    const Problem problem = layered(4, 6, 3, joints, 0);
    RunOptions run = searchAlone(0);
    run.time_limit_seconds = 60;
    const SolveOutcome outcome = solve(problem, run);
    ASSERT_TRUE(outcome.plan.hasPlan());
    EXPECT_FALSE(outcome.plan.time_limited);
    EXPECT_LT(outcome.plan.seconds, 30);
  }
}

TEST(ScheduleSearch, StopsInTime) {
  for (const bool joints : {false, true}) {
    const Problem problem = layered(6, 400, 10, joints, 0);
    const StoppedRun stopped = stopAfter(problem, searchAlone(0), 0.7);
    EXPECT_TRUE(stopped.outcome.plan.hasPlan());
    EXPECT_GT(stopped.seconds, 0) << "ended before it was asked to";
    EXPECT_LT(stopped.seconds, kStopAllowance);
  }
}

TEST(ScheduleSearch, FindsPlansInTightMemory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Problem problem = layered(seed, 12, 5, seed % 2 == 0, 1.02);
    const SolveOutcome outcome = solve(problem, searchAlone(20'000));
    ASSERT_TRUE(outcome.plan.hasPlan()) << seed;
    RunOptions packing;
    packing.solver = "packing";
    EXPECT_LT(outcome.plan.value, solve(problem, packing).plan.value) << seed;
  }
}

Sequence packed(const ScheduleModel& model, const Budget& budget) {
  const Packing packing = pack(*model.problem, budget);
  Sequence sequence;
  std::vector<std::uint32_t> order;
  if (packing.end != PackingEnd::kFound) return sequence;
  for (std::uint32_t op = 0; op < model.opCount(); ++op) {
    sequence.device.push_back(packing.assignment[model.op_id[op].index()].value);
    order.push_back(op);
  }
  sequence.setOrder(std::move(order));
  return sequence;
}

// Moves that make room for each other keep count of memory, and undo leaves nothing behind.
TEST(Neighbourhood, KeepsCountOfMemory) {
  const Budget budget(searchAlone(1), nullptr);
  std::size_t fitting = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = layered(seed, 8, 4, false, 1.1);
    const ScheduleModel model(problem);
    const SearchRange range{0, static_cast<std::uint32_t>(model.opCount()), false, true, timeGrid(model)};
    Neighbourhood neighbourhood(model, range), again(model, range);
    neighbourhood.begin(packed(model, budget));
    Random random(seed);
    for (int move = 0; move < 500; ++move) {
      const Sequence before = neighbourhood.sequence();
      neighbourhood.propose(random);
      again.begin(neighbourhood.sequence());
      EXPECT_NEAR(neighbourhood.overflow(), again.overflow(), 1e-9);
      moved += !neighbourhood.moved().empty();
      fitting += !neighbourhood.moved().empty() && neighbourhood.overflow() == 0;
      if (random.below(2) == 0) {
        neighbourhood.undo();
        EXPECT_EQ(neighbourhood.sequence().device, before.device);
        EXPECT_EQ(neighbourhood.sequence().order, before.order);
      }
    }
  }
  EXPECT_GT(fitting, moved / 10);
}

TEST(MemoryPrices, GiveFastMemoryToThoseThatNeedItMost) {
  // Two devices; the first is faster for all ops and holds half of them.
  Problem problem = layered(3, 10, 4, false, 0);
  for (std::size_t op = 0; op < problem.opCount(); ++op) {
    problem.graph.op_memory_bytes[op] = 10;
    for (std::size_t d = 0; d < 3; ++d)
      problem.op_seconds[op * 3 + d] = d == 0 ? 1 : d == 1 ? 2 + static_cast<double>(op) : 1e6;
  }
  problem.cluster.devices[0].memory_bytes = static_cast<std::int64_t>(problem.opCount() * 5);
  ASSERT_TRUE(problem.setModes(problem.modes));  // sizes have changed
  const ScheduleModel model(problem);
  const Budget budget(searchAlone(1), nullptr);
  const MemoryPrices prices(model, budget);
  std::size_t first = 0;
  for (std::size_t op = 0; op < model.opCount(); ++op) {
    const std::size_t unit = model.unit[op];
    const bool gains_little = model.op_id[op].index() < problem.opCount() / 2 - 1;
    const bool gains_much = model.op_id[op].index() > problem.opCount() / 2;
    first += prices.excess(unit, 0) < prices.excess(unit, 1);
    if (gains_little) {
      EXPECT_GT(prices.excess(unit, 0), 0);
    } else if (gains_much) {
      EXPECT_EQ(prices.excess(unit, 0), 0);
    }
  }
  EXPECT_NEAR(static_cast<double>(first), static_cast<double>(problem.opCount()) / 2, 1);
  EXPECT_GT(prices.dearest(), 0);
  // Memory for all: only the time above the least counts.
  problem.cluster.devices[0].memory_bytes = static_cast<std::int64_t>(problem.opCount() * 100);
  const ScheduleModel loose(problem);
  const MemoryPrices free(loose, budget);
  EXPECT_EQ(free.dearest(), 0);
  for (std::size_t op = 0; op < loose.opCount(); ++op)
    EXPECT_EQ(free.excess(loose.unit[op], 1), loose.time(op, 1) - loose.time(op, 0));
}

TEST(SerialPlacer, ShortensTheSumWithinMemory) {
  const Budget budget(searchAlone(1), nullptr);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = layered(seed, 10, 5, false, 1.03);
    const ScheduleModel model(problem);
    const SearchRange range{0, static_cast<std::uint32_t>(model.opCount()), false, true, timeGrid(model)};
    const Sequence start = packed(model, budget);
    const auto sum = [&](const Sequence& sequence) {
      double total = 0;
      for (std::uint32_t op = 0; op < model.opCount(); ++op) total += model.time(op, sequence.device[op]);
      for (std::uint32_t net = 0; net < model.netCount(); ++net) {
        std::vector<bool> sent(model.devices, false);
        const std::uint32_t from = sequence.device[model.net_producer[net]];
        for (const std::uint32_t reader : model.net_consumers[net]) {
          const std::uint32_t to = sequence.device[reader];
          if (!sent[to]) total += model.transfer(net, from, to);
          sent[to] = true;
        }
      }
      return total;
    };
    Random random(seed);
    const Sequence placed =
        SerialPlacer(model, range, MemoryPrices(model, budget)).run(start, 20'000, budget, random);
    EXPECT_LT(sum(placed), sum(start)) << seed;
    Neighbourhood neighbourhood(model, range);
    neighbourhood.begin(placed);
    EXPECT_EQ(neighbourhood.overflow(), 0) << seed;
  }
}

TEST(ScheduleBarriers, AreTheOpsThatNothingPassesBy) {
  const Problem problem = layered(1, 7, 2, true, 0);
  const ScheduleModel model(problem);
  const std::vector<std::uint32_t> barriers = scheduleBarriers(model);
  // Layers 0, 3 and 6 are joints; every op of a layer before one need not be read by it, but here all are.
  ASSERT_FALSE(barriers.empty());
  for (const std::uint32_t barrier : barriers) {
    for (std::uint32_t op = 0; op < model.opCount(); ++op) {
      for (const std::uint32_t reader : model.after[op]) {
        EXPECT_FALSE(op < barrier && reader > barrier);
      }
    }
  }
}

TEST(ScheduleSearch, TakesOnlyLatencyOfTheEventsModel) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_FALSE(scheduleSearchAccepts(randomProblem(seed, Goal::kThroughput, {5, 3})));
    EXPECT_FALSE(scheduleSearchAccepts(randomProblem(seed, Goal::kCompletion, {5, 3})));
    const Problem problem = randomProblem(seed, Goal::kLatency, {5, 3});
    EXPECT_EQ(scheduleSearchAccepts(problem), isEvents(problem));
  }
}

}  // namespace
}  // namespace allot
