#include "support/large_graphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace allot {
namespace {

struct Shape {
  std::uint32_t devices = 8, hosts = 1, models = 1;
  double transfer = 0.2;
};

class Draft {
 public:
  explicit Draft(const Shape& shape) : shape_(shape), random_(7, 1) {
    problem_.cluster.classes = {{"gpu", DeviceKind::kAccelerator, 0, 1}, {"cpu", DeviceKind::kCpu, 0, 1}};
    for (std::uint32_t h = 0; h < shape.hosts; ++h)
      problem_.cluster.host_name.push_back("host" + std::to_string(h));
    for (std::uint32_t d = 0; d < shape.devices; ++d) {
      const bool cpu = d + 1 == shape.devices;
      problem_.cluster.devices.push_back(
          {"d" + std::to_string(d), ClassId(cpu ? 1 : 0), {}, HostId(d % shape.hosts)});
    }
    for (std::uint32_t m = 0; m < shape.models; ++m) {
      problem_.graph.model_name.push_back("m" + std::to_string(m));
      problem_.model_weight.push_back(1 + m % 3);
      problem_.model_release.push_back(0.1 * m);
    }
  }

  OpId op(std::uint32_t model = 0, bool free = false) {
    const OpId id = problem_.graph.addOp("o" + std::to_string(problem_.opCount()));
    const double seconds = free ? 0 : random_.unit();
    problem_.op_seconds.push_back(seconds);
    problem_.op_seconds.push_back(seconds * (1 + 4 * random_.unit()));
    problem_.graph.op_memory_bytes.back() = 1 + random_.below(100);
    problem_.graph.op_model.back() = ModelId(model);
    return id;
  }
  std::vector<OpId> ops(std::uint32_t count, bool free = false) {
    std::vector<OpId> made;
    for (std::uint32_t i = 0; i < count; ++i) made.push_back(op(0, free));
    return made;
  }
  void tensor(OpId from, std::vector<OpId> to) {
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
    if (!to.empty()) problem_.addTensor(from, to, 1 + random_.below(50), shape_.transfer * random_.unit());
  }
  Random& random() { return random_; }

  Problem finish(const Modes& modes) {
    problem_.modes = modes;
    const auto done = problem_.finish();
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().text());
    return std::move(problem_);
  }

 private:
  Shape shape_;
  Random random_;
  Problem problem_;
};

// A root that all read by one tensor each, or by a single one, and, where `joined`, an op that reads them
// all.
// `free`: the others take no time.
Draft star(std::uint32_t leaves, bool one_tensor, bool joined, bool free = false) {
  Draft draft({});
  const OpId root = draft.op();
  const std::vector<OpId> all = draft.ops(leaves, free);
  if (one_tensor) draft.tensor(root, all);
  for (const OpId leaf : all) {
    if (!one_tensor) draft.tensor(root, {leaf});
  }
  if (!joined) return draft;
  const OpId sink = draft.op();
  for (const OpId leaf : all) draft.tensor(leaf, {sink});
  return draft;
}

// Every op reads all before it.
Draft complete(std::uint32_t count) {
  Draft draft({.transfer = 0.1});
  const std::vector<OpId> all = draft.ops(count);
  for (std::uint32_t i = 0; i + 1 < count; ++i) draft.tensor(all[i], {all.begin() + i + 1, all.end()});
  return draft;
}

// Each op is read by one or two of the next `reach`.
Draft loose(std::uint32_t count, std::uint32_t reach, const Shape& shape) {
  Draft draft(shape);
  const std::vector<OpId> all = draft.ops(count);
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    const auto next = [&] { return all[std::min(count - 1, i + 1 + draft.random().below(reach))]; };
    const OpId first = next();
    draft.tensor(all[i], {first, next()});
  }
  return draft;
}

Draft grid(std::uint32_t side) {
  Draft draft({});
  const std::vector<OpId> all = draft.ops(side * side);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    std::vector<OpId> readers;
    if (i % side + 1 < side) readers.push_back(all[i + 1]);
    if (i + side < all.size()) readers.push_back(all[i + side]);
    draft.tensor(all[i], readers);
  }
  return draft;
}

Draft chainsOfModels(std::uint32_t models, std::uint32_t length) {
  Draft draft({.devices = 3, .models = models});
  for (std::uint32_t m = 0; m < models; ++m) {
    OpId last = draft.op(m);
    for (std::uint32_t i = 1; i < length; ++i) {
      const OpId next = draft.op(m);
      draft.tensor(last, {next});
      last = next;
    }
  }
  return draft;
}

}  // namespace

std::vector<LargeGraph> largeGraphs(const Modes& modes, double size) {
  const auto count = [&](double n) { return static_cast<std::uint32_t>(n * size); };
  std::vector<LargeGraph> graphs;
  const auto add = [&](const char* name, Draft draft) { graphs.push_back({name, draft.finish(modes)}); };
  add("star of many tensors", star(count(20'000), false, false));
  add("star of one tensor", star(count(20'000), true, false));
  add("double star", star(count(10'000), false, true));
  add("double star of free ops", star(count(10'000), true, true, true));
  add("complete graph", complete(static_cast<std::uint32_t>(500 * std::sqrt(size))));
  add("chain", loose(count(20'000), 1, {}));
  add("grid", grid(static_cast<std::uint32_t>(100 * std::sqrt(size))));
  add("many devices", loose(count(1'000), 20, {.devices = 64, .hosts = 1}));
  add("many hosts", loose(count(1'000), 20, {.devices = 128, .hosts = 32}));
  add("many models", chainsOfModels(20, count(100)));
  return graphs;
}

}  // namespace allot
