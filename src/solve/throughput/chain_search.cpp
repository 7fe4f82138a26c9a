#include "solve/throughput/chain_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Rounding of sums of work, as a share of the whole.
constexpr double kWindowSlack = 1e-9;
// Of what is owed for nets, which comes and goes, as a share of all that can be.
constexpr double kOwedSlack = 1e-12;
constexpr std::size_t kMostStates = 1 << 20, kMostOptions = 1 << 16, kMostItems = 8192;

// Items so that each comes after all that follow it in the forward graph.
std::vector<std::uint32_t> reverseOrder(const PipelineModel& model) {
  std::vector<std::uint32_t> left(model.itemCount()), order;
  for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
    left[v] = static_cast<std::uint32_t>(model.after[v].size());
    if (left[v] == 0) order.push_back(v);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::uint32_t u : model.before[order[i]]) {
      if (--left[u] == 0) order.push_back(u);
    }
  }
  return order;
}

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

ChainSearch::ChainSearch(const PipelineModel& model, std::vector<std::uint32_t> counts)
    : model_(model), counts_(std::move(counts)), order_(reverseOrder(model)), packing_(model.after, order_) {
  const Modes& modes = model.problem->modes;
  overlap_sum_ = modes.overlap == Overlap::kSum;
  memory_counts_ = !model.memoryNeverBinds();
  by_parts_ = modes.training_load == TrainingLoad::kMaxParts;
  // Both grow with the number of unlike devices.
  if (hasFewStates()) {
    window_ = CapacityWindow(model, counts_);
    makeOptions();
  }
  makeStates();
  if (suitable(SIZE_MAX)) {
    compareStates();
    sumNeeds();
    findSegments();
    listNets();
    findRoots();
    findGifts();
    sumChains();
  }
  for (std::size_t y = 0; y < window_.size(); ++y) slack_.push_back(kWindowSlack * window_.total(y));
  const double owed = std::accumulate(net_owed_.begin(), net_owed_.end(), 0.0);
  if (!slack_.empty()) slack_[0] += kOwedSlack * owed;
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

void ChainSearch::sumNeeds() {
  const std::size_t n = model_.itemCount();
  constexpr std::size_t kY = CapacityWindow::kMost;
  without_.resize(n * kY);
  need_words_ = (n + 63) / 64;
  needs_.assign(n * need_words_, 0);
  group_work_.assign(need_words_ * 16 * 16 * kY, 0);
  group_seconds_.assign(model_.poolCount() * need_words_ * 16 * 16, 0);
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t set = 0; set < 16; ++set) {
      if ((set >> v % 4 & 1) == 0) continue;
      for (std::size_t y = 0; y < kY; ++y) group_work_[(v / 4 * 16 + set) * kY + y] += window_.work(v, y);
      for (std::size_t k = 0; k < model_.poolCount(); ++k) {
        if (model_.runs(v, k)) group_seconds_[(k * need_words_ * 16 + v / 4) * 16 + set] += model_.time(v, k);
      }
    }
  }
  // What needs x comes before it in the forward graph.
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    const std::uint32_t x = *it;
    std::uint64_t* mine = needs_.data() + x * need_words_;
    mine[x / 64] |= std::uint64_t{1} << (x % 64);
    for (const std::uint32_t u : model_.before[x]) {
      const std::uint64_t* theirs = needs_.data() + u * need_words_;
      for (std::size_t w = 0; w < need_words_; ++w) mine[w] |= theirs[w];
    }
    for (std::size_t y = 0; y < window_.size(); ++y) without_[x * kY + y] = window_.total(y);
    for (std::size_t w = 0; w < need_words_; ++w) {
      for (std::uint64_t bits = mine[w]; bits != 0; bits &= bits - 1) {
        const auto v = static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        for (std::size_t y = 0; y < window_.size(); ++y) without_[x * kY + y] -= window_.work(v, y);
      }
    }
  }
}

void ChainSearch::findSegments() {
  const std::size_t n = model_.itemCount();
  position_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) position_[order_[i]] = i;
  // An item is comparable with all others when as many need it and are needed by it as there are.
  std::vector<std::uint32_t> comparable(n, 0);
  for (std::uint32_t x = 0; x < n; ++x) {
    for (std::size_t w = 0; w < need_words_; ++w) {
      for (std::uint64_t bits = needs_[x * need_words_ + w]; bits != 0; bits &= bits - 1) {
        ++comparable[x];
        ++comparable[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      }
    }
  }
  segments_.emplace_back();
  std::vector<std::int32_t> spans(n + 1, 0);  // change of the number of nets that reach across a position
  const auto span = [&](const Csr<std::uint32_t>& sets) {
    for (std::size_t e = 0; e < sets.rows(); ++e) {
      std::uint32_t first = UINT32_MAX, last = 0;
      for (const std::uint32_t v : sets[e]) {
        first = std::min(first, position_[v]);
        last = std::max(last, position_[v]);
      }
      if (last <= first + 1) continue;
      ++spans[first + 1];
      --spans[last];
    }
  };
  span(model_.net_items);
  span(model_.stash_readers);
  std::int32_t across = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    across += spans[i];
    if (across != 0 || comparable[order_[i]] != n + 1) continue;
    segments_.back().barrier = order_[i];
    segments_.emplace_back().first = i + 1;
  }
}

void ChainSearch::listNets() {
  std::vector<std::uint32_t> segment_of(model_.itemCount());  // a barrier belongs to the one it ends
  for (std::uint32_t s = 0; s < segments_.size(); ++s) {
    ChainSegment& segment = segments_[s];
    const std::uint32_t end = segment.barrier == kNoBarrier ? static_cast<std::uint32_t>(order_.size())
                                                            : position_[segment.barrier];
    for (std::uint32_t i = segment.first; i < std::min<std::size_t>(end + 1, order_.size()); ++i)
      segment_of[order_[i]] = s;
    // The barrier before it is among the items of a stage that has arrived there.
    for (std::uint32_t i = segment.first == 0 ? 0 : segment.first - 1; i < end; ++i) {
      segment.first_word = std::min<std::size_t>(segment.first_word, order_[i] / 64);
      segment.last_word = std::max<std::size_t>(segment.last_word, order_[i] / 64);
      const IdealPacking::Place& place = packing_.places[order_[i]];
      const auto run = std::find_if(segment.runs.begin(), segment.runs.end(),
                                    [&](const ChainSegment::Run& r) { return r.chain == place.chain; });
      if (run != segment.runs.end())
        run->end = std::max(run->end, place.position + 1);
      else
        segment.runs.push_back({place.chain, place.position + 1});
    }
  }
  for (ChainSegment& segment : segments_) segment.most_transfer.assign(model_.poolCount(), 0);
  for (std::uint32_t e = 0; e < model_.netCount(); ++e) {
    ChainSegment& segment = segments_[segment_of[lastOf(model_.net_items[e])]];
    segment.nets.push_back(e);
    for (std::size_t k = 0; k < model_.poolCount(); ++k)
      segment.most_transfer[k] += std::max(model_.cost(e, k, true), model_.cost(e, k, false));
  }
  for (std::uint32_t t = 0; t < model_.stash_bytes.size(); ++t) {
    const std::uint32_t last = lastOf(model_.stash_readers[t]);
    // With a barrier as its only reader it is ahead of the barrier.
    const std::uint32_t s = segment_of[last];
    const bool is_ahead = last == segments_[s].barrier && !isStashBehind(t, last);
    segments_[is_ahead ? s + 1 : s].stashes.push_back(t);
  }
}

void ChainSearch::findRoots() {
  net_root_.assign(model_.netCount(), kNoRoot);
  net_owed_.assign(model_.netCount(), 0);
  if (!overlap_sum_ || model_.poolCount() != 1) return;
  for (std::uint32_t e = 0; e < model_.netCount(); ++e) {
    const auto ends = model_.net_items[e];
    const std::uint32_t last = lastOf(ends);
    const bool needs_all = std::all_of(ends.begin(), ends.end(), [&](std::uint32_t v) {
      return (needs_[v * need_words_ + last / 64] >> last % 64 & 1) != 0;
    });
    if (!needs_all) continue;
    net_root_[e] = last;
    // A stage with the root may hold the producer too, when a third end is in a later stage.
    const double send = model_.cost(e, 0, true), receive = model_.cost(e, 0, false);
    const double paid = model_.net_producer[e] == last ? send
                        : ends.size() == 2             ? receive
                                                       : std::min(send, receive);
    net_owed_[e] = window_.weight(0, 0) * paid;
  }
}

void ChainSearch::findGifts() {
  const std::size_t n = model_.itemCount(), pools = model_.poolCount(), words = need_words_;
  most_added_ = model_.seconds;
  always_gift_.assign(n, 1);
  const auto setBit = [words](std::vector<std::uint64_t>& rows, std::size_t row, std::uint32_t v) {
    rows[row * words + v / 64] |= std::uint64_t{1} << (v % 64);
  };
  // By item: those that need it. By net with many ends: its ends.
  std::vector<std::uint64_t> needed_by(n * words, 0), ends_of;
  for (const std::uint32_t v : order_) {
    for (const std::uint32_t w : model_.after[v]) {
      setBit(needed_by, v, w);
      for (std::size_t i = 0; i < words; ++i) needed_by[v * words + i] |= needed_by[w * words + i];
    }
  }
  std::vector<std::size_t> row_of(model_.netCount(), 0);
  for (std::size_t e = 0; e < model_.netCount(); ++e) {
    if (model_.net_items[e].size() <= words) continue;
    row_of[e] = ends_of.size() / words;
    ends_of.resize(ends_of.size() + words, 0);
    for (const std::uint32_t v : model_.net_items[e]) setBit(ends_of, row_of[e], v);
  }
  std::vector<double> saved(pools);
  for (std::uint32_t v = 0; v < n; ++v) {
    for (std::size_t k = 0; k < pools; ++k) saved[k] = overlap_sum_ ? model_.time(v, k) : 0;
    const std::uint64_t* later = needed_by.data() + v * words;
    for (const std::uint32_t e : model_.item_nets[v]) {
      const auto ends = model_.net_items[e];
      // Ends that are placed by the time that v can be.
      std::size_t settled = 0;
      if (ends.size() <= words) {
        for (const std::uint32_t w : ends) settled += later[w / 64] >> w % 64 & 1;
      } else {
        const std::uint64_t* bits = ends_of.data() + row_of[e] * words;
        for (std::size_t i = 0; i < words; ++i)
          settled += static_cast<std::size_t>(std::popcount(later[i] & bits[i]));
      }
      for (std::size_t k = 0; k < pools; ++k) {
        const double send = model_.cost(e, k, true), receive = model_.cost(e, k, false);
        most_added_[v * pools + k] += std::max(send, receive);
        saved[k] += leastSaved(e, v, settled, send, receive);
      }
    }
    for (std::size_t k = 0; k < pools; ++k) {
      if (model_.runs(v, k) && saved[k] < 0) always_gift_[v] = 0;
    }
  }
}

double ChainSearch::leastSaved(std::uint32_t net, std::uint32_t v, std::size_t settled, double send,
                               double receive) const {
  const bool sends = model_.net_producer[net] == v;
  if (settled + 1 == model_.net_items[net].size()) return sends ? send : receive;
  if (settled == 0) return -std::max(send, receive);
  return sends ? -std::max(0.0, receive - send) : 0;
}

void ChainSearch::sumChains() {
  const std::size_t pools = model_.poolCount(), parts = by_parts_ ? 2 : 1;
  work_figure_ = pools * parts;
  resident_figure_ = work_figure_ + CapacityWindow::kMost;
  blocked_figure_ = resident_figure_ + 3;
  nets_figure_ = blocked_figure_ + pools;
  figures_ = nets_figure_ + pools;
  all_resident_ = std::accumulate(model_.resident.begin(), model_.resident.end(), 0.0);
  for (const auto& chain : packing_.chains) {
    auto& sums = chain_sums_.emplace_back(figures_, 0.0);
    sums.reserve((chain.size() + 1) * figures_);
    for (const std::uint32_t v : chain) {
      sums.insert(sums.end(), sums.end() - static_cast<std::ptrdiff_t>(figures_), sums.end());
      double* here = sums.data() + sums.size() - figures_;
      for (std::size_t k = 0; k < pools; ++k) {
        for (const std::uint32_t e : model_.item_nets[v])
          here[nets_figure_ + k] += std::max(model_.cost(e, k, true), model_.cost(e, k, false));
        if (!model_.runs(v, k)) {
          ++here[blocked_figure_ + k];
          continue;
        }
        const double rest = by_parts_ ? model_.rest_seconds[v * pools + k] : 0;
        here[k * parts] += model_.time(v, k) - rest;
        if (by_parts_) here[k * parts + 1] += rest;
      }
      for (std::size_t y = 0; y < CapacityWindow::kMost; ++y) here[work_figure_ + y] += window_.work(v, y);
      here[resident_figure_] += model_.resident[v];
      here[resident_figure_ + 1] += model_.weights[v];
      here[resident_figure_ + 2] += model_.trains[v];
    }
  }
}

void ChainSearch::keyBefore(std::uint32_t barrier, std::vector<std::uint64_t>& key) const {
  std::fill(key.begin(), key.end(), 0);
  for (const std::uint32_t v : order_) {
    if (v == barrier) return;
    key[packing_.places[v].word] += std::uint64_t{1} << packing_.places[v].shift;
  }
}

std::uint32_t ChainSearch::lastOf(std::span<const std::uint32_t> items) const {
  return *std::max_element(items.begin(), items.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return position_[a] < position_[b]; });
}

bool ChainSearch::reachesBehind(std::span<const std::uint32_t> items, std::uint32_t barrier) const {
  return std::any_of(items.begin(), items.end(),
                     [&](std::uint32_t v) { return position_[v] < position_[barrier]; });
}

bool ChainSearch::suitable(std::size_t memory_bytes) const {
  return model_.itemCount() <= kMostItems && states_ <= kMostStates && options_.size() <= kMostOptions &&
         options_.size() * states_ <= 16 * kMostStates && states_ <= memory_bytes / 1024 / 64;
}

ChainSearch::StageLoad ChainSearch::stageLoad(std::span<const std::uint32_t> items, const StageOption& option,
                                              std::uint32_t state) const {
  constexpr StageLoad kNone{kInfinity, kInfinity};
  const std::size_t k = option.pool;
  std::vector<std::uint8_t> inside(model_.itemCount(), 0);
  std::vector<std::uint32_t> nets, stashes;
  double compute[2] = {}, transfer[2] = {}, resident = 0, weights = 0;
  bool trains = false;
  for (const std::uint32_t v : items) {
    if (!model_.runs(v, k) || option.bars(model_, v)) return kNone;
    inside[v] = 1;
    const double rest = by_parts_ ? model_.rest_seconds[v * model_.poolCount() + k] : 0;
    compute[0] += model_.time(v, k) - rest;
    compute[1] += rest;
    resident += model_.resident[v];
    weights += model_.weights[v];
    trains = trains || model_.trains[v] != 0;
    nets.insert(nets.end(), model_.item_nets[v].begin(), model_.item_nets[v].end());
    stashes.insert(stashes.end(), model_.item_stashes[v].begin(), model_.item_stashes[v].end());
  }
  const auto unique = [](std::vector<std::uint32_t>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(nets);
  unique(stashes);
  for (const std::uint32_t e : nets) {
    const auto ends = model_.net_items[e];
    if (std::all_of(ends.begin(), ends.end(), [&](std::uint32_t v) { return inside[v] != 0; })) continue;
    transfer[by_parts_ ? model_.net_rest[e] : 0] += model_.cost(e, k, inside[model_.net_producer[e]] != 0);
  }
  const double r = option.replicas;
  double stash = 0;
  for (const std::uint32_t t : stashes) stash += model_.stash_bytes[t];
  if (resident + std::ceil((stagesOf(state) + 1) / r) * stash > option.memory) return kNone;
  const auto load = [&](int part) {
    return (overlap_sum_ ? compute[part] + transfer[part] : std::max(compute[part], transfer[part])) / r;
  };
  const double sync = option.replicas > 1 && trains ? option.sync(weights) : 0;
  return by_parts_ ? StageLoad{load(1) + sync, load(0)} : StageLoad{load(0) + sync, 0};
}

}  // namespace allot
