#include "solve/latency/serial_place.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kPoll = 1024;
constexpr double kHot = 0.01, kCold = 1e-5;  // temperatures as shares of the start's value
constexpr std::uint32_t kWatch = 256;        // accepted moves after which the price of memory is looked at
constexpr double kCheaper = 0.8, kDearer = 1.4;
constexpr double kLeastWeight = 0.2, kMostWeight = 100;  // of what the dual says

// The least bit too much costs as much as this share: it has to go in the end.
double charged(double overflow) {
  return overflow > 0 ? overflow + 0.01 : 0;
}

}  // namespace

SerialPlacer::SerialPlacer(const ScheduleModel& model, const SearchRange& range, const MemoryPrices& prices)
    : model_(model),
      price_(prices.dearest()),
      neighbourhood_(model, range),
      net_cost_(model.netCount()),
      net_seen_(model.netCount(), 0),
      unit_seen_(model.unitCount(), 0) {
  neighbourhood_.keepOrder();
}

double SerialPlacer::netCost(std::uint32_t net) const {
  const std::vector<std::uint32_t>& device = neighbourhood_.sequence().device;
  const std::uint32_t from = device[model_.net_producer[net]];
  std::uint64_t sent = 0;
  double cost = 0;
  for (const std::uint32_t reader : model_.net_consumers[net]) {
    const std::uint32_t to = device[reader];
    const std::uint64_t bit = std::uint64_t{1} << (to & 63);
    if (to == from || (sent & bit)) continue;
    sent |= bit;
    cost += model_.transfer(net, from, to);
  }
  return cost;
}

// What the move at hand adds.
double SerialPlacer::change() {
  const std::vector<std::uint32_t>& device = neighbourhood_.sequence().device;
  double sum = 0;
  changed_.clear();
  ++move_;
  const auto look = [&](std::uint32_t net) {
    if (net_seen_[net] == move_) return;
    net_seen_[net] = move_;
    const double cost = netCost(net);
    changed_.emplace_back(net, cost);
    sum += cost - net_cost_[net];
  };
  for (const auto& [unit, was] : neighbourhood_.moved()) {
    // A unit may have moved twice: only its first place and its last count.
    if (unit_seen_[unit] == move_) continue;
    unit_seen_[unit] = move_;
    const std::uint32_t now = device[neighbourhood_.unitOps(unit).front()];
    for (const std::uint32_t op : neighbourhood_.unitOps(unit))
      sum += model_.time(op, now) - model_.time(op, was);
    for (const std::uint32_t op : neighbourhood_.unitOps(unit)) {
      for (const std::uint32_t net : model_.inputs[op]) look(net);
      for (const std::uint32_t net : model_.outputs[op]) look(net);
    }
  }
  return sum;
}

Sequence SerialPlacer::run(Sequence start, std::uint64_t moves, const Budget& budget, Random& random) {
  neighbourhood_.begin(std::move(start));
  const Sequence& sequence = neighbourhood_.sequence();
  double value = 0;
  for (std::size_t op = 0; op < model_.opCount(); ++op) value += model_.time(op, sequence.device[op]);
  for (std::uint32_t net = 0; net < model_.netCount(); ++net) value += net_cost_[net] = netCost(net);
  const double scale = value, whole = budget.remainingSeconds();
  Sequence best = sequence;
  double best_value = value, overflow = neighbourhood_.overflow();
  double weight = price_, temperature = 0;
  std::uint32_t accepted = 0, fitting = 0;
  for (std::uint64_t move = 0; move < moves; ++move) {
    if (move % kPoll == 0) {
      if (budget.stopped()) break;
      double share = static_cast<double>(move) / static_cast<double>(moves);
      if (whole < kInfinity) share = std::max(share, 1 - budget.remainingSeconds() / whole);
      temperature = scale * kHot * std::pow(kCold / kHot, share);
    }
    neighbourhood_.propose(random);
    if (neighbourhood_.moved().empty()) continue;
    const double next = value + change(), next_overflow = neighbourhood_.overflow();
    const double worse = next - value + weight * (charged(next_overflow) - charged(overflow));
    if (worse > 0 && worse > -temperature * std::log(1 - random.unit())) {
      neighbourhood_.undo();
      continue;
    }
    for (const auto& [net, cost] : changed_) net_cost_[net] = cost;
    value = next;
    overflow = next_overflow;
    if (overflow == 0 && value < best_value * (1 - 1e-12)) {
      best_value = value;
      best.device = sequence.device;
    }
    fitting += overflow == 0;
    if (++accepted % kWatch == 0) {
      if (fitting > kWatch * 3 / 4) weight = std::max(weight * kCheaper, price_ * kLeastWeight);
      if (fitting < kWatch / 4) weight = std::min(weight * kDearer, price_ * kMostWeight);
      fitting = 0;
    }
  }
  return best;
}

}  // namespace allot
