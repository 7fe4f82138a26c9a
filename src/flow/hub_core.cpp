#include "flow/hub_core.h"

#include <algorithm>

namespace allot::flow {
namespace {

constexpr auto kDearer = [](const auto& a, const auto& b) { return a.cost > b.cost; };

}  // namespace

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
  ins_.clear();
  outs_.clear();
  for (std::uint32_t at = network_.nodes[leaf].first; at != kNone;) {
    const Arc& arc = network_.arcs[at >> 1];
    const std::uint32_t side = at & 1;
    const std::int64_t free = arc.capacity == kUnlimited ? kUnlimited : arc.capacity - arc.flow;
    if (side == 0) {
      const std::uint32_t hub = hub_of_[arc.to];
      if (free > 0) outs_.push_back({at, hub, arc.cost, free});
      if (arc.flow > 0) ins_.push_back({at ^ 1, hub, -arc.cost, arc.flow});
    } else {
      const std::uint32_t hub = hub_of_[arc.from];
      if (free > 0) ins_.push_back({at ^ 1, hub, arc.cost, free});
      if (arc.flow > 0) outs_.push_back({at, hub, -arc.cost, arc.flow});
    }
    at = arc.next[side];
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
    for (const Way& way : ins_) {
      const std::int64_t price = potential_[way.hub] + way.cost;
      if (in == nullptr || price < buy) in = &way, buy = price;
    }
    for (const Way& way : outs_) {
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
  for (const Way& in : ins_) {
    for (const Way& out : outs_) addMove(in, out);
  }
  return true;
}

bool HubCore::repairDirect(std::uint32_t arc) {
  const Arc& a = network_.arcs[arc];
  const std::uint32_t from = hub_of_[a.from], to = hub_of_[a.to];
  const std::int64_t reduced = a.cost + potential_[from] - potential_[to];
  if (reduced < 0) {
    if (a.capacity == kUnlimited) return false;
    network_.setFlow(arc, a.capacity);
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

void HubCore::addMove(const Way& in, const Way& out) {
  if (in.hub == out.hub) return;
  const std::size_t pair = in.hub * stride_ + out.hub;
  Heap& heap = heaps_[pair];
  const std::int64_t cost = in.cost + out.cost;
  heap.moves.push_back({cost, in.link, out.link});
  if (bulk_) return;
  std::push_heap(heap.moves.begin(), heap.moves.end(), kDearer);
  best_[pair] = heap.moves.front().cost;
  if (heap.moves.size() >= heap.clean_at) clean(pair, in.hub, out.hub);
}

// After `amount` went in and out: moves that this made possible.
void HubCore::addNewMoves(std::uint32_t leaf, std::uint32_t in, std::uint32_t out, std::int64_t amount) {
  const bool new_in = room(out ^ 1) == amount, new_out = room(in ^ 1) == amount;
  if (!new_in && !new_out) return;
  gather(leaf);
  for (const Way& a : ins_) {
    const bool all = new_in && a.link == (out ^ 1);
    if (!all && !new_out) continue;
    for (const Way& b : outs_) {
      if (all || b.link == (in ^ 1)) addMove(a, b);
    }
  }
}

bool HubCore::valid(const Move& move, std::uint32_t from, std::uint32_t to) const {
  return start(move.in) == hub_node_[from] && end(move.out) == hub_node_[to] &&
         end(move.in) == start(move.out) && room(move.in) > 0 && room(move.out) > 0 &&
         cost(move.in) + cost(move.out) == move.cost;
}

// Drops stale moves off the top; false if none is left.
bool HubCore::verifyTop(std::size_t pair, std::uint32_t from, std::uint32_t to) {
  auto& moves = heaps_[pair].moves;
  while (!moves.empty() && !valid(moves.front(), from, to)) {
    std::pop_heap(moves.begin(), moves.end(), kDearer);
    moves.pop_back();
  }
  best_[pair] = moves.empty() ? kFar : moves.front().cost;
  return !moves.empty();
}

void HubCore::clean(std::size_t pair, std::uint32_t from, std::uint32_t to) {
  Heap& heap = heaps_[pair];
  auto& moves = heap.moves;
  std::erase_if(moves, [&](const Move& move) { return !valid(move, from, to); });
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
    if (a.cost != b.cost) return a.cost < b.cost;
    return a.in != b.in ? a.in < b.in : a.out < b.out;
  });
  const auto same = [](const Move& a, const Move& b) { return a.in == b.in && a.out == b.out; };
  moves.erase(std::unique(moves.begin(), moves.end(), same), moves.end());
  best_[pair] = moves.empty() ? kFar : moves.front().cost;
  heap.clean_at = 2 * moves.size() + 64;
}

void HubCore::orderHeaps() {
  for (std::size_t from = 0; from < hub_node_.size(); ++from) {
    for (std::size_t to = 0; to < hub_node_.size(); ++to) {
      Heap& heap = heaps_[from * stride_ + to];
      std::make_heap(heap.moves.begin(), heap.moves.end(), kDearer);
      best_[from * stride_ + to] = heap.moves.empty() ? kFar : heap.moves.front().cost;
      heap.clean_at = 2 * heap.moves.size() + 64;
    }
  }
  bulk_ = false;
}

// Improves distances over moves and arcs that leave a hub.
void HubCore::relax(std::uint32_t hub) {
  const std::int64_t base = distance_[hub] + potential_[hub];
  const std::int64_t* const best = best_.data() + hub * stride_;
  const std::uint32_t hubs = static_cast<std::uint32_t>(hub_node_.size());
  for (std::uint32_t to = 0; to < hubs; ++to) {
    if (base + best[to] - potential_[to] >= distance_[to] || done_[to]) continue;
    const std::size_t pair = hub * stride_ + to;
    if (!verifyTop(pair, hub, to)) continue;
    const std::int64_t reached = base + best[to] - potential_[to];
    if (reached >= distance_[to]) continue;
    distance_[to] = reached;
    reach_[to] = {hub, heaps_[pair].moves.front().in, heaps_[pair].moves.front().out};
  }
  for (const std::uint32_t link : direct_[hub]) {
    const std::uint32_t to = hub_of_[end(link)];
    const std::int64_t reached = base + cost(link) - potential_[to];
    if (reached >= distance_[to] || done_[to] || room(link) == 0) continue;
    distance_[to] = reached;
    reach_[to] = {hub, link, kNone};
  }
}

// The nearest hub that lacks flow, from all that have too much; kNone if none can be reached.
std::uint32_t HubCore::search() {
  const std::uint32_t hubs = static_cast<std::uint32_t>(hub_node_.size());
  for (std::uint32_t hub = 0; hub < hubs; ++hub) {
    done_[hub] = 0;
    const bool source = hub_node_[hub] != kNone && network_.nodes[hub_node_[hub]].excess > 0;
    distance_[hub] = source ? 0 : kFar;
    reach_[hub].hub = kNone;
  }
  for (;;) {
    std::uint32_t nearest = kNone;
    std::int64_t least = kFar;
    for (std::uint32_t hub = 0; hub < hubs; ++hub) {
      if (!done_[hub] && distance_[hub] < least) {
        least = distance_[hub];
        nearest = hub;
      }
    }
    if (nearest == kNone || network_.nodes[hub_node_[nearest]].excess < 0) return nearest;
    done_[nearest] = 1;
    relax(nearest);
  }
}

// Sends flow along one shortest path; false if there is none.
bool HubCore::augment() {
  const std::uint32_t target = search();
  if (target == kNone) return false;
  const std::int64_t length = distance_[target];
  for (std::size_t hub = 0; hub < hub_node_.size(); ++hub) {
    if (distance_[hub] < length) potential_[hub] += distance_[hub] - length;
  }
  std::int64_t amount = -network_.nodes[hub_node_[target]].excess;
  std::uint32_t source = target;
  for (; reach_[source].hub != kNone; source = reach_[source].hub) {
    amount = std::min(amount, room(reach_[source].in));
    if (reach_[source].out != kNone) amount = std::min(amount, room(reach_[source].out));
  }
  amount = std::min(amount, network_.nodes[hub_node_[source]].excess);
  for (std::uint32_t hub = target; reach_[hub].hub != kNone; hub = reach_[hub].hub) {
    const Reach& reach = reach_[hub];
    send(reach.in, amount);
    if (reach.out == kNone) continue;
    send(reach.out, amount);
    addNewMoves(end(reach.in), reach.in, reach.out, amount);
  }
  return true;
}

Outcome HubCore::solve(std::int64_t max_cost) {
  Outcome outcome;
  if (built_ && !rebuild_ && !settlePending()) rebuild_ = true;
  // Potentials of parts that do not meet drift apart without end.
  for (const std::int64_t p : potential_) {
    if (p > kFar / 8 || p < -kFar / 8) built_ = false;
  }
  if ((!built_ || rebuild_) && !build(max_cost)) {
    outcome.kind = Outcome::Kind::kGaveUp;
    return outcome;
  }
  if (dirty_leaves_.size() > network_.nodes.size() / 4) bulk_ = true;
  if (!repairAll()) {
    std::vector<std::int64_t> potentials;
    if (!unlimitedPotentials(network_, potentials, outcome.cycle)) {
      outcome.kind = Outcome::Kind::kUnbounded;
      return outcome;
    }
    build(max_cost);
    for (std::size_t hub = 0; hub < hub_node_.size(); ++hub) potential_[hub] = potentials[hub_node_[hub]];
    repairAll();
  }
  if (bulk_) orderHeaps();
  const auto unbalanced = [&] {
    return std::any_of(hub_node_.begin(), hub_node_.end(),
                       [&](std::uint32_t node) { return node != kNone && network_.nodes[node].excess > 0; });
  };
  while (unbalanced()) {
    if (!augment()) break;
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
