// All sets of items that a device of one pool may hold, as paths through a layered graph.
//
// Problem: optimise over sets S with load(S) = compute(S) + cost of the nets that S cuts, exactly.
// Method: sweep over the items; a node of layer i is what the later items need to know about the choice among
// the first i: for each open net whether S holds all, none or some of its items so far. A path from the root
// to the end is a set; the costs of its arcs add up to its load.
// Guarantee: every set that may run on a device of the pool, at a load of at most `limit`, has a path, whose
// cost is the set's load, or less: where a layer would grow beyond `max_width`, open nets are forgotten,
// cheapest first (a net counts then only where its first items are cut, which never costs more). `complete`
// says that nothing was forgotten. Other sets have none as far as least sums of load and of bytes along the
// ways of a node tell; sums of both at a price of bytes tell more than either.
// Complexity: O(items * width * nets of an item) to build; width <= 3^(open nets).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

struct PriceArc {
  std::int32_t to = -1;  // node, or -1 where there is no such arc
  double cost = 0;
};

class PriceDiagram {
 public:
  PriceDiagram(const PipelineModel& model, std::size_t pool, std::span<const std::uint32_t> order,
               double limit, std::size_t max_width, const Budget& budget);

  bool cut = false;  // the time was up: of no use
  bool complete = true;
  std::vector<std::uint32_t> item;                // by layer
  std::vector<std::uint32_t> layer_begin;         // layers + 1 entries and the end: nodes of layer i
  std::vector<PriceArc> without, with;            // by node: the layer's item is left out, or taken
  std::vector<double> least_before, least_after;  // by node: cheapest way from the root, to the end
  struct WayIn {
    std::uint32_t parent;
    bool takes;  // the item of the parent's layer
    double cost;
  };
  Csr<WayIn> ways_in;  // by node

  std::size_t layers() const { return item.size(); }
  std::size_t nodeCount() const { return without.size(); }
  std::size_t width() const;
  // The least load of a set that holds the layer's item; infinite where none does.
  double leastWith(std::size_t layer) const;

 private:
  // What a path weighs: its load and its bytes, each at a price. Those that weigh more than `most` are of no
  // use.
  struct Weights {
    double load, byte, most;
  };
  void measureBefore(const Weights& weights, std::span<const double> bytes,
                     std::vector<double>& before) const;
  bool prune(const Weights& weights, std::span<const double> bytes, std::span<const double> before,
             std::vector<double>& after);
  void pruneByMemory(std::span<const double> bytes, double memory, double limit);
  void listWays();
};

}  // namespace allot
