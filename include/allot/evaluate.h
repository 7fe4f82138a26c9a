// The value of a set of decisions.
//
// `evaluate` takes an assignment (and, where the plan has them, stages, calls and orders) and fills in
// everything that follows: value, loads, memory, schedule, transfers, completions. It values any complete
// assignment and lists what it violates; only solvers promise a valid plan.
#pragma once

#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct Evaluation {
  Plan plan;  // the decisions with value, devices, stages, schedule, transfers, completion
  std::vector<std::string> violations;  // empty = a valid plan

  bool valid() const { return violations.empty(); }
};

// Decisions read: `assignment` (complete); throughput: `stages` with replicas and order; subgraph-calls:
// `stages` as calls; events: `start` of ops and transfers as device and port orders. What is absent is chosen
// by the rules of docs/semantics.md.
Evaluation evaluate(const Problem& problem, Plan decisions);

}  // namespace allot
