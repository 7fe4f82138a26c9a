// Search where the problem has terms that engines do not know.
//
// Engines add up memory op by op. Blocks of weights that several ops read, what models are given, and live
// memory under throughput do not add up so, and copies of a block in training cost time that no engine
// counts. There engines get Problem::relaxed(), in which each op holds what it adds to any device at the
// least. Bounds: a plan of the problem is a plan of the relaxed one and worth no less, so what is proven
// there (a bound, the optimum, that there is no plan) is a bound here, or the same. Plans: each one an engine
// finds is valued here too. Where the best ones hold too much, the relaxed problem is searched again with
// less memory on the devices that overflowed: by as much as a plan held beyond what its ops add up to, then
// halving the distance between the least margin that did and the largest that did not. Annealing, which knows
// the true memory, takes the time that is left. The rules in use today get a run of their own, so that no
// plan is worse than theirs.
#pragma once

#include <optional>

#include "solve/course_run.h"

namespace allot {

// What engines are given in place of the problem; absent where it is just what they know.
std::optional<Problem> relaxedForEngines(const Problem& problem);

// `relaxed` is that of `problem`, `only` as in runCourse. Plans and bounds go to `collector`.
CourseEnd searchByRelaxation(const Problem& problem, const Problem& relaxed, const Solver* only,
                             const RunOptions& run, const Budget& budget, Collector& collector);

}  // namespace allot
