#include "solve/latency/barrier_modules.h"

#include <algorithm>

#include "graph/reachability.h"

namespace allot {

std::vector<BarrierModule> barrierModules(const ScheduleModel& model) {
  const std::size_t ops = model.opCount();
  // jumps[i] > 0: a net leads from before op i to behind it.
  std::vector<int> jumps(ops + 1, 0);
  for (std::size_t net = 0; net < model.netCount(); ++net) {
    std::uint32_t last = 0;
    for (const std::uint32_t consumer : model.net_consumers[net]) last = std::max(last, consumer);
    bool timed = false;
    for (std::size_t from = 0; from < model.devices; ++from) {
      for (std::size_t to = 0; to < model.devices; ++to) timed = timed || model.transfer(net, from, to) > 0;
    }
    if (!timed || last <= model.net_producer[net] + 1) continue;
    ++jumps[model.net_producer[net] + 1];
    --jumps[last];
  }
  for (std::size_t i = 0; i < ops; ++i) jumps[i + 1] += jumps[i];
  std::vector<BarrierModule> modules(1);
  std::size_t next = 0;
  const std::vector<OpId> comparable = barriers(model.problem->graph);
  for (std::uint32_t op = 0; op < ops; ++op) {
    modules.back().ops.push_back(op);
    if (next >= comparable.size() || model.op_id[op] != comparable[next]) continue;
    ++next;
    if (jumps[op] > 0) continue;
    modules.back().has_exit = true;
    modules.push_back({{op}, true, false});
  }
  // The last barrier may be the last op.
  if (modules.size() > 1 && modules.back().ops.size() == 1) modules.pop_back();
  return modules;
}

}  // namespace allot
