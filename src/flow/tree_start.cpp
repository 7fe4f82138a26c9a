#include <algorithm>
#include <queue>

#include "flow/tree_core.h"

// The first tree: every node sends what it has along its cheapest path to a node that lacks flow, as far as
// capacities let it, and the rest over its plug.
namespace allot::flow {
namespace {

struct Entry {
  std::int64_t distance;
  std::uint32_t node;
  bool operator>(const Entry& other) const {
    return distance != other.distance ? distance > other.distance : node > other.node;
  }
};

struct Entering {
  std::int64_t cost;
  std::uint32_t from, arc;
};

// The next arc to the nearest node that lacks flow, by node, and the nodes by distance. Negative costs count
// as 0.
std::vector<std::uint32_t> nearestLack(const Network& network, std::vector<std::uint32_t>& order) {
  const std::size_t n = network.nodes.size();
  std::vector<std::int64_t> distance(n, kUnlimited);
  std::vector<std::uint32_t> arc_to(n, kNone);
  std::vector<char> done(n, 0);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::uint32_t node = 0; node < n; ++node) {
    if (network.nodes[node].alive && network.nodes[node].supply < 0) {
      distance[node] = 0;
      queue.push({0, node});
    }
  }
  // Arcs by head in one array: the lists of the network would cost a cache miss for each.
  std::vector<std::uint32_t> begin(n + 2, 0);
  for (const Arc& arc : network.arcs) {
    if (arc.from != kNone && arc.capacity > 0) ++begin[arc.to + 2];
  }
  for (std::size_t i = 2; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<Entering> entering(begin.back());
  for (std::uint32_t i = 0; i < network.arcs.size(); ++i) {
    const Arc& arc = network.arcs[i];
    if (arc.from == kNone || arc.capacity == 0) continue;
    entering[begin[arc.to + 1]++] = {std::max<std::int64_t>(0, arc.cost), arc.from, i};
  }
  while (!queue.empty()) {
    const std::uint32_t node = queue.top().node;
    queue.pop();
    if (done[node]) continue;
    done[node] = 1;
    order.push_back(node);
    for (std::uint32_t i = begin[node]; i < begin[node + 1]; ++i) {
      const Entering& arc = entering[i];
      const std::int64_t reached = distance[node] + arc.cost;
      if (reached >= distance[arc.from]) continue;
      distance[arc.from] = reached;
      arc_to[arc.from] = arc.arc;
      queue.push({reached, arc.from});
    }
  }
  return arc_to;
}

}  // namespace

void TreeCore::firstTree() {
  const std::size_t n = network_.nodes.size();
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> arc_to = nearestLack(network_, order);
  std::vector<std::int64_t> held(n, 0);
  for (std::uint32_t node = 0; node < n; ++node) {
    if (!network_.nodes[node].alive) continue;
    held[node] = network_.nodes[node].supply;
    if (arc_to[node] == kNone && held[node] >= 0) order.push_back(node);
  }
  // Far nodes first. An arc that fills up is full, not in the tree; so all arcs of the tree lead up and have
  // room.
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t node = order[i], arc = arc_to[node];
    if (arc == kNone) continue;
    const Arc& a = network_.arcs[arc];
    const std::uint32_t p = position_[arc];
    const std::int64_t sent = std::min(held[node], a.capacity);
    amount_[p].flow = sent;
    held[a.to] += sent;
    held[node] -= sent;
    if (sent < a.capacity) {
      state_[p] = 0;
    } else {
      state_[p] = -1;
      arc_to[node] = kNone;
    }
  }
  // Near nodes first: parents are in the ring before their children.
  std::vector<std::uint32_t> first_child(n + 1, kNone);
  for (const std::uint32_t node : order) {
    const std::uint32_t at = node + 1;
    const bool sends = held[node] >= 0;
    plug_[at] = newPosition(sends ? at : 0, sends ? 0 : at, prohibitive_,
                            {sends ? held[node] : -held[node], kUnlimited}, 0, kNone);
    const bool plugged = arc_to[node] == kNone;
    up_[at] = plugged ? plug_[at] : position_[arc_to[node]];
    parent_[at] = plugged ? 0 : network_.arcs[arc_to[node]].to + 1;
    const std::uint32_t parent = parent_[at], behind = next_[parent];
    potential_[at] = potential_[parent] + (tail_[up_[at]] == at ? -cost_[up_[at]] : cost_[up_[at]]);
    next_[parent] = at;
    previous_[at] = parent;
    next_[at] = behind;
    previous_[behind] = at;
    last_[at] = at;
    size_[at] = 1;
    if (first_child[parent] == kNone) first_child[parent] = at;
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::uint32_t at = order[i] + 1;
    size_[parent_[at]] += size_[at];
    if (first_child[parent_[at]] == at) last_[parent_[at]] = last_[at];
  }
}

}  // namespace allot::flow
