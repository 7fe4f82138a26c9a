#include "solve/course_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace allot {
namespace {

// Of a short time limit, what a solver may take at most that needs some seconds to be of use.
constexpr double kMostOfShort = 0.4;
// Of the time, at most, for all that follows the search.
constexpr double kEndShare = 0.3;

}  // namespace

CourseEnd runCourse(const Problem& problem, const Solver* only, double seconds, const Budget& budget,
                    Collector& collector) {
  CourseEnd end;
  for (const CourseStep& step :
       only != nullptr ? std::vector<CourseStep>{{.solver = only, .share = 1}} : courseOf(problem)) {
    if (end.proven || collector.done()) break;
    if (step.turn > 0 && budget.work_limit > 0) continue;
    // What follows the search needs time as well.
    const double left =
        budget.remainingSeconds() - std::min(kEndShare * seconds, collector.secondsToFinish());
    if (budget.stopped() || left <= 0) {
      end.interrupted = true;
      break;
    }
    const Solver& solver = *step.solver;
    const double wanted =
        std::max(step.share * seconds, std::min(step.least_seconds, kMostOfShort * seconds));
    Budget share = budget.slice(std::min(wanted, left));
    if (budget.work_limit == 0) share.patience = step.patience;
    share.turn = step.turn;
    const SolveResult result = solver.solve(problem, share, collector);
    end.interrupted = end.interrupted || result.end == SolveEnd::kStopped;
    if (result.end != SolveEnd::kExhausted) {
      if (collector.done()) end.proof = result.proof;
      continue;
    }
    end.proven = true;
    end.proof = fmt::format("{}: {}", solver.name, result.proof);
  }
  return end;
}

}  // namespace allot
