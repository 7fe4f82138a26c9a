// Bytes that each stage of a pipeline holds on each of its devices (docs/semantics.md, *Memory of models*).
//
// Static: resident bytes. Live: the largest sum while one op after the other runs in the graph's reference
// order (resident bytes, the op's workspace, what is received or given from outside until its last reader
// here has run, what is made here until its last reader here has run, or to the end where it is sent or
// nobody reads it), plus once more what is received, for the next sample arrives meanwhile. With samples in
// flight the stash comes on top. O(ops + ends of tensors), for all stages at once.
#pragma once

#include <span>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// By stage, in the order of the pipeline.
std::vector<double> stageMemory(const Problem& problem, std::span<const PlanStage> stages);

// Bytes of forward tensors that backward ops of the stage read, each tensor once.
double stashBytes(const Problem& problem, const PlanStage& stage);

}  // namespace allot
