// The states of a module's search as packed words: what is done, what the open call has, who is bound.
//
// Layout: the open call (its pool, and whether it is the entry's), a bit for each item of the module that is
// in the ideal, two bits for each net (CallNetState), a bit for each unit of several items that is bound to
// accelerators. Items before the module count as held, those behind it as not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "solve/latency/calls_module.h"

namespace allot {

class CallKeys {
 public:
  // Items [lo, hi).
  CallKeys(const CallItems& items, std::uint32_t lo, std::uint32_t hi) : items_(items), lo_(lo), hi_(hi) {
    net_index_.assign(items_.netCount(), CallItems::kNone);
    for (std::uint32_t net = 0; net < items_.netCount(); ++net) {
      const auto consumers = items_.net_consumers[net];
      if (items_.net_producer[net] >= hi_ || consumers.empty() || consumers.back() < lo_) continue;
      net_index_[net] = static_cast<std::uint32_t>(nets.size());
      nets.push_back(net);
    }
    tie_index_.assign(items_.tie_count, CallItems::kNone);
    for (std::uint32_t t = 0; t < items_.tie_count; ++t) {
      const auto row = items_.tie_items[t];
      if (row.front() >= hi_ || row.back() < lo_) continue;
      tie_index_[t] = static_cast<std::uint32_t>(ties.size());
      ties.push_back(t);
    }
    ideal_words_ = (hi_ - lo_ + 63) / 64;
    net_words_ = (nets.size() * 2 + 63) / 64;
    tie_words_ = (ties.size() + 63) / 64;
    words = 1 + ideal_words_ + net_words_ + tie_words_;
  }

  std::vector<std::uint32_t> nets;  // with an end in the module or across it
  std::vector<std::uint32_t> ties;  // units of several items that touch the module
  std::size_t words = 0;            // of a key

  bool holds(const std::uint64_t* key, std::uint32_t item) const {
    if (item < lo_) return true;
    if (item >= hi_) return false;
    return (key[1 + (item - lo_) / 64] >> ((item - lo_) % 64)) & 1;
  }
  void hold(std::uint64_t* key, std::uint32_t item) const {
    key[1 + (item - lo_) / 64] |= std::uint64_t{1} << ((item - lo_) % 64);
  }
  CallNetState netState(const std::uint64_t* key, std::uint32_t net) const {
    const std::uint32_t i = net_index_[net];
    return static_cast<CallNetState>((key[1 + ideal_words_ + i / 32] >> (i % 32 * 2)) & 3);
  }
  void setNet(std::uint64_t* key, std::uint32_t net, CallNetState state) const {
    const std::uint32_t i = net_index_[net];
    std::uint64_t& word = key[1 + ideal_words_ + i / 32];
    word = (word & ~(std::uint64_t{3} << (i % 32 * 2))) | (std::uint64_t{state} << (i % 32 * 2));
  }
  bool bound(const std::uint64_t* key, std::uint32_t tie) const {
    const std::uint32_t i = tie_index_[tie];
    return (key[1 + ideal_words_ + net_words_ + i / 64] >> (i % 64)) & 1;
  }
  void setBound(std::uint64_t* key, std::uint32_t tie, bool value) const {
    const std::uint32_t i = tie_index_[tie];
    std::uint64_t& word = key[1 + ideal_words_ + net_words_ + i / 64];
    word = (word & ~(std::uint64_t{1} << (i % 64))) | (std::uint64_t{value} << (i % 64));
  }
  static void setMode(std::uint64_t* key, std::int32_t pool, bool entry_call) {
    key[0] = static_cast<std::uint64_t>(pool + 1) * 2 + (entry_call ? 1 : 0);
  }
  bool isLive(const std::uint64_t* key, std::uint32_t net) const {
    const auto consumers = items_.net_consumers[net];
    return std::any_of(consumers.begin(), consumers.end(), [&](std::uint32_t c) { return !holds(key, c); });
  }
  bool anyHeld(const std::uint64_t* key, std::uint32_t tie) const {
    const auto row = items_.tie_items[tie];
    return std::any_of(row.begin(), row.end(), [&](std::uint32_t i) { return holds(key, i); });
  }
  bool allHeld(const std::uint64_t* key, std::uint32_t tie) const {
    const auto row = items_.tie_items[tie];
    return std::all_of(row.begin(), row.end(), [&](std::uint32_t i) { return holds(key, i); });
  }
  bool knowsNet(std::uint32_t net) const { return net_index_[net] != CallItems::kNone; }
  static std::int32_t poolOf(const std::uint64_t* key) { return static_cast<std::int32_t>(key[0] / 2) - 1; }
  static bool isEntryCall(const std::uint64_t* key) { return (key[0] & 1) != 0; }

 private:
  const CallItems& items_;
  std::uint32_t lo_, hi_;
  std::vector<std::uint32_t> net_index_, tie_index_;  // by net, by unit
  std::size_t ideal_words_ = 0, net_words_ = 0, tie_words_ = 0;
};

}  // namespace allot
