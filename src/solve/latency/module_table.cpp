#include "solve/latency/module_table.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Earliest end of every op on every device, each op on its way on its best device.
std::vector<double> windowEnds(const ExactWindow& window) {
  const std::size_t devices = window.devices;
  std::vector<double> head(window.opCount() * devices, 0), end(window.opCount() * devices, kNever);
  std::vector<std::vector<std::uint32_t>> inputs(window.opCount());
  for (std::uint32_t n = 0; n < window.nets.size(); ++n) {
    for (const std::uint32_t consumer : window.nets[n].consumers) inputs[consumer].push_back(n);
  }
  for (std::size_t op = 0; op < window.opCount(); ++op) {
    for (std::size_t d = 0; d < devices; ++d) {
      if (window.done_on[op] != ExactWindow::kToDo) {
        if (window.done_on[op] == d) end[op * devices + d] = window.done_at[op];
        continue;
      }
      if (!(window.time(op, d) < kCannotRun)) continue;
      double start = window.time(op, d) > 0 ? window.device_free[d] : 0;
      for (const std::uint32_t n : inputs[op]) {
        double earliest = kNever;
        for (std::size_t from = 0; from < devices; ++from)
          earliest = std::min(earliest, end[window.nets[n].producer * devices + from] +
                                            window.nets[n].seconds[from * devices + d]);
        start = std::max(start, earliest);
      }
      end[op * devices + d] = start + window.time(op, d);
    }
  }
  return end;
}

}  // namespace

ModuleTable::ModuleTable(const ScheduleModel& model, const std::vector<BarrierModule>& parts)
    : devices(model.devices) {
  for (const BarrierModule& part : parts) {
    Module module{windowOf(model, part.ops),
                  part.has_entry,
                  part.has_exit,
                  part.has_entry ? devices : 1,
                  part.has_exit ? devices : 1,
                  {},
                  {}};
    if (part.has_exit) module.window.exit = static_cast<std::uint32_t>(part.ops.size() - 1);
    module.cost.resize(module.ins * module.outs);
    modules.push_back(std::move(module));
    Module& added = modules.back();
    for (std::size_t in = 0; in < added.ins; ++in) {
      added.in_runs.push_back(!added.has_entry || added.window.time(0, in) < kCannotRun);
      if (!added.in_runs[in]) {
        for (std::size_t out = 0; out < added.outs; ++out) added.cost[in * added.outs + out].lower = kNever;
        continue;
      }
      const ExactWindow window = windowFrom(modules.size() - 1, in);
      const std::vector<double> end = windowEnds(window);
      for (std::size_t out = 0; out < added.outs; ++out) {
        double& lower = added.cost[in * added.outs + out].lower;
        if (added.has_exit) {
          lower = end[(window.opCount() - 1) * devices + out];
          continue;
        }
        for (std::size_t op = 0; op < window.opCount(); ++op)
          lower = std::max(lower,
                           *std::min_element(end.begin() + static_cast<std::ptrdiff_t>(op * devices),
                                             end.begin() + static_cast<std::ptrdiff_t>((op + 1) * devices)));
      }
    }
  }
}

ExactWindow ModuleTable::windowFrom(std::size_t module, std::size_t in) const {
  ExactWindow window = modules[module].window;
  if (!modules[module].has_entry) return window;
  window.done_on[0] = static_cast<std::uint32_t>(in);
  window.done_at[0] = 0;
  if (window.time(0, in) > 0) window.device_free[in] = window.launch[in];
  return window;
}

ModuleTable::Distances ModuleTable::distances(bool upper) const {
  const auto costOf = [&](const Module& module, std::size_t in, std::size_t out) {
    const ModuleCost& cost = module.cost[in * module.outs + out];
    return upper ? cost.plan.end : cost.lower;
  };
  Distances found;
  const std::size_t count = modules.size();
  found.before.resize(count);
  found.behind.resize(count);
  std::vector<double> at(1, 0.0);
  for (std::size_t m = 0; m < count; ++m) {
    found.before[m] = at;
    std::vector<double> next(modules[m].outs, kNever);
    for (std::size_t in = 0; in < modules[m].ins; ++in) {
      for (std::size_t out = 0; out < modules[m].outs; ++out)
        next[out] = std::min(next[out], at[in] + costOf(modules[m], in, out));
    }
    at = std::move(next);
  }
  std::vector<double> behind(modules.back().outs, 0.0);
  for (std::size_t m = count; m-- > 0;) {
    found.behind[m] = behind;
    std::vector<double> before(modules[m].ins, kNever);
    for (std::size_t in = 0; in < modules[m].ins; ++in) {
      for (std::size_t out = 0; out < modules[m].outs; ++out)
        before[in] = std::min(before[in], costOf(modules[m], in, out) + behind[out]);
    }
    behind = std::move(before);
  }
  found.total = behind.front();
  std::size_t in = 0;
  for (std::size_t m = 0; m < count; ++m) {
    std::size_t best = 0;
    for (std::size_t out = 1; out < modules[m].outs; ++out) {
      if (costOf(modules[m], in, out) + found.behind[m][out] <
          costOf(modules[m], in, best) + found.behind[m][best])
        best = out;
    }
    found.path.push_back(static_cast<std::uint32_t>(best));
    in = best;
  }
  return found;
}

}  // namespace allot
