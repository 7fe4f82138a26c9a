// Maximum flow by Dinic's method, for the cuts of bounds.
//
// The value of a flow is at most the cut, so a flow that was stopped early, or lost something to rounding,
// still is a valid lower bound. Complexity: O(nodes^2 * arcs) at worst; near-linear on the graphs it is used
// for.
#pragma once

#include <cstdint>
#include <vector>

namespace allot {

class MaxFlow {
 public:
  explicit MaxFlow(std::size_t nodes) : first_(nodes, kNone) {}

  std::uint32_t addNode() {
    first_.push_back(kNone);
    return static_cast<std::uint32_t>(first_.size() - 1);
  }
  void addArc(std::uint32_t from, std::uint32_t to, double capacity);
  double run(std::uint32_t source, std::uint32_t sink);
  // After a run: whether the node is on the source's side of the smallest minimum cut.
  bool withSource(std::uint32_t node) const { return level_[node] != kNone; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Arc {
    std::uint32_t to, next;
    double left;
  };
  std::vector<std::uint32_t> first_, at_, level_;
  std::vector<Arc> arcs_;  // arc i and its reverse i ^ 1

  bool findLevels(std::uint32_t source, std::uint32_t sink);
  double push(std::uint32_t source, std::uint32_t sink);
};

}  // namespace allot
