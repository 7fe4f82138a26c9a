// Every useful way through one module of a subgraph-calls problem, by labels over ideals.
//
// Problem: the items between two cuts (items that all others precede or follow, and no unit goes beyond),
// entered with nothing running ("closed") or inside a call that goes on ("open"). Find all exits that no
// other exit beats: accelerators used, time added, bytes of the open call. Method: the items of any plan can
// be listed so that each call is a run of the list; so a plan is a walk that adds one item at a time to an
// ideal: on the cpu, as the first of a new call, or to the open call, and that closes calls. State: the
// ideal, whether a call is open, what that call holds or has fetched of the nets that still have consumers
// outside the ideal, and which units that are not complete share an accelerator (calls_key.h). Label:
// accelerators used, least time of the exit so far, times of items that something outside the ideal waits
// for, and for the open call its end, duration and bytes. Of the labels of a state only those go on that no
// other one beats in everything and that can still lead to an exit below the limits (calls_labels.h).
// Guarantee: when complete, no exit that some best plan below the limit needs is missing. With a beam it is a
// heuristic. Complexity: labels x candidates x frontier; labels can grow exponentially in wide modules.
// When time, labels or memory run out: not complete.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "allot/solve.h"
#include "solve/latency/calls_items.h"

namespace allot {

// Accelerators used by pool, eight bits each.
inline constexpr std::size_t kMostCallPools = 8;
inline constexpr std::uint32_t kMostCallsOfPool = 127;
inline std::uint32_t usedInAll(std::uint64_t used) {
  std::uint32_t sum = 0;
  for (; used != 0; used >>= 8) sum += static_cast<std::uint32_t>(used & 0xff);
  return sum;
}
inline bool usesNoMore(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kTop = 0x8080808080808080ull;
  return (((b | kTop) - a) & kTop) == kTop;
}

// What a call that is open at a cut holds.
struct CallCut {
  std::int32_t pool = -1;                                    // of the open call; -1 = closed
  std::vector<std::pair<std::uint32_t, std::uint8_t>> nets;  // nets across the cut that are not kOutside
  friend bool operator==(const CallCut&, const CallCut&) = default;
};

// What the open call has to do with a net.
enum CallNetState : std::uint8_t {
  kOutside = 0,  // made elsewhere, not fetched
  kMade = 1,     // made in the call, to be sent when something outside reads it
  kFetched = 2,  // made elsewhere and fetched
  kSent = 3      // made in the call and sent already
};

struct CallStep {
  enum Kind : std::uint8_t { kCpu, kOpen, kAdd, kClose };
  std::uint32_t parent = UINT32_MAX;
  std::uint32_t item = 0;
  Kind kind = kCpu;
  std::uint8_t pool = 0;
  std::uint8_t sent = 0;  // bit i: tails of the item's i-th net with tails go to the cpu
};

struct CallExit {
  std::uint32_t cut = 0;   // index into ModuleExits::cuts
  bool goes_on = false;    // the open call is that of the entry
  double time = 0;         // added since the entry
  double bytes = 0;        // of the open call, the entry's not counted
  double entry_bytes = 0;  // added to the entry's call before it closed
  std::uint64_t used = 0;
  bool relaxed = false;  // stands for plans that may not exist
  std::uint32_t step = UINT32_MAX;
};

struct ModuleExits {
  bool complete = false;
  std::vector<CallCut> cuts;
  std::vector<CallExit> exits;
  std::vector<CallStep> steps;
  std::uint64_t labels = 0;
};

struct ModuleLimits {
  // Exit times at or above them are of no use; by calls opened in the module, the last entry for all beyond.
  std::vector<double> closed, open;
  double entry_bytes_least = 0;  // of the open call at the entry
  double entry_bytes_most = 0;
  std::size_t beam = 0;  // labels of a size kept; 0 = all
  std::uint64_t most_labels = 0;
  const ModuleExits* known = nullptr;  // exits of a run with a beam from the same entry
};

// What all runs share.
class CallGraphFacts {
 public:
  explicit CallGraphFacts(const CallItems& items);
  const CallItems& items;
  std::vector<std::uint32_t> cuts;       // 0, ..., n: items [cuts[j], cuts[j + 1]) are module j
  std::vector<std::uint64_t> ancestors;  // [item * words]
  std::size_t words = 0;
  std::vector<double> tail_cpu;    // least time behind an item on the cpu to the end of its module
  std::vector<double> bytes_from;  // by position: bytes of all items and tails from there on
  bool isAncestor(std::uint32_t a, std::uint32_t of) const {
    return (ancestors[of * words + a / 64] >> (a % 64)) & 1;
  }
  // Least time behind an item to the end of its module, when its call has these bytes with it: on some path
  // the call goes on while its memory lasts.
  double inCall(std::uint32_t item, std::size_t pool, double bytes) const;
  // Least time of an item and all behind it, and the same when it reads a net of another call or of the cpu.
  double alone(std::uint32_t item) const;
  double outside(std::uint32_t net, std::uint32_t consumer, bool fetched) const;

 private:
  static constexpr std::size_t kByteSteps = 1024;
  std::vector<double> enter_bytes_;     // by item: what it brings to a call that has nothing of its unit yet
  std::vector<double> behind_in_call_;  // [item][pool][share of the memory taken]

  void findCuts();
  void findTails();
};

ModuleExits runModule(const CallGraphFacts& facts, std::size_t module, const CallCut& entry,
                      std::span<const std::uint32_t> pool_counts, std::uint32_t calls_each,
                      const ModuleLimits& limits, const Budget& budget);

}  // namespace allot
