#include "solve/throughput/stage_diagram.h"

#include <algorithm>
#include <limits>

#include "solve/throughput/hash_index.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The items and nets that the sweep line has met and not yet left, each with its place in the state word: two
// bits for the side of an item, one for a net that is paid.
class OpenItems {
 public:
  OpenItems(const PipelineModel& model)
      : model_(model),
        shift_(model.itemCount(), kNone),
        pending_(model.itemCount(), 0),
        anchor_(model.netCount(), kNone),
        bit_(model.netCount(), kNone),
        left_(model.netCount()) {
    for (std::size_t e = 0; e < left_.size(); ++e)
      left_[e] = static_cast<std::uint32_t>(model.net_items[e].size());
  }

  // Gives the item and the nets that begin with it their places; false when there are none left.
  bool enter(std::uint32_t v) {
    const std::uint32_t slot = take(items_, kItemSlots);
    if (slot == kNone) return false;
    shift_[v] = 2 * slot;
    pending_[v] = static_cast<std::uint32_t>(model_.after[v].size());
    for (const std::uint32_t e : model_.item_nets[v]) {
      --left_[e];
      if (anchor_[e] != kNone) continue;
      const std::uint32_t net_slot = take(nets_, kNetSlots);
      if (net_slot == kNone) return false;
      anchor_[e] = v;
      bit_[e] = 2 * kItemSlots + net_slot;
      ++pending_[v];
    }
    return true;
  }

  // The first side that v may be on: not before what it follows.
  std::uint64_t firstSide(std::uint64_t state, std::uint32_t v) const {
    std::uint64_t first = 0;
    for (const std::uint32_t u : model_.before[v]) first = std::max(first, side(state, u));
    return first;
  }

  // The state with v on a side, and what that adds for nets.
  std::uint64_t step(std::uint64_t state, std::uint32_t v, std::uint64_t chosen, double& cost) const {
    constexpr auto kIn = static_cast<std::uint64_t>(Side::kInside);
    state |= chosen << shift_[v];
    for (const std::uint32_t e : model_.item_nets[v]) {
      const std::uint64_t paid = std::uint64_t{1} << bit_[e];
      if ((state & paid) != 0 || (side(state, anchor_[e]) == kIn) == (chosen == kIn)) continue;
      cost += std::min(model_.send[e], model_.receive[e]);
      state |= paid;
    }
    return state;
  }

  // Counts v as passed; returns the bits of the state that are needed no longer.
  std::uint64_t leave(std::uint32_t v) {
    std::uint64_t freed = 0;
    for (const std::uint32_t e : model_.item_nets[v]) {
      if (left_[e] > 0) continue;
      const std::uint32_t slot = bit_[e] - 2 * kItemSlots;
      nets_ &= ~(std::uint64_t{1} << slot);
      freed |= std::uint64_t{1} << bit_[e];
      freed |= release(anchor_[e]);
    }
    for (const std::uint32_t u : model_.before[v]) freed |= release(u);
    if (pending_[v] == 0) freed |= free(v);
    return freed;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kItemSlots = 18, kNetSlots = 28;
  const PipelineModel& model_;
  std::uint64_t items_ = 0, nets_ = 0;  // slots in use
  std::vector<std::uint32_t> shift_;    // by item: of its side in the state
  std::vector<std::uint32_t> pending_;  // by item: successors and nets that hold it open
  std::vector<std::uint32_t> anchor_;   // by net: its first end
  std::vector<std::uint32_t> bit_;      // by net
  std::vector<std::uint32_t> left_;     // by net: ends to come

  static std::uint32_t take(std::uint64_t& used, std::uint32_t most) {
    for (std::uint32_t slot = 0; slot < most; ++slot) {
      if ((used >> slot & 1) != 0) continue;
      used |= std::uint64_t{1} << slot;
      return slot;
    }
    return kNone;
  }
  std::uint64_t side(std::uint64_t state, std::uint32_t v) const { return state >> shift_[v] & 3; }
  std::uint64_t release(std::uint32_t v) { return --pending_[v] == 0 ? free(v) : 0; }
  std::uint64_t free(std::uint32_t v) {
    items_ &= ~(std::uint64_t{1} << shift_[v] / 2);
    return std::uint64_t{3} << shift_[v];
  }
};

}  // namespace

StageDiagram::StageDiagram(const PipelineModel& model, std::vector<std::uint32_t> order, Paths paths,
                           double limit, const Budget& budget)
    : work_counts(paths == Paths::kStages), item(std::move(order)) {
  OpenItems open(model);
  std::vector<std::uint64_t> states{0};  // of the layer's nodes
  layer_begin = {0, 1};
  least_before = {0};
  for (std::size_t layer = 0; layer < layers(); ++layer) {
    const std::uint32_t v = item[layer];
    if (budget.stopped() || !open.enter(v)) return;
    // Costs do not depend on what is left with this layer.
    struct Next {
      std::uint64_t state;
      double cost;
      bool exists = false;
    };
    std::vector<std::array<Next, kSides>> steps(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      std::uint64_t first = open.firstSide(states[i], v);
      if (!work_counts) first = std::max(first, static_cast<std::uint64_t>(Side::kInside));
      for (std::uint64_t side = first; side < kSides; ++side) {
        Next& next = steps[i][side];
        next.cost = work_counts && side == static_cast<std::uint64_t>(Side::kInside) ? model.seconds[v] : 0;
        next.state = open.step(states[i], v, side, next.cost);
        next.exists = least_before[layer_begin[layer] + i] + next.cost <= limit;
      }
    }
    const std::uint64_t freed = open.leave(v);
    std::vector<std::uint64_t> found;
    HashIndex index(4);
    arcs.resize(layer_begin[layer + 1]);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::size_t node = layer_begin[layer] + i;
      for (std::size_t side = 0; side < kSides; ++side) {
        const Next& next = steps[i][side];
        if (!next.exists) continue;
        const std::uint64_t state = next.state & ~freed;
        const auto size = static_cast<std::uint32_t>(found.size());
        index.makeRoom(size, [&](std::uint32_t k) { return mixBits(found[k]); });
        const std::uint32_t number =
            index.find(mixBits(state), size, [&](std::uint32_t k) { return found[k] == state; });
        if (number == size) {
          found.push_back(state);
          least_before.push_back(kInfinity);
        }
        arcs[node][side] = {number, next.cost};
        double& least = least_before[layer_begin[layer + 1] + number];
        least = std::min(least, least_before[node] + next.cost);
      }
    }
    states.swap(found);
    layer_begin.push_back(layer_begin.back() + states.size());
    if (layer_begin.back() > (work_counts ? kMostNodes : kMostIdealNodes)) return;
  }
  arcs.resize(layer_begin.back());
  prune(limit);
  built = true;
}

void StageDiagram::prune(double limit) {
  least_after.assign(nodeCount(), kInfinity);
  for (std::size_t node = layer_begin[layers()]; node < nodeCount(); ++node) least_after[node] = 0;
  for (std::size_t layer = layers(); layer-- > 0;) {
    for (std::size_t node = layer_begin[layer]; node < layer_begin[layer + 1]; ++node) {
      for (Arc& arc : arcs[node]) {
        if (arc.to == kNoNode) continue;
        const double after = arc.cost + least_after[layer_begin[layer + 1] + arc.to];
        if (least_before[node] + after > limit)
          arc.to = kNoNode;
        else
          least_after[node] = std::min(least_after[node], after);
      }
    }
  }
}

}  // namespace allot
