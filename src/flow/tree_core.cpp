#include "flow/tree_core.h"

#include <algorithm>
#include <cmath>

namespace allot::flow {

std::uint32_t TreeCore::newPosition(std::uint32_t tail, std::uint32_t head, std::int64_t cost, Amount amount,
                                    std::int8_t state, std::uint32_t arc) {
  std::uint32_t p;
  if (free_positions_.empty()) {
    p = static_cast<std::uint32_t>(tail_.size());
    tail_.emplace_back();
    head_.emplace_back();
    cost_.emplace_back();
    state_.emplace_back();
    amount_.emplace_back();
    arc_.emplace_back();
  } else {
    p = free_positions_.back();
    free_positions_.pop_back();
  }
  tail_[p] = tail;
  head_[p] = head;
  cost_[p] = cost;
  state_[p] = state;
  amount_[p] = amount;
  arc_[p] = arc;
  return p;
}

void TreeCore::linkChild(std::uint32_t node, std::uint32_t parent, std::uint32_t up) {
  TreeNode& n = tree_[node];
  n.parent = parent;
  n.up = up;
  n.previous = kNone;
  n.next = tree_[parent].first_child;
  if (n.next != kNone) tree_[n.next].previous = node;
  tree_[parent].first_child = node;
}

void TreeCore::unlinkChild(std::uint32_t node) {
  const TreeNode& n = tree_[node];
  if (n.previous != kNone)
    tree_[n.previous].next = n.next;
  else
    tree_[n.parent].first_child = n.next;
  if (n.next != kNone) tree_[n.next].previous = n.previous;
}

void TreeCore::moveSubtree(std::uint32_t top, std::int64_t shift) {
  const bool note = tracking_ && shift != 0;
  std::uint32_t at = top;
  for (;;) {
    TreeNode& n = tree_[at];
    potential_[at] += shift;
    n.depth = tree_[n.parent].depth + 1;
    if (note && !is_moved_[at]) {
      is_moved_[at] = 1;
      moved_.push_back(at);
    }
    if (n.first_child != kNone) {
      at = n.first_child;
      continue;
    }
    while (at != top && tree_[at].next == kNone) at = tree_[at].parent;
    if (at == top) return;
    at = tree_[at].next;
  }
}

// Takes the subtree of the entering arc's inside end off the tree at cut_child and hangs it below the outside
// end.
void TreeCore::hang(std::uint32_t entering, std::uint32_t inside, std::uint32_t outside,
                    std::uint32_t cut_child) {
  const std::int64_t cost = reduced(entering);
  const std::int64_t shift = tail_[entering] == inside ? -cost : cost;
  std::uint32_t node = inside, parent = outside, up = entering;
  for (;;) {
    const std::uint32_t old_parent = tree_[node].parent, old_up = tree_[node].up;
    unlinkChild(node);
    linkChild(node, parent, up);
    if (node == cut_child) break;
    parent = node;
    up = old_up;
    node = old_parent;
  }
  moveSubtree(inside, shift);
}

// Sends as much as fits around the cycle that the entering arc closes. Among the arcs that stop it the last
// one, seen from the top of the cycle in the direction of the flow, leaves the tree: that keeps trees
// strongly feasible.
TreeCore::Pivot TreeCore::pivot(std::uint32_t entering, Outcome& outcome) {
  const bool forward = state_[entering] > 0;
  const std::uint32_t first = forward ? tail_[entering] : head_[entering];
  const std::uint32_t second = forward ? head_[entering] : tail_[entering];
  const auto room = [&](std::uint32_t p) {
    const Amount& amount = amount_[p];
    return amount.capacity == kUnlimited ? kUnlimited : amount.capacity - amount.flow;
  };

  std::int64_t down_room = kUnlimited, up_room = kUnlimited;
  std::uint32_t down_child = kNone, up_child = kNone;
  std::uint32_t x = first, y = second;
  while (x != y) {
    if (tree_[x].depth >= tree_[y].depth) {
      const std::uint32_t p = tree_[x].up;
      const std::int64_t r = tail_[p] == x ? amount_[p].flow : room(p);
      if (r < down_room) {
        down_room = r;
        down_child = x;
      }
      x = tree_[x].parent;
    } else {
      const std::uint32_t p = tree_[y].up;
      const std::int64_t r = tail_[p] == y ? room(p) : amount_[p].flow;
      if (r <= up_room) {
        up_room = r;
        up_child = y;
      }
      y = tree_[y].parent;
    }
  }
  const std::uint32_t top = x;
  const std::int64_t own_room = forward ? room(entering) : amount_[entering].flow;
  const std::int64_t sent = std::min({own_room, down_room, up_room});

  if (sent == kUnlimited) {
    outcome.kind = Outcome::Kind::kUnbounded;
    outcome.cycle.assign(1, arc_[entering]);
    for (y = second; y != top; y = tree_[y].parent) outcome.cycle.push_back(arc_[tree_[y].up]);
    const auto middle = static_cast<std::ptrdiff_t>(outcome.cycle.size());
    for (x = first; x != top; x = tree_[x].parent) outcome.cycle.push_back(arc_[tree_[x].up]);
    std::reverse(outcome.cycle.begin() + middle, outcome.cycle.end());
    return Pivot::kUnbounded;
  }

  if (sent > 0) {
    amount_[entering].flow += forward ? sent : -sent;
    for (x = first; x != top; x = tree_[x].parent) {
      const std::uint32_t p = tree_[x].up;
      amount_[p].flow += tail_[p] == x ? -sent : sent;
      if (tracking_) touched_.push_back(p);
    }
    for (y = second; y != top; y = tree_[y].parent) {
      const std::uint32_t p = tree_[y].up;
      amount_[p].flow += tail_[p] == y ? sent : -sent;
      if (tracking_) touched_.push_back(p);
    }
    if (tracking_) touched_.push_back(entering);
  }

  if (up_room > sent && own_room == sent) {
    state_[entering] = static_cast<std::int8_t>(-state_[entering]);
    if (arc_[entering] == kNone && amount_[entering].flow == 0) state_[entering] = 0;
    return Pivot::kDone;
  }
  const bool cut_up = up_room == sent;
  const std::uint32_t cut_child = cut_up ? up_child : down_child;
  const std::uint32_t leaving = tree_[cut_child].up;
  // Plugs and temporary arcs never come back once they are empty.
  state_[leaving] = amount_[leaving].flow != 0 ? std::int8_t{-1}
                    : arc_[leaving] == kNone   ? std::int8_t{0}
                                               : std::int8_t{1};
  state_[entering] = 0;
  if (cut_up)
    hang(entering, second, first, cut_child);
  else
    hang(entering, first, second, cut_child);
  return Pivot::kDone;
}

void TreeCore::buildScratch() {
  const std::size_t n = network_.nodes.size(), m = network_.arcs.size();
  for (auto* v : {&tail_, &head_, &arc_, &free_positions_, &temporary_, &candidates_, &moved_, &touched_,
                  &unbalanced_, &repriced_}) {
    v->clear();
  }
  cost_.clear();
  state_.clear();
  amount_.clear();
  for (auto* v : {&tail_, &head_, &arc_}) v->reserve(m + n);
  cost_.reserve(m + n);
  state_.reserve(m + n);
  amount_.reserve(m + n);
  position_.assign(m, kNone);
  plug_.assign(n + 1, kNone);
  is_moved_.assign(n + 1, 0);
  potential_.assign(n + 1, 0);
  tree_.assign(n + 1, {});
  next_scan_ = next_candidate_ = 0;
  tracking_ = false;

  // Neighbouring arcs often share a node; a stride mixes them so that a block sees the whole network.
  const std::size_t stride =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(m))));
  for (std::size_t start = 0; start < stride; ++start) {
    for (std::size_t i = start; i < m; i += stride) {
      const Arc& arc = network_.arcs[i];
      if (arc.from == kNone) continue;
      position_[i] = newPosition(arc.from + 1, arc.to + 1, arc.cost, {0, arc.capacity}, 1,
                                 static_cast<std::uint32_t>(i));
    }
  }
  scan_end_ = tail_.size();
  for (std::uint32_t node = 1; node <= n; ++node) {
    if (!network_.nodes[node - 1].alive) continue;
    const std::int64_t supply = network_.nodes[node - 1].supply;
    const bool sends = supply >= 0;
    plug_[node] = newPosition(sends ? node : 0, sends ? 0 : node, prohibitive_,
                              {sends ? supply : -supply, kUnlimited}, 0, kNone);
    potential_[node] = sends ? -prohibitive_ : prohibitive_;
    linkChild(node, 0, plug_[node]);
    tree_[node].depth = 1;
  }
}

std::uint32_t TreeCore::blockSearch() {
  const std::size_t end = scan_end_;
  if (end == 0) return kNone;
  if (next_scan_ >= end) next_scan_ = 0;
  const std::size_t block =
      std::max<std::size_t>(20, static_cast<std::size_t>(std::sqrt(static_cast<double>(end))));
  const std::int64_t* const potential = potential_.data();
  std::int64_t best = 0;
  std::uint32_t chosen = kNone;
  for (std::size_t done = 0; done < end;) {
    const std::size_t count = std::min({block, end - done, end - next_scan_});
    for (std::size_t p = next_scan_; p < next_scan_ + count; ++p) {
      const std::int64_t c = state_[p] * (cost_[p] + potential[tail_[p]] - potential[head_[p]]);
      if (c < best) {
        best = c;
        chosen = static_cast<std::uint32_t>(p);
      }
    }
    done += count;
    next_scan_ += count;
    if (next_scan_ == end) next_scan_ = 0;
    if (chosen != kNone) return chosen;
  }
  return kNone;
}

Outcome TreeCore::solveScratch() {
  warm_ = false;
  buildScratch();
  Outcome outcome;
  for (std::uint32_t entering = blockSearch(); entering != kNone; entering = blockSearch()) {
    if (pivot(entering, outcome) == Pivot::kUnbounded) return outcome;
  }
  writeBack(true);
  bool feasible = true;
  for (const std::uint32_t plug : plug_) {
    if (plug == kNone) continue;
    feasible &= amount_[plug].flow == 0;
    amount_[plug].capacity = 0;
  }
  if (!feasible) {
    outcome.kind = Outcome::Kind::kInfeasible;
    outcome.cut = infeasibleCut(network_);
    return outcome;
  }
  scan_end_ = tail_.size();
  potential_bound_ = 4 * static_cast<Wide>(prohibitive_);
  warm_ = true;
  return outcome;
}

void TreeCore::writeBack(bool all) {
  if (all) {
    for (std::size_t p = 0; p < arc_.size(); ++p) {
      if (arc_[p] != kNone) network_.setFlow(arc_[p], amount_[p].flow);
    }
  } else {
    for (const std::uint32_t p : touched_) {
      if (arc_[p] != kNone) network_.setFlow(arc_[p], amount_[p].flow);
    }
  }
  touched_.clear();
}

Outcome TreeCore::solve(std::int64_t max_cost) {
  prohibitive_ = (static_cast<std::int64_t>(network_.nodeCount()) + 1) * max_cost + 1;
  Outcome outcome;
  if (warm_ && solveWarm(outcome)) return outcome;
  return solveScratch();
}

}  // namespace allot::flow
