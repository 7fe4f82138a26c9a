// Runs solvers on a problem, one after the other, until its best plan is proven or nothing is left to try.
#pragma once

#include <string>

#include "allot/solve.h"
#include "solve/collector.h"
#include "solve/course.h"

namespace allot {

struct CourseEnd {
  bool proven = false;       // every plan was looked at: the best one is optimal, or there is none
  bool interrupted = false;  // by the limit or a stop request
  std::string proof;
};

// The portfolio, or `only` alone where it is not null. Shares of the time are those of `seconds`.
CourseEnd runCourse(const Problem& problem, const Solver* only, double seconds, const Budget& budget,
                    Collector& collector);

}  // namespace allot
