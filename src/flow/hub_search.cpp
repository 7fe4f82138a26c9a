#include <algorithm>
#include <functional>

#include "flow/hub_core.h"

// Shortest paths from hub to hub over the cheapest moves.
namespace allot::flow {

void HubCore::enqueue(std::uint32_t hub) {
  const std::int64_t reached = std::min(by_move_[hub], by_arc_[hub]);
  // Potentials differ by less than half of kFar, so what is further cannot be reached.
  if (reached >= kFar / 2) return;
  queue_.emplace_back(reached, hub);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

// Improves distances over moves and arcs that leave a hub. Moves count at the cost of their heap's top, which
// is too low where that is stale; search() finds out before it relies on one.
void HubCore::relax(std::uint32_t hub) {
  const std::int64_t base = distance_[hub] + potential_[hub];
  const std::int64_t* const best = best_.data() + hub * stride_;
  for (const std::uint32_t to : near_[hub]) {
    const std::int64_t reached = base + best[to] - potential_[to];
    if (reached >= by_move_[to] || done_[to]) continue;
    by_move_[to] = reached;
    move_from_[to] = hub;
    if (reached < by_arc_[to]) enqueue(to);
  }
  for (const std::uint32_t link : direct_[hub]) {
    const std::uint32_t to = hub_of_[end(link)];
    const std::int64_t reached = base + cost(link) - potential_[to];
    if (reached >= by_arc_[to] || done_[to] || room(link) == 0) continue;
    by_arc_[to] = reached;
    reach_[to] = {hub, link, kNone};
    if (reached <= by_move_[to]) enqueue(to);
  }
}

// The shortest move to a hub from those that are done, after one turned out to be stale.
void HubCore::relaxAgain(std::uint32_t to) {
  by_move_[to] = kFar;
  for (std::uint32_t hub = 0; hub < hub_node_.size(); ++hub) {
    if (!done_[hub]) continue;
    const std::int64_t reached =
        distance_[hub] + potential_[hub] + best_[hub * stride_ + to] - potential_[to];
    if (reached >= by_move_[to]) continue;
    by_move_[to] = reached;
    move_from_[to] = hub;
  }
  enqueue(to);
}

// The nearest hub that lacks flow, from all that have too much; kNone if none can be reached.
std::uint32_t HubCore::search() {
  const std::uint32_t hubs = static_cast<std::uint32_t>(hub_node_.size());
  queue_.clear();
  for (std::uint32_t hub = 0; hub < hubs; ++hub) {
    const bool source = hub_node_[hub] != kNone && network_.nodes[hub_node_[hub]].excess > 0;
    done_[hub] = 0;
    by_move_[hub] = kFar;
    by_arc_[hub] = source ? 0 : kFar;
    distance_[hub] = kFar;
    reach_[hub] = {kNone, kNone, kNone};
    if (source) enqueue(hub);
  }
  while (!queue_.empty()) {
    const auto [reached, hub] = queue_.front();
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    queue_.pop_back();
    if (done_[hub] || reached != std::min(by_move_[hub], by_arc_[hub])) continue;
    if (by_move_[hub] < by_arc_[hub]) {
      const std::uint32_t from = move_from_[hub];
      if (!verifyTop(from, hub)) {
        relaxAgain(hub);
        continue;
      }
      const Move& move = heaps_[from * stride_ + hub].top();
      reach_[hub] = {from, move.in, move.out};
    }
    distance_[hub] = reached;
    if (network_.nodes[hub_node_[hub]].excess < 0) return hub;
    done_[hub] = 1;
    relax(hub);
  }
  return kNone;
}

// Sends flow along one shortest path; false if there is none.
bool HubCore::augment() {
  const std::uint32_t target = search();
  if (target == kNone) return false;
  const std::int64_t length = distance_[target];
  for (std::size_t hub = 0; hub < hub_node_.size(); ++hub) {
    if (done_[hub] && distance_[hub] < length) potential_[hub] += distance_[hub] - length;
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

}  // namespace allot::flow
