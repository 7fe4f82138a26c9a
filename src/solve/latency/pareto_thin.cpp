#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/latency/pareto_level.h"

namespace allot {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr float kNeverFloat = std::numeric_limits<float>::infinity();
// Comparisons of one state with better ones of its ideal.
constexpr std::size_t kMostCompared = 50;

float below(double x) {
  const auto near = static_cast<float>(x);
  return static_cast<double>(near) > x ? std::nextafter(near, -kNeverFloat) : near;
}
float above(double x) {
  const auto near = static_cast<float>(x);
  return static_cast<double>(near) < x ? std::nextafter(near, kNeverFloat) : near;
}

}  // namespace

// Devices, ports, bytes, value; then for each open net its end and, by device, when it is needed there.
void ParetoLevel::writeLatest(const Ideal& ideal, const Partial& lifted, const ParetoBound& left,
                              double bound) {
  const ParetoModel& model = *model_;
  const std::size_t devices = model.devices;
  for (std::size_t d = 0; d < devices; ++d) latest_.push_back(below(lifted.free[d]));
  if (model.ports) {
    for (std::size_t p = 0; p < model.receive_offset + devices; ++p) latest_.push_back(below(lifted.port[p]));
  }
  if (model.memory) {
    for (std::size_t d = 0; d < devices; ++d) {
      const double limit = model.window->memory[d];
      latest_.push_back(limit < kCannotRun ? below(std::max(lifted.used[d], limit - ideal.rest_bytes))
                                           : kNeverFloat);
    }
  }
  latest_.push_back(below(std::max(lifted.value, bound)));
  for (const std::uint16_t n : ideal.open_nets) {
    const std::size_t producer = model.producer[n], from = lifted.device[producer];
    latest_.push_back(below(lifted.end[producer]));
    for (std::size_t d = 0; d < devices; ++d) {
      double first = kNever;
      for (const std::uint32_t reader : model.window->nets[n].consumers) {
        if (!ideal.done.test(reader) && ((left.domain(reader) >> d) & 1))
          first = std::min(first, left.head(reader, d));
      }
      if (first == kNever) {
        latest_.push_back(kNeverFloat);  // nobody reads it there
        continue;
      }
      const double way = model.transfer(n, from, d);
      double there = lifted.end[producer] + way;
      if (model.ports && way > 0)
        there =
            (lifted.sent[n] >> d) & 1
                ? lifted.arrival[n * devices + d]
                : std::max({lifted.end[producer], lifted.port[from], lifted.port[model.receive_offset + d]}) +
                      way;
      latest_.push_back(below(std::max(there, first)));
    }
  }
}

void ParetoLevel::writeEarliest(const Ideal& ideal, const State& state) {
  const ParetoModel& model = *model_;
  const std::size_t devices = model.devices;
  readState(state, scratch_);
  for (std::size_t d = 0; d < devices; ++d) earliest_.push_back(above(scratch_.free[d]));
  if (model.ports) {
    for (std::size_t p = 0; p < model.receive_offset + devices; ++p)
      earliest_.push_back(above(scratch_.port[p]));
  }
  if (model.memory) {
    for (std::size_t d = 0; d < devices; ++d) earliest_.push_back(above(scratch_.used[d]));
  }
  earliest_.push_back(model.many_ends ? above(scratch_.value) : 0);
  for (const std::uint16_t n : ideal.open_nets) {
    const std::size_t producer = model.producer[n], from = scratch_.device[producer];
    const bool committed = model.ports && model.timed[n] && model.one_consumer[n] && scratch_.sent[n] != 0;
    earliest_.push_back(above(scratch_.end[producer]));
    for (std::size_t d = 0; d < devices; ++d) {
      const double way = model.transfer(n, from, d);
      double there = scratch_.end[producer] + way;
      if (model.ports && model.timed[n]) {
        if ((scratch_.sent[n] >> d) & 1)
          there = scratch_.arrival[n * devices + d];
        else if (committed || way > 0)
          there = kNever;
      }
      earliest_.push_back(above(there));
    }
  }
}

bool ParetoLevel::dominates(const Ideal& ideal, const State& a, const float* earliest, const State& b) const {
  const ParetoModel& model = *model_;
  const std::size_t devices = model.devices;
  const float* latest = &latest_[b.latest_at];
  std::size_t fixed = devices + 1;
  if (model.ports) fixed += model.receive_offset + devices;
  if (model.memory) fixed += devices;
  for (std::size_t i = 0; i < fixed; ++i) {
    if (earliest[i] > latest[i]) return false;
  }
  const std::uint16_t* a_key = keys_.data() + a.key_at;
  const std::uint16_t* b_key = keys_.data() + b.key_at;
  for (std::size_t u = 0; u < ideal.open_units.size(); ++u) {
    if (a_key[a.key_size - 1 - u] != b_key[b.key_size - 1 - u]) return false;
  }
  std::size_t at = fixed;
  for (std::size_t k = 0; k < ideal.open_nets.size(); ++k, at += 1 + devices) {
    for (std::size_t d = 0; d < devices; ++d) {
      if (earliest[at + 1 + d] <= latest[at + 1 + d]) continue;
      if (!model.ports) return false;
      // Neither has sent it there: both from the same device, this one no later.
      const std::uint16_t n = ideal.open_nets[k];
      if (!model.timed[n] || earliest[at] > latest[at]) return false;
      const auto live = static_cast<std::size_t>(
          std::lower_bound(ideal.live.begin(), ideal.live.end(), model.producer[n]) - ideal.live.begin());
      const auto sent =
          ideal.live.size() +
          static_cast<std::size_t>(std::find(ideal.nets.begin(), ideal.nets.end(), n) - ideal.nets.begin());
      if (a_key[live] != b_key[live] || ((a_key[sent] >> d) & 1) || ((b_key[sent] >> d) & 1)) return false;
      if (a_key[sent] != 0 && model.one_consumer[n]) return false;
    }
  }
  return true;
}

void ParetoLevel::thin(std::vector<std::uint32_t>& group, const Budget* budget) {
  const Ideal& ideal = model_->ideal(states_[group.front()].ideal);
  std::sort(group.begin(), group.end(), [&](std::uint32_t a, std::uint32_t b) {
    return states_[a].bound != states_[b].bound ? states_[a].bound < states_[b].bound : a < b;
  });
  earliest_.clear();
  std::vector<std::uint32_t> kept;
  std::size_t length = 0;
  std::size_t looked = 0;
  for (const std::uint32_t at : group) {
    // What is not compared stays.
    if (budget != nullptr && (++looked & 1023) == 0 && budget->stopped()) return;
    State& state = states_[at];
    for (std::size_t k = 0; k < kept.size() && !state.dead; ++k)
      state.dead = dominates(ideal, states_[kept[k]], &earliest_[k * length], state);
    if (state.dead || kept.size() >= kMostCompared) continue;
    kept.push_back(at);
    writeEarliest(ideal, state);
    length = earliest_.size() / kept.size();
  }
}

void ParetoLevel::thinAll(const Budget* budget) {
  std::vector<std::uint32_t> order(states_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return states_[a].ideal < states_[b].ideal; });
  std::vector<std::uint32_t> group;
  for (std::size_t i = 0; i < order.size(); ++i) {
    group.push_back(order[i]);
    if (i + 1 < order.size() && states_[order[i + 1]].ideal == states_[order[i]].ideal) continue;
    if (group.size() > 1) thin(group, budget);
    group.clear();
    if (budget != nullptr && (i & 255) == 0 && budget->stopped()) break;
  }
  std::erase_if(states_, [](const State& state) { return state.dead; });
}

}  // namespace allot
