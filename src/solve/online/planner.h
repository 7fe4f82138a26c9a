// A plan for all that has not started, from the state at an instant.
//
// Problem: least weighted sum of predicted completions plus the cost of moved bytes; at most `max_moves` ops
// go to another device than the last plan's, unless they cannot stay (device down, no room).
// Method: jobs are placed one after another in some order; within a job ops by decreasing rank, each on the
// device where it ends first (or where the rest of its path would), in the times left free; sends are placed
// on ports the same way. Tried are: the last plan's devices; all devices, jobs by shortest rest first; where
// devices are unlike, the same at the prices of device time that the queues of a min-cost flow give
// (queue_flow.h): an op then also pays for the jobs that it keeps waiting in the device's queue; the last
// plan's order; exchanges of neighbours in the best order, as far as the work allows. A plan with too many
// moves is made again with only the moves that are worth most.
// Guarantee: never worse, as predicted, than keeping every device with the shortest rest first.
// Only as many jobs are planned as the work allows, the shortest first; the others wait for the next plan. A
// job whose ops find no room is held as a whole, so that no two jobs wait for each other's memory. Where
// nothing runs and nothing has been placed, a job that does not fit this way is packed, largest units first;
// with all devices up that succeeds for every job that was let in, so a plan made then is never empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solve/online/packing.h"
#include "solve/online/queue_flow.h"
#include "solve/online/state.h"
#include "solve/online/timeline.h"

namespace allot::online {

struct Move {
  std::uint32_t job = 0, op = 0;
  DeviceId from, to;
  double gain = 0;      // seconds that the op ends earlier than where it was
  double worth = 0;     // the same with all that the choice weighed
  bool forced = false;  // it could not stay
};

struct FuturePlan {
  double value = kNever;             // completions and moved bytes
  std::vector<Activity> activities;  // in an order of starts
  std::vector<Move> moves;
  std::vector<std::uint32_t> held;  // jobs that found no room or device
  double moved_bytes = 0;
  std::vector<std::uint32_t> order;  // of the jobs placed
  bool priced = false;               // made at the prices of the queues

  std::uint32_t freeMoves() const;
};

class Planner {
 public:
  explicit Planner(const World& world) : world_(world), queues_(world), room_(world.problem) {}

  // `last_order`: of the plan before; jobs that it lacks go where their rest says.
  FuturePlan plan(const std::vector<std::uint32_t>& last_order, double& kept_value);
  // Ops that a plan takes in, but for the last job's.
  std::uint64_t mostOps() const;

  bool use_queues = true;  // false is for measurements

 private:
  enum class Rule : std::uint8_t { kKeep, kEarliestEnd, kLookAhead, kPriced };

  // What an op needs to know of a device.
  struct Facts {
    bool up = true;
    std::size_t cls = 0;
    double factor = 1, launch = 0, limit = 0;
  };

  const World& world_;
  QueueFlow queues_;
  std::uint64_t work_left_ = 0;
  std::vector<Facts> facts_;   // by device
  std::vector<double> ready_;  // by device: when the inputs of an op can be there
  std::vector<Timeline> device_, send_, receive_;
  Occupancy room_;
  Need need_;
  std::vector<std::uint8_t> may_move_;  // by op of the window; empty = all may
  std::vector<std::size_t> first_op_;   // by job: where its ops begin in `may_move_`
  std::vector<double> end_, there_;     // of the job being placed
  std::vector<DeviceId> source_, unit_device_;
  std::vector<std::uint8_t> unit_placed_;  // by unit: it has its room
  std::vector<std::uint8_t> held_;         // by job: known to be held by the plan in the making
  std::vector<std::uint32_t> place_;       // by job: its place among the shortest, from 1; else 0
  std::vector<std::uint32_t> crossing_;
  std::vector<double> behind_;  // by group: weight of the jobs that queue there, by device
  std::vector<double> price_;   // by device: what a second costs the others, for the job being placed

  // A plan with too many moves is made twice.
  std::uint64_t passes() const { return world_.options.max_moves == OnlineOptions::kAnyMoves ? 1 : 2; }
  bool unlikeDevices() const;
  std::vector<std::uint32_t> window() const;
  bool leavesOut(std::size_t known) const;
  std::vector<std::uint32_t> joined(const std::vector<std::uint32_t>& last,
                                    const std::vector<std::uint32_t>& shortest);
  void resetTimes();
  FuturePlan pass(const std::vector<std::uint32_t>& order, Rule rule);
  FuturePlan limited(const std::vector<std::uint32_t>& order, Rule rule);
  void takeBack(std::size_t first, FuturePlan& plan);
  void beginPrices(const std::vector<std::uint32_t>& order);
  void setPrices(std::uint32_t job);
  bool placeJob(std::uint32_t job, Rule rule, FuturePlan& plan);
  bool packJob(std::uint32_t job, Rule rule, FuturePlan& plan);
  void beginJob(std::uint32_t job);
  bool placeOps(std::uint32_t job, Rule rule, FuturePlan& plan);
  bool placeOp(std::uint32_t job, std::uint32_t op, Rule rule, FuturePlan& plan);
  bool affords(const std::vector<std::uint32_t>& order) const;
  void putOutputs(const ModelPlan& model, std::uint32_t op, DeviceId device);
  void findArrivals(const ModelPlan& model, std::uint32_t op);
  double sendInputs(std::uint32_t job, std::uint32_t op, DeviceId device, FuturePlan& plan);
};

}  // namespace allot::online
