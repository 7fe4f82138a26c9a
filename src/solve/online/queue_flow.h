// Which devices waiting jobs should queue for, by a min-cost flow that lives as long as the engine.
//
// Problem: devices alike (same class, same speed now) form a group, and each job waits in the queue of one
// device. Least sum of weighted completions, were every job one piece of work.
// Method: the job that is k-th from the end of a queue delays itself and k - 1 others. So job -> (group, k)
// costs its time there times (k - 1 + its weight by the mean weight), and (group, k) -> sink has room for one
// job by device. For jobs of equal weight without precedence that is the exact optimum of unrelated machines,
// with the option to wait for a better one. Jobs alike (same model, as many ops left, about the same weight)
// are one node, and positions beyond the eighth are taken in blocks, so that a thousand jobs make a small
// network.
// Positions count from the end, so nothing that happens changes the costs of other jobs, and the network is
// repaired from the flow and potentials it has: arrivals, starts and ends change supplies and add and remove
// nodes with their arcs, failures and returns change capacities, drift changes costs.
// Guarantee: the optimum of that network; as a schedule a heuristic.
// Complexity: nodes x blocks arcs, about kMostArcs at most (jobs beyond that stay out); a decision repairs
// only what changed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "flow/min_cost_flow.h"
#include "solve/online/state.h"

namespace allot::online {

class QueueFlow {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  explicit QueueFlow(const World& world);

  // Brings the network up to the world's state for these jobs, the most urgent first, and solves it. False:
  // no device is up, or the numbers are too large for the flow engine.
  bool assign(std::span<const std::uint32_t> jobs);

  // Of the last assignment. Groups count up from 0; a device that is down has none.
  std::size_t groupCount() const { return groups_.size(); }
  std::uint32_t groupOf(DeviceId device) const { return group_of_[device.index()]; }
  std::uint32_t devicesOf(std::uint32_t group) const { return groups_[group].devices; }
  // The group whose queue the job joins; kNone for jobs that were not given or found no room in the network.
  std::uint32_t homeOf(std::uint32_t job) const { return home_[job]; }
  const flow::MinCostFlow& network() const { return flow_; }

 private:
  // A block of positions, counted from the end of the queues of a group.
  struct Block {
    flow::NodeId node;
    flow::ArcId to_sink;
    std::uint32_t first = 0, size = 1;
  };
  struct Group {
    std::uint32_t cls = 0;
    double factor = 1;
    std::uint32_t devices = 0;
    std::vector<Block> blocks;
  };
  // Jobs alike.
  struct Kind {
    flow::NodeId node;
    std::vector<std::uint32_t> jobs;
    std::vector<double> seconds;         // by group
    std::vector<double> priced_seconds;  // for which the arcs are priced
    double priced_weight = 0;
    std::vector<std::vector<flow::ArcId>> arcs;  // by group and block
  };
  using Key = std::tuple<std::uint32_t, std::uint32_t, double>;  // model, ops left, weight

  const World& world_;
  flow::MinCostFlow flow_;
  flow::NodeId sink_;
  double scale_ = 1;  // costs by second
  double mean_weight_ = 1;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> group_of_;  // by device
  std::map<Key, Kind> kinds_;
  std::vector<std::uint32_t> home_;  // by job

  bool updateGroups();
  bool removeGroup(std::size_t group);
  bool updateKinds(std::span<const std::uint32_t> jobs);
  Key keyOf(std::uint32_t job) const;
  std::vector<double> secondsOf(const Key& key) const;
  bool solve();
  std::size_t blockCount() const;
  static std::uint32_t positions(const Group& group);
  bool addBlocks(std::size_t jobs);
  bool addBlock(Group& group);
  bool dropBlocks(std::size_t group);
  bool priceArcs(const Key& key, Kind& kind);
  void readHomes();
};

}  // namespace allot::online
