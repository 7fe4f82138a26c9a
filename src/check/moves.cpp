// How many ops a plan moves, counted anew.
#include <fmt/format.h>

#include "allot/check.h"

namespace allot {

std::vector<std::string> checkMoves(const Problem& problem, const Plan& plan, std::span<const DeviceId> base,
                                    std::uint32_t most) {
  if (plan.assignment.size() != problem.opCount() || base.size() != problem.opCount())
    return {"the plan and its start do not assign the same ops"};
  std::uint32_t moved = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (plan.assignment[i].value == base[i].value) continue;
    ++moved;
    last = i;
  }
  if (moved <= most) return {};
  return {fmt::format("{} ops are on another device than in the start plan, but {} may be; one is \"{}\"",
                      moved, most, problem.graph.op_name[last])};
}

}  // namespace allot
