#include "solve/completion/chain_beam.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kStatesBetweenPolls = 256;

std::uint64_t hashOf(const std::uint32_t* places, std::size_t count) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ull;
  for (std::size_t k = 0; k < count; ++k) {
    hash = (hash ^ places[k]) * 0xD1B54A32D192ED03ull;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

ChainBeam::ChainBeam(const ChainModel& model, const PriceSearch& prices)
    : model_(model), prices_(prices), chains_(model.chains.size()), devices_(model.devices) {}

void ChainBeam::expand(std::uint32_t state, double cutoff) {
  const double* times = &times_[state * timeCount()];
  const std::uint32_t* places = &places_[state * 2 * chains_];
  const double now = times[chains_ + devices_];
  const Prices& prices = prices_.prices();
  for (std::uint16_t c = 0; c < chains_; ++c) {
    const Chain& chain = model_.chains[c];
    const std::size_t op = places[2 * c];
    if (op == chain.size()) continue;
    for (std::uint16_t d = 0; d < devices_; ++d) {
      const double seconds = model_.time(chain, op, d);
      if (seconds == kCannotRun) continue;
      double start = times[c];
      if (op > 0) start += model_.transfer(chain, op - 1, places[2 * c + 1], d);
      if (seconds > 0) start = std::max(start, times[chains_ + d]);
      // It would have been taken before.
      if (start < now) continue;
      double cost = prices_.pricers()[c].restAt(op + 1, model_.classes[d], start + seconds);
      for (std::size_t other = 0; other < chains_; ++other) {
        if (other == c) continue;
        const std::size_t done = places[2 * other];
        if (done == model_.chains[other].size())
          cost += model_.chains[other].weight * times[other];
        else
          cost += prices_.pricers()[other].restAt(done, done > 0 ? model_.classes[places[2 * other + 1]] : 0,
                                                  std::max(times[other], start));
        if (cost >= cutoff + all_time_) break;
      }
      for (std::size_t e = 0; e < devices_; ++e) {
        double free = std::max(times[chains_ + e], start);
        if (e == d && seconds > 0) free = start + seconds + model_.launch[d];
        const std::size_t cls = model_.classes[e];
        cost -= prices.integral[cls].back() - prices.before(cls, free);
      }
      if (cost >= cutoff) continue;
      candidates_.push_back({cost, state, c, d, start});
    }
  }
}

void ChainBeam::apply(const double* times, const std::uint32_t* places, const Candidate& step) {
  next_times_.insert(next_times_.end(), times, times + timeCount());
  next_places_.insert(next_places_.end(), places, places + 2 * chains_);
  double* to = next_times_.data() + next_times_.size() - timeCount();
  std::uint32_t* at = next_places_.data() + next_places_.size() - 2 * chains_;
  const double seconds = model_.time(model_.chains[step.chain], places[2 * step.chain], step.device);
  to[step.chain] = step.start + seconds;
  if (seconds > 0) to[chains_ + step.device] = step.start + seconds + model_.launch[step.device];
  to[chains_ + devices_] = step.start;
  ++at[2 * step.chain];
  at[2 * step.chain + 1] = step.device;
}

// Whether another state of the same places is nowhere later. Devices that are free before the last start are
// alike.
bool ChainBeam::dominated(const double* times, const std::vector<std::uint32_t>& group) const {
  const double now = times[chains_ + devices_];
  for (const std::uint32_t other : group) {
    const double* others = &next_times_[other * timeCount()];
    bool better = others[chains_ + devices_] <= now;
    for (std::size_t k = 0; better && k < chains_ + devices_; ++k)
      better = others[k] <= (k < chains_ ? times[k] : std::max(times[k], now));
    if (better) return true;
  }
  return false;
}

void ChainBeam::keep(std::size_t width) {
  // Some more than needed, for those that others dominate.
  const auto cheaper = [](const Candidate& a, const Candidate& b) {
    if (a.cost != b.cost) return a.cost < b.cost;
    if (a.parent != b.parent) return a.parent < b.parent;
    return a.chain != b.chain ? a.chain < b.chain : a.device < b.device;
  };
  const std::size_t most = std::min(candidates_.size(), 3 * width);
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(most),
                    candidates_.end(), cheaper);
  candidates_.resize(most);
  next_times_.clear();
  next_places_.clear();
  std::vector<Step>& kept = steps_.emplace_back();
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> groups;
  for (const Candidate& candidate : candidates_) {
    if (kept.size() == width) break;
    apply(&times_[candidate.parent * timeCount()], &places_[candidate.parent * 2 * chains_], candidate);
    const auto state = static_cast<std::uint32_t>(kept.size());
    std::vector<std::uint32_t>& group = groups[hashOf(&next_places_[state * 2 * chains_], 2 * chains_)];
    if (dominated(&next_times_[state * timeCount()], group)) {
      next_times_.resize(state * timeCount());
      next_places_.resize(state * 2 * chains_);
      continue;
    }
    group.push_back(state);
    kept.push_back({candidate.parent, candidate.chain, candidate.device});
  }
  candidates_.clear();
  std::swap(times_, next_times_);
  std::swap(places_, next_places_);
}

bool ChainBeam::run(std::size_t width, double cutoff, const Budget& budget) {
  value_ = kInfinity;
  steps_.clear();
  times_.assign(timeCount(), 0);
  places_.assign(2 * chains_, 0);
  std::size_t ops = 0;
  all_time_ = 0;
  for (std::size_t e = 0; e < devices_; ++e) all_time_ += prices_.prices().integral[model_.classes[e]].back();
  for (std::size_t c = 0; c < chains_; ++c) {
    times_[c] = model_.chains[c].release;
    ops += model_.chains[c].size();
  }
  if (ops * width * sizeof(Step) > budget.memory_bytes / 2) return false;
  for (std::size_t layer = 0; layer < ops; ++layer) {
    const std::size_t states = times_.size() / timeCount();
    for (std::uint32_t state = 0; state < states; ++state) {
      if (state % kStatesBetweenPolls == 0 && budget.stopped()) return false;
      expand(state, cutoff);
    }
    if (candidates_.empty()) return false;
    keep(width);
  }
  std::uint32_t best = 0;
  for (std::uint32_t state = 0; state < steps_.back().size(); ++state) {
    double sum = 0;
    for (std::size_t c = 0; c < chains_; ++c)
      sum += model_.chains[c].weight * times_[state * timeCount() + c];
    if (sum >= value_) continue;
    value_ = sum;
    best = state;
  }
  rebuild(best);
  return value_ < cutoff;
}

void ChainBeam::rebuild(std::uint32_t last) {
  std::vector<Step> path;
  for (std::size_t layer = steps_.size(); layer-- > 0;) {
    path.push_back(steps_[layer][last]);
    last = path.back().parent;
  }
  activities_.assign(chains_, {});
  std::vector<double> free(devices_, 0);
  for (std::size_t k = path.size(); k-- > 0;) {
    const Step& step = path[k];
    const Chain& chain = model_.chains[step.chain];
    std::vector<ChainActivity>& list = activities_[step.chain];
    const double seconds = model_.time(chain, list.size(), step.device);
    double start = chain.release;
    if (!list.empty())
      start = list.back().end + model_.transfer(chain, list.size() - 1, list.back().to, step.device);
    if (seconds > 0) {
      start = std::max(start, free[step.device]);
      free[step.device] = start + seconds + model_.launch[step.device];
    }
    list.push_back(
        {static_cast<std::uint32_t>(list.size()), step.device, step.device, start, start + seconds});
  }
}

}  // namespace allot
