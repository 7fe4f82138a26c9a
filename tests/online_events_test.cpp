// Files of events and what the command makes of them.
#include <gtest/gtest.h>

#include <cmath>

#include "allot/online.h"
#include "base/random.h"
#include "command_support.h"
#include "formats_support.h"

namespace allot {
namespace {

constexpr const char* kProblem = R"({
  "schema": "allot.problem/1", "name": "two", "goal": "completion",
  "classes": [{"name": "cpu", "kind": "cpu"}, {"name": "gpu", "kind": "accelerator"}],
  "devices": [{"name": "c0", "class": "cpu"}, {"name": "g0", "class": "gpu", "memory": 100}],
  "models": [{"name": "m"}, {"name": "n", "weight": 2}],
  "ops": [{"name": "a", "time": [4, 1], "model": "m", "memory": 10}, {"name": "b", "time": [4, 1], "model": "m"},
          {"name": "c", "time": [8, 2], "model": "n"}],
  "tensors": [{"from": "a", "to": ["b"], "time": 0}]})";

constexpr const char* kHeader = "{\"schema\": \"allot.events/1\"}\n";

TEST(OnlineEvents, ReadsEveryKind) {
  const Problem problem = problemOf(kProblem);
  const std::string text =
      R"({"schema": "allot.events/1", "ends": "reported", "move_cost": "2us", "max_moves": 3}

{"time": 0, "event": "arrive", "model": "m", "job": "x", "weight": 3}
{"time": "1ms", "event": "leave", "job": "x"}
{"time": 1, "event": "fail", "device": "g0"}
{"time": 1, "event": "return", "device": "g0"}
{"time": 1, "event": "slow", "device": "c0", "factor": 2}
{"time": 1, "event": "time", "op": "b", "class": "gpu", "seconds": "3ms"}
{"time": 2, "event": "end", "job": "x", "op": "b"}
)";
  const auto log = readEvents(text, "e", problem);
  ASSERT_TRUE(log) << log.error().text();
  EXPECT_TRUE(log->options.ends_reported);
  EXPECT_EQ(log->options.move_cost, 2e-6);
  EXPECT_EQ(log->options.max_moves, 3u);
  ASSERT_EQ(log->lines.size(), 7u);
  std::vector<OnlineEvent> events;
  for (const EventLine& line : log->lines) {
    ASSERT_TRUE(line.event) << line.event.error().text();
    events.push_back(*line.event);
  }
  EXPECT_EQ(log->lines[0].line, 3u);
  EXPECT_EQ(events[0].weight, 3);
  EXPECT_EQ(events[1].time, 1e-3);
  EXPECT_EQ(events[5].op, OpId(1));
  EXPECT_EQ(events[5].seconds, 3e-3);
  // What is written reads the same.
  const auto again = readEvents(writeEvents(problem, log->options, events), "e", problem);
  ASSERT_TRUE(again) << again.error().text();
  std::vector<OnlineEvent> second;
  for (const EventLine& line : again->lines) second.push_back(line.event.value());
  EXPECT_EQ(writeEvents(problem, again->options, second), writeEvents(problem, log->options, events));
}

TEST(OnlineEvents, RefusesBadHeaders) {
  const Problem problem = problemOf(kProblem);
  for (const char* text : {"", "\n\n", "{}", "[1]", "nonsense", "{\"schema\": \"allot.plan/1\"}",
                           "{\"schema\": \"allot.events/1\", \"ends\": \"never\"}",
                           "{\"schema\": \"allot.events/1\", \"move_cost\": -1}",
                           "{\"schema\": \"allot.events/1\", \"max_moves\": 1.5}",
                           "{\"schema\": \"allot.events/1\", \"speed\": 1}"}) {
    const auto log = readEvents(text, "e", problem);
    ASSERT_FALSE(log) << text;
    EXPECT_NE(log.error().text().find("e: line "), std::string::npos) << log.error().text();
  }
}

TEST(OnlineEvents, BadLinesAreKeptAsErrors) {
  Problem problem = problemOf(kProblem);
  for (Device& device : problem.cluster.devices) device.memory_bytes = 100;
  problem.graph.op_memory_bytes[2] = 500;  // no device has room for model n
  const char* lines[] = {
      "nonsense",
      "{\"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": -1, \"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": 1e300, \"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": 0, \"event\": \"explode\"}",
      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"q\"}",
      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\", \"weight\": -1}",
      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\", \"colour\": 1}",
      "{\"time\": 0, \"event\": \"fail\", \"device\": \"g9\"}",
      "{\"time\": 0, \"event\": \"slow\", \"device\": \"g0\"}",
      "{\"time\": 0, \"event\": \"time\", \"op\": \"a\", \"class\": \"gpu\", \"seconds\": -2}",
      "{\"time\": 0, \"event\": \"end\", \"job\": \"x\", \"op\": \"zz\"}",
      "{\"time\": NaN, \"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": \"nan\", \"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": 1e999, \"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": 123456789012345678901234567890, \"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\", \"weight\": 1e300}",
      "{\"time\": 0, \"time\": 1, \"event\": \"arrive\", \"model\": \"m\"}",
      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\", \"job\": \"\"}",
      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\"} more",
      "{\"time\": 0, \"event\": \"slow\", \"device\": \"g0\", \"factor\": 0}",
      "{\"time\": 0, \"event\": \"slow\", \"device\": \"g0\", \"factor\": \"Infinity\"}",
      "{\"time\": 0, \"event\": \"return\", \"device\": \"g0\"}",
      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"n\"}",
      "{\"time\": 0, \"event\": \"arr",
      "null",
      "[0]"};
  std::string text = kHeader;
  for (const char* line : lines) text += std::string(line) + "\n";
  const auto log = readEvents(text, "e", problem);
  ASSERT_TRUE(log);
  auto engine = OnlineEngine::create(problem, log->options);
  ASSERT_TRUE(engine);
  const Replay result = replay(*engine, *log, "e");
  ASSERT_EQ(result.errors.size(), std::size(lines));
  for (std::size_t i = 0; i < std::size(lines); ++i) {
    const std::string error = result.errors[i].text();
    EXPECT_EQ(error.find("e: line " + std::to_string(i + 2)), 0u) << error;
    EXPECT_FALSE(result.errors[i].remedy.empty()) << error;
  }
  EXPECT_EQ(engine->jobCount(), 0u);
}

TEST(OnlineEvents, RefusedEventsDoNotChangeTheRest) {
  const Problem problem = problemOf(kProblem);
  const std::string good = std::string(kHeader) +
                           "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\"}\n"
                           "{\"time\": 1.5, \"event\": \"fail\", \"device\": \"g0\"}\n"
                           "{\"time\": 3, \"event\": \"return\", \"device\": \"g0\"}\n";
  const std::string bad = std::string(kHeader) +
                          "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\"}\n"
                          "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\"}\n"
                          "{\"time\": 1e9, \"event\": \"leave\", \"job\": \"who\"}\n"
                          "{\"time\": 1.5, \"event\": \"fail\", \"device\": \"g0\"}\n"
                          "{\"time\": 1, \"event\": \"arrive\", \"model\": \"n\"}\n"
                          "{\"time\": 2, \"event\": \"fail\", \"device\": \"g0\"}\n"
                          "{\"time\": 3, \"event\": \"return\", \"device\": \"g0\"}\n";
  std::string texts[2];
  for (const int i : {0, 1}) {
    const auto log = readEvents(i == 0 ? good : bad, "e", problem);
    ASSERT_TRUE(log);
    auto engine = OnlineEngine::create(problem, log->options);
    const Replay result = replay(*engine, *log, "e");
    EXPECT_EQ(result.errors.size(), i == 0 ? 0u : 4u);
    for (const Decision& decision : result.decisions) texts[i] += decisionText(problem, *engine, decision);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(OnlineEvents, TheExampleOfTheDocumentationReads) {
  const std::string page = textOf(std::string(ALLOT_SOURCE_DIR) + "/docs/formats/events.md");
  const std::string fence = "```jsonl\n";
  const std::size_t begin = page.find(fence) + fence.size();
  Problem problem = problemOf(kProblem);
  problem.graph.model_name = {"bert", "alexnet"};
  problem.cluster.devices[1].name = "gpu0";
  const auto log = readEvents(page.substr(begin, page.find("```", begin) - begin), "events.md", problem);
  ASSERT_TRUE(log) << log.error().text();
  EXPECT_EQ(log->lines.size(), 6u);
  for (const EventLine& line : log->lines) EXPECT_TRUE(line.event) << line.event.error().text();
}

// Damaged files: no crash, every error on one line with its place, and a state that still works.
TEST(OnlineEvents, DamagedFilesDoNoHarm) {
  const Problem problem = problemOf(kProblem);
  const std::string seed_text =
      R"({"schema": "allot.events/1", "ends": "predicted", "move_cost": 0.001, "max_moves": 2}
{"time": 0, "event": "arrive", "model": "m", "job": "x"}
{"time": "1ms", "event": "arrive", "model": "n", "weight": 3}
{"time": 0.5, "event": "slow", "device": "g0", "factor": 1.5}
{"time": 0.5, "event": "fail", "device": "g0"}
{"time": 0.75, "event": "time", "op": "b", "class": "cpu", "seconds": 0.5}
{"time": 1, "event": "return", "device": "g0"}
{"time": 1, "event": "end", "job": "x", "op": "a"}
{"time": 2, "event": "leave", "job": "x"}
)";
  const std::vector<std::string> words{"0",    "1e12", "-1",     "1e-9",     "\"x\"", "\"g0\"",
                                       "null", "fail", "return", "end",      "leave", "\n",
                                       "time", "}",    "{",      "reported", ",",     ":"};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed, 3);
    std::string text = seed_text;
    for (std::uint32_t k = 1 + random.below(6); k > 0; --k) {
      const std::uint32_t at = random.below(static_cast<std::uint32_t>(text.size()));
      const std::uint32_t length = random.below(12);
      switch (random.below(4)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, words[random.below(static_cast<std::uint32_t>(words.size()))]);
          break;
        case 2:
          text[at] = static_cast<char>(random.below(256));
          break;
        default: {
          // A line again, somewhere else.
          const std::size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
          const std::string line = text.substr(begin, end == std::string::npos ? end : end + 1 - begin);
          text.insert(text.find('\n', random.below(static_cast<std::uint32_t>(text.size()))) + 1, line);
        }
      }
      if (text.empty()) text = "\n";
    }
    const auto log = readEvents(text, "e", problem);
    if (!log) {
      EXPECT_EQ(log.error().text().find("e: "), 0u);
      continue;
    }
    auto engine = OnlineEngine::create(problem, log->options);
    ASSERT_TRUE(engine);
    const Replay result = replay(*engine, *log, "e");
    EXPECT_TRUE(result.verified) << result.verified.error().text() << "\n" << text;
    for (const Error& error : result.errors) {
      EXPECT_EQ(error.text().find("e: line "), 0u) << error.text();
      EXPECT_FALSE(error.remedy.empty()) << error.text();
      EXPECT_EQ(error.text().find('\n'), std::string::npos);
    }
  }
}

class SimulateEvents : public CommandTest {};

TEST_F(SimulateEvents, PrintsFiguresAndWritesDecisions) {
  save("p.json", kProblem);
  save("e.jsonl", std::string(kHeader) +
                      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\"}\n"
                      "{\"time\": 0.5, \"event\": \"arrive\", \"model\": \"n\"}\n");
  CommandAnswer answer = runCommand("simulate p.json --events e.jsonl --json -o d.jsonl");
  EXPECT_EQ(answer.code, 0) << answer.err;
  // m: 0..2 on the gpu, n of weight 2 behind it until 4.
  EXPECT_NE(answer.out.find("\"value\": 10,"), std::string::npos) << answer.out;
  const std::string decisions = readFile((folder / "d.jsonl").string()).value_or("");
  EXPECT_EQ(std::count(decisions.begin(), decisions.end(), '\n'), 3 + 3 + 2) << decisions;
  answer = runCommand("simulate p.json --events e.jsonl --max-moves 0");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("2 finished"), std::string::npos) << answer.out;
}

TEST_F(SimulateEvents, BadEventsEndWithCodeThree) {
  save("p.json", kProblem);
  save("e.jsonl", std::string(kHeader) +
                      "{\"time\": 1, \"event\": \"arrive\", \"model\": \"m\"}\n"
                      "{\"time\": 0, \"event\": \"arrive\", \"model\": \"n\"}\n");
  CommandAnswer answer = runCommand("simulate p.json --events e.jsonl");
  EXPECT_EQ(answer.code, 3);
  EXPECT_EQ(answer.err.find("e.jsonl: line 3: time: "), 0u) << answer.err;
  EXPECT_NE(answer.out.find("1 finished"), std::string::npos);
  EXPECT_EQ(runCommand("simulate p.json").code, 2);
  EXPECT_EQ(runCommand("simulate p.json --events none.jsonl").code, 3);
  save("broken.jsonl", "{}\n");
  EXPECT_EQ(runCommand("simulate p.json --events broken.jsonl").code, 3);
}

// A job that waits for a device that is down is no error, but the answer says what it waits for.
TEST_F(SimulateEvents, SaysWhatUnfinishedJobsWaitFor) {
  save("p.json", kProblem);
  const std::string lines = std::string(kHeader) +
                            "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\"}\n"
                            "{\"time\": 0.5, \"event\": \"fail\", \"device\": \"g0\"}\n"
                            "{\"time\": 0.5, \"event\": \"fail\", \"device\": \"c0\"}\n";
  save("e.jsonl", lines);
  CommandAnswer answer = runCommand("simulate p.json --events e.jsonl --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("\"waits_for\": \"op \\\"a\\\" waits for a device"), std::string::npos)
      << answer.out;
  answer = runCommand("simulate p.json --events e.jsonl");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("m: op \"a\" waits for a device: all that it may use are down"),
            std::string::npos)
      << answer.out;
  save("e.jsonl", lines + "{\"time\": 1, \"event\": \"return\", \"device\": \"g0\"}\n");
  answer = runCommand("simulate p.json --events e.jsonl --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.out.find("waits_for"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("\"completion\": 3,"), std::string::npos) << answer.out;
}

// Where sends are per edge, a send says for whom it is.
TEST_F(SimulateEvents, SendsPerEdgeNameTheConsumer) {
  save("p.json", R"({"schema": "allot.problem/1", "goal": "completion", "options": {"send": "per-edge"},
    "classes": [{"name": "x", "kind": "cpu"}, {"name": "y", "kind": "cpu"}],
    "devices": [{"name": "d0", "class": "x"}, {"name": "d1", "class": "y"}], "models": [{"name": "m"}],
    "ops": [{"name": "a", "time": [1, null]}, {"name": "b", "time": [null, 1]}, {"name": "c", "time": [null, 1]}],
    "tensors": [{"from": "a", "to": ["b", "c"], "time": 1}]})");
  save("e.jsonl", std::string(kHeader) + "{\"time\": 0, \"event\": \"arrive\", \"model\": \"m\"}\n");
  const CommandAnswer answer = runCommand("simulate p.json --events e.jsonl -o -");
  EXPECT_EQ(answer.code, 0) << answer.err;
  for (const char* consumer : {"b", "c"})
    EXPECT_NE(answer.out.find(std::string("\"consumer\": \"") + consumer + "\""), std::string::npos)
        << answer.out;
}

TEST_F(SimulateEvents, PlanAndCheckCountMoves) {
  save("p.json", kProblem);
  save("s.json", R"({"schema": "allot.plan/1", "assignment": {"a": "c0", "b": "c0", "c": "c0"}})");
  EXPECT_EQ(runCommand("plan p.json --max-moves 1").code, 2);
  CommandAnswer answer = runCommand("plan p.json --start s.json --max-moves 1 --json -o q.json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("\"moves\": {\"most\": 1"), std::string::npos) << answer.out;
  answer = runCommand("check p.json q.json --start s.json --max-moves 1");
  EXPECT_EQ(answer.code, 0) << answer.err;
  answer = runCommand("check p.json q.json --start s.json --max-moves 0");
  EXPECT_EQ(answer.code, 7) << answer.err;
  EXPECT_EQ(runCommand("check p.json q.json --max-moves 1").code, 2);
  answer = runCommand("plan p.json --start s.json --max-moves 1");
  EXPECT_NE(answer.out.find("1 ops moved"), std::string::npos) << answer.out;
}

}  // namespace
}  // namespace allot
