// Parts of a good plan planned anew, each the best that it can be while the rest stays.
//
// Problem: a topological order of all ops and a device for each unit, decoded by the sweep (static memory). A
// few ops of a stretch of the order are freed: all places in the stretch and all devices are open to them,
// all other ops keep device and relative order. Find the best of these plans.
// Method: depth-first search over what comes next in the stretch, a free op on some device or the next of the
// others. Bound: ends so far plus, for each model, the longest way through what follows (times on the devices
// that are fixed, transfers between them, orders on devices). Two beginnings with the same ops on the same
// devices are compared: one that is nowhere earlier is dropped. Freed are neighbours in the order, the next
// ops of one or two models, or the next ops of one device, at places drawn at random. Guarantee: in link mode
// free each part is solved exactly unless it takes too many steps; with ports the sweep takes transfers by
// their producers' ends, so a dropped beginning may have been the better one. Plans only get better.
// Complexity: at most (devices + 1)^free x stretch beginnings that are not compared away, O(ops x models) for
// each part. When time runs out: the best plan so far.
#pragma once

#include "solve/completion/order_walk.h"

namespace allot {

// From `start`, an evaluated plan; ends when so many ops have been appended in all; `stream` separates
// searches of one seed.
WalkResult improveWindows(const Problem& problem, const Plan& start, std::uint64_t visits,
                          std::uint64_t stream, const Budget& budget);

}  // namespace allot
