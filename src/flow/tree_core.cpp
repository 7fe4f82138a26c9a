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

// Puts a node without children below the root; its plug is there already.
void TreeCore::addLeaf(std::uint32_t node) {
  parent_[node] = 0;
  up_[node] = plug_[node];
  last_[node] = node;
  size_[node] = 1;
  previous_[node] = 0;
  next_[node] = next_[0];
  previous_[next_[0]] = node;
  next_[0] = node;
  if (last_[0] == 0) last_[0] = node;
  ++size_[0];
}

void TreeCore::moveSubtree(std::uint32_t top, std::int64_t shift) {
  if (shift == 0) return;
  const std::uint32_t end = next_[last_[top]];
  std::uint32_t at = top;
  do {
    if (tracking_ && !is_moved_[at]) {
      is_moved_[at] = 1;
      old_potential_[at] = potential_[at];
      moved_.push_back(at);
    }
    potential_[at] += shift;
    at = next_[at];
  } while (at != end);
}

// Takes the subtree at cut_child off the tree, turns it so that `inside` is its root, and hangs it below
// `outside` by the entering arc. Sizes above `top`, which is above both places, do not change.
void TreeCore::hang(std::uint32_t entering, std::uint32_t inside, std::uint32_t outside,
                    std::uint32_t cut_child, std::uint32_t top) {
  const std::int64_t cost = reduced(entering);
  const std::int64_t shift = tail_[entering] == inside ? -cost : cost;

  const std::uint32_t old_last = last_[cut_child], before_cut = previous_[cut_child];
  const std::uint32_t total = size_[cut_child];
  std::uint32_t after = next_[last_[inside]];  // what follows the piece of `child` in the old order
  std::uint32_t before = previous_[inside];    // what comes before it
  const std::uint32_t after_cut = next_[old_last];
  for (std::uint32_t v = parent_[cut_child]; v != kNone && last_[v] == old_last; v = parent_[v])
    last_[v] = before_cut;
  for (std::uint32_t v = parent_[cut_child]; v != top; v = parent_[v]) size_[v] -= total;

  // The path from `inside` up to cut_child turns round: each node on it becomes the child of the one below,
  // and what it had besides that one stays with it, behind in the ring.
  std::uint32_t end = last_[inside];
  std::uint32_t child = inside, child_last = end, child_size = size_[inside];
  std::uint32_t node = parent_[inside], up = up_[inside];
  while (child != cut_child) {
    const std::uint32_t node_last = last_[node], node_size = size_[node], node_before = previous_[node];
    const std::uint32_t node_parent = parent_[node], node_up = up_[node];
    next_[end] = node;
    previous_[node] = end;
    end = before;
    if (child_last != node_last) {
      next_[before] = after;
      previous_[after] = before;
      end = node_last;
      after = next_[node_last];
    }
    parent_[node] = child;
    up_[node] = up;
    size_[node] = total - child_size;
    child = node;
    child_last = node_last;
    child_size = node_size;
    before = node_before;
    node = node_parent;
    up = node_up;
  }
  for (std::uint32_t v = cut_child; v != inside; v = parent_[v]) last_[v] = end;
  last_[inside] = end;
  size_[inside] = total;
  parent_[inside] = outside;
  up_[inside] = entering;

  next_[before_cut] = after_cut;
  previous_[after_cut] = before_cut;
  const std::uint32_t behind = next_[outside];
  next_[outside] = inside;
  previous_[inside] = outside;
  next_[end] = behind;
  previous_[behind] = end;
  for (std::uint32_t v = outside; v != kNone && last_[v] == outside; v = parent_[v]) last_[v] = end;
  for (std::uint32_t v = outside; v != top; v = parent_[v]) size_[v] += total;
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
  std::uint32_t steps = 0;
  while (x != y) {
    ++steps;
    if (size_[x] <= size_[y]) {
      const std::uint32_t p = up_[x];
      const std::int64_t r = tail_[p] == x ? amount_[p].flow : room(p);
      if (r < down_room) {
        down_room = r;
        down_child = x;
      }
      x = parent_[x];
    } else {
      const std::uint32_t p = up_[y];
      const std::int64_t r = tail_[p] == y ? room(p) : amount_[p].flow;
      if (r <= up_room) {
        up_room = r;
        up_child = y;
      }
      y = parent_[y];
    }
  }
  const std::uint32_t top = x;
  const std::int64_t own_room = forward ? room(entering) : amount_[entering].flow;
  const std::int64_t sent = std::min({own_room, down_room, up_room});

  if (sent == kUnlimited) {
    outcome.kind = Outcome::Kind::kUnbounded;
    outcome.cycle.assign(1, arc_[entering]);
    for (y = second; y != top; y = parent_[y]) outcome.cycle.push_back(arc_[up_[y]]);
    const auto middle = static_cast<std::ptrdiff_t>(outcome.cycle.size());
    for (x = first; x != top; x = parent_[x]) outcome.cycle.push_back(arc_[up_[x]]);
    std::reverse(outcome.cycle.begin() + middle, outcome.cycle.end());
    return Pivot::kUnbounded;
  }

  if (sent > 0) {
    amount_[entering].flow += forward ? sent : -sent;
    for (x = first; x != top; x = parent_[x]) {
      const std::uint32_t p = up_[x];
      amount_[p].flow += tail_[p] == x ? -sent : sent;
      if (tracking_) touched_.push_back(p);
    }
    for (y = second; y != top; y = parent_[y]) {
      const std::uint32_t p = up_[y];
      amount_[p].flow += tail_[p] == y ? sent : -sent;
      if (tracking_) touched_.push_back(p);
    }
    if (tracking_) touched_.push_back(entering);
  }

  if (tracking_) recheck_.push_back(entering);
  if (up_room > sent && own_room == sent) {
    state_[entering] = static_cast<std::int8_t>(-state_[entering]);
    if (arc_[entering] == kNone && amount_[entering].flow == 0) state_[entering] = 0;
    return Pivot::kDone;
  }
  const bool cut_up = up_room == sent;
  const std::uint32_t cut_child = cut_up ? up_child : down_child;
  const std::uint32_t leaving = up_[cut_child];
  pivot_work_ += (3.0 * steps + size_[cut_child] - pivot_work_) / 64;
  // Plugs and temporary arcs never come back once they are empty.
  state_[leaving] = amount_[leaving].flow != 0 ? std::int8_t{-1}
                    : arc_[leaving] == kNone   ? std::int8_t{0}
                                               : std::int8_t{1};
  state_[entering] = 0;
  if (tracking_) recheck_.push_back(leaving);
  if (cut_up)
    hang(entering, second, first, cut_child, top);
  else
    hang(entering, first, second, cut_child, top);
  return Pivot::kDone;
}

void TreeCore::buildScratch() {
  const std::size_t n = network_.nodes.size(), m = network_.arcs.size();
  for (auto* v : {&tail_, &head_, &arc_, &free_positions_, &temporary_, &candidates_, &moved_, &touched_,
                  &unbalanced_, &repriced_, &recheck_}) {
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
  old_potential_.assign(n + 1, 0);
  potential_.assign(n + 1, 0);
  for (auto* v : {&parent_, &up_}) v->assign(n + 1, kNone);
  for (auto* v : {&next_, &previous_, &last_}) v->assign(n + 1, 0);
  size_.assign(n + 1, 1);
  next_scan_ = next_candidate_ = 0;
  tracking_ = false;
  pivot_work_ = 0;

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
  firstTree();
}

std::uint32_t TreeCore::blockSearch() {
  const std::size_t end = scan_end_;
  if (end == 0) return kNone;
  if (next_scan_ >= end) next_scan_ = 0;
  // A larger block finds better arcs, so fewer pivots; it pays where pivots are dear.
  const double root = std::sqrt(static_cast<double>(end));
  const auto block = static_cast<std::size_t>(std::clamp(8.0 * pivot_work_, 20 + root / 5, 20 + 3 * root));
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
  listAround();
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

Outcome TreeCore::solve(const Limits& limits) {
  prohibitive_ = (static_cast<std::int64_t>(network_.nodeCount()) + 1) * limits.max_cost + 1;
  Outcome outcome;
  if (warm_ && solveWarm(outcome)) return outcome;
  return solveScratch();
}

}  // namespace allot::flow
