// Parts of a schedule solved again: what is fixed around them, and what comes back.
#include "solve/latency/window_resolve.h"

#include <gtest/gtest.h>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/solve.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

RunOptions options() {
  RunOptions run;
  run.work_limit = 1;
  run.threads = 1;
  return run;
}

// Units on random devices that have room, ops in topological order; empty where they do not fit.
Sequence randomSequence(const ScheduleModel& model, Random& random) {
  Sequence sequence;
  sequence.device.assign(model.opCount(), 0);
  std::vector<double> room = model.memory;
  for (std::size_t unit = 0; unit < model.unitCount(); ++unit) {
    std::vector<std::uint32_t> may;
    for (std::uint32_t d = 0; d < model.devices; ++d) {
      if (model.runs(model.unit_ops[unit].front(), d) && room[d] >= model.unit_bytes[unit]) may.push_back(d);
    }
    if (may.empty()) return {};
    const std::uint32_t on = may[random.below(static_cast<std::uint32_t>(may.size()))];
    room[on] -= model.unit_bytes[unit];
    for (const std::uint32_t op : model.unit_ops[unit]) sequence.device[op] = on;
  }
  std::vector<std::uint32_t> order(model.opCount());
  for (std::uint32_t op = 0; op < order.size(); ++op) order[op] = op;
  sequence.setOrder(std::move(order));
  return sequence;
}

SearchRange whole(const ScheduleModel& model) {
  return {0, static_cast<std::uint32_t>(model.opCount()), false, true, timeGrid(model)};
}

void expectValid(const ScheduleModel& model, const Sequence& sequence) {
  ASSERT_EQ(sequence.order.size(), model.opCount());
  for (std::uint32_t op = 0; op < model.opCount(); ++op) {
    EXPECT_EQ(sequence.order[sequence.position[op]], op);
    EXPECT_TRUE(model.runs(op, sequence.device[op]));
    for (const std::uint32_t producer : model.before[op])
      EXPECT_LT(sequence.position[producer], sequence.position[op]);
  }
  std::vector<double> used(model.devices, 0);
  for (std::size_t unit = 0; unit < model.unitCount(); ++unit) {
    const std::uint32_t on = sequence.device[model.unit_ops[unit].front()];
    used[on] += model.unit_bytes[unit];
    for (const std::uint32_t op : model.unit_ops[unit]) EXPECT_EQ(sequence.device[op], on);
  }
  for (std::size_t d = 0; d < model.devices; ++d) EXPECT_LE(used[d], model.memory[d]);
}

TEST(WindowResolver, KeepsSchedulesValidInEveryMode) {
  const Budget budget(options(), nullptr);
  int tried = 0, better = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {24, 4});
    if (problem.modes.model != LatencyModel::kEvents) continue;
    const ScheduleModel model(problem);
    if (!WindowResolver::applies(model)) continue;
    Random random(seed);
    Sequence sequence = randomSequence(model, random);
    if (sequence.order.empty()) continue;
    Decoder decoder(model);
    const double before = decoder.reset(sequence);
    const double after = WindowResolver(model, whole(model)).improve(sequence, 3000, budget, random);
    ASSERT_EQ(after, decoder.reset(sequence)) << describe(problem);
    ASSERT_LE(after, before) << describe(problem);
    expectValid(model, sequence);
    // The evaluator and the checker have the last word.
    Evaluation valued = evaluate(problem, planOf(model, decoder.record(sequence)));
    ASSERT_TRUE(valued.valid()) << describe(problem);
    valued.plan.status = Status::kFeasible;
    valued.plan.bound = 0;
    EXPECT_TRUE(check(problem, valued.plan).ok()) << describe(problem);
    EXPECT_LE(valued.plan.value, after * (1 + 1e-9)) << describe(problem);
    ++tried;
    better += after < before;
  }
  EXPECT_GT(tried, 100);
  EXPECT_GT(better, tried / 2);
}

TEST(WindowResolver, ReachesTheOptimumWhereOneWindowHoldsAll) {
  const Budget budget(options(), nullptr);
  int tried = 0, optimal = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {4, 3});
    if (problem.modes.model != LatencyModel::kEvents) continue;
    const ScheduleModel model(problem);
    if (!WindowResolver::applies(model)) continue;
    Random random(seed);
    Sequence sequence = randomSequence(model, random);
    const std::optional<double> best = bruteForce(problem);
    if (sequence.order.empty() || !best) continue;
    const double value = WindowResolver(model, whole(model)).improve(sequence, 3000, budget, random);
    ++tried;
    EXPECT_GE(value, *best - 1e-9) << describe(problem);
    optimal += value <= *best + 1e-9;
  }
  EXPECT_GT(tried, 150);
  EXPECT_GE(optimal, tried * 95 / 100);
}

TEST(WindowResolver, GivesTheSameResultOnEveryRun) {
  const Budget budget(options(), nullptr);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {30, 3});
    const ScheduleModel model(problem);
    if (problem.modes.model != LatencyModel::kEvents || !WindowResolver::applies(model)) continue;
    Random random(seed);
    const Sequence start = randomSequence(model, random);
    if (start.order.empty()) continue;
    Sequence one = start, two = start;
    Random first(1), second(1);
    WindowResolver(model, whole(model)).improve(one, 2000, budget, first);
    WindowResolver(model, whole(model)).improve(two, 2000, budget, second);
    EXPECT_EQ(one.device, two.device);
    EXPECT_EQ(one.order, two.order);
  }
}

TEST(WindowResolver, KeepsPinnedOps) {
  const Budget budget(options(), nullptr);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {12, 3});
    const ScheduleModel model(problem);
    if (problem.modes.model != LatencyModel::kEvents || !WindowResolver::applies(model)) continue;
    Random random(seed);
    Sequence sequence = randomSequence(model, random);
    if (sequence.order.empty()) continue;
    const std::uint32_t last = static_cast<std::uint32_t>(model.opCount()) - 1;
    const std::uint32_t on_first = sequence.device[0], on_last = sequence.device[last];
    WindowResolver resolver(model, whole(model));
    resolver.pin(0);
    resolver.pin(last);
    resolver.improve(sequence, 2000, budget, random);
    EXPECT_EQ(sequence.device[0], on_first);
    EXPECT_EQ(sequence.device[last], on_last);
  }
}

// One op to do reads a net that was sent to device 1 before entry: there it need not be sent again, and it
// may still be sent elsewhere.
ExactWindow sentBefore(double on_one, double on_two) {
  ExactWindow window;
  window.devices = 3;
  window.link_mode = LinkMode::kFullDuplex;
  window.seconds = {1, 1, 1, kCannotRun, on_one, on_two};
  window.tail.assign(6, 0);
  window.unit = {0, 1};
  window.done_on = {0, ExactWindow::kToDo};
  window.done_at = {1, 0};
  window.source_op = {0, 1};
  window.nets.push_back({0, {1}, std::vector<double>(9, 4), {kCannotRun, 6, kCannotRun}});
  for (std::size_t d = 0; d < 3; ++d) window.nets[0].seconds[4 * d] = 0;
  window.source_net = {0};
  window.launch.assign(3, 0);
  window.device_free.assign(3, 0);
  window.send_free.assign(3, 5);
  window.receive_free.assign(3, 0);
  return window;
}

TEST(ExactWindow, UsesWhatCameBeforeEntry) {
  for (const std::size_t width : {0, 10}) {
    const WindowResult there = searchWindow(sentBefore(2, 2), {kCannotRun, width, 0, nullptr});
    EXPECT_EQ(there.best.front().value, 8);
    EXPECT_EQ(there.best.front().device[1], 1u);
    EXPECT_TRUE(there.best.front().transfers.empty());
    const WindowResult elsewhere = searchWindow(sentBefore(9, 2), {kCannotRun, width, 0, nullptr});
    EXPECT_EQ(elsewhere.best.front().value, 11);
    EXPECT_EQ(elsewhere.best.front().device[1], 2u);
    EXPECT_EQ(elsewhere.best.front().transfers.size(), 1u);
  }
}

// An op with a reader may itself be what must be followed by the longest time.
TEST(ExactWindow, CountsTailsOfOpsThatAreRead) {
  ExactWindow window = sentBefore(2, 2);
  window.done_on[0] = ExactWindow::kToDo;
  window.nets[0].arrived.clear();
  window.send_free.assign(3, 0);
  window.tail = {20, 5, 20, 0, 0, 0};
  for (const std::size_t width : {0, 10})
    EXPECT_EQ(searchWindow(window, {kCannotRun, width, 0, nullptr}).best.front().value, 6);
}

}  // namespace
}  // namespace allot
