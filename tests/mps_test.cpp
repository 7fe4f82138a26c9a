// The exported program, solved by CBC, has the least value of all plans.
#include "report/mps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "allot/solve.h"
#include "command_support.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

bool hasCbc() {
  return std::system("command -v cbc > /dev/null 2>&1") == 0;
}

// The objective that CBC proves; NaN when it says anything else than "optimal".
double solvedByCbc(const std::string& mps) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string stem = (folder / ("allot-mps-" + std::to_string(getpid()))).string();
  std::ofstream(stem + ".mps") << mps;
  const std::string command =
      "cbc " + stem + ".mps -ratio 0 -allow 0 -seconds 60 -solve -solution " + stem + ".txt > /dev/null 2>&1";
  double value = std::nan("");
  if (std::system(command.c_str()) == 0) {
    std::ifstream solution(stem + ".txt");
    std::string line;
    std::getline(solution, line);
    const std::string said = "objective value";
    if (line.rfind("Optimal", 0) == 0) value = std::stod(line.substr(line.find(said) + said.size()));
  }
  std::filesystem::remove(stem + ".mps");
  std::filesystem::remove(stem + ".txt");
  return value;
}

TEST(Mps, CbcFindsTheLeastValue) {
  if (!hasCbc()) GTEST_SKIP() << "cbc is not installed (Debian package coinor-cbc)";
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 200 && solved < 40; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {4, 3});
    if (problem.modes.model != LatencyModel::kEvents || problem.modes.memory != MemoryModel::kStatic)
      continue;
    RunOptions run;
    run.solver = "packing";
    const Plan plan = solve(problem, run).plan;
    if (!plan.hasPlan()) continue;
    const auto mps = writeMps(problem, plan);
    ASSERT_TRUE(mps) << mps.error().message;
    EXPECT_NEAR(solvedByCbc(*mps), *bruteForce(problem), 1e-5)
        << "seed " << seed << ", " << describe(problem);
    if (HasFailure()) return;
    ++solved;
  }
  EXPECT_EQ(solved, 40);
}

TEST(Mps, RefusesWhatTheProgramDoesNotSay) {
  const Problem problem = randomProblem(1, Goal::kThroughput, {4, 3});
  const auto mps = writeMps(problem, Plan());
  ASSERT_FALSE(mps);
  EXPECT_NE(mps.error().remedy.find("plan again with --goal latency"), std::string::npos);
}

class MpsCli : public CommandTest {};

TEST_F(MpsCli, TheRemedyForLiveMemoryWorks) {
  save("live.json", R"({"schema": "allot.problem/1", "goal": "latency", "options": {"memory": "live"},
    "classes": [{"name": "g", "kind": "accelerator"}], "devices": [{"name": "g0", "class": "g", "memory": 64}],
    "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [2]}],
    "tensors": [{"from": "a", "to": ["b"], "bytes": 8, "time": 1}]})");
  ASSERT_EQ(runCommand("plan live.json -q -o plan.json").code, 0);
  const CommandAnswer refused = runCommand("export live.json plan.json --to mps");
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_NE(refused.err.find("; plan again with --memory static\n"), std::string::npos) << refused.err;
  ASSERT_EQ(runCommand("plan live.json -q -o plan.json --memory static").code, 0);
  const CommandAnswer answer = runCommand("export live.json plan.json --to mps");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("ENDATA"), std::string::npos) << answer.out;
}

}  // namespace
}  // namespace allot
