// The best joint schedule of two chains on shared devices, by dynamic programming.
//
// Problem: two chains of ops with unrelated times, transfers where a chain changes devices, any link mode, no
// launch times; least weighted sum of the two ends. Devices and ports may be taken at given times by others.
// Method: activities (ops, and transfers under port modes) are taken in the order of their starts. Then all
// that a chain used before its last activity is free again when the next one starts, so a state is the last
// activity of each chain, and its value the pair of their ends. Of two pairs the smaller one is never worse:
// each state keeps the pairs that no other dominates. States that a bound (the rest of each chain alone, and
// both together on one machine of weighted speed) shows to be no better than the cutoff are dropped.
// Guarantee: with no cap on the pairs of a state the result is optimal, or nothing is below the cutoff.
// Complexity: O(ops of one x ops of the other x kinds^2 x pairs), kinds = devices + 1, or devices^2 + devices
// + 1 under port modes.
// When time runs out: no result.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "allot/solve.h"
#include "solve/completion/chain_model.h"

namespace allot {

// Intervals in which others hold a device, by device; sorted and disjoint.
using BusyTimes = std::vector<std::vector<std::pair<double, double>>>;

enum class TwoChainsEnd : std::uint8_t { kDone, kStopped, kTooLarge };

class TwoChains {
 public:
  // `second` may be an empty chain. `busy`, where given, must outlive this; only for link mode free.
  TwoChains(const ChainModel& model, const Chain& first, const Chain& second,
            const BusyTimes* busy = nullptr);

  // Looks for a schedule below `cutoff` with at most `cap` pairs by state (0 = all of them,
  // else at least 2).
  TwoChainsEnd run(double cutoff, std::size_t cap, const Budget& budget);

  // Of the last run: infinite when nothing is below the cutoff.
  double value() const { return value_; }
  std::size_t pairs() const { return points_.size(); }
  // The schedule found, by chain.
  std::vector<std::vector<ChainActivity>> activities() const;

 private:
  // A way to a state: the activity that leads there and the state of the same chain before it.
  struct Move {
    std::uint32_t from_kind;
    bool same_op;  // a transfer behind the op that was the last
    double delay;  // between the ends and starts, in link mode free
  };
  struct Side {
    const Chain* chain;
    std::size_t size;
    // By position and kind.
    std::vector<std::vector<Move>> moves;
    std::vector<double> seconds;  // of the last activity; infinite before the first
    std::vector<std::uint64_t> holds;
    std::vector<double> tail;
    std::vector<std::vector<double>> rest;  // by weights and position
  };
  struct Point {
    double end[2];
    std::uint32_t parent;
    std::uint16_t from_kind;
    std::uint8_t side;  // which chain moved
  };
  struct Row {
    std::vector<std::uint32_t> first, count;
  };

  const ChainModel& model_;
  const BusyTimes* busy_;
  std::size_t devices_, kinds_;
  Side sides_[2];
  std::vector<std::vector<double>> weights_;  // by device
  std::vector<Point> points_;
  std::vector<Point> found_;
  double cutoff_ = 0, value_ = 0;
  std::uint32_t best_point_ = 0;
  std::uint16_t best_kind_[2] = {0, 0};

  void prepare(Side& side);
  std::size_t transferKind(std::size_t from, std::size_t to) const {
    return devices_ + 1 + from * devices_ + to;
  }
  void extend(int side, const Row& row, std::size_t cell_base, const Move& move,
              const std::size_t position[2], const std::size_t kind[2]);
  double bound(const double end[2], double now, const std::size_t position[2],
               const std::size_t kind[2]) const;
  double fit(std::uint64_t held, double start, double seconds) const;
  void keep(std::size_t cap);
};

}  // namespace allot
