#include "flow_networks.h"

#include <algorithm>
#include <ctime>

#include "base/random.h"

namespace allot::bench {
namespace {

constexpr std::uint32_t kTypes = 50;
constexpr std::uint32_t kSlots = 10;
constexpr std::uint32_t kPreferred = 10;

void apply(FlowInstance& instance, const Arrival& arrival) {
  const std::uint32_t node = instance.addNode(arrival.supply);
  for (const auto& arc : arrival.arcs) {
    instance.addArc(arc.from == kNewNode ? node : arc.from, arc.to == kNewNode ? node : arc.to, arc.capacity,
                    arc.cost);
  }
  for (const auto& [at, amount] : arrival.more_supply) instance.supply[at] += amount;
  for (const auto& [arc, amount] : arrival.more_capacity) instance.arcs[arc].capacity += amount;
}

}  // namespace

double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Talos::Talos(std::size_t arcs, std::uint32_t devices, std::uint32_t models, bool sizes, std::uint64_t seed)
    : seed_(seed), devices_(devices), models_(models), sizes_(sizes) {
  Random random(seed, 1);
  const std::size_t ops = arcs / (devices + 2);
  for (std::uint32_t type = 0; type < kTypes; ++type) {
    const double base = 200.0 + random.below(20000);
    for (std::uint32_t device = 0; device < devices; ++device) {
      type_cost_.push_back(static_cast<std::int64_t>(base / (0.5 + 15 * random.unit() * random.unit())));
    }
  }
  instance.source = instance.addNode();
  instance.sink = instance.addNode();
  first_model_ = static_cast<std::uint32_t>(instance.supply.size());
  for (std::uint32_t i = 0; i < models; ++i) instance.addNode();
  first_unscheduled_ = static_cast<std::uint32_t>(instance.supply.size());
  for (std::uint32_t i = 0; i < models; ++i) instance.addNode();
  first_device_ = static_cast<std::uint32_t>(instance.supply.size());
  for (std::uint32_t i = 0; i < devices; ++i) instance.addNode();
  first_entry_ = static_cast<std::uint32_t>(instance.arcs.size());
  for (std::uint32_t i = 0; i < models; ++i) instance.addArc(instance.source, first_model_ + i, 0, 0);
  for (std::uint32_t i = 0; i < models; ++i)
    instance.addArc(first_unscheduled_ + i, instance.sink, kNoLimit, 0);
  const std::size_t slots = ops * 9 / 10;
  for (std::uint32_t i = 0; i < devices; ++i) {
    instance.addArc(first_device_ + i, instance.sink,
                    static_cast<std::int64_t>(slots / devices + (i < slots % devices)), 0);
  }
  for (std::size_t op = 0; op < ops; ++op)
    apply(instance, makeOp(next_++, static_cast<std::uint32_t>(op * models / ops)));
}

Arrival Talos::makeOp(std::uint64_t stream, std::uint32_t model) const {
  Random random(seed_, 100 + stream);
  const std::uint32_t type = random.below(kTypes);
  const double size = sizes_ ? 0.5 + 1.5 * random.unit() : 1.0;
  Arrival op;
  op.arcs.push_back({first_model_ + model, kNewNode, 1, 0});
  for (std::uint32_t device = 0; device < devices_; ++device) {
    const auto cost =
        static_cast<std::int64_t>(size * static_cast<double>(type_cost_[type * devices_ + device]));
    op.arcs.push_back({kNewNode, first_device_ + device, 1, cost});
  }
  op.arcs.push_back(
      {kNewNode, first_unscheduled_ + model, 1, 50000 + 1000 * static_cast<std::int64_t>(model)});
  op.more_supply = {{instance.source, 1}, {instance.sink, -1}};
  op.more_capacity = {{first_entry_ + model, 1}};
  return op;
}

Arrival Talos::arrival() {
  Random random(seed_, 99 + next_);
  Arrival op = makeOp(next_++, random.below(models_));
  apply(instance, op);
  return op;
}

Quincy::Quincy(std::size_t arcs, std::uint64_t seed) : seed_(seed) {
  const auto tasks = static_cast<std::uint32_t>(arcs / (kPreferred + 4));
  machines_ = std::max<std::uint32_t>(1, tasks * 11 / 10 / kSlots);
  racks_ = std::max<std::uint32_t>(1, machines_ / 40);
  jobs_ = std::max<std::uint32_t>(1, tasks / 50);
  instance.sink = instance.addNode();
  cluster_ = instance.addNode();
  first_rack_ = static_cast<std::uint32_t>(instance.supply.size());
  for (std::uint32_t i = 0; i < racks_; ++i) instance.addNode();
  first_machine_ = static_cast<std::uint32_t>(instance.supply.size());
  for (std::uint32_t i = 0; i < machines_; ++i) instance.addNode();
  first_job_ = static_cast<std::uint32_t>(instance.supply.size());
  for (std::uint32_t i = 0; i < jobs_; ++i) instance.addNode();
  for (std::uint32_t i = 0; i < machines_; ++i) instance.addArc(first_machine_ + i, instance.sink, kSlots, 0);
  for (std::uint32_t i = 0; i < racks_; ++i) instance.addArc(cluster_, first_rack_ + i, kNoLimit, 0);
  for (std::uint32_t i = 0; i < machines_; ++i) {
    instance.addArc(first_rack_ + i * racks_ / machines_, first_machine_ + i, kNoLimit, 0);
  }
  for (std::uint32_t i = 0; i < jobs_; ++i) instance.addArc(first_job_ + i, instance.sink, kNoLimit, 0);
  for (std::uint32_t i = 0; i < tasks; ++i) apply(instance, makeTask(next_++, i % jobs_));
}

Arrival Quincy::makeTask(std::uint64_t stream, std::uint32_t job) const {
  Random random(seed_, 100 + stream);
  Arrival task;
  task.supply = 1;
  const auto data = static_cast<std::int64_t>(100 + random.below(900));
  for (std::uint32_t i = 0; i < kPreferred; ++i) {
    task.arcs.push_back({kNewNode, first_machine_ + random.below(machines_), 1,
                         data * static_cast<std::int64_t>(random.below(100)) / 100});
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    task.arcs.push_back({kNewNode, first_rack_ + random.below(racks_), 1,
                         data + static_cast<std::int64_t>(random.below(100))});
  }
  task.arcs.push_back({kNewNode, cluster_, 1, data * 2});
  task.arcs.push_back({kNewNode, first_job_ + job, 1, 5000 + static_cast<std::int64_t>(random.below(5000))});
  task.more_supply = {{instance.sink, -1}};
  return task;
}

Arrival Quincy::arrival() {
  Random random(seed_, 99 + next_);
  Arrival task = makeTask(next_++, random.below(jobs_));
  apply(instance, task);
  return task;
}

FlowInstance netgenLike(std::size_t arcs, std::uint64_t seed) {
  Random random(seed, 1);
  FlowInstance instance;
  const auto n = static_cast<std::uint32_t>(std::max<std::size_t>(arcs / 8, 20));
  const std::uint32_t ends = n / 20;
  for (std::uint32_t i = 0; i < n; ++i) instance.addNode();
  const auto cost = [&] { return 1 + static_cast<std::int64_t>(random.below(10000)); };
  // Sources come first and sinks last; each chain carries its source's supply over nodes of its own.
  std::vector<std::uint32_t> inner(n - 2 * ends);
  for (std::uint32_t i = 0; i < inner.size(); ++i) inner[i] = ends + i;
  for (std::uint32_t i = static_cast<std::uint32_t>(inner.size()); i > 1; --i)
    std::swap(inner[i - 1], inner[random.below(i)]);
  std::size_t next = 0;
  for (std::uint32_t chain = 0; chain < ends; ++chain) {
    const auto supply = 1 + static_cast<std::int64_t>(random.below(1000));
    const std::size_t stop = inner.size() * (chain + 1) / ends;
    std::uint32_t at = chain;
    for (; next < stop; ++next) {
      instance.addArc(at, inner[next], supply, cost());
      at = inner[next];
    }
    instance.addArc(at, n - 1 - chain, supply, cost());
    instance.supply[chain] += supply;
    instance.supply[n - 1 - chain] -= supply;
  }
  while (instance.arcs.size() < arcs) {
    const std::uint32_t from = random.below(n), to = random.below(n);
    if (from != to) instance.addArc(from, to, 1 + static_cast<std::int64_t>(random.below(1000)), cost());
  }
  return instance;
}

std::vector<std::pair<std::uint32_t, std::int64_t>> costChanges(const FlowInstance& instance, double share,
                                                                std::uint64_t seed) {
  Random random(seed, 2);
  std::vector<std::pair<std::uint32_t, std::int64_t>> changes;
  const auto count = static_cast<std::size_t>(share * static_cast<double>(instance.arcs.size()));
  while (changes.size() < count) {
    const std::uint32_t arc = random.below(static_cast<std::uint32_t>(instance.arcs.size()));
    const std::int64_t cost = instance.arcs[arc].cost;
    changes.push_back({arc, static_cast<std::int64_t>(static_cast<double>(cost) * (0.5 + random.unit()))});
  }
  return changes;
}

}  // namespace allot::bench
