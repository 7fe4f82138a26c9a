// Favourite children by linear programming (Hanen and Munier's small-communication-time relaxation).
//
// Minimise w over starts s and x in [0, 1] per edge, x = 0 when the edge costs no transfer:
//   s_i + p_i + c_ij x_ij <= s_j,  s_i + p_i <= w,
//   an op has at most one edge out and one edge in without transfer.
// Times are means over devices. An edge with x below one half makes the consumer the producer's favourite
// child.
#pragma once

#include <optional>
#include <vector>

#include "allot/solve.h"

namespace allot::baseline {

// By op: its favourite child, or an invalid id. Absent when the program was not solved in time.
std::optional<std::vector<OpId>> favouriteChildren(const Problem& problem, const Budget& budget);

}  // namespace allot::baseline
