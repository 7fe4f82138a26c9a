// Several proposals valued in one pass, against the decoder, and the search that screens its moves so.
#include "solve/latency/lanes.h"

#include <gtest/gtest.h>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "solve/latency/search_windows.h"
#include "support/random_problem.h"

namespace allot {
namespace {

// A problem of the events model in a link mode; empty where the seed gives another model.
std::optional<Problem> eventsProblem(std::uint64_t seed, std::optional<LinkMode> mode, std::uint32_t ops) {
  Problem problem = randomProblem(seed, Goal::kLatency, {ops, 2 + static_cast<std::uint32_t>(seed % 8)});
  if (problem.modes.model != LatencyModel::kEvents) return {};
  Modes modes = problem.modes;
  if (mode) modes.link_mode = *mode;
  if (!problem.setModes(modes)) return {};
  return problem;
}

// Each unit on the first device that it may use, or a random one; ops in a random order.
Sequence randomSequence(const ScheduleModel& model, const Neighbourhood& neighbourhood, Random& random) {
  Sequence sequence;
  sequence.device.resize(model.opCount());
  for (std::size_t unit = 0; unit < model.unitCount(); ++unit) {
    std::vector<std::uint32_t> allowed;
    for (std::uint32_t d = 0; d < model.devices; ++d) {
      if (model.runs(model.unit_ops[unit].front(), d)) allowed.push_back(d);
    }
    if (allowed.empty()) return {};
    const std::uint32_t device = allowed[random.below(static_cast<std::uint32_t>(allowed.size()))];
    for (const std::uint32_t op : model.unit_ops[unit]) sequence.device[op] = device;
  }
  std::vector<double> key(model.opCount());
  for (double& k : key) k = random.unit();
  sequence.setOrder(neighbourhood.orderBy(key));
  return sequence;
}

std::vector<Move> drawMoves(Neighbourhood& neighbourhood, std::uint32_t most, Random& random) {
  std::vector<Move> moves;
  for (std::uint32_t i = 0; i < most; ++i) {
    neighbourhood.propose(random);
    if (neighbourhood.changedFrom() >= neighbourhood.changedUntil()) continue;
    neighbourhood.describe(moves.emplace_back());
    neighbourhood.undo();
  }
  return moves;
}

TEST(Lanes, WithoutPortsEveryLaneIsWorthWhatTheDecoderSays) {
  int lanes_compared = 0, improved = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const auto problem = eventsProblem(seed, LinkMode::kFree, seed % 3 == 0 ? 90 : 25);
    if (!problem) continue;
    const ScheduleModel model(*problem);
    const auto n = static_cast<std::uint32_t>(model.opCount());
    Neighbourhood neighbourhood(model, {0, n});
    Random random(seed);
    Sequence start = randomSequence(model, neighbourhood, random);
    if (start.order.empty()) continue;
    neighbourhood.begin(std::move(start));
    const Sequence& sequence = neighbourhood.sequence();
    Decoder decoder(model);
    decoder.reset(sequence);
    // The whole order, or a window in it.
    const std::uint32_t begin =
        seed % 2 == 0 ? 0 : decoder.stride() * random.below(1 + n / decoder.stride() / 2);
    const std::uint32_t stop = seed % 2 == 0 ? n : std::min(n, begin + 3 * decoder.stride());
    decoder.setWindow(sequence, begin, stop);
    if (seed % 2 != 0 && stop - begin > 1) neighbourhood.restrictTo(begin, stop);
    Lanes lanes(decoder);
    for (int batch = 0; batch < 6; ++batch) {
      const std::vector<Move> moves = drawMoves(neighbourhood, lanes.room(), random);
      if (moves.empty()) continue;
      lanes.clear();
      for (const Move& move : moves) lanes.add(move);
      lanes.run(sequence);
      ASSERT_EQ(lanes.count(), moves.size());
      ASSERT_EQ(lanes.base(), decoder.value());
      const double accepted = decoder.value();
      for (std::uint32_t i = 0; i < moves.size(); ++i) {
        neighbourhood.redo(moves[i]);
        const double value =
            decoder.tryChange(sequence, neighbourhood.changedFrom(), neighbourhood.changedUntil(),
                              std::numeric_limits<double>::infinity());
        ASSERT_NEAR(lanes.value(i), value, 1e-12 * (1 + value)) << describe(*problem) << " seed " << seed;
        ++lanes_compared;
        improved += value < accepted;
        decoder.reject(sequence);
        neighbourhood.undo();
      }
      // On to another state.
      neighbourhood.redo(moves.front());
      decoder.tryChange(sequence, neighbourhood.changedFrom(), neighbourhood.changedUntil(),
                        std::numeric_limits<double>::infinity());
      decoder.accept(sequence);
    }
  }
  EXPECT_GT(lanes_compared, 20'000);
  EXPECT_GT(improved, 2'000);
}

// What other lanes do changes nothing, in any link mode; and with ports a lane that takes an op away and puts
// it back to where it was is worth what the accepted sequence is.
TEST(Lanes, LanesDoNotDisturbEachOther) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const auto problem = eventsProblem(seed, {}, 40);
    if (!problem) continue;
    const ScheduleModel model(*problem);
    const auto n = static_cast<std::uint32_t>(model.opCount());
    Neighbourhood neighbourhood(model, {0, n});
    Random random(seed);
    Sequence start = randomSequence(model, neighbourhood, random);
    if (start.order.empty()) continue;
    neighbourhood.begin(std::move(start));
    const Sequence& sequence = neighbourhood.sequence();
    Decoder decoder(model);
    decoder.reset(sequence);
    decoder.setWindow(sequence, 0, n);
    Lanes together(decoder), alone(decoder);
    std::vector<Move> moves = drawMoves(neighbourhood, together.room() - 1, random);
    // Nothing changes, but all is looked at lane by lane; from the first position on, as starts differ in
    // what they know of ports.
    Move nothing;
    for (std::uint32_t op = 0; op < n; ++op) nothing.placed.emplace_back(op, sequence.device[op]);
    moves.push_back(nothing);
    for (Move& move : moves) {
      move.from = 0;
      together.add(move);
    }
    together.run(sequence);
    for (std::uint32_t i = 0; i < moves.size(); ++i) {
      alone.clear();
      alone.add(moves[i]);
      alone.run(sequence);
      ASSERT_EQ(together.value(i), alone.value(0)) << describe(*problem) << " seed " << seed;
      ASSERT_EQ(together.base(), alone.base()) << describe(*problem) << " seed " << seed;
      ++compared;
    }
    ASSERT_NEAR(together.value(together.count() - 1), together.base(), 1e-12 * (1 + together.base()))
        << describe(*problem) << " seed " << seed;
  }
  EXPECT_GT(compared, 3'000);
}

TEST(Lanes, TheSearchByWindowsGivesValidPlansAndRepeatsItself) {
  int better = 0, all = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const auto problem = eventsProblem(seed, {}, 60);
    if (!problem || problem->modes.memory != MemoryModel::kStatic) continue;
    const ScheduleModel model(*problem);
    const SearchRange range{0, static_cast<std::uint32_t>(model.opCount()), false, true, timeGrid(model)};
    Neighbourhood neighbourhood(model, range);
    Random random(seed);
    const Sequence start = randomSequence(model, neighbourhood, random);
    if (start.order.empty()) continue;
    neighbourhood.begin(start);
    if (neighbourhood.overflow() > 0) continue;
    RunOptions options;
    options.work_limit = 5'000;
    const Budget budget(options, nullptr);
    std::vector<double> values[2];
    for (std::vector<double>& found : values) {
      Decoder decoder(model);
      found.push_back(decoder.reset(start));
      searchWindows(model, range, start, budget, [&](const Sequence& sequence) {
        Plan plan = evaluate(*problem, planOf(model, decoder.record(sequence))).plan;
        plan.status = Status::kFeasible;
        const CheckReport report = check(*problem, plan);
        EXPECT_TRUE(report.ok()) << describe(*problem) << " seed " << seed << ": "
                                 << (report.ok() ? "" : report.violations.front());
        EXPECT_LT(decoder.value(), found.back());
        found.push_back(decoder.value());
      });
    }
    EXPECT_EQ(values[0], values[1]) << describe(*problem) << " seed " << seed;
    ++all;
    better += values[0].size() > 1;
  }
  EXPECT_GT(all, 30);
  EXPECT_GT(better, all / 2);
}

}  // namespace
}  // namespace allot
