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
#include <optional>
#include <vector>

#include "solve/latency/calls_layer.h"
#include "solve/latency/calls_module.h"

namespace allot {

class CallKeys {
 public:
  // Items [lo, hi).
  CallKeys(const CallItems& items, std::uint32_t lo, std::uint32_t hi);

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
  // Of a call that closes: binds its units that are not complete to a group, to go on in a later call of the
  // accelerator. The group; kMostCallGroups where there is no such unit or all groups are taken; nothing
  // where the accelerator has had its `most_calls`.
  std::optional<std::size_t> putAside(std::uint64_t* key, std::uint32_t most_calls) const;
  // Of an item that joins the open call (the `calls`-th of an accelerator of the pool): binds its unit to the
  // call, with the group that the unit was put aside in. The group, whose calls are added to `calls`;
  // kMostCallGroups where there is none; nothing where that accelerator is of another pool or has had its
  // calls.
  std::optional<std::size_t> takeUp(std::uint64_t* key, std::uint32_t tie, std::size_t pool,
                                    std::uint32_t& calls, std::uint32_t most_calls) const;
  // Numbers the groups by their first units and drops those without; which one became which.
  std::array<std::uint8_t, kMostCallGroups> arrangeGroups(std::uint64_t* key) const;
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
