// The parts behind OnlineEngine: time (engine.cpp), events (engine_events.cpp) and failures
// (engine_recovery.cpp) change one state, which engine_invariant.cpp checks.
//
// Invariant of recovery, after every event, for every job that has not ended or left:
// 1. An op runs if and only if `running` has it, once, on a device that is up; counts of ops agree.
// 2. Copies of tensors are on devices that are up; one that is still to come has a send under way from a
// device
//    that has one. `source` is a device that has a copy now, and is not valid only where no device has one.
// 3. A tensor that an op waits for has a copy, or its producer runs or waits to run: what was lost is made
// again.
//    A producer runs again for that alone, and copies of its other outputs stay.
// And after every plan, as time passes:
// 4. An op that waits is ahead in the plan, once, on a device that is up, with every input there by its
// start: a
//    copy, a planned send from a device that has one by then, or a planned producer on the same device. Or
//    the whole job is outside the plan, and something that runs or is planned will bring the next plan; or no
//    device that is up has room for it, and another device is down.
// 5. What runs and what is planned fits the devices.
// From 3 and 4 follows that every job ends once enough devices are up: a plan that can be executed is
// executed, or replaced by the next one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "allot/online.h"
#include "solve/online/planner.h"
#include "solve/online/state.h"

namespace allot {
namespace online {

// What the passing of time changes, as it was before. Whether an event makes sense is often known at its own
// time only, and a refused one must not have let time pass. Jobs are kept when they are first touched, and
// the plan when it is replaced, so that this costs no more than what happens. The planner's queues are not
// kept: each plan brings them up to the state it is made from.
struct Before {
  double now, value;
  std::vector<DeviceState> devices;
  std::vector<std::uint32_t> open_jobs;
  std::vector<Activity> running, sending;
  std::map<std::uint32_t, Job> jobs;
  std::size_t next_activity, decisions, replans;
  bool closed, planned_now, refused;

  struct Planned {
    std::vector<Activity> activities;
    std::vector<std::uint32_t> order, last_held;
    std::size_t unplanned, priced;
    bool holding;
    double planned_at;
  };
  std::optional<Planned> planned;
};

struct EngineState {
  World world;
  Planner planner{world};
  std::unordered_map<std::string, std::uint32_t> job_of;  // by name
  std::vector<Activity> activities;                       // planned, by start
  std::size_t next_activity = 0;                          // the first that has not started
  std::vector<std::uint32_t> order, last_held;            // of the last plan
  std::size_t unplanned = 0;                              // jobs with ops to start that the plan lacks
  bool holding = false, closed = false;
  bool planned_now = true;  // no event since the last plan
  bool refused = false;     // something planned could not start
  double planned_at = 0;
  std::size_t priced = 0;  // plans taken that were made at the prices of the queues
  double value = 0;
  std::vector<Decision> decisions;
  std::vector<ReplanReport> replans;

  EngineState(const Problem& problem, const OnlineOptions& options, ModelPlans plans)
      : world(problem, options, std::move(plans)) {}
  EngineState(const EngineState&) = delete;

  void advance(double time);
  ReplanReport replan();

  Result<void> check(const OnlineEvent& event) const;
  Result<void> apply(const OnlineEvent& event);

  // The first breach of the invariant, or "".
  std::string breach() const;
  // What an open job waits for that has neither an op running nor one planned, or "".
  std::string waitsFor(std::uint32_t job) const;

 private:
  Before* before_ = nullptr;  // where changes are noted

  static double cpuSeconds();
  void note(DecisionKind kind, std::uint32_t job, OpId op, DeviceId device, std::string why);
  bool canStart(const Activity& activity) const;
  void start(const Activity& activity);
  void startSend(const Activity& activity);
  void end(std::size_t index, double time);
  void close(std::uint32_t index, double time);
  bool wantsMore() const;
  Result<void> passTimeFor(const OnlineEvent& event);
  Before begin() const;
  void takeBack(Before before);
  void keepJob(std::uint32_t job);
  void keepPlan();

  Result<void> checkTime(double time) const;
  Result<void> checkArrival(const OnlineEvent& event) const;
  Result<void> checkEnd(const OnlineEvent& event) const;
  Result<std::uint32_t> openJob(const OnlineEvent& event) const;
  void arrive(const OnlineEvent& event);
  void leave(std::uint32_t job);
  void fail(DeviceId device);
  void breakSends(DeviceId device);
  void loseCopies(std::uint32_t job, DeviceId device);
  void repeatLost(std::uint32_t job);
  void repeat(std::uint32_t job, std::uint32_t op, std::string why);
  std::string brokenJob(std::uint32_t job) const;
  std::string brokenCopies(std::uint32_t job) const;
  std::string brokenPlan() const;
  std::string brokenRoom() const;
  std::string opText(std::uint32_t job, std::uint32_t op) const;
  const std::string& deviceName(DeviceId device) const {
    return world.problem.cluster.devices[device.index()].name;
  }
  void slow(DeviceId device, double factor);
  void changeTime(const OnlineEvent& event);
};

}  // namespace online

struct OnlineEngine::State : online::EngineState {
  using EngineState::EngineState;
};

}  // namespace allot
