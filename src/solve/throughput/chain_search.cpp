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

}  // namespace

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
