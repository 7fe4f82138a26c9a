// Successive shortest paths on a network contracted to its hubs.
//
// Problem: min-cost flow where every arc touches one of a few hubs (devices, models, source, sink) and all
// other nodes, the leaves (ops), pass on a few units each; solved again after changes. Method: a residual
// path from hub to hub through a leaf is one move, and for each pair of hubs a heap keeps its moves by cost.
// Only hubs have potentials; a leaf's follows from them. Changes are repaired leaf by leaf at the present
// potentials, which leaves excess and lack at hubs; shortest paths over the heaps' tops (Dijkstra, reduced
// costs) remove it. Heap entries are claims that are verified when used and dropped when stale. From scratch,
// potentials come from the same problem on a sample of the leaves, so that most leaves start where they end.
// Guarantee: optimal when it ends.
// Complexity: a change of a leaf O(its arcs * log leaves); a path O(hubs^2 + arcs between hubs).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "flow/move_heap.h"
#include "flow/network.h"

namespace allot::flow {

inline constexpr std::size_t kMaxHubs = 512;
inline constexpr std::size_t kLeafDegree = 128;
inline constexpr std::int64_t kFar = std::int64_t{1} << 61;

// Whether a node may be a leaf: few arcs, and few units can pass it.
bool fitsLeaf(const Network& network, std::uint32_t node);

// The hubs of a network in the order of their nodes, and the arcs between them.
struct Hubs {
  std::vector<std::uint32_t> nodes;
  std::vector<std::uint32_t> direct;
};
// Nothing if it would need too many.
std::optional<Hubs> chooseHubs(const Network& network);

// Potentials under which no arc of unlimited capacity has a negative reduced cost. False, and a cycle, if
// there are none. O(nodes * unlimited arcs) at worst.
bool unlimitedPotentials(const Network& network, std::vector<std::int64_t>& potential,
                         std::vector<std::uint32_t>& cycle);

class HubCore final : public Core {
 public:
  HubCore(Network& network, Hubs hubs) : network_(network), chosen_(std::move(hubs)) {}

  void nodeAdded(std::uint32_t node) override;
  void nodeRemoving(std::uint32_t node) override;
  void arcAdded(std::uint32_t arc) override;
  void arcRemoving(std::uint32_t arc) override;
  void costChanged(std::uint32_t arc) override { arcChanged(arc); }
  void capacityChanged(std::uint32_t arc) override { arcChanged(arc); }
  void supplyChanged(std::uint32_t node) override;
  // kGaveUp if the network has too many hubs.
  Outcome solve(const Limits& limits) override;
  std::int64_t potential(std::uint32_t node) const override;

 private:
  // A way along an arc is a link: 2 * arc, + 1 against its direction.
  struct Way {
    std::uint32_t link;
    std::uint32_t hub;
    std::int64_t cost;
    std::int64_t room;
  };
  struct Reach {
    std::uint32_t hub;      // the hub before
    std::uint32_t in, out;  // out = kNone: one arc between hubs
  };

  Network& network_;
  std::optional<Hubs> chosen_;  // to build with
  bool built_ = false;
  bool rebuild_ = false;
  bool bulk_ = false;  // heaps are filled without order

  std::vector<std::uint32_t> hub_of_;  // by node; kNone for leaves
  std::vector<std::uint32_t> hub_node_;
  std::vector<std::uint32_t> free_hubs_;
  std::vector<std::int64_t> potential_;             // by hub
  std::vector<std::vector<std::uint32_t>> direct_;  // by hub: links that leave it to another hub
  std::size_t stride_ = 0;
  std::vector<MoveHeap> heaps_;                   // [hub * stride_ + hub]
  std::vector<std::int64_t> best_;                // cost of the top, which may be stale
  std::vector<std::vector<std::uint32_t>> near_;  // by hub: hubs with a heap from it that was ever filled
  std::vector<char> is_near_;                     // [hub * stride_ + hub]

  std::vector<std::uint32_t> dirty_leaves_, dirty_direct_, pending_nodes_, pending_arcs_;
  std::vector<std::uint32_t> overfilled_;  // arcs between hubs without limit that gain, taken to be full
  std::int64_t amount_ = 0;                // more than any arc needs to carry
  std::vector<char> is_dirty_;             // by node
  std::vector<char> is_listed_;            // by arc: in direct_

  std::array<Way, kLeafDegree> ins_, outs_;
  std::size_t in_count_ = 0, out_count_ = 0;
  // By hub, during a search: the distance over the best arc between hubs and over the best move, and where
  // from.
  std::vector<std::int64_t> distance_, by_arc_, by_move_;
  std::vector<std::uint32_t> move_from_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> queue_;  // heap of distances, some out of date
  std::vector<Reach> reach_;
  std::vector<char> done_;

  std::uint32_t start(std::uint32_t link) const {
    const Arc& arc = network_.arcs[link >> 1];
    return (link & 1) != 0 ? arc.to : arc.from;
  }
  std::uint32_t end(std::uint32_t link) const { return start(link ^ 1); }
  std::int64_t room(std::uint32_t link) const {
    const Arc& arc = network_.arcs[link >> 1];
    if ((link & 1) != 0) return arc.flow;
    return arc.capacity == kUnlimited ? kUnlimited : arc.capacity - arc.flow;
  }
  std::int64_t cost(std::uint32_t link) const {
    const std::int64_t c = network_.arcs[link >> 1].cost;
    return (link & 1) != 0 ? -c : c;
  }
  void send(std::uint32_t link, std::int64_t amount) {
    network_.addFlow(link >> 1, (link & 1) != 0 ? -amount : amount);
  }
  std::span<const Way> ins() const { return {ins_.data(), in_count_}; }
  std::span<const Way> outs() const { return {outs_.data(), out_count_}; }
  bool isHub(std::uint32_t node) const { return hub_of_[node] != kNone; }

  void arcChanged(std::uint32_t arc);
  void markLeaf(std::uint32_t leaf);
  void markArc(std::uint32_t arc);

  bool build(const Limits& limits);
  void samplePotentials(const Hubs& hubs, const Limits& limits);
  bool settlePending();
  void addHub(std::uint32_t node);
  void layOut(std::size_t hubs);

  void gather(std::uint32_t leaf);
  bool repairLeaf(std::uint32_t leaf);
  bool repairDirect(std::uint32_t arc);
  bool repairAll();
  void addMove(const Way& in, const Way& out);
  void fetchHeaps(std::uint32_t from) const;
  void addNewMoves(std::uint32_t leaf, std::uint32_t in, std::uint32_t out, std::int64_t amount);
  bool valid(const Move& move, std::uint32_t from, std::uint32_t to) const;
  bool verifyTop(std::uint32_t from, std::uint32_t to);
  void orderHeaps(bool built);

  bool unbalanced() const;
  bool settle();
  bool sendAll();
  bool augment();
  std::uint32_t search();
  void relax(std::uint32_t hub);
  void relaxAgain(std::uint32_t to);
  void enqueue(std::uint32_t hub);
};

}  // namespace allot::flow
