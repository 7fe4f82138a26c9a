// The parts behind OnlineEngine: time (engine.cpp) and events (engine_events.cpp) change one state.
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
  bool closed;

  struct Planned {
    std::vector<Activity> activities;
    std::vector<std::uint32_t> order, last_held;
    std::size_t unplanned, priced;
    bool holding;
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
  void repeatLost(std::uint32_t job, DeviceId device);
  void repeat(std::uint32_t job, std::uint32_t op, std::string why);
  void slow(DeviceId device, double factor);
  void changeTime(const OnlineEvent& event);
};

}  // namespace online

struct OnlineEngine::State : online::EngineState {
  using EngineState::EngineState;
};

}  // namespace allot
