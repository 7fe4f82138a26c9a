// How a call ends: exit codes of searches, and outputs that cannot be written.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "command_support.h"

namespace allot {
namespace {

// Ops of unlike times in layers, each reading two of the layer before: no search proves them at once.
std::string hardProblem() {
  constexpr int kLayers = 40, kWidth = 5;
  std::string ops, tensors;
  for (int i = 0; i < kLayers * kWidth; ++i) {
    ops += fmt::format(R"({}{{"name": "o{}", "time": [{}, {}]}})", i == 0 ? "" : ", ", i, 1 + i * 7919 % 13,
                       1 + i * 104729 % 17);
    if (i < kWidth) continue;
    const int layer = i / kWidth - 1;
    for (const int from : {i % kWidth, (i + 1) % kWidth}) {
      tensors += fmt::format(R"({}{{"from": "o{}", "to": ["o{}"], "time": {}}})", tensors.empty() ? "" : ", ",
                             layer * kWidth + from, i, 1 + i * 31 % 5);
    }
  }
  return fmt::format(
      R"({{"schema": "allot.problem/1", "goal": "latency", "classes": [{{"name": "g", "kind": "accelerator"}},
  {{"name": "c", "kind": "cpu"}}], "devices": [{{"name": "g0", "class": "g"}}, {{"name": "g1", "class": "g"}},
  {{"name": "c0", "class": "c"}}], "ops": [{}], "tensors": [{}]}})",
      ops, tensors);
}

// Live memory on a device that holds each op but no order of them: whichever branch comes second has what the
// first put out beside it. No short proof says so.
constexpr const char* kNothingFits = R"({"schema": "allot.problem/1", "goal": "latency",
  "classes": [{"name": "g", "kind": "accelerator"}], "devices": [{"name": "g0", "class": "g", "memory": 12}],
  "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [1]}, {"name": "c", "time": [1]}, {"name": "d", "time": [1]},
    {"name": "e", "time": [1]}],
  "tensors": [{"from": "a", "to": ["b"], "bytes": 8, "time": 1}, {"from": "b", "to": ["e"], "bytes": 3, "time": 1},
    {"from": "c", "to": ["d"], "bytes": 8, "time": 1}, {"from": "d", "to": ["e"], "bytes": 3, "time": 1}],
  "options": {"memory": "live"}})";

class ExitCodes : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    save("hard.json", hardProblem());
    save("easy.json", R"({"schema": "allot.problem/1", "goal": "latency",
  "classes": [{"name": "g", "kind": "accelerator"}], "devices": [{"name": "g0", "class": "g"}],
  "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [2]}], "tensors": [{"from": "a", "to": ["b"], "time": 1}]})");
  }
  // Starts a command behind the folder's problem and ends it by the signal.
  CommandAnswer interrupted(const std::string& arguments, const char* signal) const {
    return runCommand(fmt::format("{} >out & pid=$!; sleep 1; kill -{} $pid; wait $pid", arguments, signal));
  }
  std::string saved(const char* name) const { return readFile((folder / name).string()).value_or(""); }
};

TEST_F(ExitCodes, APlanIsAPlanWhateverItsGap) {
  const CommandAnswer plan = runCommand("plan hard.json --time-limit 0.2");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("feasible"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("(stopped at the limit)"), std::string::npos) << plan.out;
  const CommandAnswer strict = runCommand("plan hard.json --time-limit 0.2 --strict --json");
  EXPECT_EQ(strict.code, 5) << strict.err;
  EXPECT_NE(strict.out.find("\"assignment\""), std::string::npos);
  EXPECT_NE(strict.err.find("--strict"), std::string::npos) << strict.err;
  EXPECT_EQ(runCommand("plan hard.json --time-limit 0.2 --strict --gap 99% -q").code, 0);
  EXPECT_EQ(runCommand("plan easy.json --strict -q").code, 0);
}

TEST_F(ExitCodes, TheUserMayStopASearch) {
  for (const char* signal : {"INT", "TERM"}) {
    const CommandAnswer answer = interrupted("plan hard.json", signal);
    EXPECT_EQ(answer.code, 5) << signal << answer.err;
    EXPECT_NE(saved("out").find("(stopped by the user)"), std::string::npos) << saved("out");
  }
  EXPECT_EQ(interrupted("compare hard.json --solvers single,local-search,portfolio", "INT").code, 5);
}

// Nothing is found yet that could be printed, and the writer may never say anything.
TEST_F(ExitCodes, ASilentPipeIsLeftByTheSignal) {
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const char* call : {"plan pipe", "plan easy.json --config pipe", "plan easy.json --start pipe"}) {
    for (const char* signal : {"INT", "TERM"}) {
      // Killed where it has not ended some seconds later. A shell ignores SIGINT for what runs behind it.
      const std::string wait = fmt::format("timeout -s {} -k 5 1 ", signal);
      const CommandAnswer answer =
          runCommand("version > /dev/null; exec 3<>pipe; " + wait + ALLOT_COMMAND " " + call + "; echo $?");
      EXPECT_EQ(answer.out, "124\n") << call << " " << signal << answer.err;
    }
  }
}

// What a proven plan lacks is nothing, whether some solver met its share of the time or not.
TEST_F(ExitCodes, AProvenPlanSaysNothingOfLimits) {
  ASSERT_EQ(runCommand("demo -q -o demo.json").code, 0);
  std::size_t proven = 0;
  for (const char* limit : {"0.1", "0.2", "0.3", "0.4", "0.6", "0.9", "2"}) {
    const CommandAnswer plan =
        runCommand(fmt::format("plan demo.json --goal throughput --time-limit {}", limit));
    EXPECT_EQ(plan.code, 0) << plan.err;
    if (plan.out.find("status      optimal") == std::string::npos) continue;
    ++proven;
    EXPECT_EQ(plan.out.find("stopped"), std::string::npos) << plan.out;
  }
  EXPECT_GT(proven, 0u);
}

TEST_F(ExitCodes, NoPlanSaysWhetherTheLimitWasTheReason) {
  save("nothing.json", kNothingFits);
  const CommandAnswer ended = runCommand("plan nothing.json --solver single");
  EXPECT_EQ(ended.code, 6) << ended.err;
  EXPECT_NE(ended.err.find("without a plan and without a proof"), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("--time-limit"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("no --solver"), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find("more memory"), std::string::npos) << ended.err;
  const CommandAnswer compared = runCommand("compare nothing.json --solvers single,heft");
  EXPECT_EQ(compared.code, 6) << compared.err;
  EXPECT_NE(compared.err.find("without a plan and without a proof"), std::string::npos) << compared.err;
  const CommandAnswer limited = runCommand("plan hard.json --solver local-search --time-limit 0");
  if (limited.code == 6) EXPECT_NE(limited.err.find("raise --time-limit"), std::string::npos) << limited.err;
}

TEST_F(ExitCodes, ProvingAgain) {
  ASSERT_EQ(runCommand("plan hard.json --time-limit 0.2 -q -o plan.json").code, 0);
  EXPECT_EQ(runCommand("check hard.json plan.json --prove --time-limit 0.2 -q").code, 0);
  EXPECT_EQ(runCommand("check hard.json plan.json --prove --time-limit 0.2 -q --strict").code, 5);
}

TEST_F(ExitCodes, OutputsThatCannotBeWritten) {
  for (const char* call :
       {"--help", "--version", "plan --help", "version", "version --man-page", "version --json",
        "devices list", "completion bash", "plan easy.json", "plan easy.json --json", "import easy.json",
        "compare easy.json --solvers single", "plan easy.json -q -o -"}) {
    const CommandAnswer answer = runCommand(std::string(call) + " > /dev/full");
    EXPECT_EQ(answer.code, 3) << call;
    EXPECT_EQ(answer.err.rfind("standard output: cannot write", 0), 0u) << call << ": " << answer.err;
  }
  // A reader that is gone ends the program by its signal, or where that is blocked, with one line.
  const CommandAnswer closed = runCommand("--version > /dev/null; trap '' PIPE; { sleep 0.3; " ALLOT_COMMAND
                                          " --help; echo $? > code; } 2> message | true; cat code message");
  EXPECT_EQ(closed.out.rfind("3\nstandard output: cannot write: Broken pipe", 0), 0u) << closed.out;
  // Warnings that nobody can read spoil nothing.
  EXPECT_EQ(runCommand("plan hard.json --time-limit 0.1 --strict > /dev/null 2> /dev/full; echo $?").out,
            "5\n");
}

}  // namespace
}  // namespace allot
