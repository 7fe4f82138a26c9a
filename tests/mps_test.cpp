// The exported program, solved by CBC, has the least value of all plans.
#include "report/mps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "allot/solve.h"
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
  EXPECT_NE(mps.error().remedy.find("--goal latency"), std::string::npos);
}

}  // namespace
}  // namespace allot
