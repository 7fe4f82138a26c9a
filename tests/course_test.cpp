// The order in which the portfolio calls its solvers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "solve/course.h"
#include "support/random_problem.h"

namespace allot {
namespace {

// A solver's turns are counted, and who is in haste can rely on somebody behind it.
TEST(Course, CountsTurnsAndBacksUpHaste) {
  std::size_t hasty = 0, repeated = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    for (const Goal goal : {Goal::kThroughput, Goal::kLatency, Goal::kCompletion}) {
      const Problem problem = randomProblem(seed, goal, {8, 3, true});
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
      const std::vector<CourseStep> course = courseOf(problem);
      std::map<std::string_view, std::uint32_t> turns;
      for (auto step = course.begin(); step != course.end(); ++step) {
        ASSERT_TRUE(step->solver->accepts(problem)) << step->solver->name;
        ASSERT_GT(step->share, 0) << step->solver->name;
        if (goal == Goal::kThroughput)
          EXPECT_EQ(step->turn, turns[step->solver->name]++) << step->solver->name;
        repeated += step->turn > 0;
        ASSERT_GT(step->patience, 0);
        if (step->patience >= 1) continue;
        ++hasty;
        EXPECT_TRUE(std::any_of(step + 1, course.end(), [&](const CourseStep& later) {
          return later.patience >= 1 && (later.solver == step->solver || later.solver->name == "chain");
        })) << step->solver->name;
      }
    }
  }
  EXPECT_GT(hasty, 100u);
  EXPECT_GT(repeated, 100u);
}

}  // namespace
}  // namespace allot
