// The same model on other hardware.
//
// `withExtraDevice` adds a twin of the first device of a class: same memory and host, the twin's links, and
// between the two the link of another pair of that class, or the slowest the twin has. `withFasterLinks`
// divides every transfer time by a factor.
#pragma once

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

Result<Problem> withExtraDevice(const Problem& problem, ClassId cls);
Result<Problem> withFasterLinks(const Problem& problem, double factor);

}  // namespace allot
