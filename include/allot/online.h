// Several models planned while they run: jobs arrive and leave, devices slow down, fail and return, op times
// drift.
//
// Problem: a job is one run of a model of the problem; it is not known before it arrives. The value is the
// sum over jobs of weight x completion, as of the goal completion (docs/semantics.md).
// Method: after every event the jobs are planned one after another, the shortest rest by weight first, each
// op where it ends first in the times that those before it leave free; other orders and the devices of the
// plan before are tried too, and so are prices of device time from a min-cost flow of waiting jobs to queues,
// kept and repaired from event to event; the plan of least value is taken (solve/online/planner.h).
// Guarantee: what runs keeps running, unless its device fails; every op of a job that stays ends exactly
// once, but for ops that ran on a device that failed and ops whose results are on no device that is up though
// an op that has not started needs them, which run again. After each event every tensor that an op waits for
// is on a device, or its producer runs or waits to run; after each plan every op that waits is in it, with
// all its inputs, unless its job waits for room or a device (`verify`). So all jobs end once the devices that
// they need are up. A re-plan moves at most `max_moves` ops that could have stayed. The same events give the
// same decisions. An event that makes no sense is refused and changes nothing.
// Complexity: a re-plan looks at no more than about `work` pairs of ops and devices, however many jobs wait.
// An op holds its resident bytes on a device from the plan that puts it there until it has ended.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allot/ids.h"
#include "allot/problem.h"
#include "allot/result.h"

namespace allot {

using JobId = Id<struct JobTag>;

struct OnlineOptions {
  static constexpr std::uint32_t kAnyMoves = RunOptions::kAnyMoves;

  std::uint32_t max_moves = kAnyMoves;  // by re-plan; ops that cannot stay do not count
  double move_cost = 0;                 // what moving a resident byte adds to the value
  bool ends_reported = false;           // an op runs until its end is reported, not until the predicted time
  std::uint64_t work = 16'000;          // pairs of ops and devices that a re-plan may look at
};

enum class EventKind : std::uint8_t { kArrive, kLeave, kFail, kReturn, kSlow, kTime, kEnd };

std::string_view name(EventKind kind);

struct OnlineEvent {
  EventKind kind = EventKind::kArrive;
  double time = 0;     // seconds
  std::string job;     // arrive, leave, end
  ModelId model;       // arrive
  double weight = -1;  // arrive; negative = that of the model
  DeviceId device;     // fail, return, slow
  double factor = 1;   // slow: op times there are this many times those of the problem
  OpId op;             // time, end
  ClassId cls;         // time
  double seconds = 0;  // time: what the op takes there from its next start on
};

enum class DecisionKind : std::uint8_t {
  kStart,   // run `op` on `device` from `start`, until `end` as far as is known
  kSend,    // send the output of `op` from `from` to `device`
  kMove,    // `op` will run on `device`, not on `from`
  kRepeat,  // `op` must run again
  kHold,    // the job waits for memory or devices
  kDrop,    // the job left
  kEnd,     // `op` ended
  kFinish,  // the last op of the job ended
};

std::string_view name(DecisionKind kind);

struct Decision {
  DecisionKind kind;
  double time;  // when it was taken
  JobId job;
  OpId op;
  TensorId tensor;  // send
  DeviceId from, device;
  double start = 0, end = 0;
  std::string why;
  OpId consumer = {};  // send, where sends are per edge: whom it is for
};

struct JobReport {
  std::string name;
  ModelId model;
  double weight = 1, arrival = 0;
  double completion = std::numeric_limits<double>::quiet_NaN();  // NaN = not yet, or it left
  bool left = false;
  std::uint32_t open_ops = 0;  // not ended yet
};

struct ReplanReport {
  double seconds = 0;  // processor time
  std::size_t planned_ops = 0;
  std::uint32_t moves = 0, forced_moves = 0;  // forced: the op could not stay where it was
  double moved_bytes = 0;
  double kept_value = 0;  // of the same jobs, had every op kept its device
  double value = 0;       // predicted, the cost of moved bytes included
};

class OnlineEngine {
 public:
  // The problem must be finished, have the goal completion, and outlive the engine. Memory is static;
  // models may not share units or tensors.
  static Result<OnlineEngine> create(const Problem& problem, const OnlineOptions& options = {});
  OnlineEngine(OnlineEngine&&) noexcept;
  OnlineEngine& operator=(OnlineEngine&&) noexcept;
  ~OnlineEngine();

  // Lets time pass up to the event, then changes the state. After the last event of an instant call
  // `replan`.
  Result<void> apply(const OnlineEvent& event);
  ReplanReport replan();
  // Starts everything that is planned to start before `time`; what ends until then has ended.
  void advance(double time);
  // Until nothing runs and nothing more can start. Without effect where ends are reported.
  void finish();

  // Whether the guarantee holds: the first breach, with job and op, as an internal error. After `replan`.
  Result<void> verify() const;
  // Why a job that has not ended does not go on, in words; empty while it has an op that runs or is planned.
  std::string waitsFor(JobId job) const;

  double now() const;
  std::size_t jobCount() const;
  JobReport job(JobId job) const;
  // Sum of weight x completion over the jobs that ended.
  double value() const;
  // Planned start of an op, its device and its predicted end; a device that is not valid means no plan yet.
  Decision planned(JobId job, OpId op) const;
  // What was decided since the last call, in order.
  std::vector<Decision> takeDecisions();
  // Re-plans made so far, those between events among them.
  std::span<const ReplanReport> replans() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  explicit OnlineEngine(std::unique_ptr<State> state);
};

// A line of an events file: an event, or what is wrong with it.
struct EventLine {
  std::size_t line = 0;
  Result<OnlineEvent> event;
};

struct EventLog {
  OnlineOptions options;
  std::vector<EventLine> lines;
};

// allot.events/1: names are resolved in `problem`. Fails on a bad first line; other bad lines are kept as
// errors.
Result<EventLog> readEvents(std::string_view text, const std::string& file, const Problem& problem);
std::string writeEvents(const Problem& problem, const OnlineOptions& options,
                        std::span<const OnlineEvent> events);
// One JSON object on a line.
std::string decisionText(const Problem& problem, const OnlineEngine& engine, const Decision& decision);

struct Replay {
  std::vector<OnlineEvent> taken;  // the events that were not refused
  std::vector<Decision> decisions;
  std::vector<Error> errors;  // events refused, with their lines
  Result<void> verified;      // at the end
};

// Applies all events in order, re-planning after the last of each instant, and runs on until nothing is left.
// Not verified: a job did not end though every device that it needs is up.
Replay replay(OnlineEngine& engine, const EventLog& log, const std::string& file);

}  // namespace allot
