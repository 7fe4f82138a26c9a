#include <algorithm>

#include "flow/network.h"

// Maximum flow by levels and blocking flows (Dinic) from what has excess to what lacks; where none is left,
// the nodes still reachable form a cut whose leaving arcs are full and whose entering arcs are empty.
namespace allot::flow {
namespace {

// Room on an arc when leaving `node` by it.
std::int64_t room(const Network& network, std::uint32_t link) {
  const Arc& arc = network.arcs[link >> 1];
  if ((link & 1) != 0) return arc.flow;
  return arc.capacity == kUnlimited ? kUnlimited : arc.capacity - arc.flow;
}

std::uint32_t farEnd(const Network& network, std::uint32_t link) {
  const Arc& arc = network.arcs[link >> 1];
  return (link & 1) != 0 ? arc.from : arc.to;
}

// Reached nodes get their distance; true if one of them lacks flow.
bool findLevels(const Network& network, std::vector<std::uint32_t>& level,
                std::vector<std::uint32_t>& reached) {
  std::fill(level.begin(), level.end(), kNone);
  reached.clear();
  for (std::uint32_t node = 0; node < network.nodes.size(); ++node) {
    if (network.nodes[node].alive && network.nodes[node].excess > 0) {
      level[node] = 0;
      reached.push_back(node);
    }
  }
  bool lacking = false;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t node = reached[i];
    lacking |= network.nodes[node].excess < 0;
    for (std::uint32_t at = network.nodes[node].first; at != kNone; at = network.links[at].next) {
      const std::uint32_t next = farEnd(network, at);
      if (level[next] != kNone || room(network, at) == 0) continue;
      level[next] = level[node] + 1;
      reached.push_back(next);
    }
  }
  return lacking;
}

// Sends what one path takes from the node on, with `at` the next link to try per node; false if there is no
// path.
bool sendOne(Network& network, std::uint32_t source, const std::vector<std::uint32_t>& level,
             std::vector<std::uint32_t>& next_link, std::vector<std::uint32_t>& path) {
  path.clear();
  std::uint32_t node = source;
  while (network.nodes[node].excess >= 0) {
    std::uint32_t& at = next_link[node];
    while (at != kNone && (room(network, at) == 0 || level[farEnd(network, at)] != level[node] + 1)) {
      at = network.links[at].next;
    }
    if (at != kNone) {
      path.push_back(at);
      node = farEnd(network, at);
    } else if (path.empty()) {
      return false;
    } else {
      const std::uint32_t back = path.back();
      path.pop_back();
      node = farEnd(network, back ^ 1);
      next_link[node] = network.links[back].next;
    }
  }
  std::int64_t amount = std::min(network.nodes[source].excess, -network.nodes[node].excess);
  for (const std::uint32_t at : path) amount = std::min(amount, room(network, at));
  for (const std::uint32_t at : path) network.addFlow(at >> 1, (at & 1) != 0 ? -amount : amount);
  return true;
}

}  // namespace

std::vector<std::uint32_t> infeasibleCut(Network& network) {
  std::vector<std::uint32_t> level(network.nodes.size()), reached, next_link(network.nodes.size()), path;
  while (findLevels(network, level, reached)) {
    for (std::size_t node = 0; node < network.nodes.size(); ++node)
      next_link[node] = network.nodes[node].first;
    for (const std::uint32_t source : reached) {
      while (level[source] == 0 && network.nodes[source].excess > 0) {
        if (!sendOne(network, source, level, next_link, path)) break;
      }
    }
  }
  std::sort(reached.begin(), reached.end());
  return reached;
}

}  // namespace allot::flow
