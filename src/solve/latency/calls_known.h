// Exits of a module that are known to exist, against which labels are held.
//
// What the cpu alone reaches, at the exit or before the module's last item and then a call for that one, and
// what a run with a beam has found from the same entry.
#pragma once

#include <span>
#include <vector>

#include "solve/latency/calls_key.h"

namespace allot {

class KnownExits {
 public:
  // `equal`: times closer than this are the same.
  KnownExits(const CallItems& items, const CallKeys& keys, std::uint32_t lo, std::uint32_t hi,
             std::span<const std::uint32_t> pool_counts, double equal);

  void find(const CallCut& entry, const ModuleExits* known);

  bool any() const { return !closed_.empty(); }
  // A label that leaves the module closed and no earlier than this is beaten by a known exit.
  double closedLimit(std::uint64_t used) const;
  // The same with an open call: the one that is open now, or one that has yet to be opened.
  double openLimit(std::uint64_t used, bool is_open) const;

 private:
  struct Known {
    std::uint64_t used;
    double time;
  };

  const CallItems& items_;
  const CallKeys& keys_;
  std::uint32_t lo_, hi_;
  std::span<const std::uint32_t> pool_counts_;
  double equal_;
  std::uint64_t most_used_ = 0;
  std::vector<Known> closed_;
  std::vector<std::vector<Known>> open_;  // by pool: with nothing but the last item in the call
  std::vector<std::uint8_t> opens_last_;  // by pool: a call may be open at the exit

  double fetchAll(std::size_t pool) const;
  static double earliest(const std::vector<Known>& known, std::uint64_t most);
};

}  // namespace allot
