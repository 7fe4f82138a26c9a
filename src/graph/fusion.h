// Groups of ops that a runtime would fuse into one kernel: a placement must not split them.
//
// Rules are data: a rule lists steps by op type, each with the earlier steps whose output it reads; the last
// step is the exit. A group is found from its exit upwards and counts only when nothing outside reads an
// inner op's output. So every group has one exit, and contracting all groups keeps the graph acyclic: along
// an edge between groups the topological position of the exit rises. Rules are tried in the order of the
// table (longer ones first), exits in topological order; an op joins one group. Complexity: O(rules x ops)
// times the few ways to match a step.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "allot/graph.h"
#include "allot/options.h"

namespace allot {

struct FusionStep {
  std::string_view types;          // alternatives, separated by |
  int reads = -1, reads_too = -1;  // earlier steps
};

struct FusionRule {
  std::string_view name;
  std::vector<FusionStep> steps;
};

// The rules of a backend; none for Fuse::kNone.
std::span<const FusionRule> fusionRules(Fuse backend);

struct FusedGroup {
  std::string_view rule;
  std::vector<OpId> ops;  // the exit last
};

// `graph` is finished.
std::vector<FusedGroup> findFusedGroups(const OpGraph& graph, std::span<const FusionRule> rules);

}  // namespace allot
