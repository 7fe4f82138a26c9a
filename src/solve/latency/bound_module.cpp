#include "solve/latency/bound_module.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace allot {

BoundModule::BoundModule(const ScheduleModel& model, std::uint32_t entry,
                         std::span<const std::uint32_t> inner, std::uint32_t exit)
    : devices(model.devices), link_mode(model.link_mode), has_entry(entry != kNone), has_exit(exit != kNone) {
  if (has_entry) op.push_back(entry);
  op.insert(op.end(), inner.begin(), inner.end());
  if (has_exit) op.push_back(exit);
  std::unordered_map<std::uint32_t, std::uint32_t> local, local_unit;
  std::vector<std::vector<std::uint32_t>> members;
  for (std::uint32_t i = 0; i < op.size(); ++i) {
    local[op[i]] = i;
    const auto [found, added] =
        local_unit.emplace(model.unit[op[i]], static_cast<std::uint32_t>(members.size()));
    if (added) members.emplace_back();
    members[found->second].push_back(i);
    unit.push_back(found->second);
    const bool is_exit = has_exit && i + 1 == op.size();
    for (std::size_t d = 0; d < devices; ++d) {
      const double time = model.time(op[i], d);
      const bool runs = time < kCannotRun;
      seconds.push_back(runs && is_exit ? 0 : time);
      busy.push_back(runs && time > 0 && !is_exit ? time + model.launch[d] : 0);
    }
  }
  for (const auto& ops : members) {
    unit_ops.items.insert(unit_ops.items.end(), ops.begin(), ops.end());
    unit_ops.closeRow();
    std::uint32_t mask = 0;
    for (std::size_t d = 0; d < devices; ++d) {
      if (model.runs(op[ops.front()], d)) mask |= 1u << d;
    }
    unit_devices.push_back(mask);
    unit_bytes.push_back(model.unit_bytes[model.unit[op[ops.front()]]]);
  }
  memory = model.memory;
  const double total = std::accumulate(unit_bytes.begin(), unit_bytes.end(), 0.0);
  memory_binds = std::any_of(memory.begin(), memory.end(), [&](double limit) { return total > limit; });
  std::vector<std::vector<std::uint32_t>> in(op.size());
  for (std::uint32_t i = 0; i < op.size(); ++i) {
    if (!(has_exit && i + 1 == op.size())) {
      for (const std::uint32_t output : model.outputs[op[i]]) {
        bool used = false;
        for (const std::uint32_t consumer : model.net_consumers[output]) {
          const auto found = local.find(consumer);
          if (found == local.end()) continue;
          const std::uint32_t j = found->second;
          const auto edge = static_cast<std::uint32_t>(edges.size());
          edges.push_back({static_cast<std::uint32_t>(net_from.size()), i, j});
          edges_out.items.push_back(edge);
          in[j].push_back(edge);
          for (std::size_t from = 0; from < devices; ++from) {
            for (std::size_t to = 0; to < devices; ++to) {
              const bool waits = from == to && model.runs(op[i], from) && model.runs(op[j], to) &&
                                 model.time(op[i], from) > 0 && model.time(op[j], to) > 0;
              delay.push_back(waits ? model.launch[from] : model.transfer(output, from, to));
            }
          }
          used = true;
        }
        if (!used) continue;
        nets_out.items.push_back(static_cast<std::uint32_t>(net_from.size()));
        model_net.push_back(output);
        net_from.push_back(i);
        for (std::size_t from = 0; from < devices; ++from) {
          for (std::size_t to = 0; to < devices; ++to)
            net_seconds.push_back(model.transfer(output, from, to));
        }
      }
    }
    edges_out.closeRow();
    nets_out.closeRow();
  }
  for (const auto& row : in) {
    edges_in.items.insert(edges_in.items.end(), row.begin(), row.end());
    edges_in.closeRow();
  }
}

}  // namespace allot
