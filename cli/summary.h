// The text people read after a plan was made or valued.
#pragma once

#include <string>
#include <string_view>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot::cli {

// Where the op times come from, in one line; nothing where they were given.
std::string timesText(std::string_view costs);
// Value, bound, gap, who found it, bottleneck and a row per device; `stopped`: the user ended the search.
std::string planSummary(const Problem& problem, const Plan& plan, bool stopped);
// A line on what noise in op times does to the plan; empty where that was not measured.
std::string noiseText(const Plan& plan);
// The row per device alone.
std::string deviceTable(const Problem& problem, const Plan& plan);

}  // namespace allot::cli
