#include "solve/throughput/max_flow.h"

#include <algorithm>

namespace allot {
namespace {

// What rounding may have left on an arc that is full.
constexpr double kNothing = 1e-15;

}  // namespace

void MaxFlow::addArc(std::uint32_t from, std::uint32_t to, double capacity) {
  arcs_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<std::uint32_t>(arcs_.size() - 1);
  arcs_.push_back({from, first_[to], 0});
  first_[to] = static_cast<std::uint32_t>(arcs_.size() - 1);
}

bool MaxFlow::findLevels(std::uint32_t source, std::uint32_t sink) {
  level_.assign(first_.size(), kNone);
  std::vector<std::uint32_t> queue{source};
  level_[source] = 0;
  for (std::size_t i = 0; i < queue.size() && level_[sink] == kNone; ++i) {
    for (std::uint32_t a = first_[queue[i]]; a != kNone; a = arcs_[a].next) {
      if (arcs_[a].left <= kNothing || level_[arcs_[a].to] != kNone) continue;
      level_[arcs_[a].to] = level_[queue[i]] + 1;
      queue.push_back(arcs_[a].to);
    }
  }
  return level_[sink] != kNone;
}

// One path along rising levels, without recursion; 0 when there is none left.
double MaxFlow::push(std::uint32_t source, std::uint32_t sink) {
  std::vector<std::uint32_t> path;
  std::uint32_t node = source;
  while (node != sink) {
    std::uint32_t& a = at_[node];
    while (a != kNone && (arcs_[a].left <= kNothing || level_[arcs_[a].to] != level_[node] + 1))
      a = arcs_[a].next;
    if (a != kNone) {
      path.push_back(a);
      node = arcs_[a].to;
      continue;
    }
    if (path.empty()) return 0;
    // A dead end: step back and leave the arc that led here.
    const std::uint32_t last = path.back();
    path.pop_back();
    node = arcs_[last ^ 1].to;
    at_[node] = arcs_[last].next;
  }
  double least = arcs_[path.front()].left;
  for (const std::uint32_t a : path) least = std::min(least, arcs_[a].left);
  for (const std::uint32_t a : path) {
    arcs_[a].left -= least;
    arcs_[a ^ 1].left += least;
  }
  return least;
}

double MaxFlow::run(std::uint32_t source, std::uint32_t sink) {
  double flow = 0;
  while (findLevels(source, sink)) {
    at_ = first_;
    for (double more = push(source, sink); more > 0; more = push(source, sink)) flow += more;
  }
  return flow;
}

}  // namespace allot
