// The ways to run a stage and the states of ChainSearch: what devices a chain may take, and has taken.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "solve/throughput/chain_search.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostStates = 1 << 20, kMostOptions = 1 << 16, kMostItems = 8192;

// [a * pools + b]: whether b is another pool of a's class that may not run all that a may.
std::vector<std::uint8_t> narrowerPools(const PipelineModel& model) {
  const std::size_t pools = model.poolCount();
  const Constraints& constraints = model.problem->constraints;
  std::vector<std::uint8_t> narrows(pools * pools, 0);
  if (!model.problem->modes.replicate || (constraints.pin.empty() && constraints.forbid.empty()))
    return narrows;
  for (std::size_t a = 0; a < pools; ++a) {
    for (std::size_t b = 0; b < pools; ++b) {
      if (a == b || model.pools[a].cls != model.pools[b].cls) continue;
      for (std::size_t v = 0; v < model.itemCount() && narrows[a * pools + b] == 0; ++v)
        narrows[a * pools + b] = model.runs(v, a) && !model.runs(v, b) ? 1 : 0;
    }
  }
  return narrows;
}

}  // namespace

double StageOption::sync(double weights) const {
  double slowest = 0;
  for (const Ring& ring : rings) slowest = std::max(slowest, ring.per_byte * weights + ring.fixed);
  return slowest;
}

bool ChainSearch::hasFewStates() const {
  std::size_t states = 1;
  for (const std::uint32_t c : counts_) {
    if ((states *= c + 1) > kMostStates) return false;
  }
  return true;
}

void ChainSearch::makeOptions() {
  const Problem& problem = *model_.problem;
  const std::vector<std::uint8_t> narrows = narrowerPools(model_);
  // Replicas may come from all pools of one class: every way to take some, each pool in turn as the first.
  std::vector<std::uint32_t> taken(model_.poolCount(), 0);
  const auto addOption = [&](std::uint32_t first) {
    StageOption option;
    option.pool = first;
    option.taken = taken;
    option.replicas = std::accumulate(taken.begin(), taken.end(), 0u);
    option.memory = kInfinity;
    const double r = option.replicas;
    for (std::size_t a = 0; a < taken.size(); ++a) {
      if (taken[a] == 0) continue;
      option.memory = std::min(option.memory, model_.pools[a].memory);
      for (std::size_t y = 0; y < window_.size(); ++y)
        option.weight[y] += window_.weight(y, a) * taken[a] / r;
      if (narrows[first * taken.size() + a] != 0) option.other_pools.push_back(static_cast<std::uint32_t>(a));
      for (std::size_t b = 0; b < taken.size(); ++b) {
        if (taken[b] == 0 || (a == b && taken[a] < 2)) continue;
        const Link* link =
            problem.pairLink(model_.pools[a].devices.front(), model_.pools[b].devices[a == b ? 1 : 0]);
        if (link == nullptr) continue;
        option.rings.push_back(
            {2 * (r - 1) / r / link->bandwidth_bytes_per_second, 2 * (r - 1) * link->latency_seconds});
      }
    }
    options_.push_back(std::move(option));
  };
  const auto extend = [&](auto&& self, std::uint32_t pool, std::uint32_t cls) -> void {
    if (pool == model_.poolCount()) {
      for (std::uint32_t k = 0; k < pool; ++k) {
        if (taken[k] > 0) addOption(k);
      }
      return;
    }
    if (options_.size() > kMostOptions) return;
    const bool same = model_.pools[pool].cls.value == cls;
    for (std::uint32_t r = 0; r <= (same ? counts_[pool] : 0); ++r) {
      taken[pool] = r;
      self(self, pool + 1, cls);
    }
    taken[pool] = 0;
  };
  if (problem.modes.replicate) {
    for (std::uint32_t cls = 0; cls < problem.cluster.classCount(); ++cls) extend(extend, 0, cls);
    return;
  }
  for (std::uint32_t k = 0; k < model_.poolCount(); ++k) {
    if (counts_[k] == 0) continue;
    std::fill(taken.begin(), taken.end(), 0);
    taken[k] = 1;
    addOption(k);
  }
}

void ChainSearch::makeStates() {
  const Modes& modes = model_.problem->modes;
  std::vector<std::size_t> stride;
  std::uint32_t devices = 0;
  for (const std::uint32_t c : counts_) {
    stride.push_back(states_);
    states_ = std::min<std::size_t>(states_ * (c + 1), std::size_t{1} << 40);
    devices += c;
  }
  // With replicas the devices used do not tell the number of stages.
  const bool count_stages = modes.replicate && (modes.in_flight || modes.max_stages > 0);
  const std::uint32_t most = modes.max_stages > 0 ? std::min(modes.max_stages, devices) : devices;
  const std::size_t combinations = states_;
  if (count_stages) states_ *= most + 1;
  if (!suitable(SIZE_MAX)) return;
  used_.resize(states_ * (counts_.size() + 1));
  next_state_.assign(options_.size() * states_, -1);
  capacity_.assign(states_ * CapacityWindow::kMost, 0);
  std::vector<std::uint32_t> left(counts_.size());
  for (std::size_t s = 0; s < states_; ++s) {
    std::uint32_t used = 0;
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const auto here = static_cast<std::uint32_t>(s % combinations / stride[k] % (counts_[k] + 1));
      used_[s * (counts_.size() + 1) + k] = here;
      left[k] = counts_[k] - here;
      used += here;
    }
    const std::uint32_t stages = count_stages ? static_cast<std::uint32_t>(s / combinations) : used;
    used_[(s + 1) * (counts_.size() + 1) - 1] = stages;
    const bool limited = modes.max_stages > 0 && !modes.replicate;
    for (std::size_t y = 0; y < window_.size(); ++y) {
      capacity_[s * CapacityWindow::kMost + y] =
          window_.capacity(y, left, limited ? most - std::min(most, stages) : UINT32_MAX);
    }
    if (stages >= most) continue;
    for (std::size_t o = 0; o < options_.size(); ++o) {
      std::size_t next = s + (count_stages ? combinations : 0);
      bool enough = true;
      for (std::size_t k = 0; k < left.size(); ++k) {
        enough = enough && options_[o].taken[k] <= left[k];
        next += options_[o].taken[k] * stride[k];
      }
      if (enough) next_state_[o * states_ + s] = static_cast<std::int32_t>(next);
    }
  }
}

void ChainSearch::compareStates() {
  constexpr std::size_t kMostCompared = 2048;
  if (states_ > kMostCompared) return;
  const std::size_t digits = model_.poolCount() + 1;
  covers_.assign(states_ * states_, 0);
  for (std::size_t a = 0; a < states_; ++a) {
    for (std::size_t b = 0; b < states_; ++b) {
      const std::uint32_t* mine = used_.data() + a * digits;
      covers_[a * states_ + b] = std::equal(mine, mine + digits, used_.data() + b * digits,
                                            [](std::uint32_t x, std::uint32_t y) { return x <= y; });
    }
  }
}

bool ChainSearch::suitable(std::size_t memory_bytes) const {
  return model_.itemCount() <= kMostItems && states_ <= kMostStates && options_.size() <= kMostOptions &&
         options_.size() * states_ <= 16 * kMostStates && states_ <= memory_bytes / 1024 / 64;
}

}  // namespace allot
