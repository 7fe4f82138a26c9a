// Valid plans with one thing changed: the checker rejects every one that is no longer valid.
#include <gtest/gtest.h>

#include <cmath>

#include "allot/allot.h"
#include "support/random_problem.h"

namespace allot {
namespace {

constexpr std::uint64_t kProblems = 2500;  // per goal; each gives up to some four mutants

// What was done, empty when it does not apply; `sure` says that the mutant is invalid whatever else holds.
struct Mutation {
  std::string what;
  bool sure = true;
};

bool hasSchedule(const Plan& plan) {
  return !plan.start.empty();
}

Mutation mutate(const Problem& problem, Plan& plan, Random& random) {
  const auto op = random.below(static_cast<std::uint32_t>(problem.opCount()));
  const auto device = [&] {
    return DeviceId(random.below(static_cast<std::uint32_t>(problem.deviceCount())));
  };
  switch (random.below(12)) {
    case 0:
      plan.value = plan.value * 0.99 - 1e-6;
      return {"value lowered"};
    case 1:
      plan.value = plan.value * 1.01 + 1e-6;
      return {"value raised"};
    case 2:
      plan.bound = plan.value * 1.01 + 1e-6;
      return {"bound above value"};
    case 3: {
      const DeviceId to = device();
      if (to == plan.assignment[op]) return {};
      plan.assignment[op] = to;
      return {"op moved to another device", false};
    }
    case 4:
      plan.assignment[op] = DeviceId();
      return {"op unassigned"};
    case 5:
      if (!hasSchedule(plan)) return {};
      plan.start[op] = std::nan("");
      return {"op not scheduled"};
    case 6:
      if (!hasSchedule(plan)) return {};
      plan.end[op] += 0.125;
      return {"duration changed"};
    case 7:
      if (!hasSchedule(plan)) return {};
      plan.start[op] -= plan.start[op] + 0.125;
      plan.end[op] = plan.start[op] + problem.opSeconds(OpId(op), plan.assignment[op]);
      return {"op starts before 0"};
    case 8: {
      if (plan.transfers.empty()) return {};
      PlanTransfer& t = plan.transfers[random.below(static_cast<std::uint32_t>(plan.transfers.size()))];
      t.start -= 64;
      t.end -= 64;
      return {"transfer before its producer"};
    }
    case 9: {
      if (plan.devices.empty()) return {};
      plan.devices[device().index()].memory_bytes += 1;
      return {"memory claim changed"};
    }
    case 10:
      if (plan.stages.empty()) return {};
      plan.stages.erase(plan.stages.begin() + random.below(static_cast<std::uint32_t>(plan.stages.size())));
      return {"stage left out", plan.stages.size() > 0};
    default:
      if (plan.stages.size() < 2) return {};
      std::swap(plan.stages.front(), plan.stages.back());
      return {"stages swapped", false};
  }
}

// Where a change may leave the plan valid by luck, the evaluator decides: it must agree with every claim.
bool stillValid(const Problem& problem, const Plan& mutant) {
  const Evaluation again = evaluate(problem, mutant);
  if (!again.valid() || std::fabs(again.plan.value - mutant.value) > 1e-9 * mutant.value) return false;
  for (std::size_t d = 0; d < mutant.devices.size(); ++d) {
    const DeviceUse &a = again.plan.devices[d], &b = mutant.devices[d];
    if (std::fabs(a.compute_seconds - b.compute_seconds) > 1e-12 ||
        std::fabs(a.memory_bytes - b.memory_bytes) > 1e-6 ||
        std::fabs(a.communication_seconds - b.communication_seconds) > 1e-12) {
      return false;
    }
  }
  return true;
}

class Mutants : public testing::TestWithParam<Goal> {};

TEST_P(Mutants, InvalidOnesAreRejected) {
  std::uint64_t rejected = 0, kept = 0;
  for (std::uint64_t seed = 0; seed < kProblems; ++seed) {
    const Problem problem = randomProblem(seed + 500'000, GetParam(), {5, 3, true});
    RunOptions run;
    run.solver = "packing";
    SolveOutcome outcome = solve(problem, run);
    if (!outcome.plan.hasPlan()) continue;
    ASSERT_TRUE(check(problem, outcome.plan).ok());
    Random random(seed, 3);
    for (int k = 0; k < 6; ++k) {
      Plan mutant = outcome.plan;
      const Mutation mutation = mutate(problem, mutant, random);
      if (mutation.what.empty()) continue;
      if (!mutation.sure && stillValid(problem, mutant)) {
        ++kept;
        continue;
      }
      const CheckReport report = check(problem, mutant);
      EXPECT_FALSE(report.ok()) << "seed " << seed << ": " << mutation.what << "; " << describe(problem);
      if (report.ok()) return;
      ++rejected;
    }
  }
  RecordProperty("rejected", std::to_string(rejected));
  EXPECT_GT(rejected, 3500u);
  EXPECT_GT(rejected, 5 * kept);
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, testing::Values(Goal::kThroughput, Goal::kLatency, Goal::kCompletion),
                         [](const testing::TestParamInfo<Goal>& info) {
                           return std::string(name(info.param));
                         });

}  // namespace
}  // namespace allot
