#include "solve/throughput/net_state.h"

#include <algorithm>

namespace allot {

NetState::NetState(const PipelineModel& model)
    : model_(&model),
      devices_(model.problem->deviceCount()),
      pools_(model.poolCount()),
      overlap_max_(model.problem->modes.overlap == Overlap::kMax),
      pool_(devices_),
      limit_(devices_),
      place_(model.itemCount(), 0),
      sums_(devices_),
      nets_(model.netCount()),
      cost_(model.netCount() * pools_ * 2),
      count_(model.netCount() * devices_, 0),
      saved_(devices_),
      is_touched_(devices_, 0) {
  for (std::uint32_t k = 0; k < pools_; ++k) {
    for (const DeviceId device : model.pools[k].devices) {
      pool_[device.index()] = k;
      limit_[device.index()] = model.pools[k].memory;
    }
  }
  for (std::uint32_t n = 0; n < model.netCount(); ++n) {
    nets_[n] = {model.net_producer[n], 0};
    for (std::size_t k = 0; k < pools_; ++k) {
      cost_[(n * pools_ + k) * 2] = model.cost(n, k, false);
      cost_[(n * pools_ + k) * 2 + 1] = model.cost(n, k, true);
    }
  }
  touched_.reserve(devices_);
}

std::size_t NetState::bytes(const PipelineModel& model) {
  return model.netCount() *
             (sizeof(Net) + 16 * model.poolCount() + sizeof(std::uint32_t) * model.problem->deviceCount()) +
         model.itemCount() * (sizeof(Place) + sizeof(Step));
}

void NetState::assign(std::span<const Place> places) {
  std::copy(places.begin(), places.end(), place_.begin());
  std::fill(count_.begin(), count_.end(), 0);
  for (std::uint32_t n = 0; n < nets_.size(); ++n) {
    nets_[n].spread = 0;
    for (const std::uint32_t item : model_->net_items[n]) {
      if (count_[n * devices_ + place_[item]]++ == 0) ++nets_[n].spread;
    }
  }
  refresh();
}

void NetState::refresh() {
  std::fill(sums_.begin(), sums_.end(), Sums{});
  for (std::size_t i = 0; i < place_.size(); ++i) {
    Sums& sums = sums_[place_[i]];
    sums.compute += model_->time(i, pool_[place_[i]]);
    sums.resident += model_->resident[i];
  }
  for (std::uint32_t n = 0; n < nets_.size(); ++n) {
    if (nets_[n].spread < 2) continue;
    const Place source = place_[nets_[n].producer];
    for (std::size_t d = 0; d < devices_; ++d) {
      if (count_[n * devices_ + d] > 0) sums_[d].communication += cost(n, static_cast<Place>(d), source == d);
    }
  }
  mark();
}

double NetState::value() const {
  double most = 0;
  for (const Sums& sums : sums_) most = std::max(most, load(sums));
  return most;
}

double NetState::overflow() const {
  double sum = 0;
  for (std::size_t d = 0; d < devices_; ++d) sum += overflow(static_cast<Place>(d), sums_[d]);
  return sum;
}

NetState::Change NetState::probe(std::uint32_t item, Place to) const {
  const Place from = place_[item];
  Change change{sums_[from], sums_[to]};
  change.from.compute -= model_->time(item, pool_[from]);
  change.from.resident -= model_->resident[item];
  change.to.compute += model_->time(item, pool_[to]);
  change.to.resident += model_->resident[item];
  double here = 0, there = 0;
  for (const std::uint32_t n : model_->item_nets[item]) {
    const Net& net = nets_[n];
    const std::uint32_t* counts = &count_[n * devices_];
    const bool last = counts[from] == 1, first = counts[to] == 0;
    const Place source = place_[net.producer];
    const Place new_source = net.producer == item ? to : source;
    if (net.spread > 1) {
      here -= cost(n, from, source == from);
      if (!first) there -= cost(n, to, source == to);
    }
    if (net.spread - (last ? 1 : 0) + (first ? 1 : 0) > 1) {
      if (!last) here += cost(n, from, new_source == from);
      there += cost(n, to, new_source == to);
    }
  }
  change.from.communication += here;
  change.to.communication += there;
  return change;
}

void NetState::count(std::uint32_t item, Place from, Place to) {
  place_[item] = to;
  for (const std::uint32_t n : model_->item_nets[item]) {
    std::uint32_t* counts = &count_[n * devices_];
    if (--counts[from] == 0) --nets_[n].spread;
    if (counts[to]++ == 0) ++nets_[n].spread;
  }
}

void NetState::save(Place device) {
  if (is_touched_[device]) return;
  is_touched_[device] = 1;
  touched_.push_back(device);
  saved_[device] = sums_[device];
}

void NetState::apply(std::uint32_t item, Place to, const Change& change) {
  const Place from = place_[item];
  save(from);
  save(to);
  journal_.push_back({item, from});
  sums_[from] = change.from;
  sums_[to] = change.to;
  count(item, from, to);
}

void NetState::mark() {
  journal_.clear();
  for (const Place device : touched_) is_touched_[device] = 0;
  touched_.clear();
}

void NetState::undo() {
  for (std::size_t s = journal_.size(); s-- > 0;)
    count(journal_[s].item, place_[journal_[s].item], journal_[s].from);
  for (const Place device : touched_) sums_[device] = saved_[device];
  mark();
}

}  // namespace allot
