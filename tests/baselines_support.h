// What the tests of the baselines share: a recorder of decisions and small problems.
#pragma once

#include "solve/baselines/baselines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "allot/formats.h"
#include "base/random.h"
#include "solve/baselines/list_schedule.h"
#include "solve/module_order.h"

namespace allot::baselines_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Devices = std::vector<std::size_t>;

class Recorder final : public Progress {
 public:
  std::vector<Plan> plans;
  std::vector<std::string> names;

  bool plan(Plan decisions, std::string_view solver) override {
    plans.push_back(std::move(decisions));
    names.emplace_back(solver);
    return true;
  }
  void bound(double, std::string_view) override {}
  double bestValue() const override { return kInfinity; }
  double bestBound() const override { return 0; }
  const Plan* bestPlan() const override { return nullptr; }
  bool done() const override { return false; }
};

inline const Solver& solver(std::string_view name) {
  const auto all = baselineSolvers();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Solver& s) { return s.name == name; });
  EXPECT_NE(it, all.end()) << name;
  return *it;
}

inline std::vector<Plan> run(const Problem& problem, std::string_view name) {
  Recorder recorder;
  EXPECT_TRUE(solver(name).accepts(problem)) << name;
  solver(name).solve(problem, Budget(RunOptions{}, nullptr), recorder);
  for (const std::string& reported : recorder.names) EXPECT_EQ(reported, name);
  return recorder.plans;
}

inline Devices devicesOf(const Plan& plan) {
  Devices devices;
  for (const DeviceId device : plan.assignment) devices.push_back(device.index());
  return devices;
}

// The devices of the only plan, or nothing.
inline Devices place(const Problem& problem, std::string_view name) {
  const std::vector<Plan> plans = run(problem, name);
  EXPECT_LE(plans.size(), 1u);
  return plans.empty() ? Devices{} : devicesOf(plans.front());
}

struct Maker {
  Problem problem;

  explicit Maker(Goal goal) { problem.modes.goal = goal; }
  // A device of a class of its own.
  Maker& device(DeviceKind kind = DeviceKind::kAccelerator, std::optional<std::int64_t> memory = {},
                double launch = 0) {
    const std::string name = "d" + std::to_string(problem.cluster.devices.size());
    problem.cluster.classes.push_back({name + "-class", kind, launch, 1});
    problem.cluster.devices.push_back({name, ClassId(problem.cluster.classes.size() - 1), memory, HostId()});
    return *this;
  }
  Maker& cpu(std::optional<std::int64_t> memory = {}) { return device(DeviceKind::kCpu, memory); }
  OpId op(std::vector<double> seconds, std::int64_t memory = 0, std::int64_t weights = 0) {
    const OpId id = problem.graph.addOp("op" + std::to_string(problem.opCount()));
    if (seconds.size() == 1) seconds.resize(problem.cluster.classCount(), seconds[0]);
    problem.op_seconds.insert(problem.op_seconds.end(), seconds.begin(), seconds.end());
    problem.graph.op_memory_bytes.back() = memory;
    problem.graph.op_weight_bytes.back() = weights;
    return id;
  }
  OpId phased(Phase phase) {
    const OpId id = op({1});
    problem.graph.op_phase.back() = phase;
    return id;
  }
  void edge(OpId from, OpId to, double seconds = 0) {
    const OpId consumer[] = {to};
    problem.addTensor(from, consumer, 0, seconds);
  }
  // Ops in a row, one for each size.
  Maker& chain(const std::vector<std::int64_t>& memory, const std::vector<std::int64_t>& weights = {}) {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const OpId id = op({1}, memory[i], weights.empty() ? 0 : weights[i]);
      if (i > 0) edge(OpId(i - 1), id);
    }
    return *this;
  }
  Problem& done() {
    const auto finished = problem.finish();
    EXPECT_TRUE(finished) << (finished ? "" : finished.error().text());
    return problem;
  }
};

}  // namespace allot::baselines_test
