// A problem on parts of the graph: each part one op, with plans of it turned into plans of the whole.
//
// Times and bytes of a part are sums over its ops (one launch for all but the first is added to its time); a
// tensor between parts keeps its time and is sent as before; a part may run where all its units may, and
// parts that share a unit share a device. The parts must contract to an acyclic graph (graph/contraction.h).
// A plan of the parts runs the ops of a part one after the other; the receiver times it anew, so its value on
// the whole graph is exact. Live memory is not modelled on parts: sums of what is resident stand for it.
// O(ops x classes + edges).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"
#include "graph/contraction.h"

namespace allot {

struct CoarseProblem {
  Problem problem;
  std::vector<std::vector<OpId>> part_ops;  // in topological order
};

// Absent when the parts are no sound problem (a cycle, or a part that no device can run).
std::optional<CoarseProblem> makeCoarse(const Problem& fine, const std::vector<std::uint32_t>& part);

// Decisions on the whole graph.
Plan expandPlan(const Problem& fine, const CoarseProblem& coarse, const Plan& plan);

// Joins parts while keeping them placeable: some device may run both and would still be at most `most_share`
// full.
class PartJoiner {
 public:
  PartJoiner(const Problem& problem, double most_share);
  // Starts from these parts; representatives are numbered by part.
  void begin(const std::vector<std::uint32_t>& part);
  bool operator()(std::uint32_t a, std::uint32_t b);

 private:
  const Problem& problem_;
  double most_share_;
  std::vector<double> bytes_;          // by representative
  std::vector<std::uint8_t> allowed_;  // [representative * devices + device]
};

// Edges between ops, weighed by mean transfer time; between parts when `part` is given.
std::vector<WeightedEdge> transferEdges(const Problem& problem, const std::vector<std::uint32_t>& part);

}  // namespace allot
