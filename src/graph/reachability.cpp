#include "graph/reachability.h"

#include <algorithm>
#include <limits>

namespace allot {

Reachability::Reachability(const OpGraph& graph, std::size_t closure_limit) : graph_(&graph) {
  if (graph.opCount() > closure_limit) {
    mark_.assign(graph.opCount(), 0);
    return;
  }
  descendants_.assign(graph.opCount(), Bitset(graph.opCount()));
  const auto order = graph.topologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Bitset& mine = descendants_[it->index()];
    for (const TensorId tensor : graph.outputs(*it)) {
      for (const OpId consumer : graph.consumers(tensor)) {
        mine.set(consumer.index());
        mine |= descendants_[consumer.index()];
      }
    }
  }
}

bool Reachability::reaches(OpId from, OpId to) const {
  if (!descendants_.empty()) return descendants_[from.index()].test(to.index());
  if (graph_->position(from) >= graph_->position(to)) return false;
  if (++stamp_ == 0) {
    std::fill(mark_.begin(), mark_.end(), 0);
    stamp_ = 1;
  }
  std::vector<OpId> stack{from};
  while (!stack.empty()) {
    const OpId op = stack.back();
    stack.pop_back();
    for (const TensorId tensor : graph_->outputs(op)) {
      for (const OpId next : graph_->consumers(tensor)) {
        if (next == to) return true;
        if (graph_->position(next) > graph_->position(to) || mark_[next.index()] == stamp_) continue;
        mark_[next.index()] = stamp_;
        stack.push_back(next);
      }
    }
  }
  return false;
}

std::vector<OpId> barriers(const OpGraph& graph) {
  // In any topological order, every earlier op reaches the op at position p exactly when each of them has a
  // successor at a position <= p (follow successors until p is met); every later op is reached exactly when
  // each has a predecessor at >= p.
  const auto order = graph.topologicalOrder();
  const std::size_t n = order.size();
  constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> first_successor(n, kNever);
  std::vector<std::int64_t> last_predecessor(n, -1);
  for (std::uint32_t p = 0; p < n; ++p) {
    for (const TensorId tensor : graph.outputs(order[p])) {
      for (const OpId consumer : graph.consumers(tensor)) {
        const std::uint32_t q = graph.position(consumer);
        first_successor[p] = std::min(first_successor[p], q);
        last_predecessor[q] = std::max<std::int64_t>(last_predecessor[q], p);
      }
    }
  }
  std::vector<std::int64_t> least_after(n + 1, std::numeric_limits<std::int64_t>::max());
  for (std::size_t p = n; p-- > 0;) least_after[p] = std::min(least_after[p + 1], last_predecessor[p]);
  std::vector<OpId> found;
  std::uint32_t furthest = 0;
  for (std::uint32_t p = 0; p < n; ++p) {
    if (furthest <= p && least_after[p + 1] >= static_cast<std::int64_t>(p)) found.push_back(order[p]);
    furthest = std::max(furthest, first_successor[p]);
  }
  return found;
}

}  // namespace allot
