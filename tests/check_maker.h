// Tiny problems and plans for the tests of the checker.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allot/check.h"

namespace allot {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Builds problems in a few lines; classes come first, then devices, ops, tensors.
class Maker {
 public:
  Problem problem;

  void cls(const std::string& name, DeviceKind kind = DeviceKind::kAccelerator, double launch = 0) {
    problem.cluster.classes.push_back({name, kind, launch, 1});
  }
  // One of several models; without a call there is one.
  ModelId model(const std::string& name, double weight, double release) {
    problem.graph.model_name.push_back(name);
    problem.model_weight.push_back(weight);
    problem.model_release.push_back(release);
    return ModelId(problem.graph.modelCount() - 1);
  }
  DeviceId device(const std::string& name, std::size_t cls, std::optional<std::int64_t> memory = {}) {
    problem.cluster.devices.push_back({name, ClassId(cls), memory, HostId()});
    return DeviceId(problem.deviceCount() - 1);
  }
  OpId op(const std::string& name, const std::vector<double>& seconds, Phase phase = Phase::kForward) {
    const OpId id = problem.graph.addOp(name);
    problem.graph.op_phase[id.index()] = phase;
    problem.op_seconds.insert(problem.op_seconds.end(), seconds.begin(), seconds.end());
    return id;
  }
  TensorId tensor(OpId from, const std::vector<OpId>& to, double seconds, std::int64_t bytes = 0) {
    return problem.addTensor(from, to, bytes, seconds);
  }
  void block(const std::string& name, std::int64_t bytes, const std::vector<OpId>& readers) {
    problem.graph.addBlock(name, bytes, readers);
  }
  // A tensor that a model is given.
  void input(std::int64_t bytes, const std::vector<OpId>& readers) { problem.graph.addInput(bytes, readers); }
  void group(const std::vector<OpId>& ops) {
    const GroupId id(problem.graph.group_name.size());
    problem.graph.group_name.push_back(std::string("g") + std::to_string(id.index()));
    for (const OpId op : ops) problem.graph.op_group[op.index()] = id;
  }
  void finish(Goal goal) {
    problem.modes.goal = goal;
    const auto done = problem.finish();
    ASSERT_TRUE(done) << done.error().text();
  }
};

inline Plan planFor(const Problem& problem, std::vector<DeviceId> assignment, double value) {
  Plan plan;
  plan.modes = problem.modes;
  plan.status = Status::kFeasible;
  plan.value = value;
  plan.bound = 0;
  plan.assignment = std::move(assignment);
  return plan;
}

inline void expectValid(const Problem& problem, const Plan& plan) {
  const CheckReport report = check(problem, plan);
  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
  EXPECT_NEAR(report.value, plan.value, 1e-12);
}

// Device figures of which only the memory is stated.
inline std::vector<DeviceUse> memoryOf(const std::vector<double>& bytes) {
  std::vector<DeviceUse> devices;
  for (const double b : bytes) devices.push_back({kNan, kNan, kNan, b});
  return devices;
}

// The plan breaks one rule only, and the sentence holds every part.
inline void expectOnly(const Problem& problem, const Plan& plan, const std::vector<std::string>& parts) {
  const CheckReport report = check(problem, plan);
  ASSERT_FALSE(report.ok()) << "accepted, expected: " << parts[0];
  EXPECT_EQ(report.violations.size(), 1u) << report.violations.back();
  for (const std::string& part : parts) {
    EXPECT_NE(report.violations[0].find(part), std::string::npos)
        << report.violations[0] << " lacks " << part;
  }
}

// The devices hold exactly this, and the plan is valid: a byte more or less is refused.
inline void expectMemory(const Problem& problem, Plan plan, const std::vector<double>& bytes) {
  plan.devices = memoryOf(bytes);
  expectValid(problem, plan);
  for (std::size_t d = 0; d < bytes.size(); ++d) {
    for (const double off : {-1.0, 1.0}) {
      plan.devices = memoryOf(bytes);
      plan.devices[d].memory_bytes += off;
      expectOnly(problem, plan, {problem.cluster.devices[d].name, "says memory"});
    }
  }
}

}  // namespace allot
