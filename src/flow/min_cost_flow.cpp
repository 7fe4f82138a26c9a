#include "flow/min_cost_flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "flow/hub_core.h"
#include "flow/tree_core.h"

namespace allot::flow {
namespace {

constexpr Wide kMaxAmount = static_cast<Wide>(1) << 61;
constexpr Wide kMaxCost = static_cast<Wide>(1) << 56;

Wide magnitude(std::int64_t value) {
  return value < 0 ? -static_cast<Wide>(value) : static_cast<Wide>(value);
}

tl::unexpected<Error> badCall(std::string where, std::string message, std::string remedy) {
  return fail({ErrorCode::kUsage, {}, std::move(where), std::move(message), std::move(remedy)});
}

tl::unexpected<Error> noNode(NodeId node) {
  return badCall(fmt::format("flow node {}", node.value), "does not exist",
                 "use a node that was not removed");
}

tl::unexpected<Error> noArc(ArcId arc) {
  return badCall(fmt::format("flow arc {}", arc.value), "does not exist", "use an arc that was not removed");
}

// Numbers beyond these could never be solved for; refused at once, the sums of the network stay within 64
// bits.
Result<void> checkSupply(std::int64_t supply) {
  if (magnitude(supply) < kMaxAmount) return {};
  return badCall("flow node", "|supply| is 2^61 or more", "use coarser units");
}
Result<void> checkCapacity(std::int64_t capacity) {
  if (capacity < 0) return badCall("flow arc", "capacity is negative", "give 0 or more");
  if (capacity < kMaxAmount || capacity == kUnlimited) return {};
  return badCall("flow arc", "capacity is 2^61 or more", "give kUnlimited for no limit");
}
Result<void> checkCost(std::int64_t cost) {
  if (magnitude(cost) < kMaxCost) return {};
  return badCall("flow arc", "|cost| is 2^56 or more", "use coarser units");
}

Wide limited(std::int64_t capacity) {
  return capacity == kUnlimited ? 0 : static_cast<Wide>(capacity);
}

}  // namespace

bool MinCostFlow::alive(NodeId node) const {
  return node.value < network_.nodes.size() && network_.nodes[node.value].alive;
}

bool MinCostFlow::alive(ArcId arc) const {
  return arc.value < network_.arcs.size() && network_.arcs[arc.value].from != kNone;
}

Result<NodeId> MinCostFlow::addNode(std::int64_t supply) {
  ALLOT_CHECK(checkSupply(supply));
  if (network_.nodeCount() >= (1u << 30)) return badCall("flow node", "there are too many", "remove some");
  const NodeId node{network_.addNode(supply)};
  supply_sum_ += supply;
  amount_sum_ += magnitude(supply);
  if (core_) core_->nodeAdded(node.value);
  return node;
}

Result<ArcId> MinCostFlow::addArc(NodeId from, NodeId to, std::int64_t capacity, std::int64_t cost) {
  if (!alive(from)) return noNode(from);
  if (!alive(to)) return noNode(to);
  ALLOT_CHECK(checkCapacity(capacity));
  ALLOT_CHECK(checkCost(cost));
  if (network_.arcCount() >= (1u << 30)) return badCall("flow arc", "there are too many", "remove some");
  const ArcId arc{network_.addArc(from.value, to.value, capacity, cost)};
  amount_sum_ += limited(capacity);
  max_cost_ = std::max(max_cost_, static_cast<std::int64_t>(magnitude(cost)));
  if (core_) core_->arcAdded(arc.value);
  return arc;
}

Result<void> MinCostFlow::removeArc(ArcId arc) {
  if (!alive(arc)) return noArc(arc);
  const Arc& a = network_.arcs[arc.value];
  amount_sum_ -= limited(a.capacity);
  const bool carried = a.flow != 0;
  const std::uint32_t from = a.from, to = a.to;
  network_.setFlow(arc.value, 0);
  if (core_) core_->arcRemoving(arc.value);
  network_.removeArc(arc.value);
  if (core_ && carried) {
    core_->supplyChanged(from);
    core_->supplyChanged(to);
  }
  return {};
}

Result<void> MinCostFlow::removeNode(NodeId node) {
  if (!alive(node)) return noNode(node);
  while (network_.nodes[node.value].first != kNone) {
    ALLOT_CHECK(removeArc({network_.nodes[node.value].first >> 1}));
  }
  const std::int64_t supply = network_.nodes[node.value].supply;
  supply_sum_ -= supply;
  amount_sum_ -= magnitude(supply);
  if (core_) core_->nodeRemoving(node.value);
  network_.removeNode(node.value);
  return {};
}

Result<void> MinCostFlow::setSupply(NodeId node, std::int64_t supply) {
  if (!alive(node)) return noNode(node);
  ALLOT_CHECK(checkSupply(supply));
  const std::int64_t before = network_.nodes[node.value].supply;
  supply_sum_ += static_cast<Wide>(supply) - before;
  amount_sum_ += magnitude(supply) - magnitude(before);
  network_.setSupply(node.value, supply);
  if (core_) core_->supplyChanged(node.value);
  return {};
}

Result<void> MinCostFlow::setCost(ArcId arc, std::int64_t cost) {
  if (!alive(arc)) return noArc(arc);
  ALLOT_CHECK(checkCost(cost));
  if (network_.arcs[arc.value].cost == cost) return {};
  max_cost_ = std::max(max_cost_, static_cast<std::int64_t>(magnitude(cost)));
  network_.setCost(arc.value, cost);
  if (core_) core_->costChanged(arc.value);
  return {};
}

Result<void> MinCostFlow::setCapacity(ArcId arc, std::int64_t capacity) {
  if (!alive(arc)) return noArc(arc);
  ALLOT_CHECK(checkCapacity(capacity));
  Arc& a = network_.arcs[arc.value];
  if (a.capacity == capacity) return {};
  amount_sum_ += limited(capacity) - limited(a.capacity);
  a.capacity = capacity;
  const bool cut_down = a.flow > capacity;
  if (cut_down) network_.setFlow(arc.value, capacity);
  if (!core_) return {};
  core_->capacityChanged(arc.value);
  if (cut_down) {
    core_->supplyChanged(a.from);
    core_->supplyChanged(a.to);
  }
  return {};
}

Result<void> MinCostFlow::checkLimits() {
  if (amount_sum_ >= kMaxAmount) {
    return badInput("flow network", "supplies and limited capacities sum to 2^61 or more",
                    "use smaller units, and kUnlimited for arcs without a limit");
  }
  const Wide factor = static_cast<Wide>(network_.nodeCount()) + 2;
  if (factor * max_cost_ < kMaxCost) return {};
  max_cost_ = 0;
  for (const Arc& arc : network_.arcs) {
    max_cost_ = std::max(max_cost_, static_cast<std::int64_t>(magnitude(arc.cost)));
  }
  if (factor * max_cost_ < kMaxCost) return {};
  return badInput("flow network",
                  fmt::format("the largest cost {} times {} nodes reaches 2^56", max_cost_, factor),
                  "use coarser units of cost");
}

Outcome MinCostFlow::runCore() {
  if (!core_ && choice_ != CoreChoice::kTree) {
    auto hubs = chooseHubs(network_);
    // Contraction pays where leaves are many.
    if (hubs && (choice_ == CoreChoice::kHubs || network_.nodeCount() >= 4 * hubs->nodes.size())) {
      core_ = std::make_unique<HubCore>(network_, std::move(*hubs));
    }
  }
  if (!core_) core_ = std::make_unique<TreeCore>(network_);
  const Limits limits{max_cost_, static_cast<std::int64_t>(amount_sum_)};
  Outcome outcome = core_->solve(limits);
  if (outcome.kind == Outcome::Kind::kGaveUp) {
    core_ = std::make_unique<TreeCore>(network_);
    outcome = core_->solve(limits);
  }
  return outcome;
}

Result<std::int64_t> MinCostFlow::solve() {
  status_ = Status::kUnsolved;
  cut_.clear();
  cycle_.clear();
  ALLOT_CHECK(checkLimits());
  Outcome outcome;
  if (supply_sum_ != 0) {
    outcome.kind = Outcome::Kind::kInfeasible;
    for (std::uint32_t node = 0; node < network_.nodes.size(); ++node) {
      if (network_.nodes[node].alive) outcome.cut.push_back(node);
    }
  } else {
    outcome = runCore();
  }
  if (outcome.kind == Outcome::Kind::kUnbounded) {
    // A cycle that gains without end matters only where some flow is feasible.
    core_.reset();
    outcome.cut = infeasibleCut(network_);
    if (!outcome.cut.empty()) outcome.kind = Outcome::Kind::kInfeasible;
  }
  if (outcome.kind == Outcome::Kind::kInfeasible) {
    status_ = Status::kInfeasible;
    for (const std::uint32_t node : outcome.cut) cut_.push_back({node});
    return fail({ErrorCode::kInfeasible,
                 {},
                 "flow network",
                 fmt::format("{} nodes supply {} than can leave them", cut_.size(),
                             supply_sum_ < 0 ? "other" : "more"),
                 "add capacity across the cut, or lower supplies inside it"});
  }
  if (outcome.kind == Outcome::Kind::kUnbounded) {
    status_ = Status::kUnbounded;
    for (const std::uint32_t arc : outcome.cycle) cycle_.push_back({arc});
    return badInput("flow network",
                    fmt::format("a cycle of {} arcs without limit costs less than 0", cycle_.size()),
                    "limit the capacity of one of its arcs");
  }
  if (network_.total > kUnlimited || network_.total < -static_cast<Wide>(kUnlimited)) {
    return badInput("flow network", "the least cost does not fit into 64 bits", "use coarser units");
  }
  status_ = Status::kOptimal;
  return cost();
}

Certificate MinCostFlow::certificate() const {
  Certificate c;
  std::vector<std::uint32_t> node_at(network_.nodes.size(), kNone), arc_at(network_.arcs.size(), kNone);
  for (std::uint32_t node = 0; node < network_.nodes.size(); ++node) {
    if (!network_.nodes[node].alive) continue;
    node_at[node] = static_cast<std::uint32_t>(c.supply.size());
    c.supply.push_back(network_.nodes[node].supply);
    c.potential.push_back(potential({node}));
  }
  c.arcs.reserve(network_.arcCount());
  for (std::uint32_t arc = 0; arc < network_.arcs.size(); ++arc) {
    const Arc& a = network_.arcs[arc];
    if (a.from == kNone) continue;
    arc_at[arc] = static_cast<std::uint32_t>(c.arcs.size());
    c.arcs.push_back({node_at[a.from], node_at[a.to], a.capacity, a.cost, a.flow});
  }
  for (const NodeId node : cut_) c.cut.push_back(node_at[node.value]);
  for (const ArcId arc : cycle_) c.cycle.push_back(arc_at[arc.value]);
  return c;
}

}  // namespace allot::flow
