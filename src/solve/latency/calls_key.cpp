#include "solve/latency/calls_key.h"

namespace allot {

CallKeys::CallKeys(const CallItems& items, std::uint32_t lo, std::uint32_t hi)
    : items_(items), lo_(lo), hi_(hi) {
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

std::optional<std::size_t> CallKeys::putAside(std::uint64_t* key, std::uint32_t most_calls) const {
  const std::uint32_t calls = callsOf(key);
  std::size_t group = 0;
  while (group < kMostCallGroups && callsOfGroup(key, group) != 0) ++group;
  const std::uint32_t to = group < kMostCallGroups ? kFirstGroup + static_cast<std::uint32_t>(group) : kLoose;
  bool any = false;
  for (const std::uint32_t tie : ties) {
    if (bindingOf(key, tie) != kOpenCall) continue;
    if (calls == most_calls) return std::nullopt;
    any = true;
    bind(key, tie, to);
  }
  if (!any || to == kLoose) return kMostCallGroups;
  setGroup(key, group, calls, static_cast<std::uint32_t>(poolOf(key)));
  return group;
}

std::optional<std::size_t> CallKeys::takeUp(std::uint64_t* key, std::uint32_t tie, std::size_t pool,
                                            std::uint32_t& calls, std::uint32_t most_calls) const {
  if (tie == CallItems::kNone) return kMostCallGroups;
  const std::uint32_t bound = bindingOf(key, tie);
  if (bound == kNotBound) bind(key, tie, kOpenCall);
  if (bound < kFirstGroup || bound == kLoose) return kMostCallGroups;
  const std::size_t group = bound - kFirstGroup;
  calls += callsOfGroup(key, group);
  if (calls > most_calls || poolOfGroup(key, group) != static_cast<std::int32_t>(pool)) return std::nullopt;
  for (const std::uint32_t other : ties) {
    if (bindingOf(key, other) == bound) bind(key, other, kOpenCall);
  }
  return group;
}

std::array<std::uint8_t, kMostCallGroups> CallKeys::arrangeGroups(std::uint64_t* key) const {
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

}  // namespace allot
