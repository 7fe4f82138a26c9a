#include "solve/latency/barrier_modules.h"

#include <algorithm>

#include "graph/reachability.h"

namespace allot {
namespace {

// An edge that takes time and leads over at least one comparable op.
struct Jump {
  std::uint32_t from, to;
  std::uint32_t span() const { return to - from; }
};

std::vector<Jump> jumpsOf(const ScheduleModel& model) {
  std::vector<Jump> jumps;
  for (std::size_t net = 0; net < model.netCount(); ++net) {
    bool timed = false;
    for (std::size_t from = 0; from < model.devices; ++from) {
      for (std::size_t to = 0; to < model.devices; ++to) timed = timed || model.transfer(net, from, to) > 0;
    }
    if (!timed) continue;
    for (const std::uint32_t consumer : model.net_consumers[net]) {
      if (consumer > model.net_producer[net] + 1) jumps.push_back({model.net_producer[net], consumer});
    }
  }
  return jumps;
}

// Cuts at comparable ops over which no jump of at most `longest` ops leads.
std::vector<BarrierModule> cut(const std::vector<std::uint8_t>& comparable, const std::vector<Jump>& jumps,
                               std::uint32_t longest, bool& dropped) {
  const std::size_t ops = comparable.size();
  std::vector<int> kept(ops + 1, 0), over(ops + 1, 0);
  for (const Jump& jump : jumps) {
    std::vector<int>& count = jump.span() <= longest ? kept : over;
    ++count[jump.from + 1];
    --count[jump.to];
  }
  for (std::size_t i = 0; i < ops; ++i) kept[i + 1] += kept[i], over[i + 1] += over[i];
  std::vector<BarrierModule> modules(1);
  dropped = false;
  for (std::uint32_t op = 0; op < ops; ++op) {
    modules.back().ops.push_back(op);
    if (!comparable[op] || kept[op] > 0) continue;
    dropped = dropped || over[op] > 0;
    modules.back().has_exit = true;
    modules.push_back({{op}, true, false});
  }
  // The last barrier may be the last op.
  if (modules.size() > 1 && modules.back().ops.size() == 1) modules.pop_back();
  return modules;
}

std::size_t largest(const std::vector<BarrierModule>& modules) {
  std::size_t most = 0;
  for (const BarrierModule& module : modules) most = std::max(most, module.ops.size());
  return most;
}

}  // namespace

Modules barrierModules(const ScheduleModel& model) {
  std::vector<std::uint8_t> comparable(model.opCount(), 0);
  for (const OpId op : barriers(model.problem->graph)) comparable[model.problem->graph.position(op)] = 1;
  const std::vector<Jump> jumps = jumpsOf(model);
  std::vector<std::uint32_t> spans{0};
  for (const Jump& jump : jumps) spans.push_back(jump.span());
  std::sort(spans.begin(), spans.end(), std::greater<>());
  spans.erase(std::unique(spans.begin(), spans.end()), spans.end());
  const auto modulesFor = [&](std::uint32_t span) {
    Modules found;
    found.parts = cut(comparable, jumps, span, found.dropped_jumps);
    return found;
  };
  // Fewer jumps kept, smaller modules: the longest that leaves them small enough.
  const std::size_t wanted = std::max(kWantedModule, largest(modulesFor(0).parts));
  std::size_t low = 0, high = spans.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (largest(modulesFor(spans[middle]).parts) <= wanted)
      high = middle;
    else
      low = middle + 1;
  }
  return modulesFor(spans[low]);
}

}  // namespace allot
