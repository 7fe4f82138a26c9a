// The independent checker.
//
// Problem: given a Problem and a Plan, recompute value, memory, constraints, order, port use and the gap
// claim from the
//   definitions of docs/semantics.md alone.
// Guarantee: shares no code with any solver or evaluator (src/check includes only problem, graph, cluster and
// base headers).
//   A plan without violations is valid and worth what it says (1e-9 relative).
// Limits: a bound can be refuted (above the value, or above another valid plan) but not proven here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct CheckReport {
  // What is wrong, the first violation first; empty = valid. Each names op, device, tensor or field and both
  // figures.
  std::vector<std::string> violations;
  double value = 0;  // recomputed; meaningless when the assignment or schedule is incomplete

  bool ok() const { return violations.empty(); }
};

CheckReport check(const Problem& problem, const Plan& plan);

// What is wrong with a plan that may have `most` ops on another device than `base` has them.
std::vector<std::string> checkMoves(const Problem& problem, const Plan& plan, std::span<const DeviceId> base,
                                    std::uint32_t most);

}  // namespace allot
