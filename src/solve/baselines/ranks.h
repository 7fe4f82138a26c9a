// Ranks of list schedulers: how much work lies before and behind an op.
//
// Mean times are taken over the devices that the op's unit may use, mean transfer times over ordered pairs of
// distinct devices. All in O((ops + edges) x devices) but the optimistic costs, which look at every pair for
// tensors without a single time.
#pragma once

#include <optional>
#include <vector>

#include "allot/solve.h"

namespace allot::baseline {

// By op: mean (or smallest) time over its allowed devices.
std::vector<double> meanOpSeconds(const Problem& problem);
std::vector<double> leastOpSeconds(const Problem& problem);
// By tensor: mean transfer time.
std::vector<double> meanTransferSeconds(const Problem& problem);

// Longest way from the start of an op to the end of the graph, and from the start of the graph to the start
// of an op. `transfer` may be empty: transfers then cost nothing.
std::vector<double> upwardRank(const Problem& problem, const std::vector<double>& op,
                               const std::vector<double>& transfer);
std::vector<double> downwardRank(const Problem& problem, const std::vector<double>& op,
                                 const std::vector<double>& transfer);

// [op * devices + device]: the least time that must pass after the op ended on the device, were every path
// alone and transfers those of the exact pair (PEFT's table without its averages). Absent when the budget ran
// out.
std::optional<std::vector<double>> optimisticCosts(const Problem& problem, const Budget& budget);

}  // namespace allot::baseline
