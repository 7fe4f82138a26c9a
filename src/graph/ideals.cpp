#include "graph/ideals.h"

#include <algorithm>

namespace allot {
namespace {

bool predecessorsInside(const OpGraph& graph, const Bitset& ops, OpId op) {
  for (const TensorId tensor : graph.inputs(op)) {
    if (!ops.test(graph.producer(tensor).index())) return false;
  }
  return true;
}

}  // namespace

bool isIdeal(const OpGraph& graph, const Bitset& ops) {
  for (std::size_t i = 0; i < graph.opCount(); ++i) {
    if (ops.test(i) && !predecessorsInside(graph, ops, OpId(i))) return false;
  }
  return true;
}

Bitset idealClosure(const OpGraph& graph, const Bitset& ops) {
  Bitset closed = ops;
  const auto order = graph.topologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!closed.test(it->index())) continue;
    for (const TensorId tensor : graph.inputs(*it)) closed.set(graph.producer(tensor).index());
  }
  return closed;
}

std::vector<Bitset> enumerateIdeals(const OpGraph& graph, std::size_t limit) {
  std::vector<Bitset> all{Bitset(graph.opCount())};
  std::size_t level_begin = 0;
  while (level_begin < all.size()) {
    const std::size_t level_end = all.size();
    for (std::size_t i = level_begin; i < level_end; ++i) {
      for (std::size_t op = 0; op < graph.opCount(); ++op) {
        if (all[i].test(op) || !predecessorsInside(graph, all[i], OpId(op))) continue;
        Bitset larger = all[i];
        larger.set(op);
        all.push_back(std::move(larger));
      }
    }
    // An ideal of size s + 1 was made once for each of its maximal ops.
    const auto less = [](const Bitset& a, const Bitset& b) { return a.words() < b.words(); };
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(level_end), all.end(), less);
    all.erase(std::unique(all.begin() + static_cast<std::ptrdiff_t>(level_end), all.end()), all.end());
    if (all.size() > limit) return {};
    level_begin = level_end;
  }
  return all;
}

}  // namespace allot
