#include "large_problem.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/random.h"

namespace allot::bench {
namespace {

constexpr std::uint32_t kWindow = 64;
constexpr double kSecondInput = 0.6;

struct ClassShape {
  const char* name;
  DeviceKind kind;
  std::uint32_t devices;
  std::uint32_t slowness;  // times an op's drawn time
};
constexpr std::array<ClassShape, 3> kClasses{{{"large", DeviceKind::kAccelerator, 2, 1},
                                              {"small", DeviceKind::kAccelerator, 4, 3},
                                              {"cpu", DeviceKind::kCpu, 2, 10}}};

void addDevices(Cluster& cluster) {
  for (const ClassShape& shape : kClasses) {
    const ClassId cls(cluster.classes.size());
    cluster.classes.push_back({.name = shape.name, .kind = shape.kind});
    for (std::uint32_t i = 0; i < shape.devices; ++i) {
      cluster.devices.push_back(
          {.name = shape.name + std::to_string(i), .cls = cls, .memory_bytes = {}, .host = {}});
    }
  }
}

// Whole microseconds, so that a file of the problem has short numbers.
double microseconds(std::uint32_t count) {
  return static_cast<double>(count) / 1e6;
}

}  // namespace

Result<Problem> largeProblem(std::uint32_t ops, std::uint64_t seed) {
  Random random(seed);
  Problem problem;
  problem.name = "large-" + std::to_string(ops);
  addDevices(problem.cluster);
  problem.graph.model_name = {"model"};
  problem.model_weight = {1};
  problem.model_release = {0};

  // consumers[i % kWindow] are the readers of op i so far; they are complete when op i + kWindow is drawn.
  std::array<std::vector<OpId>, kWindow> consumers;
  const auto closeTensor = [&](std::uint32_t producer) {
    std::vector<OpId>& readers = consumers[producer % kWindow];
    if (!readers.empty()) problem.addTensor(OpId(producer), readers, 0, microseconds(1 + random.below(40)));
    readers.clear();
  };
  for (std::uint32_t i = 0; i < ops; ++i) {
    const OpId op = problem.graph.addOp("op" + std::to_string(i));
    const std::uint32_t drawn = 1 + random.below(100);
    for (const ClassShape& shape : kClasses) {
      problem.op_seconds.push_back(microseconds(drawn * shape.slowness + random.below(20)));
    }
    const std::uint32_t reach = std::min(i, kWindow);
    if (reach > 0) {
      const std::uint32_t first = i - 1 - random.below(reach);
      consumers[first % kWindow].push_back(op);
      const std::uint32_t second = i - 1 - random.below(reach);
      if (random.chance(kSecondInput) && second != first) consumers[second % kWindow].push_back(op);
    }
    // Op i takes over the slot of the op that has just left the window.
    if (i >= kWindow) closeTensor(i - kWindow);
  }
  for (std::uint32_t i = ops - std::min(ops, kWindow); i < ops; ++i) closeTensor(i);

  problem.modes.goal = Goal::kLatency;
  problem.modes.link_mode = LinkMode::kFree;
  ALLOT_CHECK(problem.finish());
  return problem;
}

std::vector<DeviceId> randomAssignment(const Problem& problem, std::uint64_t seed) {
  Random random(seed);
  std::vector<DeviceId> assignment(problem.opCount());
  for (DeviceId& device : assignment)
    device = DeviceId(random.below(static_cast<std::uint32_t>(problem.deviceCount())));
  return assignment;
}

}  // namespace allot::bench
