// Shows that ops with decided devices cannot be ordered to end within a given time.
//
// Problem: activities (ops, and in one-port modes transfers) with lags from start to start, each holding up
// to two machines (a device; a send and a receive port). Prove that no order on the machines ends by the
// limit, find one that does, or give up.
// Method: heads and tails by longest paths; of two activities on a machine, one that cannot come first must
// come second; the activities of a machine must fit together (preemptive single machine); then the pair with
// the least room is tried in both orders. At each node a list schedule by tails is tried.
// Guarantee: kRefuted is a proof; kOrdered means that an order within the limit exists.
// Complexity: O(rounds * (arcs + sum over machines of activities^2)) per node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allot/graph.h"
#include "allot/solve.h"
#include "solve/latency/windows.h"

namespace allot {

class OrderRefuter {
 public:
  enum class Outcome : std::uint8_t { kRefuted, kOrdered, kLimit };
  static constexpr std::uint32_t kNoMachine = ~std::uint32_t{0};
  static constexpr std::size_t kMaxPairs = 20'000, kMaxDepth = 500;

  // Activities must be added in an order in which lags lead forward.
  void clear(std::size_t machines);
  // `length`: how long it holds its machines; `last`: from its start to its end, for the limit.
  std::uint32_t add(double length, double last, std::uint32_t machine, std::uint32_t other = kNoMachine);
  void lag(std::uint32_t from, std::uint32_t to, double seconds);

  // Takes nodes from `nodes_left`. With more than kMaxPairs pairs on machines only a list schedule is tried.
  Outcome refute(double limit, std::uint64_t& nodes_left, const Budget& budget);

  // One list schedule by tails; true when it ends by the limit.
  bool list(double limit);

  double next = 0;            // refuted: any limit below this one is refuted as well
  double end = 0;             // ordered: when the schedule ends
  std::vector<double> start;  // ordered: by activity

 private:
  struct Arc {
    std::uint32_t from, to;
    double seconds;
  };
  struct Pair {
    std::uint32_t first, second;  // activities, the lower one first
  };
  enum Order : std::uint8_t { kOpen, kForward, kBackward };
  struct Level {
    std::vector<double> head, tail;  // tail: from the start of the activity to the end of all
    std::vector<std::uint8_t> order;
  };

  std::vector<double> length_, last_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::uint32_t>> on_;  // by machine
  std::vector<std::uint32_t> machine_, other_;  // by activity
  std::vector<Pair> pairs_;
  std::vector<Level> levels_;
  std::vector<Activity> list_;
  Windows windows_;
  Csr<std::uint32_t> arcs_out_;  // by activity
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> ready_;
  std::vector<double> free_;  // by machine
  double limit_ = 0;

  bool late(double time) {
    if (time <= limit_) return false;
    next = std::min(next, time);
    return true;
  }
  void sortArcs();
  Outcome descend(std::size_t depth, std::uint64_t& nodes_left, const Budget& budget);
  bool list(const Level& level);
  bool propagate(Level& level);
  bool decide(Level& level, bool& changed);
};

}  // namespace allot
