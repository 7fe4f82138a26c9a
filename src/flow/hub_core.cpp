#include "flow/hub_core.h"

#include <algorithm>

namespace allot::flow {
void HubCore::markLeaf(std::uint32_t leaf) {
  if (is_dirty_[leaf]) return;
  is_dirty_[leaf] = 1;
  dirty_leaves_.push_back(leaf);
}

// An arc that is new or changed.
void HubCore::markArc(std::uint32_t arc) {
  const Arc& a = network_.arcs[arc];
  if (!isHub(a.from)) return markLeaf(a.from);
  if (!isHub(a.to)) return markLeaf(a.to);
  dirty_direct_.push_back(arc);
}

void HubCore::nodeAdded(std::uint32_t node) {
  pending_nodes_.push_back(node);
}

void HubCore::nodeRemoving(std::uint32_t node) {
  if (node >= hub_of_.size() || !isHub(node)) return;
  const std::uint32_t hub = hub_of_[node];
  for (std::size_t other = 0; other < hub_node_.size(); ++other) {
    for (const std::size_t pair : {hub * stride_ + other, other * stride_ + hub}) {
      heaps_[pair] = {};
      best_[pair] = kFar;
    }
  }
  for (const std::uint32_t to : near_[hub]) is_near_[hub * stride_ + to] = 0;
  near_[hub].clear();
  hub_of_[node] = kNone;
  hub_node_[hub] = kNone;
  direct_[hub].clear();
  free_hubs_.push_back(hub);
}

void HubCore::arcAdded(std::uint32_t arc) {
  pending_arcs_.push_back(arc);
}

void HubCore::arcRemoving(std::uint32_t arc) {
  const Arc& a = network_.arcs[arc];
  if (a.from >= hub_of_.size() || a.to >= hub_of_.size()) return;
  if (isHub(a.from) && isHub(a.to)) {
    if (arc >= is_listed_.size() || !is_listed_[arc]) return;
    is_listed_[arc] = 0;
    std::erase(direct_[hub_of_[a.from]], 2 * arc);
    std::erase(direct_[hub_of_[a.to]], 2 * arc + 1);
  } else {
    markLeaf(isHub(a.from) ? a.to : a.from);
  }
}

void HubCore::arcChanged(std::uint32_t arc) {
  const Arc& a = network_.arcs[arc];
  if (a.from < hub_of_.size() && a.to < hub_of_.size()) markArc(arc);
}

void HubCore::supplyChanged(std::uint32_t node) {
  if (node < hub_of_.size() && network_.nodes[node].alive && !isHub(node)) markLeaf(node);
}

// Residual ways into and out of a leaf.
void HubCore::gather(std::uint32_t leaf) {
  in_count_ = out_count_ = 0;
  for (std::uint32_t at = network_.nodes[leaf].first; at != kNone;) {
    const Arc& arc = network_.arcs[at >> 1];
    const std::uint32_t side = at & 1;
    const std::int64_t free = arc.capacity == kUnlimited ? kUnlimited : arc.capacity - arc.flow;
    if (side == 0) {
      const std::uint32_t hub = hub_of_[arc.to];
      if (free > 0) outs_[out_count_++] = {at, hub, arc.cost, free};
      if (arc.flow > 0) ins_[in_count_++] = {at ^ 1, hub, -arc.cost, arc.flow};
    } else {
      const std::uint32_t hub = hub_of_[arc.from];
      if (free > 0) ins_[in_count_++] = {at ^ 1, hub, arc.cost, free};
      if (arc.flow > 0) outs_[out_count_++] = {at, hub, -arc.cost, arc.flow};
    }
    at = network_.links[at].next;
  }
}

// Balances a leaf and takes every gain that the present potentials offer through it. False if a gain has no
// limit.
bool HubCore::repairLeaf(std::uint32_t leaf) {
  for (;;) {
    gather(leaf);
    const Way* in = nullptr;
    const Way* out = nullptr;
    std::int64_t buy = 0, sell = 0;
    for (const Way& way : ins()) {
      const std::int64_t price = potential_[way.hub] + way.cost;
      if (in == nullptr || price < buy) in = &way, buy = price;
    }
    for (const Way& way : outs()) {
      const std::int64_t price = potential_[way.hub] - way.cost;
      if (out == nullptr || price > sell) out = &way, sell = price;
    }
    const std::int64_t excess = network_.nodes[leaf].excess;
    if (excess > 0 && out != nullptr) {
      send(out->link, std::min(excess, out->room));
    } else if (excess < 0 && in != nullptr) {
      send(in->link, std::min(-excess, in->room));
    } else if (in != nullptr && out != nullptr && buy < sell) {
      const std::int64_t amount = std::min(in->room, out->room);
      if (amount == kUnlimited) return false;
      const std::uint32_t first = in->link, second = out->link;
      send(first, amount);
      send(second, amount);
    } else {
      break;
    }
  }
  for (const Way& in : ins()) {
    fetchHeaps(in.hub);
    for (const Way& out : outs()) addMove(in, out);
  }
  return true;
}

bool HubCore::repairDirect(std::uint32_t arc) {
  const Arc& a = network_.arcs[arc];
  const std::uint32_t from = hub_of_[a.from], to = hub_of_[a.to];
  const std::int64_t reduced = a.cost + potential_[from] - potential_[to];
  if (reduced < 0) {
    if (a.capacity != kUnlimited) {
      network_.setFlow(arc, a.capacity);
    } else {
      // More than could ever be wanted; what is too much comes back over the same arc in one go.
      if (overfilled_.size() * static_cast<Wide>(amount_) > kFar / 2) return false;
      network_.setFlow(arc, std::max(a.flow, amount_));
      network_.arcs[arc].capacity = a.flow;
      overfilled_.push_back(arc);
    }
  } else if (reduced > 0) {
    network_.setFlow(arc, 0);
  }
  if (from == to) return true;
  if (is_listed_.size() <= arc) is_listed_.resize(network_.arcs.size(), 0);
  if (!is_listed_[arc]) {
    is_listed_[arc] = 1;
    direct_[from].push_back(2 * arc);
    direct_[to].push_back(2 * arc + 1);
  }
  return true;
}

// False if some gain has no limit at the present potentials.
bool HubCore::repairAll() {
  for (const std::uint32_t arc : dirty_direct_) {
    const Arc& a = network_.arcs[arc];
    if (a.from != kNone && isHub(a.from) && isHub(a.to) && !repairDirect(arc)) return false;
  }
  dirty_direct_.clear();
  std::size_t kept = 0;
  for (const std::uint32_t leaf : dirty_leaves_) {
    is_dirty_[leaf] = 0;
    if (!network_.nodes[leaf].alive || isHub(leaf)) continue;
    if (!repairLeaf(leaf)) return false;
    // Stuck; to be tried again after the next change.
    if (network_.nodes[leaf].excess != 0) {
      is_dirty_[leaf] = 1;
      dirty_leaves_[kept++] = leaf;
    }
  }
  dirty_leaves_.resize(kept);
  return true;
}

void HubCore::fetchHeaps(std::uint32_t from) const {
  if (bulk_) return;
  for (const Way& out : outs()) heaps_[from * stride_ + out.hub].fetch();
}

void HubCore::addMove(const Way& in, const Way& out) {
  if (in.hub == out.hub) return;
  const std::size_t pair = in.hub * stride_ + out.hub;
  MoveHeap& heap = heaps_[pair];
  if (!is_near_[pair]) {
    is_near_[pair] = 1;
    near_[in.hub].push_back(out.hub);
  }
  const Move move{in.cost + out.cost, in.link, out.link};
  if (bulk_) return heap.append(move);
  heap.push(move, [&](const Move& other) { return !valid(other, in.hub, out.hub); });
  best_[pair] = heap.top().cost;
}

// After `amount` went in and out: moves that this made possible.
void HubCore::addNewMoves(std::uint32_t leaf, std::uint32_t in, std::uint32_t out, std::int64_t amount) {
  const bool new_in = room(out ^ 1) == amount, new_out = room(in ^ 1) == amount;
  if (!new_in && !new_out) return;
  gather(leaf);
  for (const Way& a : ins()) {
    const bool all = new_in && a.link == (out ^ 1);
    if (!all && !new_out) continue;
    if (all) fetchHeaps(a.hub);
    for (const Way& b : outs()) {
      if (all || b.link == (in ^ 1)) addMove(a, b);
    }
  }
}

bool HubCore::valid(const Move& move, std::uint32_t from, std::uint32_t to) const {
  return start(move.in) == hub_node_[from] && end(move.out) == hub_node_[to] &&
         end(move.in) == start(move.out) && room(move.in) > 0 && room(move.out) > 0 &&
         cost(move.in) + cost(move.out) == move.cost;
}

// Drops stale moves off the top. True if there were none.
bool HubCore::verifyTop(std::uint32_t from, std::uint32_t to) {
  const std::size_t pair = from * stride_ + to;
  MoveHeap& heap = heaps_[pair];
  bool fresh = true;
  while (!heap.empty() && !valid(heap.top(), from, to)) {
    heap.pop();
    fresh = false;
  }
  best_[pair] = heap.empty() ? kFar : heap.top().cost;
  return fresh;
}

// After many changes: heaps in order, with a live move on top.
void HubCore::orderHeaps(bool built) {
  for (std::uint32_t from = 0; from < hub_node_.size(); ++from) {
    for (std::uint32_t to = 0; to < hub_node_.size(); ++to) {
      MoveHeap& heap = heaps_[from * stride_ + to];
      if (built)
        heap.order();
      else
        heap.clean([&](const Move& move) { return !valid(move, from, to); });
      best_[from * stride_ + to] = heap.empty() ? kFar : heap.top().cost;
    }
  }
  bulk_ = false;
}

bool HubCore::unbalanced() const {
  return std::any_of(hub_node_.begin(), hub_node_.end(),
                     [&](std::uint32_t node) { return node != kNone && network_.nodes[node].excess > 0; });
}

// Repairs what changed and sends what that leaves at hubs as far as it goes. False if a gain may have no
// limit.
bool HubCore::settle() {
  const bool settled = sendAll();
  bool limited = true;
  for (const std::uint32_t arc : overfilled_) {
    Arc& a = network_.arcs[arc];
    a.capacity = kUnlimited;
    limited &= a.cost + potential_[hub_of_[a.from]] - potential_[hub_of_[a.to]] >= 0;
  }
  overfilled_.clear();
  return settled && limited;
}

// The same, with arcs that gain without limit taken to be full.
bool HubCore::sendAll() {
  const bool built = bulk_;
  if (dirty_leaves_.size() > network_.nodes.size() / 4) bulk_ = true;
  if (!repairAll()) return false;
  if (bulk_) orderHeaps(built);
  std::size_t paths = 0;
  for (; unbalanced() && augment(); ++paths) {
  }
  // So many left stale moves behind that a small change should not have to clear away.
  if (paths > 100 * hub_node_.size()) {
    for (std::uint32_t from = 0; from < hub_node_.size(); ++from) {
      for (std::uint32_t to = 0; to < hub_node_.size(); ++to) verifyTop(from, to);
    }
  }
  return true;
}

Outcome HubCore::solve(const Limits& limits) {
  Outcome outcome;
  amount_ = limits.amount + 1;
  if (built_ && !rebuild_ && !settlePending()) rebuild_ = true;
  // Potentials of parts that do not meet drift apart without end.
  for (const std::int64_t p : potential_) {
    if (p > kFar / 8 || p < -kFar / 8) built_ = false;
  }
  if ((!built_ || rebuild_) && !build(limits)) {
    outcome.kind = Outcome::Kind::kGaveUp;
    return outcome;
  }
  if (!settle()) {
    std::vector<std::int64_t> potentials;
    if (!unlimitedPotentials(network_, potentials, outcome.cycle)) {
      outcome.kind = Outcome::Kind::kUnbounded;
      return outcome;
    }
    build(limits);
    for (std::size_t hub = 0; hub < hub_node_.size(); ++hub) potential_[hub] = potentials[hub_node_[hub]];
    settle();
  }
  if (unbalanced() || !dirty_leaves_.empty()) {
    outcome.kind = Outcome::Kind::kInfeasible;
    outcome.cut = infeasibleCut(network_);
  }
  return outcome;
}

std::int64_t HubCore::potential(std::uint32_t node) const {
  if (isHub(node)) return potential_[hub_of_[node]];
  std::int64_t low = -kFar, high = kFar;
  network_.forEachArc(node, [&](std::uint32_t arc) {
    const Arc& a = network_.arcs[arc];
    const bool leaves = a.from == node;
    const std::int64_t far = potential_[hub_of_[leaves ? a.to : a.from]];
    const std::int64_t level = leaves ? far - a.cost : far + a.cost;
    const bool has_room = a.flow<a.capacity, has_flow = a.flow> 0;
    if (leaves ? has_flow : has_room) high = std::min(high, level);
    if (leaves ? has_room : has_flow) low = std::max(low, level);
  });
  return high < kFar ? high : low > -kFar ? low : 0;
}

}  // namespace allot::flow
