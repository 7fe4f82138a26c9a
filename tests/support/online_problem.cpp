#include "support/online_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/random.h"

namespace allot {

Problem onlineProblem(std::uint64_t seed, const OnlineShape& shape) {
  Random random(seed, 31);
  Problem problem;
  problem.modes.goal = Goal::kCompletion;
  problem.modes.link_mode = shape.link_mode;
  problem.modes.send = shape.per_edge ? Send::kPerEdge : Send::kOnce;
  for (const char* name : {"cpu", "gpu"}) {
    DeviceClass cls;
    cls.name = name;
    cls.kind = problem.cluster.classes.empty() ? DeviceKind::kCpu : DeviceKind::kAccelerator;
    problem.cluster.classes.push_back(cls);
  }
  for (std::uint32_t k = 1; k < shape.kinds; ++k) {
    problem.cluster.classes.push_back(problem.cluster.classes[1]);
    problem.cluster.classes.back().name = fmt::format("gpu{}", k + 1);
  }
  std::int64_t bytes = 0;
  for (std::uint32_t m = 0; m < shape.models; ++m) {
    problem.graph.model_name.push_back(fmt::format("m{}", m));
    problem.model_weight.push_back(1);
    problem.model_release.push_back(0);
    // Models differ in length, as networks do.
    const double scale = std::exp2(2 * random.unit());
    std::vector<double> likes;  // by further kind
    for (std::uint32_t k = 1; k < shape.kinds; ++k) likes.push_back(std::exp2(4 * random.unit() - 2));
    std::int64_t model_bytes = 0;
    std::vector<OpId> ops;
    for (std::uint32_t i = 0; i < shape.ops; ++i) {
      ops.push_back(problem.graph.addOp(fmt::format("m{}.{}", m, i)));
      const std::size_t op = ops.back().index();
      problem.graph.op_model[op] = ModelId(m);
      problem.graph.op_memory_bytes[op] = shape.memory ? 1 + random.below(1000) : 0;
      model_bytes += problem.graph.op_memory_bytes[op];
      const double gpu = scale * 1e-3 * (0.2 + random.unit());
      problem.op_seconds.push_back(gpu * std::exp2(4 * random.unit() - 1));
      problem.op_seconds.push_back(gpu);
      for (const double factor : likes)
        problem.op_seconds.push_back(gpu * factor * std::exp2(random.unit() - 0.5));
    }
    bytes = std::max(bytes, model_bytes);
    const double send = shape.transfers ? 1 : 0;
    for (std::uint32_t i = 0; i + 1 < shape.ops; ++i) {
      std::vector<OpId> to{ops[i + 1]};
      if (!shape.chain) {
        to[0] = ops[i + 1 + random.below(std::min(4u, shape.ops - i - 1))];
        const OpId second = ops[i + 1 + random.below(shape.ops - i - 1)];
        if (random.below(3) == 0 && second != to[0]) to.push_back(second);
      }
      problem.addTensor(ops[i], to, random.below(1000), send * 4e-4 * random.unit());
    }
  }
  for (std::uint32_t d = 0; d < shape.devices; ++d) {
    Device device;
    device.name = fmt::format("d{}", d);
    device.cls = ClassId(shape.devices > 1 && d == 0 ? 0 : 1 + d % shape.kinds);
    if (shape.memory) device.memory_bytes = bytes + bytes / 2;
    problem.cluster.devices.push_back(device);
  }
  const auto done = problem.finish();
  if (!done) {
    std::fprintf(stderr, "generator: %s\n", done.error().text().c_str());
    std::abort();
  }
  return problem;
}

OnlineShape randomShape(std::uint64_t seed) {
  Random random(seed, 32);
  OnlineShape shape;
  shape.models = 1 + random.below(4);
  shape.ops = 1 + random.below(12);
  shape.devices = 1 + random.below(4);
  shape.chain = random.below(2) == 0;
  shape.transfers = random.below(2) == 0;
  shape.memory = random.below(2) == 0;
  shape.link_mode = static_cast<LinkMode>(random.below(3));
  shape.per_edge = random.below(3) == 0;
  shape.kinds = 1 + random.below(3);
  return shape;
}

std::vector<OnlineEvent> randomEvents(const Problem& problem, std::uint64_t seed, std::uint32_t count,
                                      double load, bool arrivals_only) {
  Random random(seed, 33);
  const std::size_t classes = problem.cluster.classCount();
  double work = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) work += problem.op_seconds[i * classes + 1];
  const auto accelerators = static_cast<double>(std::max<std::size_t>(1, problem.deviceCount() - 1));
  const double gap = work / static_cast<double>(problem.graph.modelCount()) / accelerators / load;
  std::vector<OnlineEvent> events;
  std::vector<std::uint8_t> up(problem.deviceCount(), 1);
  std::uint32_t jobs = 0;
  double time = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    time += -gap * std::log(1 - random.unit());
    OnlineEvent event;
    event.time = time;
    const std::uint32_t kind = arrivals_only ? 100 : random.below(100);
    const std::uint32_t device = random.below(static_cast<std::uint32_t>(problem.deviceCount()));
    if (kind < 4 || (!up[device] && kind < 60)) {
      event.kind = up[device] ? EventKind::kFail : EventKind::kReturn;
      event.device = DeviceId(device);
      up[device] = !up[device];
    } else if (kind < 8) {
      event.kind = EventKind::kSlow;
      event.device = DeviceId(device);
      event.factor = 0.5 + 2 * random.unit();
    } else if (kind < 12) {
      event.kind = EventKind::kTime;
      event.op = OpId(random.below(static_cast<std::uint32_t>(problem.opCount())));
      event.cls = ClassId(random.below(static_cast<std::uint32_t>(classes)));
      event.seconds = problem.opSeconds(event.op, event.cls) * (0.5 + random.unit());
    } else {
      event.kind = EventKind::kArrive;
      event.job = fmt::format("j{}", jobs++);
      event.model = ModelId(random.below(static_cast<std::uint32_t>(problem.graph.modelCount())));
    }
    events.push_back(std::move(event));
  }
  for (std::uint32_t d = 0; d < up.size(); ++d) {
    if (up[d]) continue;
    OnlineEvent event;
    event.time = time;
    event.kind = EventKind::kReturn;
    event.device = DeviceId(d);
    events.push_back(event);
  }
  return events;
}

}  // namespace allot
