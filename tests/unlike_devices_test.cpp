// Throughput on devices that are not alike, in every mode: proofs of the portfolio and of every solver
// against enumeration, and the enumeration against one that knows the checker alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "allot/allot.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/scale.h"
#include "support/unlike_pipeline.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 3e-9;

bool near(double a, double b) {
  return a == b || std::fabs(a - b) <= kTolerance * std::max(std::fabs(a), std::fabs(b));
}

RunOptions only(std::string_view solver) {
  RunOptions run;
  run.threads = 1;
  run.solver = solver;
  run.helpers = Helpers::kOff;
  return run;
}

// Infinity where no plan can exist; not a number when it gave up.
double exhausted(const Problem& problem) {
  if (!findSolver("exhaustive")->accepts(problem)) return std::nan("");
  const SolveOutcome outcome = solve(problem, only("exhaustive"));
  EXPECT_TRUE(outcome.message.empty()) << outcome.message;
  if (outcome.plan.status == Status::kOptimal) return outcome.plan.value;
  return outcome.plan.status == Status::kInfeasible ? kInfinity : std::nan("");
}

// No bound on the way is above `best`, and what is called proven is `best`.
void judge(const Problem& problem, const RunOptions& run, const Plan* start, double best) {
  double bound = 0;
  std::string by;
  const SolveOutcome outcome = solve(problem, run, start, nullptr, [&](const ProgressLine& line) {
    if (line.bound <= bound) return;
    bound = line.bound;
    by = line.solver;
  });
  const std::string_view who = run.solver.empty() ? "portfolio" : std::string_view(run.solver);
  EXPECT_TRUE(outcome.message.empty()) << who << ": " << outcome.message;
  EXPECT_LE(bound, best * (1 + kTolerance)) << who << ", bound of " << by;
  if (outcome.plan.status == Status::kInfeasible) EXPECT_EQ(best, kInfinity) << who;
  if (outcome.plan.status == Status::kOptimal)
    EXPECT_TRUE(near(outcome.plan.value, best))
        << who << ": " << outcome.plan.value << " / " << best << ", " << outcome.plan.proof;
  if (outcome.plan.hasPlan()) EXPECT_GE(outcome.plan.value, best * (1 - kTolerance)) << who;
}

template <class Test>
void repeat(double problems, std::uint64_t stream, const UnlikeShape& shape, Test&& test) {
  for (std::uint64_t seed = 0; seed < scaled(problems); ++seed) {
    Random random(seed, stream);
    const std::optional<Problem> problem = unlikePipeline(random, shape);
    if (!problem) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(*problem));
    test(*problem, random);
    if (testing::Test::HasFailure()) {
      if (const char* file = std::getenv("ALLOT_FAILED_PROBLEM"))
        std::ofstream(file) << writeProblem(*problem);
      return;
    }
  }
}

TEST(UnlikeDevices, ProofsAgreeWithEnumeration) {
  std::size_t proven = 0, infeasible = 0;
  repeat(2000, 71, {}, [&](const Problem& problem, Random&) {
    const double best = exhausted(problem);
    if (std::isnan(best)) return;
    judge(problem, only(""), nullptr, best);
    judge(problem, only("chain"), nullptr, best);
    ++(best < kInfinity ? proven : infeasible);
  });
  EXPECT_GT(proven, scaled(1000));
  EXPECT_GT(infeasible, scaled(50));
}

// Stages that take devices of several pools.
TEST(UnlikeDevices, ProofsAgreeWithEnumerationWhereStagesHaveReplicas) {
  UnlikeShape shape;
  shape.replicas = true;
  repeat(3000, 74, shape, [](const Problem& problem, Random&) {
    const double best = exhausted(problem);
    if (std::isnan(best)) return;
    judge(problem, only(""), nullptr, best);
    judge(problem, only("chain"), nullptr, best);
  });
}

// Too many ways to choose replicas for a table: no proof, and no time or memory wasted on it.
TEST(UnlikeDevices, ManyOfOneClassAreNotForTheTable) {
  constexpr std::uint32_t kDevices = 30;
  Problem problem;
  problem.cluster.classes = {{.name = "k"}};
  for (std::uint32_t d = 0; d < kDevices; ++d) {
    problem.cluster.devices.push_back(
        {.name = fmt::format("d{}", d), .cls = ClassId(0u), .memory_bytes = {}, .host = HostId()});
    problem.cluster.links.push_back({LinkEnd::kDevice, LinkEnd::kAny, d, 0, 0.1 * d, 1});
    problem.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kDevice, 0, d, 0.2 * d, 1});
  }
  for (const char* name : {"a", "b"}) problem.graph.addOp(name);
  problem.op_seconds = {1, 2};
  const OpId second(1u);
  problem.addTensor(OpId(0u), {&second, 1}, 1, std::nan(""));
  problem.modes.goal = Goal::kThroughput;
  problem.modes.transfers = Transfers::kViaHost;
  problem.modes.replicate = true;
  ASSERT_TRUE(problem.finish());
  EXPECT_EQ(solve(problem, only("chain")).plan.status, Status::kNoPlan);
}

TEST(UnlikeDevices, EnumerationAgreesWithTheChecker) {
  UnlikeShape shape;
  shape.most_ops = 4;
  shape.most_devices = 3;
  repeat(400, 72, shape, [](const Problem& problem, Random&) {
    const double best = exhausted(problem);
    const double all = bruteForce(problem).value_or(kInfinity);
    EXPECT_TRUE(near(best, all)) << best << " / " << all;
  });
}

// Each solver alone, from nothing and from a plan at random.
TEST(UnlikeDevices, NoSolverProvesTooMuch) {
  repeat(250, 73, {}, [](const Problem& problem, Random& random) {
    const double best = exhausted(problem);
    if (std::isnan(best)) return;
    EXPECT_LE(lowerBound(problem), best * (1 + kTolerance));
    std::optional<Plan> start;
    for (int i = 0; i < 20 && !start; ++i) {
      Evaluation made = evaluate(problem, randomStages(problem, random));
      if (made.valid()) start = std::move(made.plan);
    }
    for (const Solver& solver : solvers()) {
      if (solver.name == "exhaustive" || !solver.accepts(problem)) continue;
      RunOptions run = only(solver.name);
      run.work_limit = 300;
      judge(problem, run, nullptr, best);
      if (start) judge(problem, run, &*start, best);
    }
  });
}

}  // namespace
}  // namespace allot
