// Exact search of a window: rounds of partial schedules, each round one activity longer.
//
// Method: ops (and, where ports count, transfers) are appended in the order of their starts, each as early as
//   its inputs, device and ports allow and no earlier than the one before. Every schedule can be brought into
//   this form without ending later. Partial schedules that are dominated or whose bound is not below the
//   target are dropped (pareto_level.h, pareto_bound.h). A transfer is an activity of its own: it may be made
//   long before its consumer starts, and the only consumer of a net then runs where the net went.
//   Devices that are the same in every way and hold nothing that matters any more are tried once.
// Beam: with a width only the best of each round are kept. Where ports count, rounds are then one op longer
//   each, and the transfers it still needs are appended to the ports with it, earliest end first: transfers
//   as moves of their own would compete with ops for the places in a round.
// Guarantee: exact without a width; the plans of a beam are valid.
// Memory: two rounds of partial schedules, 8 bytes for each ever made, and all ideals met; it gives up beyond
//   the limits. Then what was found stands, but nothing is proven.
#pragma once

#include <vector>

#include "solve/latency/pareto_bound.h"
#include "solve/latency/pareto_level.h"
#include "solve/latency/pareto_memory.h"
#include "solve/latency/pareto_model.h"

namespace allot {

class ParetoSearch {
 public:
  ParetoSearch(const ExactWindow& window, const WindowLimits& limits);
  WindowResult run();

 private:
  // One activity: an op on a device, or a net to a device.
  struct Node {
    std::uint32_t parent;
    std::uint16_t what, device;
  };
  static constexpr std::uint16_t kTransfer = 0x8000;
  static constexpr std::uint32_t kRoot = 0xffffffff;

  const ExactWindow& window_;
  const WindowLimits& limits_;
  ParetoModel model_;
  ParetoBound bound_;
  ParetoMemory memory_;
  ParetoLevel now_, next_;
  Partial partial_, lifted_;
  std::vector<Node> nodes_;
  double target_;
  double floor_ = 0;                        // bound of the partial schedule at hand
  std::vector<double> best_;                // by slot of the result
  std::vector<std::uint32_t> best_parent_;  // node before the last op
  std::vector<Node> best_last_;
  std::vector<std::uint16_t> domain_;
  std::uint16_t twin_ = 0;   // devices that need not be tried in the partial schedule at hand
  bool with_sends_;          // transfers go with their op
  std::vector<Node> sends_;  // those of the op at hand
  WindowResult result_;

  bool outOfLimits() const;
  void expand(std::size_t i);
  void findTwins(const Ideal& ideal);
  void tryOp(std::uint32_t ideal, std::size_t ready_index, std::size_t device, std::uint32_t parent);
  void trySend(std::uint32_t ideal, std::size_t net, std::size_t device, std::uint32_t parent);
  void keep(std::uint32_t ideal, Node node);
  void raise(double start);
  bool sendInputs(std::size_t op, std::size_t device);
  double opStart(const OpMask& done, std::size_t op, std::size_t device) const;
  double appendOp(std::size_t op, std::size_t device, double start, bool opens_unit);
  double appendSend(std::size_t net, std::size_t device);
  WindowPlan replay(std::uint32_t parent, Node last);
};

}  // namespace allot
