// Flows that no set of limited weight can keep to itself.
//
// Problem: how much must a set of items pay for the nets it cuts, when all that is known of it is its weight?
// Method: from every item v flows density(v) * weight(u) to each item u of a ball around it, along nets; a
// net carries at most its capacity. A set S pays for every net that a flow between S and the rest passes, so
// what it pays is at least what flows out of it and into it:
//   sum over v in S of ends(v) - 2 * density(v) * weight(S),
// where ends(v) is all that flows from or to v: of what starts at v, no more than density(v) * weight(S) ends
// in S. Balls and paths are chosen by lengths of nets that rise with what they carry (multiplicative
// weights): a ball ends where farther items would cost more than they are worth. Each round sends from every
// item. Guarantee: any flow within the capacities is valid, however it was found; the same flow for any
// number of threads. Complexity: a round is a shortest-path search from every item over the items of its
// ball, on a grid some three times as heavy as `size`. When time runs out: the flow so far, which is valid.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "allot/solve.h"
#include "base/random.h"
#include "base/walk_crew.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

class SpreadFlow {
 public:
  // `capacity`: by net; `size`: weight of the sets that are to pay as much as possible.
  SpreadFlow(const PipelineModel& model, std::vector<double> weight, std::vector<double> capacity,
             double size, const Budget& budget);

  // False when the budget ended it, or when no ball is heavier than `size`.
  bool round();
  // By item, scaled so that no net carries more than its capacity.
  std::vector<double> ends() const { return scaled(ends_); }
  std::vector<double> density() const { return scaled(density_); }
  // Items that were visited by all searches so far.
  std::uint64_t visited() const { return visited_; }

 private:
  // What one item sends: to which items, and over which nets, for a density of 1.
  struct Tree {
    std::uint32_t source = 0;
    double weight = 0, cost = 0;
    std::vector<std::uint32_t> items;
    std::vector<std::pair<std::uint32_t, double>> nets;
  };
  // Of one thread; what is not in use is unreached.
  struct Search {
    std::vector<float> distance;
    std::vector<std::uint32_t> parent, net;     // by item
    std::vector<std::uint8_t> settled, passed;  // by item, by net
    std::vector<double> below;                  // by item: weight of what is reached through it
    std::vector<std::uint64_t> heap;
    std::vector<std::uint32_t> reached, passed_nets;
  };

  const PipelineModel& model_;
  std::vector<double> weight_, capacity_;
  double size_;
  const Budget& budget_;
  WalkCrew crew_;
  Random random_;
  std::vector<Search> searches_;
  std::vector<std::uint32_t> order_;  // sources
  std::vector<double> carried_;       // by net, as a share of its capacity
  std::vector<float> length_;         // by net; infinite where it carries nothing
  std::vector<double> ends_, density_;
  double unit_ = 0;  // density of an item of weight 1, in each round
  std::uint64_t visited_ = 0;

  void grow(Search& search, Tree& tree) const;
  void settle(Search& search, std::uint32_t item, float distance) const;
  void send(const Tree& tree);
  void measure();
  std::vector<double> scaled(const std::vector<double>& figures) const;
};

}  // namespace allot
