#include <algorithm>

#include "flow/hub_core.h"

// Which nodes are hubs, and potentials to start from.
namespace allot::flow {
namespace {

constexpr std::int64_t kLeafUnits = 4;

// At most so many units pass a node; capped a little above kLeafUnits.
std::int64_t throughput(const Network& network, std::uint32_t node) {
  const std::int64_t cap = kLeafUnits + 1;
  const std::int64_t supply = network.nodes[node].supply;
  std::int64_t in = std::clamp<std::int64_t>(supply, 0, cap), out = std::clamp<std::int64_t>(-supply, 0, cap);
  for (std::uint32_t at = network.nodes[node].first; at != kNone; at = network.links[at].next) {
    const std::int64_t capacity = std::min(network.arcs[at >> 1].capacity, cap);
    if ((at & 1) != 0)
      in = std::min(in + capacity, cap);
    else
      out = std::min(out + capacity, cap);
    if (in == cap && out == cap) break;
  }
  return std::min(in, out);
}

}  // namespace

bool fitsLeaf(const Network& network, std::uint32_t node) {
  return network.nodes[node].degree <= kLeafDegree && throughput(network, node) <= kLeafUnits;
}

std::optional<Hubs> chooseHubs(const Network& network) {
  std::vector<char> hub(network.nodes.size(), 0);
  std::size_t count = 0;
  for (std::uint32_t node = 0; node < network.nodes.size(); ++node) {
    if (!network.nodes[node].alive || fitsLeaf(network, node)) continue;
    hub[node] = 1;
    if (++count > kMaxHubs) return std::nullopt;
  }
  Hubs hubs;
  const std::size_t before = count;
  const auto findDirect = [&] {
    hubs.direct.clear();
    for (std::uint32_t i = 0; i < network.arcs.size(); ++i) {
      const Arc& arc = network.arcs[i];
      if (arc.from == kNone) continue;
      if (!hub[arc.from] && !hub[arc.to]) {
        hub[network.nodes[arc.from].degree > network.nodes[arc.to].degree ? arc.from : arc.to] = 1;
        if (++count > kMaxHubs) return false;
      }
      if (hub[arc.from] && hub[arc.to]) hubs.direct.push_back(i);
    }
    return true;
  };
  if (!findDirect()) return std::nullopt;
  if (count > before) findDirect();
  for (std::uint32_t node = 0; node < hub.size(); ++node) {
    if (hub[node]) hubs.nodes.push_back(node);
  }
  return hubs;
}

bool unlimitedPotentials(const Network& network, std::vector<std::int64_t>& potential,
                         std::vector<std::uint32_t>& cycle) {
  potential.assign(network.nodes.size(), 0);
  std::vector<std::uint32_t> unlimited, by(network.nodes.size(), kNone);
  for (std::uint32_t arc = 0; arc < network.arcs.size(); ++arc) {
    if (network.arcs[arc].from != kNone && network.arcs[arc].capacity == kUnlimited) unlimited.push_back(arc);
  }
  for (std::size_t round = 0;; ++round) {
    std::uint32_t last = kNone;
    for (const std::uint32_t arc : unlimited) {
      const Arc& a = network.arcs[arc];
      if (potential[a.from] + a.cost >= potential[a.to]) continue;
      potential[a.to] = potential[a.from] + a.cost;
      by[a.to] = arc;
      last = a.to;
    }
    if (last == kNone) return true;
    if (round < network.nodes.size()) continue;
    // Still falling after as many rounds as nodes: going back from here ends in a cycle.
    for (std::size_t i = 0; i < network.nodes.size(); ++i) last = network.arcs[by[last]].from;
    cycle.clear();
    for (std::uint32_t at = last;;) {
      cycle.push_back(by[at]);
      at = network.arcs[by[at]].from;
      if (at == last) break;
    }
    std::reverse(cycle.begin(), cycle.end());
    return false;
  }
}

void HubCore::layOut(std::size_t hubs) {
  std::size_t stride = 8;
  while (stride < hubs) stride *= 2;
  if (stride <= stride_) return;
  std::vector<MoveHeap> heaps(stride * stride);
  std::vector<std::int64_t> best(stride * stride, kFar);
  std::vector<char> is_near(stride * stride, 0);
  for (std::size_t u = 0; u < stride_; ++u) {
    for (std::size_t v = 0; v < stride_; ++v) {
      heaps[u * stride + v] = std::move(heaps_[u * stride_ + v]);
      best[u * stride + v] = best_[u * stride_ + v];
      is_near[u * stride + v] = is_near_[u * stride_ + v];
    }
  }
  heaps_ = std::move(heaps);
  best_ = std::move(best);
  is_near_ = std::move(is_near);
  stride_ = stride;
}

void HubCore::addHub(std::uint32_t node) {
  std::uint32_t hub;
  if (free_hubs_.empty()) {
    hub = static_cast<std::uint32_t>(hub_node_.size());
    hub_node_.push_back(node);
    potential_.push_back(0);
    direct_.emplace_back();
    near_.emplace_back();
    for (auto* v : {&distance_, &by_arc_, &by_move_}) v->push_back(0);
    move_from_.push_back(0);
    reach_.emplace_back();
    done_.push_back(0);
    layOut(hub_node_.size());
  } else {
    hub = free_hubs_.back();
    free_hubs_.pop_back();
    hub_node_[hub] = node;
    potential_[hub] = 0;
    direct_[hub].clear();
  }
  hub_of_[node] = hub;
}

// Starts anew from the network and its present flow; potentials of nodes that stay are kept.
bool HubCore::build(const Limits& limits) {
  if (!chosen_) chosen_ = chooseHubs(network_);
  if (!chosen_) return false;
  const Hubs hubs = std::move(*chosen_);
  chosen_.reset();
  const bool fresh = !built_;
  std::vector<std::int64_t> kept(hubs.nodes.size(), 0);
  if (!fresh) {
    for (std::size_t i = 0; i < hubs.nodes.size(); ++i) {
      const std::uint32_t node = hubs.nodes[i];
      if (node < hub_of_.size() && isHub(node)) kept[i] = potential_[hub_of_[node]];
    }
  }
  const std::size_t n = network_.nodes.size();
  hub_of_.assign(n, kNone);
  is_dirty_.assign(n, 0);
  is_listed_.assign(network_.arcs.size(), 0);
  for (auto* v : {&hub_node_, &free_hubs_, &dirty_leaves_, &dirty_direct_, &pending_nodes_, &pending_arcs_})
    v->clear();
  potential_.clear();
  direct_.clear();
  near_.clear();
  is_near_.clear();
  for (auto* v : {&distance_, &by_arc_, &by_move_}) v->clear();
  move_from_.clear();
  reach_.clear();
  done_.clear();
  heaps_.clear();
  best_.clear();
  stride_ = 0;
  layOut(hubs.nodes.size());
  for (const std::uint32_t node : hubs.nodes) addHub(node);
  potential_ = kept;
  built_ = true;
  rebuild_ = false;
  bulk_ = true;
  if (fresh) samplePotentials(hubs, limits);
  for (std::uint32_t node = 0; node < n; ++node) {
    if (network_.nodes[node].alive && !isHub(node)) markLeaf(node);
  }
  dirty_direct_ = hubs.direct;
  return true;
}

// Hubs and every so many-th leaf, with what hubs share scaled down alike: its potentials are close to those
// wanted.
void HubCore::samplePotentials(const Hubs& hubs, const Limits& limits) {
  constexpr std::size_t kOneOf = 16;
  // A sample of few leaves per hub would say little.
  if (network_.nodes.size() < 1024 + 4 * hub_node_.size()) return;
  const auto scaled = [&](std::int64_t amount) {
    return amount == kUnlimited
               ? amount
               : (amount + static_cast<std::int64_t>(kOneOf) / 2) / static_cast<std::int64_t>(kOneOf);
  };
  Network sample;
  std::vector<std::uint32_t> at(network_.nodes.size(), kNone);
  for (const std::uint32_t node : hub_node_) {
    const std::int64_t supply = network_.nodes[node].supply;
    at[node] = sample.addNode(supply < 0 ? -scaled(-supply) : scaled(supply));
  }
  Hubs sample_hubs;
  for (const std::uint32_t node : hub_node_) sample_hubs.nodes.push_back(at[node]);
  for (const std::uint32_t arc : hubs.direct) {
    const Arc& a = network_.arcs[arc];
    sample_hubs.direct.push_back(sample.addArc(at[a.from], at[a.to], scaled(a.capacity), a.cost));
  }
  // A fixed generator picks the leaves, so that no pattern in their order decides.
  std::uint64_t state = 0x9E3779B97F4A7C15ull;
  for (std::uint32_t node = 0; node < network_.nodes.size(); ++node) {
    if (!network_.nodes[node].alive || isHub(node)) continue;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    if ((state >> 33) % kOneOf != 0) continue;
    at[node] = sample.addNode(network_.nodes[node].supply);
    network_.forEachArc(node, [&](std::uint32_t arc) {
      const Arc& a = network_.arcs[arc];
      sample.addArc(at[a.from], at[a.to], a.capacity, a.cost);
    });
  }
  HubCore core(sample, std::move(sample_hubs));
  const Outcome outcome = core.solve(limits);
  if (outcome.kind != Outcome::Kind::kOptimal && outcome.kind != Outcome::Kind::kInfeasible) return;
  for (std::size_t hub = 0; hub < hub_node_.size(); ++hub)
    potential_[hub] = core.potential(at[hub_node_[hub]]);
}

// Gives nodes and arcs added since the last solve() their place. False if there are too many hubs.
bool HubCore::settlePending() {
  hub_of_.resize(network_.nodes.size(), kNone);
  is_dirty_.resize(network_.nodes.size(), 0);
  for (const std::uint32_t node : pending_nodes_) {
    if (!network_.nodes[node].alive || isHub(node)) continue;
    if (fitsLeaf(network_, node))
      markLeaf(node);
    else if (hub_node_.size() - free_hubs_.size() < kMaxHubs)
      addHub(node);
    else
      return false;
  }
  for (const std::uint32_t arc : pending_arcs_) {
    const Arc& a = network_.arcs[arc];
    if (a.from == kNone) continue;
    if (!isHub(a.from) && !isHub(a.to)) return false;
    if (network_.nodes[a.from].degree > kLeafDegree && !isHub(a.from)) return false;
    if (network_.nodes[a.to].degree > kLeafDegree && !isHub(a.to)) return false;
    markArc(arc);
  }
  pending_nodes_.clear();
  pending_arcs_.clear();
  return true;
}

}  // namespace allot::flow
