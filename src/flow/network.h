// The network of a min-cost flow as the solvers share it: arcs and nodes in slots that keep their number, and
// the present flow with what it leaves unbalanced.
//
// Meaning: excess = supply + inflow - outflow of a node; a flow is feasible when every excess is 0. Slots of
// removed arcs and nodes are used again. Every change is O(1); `total` is the cost of the present flow at any
// time.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace allot::flow {

__extension__ using Wide = __int128;

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint32_t kNone = 0xffffffffu;

// 32 bytes, two to a cache line: most visits need no more than this.
struct alignas(32) Arc {
  std::uint32_t from = kNone;  // kNone: the slot is free
  std::uint32_t to = kNone;
  std::int64_t capacity = 0;
  std::int64_t cost = 0;
  std::int64_t flow = 0;
};

// Lists of the arcs of a node. A link is 2 * arc + side, side 0 at `from` and 1 at `to`.
struct Neighbours {
  std::uint32_t next = kNone;
  std::uint32_t previous = kNone;
};

struct Node {
  std::int64_t supply = 0;
  std::int64_t excess = 0;
  std::uint32_t first = kNone;  // link
  std::uint32_t degree = 0;
  bool alive = false;
};

class Network {
 public:
  std::vector<Arc> arcs;
  std::vector<Neighbours> links;  // by link
  std::vector<Node> nodes;
  Wide total = 0;  // cost of the present flow

  std::size_t arcCount() const { return arcs.size() - free_arcs_.size(); }
  std::size_t nodeCount() const { return nodes.size() - free_nodes_.size(); }

  std::uint32_t addNode(std::int64_t supply) {
    std::uint32_t node;
    if (free_nodes_.empty()) {
      node = static_cast<std::uint32_t>(nodes.size());
      nodes.emplace_back();
    } else {
      node = free_nodes_.back();
      free_nodes_.pop_back();
    }
    nodes[node] = {supply, supply, kNone, 0, true};
    return node;
  }

  // The node has no arcs left.
  void removeNode(std::uint32_t node) {
    nodes[node] = {};
    free_nodes_.push_back(node);
  }

  std::uint32_t addArc(std::uint32_t from, std::uint32_t to, std::int64_t capacity, std::int64_t cost) {
    std::uint32_t arc;
    if (free_arcs_.empty()) {
      arc = static_cast<std::uint32_t>(arcs.size());
      arcs.emplace_back();
      links.resize(2 * arcs.size());
    } else {
      arc = free_arcs_.back();
      free_arcs_.pop_back();
    }
    Arc& a = arcs[arc];
    a.from = from;
    a.to = to;
    a.capacity = capacity;
    a.cost = cost;
    a.flow = 0;
    link(arc, 0, from);
    link(arc, 1, to);
    return arc;
  }

  void removeArc(std::uint32_t arc) {
    setFlow(arc, 0);
    unlink(arc, 0, arcs[arc].from);
    unlink(arc, 1, arcs[arc].to);
    arcs[arc] = {};
    free_arcs_.push_back(arc);
  }

  void setSupply(std::uint32_t node, std::int64_t supply) {
    nodes[node].excess += supply - nodes[node].supply;
    nodes[node].supply = supply;
  }

  void setCost(std::uint32_t arc, std::int64_t cost) {
    Arc& a = arcs[arc];
    total += static_cast<Wide>(a.flow) * (static_cast<Wide>(cost) - a.cost);
    a.cost = cost;
  }

  void setFlow(std::uint32_t arc, std::int64_t flow) { addFlow(arc, flow - arcs[arc].flow); }

  void addFlow(std::uint32_t arc, std::int64_t amount) {
    if (amount == 0) return;
    Arc& a = arcs[arc];
    a.flow += amount;
    nodes[a.from].excess -= amount;
    nodes[a.to].excess += amount;
    total += static_cast<Wide>(amount) * a.cost;
  }

  // Calls visit(arc) for every arc at the node.
  template <class Visit>
  void forEachArc(std::uint32_t node, Visit&& visit) const {
    for (std::uint32_t at = nodes[node].first; at != kNone;) {
      const std::uint32_t following = links[at].next;
      visit(at >> 1);
      at = following;
    }
  }

  std::uint32_t other(std::uint32_t arc, std::uint32_t node) const {
    return arcs[arc].from == node ? arcs[arc].to : arcs[arc].from;
  }

 private:
  std::vector<std::uint32_t> free_arcs_, free_nodes_;

  void link(std::uint32_t arc, int side, std::uint32_t node) {
    const std::uint32_t at = 2 * arc + static_cast<std::uint32_t>(side);
    Node& n = nodes[node];
    links[at].next = n.first;
    links[at].previous = kNone;
    if (n.first != kNone) links[n.first].previous = at;
    n.first = at;
    ++n.degree;
  }
  void unlink(std::uint32_t arc, int side, std::uint32_t node) {
    const Neighbours& at = links[2 * arc + static_cast<std::uint32_t>(side)];
    const std::uint32_t before = at.previous, after = at.next;
    if (before == kNone)
      nodes[node].first = after;
    else
      links[before].next = after;
    if (after != kNone) links[after].previous = before;
    --nodes[node].degree;
  }
};

// What a solver found. The cut proves infeasibility: its nodes supply more than the arcs leaving them can
// carry. The cycle proves unboundedness: arcs of unlimited capacity whose costs sum to less than 0.
struct Outcome {
  enum class Kind { kOptimal, kInfeasible, kUnbounded, kGaveUp } kind = Kind::kOptimal;
  std::vector<std::uint32_t> cut;
  std::vector<std::uint32_t> cycle;
};

// Bounds on the numbers of a network.
struct Limits {
  std::int64_t max_cost = 0;  // at least every |cost|
  std::int64_t amount =
      0;  // at least the sum of |supply| and limited capacities, so at least the flow of any arc
};

// A solver that keeps its state between changes. It is told of each change after the network holds it, but of
// removals before.
class Core {
 public:
  virtual ~Core() = default;
  virtual void nodeAdded(std::uint32_t node) = 0;
  virtual void nodeRemoving(std::uint32_t node) = 0;  // has no arcs left
  virtual void arcAdded(std::uint32_t arc) = 0;
  virtual void arcRemoving(std::uint32_t arc) = 0;  // flow is 0 already
  virtual void costChanged(std::uint32_t arc) = 0;
  virtual void capacityChanged(std::uint32_t arc) = 0;  // flow fits already
  virtual void supplyChanged(std::uint32_t node) = 0;   // or its excess, by a change of arcs
  virtual Outcome solve(const Limits& limits) = 0;
  virtual std::int64_t potential(std::uint32_t node) const = 0;
};

// Nodes that prove a network with this flow (within capacities) infeasible: what remains reachable from
// excess after all that can be sent on has been. Empty if all of it could be sent. Changes the flow. O(arcs)
// per path.
std::vector<std::uint32_t> infeasibleCut(Network& network);

}  // namespace allot::flow
