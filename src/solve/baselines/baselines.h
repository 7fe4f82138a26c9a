// Baseline solvers: the rules that people use today and the classic list schedulers.
//
// Problem: give a first plan at once, and let `compare` show what the incumbents would have done.
// Assumptions: a finished problem. Rules split the module order over the devices for any goal; list
// schedulers need the
//   events model (latency, completion).
// Guarantee: heuristic. A plan that is reported respects units, allowed devices and static memory; a rule
// that finds no such
//   plan reports nothing. In-flight and live memory, ports and contiguity are left to the receiver's check.
// Complexity: rules O(ops + edges + units x devices) up to logarithms; list schedulers O((ops + edges) x
// devices) up to
//   logarithms and the scan of idle gaps, which ends at kInsertionLimit ops.
// When time runs out: a list scheduler reports nothing, `single` the devices it came to; a rule that has
// begun ends.
#pragma once

#include <span>

#include "allot/solve.h"

namespace allot {

std::span<const Solver> baselineSolvers();
// Those that take longer than a proof may: the portfolio runs them last.
std::span<const Solver> slowBaselineSolvers();

}  // namespace allot
