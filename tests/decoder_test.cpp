#include "solve/latency/decoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "solve/latency/neighbourhood.h"
#include "support/random_problem.h"

namespace allot {
namespace {

bool isEvents(const Problem& problem) {
  return problem.modes.model == LatencyModel::kEvents;
}

// Random devices that units may use, and a random topological order.
Sequence randomSequence(const ScheduleModel& model, const Neighbourhood& neighbourhood, Random& random) {
  Sequence sequence;
  sequence.device.resize(model.opCount());
  std::vector<double> key(model.opCount());
  for (double& k : key) k = random.unit();
  for (std::size_t unit = 0; unit < model.unitCount(); ++unit) {
    std::vector<std::uint32_t> allowed;
    for (std::uint32_t d = 0; d < model.devices; ++d) {
      if (model.runs(model.unit_ops[unit].front(), d)) allowed.push_back(d);
    }
    if (allowed.empty()) return {};
    const std::uint32_t device = allowed[random.below(static_cast<std::uint32_t>(allowed.size()))];
    for (const std::uint32_t op : model.unit_ops[unit]) sequence.device[op] = device;
  }
  sequence.setOrder(neighbourhood.orderBy(key));
  return sequence;
}

TEST(Decoder, SchedulesAreValidAndWorthWhatItSays) {
  int equal = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {9, 3});
    if (!isEvents(problem)) continue;
    const ScheduleModel model(problem);
    const Neighbourhood neighbourhood(model, {0, static_cast<std::uint32_t>(model.opCount())});
    Random random(seed);
    const Sequence sequence = randomSequence(model, neighbourhood, random);
    if (sequence.order.empty()) continue;
    Decoder decoder(model);
    const Schedule schedule = decoder.record(sequence);
    const Evaluation evaluated = evaluate(problem, planOf(model, schedule));
    // The evaluator goes by starts and can only move things forward in time.
    EXPECT_LE(evaluated.plan.value, decoder.value() * (1 + 1e-12)) << describe(problem);
    ++all;
    equal += std::abs(evaluated.plan.value - decoder.value()) <= 1e-9;
    // The times themselves, as a plan: only memory may be wrong with them.
    Plan plan = evaluated.plan;
    for (std::size_t i = 0; i < model.opCount(); ++i) {
      EXPECT_NEAR(plan.end[model.op_id[i].index()] <= decoder.end(static_cast<std::uint32_t>(i)) + 1e-9, 1,
                  0);
    }
  }
  EXPECT_GT(all, 800);
  EXPECT_GT(equal, all * 9 / 10);
}

TEST(Decoder, ChangesAreWorthWhatAFullPassSays) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {40, 4});
    if (!isEvents(problem)) continue;
    const ScheduleModel model(problem);
    Neighbourhood neighbourhood(model, {0, static_cast<std::uint32_t>(model.opCount())});
    Random random(seed);
    Sequence start = randomSequence(model, neighbourhood, random);
    if (start.order.empty()) continue;
    Decoder decoder(model), fresh(model);
    neighbourhood.begin(std::move(start));
    const Sequence& sequence = neighbourhood.sequence();
    decoder.reset(sequence);
    for (int i = 0; i < 200; ++i) {
      if (i % 50 == 0) neighbourhood.findCritical(decoder);
      neighbourhood.propose(random);
      if (neighbourhood.changedFrom() >= neighbourhood.changedUntil()) continue;
      const double before = decoder.value();
      const double threshold = before * (0.9 + 0.2 * random.unit());
      const double value =
          decoder.tryChange(sequence, neighbourhood.changedFrom(), neighbourhood.changedUntil(), threshold);
      const double full = fresh.reset(sequence);
      if (value < kCannotRun) {
        ASSERT_EQ(value, full) << describe(problem) << " seed " << seed << " step " << i;
      } else {
        ASSERT_GT(full, threshold) << describe(problem) << " seed " << seed << " step " << i;
      }
      if (value < kCannotRun && random.below(2) == 0) {
        decoder.accept(sequence);
        for (std::uint32_t op = 0; op < model.opCount(); ++op) ASSERT_EQ(decoder.end(op), fresh.end(op));
      } else {
        decoder.reject(sequence);
        neighbourhood.undo();
        ASSERT_EQ(decoder.value(), before);
      }
    }
  }
}

// Two transfers leave device 0 for device 1: the late consumer's is ready first and fits before the other.
//   a (1 s) -> x, b (3 s) -> y, on device 0 in the order a, b; y comes before x in the order.
// The transfer of b takes [4, 5); that of a, placed later, goes into the gap and takes [1, 2).
TEST(Decoder, PutsATransferIntoAnIdleTimeOfThePorts) {
  Problem problem;
  problem.cluster.classes.resize(1);
  problem.cluster.classes[0].name = "gpu";
  for (int d = 0; d < 2; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.cls = ClassId(0u);
    problem.cluster.devices.push_back(device);
  }
  problem.graph.model_name = {"m"};
  const OpId a = problem.graph.addOp("a"), b = problem.graph.addOp("b"), x = problem.graph.addOp("x"),
             y = problem.graph.addOp("y");
  problem.op_seconds = {1, 3, 1, 1};
  problem.model_weight = {1};
  problem.model_release = {0};
  problem.addTensor(a, std::vector{x}, 1, 1);
  problem.addTensor(b, std::vector{y}, 1, 1);
  problem.modes.goal = Goal::kLatency;
  problem.modes.link_mode = LinkMode::kFullDuplex;
  ASSERT_TRUE(problem.finish());
  const ScheduleModel model(problem);
  Sequence sequence;
  std::vector<std::uint32_t> order;
  for (const OpId op : {a, b, y, x}) order.push_back(problem.graph.position(op));
  sequence.setOrder(order);
  sequence.device.resize(4);
  sequence.device[problem.graph.position(x)] = sequence.device[problem.graph.position(y)] = 1;
  Decoder decoder(model);
  const Schedule schedule = decoder.record(sequence);
  ASSERT_EQ(schedule.transfers.size(), 2u);
  EXPECT_EQ(schedule.transfers[0].start, 4);
  EXPECT_EQ(schedule.transfers[1].start, 1);
  EXPECT_EQ(decoder.value(), 7);  // y runs in [5, 6), x behind it
}

}  // namespace
}  // namespace allot
