#include "solve/throughput/run_ideals.h"

#include <numeric>

#include "solve/throughput/hash_index.h"

namespace allot {
namespace {

std::vector<std::uint32_t> countUp(std::size_t n) {
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

void RunIdealList::add(const RunIdeal& ideal) {
  words_.insert(words_.end(), ideal.key, ideal.key + key_words_);
  words_.insert(words_.end(), ideal.refused, ideal.refused + run_words_);
  figures_.push_back({ideal.least, ideal.most, ideal.available});
  open_.items.insert(open_.items.end(), ideal.open.begin(), ideal.open.end());
  open_.closeRow();
}

RunIdeals::RunIdeals(const RunGraph& runs)
    : graph(runs),
      total(std::accumulate(runs.work.begin(), runs.work.end(), 0.0)),
      behind(runs.runCount(), 0),
      packing_(runs.before, countUp(runs.runCount())),
      run_words_((runs.runCount() + 63) / 64),
      following_(runs.runCount() * run_words_, 0) {
  const std::size_t n = graph.runCount();
  for (std::size_t r = n; r-- > 0;) {
    std::uint64_t* mine = &following_[r * run_words_];
    mine[r / 64] |= std::uint64_t{1} << r % 64;
    for (const std::uint32_t f : graph.after[r]) {
      for (std::size_t w = 0; w < run_words_; ++w) mine[w] |= following_[f * run_words_ + w];
    }
    for (std::uint32_t f = 0; f < n; ++f) {
      if (follows(f, static_cast<std::uint32_t>(r))) behind[r] += graph.work[f];
    }
  }
  giveSlots();
}

void RunIdeals::giveSlots() {
  const std::size_t nets = graph.net_cost.size();
  // Whether net e is complete whenever f begins.
  const auto precedes = [&](std::uint32_t e, std::uint32_t f) {
    return std::all_of(graph.net_runs[f].begin(), graph.net_runs[f].end(), [&](std::uint32_t y) {
      return std::all_of(graph.net_runs[e].begin(), graph.net_runs[e].end(),
                         [&](std::uint32_t x) { return follows(y, x); });
    });
  };
  slot_.assign(nets, 0);
  for (std::uint32_t e = 0; e < nets; ++e) {
    NetSet taken = 0;
    for (std::uint32_t f = 0; f < e; ++f) {
      if (!precedes(f, e) && !precedes(e, f)) taken |= bit(f);
    }
    if (taken == UINT64_MAX) return;
    slot_[e] = static_cast<std::uint8_t>(std::countr_one(taken));
  }
  suitable_ = true;
}

bool RunIdeals::isAll(const std::uint64_t* key) const {
  for (std::size_t c = 0; c < packing_.chains.size(); ++c) {
    if (packing_.held(key, c) < packing_.chains[c].size()) return false;
  }
  return true;
}

std::vector<std::uint32_t> RunIdeals::unfinished(const std::uint64_t* key) const {
  std::vector<std::uint32_t> runs;
  for (std::size_t c = 0; c < packing_.chains.size(); ++c) {
    // The last one of a chain follows those before it.
    const std::uint32_t held = packing_.held(key, c);
    if (held == 0) continue;
    const std::uint32_t r = packing_.chains[c][held - 1];
    if (graph.items[r].size() > 1 && !holdsAny(key, graph.after[r])) runs.push_back(r);
  }
  return runs;
}

std::uint32_t RunIdeals::nextChoice(const RunIdeal& ideal, std::uint32_t from) const {
  const auto n = static_cast<std::uint32_t>(graph.runCount());
  while (from < n && (refuses(ideal, from) || holds(ideal.key, from))) ++from;
  return from;
}

std::uint64_t RunIdeals::hashOf(const std::uint64_t* key) const {
  std::uint64_t hash = 0;
  for (std::size_t w = 0; w < packing_.words; ++w) hash = mixBits(hash ^ key[w]);
  return mixBits(hash);
}

RunIdeal RunIdeals::none(Room& room) const {
  room.key.assign(packing_.words, 0);
  room.refused.assign(run_words_, 0);
  return {room.key.data(), room.refused.data(), {}, 0, 0, total};
}

RunIdeal RunIdeals::anew(const RunIdeal& ideal, Room& room) const {
  room.refused.assign(run_words_, 0);
  RunIdeal made = ideal;
  made.refused = room.refused.data();
  made.available = total;
  return made;
}

RunIdeal RunIdeals::with(const RunIdeal& ideal, std::uint32_t run, Room& room) const {
  room.key.assign(ideal.key, ideal.key + packing_.words);
  room.key[packing_.places[run].word] += std::uint64_t{1} << packing_.places[run].shift;
  RunIdeal made = ideal;
  made.key = room.key.data();
  made.most += graph.work[run];
  made.least += graph.least[run];
  for (const std::uint32_t p : graph.before[run]) {
    // The first that follows a run has all of it done.
    if (!holdsAny(ideal.key, graph.after[p])) made.least += graph.rest(p);
  }
  room.open.clear();
  for (const std::uint32_t e : ideal.open) {
    if (!holdsAll(made.key, graph.net_runs[e])) room.open.push_back(e);
  }
  for (const std::uint32_t e : graph.run_nets[run]) {
    if (std::find(ideal.open.begin(), ideal.open.end(), e) == ideal.open.end()) room.open.push_back(e);
  }
  made.open = room.open;
  return made;
}

RunIdeal RunIdeals::without(const RunIdeal& ideal, std::uint32_t run, Room& room) const {
  room.refused.assign(ideal.refused, ideal.refused + run_words_);
  RunIdeal made = ideal;
  for (std::size_t w = 0; w < run_words_; ++w) {
    std::uint64_t more = following_[run * run_words_ + w] & ~room.refused[w];
    room.refused[w] |= more;
    for (; more != 0; more &= more - 1)
      made.available -= graph.work[w * 64 + static_cast<std::size_t>(std::countr_zero(more))];
  }
  made.refused = room.refused.data();
  return made;
}

}  // namespace allot
