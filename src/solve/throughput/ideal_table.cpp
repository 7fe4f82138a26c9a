#include "solve/throughput/ideal_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace allot {

IdealPacking::IdealPacking(const Csr<std::uint32_t>& first, std::span<const std::uint32_t> order)
    : places(order.size()) {
  // Each item goes behind one that it needs and that ends its chain, or opens a chain.
  for (const std::uint32_t v : order) {
    std::size_t chain = chains.size();
    for (const std::uint32_t u : first[v]) {
      if (chains[places[u].chain].back() != u) continue;
      chain = places[u].chain;
      break;
    }
    if (chain == chains.size()) chains.emplace_back();
    places[v].chain = static_cast<std::uint32_t>(chain);
    places[v].position = static_cast<std::uint32_t>(chains[chain].size());
    chains[chain].push_back(v);
  }
  std::uint32_t word = 0, shift = 0;
  for (const auto& chain : chains) {
    const auto bits = static_cast<std::uint32_t>(std::bit_width(chain.size()));
    if (shift + bits > 64) {
      ++word;
      shift = 0;
    }
    for (const std::uint32_t v : chain) {
      places[v].word = word;
      places[v].shift = shift;
    }
    fields_.push_back({word, shift, (std::uint32_t{1} << bits) - 1});
    shift += bits;
  }
  words = word + 1;
}

IdealTable::IdealTable(std::size_t words, std::size_t values, std::size_t max_bytes)
    : words_(words), values_(values), slots_(1 << 12) {
  const std::size_t bytes = (words + values) * sizeof(double) + 32;
  limit_ = static_cast<std::uint32_t>(std::min<std::size_t>(max_bytes / bytes, UINT32_MAX / 4));
  chunks_.resize(limit_ / kChunk + 2);
}

void IdealTable::makeChunk(std::uint32_t index) {
  const std::lock_guard lock(chunk_mutex_);
  while (chunk_count_.load(std::memory_order_relaxed) <= index) {
    Chunk& chunk = chunks_[chunk_count_.load(std::memory_order_relaxed)];
    chunk.keys = std::make_unique<std::uint64_t[]>(kChunk * words_);
    chunk.values = std::make_unique<std::atomic<double>[]>(kChunk * values_);
    for (std::size_t i = 0; i < kChunk * values_; ++i)
      chunk.values[i].store(kUnreached, std::memory_order_relaxed);
    chunk_count_.fetch_add(1, std::memory_order_release);
  }
}

std::uint32_t IdealTable::insert(const std::uint64_t* key, bool& added) {
  added = false;
  const std::size_t mask = slots_.size() - 1;
  const std::uint64_t h = hash(key);
  for (std::size_t at = (h >> 20) & mask;; at = (at + 1) & mask) {
    std::atomic<std::uint64_t>& slot = slots_[at];
    std::uint64_t seen = slot.load(std::memory_order_acquire);
    if (seen == kEmpty) {
      // A few entries beyond the mark, one per thread, do no harm.
      if (next_.load(std::memory_order_relaxed) >= std::min<std::size_t>(limit_, slots_.size() / 2))
        return kFull;
      if (slot.compare_exchange_strong(seen, kBusy, std::memory_order_acq_rel)) {
        const std::uint32_t ideal = next_.fetch_add(1, std::memory_order_relaxed);
        if (ideal / kChunk >= chunk_count_.load(std::memory_order_acquire)) makeChunk(ideal / kChunk);
        std::memcpy(chunks_[ideal / kChunk].keys.get() + ideal % kChunk * words_, key,
                    words_ * sizeof(std::uint64_t));
        slot.store(slotOf(h, ideal), std::memory_order_release);
        added = true;
        return ideal;
      }
    }
    while (seen == kBusy) seen = slot.load(std::memory_order_acquire);
    const std::uint32_t ideal = static_cast<std::uint32_t>(seen) - 1;
    if (seen == slotOf(h, ideal) && isKey(ideal, key)) return ideal;
  }
}

bool IdealTable::grow() {
  if (next_.load() >= limit_) return false;
  std::vector<std::atomic<std::uint64_t>> larger(slots_.size() * 4);
  const std::size_t mask = larger.size() - 1;
  for (std::uint32_t ideal = 0; ideal < next_.load(); ++ideal) {
    const std::uint64_t h = hash(key(ideal));
    std::size_t at = (h >> 20) & mask;
    while (larger[at].load(std::memory_order_relaxed) != kEmpty) at = (at + 1) & mask;
    larger[at].store(slotOf(h, ideal), std::memory_order_relaxed);
  }
  slots_.swap(larger);
  return true;
}

}  // namespace allot
