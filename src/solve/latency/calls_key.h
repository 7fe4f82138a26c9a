// The states of a module's search as packed words: what is done, what the open call has, who is bound.
//
// Layout: the open call (its pool, whether it is the entry's, which call of its accelerator it is) and the
// groups; a bit for each item of the module that is in the ideal; two bits for each net (CallNetState); four
// bits for each unit of several items: where it is bound to. Items before the module count as held, those
// behind it as not. A group is what must share an accelerator because of units that are not complete: closed
// calls, of which units go on in a later call. Of more groups at once than kMostCallGroups some are forgotten
// ("loose").
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "solve/latency/calls_layer.h"
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
    words = 1 + ideal_words_ + net_words_ + (ties.size() + 15) / 16;
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
  static constexpr std::uint32_t kNotBound = 0, kOpenCall = 1, kFirstGroup = 2, kLoose = 15;
  std::uint32_t bindingOf(const std::uint64_t* key, std::uint32_t tie) const {
    const std::uint32_t i = tie_index_[tie];
    return (key[1 + ideal_words_ + net_words_ + i / 16] >> (i % 16 * 4)) & 15;
  }
  void bind(std::uint64_t* key, std::uint32_t tie, std::uint32_t to) const {
    const std::uint32_t i = tie_index_[tie];
    std::uint64_t& word = key[1 + ideal_words_ + net_words_ + i / 16];
    word = (word & ~(std::uint64_t{15} << (i % 16 * 4))) | (std::uint64_t{to} << (i % 16 * 4));
  }
  // Of the first word: one byte for pool and entry, one for the calls of the open call's accelerator so far,
  // then one for each group: its calls, and its pool.
  static void setMode(std::uint64_t* key, std::int32_t pool, bool entry_call, std::uint32_t calls) {
    const std::uint64_t mode = static_cast<std::uint64_t>(pool + 1) * 2 + (entry_call ? 1 : 0);
    key[0] = (key[0] & ~std::uint64_t{0xffff}) | mode | std::uint64_t{calls} << 8;
  }
  static std::uint32_t callsOf(const std::uint64_t* key) { return (key[0] >> 8) & 0xff; }
  static std::uint32_t groupAt(const std::uint64_t* key, std::size_t group) {
    return (key[0] >> (16 + 8 * group)) & 0xff;
  }
  static void setGroup(std::uint64_t* key, std::size_t group, std::uint32_t calls, std::uint32_t pool) {
    const std::size_t shift = 16 + 8 * group;
    key[0] = (key[0] & ~(std::uint64_t{0xff} << shift)) | std::uint64_t{pool << 4 | calls} << shift;
  }
  static std::uint32_t callsOfGroup(const std::uint64_t* key, std::size_t group) {
    return groupAt(key, group) & 15;
  }
  static std::int32_t poolOfGroup(const std::uint64_t* key, std::size_t group) {
    return static_cast<std::int32_t>(groupAt(key, group) >> 4);
  }
  // Numbers the groups by their first units and drops those without; which one became which.
  std::array<std::uint8_t, kMostCallGroups> arrangeGroups(std::uint64_t* key) const {
    std::array<std::uint8_t, kMostCallGroups> was{};
    std::array<std::uint32_t, kMostCallGroups> now, what{};
    was.fill(kMostCallGroups);
    now.fill(kLoose);
    std::size_t count = 0;
    for (const std::uint32_t tie : ties) {
      const std::uint32_t to = bindingOf(key, tie);
      if (to < kFirstGroup || to == kLoose) continue;
      const std::size_t group = to - kFirstGroup;
      if (now[group] == kLoose) {
        what[count] = groupAt(key, group);
        was[count] = static_cast<std::uint8_t>(group);
        now[group] = static_cast<std::uint32_t>(count++);
      }
      bind(key, tie, now[group] + kFirstGroup);
    }
    for (std::size_t g = 0; g < kMostCallGroups; ++g) setGroup(key, g, what[g] & 15, what[g] >> 4);
    return was;
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
  static std::int32_t poolOf(const std::uint64_t* key) {
    return static_cast<std::int32_t>((key[0] & 0xff) / 2) - 1;
  }
  static bool isEntryCall(const std::uint64_t* key) { return (key[0] & 1) != 0; }

 private:
  const CallItems& items_;
  std::uint32_t lo_, hi_;
  std::vector<std::uint32_t> net_index_, tie_index_;  // by net, by unit
  std::size_t ideal_words_ = 0, net_words_ = 0;
};

}  // namespace allot
