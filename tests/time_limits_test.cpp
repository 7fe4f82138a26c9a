// Limits and stop requests are kept on graphs where something superlinear would take minutes.
//
// What is measured is the time of the processor, so that other work on the machine does not count.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "allot/solve.h"
#include "command_support.h"
#include "support/large_graphs.h"
#include "support/scale.h"

namespace allot {
namespace {

// 0.1 s and a tenth of the limit are what is promised; slow machines and sanitizers need more.
constexpr double kAllowance = 0.6;

double processorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Modes modesOf(Goal goal) {
  Modes modes;
  modes.goal = goal;
  return modes;
}

RunOptions runOptions(std::string_view solver, double seconds) {
  RunOptions run;
  run.threads = 1;
  run.helpers = Helpers::kOff;
  run.solver = solver;
  run.time_limit_seconds = seconds;
  return run;
}

// Of the shipped set; ALLOT_PROPERTY_SCALE makes the graphs larger.
double graphSize() {
  return static_cast<double>(scaled(4)) / 4;
}

class TimeLimits : public testing::TestWithParam<Goal> {
 protected:
  void keepsLimit(const LargeGraph& graph, std::string_view solver, double limit) {
    const double begun = processorSeconds();
    const SolveOutcome outcome = solve(graph.problem, runOptions(solver, limit));
    EXPECT_LT(processorSeconds() - begun, limit + kAllowance)
        << graph.name << ", " << (solver.empty() ? "portfolio" : solver) << ", limit " << limit;
    EXPECT_EQ(outcome.message, "") << graph.name << ", " << solver;
    if (solver.empty()) EXPECT_TRUE(outcome.plan.hasPlan()) << graph.name << ", limit " << limit;
  }

  // Raises the flag after `wait` seconds, or before it begins.
  void stops(const LargeGraph& graph, std::string_view solver, double wait) {
    std::atomic<bool> flag{wait <= 0}, over{false};
    double asked = processorSeconds();
    std::thread user([&] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait);
      while (wait > 0 && !over && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (wait > 0) asked = processorSeconds();
      flag = true;
    });
    const SolveOutcome outcome = solve(graph.problem, runOptions(solver, 600), nullptr, &flag);
    const double ended = processorSeconds();
    over = true;
    user.join();
    EXPECT_LT(ended - asked, kAllowance)
        << graph.name << ", " << (solver.empty() ? "portfolio" : solver) << ", stopped after " << wait;
    if (solver.empty()) EXPECT_TRUE(outcome.plan.hasPlan()) << graph.name << ", stopped after " << wait;
  }
};

TEST_P(TimeLimits, EverySolverKeepsThem) {
  for (const LargeGraph& graph : largeGraphs(modesOf(GetParam()), graphSize())) {
    for (const Solver& solver : solvers()) {
      if (solver.accepts(graph.problem)) keepsLimit(graph, solver.name, 0.1);
    }
  }
}

TEST_P(TimeLimits, ThePortfolioKeepsThemAndHasAPlan) {
  for (const LargeGraph& graph : largeGraphs(modesOf(GetParam()), graphSize())) {
    for (const double limit : {0.0, 0.1, 0.5}) keepsLimit(graph, "", limit);
  }
}

TEST_P(TimeLimits, StopRequestsAreKept) {
  for (const LargeGraph& graph : largeGraphs(modesOf(GetParam()), graphSize())) {
    for (const double wait : {0.0, 0.15}) stops(graph, "", wait);
    for (const Solver& solver : solvers()) {
      if (solver.accepts(graph.problem)) stops(graph, solver.name, 0.05);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TimeLimits,
                         testing::Values(Goal::kThroughput, Goal::kLatency, Goal::kCompletion),
                         [](const auto& info) { return std::string(name(info.param)); });

// What is not the default of a goal.
TEST(TimeLimitsOfModes, AreKept) {
  std::vector<Modes> all;
  const auto add = [&](Goal goal, auto&& change) { change(all.emplace_back(modesOf(goal))); };
  add(Goal::kThroughput, [](Modes& m) { m.contiguity = Contiguity::kNone; });
  add(Goal::kThroughput, [](Modes& m) { m.contiguity = Contiguity::kConvex; });
  add(Goal::kThroughput, [](Modes& m) { m.replicate = true; });
  add(Goal::kThroughput, [](Modes& m) { m.transfers = Transfers::kByLink; });
  add(Goal::kLatency, [](Modes& m) { m.model = LatencyModel::kSubgraphCalls; });
  add(Goal::kLatency, [](Modes& m) { m.memory = MemoryModel::kLive; });
  add(Goal::kLatency, [](Modes& m) { m.link_mode = LinkMode::kFree; });
  add(Goal::kLatency, [](Modes& m) { m.send = Send::kPerEdge; });
  for (const Modes& modes : all) {
    for (const LargeGraph& graph : largeGraphs(modes, graphSize() / 2)) {
      const double begun = processorSeconds();
      const SolveOutcome outcome = solve(graph.problem, runOptions("", 0.1));
      EXPECT_LT(processorSeconds() - begun, 0.1 + kAllowance)
          << graph.name << ", mode " << &modes - all.data();
      EXPECT_EQ(outcome.message, "") << graph.name;
      EXPECT_TRUE(outcome.plan.hasPlan()) << graph.name << ", mode " << &modes - all.data();
    }
  }
}

class Signals : public CommandTest {};

TEST_F(Signals, PrintTheBestPlanSoFar) {
  std::string text = R"({"schema": "allot.problem/1", "goal": "latency",
    "classes": [{"name": "gpu", "kind": "accelerator"}],
    "devices": [{"name": "a", "class": "gpu"}, {"name": "b", "class": "gpu"}], "ops": [{"name": "root", "time": [1]})";
  constexpr int kLeaves = 30'000;
  for (int i = 0; i < kLeaves; ++i)
    text += fmt::format(R"(, {{"name": "o{}", "time": [{}]}})", i, 1 + i * 71 % 1000);
  text += R"(], "tensors": [{"from": "root", "to": ["o0"], "time": 5})";
  for (int i = 1; i < kLeaves; ++i)
    text += fmt::format(R"(, {{"from": "root", "to": ["o{}"], "time": {}}})", i, 1 + i * 31 % 500);
  save("star.json", text + "]}");
  for (const char* signal : {"INT", "TERM"}) {
    // Killed, and without any answer, where it has not ended some seconds later.
    const std::string wait = fmt::format("timeout --preserve-status -s {} -k 5 1 ", signal);
    const CommandAnswer answer = runCommand("version > /dev/null && " + wait +
                                            ALLOT_COMMAND " plan star.json --time-limit 600 --json");
    EXPECT_EQ(answer.code, 5) << signal << ": " << answer.err;
    EXPECT_NE(answer.out.find("\"assignment\""), std::string::npos) << signal;
  }
}

}  // namespace
}  // namespace allot
