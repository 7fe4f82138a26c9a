// All stages of a chain (or all ideals) as paths through a layered graph.
//
// Problem: optimise over pairs of nested ideals I < J, that is over stages J - I, with
//   load = compute(J - I) + cost of the nets that J - I cuts,
// or over single ideals with the cost of the nets they cut. Method: sweep over the items in a topological
// order. Each item is before the stage, in it or behind it; a node of layer i is what later items need to
// know of the first i: where each open item is (what follows it is not before it) and which open nets are
// paid. A path from the root to the end is a pair of ideals, the costs of its arcs add up to its load.
// Assumption: one pool. Guarantee: every stage with a load of at most `limit` has a path of that cost, or
// less where sending and receiving cost different. `built` is false where there are more nodes than
// kMostNodes (of ideals, fewer). Complexity: O(nodes * nets of an item); nodes grow exponentially with the
// items that are open at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

enum class Side : std::uint8_t { kBefore, kInside, kBehind };
inline constexpr std::size_t kSides = 3;

class StageDiagram {
 public:
  // Ideals are stages that nothing comes before, and their work costs nothing.
  enum class Paths : std::uint8_t { kStages, kIdeals };
  static constexpr std::uint32_t kNoNode = UINT32_MAX;
  // There are many times more stages than ideals: where those are too many it shows early.
  static constexpr std::size_t kMostNodes = 2'000'000, kMostIdealNodes = kMostNodes / 8;

  struct Arc {
    std::uint32_t to = kNoNode;  // node of the next layer, counted from its first
    double cost = 0;
  };

  StageDiagram(const PipelineModel& model, std::vector<std::uint32_t> order, Paths paths, double limit,
               const Budget& budget);

  bool built = false;
  bool work_counts;                               // in the costs: for stages
  std::vector<std::uint32_t> item;                // by layer
  std::vector<std::size_t> layer_begin;           // the first node of each layer, and of the end
  std::vector<std::array<Arc, kSides>> arcs;      // by node; the end has none
  std::vector<double> least_before, least_after;  // by node: cheapest way from the root, to the end

  std::size_t layers() const { return item.size(); }
  std::size_t nodeCount() const { return arcs.size(); }
  std::size_t width(std::size_t layer) const { return layer_begin[layer + 1] - layer_begin[layer]; }

 private:
  void prune(double limit);
};

}  // namespace allot
