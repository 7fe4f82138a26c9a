// What the walks of one run of ChainSearch hand around.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "allot/solve.h"
#include "base/walk_crew.h"
#include "solve/throughput/chain_window.h"
#include "solve/throughput/ideal_table.h"

namespace allot {

// When any chain below the cut-off will do: whether a state of this value may take the place of another one.
// Its value is no larger, or below the cut-off by some share. All states below the cut-off could, but then
// the chain that is found is often far from the best one, and more passes follow.
inline bool mayReplace(double value, double other, double cutoff) {
  constexpr double kGood = 2e-3;
  return value <= std::max(other, cutoff * (1 - kGood));
}

class ChainRivals;

// What all threads of a run share.
struct ChainShared {
  const Budget& budget;
  IdealTable& table;
  const ChainRivals& rivals;
  WalkCrew& crew;
  std::uint64_t max_pairs;
  bool any;                       // any chain below the cut-off will do
  std::atomic<bool> stop{false};  // out of time or pairs
  std::atomic<bool> full{false};  // the table must grow
  std::atomic<std::uint64_t> pairs{0};

  // Looks at the clock.
  bool stopped() {
    if (!stop.load(std::memory_order_relaxed) && budget.stopped()) stop = true;
    return stop.load(std::memory_order_relaxed);
  }
};

// Which nets of an item count: those of a barrier that a stage has arrived at are settled on one side.
enum class NetSide : std::uint8_t { kBoth, kAhead };

// A reached state of the ideal that a walk starts from.
struct ChainEntry {
  std::uint32_t state = 0;
  double value = 0;
};

// What a set of items adds up to on one pool; by part where forward and rest are valued apart (Q = 2).
template <std::size_t Q>
struct ChainSums {
  double compute[Q] = {};
  double transfer[Q] = {};
  double fixed[Q] = {};  // the part of `transfer` that no further item takes back
  std::array<double, CapacityWindow::kMost> work{};
  double owed = 0;  // by stages before it, for nets that end in it or behind it
  double resident = 0, weights = 0, stash = 0;
  bool trains = false;
};

// A stage that has come as far as a barrier, all before it included.
template <std::size_t Q>
struct ChainArrival {
  ChainEntry from;
  std::uint32_t option = 0;
  ChainSums<Q> sums;
};

}  // namespace allot
