#include <algorithm>
#include <cmath>

#include "flow/tree_core.h"

// The warm half of the network simplex: what changes do to the tree, and the search that starts from them.
namespace allot::flow {

// Hangs the node and what is below it from the root by its plug. The plug's price fits the potentials as they
// are.
void TreeCore::plugIn(std::uint32_t node) {
  const std::uint32_t plug = plug_[node];
  tail_[plug] = node;
  head_[plug] = 0;
  cost_[plug] = potential_[0] - potential_[node];
  amount_[plug] = {0, 0};
  state_[plug] = 0;
  hang(plug, node, 0, node, 0);
}

void TreeCore::nodeAdded(std::uint32_t node) {
  if (!warm_) return;
  const std::uint32_t at = node + 1;
  if (parent_.size() <= at) {
    for (auto* v : {&parent_, &up_, &next_, &previous_, &last_, &size_}) v->resize(at + 1, kNone);
    potential_.resize(at + 1, 0);
    plug_.resize(at + 1, kNone);
    is_moved_.resize(at + 1, 0);
    old_potential_.resize(at + 1, 0);
  }
  potential_[at] = potential_[0];
  plug_[at] = newPosition(at, 0, 0, {0, 0}, 0, kNone);
  addLeaf(at);
  if (network_.nodes[node].supply != 0) unbalanced_.push_back(node);
}

void TreeCore::nodeRemoving(std::uint32_t node) {
  if (!warm_) return;
  const std::uint32_t at = node + 1;
  next_[previous_[at]] = next_[at];
  previous_[next_[at]] = previous_[at];
  if (last_[0] == at) last_[0] = previous_[at];
  --size_[0];
  free_positions_.push_back(plug_[at]);
  plug_[at] = kNone;
}

void TreeCore::arcAdded(std::uint32_t arc) {
  if (!warm_) return;
  if (position_.size() <= arc) position_.resize(arc + 1, kNone);
  const Arc& a = network_.arcs[arc];
  position_[arc] = newPosition(a.from + 1, a.to + 1, a.cost, {0, a.capacity}, 1, arc);
  if (is_around_.size() <= arc) is_around_.resize(arc + 1, 0);
  is_around_[arc] = 0;
  ++new_arcs_;
  candidates_.push_back(position_[arc]);
}

void TreeCore::arcRemoving(std::uint32_t arc) {
  if (!warm_) return;
  const std::uint32_t p = position_[arc];
  if (state_[p] == 0) plugIn(childOf(p));
  state_[p] = 0;
  arc_[p] = kNone;
  amount_[p] = {0, 0};
  position_[arc] = kNone;
  free_positions_.push_back(p);
}

void TreeCore::costChanged(std::uint32_t arc) {
  if (!warm_) return;
  const std::uint32_t p = position_[arc];
  cost_[p] = network_.arcs[arc].cost;
  (state_[p] == 0 ? repriced_ : candidates_).push_back(p);
}

void TreeCore::capacityChanged(std::uint32_t arc) {
  if (!warm_) return;
  const std::uint32_t p = position_[arc];
  const Arc& a = network_.arcs[arc];
  amount_[p] = {a.flow, a.capacity};
  candidates_.push_back(p);
  if (state_[p] >= 0 || a.flow == a.capacity) return;
  // No longer full, and only tree arcs may be half full: fill it up where that is the smaller change.
  const bool fill = a.capacity != kUnlimited && a.capacity - a.flow <= a.flow;
  network_.setFlow(arc, fill ? a.capacity : 0);
  amount_[p].flow = a.flow;
  if (!fill) state_[p] = 1;
  unbalanced_.push_back(a.from);
  unbalanced_.push_back(a.to);
}

void TreeCore::supplyChanged(std::uint32_t node) {
  if (warm_) unbalanced_.push_back(node);
}

// Temporary arcs carry what is unbalanced from excess to lack. False if potentials could grow too large.
bool TreeCore::balance() {
  std::vector<std::uint32_t> lacking;
  std::size_t kept = 0;
  std::sort(unbalanced_.begin(), unbalanced_.end());
  unbalanced_.erase(std::unique(unbalanced_.begin(), unbalanced_.end()), unbalanced_.end());
  for (const std::uint32_t node : unbalanced_) {
    if (!network_.nodes[node].alive || network_.nodes[node].excess == 0) continue;
    if (network_.nodes[node].excess < 0)
      lacking.push_back(node);
    else
      unbalanced_[kept++] = node;
  }
  unbalanced_.resize(kept);
  potential_bound_ += static_cast<Wide>(kept + lacking.size() + 1) * prohibitive_;
  if (potential_bound_ >= static_cast<Wide>(1) << 61) return false;

  std::size_t next = 0;
  std::int64_t missing = lacking.empty() ? 0 : -network_.nodes[lacking[0]].excess;
  for (const std::uint32_t node : unbalanced_) {
    for (std::int64_t left = network_.nodes[node].excess; left > 0;) {
      const std::int64_t amount = std::min(left, missing);
      temporary_.push_back(
          newPosition(node + 1, lacking[next] + 1, prohibitive_, {amount, amount}, -1, kNone));
      left -= amount;
      missing -= amount;
      if (missing == 0 && ++next < lacking.size()) missing = -network_.nodes[lacking[next]].excess;
    }
  }
  unbalanced_.clear();
  candidates_.insert(candidates_.end(), temporary_.begin(), temporary_.end());
  return true;
}

// Moves potentials to new costs of tree arcs: subtree by subtree if they are few, else all in one pass.
void TreeCore::repriceTree() {
  constexpr std::size_t kFew = 32;
  if (repriced_.size() <= kFew) {
    for (const std::uint32_t p : repriced_) {
      if (arc_[p] == kNone || state_[p] != 0) continue;
      const std::int64_t cost = reduced(p);
      const std::uint32_t child = childOf(p);
      if (cost != 0) moveSubtree(child, tail_[p] == child ? -cost : cost);
    }
  } else {
    for (std::uint32_t at = next_[0]; at != 0; at = next_[at]) {
      const std::int64_t cost = cost_[up_[at]];
      potential_[at] = potential_[parent_[at]] + (tail_[up_[at]] == at ? -cost : cost);
    }
    findAttractive();
  }
  repriced_.clear();
}

void TreeCore::findAttractive() {
  candidates_.clear();
  for (const std::uint32_t node : moved_) is_moved_[node] = 0;
  moved_.clear();
  recheck_.clear();
  for (std::uint32_t p = 0; p < tail_.size(); ++p) {
    if (appeal(p) < 0) candidates_.push_back(p);
  }
}

// The best of a block of candidates; those that are not attractive any more leave the list.
std::uint32_t TreeCore::nextCandidate() {
  const std::size_t block =
      std::max<std::size_t>(20, static_cast<std::size_t>(std::sqrt(static_cast<double>(candidates_.size()))));
  std::int64_t best = 0;
  std::uint32_t chosen = kNone;
  for (std::size_t seen = 0; seen < block && !candidates_.empty();) {
    if (next_candidate_ >= candidates_.size()) next_candidate_ = 0;
    const std::uint32_t p = candidates_[next_candidate_];
    const std::int64_t c = appeal(p);
    if (c >= 0) {
      if (state_[p] != 0) recheck_.push_back(p);
      candidates_[next_candidate_] = candidates_.back();
      candidates_.pop_back();
      continue;
    }
    if (c < best) {
      best = c;
      chosen = p;
    }
    ++next_candidate_;
    ++seen;
  }
  return chosen;
}

void TreeCore::listAround() {
  const std::size_t n = network_.nodes.size();
  around_begin_.assign(n + 2, 0);
  is_around_.assign(network_.arcs.size(), 1);
  new_arcs_ = 0;
  for (const Arc& arc : network_.arcs) {
    if (arc.from == kNone) continue;
    ++around_begin_[arc.from + 2];
    ++around_begin_[arc.to + 2];
  }
  for (std::size_t i = 2; i < around_begin_.size(); ++i) around_begin_[i] += around_begin_[i - 1];
  around_.resize(around_begin_.back());
  for (std::uint32_t i = 0; i < network_.arcs.size(); ++i) {
    const Arc& arc = network_.arcs[i];
    if (arc.from == kNone) continue;
    around_[around_begin_[arc.from + 1]++] = i;
    around_[around_begin_[arc.to + 1]++] = i;
  }
}

// Calls visit(arc) for every arc at a node: new ones from the network's list, which has them first, others
// from the array.
template <class Visit>
void TreeCore::forEachAround(std::uint32_t node, Visit&& visit) const {
  for (std::uint32_t at = network_.nodes[node].first; at != kNone && !is_around_[at >> 1];) {
    visit(at >> 1);
    at = network_.links[at].next;
  }
  if (node + 2 >= around_begin_.size()) return;
  for (std::uint32_t i = around_begin_[node]; i < around_begin_[node + 1]; ++i) {
    const Arc& arc = network_.arcs[around_[i]];
    if (arc.from == node || arc.to == node) visit(around_[i]);
  }
}

// Candidates from the arcs at moved nodes; false if there are none.
bool TreeCore::expandMoved() {
  writeBack(false);
  std::size_t arcs = 0, kept = 0;
  for (const std::uint32_t node : moved_) {
    is_moved_[node] = 0;
    if (potential_[node] == old_potential_[node]) continue;
    arcs += network_.nodes[node - 1].degree;
    moved_[kept++] = node;
  }
  moved_.resize(kept);
  // Going through lists costs many times what a scan in order does.
  if (arcs > 1000 + tail_.size() / 16) {
    findAttractive();
    return !candidates_.empty();
  }
  for (const std::uint32_t node : moved_) {
    forEachAround(node - 1, [&](std::uint32_t arc) {
      // The network tells most arcs apart without a look at their position.
      const Arc& a = network_.arcs[arc];
      const std::int64_t cost = a.cost + potential_[a.from + 1] - potential_[a.to + 1];
      if (cost == 0 || (cost > 0 && a.flow == 0)) return;
      if (appeal(position_[arc]) < 0) candidates_.push_back(position_[arc]);
    });
  }
  moved_.clear();
  for (const std::uint32_t p : recheck_) {
    if (appeal(p) < 0) candidates_.push_back(p);
  }
  recheck_.clear();
  for (const std::uint32_t p : temporary_) {
    if (appeal(p) < 0) candidates_.push_back(p);
  }
  return !candidates_.empty();
}

// False if it must start from scratch instead.
bool TreeCore::solveWarm(Outcome& outcome) {
  warm_ = false;
  if (!balance()) return false;
  tracking_ = true;
  repriceTree();
  const std::size_t limit = 8 * parent_.size() + 1000;
  for (std::size_t pivots = 0;;) {
    const std::uint32_t entering = nextCandidate();
    if (entering == kNone) {
      if (!expandMoved()) break;
      continue;
    }
    if (++pivots > limit) return false;
    if (pivot(entering, outcome) == Pivot::kUnbounded) return true;
  }
  tracking_ = false;
  writeBack(false);
  bool feasible = true;
  for (const std::uint32_t p : temporary_) {
    feasible &= amount_[p].flow == 0;
    const std::uint32_t child = childOf(p);
    if (up_[child] == p) plugIn(child);
    state_[p] = 0;
    amount_[p] = {0, 0};
    free_positions_.push_back(p);
  }
  temporary_.clear();
  if (!feasible) {
    outcome.kind = Outcome::Kind::kInfeasible;
    outcome.cut = infeasibleCut(network_);
    return true;
  }
  if (new_arcs_ > 1000 + network_.arcCount() / 4) listAround();
  warm_ = true;
  return true;
}

}  // namespace allot::flow
