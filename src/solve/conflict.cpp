// Why no plan can exist: facts that are easy to see.
#include <fmt/format.h>

#include <algorithm>

#include "allot/solve.h"
#include "base/units.h"

namespace allot {
namespace {

std::string opText(const Problem& problem, UnitId unit) {
  const auto ops = problem.unitOps(unit);
  const std::string& first = problem.graph.op_name[ops.front().index()];
  return ops.size() == 1 ? fmt::format("op \"{}\"", first)
                         : fmt::format("op \"{}\" and {} that must share its device", first, ops.size() - 1);
}

// What takes each device from the unit.
std::vector<std::string> reasonsOfPlace(const Problem& problem, UnitId unit) {
  std::vector<std::string> facts{fmt::format("{}: no device is left", opText(problem, unit))};
  double largest = 0;  // that an op needs more than some device has
  for (const OpId op : problem.unitOps(unit)) {
    const std::string& name = problem.graph.op_name[op.index()];
    for (std::size_t c = 0; c < problem.cluster.classCount() && facts.size() < 12; ++c) {
      if (problem.opSeconds(op, ClassId(c)) == kCannotRun) {
        facts.push_back(
            fmt::format("op \"{}\" cannot run on class {}", name, problem.cluster.classes[c].name));
      }
    }
    for (const auto& [pinned, device] : problem.constraints.pin) {
      if (pinned == op)
        facts.push_back(
            fmt::format("op \"{}\" is pinned to {}", name, problem.cluster.devices[device.index()].name));
    }
    for (const auto& [barred, device] : problem.constraints.forbid) {
      if (barred == op)
        facts.push_back(
            fmt::format("op \"{}\" is forbidden on {}", name, problem.cluster.devices[device.index()].name));
    }
    for (const Problem::MemoryBar& bar : problem.memoryBars()) {
      if (bar.op == op) largest = std::max(largest, bar.bytes);
      if (bar.op == op && facts.size() < 12) {
        facts.push_back(fmt::format("op \"{}\" needs {} while it runs, {} may hold {}", name,
                                    bytesText(bar.bytes), problem.cluster.devices[bar.device.index()].name,
                                    bytesText(problem.memoryLimit(bar.device))));
      }
    }
  }
  if (largest > 0)
    facts.push_back(
        fmt::format("it fits with a device that may hold {}, or with smaller inputs", bytesText(largest)));
  return facts;
}

// Of the units that no device is left for, the one that lacks most memory; `unit` where memory is not the
// reason.
UnitId neediest(const Problem& problem, UnitId unit) {
  double most = 0;
  for (const Problem::MemoryBar& bar : problem.memoryBars()) {
    if (bar.bytes <= most) continue;
    const UnitId other = problem.unit(bar.op);
    bool any = false;
    for (std::size_t d = 0; d < problem.deviceCount() && !any; ++d) any = problem.allowed(other, DeviceId(d));
    if (any) continue;
    most = bar.bytes;
    unit = other;
  }
  return unit;
}

}  // namespace

std::optional<Conflict> findConflict(const Problem& problem) {
  double total = 0, total_limit = 0;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) total_limit += problem.memoryLimit(DeviceId(d));
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    double bytes = 0;
    for (const OpId op : problem.unitOps(UnitId(u))) bytes += problem.residentBytes(op);
    total += bytes;
    bool any = false;
    double room = -1;
    DeviceId largest;
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      if (!problem.allowed(UnitId(u), DeviceId(d))) continue;
      any = true;
      if (problem.memoryLimit(DeviceId(d)) > room) {
        room = problem.memoryLimit(DeviceId(d));
        largest = DeviceId(d);
      }
    }
    if (!any) return Conflict{reasonsOfPlace(problem, neediest(problem, UnitId(u)))};
    if (bytes > room) {
      return Conflict{{fmt::format(
          "{} needs {} ({:.0f} bytes); {}, the largest device it may run on, may hold {}: {} are missing",
          opText(problem, UnitId(u)), bytesText(bytes), bytes, problem.cluster.devices[largest.index()].name,
          bytesText(room), bytesText(bytes - room))}};
    }
  }
  if (total > total_limit) {
    return Conflict{
        {fmt::format("all ops together need {} ({:.0f} bytes), all devices may hold {}: {} are missing",
                     bytesText(total), total, bytesText(total_limit), bytesText(total - total_limit))}};
  }
  return std::nullopt;
}

}  // namespace allot
