// What the online engine knows at an instant: jobs with what has run of them, devices, what runs and what is
// on the way.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "allot/online.h"
#include "solve/online/model_plan.h"

namespace allot::online {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

enum class RunState : std::uint8_t { kWaiting, kRunning, kDone, kDropped };

// One op of a job.
struct Run {
  RunState state = RunState::kWaiting;
  DeviceId device;  // where it ran, runs or was last planned to run
  double start = 0, end = 0;
};

struct Job {
  JobReport report;
  std::uint32_t waiting = 0;     // ops that have not started
  double work = 0;               // least seconds of ops that have not started
  std::vector<Run> runs;         // by op; freed when the job is closed
  std::vector<double> there;     // [tensor * devices + device]: when a copy is there, or kNever
  std::vector<DeviceId> source;  // by tensor: where copies are sent from; not valid = no device has one
  std::vector<DeviceId> home;    // by unit of several ops: where the last one started; not valid = free
  bool planned = false;          // its ops are in the plan

  bool open() const { return report.open_ops > 0; }
};

struct DeviceState {
  bool up = true;
  double factor = 1;
  double busy_until = 0;                          // launch included
  double sending_until = 0, receiving_until = 0;  // ports
};

// An op on `to`, or a send of a tensor between two devices.
struct Activity {
  double start = 0, end = 0;
  std::uint32_t job = 0, item = 0;
  DeviceId from, to;
  bool send = false;
};

// Everything a plan is made from.
struct World {
  const Problem& problem;
  OnlineOptions options;
  ModelPlans plans;
  std::vector<double> op_seconds;  // of the problem, as measured since: [op * classes + class]
  double now = 0;
  std::vector<DeviceState> devices;
  std::vector<Job> jobs;
  std::vector<std::uint32_t> open_jobs;  // in order of arrival
  std::vector<Activity> running;         // ops that have started
  std::vector<Activity> sending;         // sends that have started and may not have ended

  World(const Problem& p, const OnlineOptions& o, ModelPlans m)
      : problem(p), options(o), plans(std::move(m)), op_seconds(p.op_seconds), devices(p.deviceCount()) {}

  const ModelPlan& planOf(const Job& job) const { return plans.models[job.report.model.index()]; }
  double seconds(OpId op, DeviceId device) const {
    const std::size_t cls = problem.cluster.devices[device.index()].cls.index();
    return op_seconds[op.index() * problem.cluster.classCount() + cls] * devices[device.index()].factor;
  }
  double launch(DeviceId device) const { return problem.cluster.classOf(device).launch_seconds; }
  bool mayRun(OpId op, DeviceId device) const {
    return devices[device.index()].up && problem.allowed(problem.unit(op), device);
  }
  double leastSeconds(OpId op) const {
    double least = kNever;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (problem.allowed(problem.unit(op), DeviceId(d))) least = std::min(least, seconds(op, DeviceId(d)));
    }
    return least;
  }
};

}  // namespace allot::online
