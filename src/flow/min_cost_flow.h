// Min-cost flow in integers on a network that changes: add, remove, re-cost and re-cap, then solve again from
// where the last solution stood.
//
// Problem: send what nodes supply (negative: demand) along arcs within their capacities at least total cost;
// every supply is met exactly. Costs may be negative. Method: networks whose arcs all touch a few hub nodes
// (devices, models) are contracted to the hubs and repaired by shortest paths (hub_core.h); others use the
// network simplex with a kept basis (tree_core.h). Guarantee: solve() returns the optimum, and flow() with
// potential() proves it: for every arc reduced = cost + potential(from) - potential(to) is >= 0 where flow <
// capacity and <= 0 where flow > 0. certificate.h checks that, and the proofs of infeasible and unbounded
// networks, in O(arcs). Deterministic: the same calls give the same flow. Limits: sum of |supply| and limited
// capacities below 2^61, (nodes + 2) * largest |cost| below 2^56, else an error; give kUnlimited for no
// limit. Complexity: changes O(1) (removing a node O(its arcs)); see the cores for solve().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "allot/result.h"
#include "flow/certificate.h"
#include "flow/network.h"

namespace allot::flow {

// Stay valid until removed; then the number may be given to a new one.
struct NodeId {
  std::uint32_t value = kNone;
  friend bool operator==(NodeId, NodeId) = default;
};
struct ArcId {
  std::uint32_t value = kNone;
  friend bool operator==(ArcId, ArcId) = default;
};

enum class Status { kUnsolved, kOptimal, kInfeasible, kUnbounded };

// kByStructure decides; the others are for tests and measurements.
enum class CoreChoice { kByStructure, kHubs, kTree };

class MinCostFlow {
 public:
  explicit MinCostFlow(CoreChoice choice = CoreChoice::kByStructure) : choice_(choice) {}
  // The cores refer to the network.
  MinCostFlow(const MinCostFlow&) = delete;
  MinCostFlow& operator=(const MinCostFlow&) = delete;

  Result<NodeId> addNode(std::int64_t supply = 0);
  Result<ArcId> addArc(NodeId from, NodeId to, std::int64_t capacity, std::int64_t cost);
  Result<void> removeArc(ArcId arc);
  Result<void> removeNode(NodeId node);  // and its arcs
  Result<void> setSupply(NodeId node, std::int64_t supply);
  Result<void> setCost(ArcId arc, std::int64_t cost);
  Result<void> setCapacity(ArcId arc, std::int64_t capacity);

  // The least cost. Errors: kInfeasible (cut() proves it), kBadInput for unbounded (cycle() proves it) and
  // for numbers too large. After an error the network can be changed and solved again.
  Result<std::int64_t> solve();

  // Of the last solve(); flow, potential and cost mean something only where it succeeded.
  Status status() const { return status_; }
  std::int64_t cost() const { return static_cast<std::int64_t>(network_.total); }
  std::int64_t flow(ArcId arc) const { return network_.arcs[arc.value].flow; }
  std::int64_t potential(NodeId node) const {
    return status_ == Status::kOptimal ? core_->potential(node.value) : 0;
  }
  // Nodes that supply more than can leave them (or, all nodes, demand more than there is).
  std::span<const NodeId> cut() const { return cut_; }
  // Arcs without limit, head to tail, that cost less than 0 together.
  std::span<const ArcId> cycle() const { return cycle_; }

  std::size_t nodeCount() const { return network_.nodeCount(); }
  std::size_t arcCount() const { return network_.arcCount(); }
  // Calls visit(arc) for every arc at the node, newest first.
  template <class Visit>
  void forEachArc(NodeId node, Visit&& visit) const {
    network_.forEachArc(node.value, [&](std::uint32_t arc) { visit(ArcId{arc}); });
  }
  NodeId from(ArcId arc) const { return {network_.arcs[arc.value].from}; }
  NodeId to(ArcId arc) const { return {network_.arcs[arc.value].to}; }

  // Network, flow, potentials and proof of the last solve() as plain data for the checker. O(nodes + arcs).
  Certificate certificate() const;

 private:
  CoreChoice choice_;
  Network network_;
  std::unique_ptr<Core> core_;
  Status status_ = Status::kUnsolved;
  std::vector<NodeId> cut_;
  std::vector<ArcId> cycle_;
  Wide supply_sum_ = 0;        // of supplies
  Wide amount_sum_ = 0;        // of |supply| and limited capacities
  std::int64_t max_cost_ = 0;  // at least every |cost|

  bool alive(NodeId node) const;
  bool alive(ArcId arc) const;
  Result<void> checkLimits();
  Outcome runCore();
};

}  // namespace allot::flow
