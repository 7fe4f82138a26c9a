// Network simplex that keeps its basis between changes.
//
// Problem: min-cost flow on any network, solved again after changes of arcs, nodes, costs, capacities and
// supplies. Method: primal network simplex. From scratch: a star of artificial arcs (plugs) to a root,
// entering arcs by block search, strongly feasible trees against cycling. After changes: the tree stays; a
// removed tree arc is replaced by a plug of capacity 0 priced so that no potential moves; what changes left
// unbalanced flows over temporary arcs from excess to lack at a price no path reaches. Entering arcs come
// from a list of changed arcs and, when that is used up, from the arcs at nodes whose potential moved; the
// rest cannot have become attractive. Guarantee: optimal when it ends. Should a warm start take too many
// pivots it starts from scratch, which ends always. Complexity: a pivot is O(cycle + moved subtree); a warm
// start scans only arcs at moved nodes.
#pragma once

#include <vector>

#include "flow/network.h"

namespace allot::flow {

class TreeCore final : public Core {
 public:
  explicit TreeCore(Network& network) : network_(network) {}

  void nodeAdded(std::uint32_t node) override;
  void nodeRemoving(std::uint32_t node) override;
  void arcAdded(std::uint32_t arc) override;
  void arcRemoving(std::uint32_t arc) override;
  void costChanged(std::uint32_t arc) override;
  void capacityChanged(std::uint32_t arc) override;
  void supplyChanged(std::uint32_t node) override;
  Outcome solve(const Limits& limits) override;
  std::int64_t potential(std::uint32_t node) const override { return potential_[node + 1]; }

 private:
  // Nodes are counted from 1 here; 0 is the root. Positions are places in the arrays that the search scans:
  // arcs of the network, plugs and temporary arcs.
  struct Amount {
    std::int64_t flow = 0, capacity = 0;
  };
  enum class Pivot { kDone, kUnbounded };

  Network& network_;
  bool warm_ = false;
  std::int64_t prohibitive_ = 0;  // more than any path costs
  Wide potential_bound_ = 0;      // at least every |potential|

  std::vector<std::uint32_t> tail_, head_;
  std::vector<std::int64_t> cost_;
  std::vector<std::int8_t> state_;  // 1: empty, -1: full, 0: in the tree or unused
  std::vector<Amount> amount_;
  std::vector<std::uint32_t> arc_;       // of the network; kNone for others
  std::vector<std::uint32_t> position_;  // by arc
  std::vector<std::uint32_t> free_positions_;
  std::vector<std::uint32_t> temporary_;  // positions

  // The tree by node. Nodes are also in a ring in depth-first order, where a subtree is one piece of it.
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> up_;  // position of the arc to the parent
  std::vector<std::uint32_t> next_, previous_;
  std::vector<std::uint32_t> last_;  // of the subtree in the ring
  std::vector<std::uint32_t> size_;  // of the subtree
  std::vector<std::int64_t> potential_;
  std::vector<std::uint32_t> plug_;  // position by node

  std::vector<std::uint32_t> candidates_;  // positions that may be attractive
  std::vector<std::uint32_t> moved_;       // nodes whose potential moved
  std::vector<char> is_moved_;
  std::vector<std::int64_t> old_potential_;  // of moved nodes, when they last were not
  std::vector<std::uint32_t> recheck_;       // positions to look at when moved nodes are
  std::vector<std::uint32_t> touched_;       // positions whose flow changed
  std::vector<std::uint32_t> unbalanced_;    // nodes of the network, maybe several times
  std::vector<std::uint32_t> repriced_;      // tree positions with a new cost
  // Arcs by node in one array, as of some earlier time: the lists of the network cost a cache miss for each.
  std::vector<std::uint32_t> around_begin_, around_;
  std::vector<char> is_around_;  // by arc
  std::size_t new_arcs_ = 0;     // since then
  bool tracking_ = false;        // note moved nodes and touched positions
  std::size_t next_scan_ = 0;
  double pivot_work_ = 0;  // nodes touched by a pivot, recent average
  std::size_t scan_end_ = 0;
  std::size_t next_candidate_ = 0;

  std::int64_t reduced(std::uint32_t p) const {
    return cost_[p] + potential_[tail_[p]] - potential_[head_[p]];
  }
  // Negative where the arc is attractive.
  std::int64_t appeal(std::uint32_t p) const { return state_[p] * reduced(p); }

  std::uint32_t newPosition(std::uint32_t tail, std::uint32_t head, std::int64_t cost, Amount amount,
                            std::int8_t state, std::uint32_t arc);
  void addLeaf(std::uint32_t node);
  void moveSubtree(std::uint32_t top, std::int64_t shift);
  void plugIn(std::uint32_t node);
  void hang(std::uint32_t entering, std::uint32_t inside, std::uint32_t outside, std::uint32_t cut_child,
            std::uint32_t top);
  Pivot pivot(std::uint32_t entering, Outcome& outcome);

  void buildScratch();
  void firstTree();
  std::uint32_t blockSearch();
  Outcome solveScratch();

  bool balance();
  void repriceTree();
  void findAttractive();
  std::uint32_t nextCandidate();
  void listAround();
  template <class Visit>
  void forEachAround(std::uint32_t node, Visit&& visit) const;
  bool expandMoved();
  bool solveWarm(Outcome& outcome);
  void writeBack(bool all);
  std::uint32_t childOf(std::uint32_t p) const { return up_[tail_[p]] == p ? tail_[p] : head_[p]; }
};

}  // namespace allot::flow
