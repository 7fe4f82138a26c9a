// Options that mean nothing for the goal or the input: refused where the call gives them, a warning where a
// file does.
#include "problem/option_use.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "command_support.h"
#include "formats_support.h"

namespace allot {
namespace {

constexpr const char* kPlain = R"({"schema": "allot.problem/1", "name": "plain",
  "classes": [{"name": "g", "kind": "accelerator"}, {"name": "c", "kind": "cpu"}],
  "devices": [{"name": "g0", "class": "g", "memory": 100}, {"name": "c0", "class": "c"}],
  "ops": [{"name": "a", "time": [1, 3]}, {"name": "b", "time": [2, 2.5]}],
  "tensors": [{"from": "a", "to": ["b"], "bytes": 8, "time": 0.25}]})";

constexpr const char* kTraining = R"({"schema": "allot.problem/1", "name": "training",
  "classes": [{"name": "g", "kind": "accelerator"}], "devices": [{"name": "g0", "class": "g"}, {"name": "g1", "class": "g"}],
  "ops": [{"name": "f", "time": [1], "group": "l"}, {"name": "b", "time": [2], "phase": "backward", "group": "l"}],
  "tensors": [{"from": "f", "to": ["b"], "bytes": 8, "time": 0.25}]})";

// A value other than the default of an option.
std::string otherValue(const OptionSpec& spec) {
  const std::string standard = spec.get(Options{});
  for (const std::string_view choice : spec.choices) {
    if (choice != standard) return std::string(choice);
  }
  if (spec.value_name.empty()) return "true";
  return spec.name == "headroom" ? "5%" : "2";
}

class OptionUse : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    save("plain.json", kPlain);
    save("training.json", kTraining);
    save("graph.json", R"({"schema": "allot.graph/1", "name": "graph", "ops": [{"name": "x", "time": 1},
      {"name": "y", "time": 2}], "tensors": [{"from": "x", "to": ["y"], "bytes": 8}]})");
    save("rig.json", R"({"schema": "allot.cluster/1", "classes": [{"name": "g", "kind": "accelerator"}],
      "devices": [{"name": "g0", "class": "g"}, {"name": "g1", "class": "g"}],
      "links": [{"from": "*", "to": "*", "latency": 1e-6, "bandwidth": 1e9}]})");
    save("moirai.json",
         R"({"format": "moirai-v1", "time_unit": "ms", "devices": [{"memory": 100}, {"memory": 100}],
      "nodes": [{"id": 0, "time": [1, 2], "mem": 1}, {"id": 1, "time": [1, 2], "mem": 1}],
      "edges": [{"src": 0, "dst": 1, "time": [[0, 1], [1, 0]]}]})");
    save("chain.csv", "operator,speedup,cpu_total_us,gpu_total_us,cpu_avg_us,gpu_avg_us\nConv,8,8,1,8,1\n");
    save("times.csv", "op,seconds\nx,1\n");
  }
  // The call is refused: one line that names the option.
  void expectRefused(const std::string& call, const std::string& option) const {
    const CommandAnswer answer = runCommand(call);
    EXPECT_EQ(answer.code, 2) << call << ": " << answer.err << answer.out;
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << call << ": " << answer.err;
    EXPECT_NE(answer.err.find(option + ": "), std::string::npos) << call << ": " << answer.err;
  }
  void expectTaken(const std::string& call) const {
    const CommandAnswer answer = runCommand(call);
    EXPECT_EQ(answer.code, 0) << call << ": " << answer.err;
    EXPECT_EQ(answer.err, "") << call;
  }
};

// The table alone decides; no mode of another goal slips through, and none of the goal's own is refused.
TEST_F(OptionUse, EveryModeOfAnotherGoalIsRefused) {
  for (const Goal goal : {Goal::kThroughput, Goal::kLatency, Goal::kCompletion}) {
    for (const OptionSpec& spec : optionTable()) {
      if (spec.scope == OptionScope::kRun || spec.name == "goal") continue;
      const std::string flag = spec.value_name.empty() ? fmt::format("--{}", spec.name)
                                                       : fmt::format("--{} {}", spec.name, otherValue(spec));
      const std::string set = fmt::format("--set {}={}", spec.name, otherValue(spec));
      for (const std::string& given : {flag, set}) {
        const std::string call =
            fmt::format("import training.json -q -o out.json --goal {} {}", name(goal), given);
        if (!isModeOf(spec.scope, goal)) {
          expectRefused(call, fmt::format("--{}", spec.name));
        } else if (spec.name != "calls" && spec.name != "transfers" && spec.name != "model" &&
                   spec.name != "dtype") {
          expectTaken(call);
        }
      }
    }
  }
}

TEST_F(OptionUse, SomeModesNeedMoreThanTheirGoal) {
  const auto problem = readProblem(kPlain, "plain.json", {}, nullptr, *std::make_unique<Warnings>());
  ASSERT_TRUE(problem) << problem.error().text();
  Modes modes;
  EXPECT_EQ(whyMoot(*findOption("calls"), *problem, modes), "") << "without a goal nothing can be said";
  expectRefused("plan plain.json --goal latency --calls 2", "--calls");
  expectTaken("plan plain.json --goal latency --model subgraph-calls --calls 2 -q");
  expectRefused("plan plain.json --goal latency --model subgraph-calls --link-mode free", "--link-mode");
  expectRefused("plan plain.json --goal latency --model subgraph-calls --send once", "--send");
  expectRefused("plan plain.json --goal latency --model subgraph-calls --memory live", "options.memory");
  expectRefused("plan plain.json --goal throughput --in-flight", "--in-flight");
  expectRefused("plan plain.json --goal throughput --training-load max-parts", "--training-load");
  expectRefused("plan training.json --goal throughput --in-flight --contiguity none", "--in-flight");
  expectTaken("plan training.json --goal throughput --in-flight --training-load max-parts -q");
  expectRefused("plan moirai.json --goal throughput --transfers via-host", "tensors[0]");
  expectRefused("plan plain.json --goal latency --table", "--table");
  expectRefused("plan plain.json --goal throughput --contiguity none --table", "--table");
  ASSERT_EQ(runCommand("plan plain.json --goal latency -q -o plan.json").code, 0);
  expectRefused("plan plain.json --goal latency --start plan.json --max-moves 1", "--max-moves");
  expectRefused("plan plain.json --goal completion --max-moves 1", "--max-moves");
  expectRefused("compare plain.json --goal completion --max-moves 1 --start plan.json", "--max-moves");
  expectRefused("explain plain.json plan.json --goal completion --max-moves 1", "--max-moves");
  expectRefused("simulate plain.json plan.json --goal completion --max-moves 1", "--max-moves");
  expectRefused("demo --max-moves 1", "--max-moves");
  save("events.jsonl", "{\"schema\": \"allot.events/1\"}\n");
  expectTaken("simulate plain.json --events events.jsonl --max-moves 1 -q");
  expectRefused("simulate plain.json --events events.jsonl --contiguity none", "--contiguity");
  expectRefused("check plain.json plan.json --strict", "--strict");
  expectRefused("check plain.json plan.json --contiguity none", "--contiguity");
}

TEST_F(OptionUse, OptionsOfReadingNeedAnInputForThem) {
  expectRefused("plan plain.json --goal latency --cluster rig.json", "--cluster");
  expectRefused("plan plain.json --goal latency --cluster 2xT4", "--cluster");
  expectRefused("import moirai.json --cluster rig.json", "--cluster");
  expectRefused("plan plain.json --goal latency --times times.csv", "--times");
  expectRefused("plan plain.json --goal latency --time-unit ms", "--time-unit");
  expectRefused("plan plain.json --goal latency --merge-edges", "--merge-edges");
  expectRefused("plan plain.json --goal latency --dim batch=8", "--dim");
  expectRefused("plan plain.json --goal latency --pack 0.5,2,10ms", "--pack");
  expectRefused("plan plain.json --goal latency --link pcie4", "--link");
  expectRefused("plan graph.json --goal latency --cluster rig.json --merge-edges", "--merge-edges");
  expectRefused("import graph.json --times times.csv", "--times");
  expectRefused("import graph.json --contiguity none", "--contiguity");
  expectRefused("import chain.csv --dim batch=8", "--dim");
  expectTaken("plan graph.json --goal latency --cluster rig.json -q");
  expectTaken("import moirai.json --merge-edges --time-unit s -q");
  expectTaken("import graph.json --goal latency -q -o again.json");
  expectTaken("plan chain.csv --cluster rig.json -q --pack 0.5,2,10ms");
}

// One input that heeds it is enough; the others are read without it.
TEST_F(OptionUse, OneOfSeveralInputsIsEnough) {
  ASSERT_EQ(runCommand("import graph.json --cluster rig.json -q -o timed.json").code, 0);
  expectTaken("plan timed.json graph.json --cluster rig.json --goal completion -q");
  expectTaken("plan graph.json timed.json --cluster rig.json --goal completion -q");
  expectRefused("plan timed.json timed.json --cluster rig.json --goal completion", "--cluster");
  expectRefused("plan timed.json graph.json --cluster rig.json --goal completion --dim batch=1", "--dim");
}

TEST_F(OptionUse, VerbsOfDevicesRefuseWhatIsNotTheirs) {
  expectRefused("devices list --measure", "--measure");
  expectRefused("devices show t4 --link pcie4", "--link");
  expectRefused("devices list -o list.txt", "--output");
}

TEST_F(OptionUse, TimesBelowTheClockAreCounted) {
  std::string text = kPlain;
  text.replace(text.find("[2, 2.5]"), 8, "[2e-16, 2.5e-16]");
  save("short.json", text);
  for (const char* goal : {"latency", "throughput"}) {
    const std::string plan = fmt::format("plan short.json --goal {} -o plan.json", goal);
    for (const std::string& call :
         {plan, std::string("check short.json plan.json"), std::string("simulate short.json plan.json"),
          fmt::format("compare short.json --goal {} --solvers single", goal)}) {
      const CommandAnswer answer = runCommand(call);
      EXPECT_EQ(answer.code, 0) << call << answer.err;
      EXPECT_NE(answer.err.find("short.json: 2 times are below"), std::string::npos) << call << answer.err;
    }
    EXPECT_EQ(runCommand(plan + " -q").err, "");
  }
  EXPECT_EQ(runCommand("plan plain.json --goal latency").err, "");
}

TEST_F(OptionUse, ExplainSaysWhatMemoryIsMadeOf) {
  ASSERT_EQ(runCommand("plan plain.json --goal latency -q -o plan.json").code, 0);
  std::string text = runCommand("explain plain.json plan.json --time-limit 0").out;
  EXPECT_NE(text.find("(used: weights, memory and activations of the ops there)"), std::string::npos) << text;
  text = runCommand("explain plain.json plan.json --time-limit 0 --memory live --optimizer-factor 4").out;
  EXPECT_NE(text.find("(used: weights x 4, memory and activations of the ops there, and at their largest the "
                      "workspace and the tensors alive)"),
            std::string::npos)
      << text;
}

// A file may serve several goals: what it says for another one is ignored aloud, never an error.
TEST_F(OptionUse, WhatFilesSayForOtherGoalsIsAWarning) {
  std::string text = kPlain;
  text.replace(
      text.rfind('}'), 1,
      R"(, "goal": "latency", "options": {"link-mode": "half-duplex", "contiguity": "none", "transfers": "by-link"}})");
  save("both.json", text);
  CommandAnswer answer = runCommand("plan both.json -o plan.json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 2) << answer.err;
  EXPECT_NE(answer.err.find("both.json: option contiguity"), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("option transfers"), std::string::npos) << answer.err;
  EXPECT_EQ(runCommand("plan both.json -q").err, "");
  answer = runCommand("plan both.json --goal throughput -o throughput.json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  EXPECT_NE(answer.err.find("option link-mode"), std::string::npos) << answer.err;
  EXPECT_EQ(runCommand("check both.json plan.json").code, 0);
  save("config.yaml", "goal: latency\nmax-stages: 3\nseed: 4\nmax-moves: 2\n");
  answer = runCommand("plan plain.json --config config.yaml");
  EXPECT_NE(answer.err.find("config.yaml: option max-stages"), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("config.yaml: option max-moves"), std::string::npos) << answer.err;
  EXPECT_EQ(answer.err.find("seed"), std::string::npos) << answer.err;
  // What a file says of itself alone is bad input, not a wrong call.
  text.replace(text.find("\"link-mode\": \"half-duplex\""), 26,
               R"("model": "subgraph-calls", "memory": "live")");
  save("calls.json", text);
  answer = runCommand("plan calls.json");
  EXPECT_EQ(answer.code, 3) << answer.err;
  EXPECT_NE(answer.err.find("options.memory"), std::string::npos) << answer.err;
}

}  // namespace
}  // namespace allot
