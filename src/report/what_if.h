// The same model on other hardware.
//
// `withExtraDevice` adds a twin of the first device of a class: same memory and host, the twin's links, and
// between the two the link of another pair of that class, or the slowest the twin has. `withFasterLinks`
// divides every transfer time by a factor, `withFasterClass` the op times of a
// class.
#pragma once

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

Result<Problem> withExtraDevice(const Problem& problem, ClassId cls);
Result<Problem> withFasterClass(const Problem& problem, ClassId cls, double factor);
Result<Problem> withFasterLinks(const Problem& problem, double factor);

}  // namespace allot
