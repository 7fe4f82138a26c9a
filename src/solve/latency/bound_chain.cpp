#include "solve/latency/bound_chain.h"

#include <algorithm>
#include <numeric>

#include "graph/reachability.h"

namespace allot {

ChainFinder::ChainFinder(const ScheduleModel& model, const Budget& budget) : model_(model), budget_(budget) {
  work_.resize(model.opCount(), 0);
  for (std::size_t i = 0; i < model.opCount(); ++i) {
    const double* row = &model.seconds[i * model.devices];
    const double least = *std::min_element(row, row + model.devices);
    if (least < kCannotRun) work_[i] = least;
  }
  if (model.opCount() > kMaxOps) return;
  closure();
  if (budget_.stopped()) return;
  chooseCandidates();
  weighPairs();
}

void ChainFinder::closure() {
  const std::size_t n = model_.opCount();
  above_.assign(n, Bitset(n));
  below_.assign(n, Bitset(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::uint32_t p : model_.before[i]) {
      above_[i] |= above_[p];
      above_[i].set(p);
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (const std::uint32_t s : model_.after[i]) {
      below_[i] |= below_[s];
      below_[i].set(s);
    }
  }
}

void ChainFinder::chooseCandidates() {
  const std::size_t n = model_.opCount();
  candidates_.resize(n);
  std::iota(candidates_.begin(), candidates_.end(), 0u);
  if (n <= kMaxCandidates) return;
  std::vector<double> beside(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i && !above_[i].test(j) && !below_[i].test(j)) beside[i] += work_[j];
    }
    if (i % 64 == 0 && budget_.stopped()) break;
  }
  std::stable_sort(candidates_.begin(), candidates_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return beside[a] < beside[b]; });
  candidates_.resize(kMaxCandidates / 2);
  std::sort(candidates_.begin(), candidates_.end());
}

void ChainFinder::weighPairs() {
  const std::size_t n = model_.opCount(), count = candidates_.size();
  std::vector<std::uint32_t> index(n, ~0u);
  for (std::uint32_t c = 0; c < count; ++c) index[candidates_[c]] = c;
  std::vector<std::vector<Pair>> before(count);
  std::vector<double> path(n);
  for (std::uint32_t c = 0; c < count; ++c) {
    if (c % 16 == 0 && budget_.stopped()) break;
    const std::uint32_t u = candidates_[c];
    // Longest path from u to the start of each op below it.
    std::fill(path.begin(), path.end(), -1.0);
    path[u] = 0;
    for (std::size_t v = u; v < n; ++v) {
      if (path[v] < 0) continue;
      const double end = path[v] + (v == u ? 0 : work_[v]);
      for (const std::uint32_t s : model_.after[v]) path[s] = std::max(path[s], end);
      if (v == u || index[v] == ~0u) continue;
      const auto& down = below_[u].words();
      const auto& up = above_[v].words();
      std::size_t inside = 0;
      for (std::size_t w = u / 64; w <= v / 64; ++w)
        inside += static_cast<std::size_t>(std::popcount(down[w] & up[w]));
      if (inside > kMaxPart) continue;
      double work = 0;
      for (std::size_t w = u / 64; w <= v / 64; ++w) {
        for (std::uint64_t bits = down[w] & up[w]; bits != 0; bits &= bits - 1)
          work += work_[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      }
      before[index[v]].push_back({c, static_cast<float>(work), static_cast<float>(path[v])});
    }
  }
  for (const auto& row : before) {
    pairs_.items.insert(pairs_.items.end(), row.begin(), row.end());
    pairs_.closeRow();
  }
}

// What an open end of the chain weighs; one that is too large weighs nothing.
double ChainFinder::workOf(const Bitset& ops) const {
  if (ops.count() > kMaxPart) return 0;
  double work = 0;
  for (std::size_t w = 0; w < ops.words().size(); ++w) {
    for (std::uint64_t bits = ops.words()[w]; bits != 0; bits &= bits - 1)
      work += work_[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
  }
  return work;
}

BoundChain ChainFinder::find(double share) const {
  if (model_.opCount() > kMaxOps) return atBarriers();
  std::vector<std::uint32_t> ops;
  if (pairs_.rows() < candidates_.size()) return whole();
  std::vector<double> most(candidates_.size(), 0);
  std::vector<std::uint32_t> from(candidates_.size(), ~0u);
  std::uint32_t last = ~0u;
  double longest = -1;
  for (std::uint32_t c = 0; c < candidates_.size(); ++c) {
    most[c] = share * workOf(above_[candidates_[c]]);
    for (const Pair& pair : pairs_[c]) {
      const double value = most[pair.from] + work_[candidates_[pair.from]] +
                           std::max(share * static_cast<double>(pair.work), static_cast<double>(pair.path));
      if (value < most[c] || (value == most[c] && from[c] != ~0u)) continue;
      most[c] = value;
      from[c] = pair.from;
    }
    const double value = most[c] + work_[candidates_[c]] + share * workOf(below_[candidates_[c]]);
    if (value <= longest) continue;
    longest = value;
    last = c;
  }
  for (std::uint32_t c = last; c != ~0u; c = from[c]) ops.push_back(candidates_[c]);
  std::reverse(ops.begin(), ops.end());
  return withParts(std::move(ops));
}

BoundChain ChainFinder::atBarriers() const {
  std::vector<std::uint32_t> ops;
  for (const OpId op : barriers(model_.problem->graph)) ops.push_back(model_.problem->graph.position(op));
  return withParts(std::move(ops));
}

BoundChain ChainFinder::whole() const {
  return withParts({});
}

BoundChain ChainFinder::withParts(std::vector<std::uint32_t> ops) const {
  BoundChain chain;
  const std::size_t n = model_.opCount();
  chain.ops = std::move(ops);
  const bool slices = above_.empty();  // barriers: a part is what lies between them in the order
  for (std::size_t t = 0; t <= chain.ops.size(); ++t) {
    std::vector<std::uint32_t> inner;
    const std::size_t begin = t == 0 ? 0 : chain.ops[t - 1] + 1;
    const std::size_t end = t == chain.ops.size() ? n : chain.ops[t];
    for (std::size_t v = begin; v < end; ++v) {
      const bool behind = slices || t == 0 || below_[chain.ops[t - 1]].test(v);
      const bool before = slices || t == chain.ops.size() || above_[chain.ops[t]].test(v);
      if (behind && before) inner.push_back(static_cast<std::uint32_t>(v));
    }
    chain.inner.push_back(std::move(inner));
  }
  return chain;
}

}  // namespace allot
