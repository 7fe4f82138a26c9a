#include "solve/throughput/chain_rivals.h"

namespace allot {

ChainRivals::ChainRivals(const ChainSearch& search, const IdealTable& table, bool any)
    : search_(search),
      table_(table),
      suitable_(any && !search.by_parts_ && search.model_.stash_bytes.empty() &&
                search.model_.poolCount() <= kMostPools),
      reached_(suitable_ ? search.states_ : 0) {}

void ChainRivals::enter(const ChainSegment& segment) {
  segment_ = &segment;
  for (const std::uint32_t state : used_) reached_[state] = {};
  used_.clear();
}

void ChainRivals::add(std::uint32_t ideal, std::uint32_t state) {
  if (!suitable_) return;
  Reached& reached = reached_[state];
  if (reached.ideals.size() > kMostReached) return;
  if (reached.ideals.empty()) used_.push_back(state);
  if (reached.sorted == reached.ideals.size()) changed_.push_back(state);
  reached.ideals.push_back(ideal);
  const std::size_t pools = search_.model_.poolCount();
  while (held_.size() < table_.size() * figures()) {
    const auto next = static_cast<std::uint32_t>(held_.size() / figures());
    held_.resize(held_.size() + figures(), 0);
    double* held = &held_[next * figures()];
    for (std::size_t c = 0; c < search_.packing_.chains.size(); ++c) {
      const std::uint32_t items = search_.packing_.held(table_.key(next), c);
      const double* sums = search_.chainSums(c, items);
      for (std::size_t k = 0; k < pools; ++k) held[k] += sums[k];
      held[pools] += sums[search_.resident_figure_];
      held[pools + 1] += items;
    }
  }
}

void ChainRivals::sortNew() {
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return isEarlier(a, b); };
  for (const std::uint32_t state : changed_) {
    Reached& reached = reached_[state];
    const auto first_new = reached.ideals.begin() + static_cast<std::ptrdiff_t>(reached.sorted);
    std::sort(first_new, reached.ideals.end(), earlier);
    std::inplace_merge(reached.ideals.begin(), first_new, reached.ideals.end(), earlier);
    reached.sorted = reached.ideals.size();
  }
  changed_.clear();
}

bool ChainRivals::isEarlier(std::uint32_t a, std::uint32_t b) const {
  const std::size_t items = figures() - 1;
  if (held(a)[0] != held(b)[0]) return held(a)[0] < held(b)[0];
  if (held(a)[items] != held(b)[items]) return held(a)[items] < held(b)[items];
  const std::uint64_t *x = table_.key(a), *y = table_.key(b);
  return std::lexicographical_compare(x, x + search_.packing_.words, y, y + search_.packing_.words);
}

ChainRivals::List ChainRivals::of(std::uint32_t ideal, std::span<const ChainEntry> entries,
                                  double cutoff) const {
  List list;
  if (!suitable_) return list;
  const std::vector<std::uint32_t>& reached = reached_[entries.front().state].ideals;
  if (reached.size() > kMostReached) return list;
  auto other = std::upper_bound(reached.begin(), reached.end(), ideal,
                                [&](std::uint32_t a, std::uint32_t b) { return isEarlier(a, b); });
  const auto end = reached.end() - other > kLook ? other + kLook : reached.end();
  for (; other != end && list.size < kMost; ++other) {
    const bool good = std::all_of(entries.begin(), entries.end(), [&](const ChainEntry& entry) {
      return mayReplace(table_.value(*other, entry.state), entry.value, cutoff);
    });
    if (!good || !isNear(*other, ideal)) continue;
    list.rivals[list.size] = compare(*other, ideal);
    if (list.rivals[list.size].pools != 0) ++list.size;
  }
  return list;
}

bool ChainRivals::isNear(std::uint32_t rival, std::uint32_t ideal) const {
  const IdealPacking& packing = search_.packing_;
  std::uint32_t missing = 0;
  for (const ChainSegment::Run& run : segment_->runs) {
    const std::uint32_t mine = packing.held(table_.key(ideal), run.chain),
                        its = packing.held(table_.key(rival), run.chain);
    missing += its > mine ? its - mine : 0;
    if (missing > kNear) return false;
  }
  return true;
}

ChainRivals::Rival ChainRivals::compare(std::uint32_t rival, std::uint32_t ideal) const {
  const IdealPacking& packing = search_.packing_;
  const std::size_t pools = search_.model_.poolCount();
  std::array<double, kMostPools> nets{};
  std::array<bool, kMostPools> barred{};
  Rival made{.ideal = rival, .missing = 0, .pools = 0};
  for (const ChainSegment::Run& run : segment_->runs) {
    const std::uint32_t mine = packing.held(table_.key(ideal), run.chain),
                        its = packing.held(table_.key(rival), run.chain);
    if (mine == its) continue;
    const double* fewer = search_.chainSums(run.chain, std::min(mine, its));
    const double* more = search_.chainSums(run.chain, std::max(mine, its));
    if (its > mine) made.missing += its - mine;
    for (std::size_t k = 0; k < pools; ++k) {
      nets[k] += more[search_.nets_figure_ + k] - fewer[search_.nets_figure_ + k];
      // The stage behind the rival would hold these.
      barred[k] =
          barred[k] || (mine > its && more[search_.blocked_figure_ + k] > fewer[search_.blocked_figure_ + k]);
    }
  }
  const bool more_bytes = held(rival)[pools] >= held(ideal)[pools];
  for (std::size_t k = 0; k < pools; ++k) {
    const double gain = held(rival)[k] - held(ideal)[k];
    const bool lighter = search_.overlap_sum_ ? gain >= nets[k] : gain >= 0 && nets[k] <= 0;
    const bool fits = more_bytes || search_.all_resident_ <= search_.model_.pools[k].memory;
    if (lighter && fits && !barred[k]) made.pools |= std::uint64_t{1} << k;
  }
  return made;
}

void RivalCount::begin(std::uint32_t ideal, std::span<const ChainEntry> entries, double cutoff) {
  ideal_ = ideal;
  entries_ = entries;
  cutoff_ = cutoff;
  known_ = false;
}

void RivalCount::choose(const StageOption& option) {
  active_ = false;
  if (entries_.empty() || option.replicas > 1) return;
  if (!known_) find();
  missing_[0].fill(UINT8_MAX);
  for (std::size_t r = 0; r < rivals_.size; ++r) {
    if ((rivals_.rivals[r].pools >> option.pool & 1) == 0) continue;
    missing_[0][r] = static_cast<std::uint8_t>(rivals_.rivals[r].missing);
    active_ = true;
  }
}

void RivalCount::find() {
  known_ = true;
  for (const std::uint32_t v : touched_) holds_[v].fill(0);
  touched_.clear();
  rivals_ = all_.of(ideal_, entries_, cutoff_);
  for (std::size_t r = 0; r < rivals_.size; ++r) {
    all_.visitMissing(rivals_.rivals[r].ideal, ideal_, [&](std::uint32_t v) {
      holds_[v][r] = 1;
      touched_.push_back(v);
    });
  }
}

}  // namespace allot
