// Ideals of an acyclic graph, packed, with a row of values each.
//
// Packing: the items are covered by chains (paths of the graph), an ideal holds a prefix of each chain, so it
// is one small number per chain; the numbers stand side by side in a few 64-bit words. Adding an item adds
// one bit pattern to one word, and two ideals are equal exactly when their words are: no false matches.
// Table: open addressing, lock-free; several threads may insert and lower values at once. A value only falls,
// and the least of all offers is kept, so the table does not depend on the order of the threads.
// Space: per ideal its words, 8 bytes per value and 16 to 32 bytes of index.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "allot/graph.h"

namespace allot {

// Where each item stands in the packed form. `first[v]` are the items that must be in an ideal before v.
struct IdealPacking {
  struct Place {
    std::uint32_t word = 0;
    std::uint32_t shift = 0;
    std::uint32_t chain = 0;
    std::uint32_t position = 0;  // along its chain, from 0
  };
  std::size_t words = 1;
  std::vector<Place> places;                       // by item
  std::vector<std::vector<std::uint32_t>> chains;  // items of each chain, in the order in which they enter

  // `order` lists the items so that every item comes after its `first`.
  IdealPacking(const Csr<std::uint32_t>& first, std::span<const std::uint32_t> order);

  // How many items of the chain an ideal holds.
  std::uint32_t held(const std::uint64_t* key, std::size_t chain) const {
    const Field& field = fields_[chain];
    return static_cast<std::uint32_t>(key[field.word] >> field.shift) & field.mask;
  }

 private:
  struct Field {
    std::uint32_t word, shift, mask;
  };
  std::vector<Field> fields_;  // by chain
};

class IdealTable {
 public:
  static constexpr std::uint32_t kFull = UINT32_MAX;

  IdealTable(std::size_t words, std::size_t values, std::size_t max_bytes);

  // The ideal's number, inserted when new with values of infinity; kFull when `grow` must be called first.
  // `added` says whether it is new.
  std::uint32_t insert(const std::uint64_t* key, bool& added);
  // Makes room; call while no other thread uses the table. False when the memory limit is met.
  bool grow();

  std::uint32_t size() const { return std::min(next_.load(std::memory_order_relaxed), limit_); }
  const std::uint64_t* key(std::uint32_t ideal) const {
    return chunks_[ideal / kChunk].keys.get() + ideal % kChunk * words_;
  }
  double value(std::uint32_t ideal, std::size_t state) const {
    return cell(ideal, state).load(std::memory_order_relaxed);
  }
  // Keeps the smaller of the value there and `offer`; says whether there was none before.
  bool lower(std::uint32_t ideal, std::size_t state, double offer) {
    std::atomic<double>& here = cell(ideal, state);
    double old = here.load(std::memory_order_relaxed);
    while (offer < old) {
      if (here.compare_exchange_weak(old, offer, std::memory_order_relaxed)) return old == kUnreached;
    }
    return false;
  }

 private:
  static constexpr double kUnreached = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t kChunk = 256;
  static constexpr std::uint64_t kEmpty = 0, kBusy = UINT64_MAX;
  struct Chunk {
    std::unique_ptr<std::uint64_t[]> keys;
    std::unique_ptr<std::atomic<double>[]> values;
  };

  std::size_t words_, values_;
  std::uint32_t limit_;  // most ideals
  std::vector<Chunk> chunks_;
  std::vector<std::atomic<std::uint64_t>> slots_;  // upper half of the hash, ideal + 1 below
  std::atomic<std::uint32_t> next_{0};
  std::mutex chunk_mutex_;
  std::atomic<std::uint32_t> chunk_count_{0};

  std::atomic<double>& cell(std::uint32_t ideal, std::size_t state) const {
    return chunks_[ideal / kChunk].values[ideal % kChunk * values_ + state];
  }
  std::uint64_t hash(const std::uint64_t* key) const {
    std::uint64_t h = 0x9E3779B97F4A7C15ull;
    for (std::size_t w = 0; w < words_; ++w) {
      h = (h ^ key[w]) * 0xD6E8FEB86659FD93ull;
      h ^= h >> 29;
    }
    return h * 0xBF58476D1CE4E5B9ull;
  }
  // Most keys have one word or two: too few for memcmp.
  bool isKey(std::uint32_t ideal, const std::uint64_t* key) const {
    const std::uint64_t* here = this->key(ideal);
    std::uint64_t different = 0;
    for (std::size_t w = 0; w < words_; ++w) different |= here[w] ^ key[w];
    return different == 0;
  }
  static std::uint64_t slotOf(std::uint64_t hash, std::uint32_t ideal) {
    return (hash & 0xFFFFFFFF00000000ull) | (ideal + 1);
  }
  void makeChunk(std::uint32_t index);
};

}  // namespace allot
