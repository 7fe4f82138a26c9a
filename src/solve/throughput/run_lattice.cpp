#include "solve/throughput/run_lattice.h"

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

RunLattice::RunLattice(const RunGraph& runs)
    : graph(runs),
      total(std::accumulate(runs.work.begin(), runs.work.end(), 0.0)),
      packing_(runs.before, countUp(runs.runCount())) {
  giveSlots();
}

void RunLattice::giveSlots() {
  const std::size_t n = graph.runCount(), words = (n + 63) / 64, nets = graph.net_cost.size();
  std::vector<std::uint64_t> needs(n * words, 0);  // all that comes before a run, and itself
  behind.assign(n, 0);
  for (std::size_t r = 0; r < n; ++r) {
    needs[r * words + r / 64] |= std::uint64_t{1} << r % 64;
    for (const std::uint32_t p : graph.before[r]) {
      for (std::size_t w = 0; w < words; ++w) needs[r * words + w] |= needs[p * words + w];
    }
    for (std::size_t p = 0; p <= r; ++p)
      behind[p] += needs[r * words + p / 64] >> p % 64 & 1 ? graph.work[r] : 0;
  }
  // Whether net e is complete whenever f begins.
  const auto precedes = [&](std::uint32_t e, std::uint32_t f) {
    return std::all_of(graph.net_runs[f].begin(), graph.net_runs[f].end(), [&](std::uint32_t y) {
      return std::all_of(graph.net_runs[e].begin(), graph.net_runs[e].end(),
                         [&](std::uint32_t x) { return (needs[y * words + x / 64] >> x % 64 & 1) != 0; });
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

std::vector<std::uint32_t> RunLattice::unfinished(const std::uint64_t* key) const {
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

RunLevel RunLattice::first() const {
  RunLevel level;
  level.keys.assign(packing_.words, 0);
  level.least = level.most = {0};
  level.open.closeRow();
  return level;
}

void RunLattice::addIdeal(const RunLevel& from, std::uint32_t parent, std::uint32_t run,
                          const std::uint64_t* key, RunLevel& level) const {
  const std::uint64_t* old_key = this->key(from, parent);
  level.keys.insert(level.keys.end(), key, key + packing_.words);
  level.most.push_back(from.most[parent] + graph.work[run]);
  double least = from.least[parent] + graph.least[run];
  for (const std::uint32_t p : graph.before[run]) {
    // The first that follows a run has all of it done.
    if (!holdsAny(old_key, graph.after[p])) least += graph.rest(p);
  }
  level.least.push_back(least);
  const auto known = from.open[parent];
  for (const std::uint32_t e : known) {
    if (!holdsAll(key, graph.net_runs[e])) level.open.items.push_back(e);
  }
  for (const std::uint32_t e : graph.run_nets[run]) {
    if (std::find(known.begin(), known.end(), e) == known.end()) level.open.items.push_back(e);
  }
  level.open.closeRow();
}

RunLevel RunLattice::next(const RunLevel& level, std::span<const std::uint32_t> live,
                          Csr<RunEdge>& edges) const {
  RunLevel made;
  std::vector<std::pair<std::uint32_t, RunEdge>> found;  // with the ideal that an edge leads to
  HashIndex index(16);
  std::vector<std::uint64_t> next_key(packing_.words);
  const auto hashOf = [&](const std::uint64_t* words) {
    std::uint64_t hash = 0;
    for (std::size_t w = 0; w < packing_.words; ++w) hash = mixBits(hash ^ words[w]);
    return mixBits(hash);
  };
  for (const std::uint32_t ideal : live) {
    const std::uint64_t* old_key = key(level, ideal);
    for (std::size_t c = 0; c < packing_.chains.size(); ++c) {
      const std::uint32_t held = packing_.held(old_key, c);
      if (held == packing_.chains[c].size()) continue;
      const std::uint32_t run = packing_.chains[c][held];
      if (!holdsAll(old_key, graph.before[run])) continue;
      std::copy_n(old_key, packing_.words, next_key.begin());
      next_key[packing_.places[run].word] += std::uint64_t{1} << packing_.places[run].shift;
      const auto number = static_cast<std::uint32_t>(made.size());
      index.makeRoom(number, [&](std::uint32_t i) { return hashOf(key(made, i)); });
      const std::uint32_t to = index.find(hashOf(next_key.data()), number, [&](std::uint32_t i) {
        return std::equal(next_key.begin(), next_key.end(), key(made, i));
      });
      if (to == number) addIdeal(level, ideal, run, next_key.data(), made);
      found.push_back({to, {ideal, run}});
    }
  }
  edges = {};
  edges.begin.assign(made.size() + 1, 0);
  for (const auto& [to, edge] : found) ++edges.begin[to + 1];
  std::partial_sum(edges.begin.begin(), edges.begin.end(), edges.begin.begin());
  edges.items.resize(found.size());
  std::vector<std::uint32_t> at(edges.begin.begin(), edges.begin.end() - 1);
  for (const auto& [to, edge] : found) edges.items[at[to]++] = edge;
  return made;
}

}  // namespace allot
