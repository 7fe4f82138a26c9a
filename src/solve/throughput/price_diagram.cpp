#include "solve/throughput/price_diagram.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "graph/rows.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxSlots = 32;  // of two bits each
constexpr std::uint32_t kNoSlot = ~0u;
// Prices at which a memory full of bytes is worth so many times the limit; 0 counts bytes alone.
constexpr std::array<double, 4> kBytePrices{0, 0.3, 1, 3};
constexpr int kMemoryRounds = 2;
// Of sums of loads and bytes, and of bytes alone, which are exact but for absurd sizes.
constexpr double kRounding = 1e-9, kByteRounding = 1e-12;
// What a set holds of the items of a net that the sweep has passed.
enum Held : std::uint64_t { kNothing = 1, kAll = 2, kSome = 3 };

// The nets that the sweep line crosses, each with a slot of the state word.
class OpenNets {
 public:
  OpenNets(const PipelineModel& model, std::size_t pool)
      : model_(model),
        pool_(pool),
        slot_(model.netCount(), kNoSlot),
        seen_(model.netCount(), 0),
        forgotten_(model.netCount(), 0),
        producer_seen_(model.netCount(), 0) {}

  double dearer(std::uint32_t net) const {
    return std::max(model_.cost(net, pool_, true), model_.cost(net, pool_, false));
  }
  bool counts(std::uint32_t net) const { return !forgotten_[net] && dearer(net) > 0; }
  const std::vector<std::uint32_t>& open() const { return open_; }
  std::uint32_t slot(std::uint32_t net) const { return slot_[net]; }

  // Gives a slot to each net that begins at the item; false when they are used up.
  bool enter(std::uint32_t item) {
    for (const std::uint32_t net : model_.item_nets[item]) {
      if (!counts(net) || slot_[net] != kNoSlot) continue;
      if (open_.size() == kMaxSlots) return false;
      std::uint32_t free = 0;
      while ((used_ >> free) & 1) ++free;
      used_ |= std::uint64_t{1} << free;
      slot_[net] = free;
      open_.push_back(net);
    }
    return true;
  }

  // The state after the item is taken or left, and what that adds to the load.
  std::uint64_t step(std::uint64_t state, std::uint32_t item, bool take, double& cost) const {
    for (const std::uint32_t net : model_.item_nets[item]) {
      if (!counts(net)) continue;
      const std::uint32_t shift = 2 * slot_[net];
      const std::uint64_t held = (state >> shift) & 3;
      std::uint64_t next = take ? kAll : kNothing;
      const double send = model_.cost(net, pool_, true), receive = model_.cost(net, pool_, false);
      const double least = std::min(send, receive);
      const bool producer = model_.net_producer[net] == item;
      if (seen_[net] > 0 && held != next) {
        next = kSome;
        // Which price it is depends on the side of the producer; until that is known the lower one is due.
        if (held != kSome) {
          if (producer)
            cost += take ? send : receive;
          else if (producer_seen_[net])
            cost += take ? receive : send;
          else
            cost += least;
        } else if (producer) {
          cost += (take ? send : receive) - least;
        }
      }
      state = (state & ~(std::uint64_t{3} << shift)) | (next << shift);
    }
    return state;
  }

  // Counts the item as passed; returns the bits of the slots that are needed no longer.
  std::uint64_t leave(std::uint32_t item) {
    std::uint64_t freed = 0;
    for (const std::uint32_t net : model_.item_nets[item]) {
      if (!counts(net)) continue;
      ++seen_[net];
      if (model_.net_producer[net] == item) producer_seen_[net] = 1;
      if (seen_[net] == model_.net_items[net].size()) freed |= close(net);
    }
    return freed;
  }

  // Forgets the cheapest open net; returns the bits of its slot.
  std::uint64_t forgetCheapest() {
    const std::uint32_t net = *std::min_element(
        open_.begin(), open_.end(), [&](std::uint32_t a, std::uint32_t b) { return dearer(a) < dearer(b); });
    forgotten_[net] = 1;
    return close(net);
  }

 private:
  const PipelineModel& model_;
  std::size_t pool_;
  std::vector<std::uint32_t> slot_, seen_;
  std::vector<std::uint8_t> forgotten_, producer_seen_;
  std::vector<std::uint32_t> open_;
  std::uint64_t used_ = 0;

  std::uint64_t close(std::uint32_t net) {
    const std::uint32_t slot = slot_[net];
    used_ &= ~(std::uint64_t{1} << slot);
    std::erase(open_, net);
    slot_[net] = kNoSlot;
    return std::uint64_t{3} << (2 * slot);
  }
};

}  // namespace

PriceDiagram::PriceDiagram(const PipelineModel& model, std::size_t pool, std::span<const std::uint32_t> order,
                           double limit, std::size_t max_width, const Budget& budget)
    : item(order.begin(), order.end()) {
  OpenNets nets(model, pool);
  std::vector<std::uint64_t> states{0}, next_states;
  struct Target {
    std::uint64_t state = 0;
    double cost = kInfinity;
  };
  std::vector<Target> targets;  // of each node: left out, taken
  least_before.push_back(0);
  layer_begin.push_back(0);
  const auto forgetIn = [&](std::vector<std::uint64_t>& words, std::uint64_t mask) {
    complete = false;
    for (std::uint64_t& word : words) word &= ~mask;
  };
  for (const std::uint32_t v : item) {
    if (budget.stopped()) {
      cut = true;
      return;
    }
    while (!nets.enter(v)) forgetIn(states, nets.forgetCheapest());
    const bool may = model.runs(v, pool) && model.resident[v] <= model.pools[pool].memory;
    const std::uint32_t begin = layer_begin.back();
    targets.assign(2 * states.size(), {});
    for (std::size_t i = 0; i < states.size(); ++i) {
      for (const bool take : {false, true}) {
        if (take && !may) continue;
        Target& target = targets[2 * i + take];
        target.cost = take ? model.time(v, pool) : 0;
        target.state = nets.step(states[i], v, take, target.cost);
        if (least_before[begin + i] + target.cost > limit) target.cost = kInfinity;
      }
    }
    std::uint64_t gone = nets.leave(v);
    std::unordered_map<std::uint64_t, std::int32_t> number;
    for (;;) {
      number.clear();
      next_states.clear();
      for (Target& target : targets) {
        if (target.cost == kInfinity) continue;
        target.state &= ~gone;
        if (number.try_emplace(target.state, static_cast<std::int32_t>(next_states.size())).second)
          next_states.push_back(target.state);
      }
      if (next_states.size() <= max_width || nets.open().empty()) break;
      gone = nets.forgetCheapest();
      complete = false;
    }
    const std::uint32_t next_begin = begin + static_cast<std::uint32_t>(states.size());
    least_before.resize(next_begin + next_states.size(), kInfinity);
    for (std::size_t i = 0; i < states.size(); ++i) {
      for (const bool take : {false, true}) {
        const Target& target = targets[2 * i + take];
        PriceArc arc;
        if (target.cost < kInfinity) {
          arc.to = static_cast<std::int32_t>(next_begin) + number[target.state];
          arc.cost = target.cost;
          double& least = least_before[static_cast<std::size_t>(arc.to)];
          least = std::min(least, least_before[begin + i] + arc.cost);
        }
        (take ? with : without).push_back(arc);
      }
    }
    layer_begin.push_back(next_begin);
    states = next_states;
  }
  layer_begin.push_back(layer_begin.back() + static_cast<std::uint32_t>(states.size()));
  without.resize(layer_begin.back());
  with.resize(layer_begin.back());
  std::vector<double> bytes;
  for (const std::uint32_t v : item) bytes.push_back(static_cast<double>(model.resident[v]));
  prune({1, 0, limit}, bytes, least_before, least_after);
  pruneByMemory(bytes, model.pools[pool].memory, limit);
  listWays();
}

void PriceDiagram::measureBefore(const Weights& weights, std::span<const double> bytes,
                                 std::vector<double>& before) const {
  before.assign(nodeCount(), kInfinity);
  before[0] = 0;
  const auto lower = [&](const PriceArc& arc, double weight) {
    if (arc.to < 0) return;
    double& least = before[static_cast<std::size_t>(arc.to)];
    least = std::min(least, weight + weights.load * arc.cost);
  };
  for (std::size_t layer = 0; layer < layers(); ++layer) {
    for (std::size_t node = layer_begin[layer]; node < layer_begin[layer + 1]; ++node) {
      lower(without[node], before[node]);
      lower(with[node], before[node] + weights.byte * bytes[layer]);
    }
  }
}

// Drops arcs that no path of use takes; true when there were any.
bool PriceDiagram::prune(const Weights& weights, std::span<const double> bytes,
                         std::span<const double> before, std::vector<double>& after) {
  bool dropped = false;
  after.assign(nodeCount(), kInfinity);
  for (std::size_t node = layer_begin[layers()]; node < nodeCount(); ++node) after[node] = 0;
  for (std::size_t layer = layers(); layer-- > 0;) {
    const auto look = [&](std::size_t node, PriceArc& arc, double more) {
      if (arc.to < 0) return;
      const double weight = weights.load * arc.cost + more + after[static_cast<std::size_t>(arc.to)];
      if (before[node] + weight > weights.most) {
        arc.to = -1;
        dropped = true;
      } else {
        after[node] = std::min(after[node], weight);
      }
    };
    for (std::size_t node = layer_begin[layer]; node < layer_begin[layer + 1]; ++node) {
      look(node, without[node], 0);
      look(node, with[node], weights.byte * bytes[layer]);
    }
  }
  return dropped;
}

void PriceDiagram::pruneByMemory(std::span<const double> bytes, double memory, double limit) {
  if (memory <= 0 || std::accumulate(bytes.begin(), bytes.end(), 0.0) <= memory) return;
  std::vector<double> before, after;
  for (int round = 0; round < kMemoryRounds; ++round) {
    bool dropped = false;
    for (const double price : kBytePrices) {
      Weights weights{0, 1, memory * (1 + kByteRounding)};
      if (price > 0) weights = {1, price * limit / memory, (1 + price) * limit * (1 + kRounding)};
      measureBefore(weights, bytes, before);
      dropped = prune(weights, bytes, before, after) || dropped;
    }
    if (!dropped) return;
    // What is left may cost more.
    const Weights load{1, 0, limit};
    measureBefore(load, bytes, least_before);
    prune(load, bytes, least_before, least_after);
  }
}

void PriceDiagram::listWays() {
  std::vector<WayIn> ways;
  std::vector<std::uint32_t> ends;
  const auto list = [&](const PriceArc& arc, std::uint32_t node, bool takes) {
    if (arc.to < 0) return;
    ways.push_back({node, takes, arc.cost});
    ends.push_back(static_cast<std::uint32_t>(arc.to));
  };
  for (std::uint32_t node = 0; node < nodeCount(); ++node) {
    list(without[node], node, false);
    list(with[node], node, true);
  }
  ways_in = rowsByOwner<WayIn>(ways, ends, nodeCount());
}

std::size_t PriceDiagram::width() const {
  std::size_t most = 0;
  for (std::size_t i = 0; i + 1 < layer_begin.size(); ++i)
    most = std::max<std::size_t>(most, layer_begin[i + 1] - layer_begin[i]);
  return most;
}

double PriceDiagram::leastWith(std::size_t layer) const {
  double least = kInfinity;
  for (std::size_t node = layer_begin[layer]; node < layer_begin[layer + 1]; ++node) {
    const PriceArc& arc = with[node];
    if (arc.to < 0) continue;
    least = std::min(least, least_before[node] + arc.cost + least_after[static_cast<std::size_t>(arc.to)]);
  }
  return least;
}

}  // namespace allot
