// What follows for a state of a module's search from its key alone: frontier, tails, who waits for whom.
#pragma once

#include <vector>

#include "solve/latency/calls_key.h"
#include "solve/latency/calls_layer.h"

namespace allot {

inline constexpr std::size_t kMostCallFrontier = 64;

class CallDescriber {
 public:
  // Items [lo, hi) are the module.
  CallDescriber(const CallGraphFacts& facts, const CallKeys& keys, std::uint32_t lo, std::uint32_t hi);

  // Fills in the state; it stays unready where more items are in the frontier than can be told apart.
  void describe(CallState& state, const std::uint64_t* key);
  // Whether the item waits for something before the module.
  bool waitsForEntry(std::uint32_t item) const {
    const auto before = items_.before[item];
    return before.empty() || before.front() < lo_;
  }

 private:
  const CallGraphFacts& facts_;
  const CallItems& items_;
  const CallKeys& keys_;
  std::uint32_t lo_, hi_;
  bool last_is_last_ = true;  // every other item comes before the module's last
  std::vector<double> take_;  // scratch: by item, what taking it into a call costs at least

  void describeLast(CallState& state, const std::uint64_t* key);
};

}  // namespace allot
