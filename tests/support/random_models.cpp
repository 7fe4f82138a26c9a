#include "support/random_models.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/random.h"

namespace allot {

Problem randomModels(std::uint64_t seed, std::uint32_t models, std::uint32_t ops) {
  Random random(seed, 9);
  Problem problem;
  problem.modes.goal = Goal::kCompletion;
  problem.modes.link_mode = static_cast<LinkMode>(random.below(3));
  problem.modes.send = static_cast<Send>(random.below(2));
  for (const char* name : {"cpu", "gpu", "npu"}) {
    DeviceClass cls;
    cls.name = name;
    cls.launch_seconds = random.below(3) == 0 ? 1e-5 : 0;
    problem.cluster.classes.push_back(cls);
  }
  const std::uint32_t devices = 3 + random.below(2);
  problem.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 1e-5, 1e10});
  std::int64_t bytes = 0;
  for (std::uint32_t m = 0; m < models; ++m) {
    problem.graph.model_name.push_back("m" + std::to_string(m));
    problem.model_weight.push_back(1 + random.below(2));
    problem.model_release.push_back(random.below(3) == 0 ? 1e-3 : 0);
    const std::uint32_t count = 1 + ops / 2 + random.below(ops);
    std::vector<OpId> list;
    for (std::uint32_t i = 0; i < count; ++i) {
      list.push_back(problem.graph.addOp("m" + std::to_string(m) + "." + std::to_string(i)));
      const std::size_t op = list.back().index();
      problem.graph.op_model[op] = ModelId(m);
      problem.graph.op_memory_bytes[op] = 1 + random.below(1000);
      bytes += problem.graph.op_memory_bytes[op];
      const double base = 1e-4 * (1 + random.below(20));
      for (const double factor : {4.0, 1.0, 1.0})
        problem.op_seconds.push_back(base * factor * (0.25 + 2 * random.unit()));
    }
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
      std::vector<OpId> consumers{list[i + 1 + random.below(std::min(4u, count - i - 1))]};
      problem.addTensor(list[i], consumers, random.below(4'000'000), std::nan(""));
    }
  }
  for (std::uint32_t d = 0; d < devices; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.cls = ClassId(std::min(d, 2u));
    device.memory_bytes = d == 0 ? bytes : 2 * bytes / devices;
    problem.cluster.devices.push_back(device);
  }
  if (const auto done = problem.finish(); !done) {
    std::fprintf(stderr, "generator: %s\n", done.error().text().c_str());
    std::abort();
  }
  return problem;
}

}  // namespace allot
