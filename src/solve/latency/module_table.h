// Costs of modules by the devices of the barriers at their ends, and shortest paths through them.
//
// cost(in, out): from the end of the entry barrier on `in` to the end of the exit barrier on `out`; a module
// without entry has one `in`, one without exit one `out`. Lower costs are valid bounds at any time, upper
// costs have a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/latency/barrier_modules.h"
#include "solve/latency/exact_window.h"

namespace allot {

struct ModuleCost {
  double lower = 0;
  WindowPlan plan;  // plan.end is the upper cost
  bool exact() const { return lower >= plan.end * (1 - 1e-12); }
};

struct ModuleTable {
  ModuleTable(const ScheduleModel& model, const std::vector<BarrierModule>& modules);

  struct Module {
    ExactWindow window;  // its entry stands on device 0 at first
    bool has_entry, has_exit;
    std::size_t ins, outs;
    std::vector<ModuleCost> cost;  // [in * outs + out]
    std::vector<std::uint8_t> in_runs;
  };

  std::size_t devices;
  std::vector<Module> modules;

  // The module's window with its entry on `in`.
  ExactWindow windowFrom(std::size_t module, std::size_t in) const;
  // Sum of least costs before each (module, in) and behind each (module, out), [module][device].
  struct Distances {
    std::vector<std::vector<double>> before, behind;
    double total = 0;
    std::vector<std::uint32_t> path;  // device of the barrier behind each module; the last is its out
  };
  Distances distances(bool upper) const;
};

}  // namespace allot
