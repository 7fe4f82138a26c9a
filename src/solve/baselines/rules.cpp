#include "solve/baselines/rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/baselines/rule_devices.h"
#include "solve/module_order.h"

namespace allot::baseline {
namespace {

constexpr std::size_t kNoDevice = SIZE_MAX;

// `place` holds an index into `devices` for each block. Reports the plan when every block may be and fits
// where it is.
bool report(const Problem& problem, const std::vector<Block>& blocks, const std::vector<DeviceId>& devices,
            const std::vector<std::size_t>& place, std::string_view solver, Progress& progress) {
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment.resize(problem.opCount());
  std::vector<double> used(devices.size(), 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::size_t d = place[b];
    if (d == kNoDevice || !allowed(problem, blocks[b], devices[d])) return false;
    used[d] += blocks[b].resident_bytes;
    if (used[d] > problem.memoryLimit(devices[d])) return false;
    for (const UnitId unit : blocks[b].units) {
      for (const OpId op : problem.unitOps(unit)) plan.assignment[op.index()] = devices[d];
    }
  }
  progress.plan(std::move(plan), solver);
  return true;
}

// Runs a rule `split(blocks, devices) -> place` over the accelerators and, when that gives no plan, over all
// devices.
template <class Split>
SolveResult splitStages(const Problem& problem, const Budget& budget, Progress& progress,
                        std::string_view solver, Split&& split) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const ModuleOrder order = moduleOrder(problem);
  const std::vector<Block>& blocks = order.blocks;
  std::vector<DeviceId> tried;
  for (const bool with_cpus : {false, true}) {
    const std::vector<DeviceId> devices = ruleDevices(problem, with_cpus);
    if (devices.empty() || devices == tried) continue;
    if (report(problem, blocks, devices, split(blocks, devices), solver, progress)) break;
    tried = devices;
  }
  return {};
}

// Fills the devices in order, each up to its limit, and never returns to an earlier one. The first device
// (where offloaded modules are brought to run) and the cpus keep room for the largest module still to come;
// the last device need not, because there is no disk behind it.
std::vector<std::size_t> fillInOrder(const Problem& problem, const std::vector<Block>& blocks,
                                     const std::vector<DeviceId>& devices,
                                     const std::vector<double>& limits) {
  std::vector<double> largest_after(blocks.size(), 0);
  for (std::size_t b = blocks.size(); b-- > 1;) {
    largest_after[b - 1] = std::max(largest_after[b], blocks[b].resident_bytes);
  }
  std::vector<std::size_t> place(blocks.size(), kNoDevice);
  std::size_t d = 0;
  double used = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (; d < devices.size(); ++d, used = 0) {
      const bool keeps_room =
          d + 1 < devices.size() && (d == 0 || !problem.cluster.isAccelerator(devices[d]));
      const double room = limits[d] - (keeps_room ? largest_after[b] : 0);
      if (used + blocks[b].resident_bytes <= room && allowed(problem, blocks[b], devices[d])) break;
    }
    if (d == devices.size()) break;
    used += blocks[b].resident_bytes;
    place[b] = d;
  }
  return place;
}

std::vector<double> memoryLimits(const Problem& problem, const std::vector<DeviceId>& devices) {
  std::vector<double> limits;
  for (const DeviceId device : devices) limits.push_back(problem.memoryLimit(device));
  return limits;
}

// Consecutive runs of blocks: counts[d] of them on device d.
std::vector<std::size_t> placeByCounts(const std::vector<std::size_t>& counts) {
  std::vector<std::size_t> place;
  for (std::size_t d = 0; d < counts.size(); ++d) place.insert(place.end(), counts[d], d);
  return place;
}

std::vector<std::size_t> splitEvenly(const std::vector<Block>& blocks, const std::vector<DeviceId>& devices) {
  std::size_t ops = 0;
  for (const Block& block : blocks) ops += block.ops;
  // The remainder goes to the stages before the last, the nearest first.
  const std::size_t stages = devices.size();
  std::vector<std::size_t> share(stages, ops / stages);
  for (std::size_t i = 0; i < ops % stages; ++i) ++share[stages - 2 - i];
  std::vector<std::size_t> place;
  std::size_t stage = 0, begin = 0, stage_end = share[0];
  for (const Block& block : blocks) {
    // A block of several ops belongs to the stage of its first one.
    while (begin >= stage_end && stage + 1 < stages) stage_end += share[++stage];
    place.push_back(stage);
    begin += block.ops;
  }
  return place;
}

// Chains on chains: the smallest largest part that some cut into consecutive parts reaches, found by
// bisection; then every stage takes as much as that allows, so that late stages may stay empty.
std::vector<std::size_t> splitByParameters(const std::vector<Block>& blocks,
                                           const std::vector<DeviceId>& devices) {
  const bool no_weights =
      std::all_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.weight_bytes == 0; });
  std::vector<std::int64_t> weight;
  for (const Block& block : blocks) {
    weight.push_back(no_weights ? static_cast<std::int64_t>(block.ops) : block.weight_bytes);
  }
  const auto fill = [&](std::int64_t most) {
    std::vector<std::size_t> counts(1, 0);
    std::int64_t part = 0;
    for (const std::int64_t w : weight) {
      if (counts.back() > 0 && part + w > most) {
        counts.push_back(0);
        part = 0;
      }
      ++counts.back();
      part += w;
    }
    return counts;
  };
  std::int64_t low = *std::max_element(weight.begin(), weight.end());
  std::int64_t high = std::accumulate(weight.begin(), weight.end(), std::int64_t{0});
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fill(middle).size() <= devices.size())
      high = middle;
    else
      low = middle + 1;
  }
  return placeByCounts(fill(low));
}

// Blocks in proportion to memory by largest remainder, ties to the earlier device. A device without a limit
// counts like the largest limit there is.
std::vector<std::size_t> splitByMemory(std::size_t blocks, std::vector<double> memory) {
  double largest = 0;
  for (const double m : memory) largest = std::isfinite(m) ? std::max(largest, m) : largest;
  if (largest == 0) largest = 1;
  double total = 0;
  for (double& m : memory) total += m = std::isfinite(m) ? m : largest;
  if (total == 0) return std::vector<std::size_t>(blocks, 0);
  std::vector<std::size_t> counts(memory.size());
  std::vector<double> remainder(memory.size());
  std::size_t given = 0;
  for (std::size_t d = 0; d < memory.size(); ++d) {
    const double share = static_cast<double>(blocks) * (memory[d] / total);
    counts[d] = std::min(static_cast<std::size_t>(share), blocks - given);
    remainder[d] = share - static_cast<double>(counts[d]);
    given += counts[d];
  }
  std::vector<std::size_t> by_remainder(memory.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  for (std::size_t i = 0; given < blocks; ++i, ++given) ++counts[by_remainder[i % by_remainder.size()]];
  return placeByCounts(counts);
}

}  // namespace

SolveResult singleDevice(const Problem& problem, const Budget& budget, Progress& progress) {
  // Where tensors count, the order that holds little comes first; the usual one may be faster, or not fit.
  const bool ordered = problem.liveMemory() && problem.goal() != Goal::kThroughput;
  std::vector<double> order(ordered ? problem.opCount() : 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    order[problem.graph.referenceOrder()[i].index()] = static_cast<double>(i);
  double bytes = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) bytes += problem.residentBytes(OpId(i));
  std::vector<std::pair<ClassId, double>> seen;  // devices alike in both have the same plan value
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (budget.stopped()) return {SolveEnd::kStopped, {}};
    const DeviceId device(d);
    if (bytes > problem.memoryLimit(device)) continue;
    bool all_allowed = true;
    for (std::size_t u = 0; u < problem.unitCount() && all_allowed; ++u)
      all_allowed = problem.allowed(UnitId(u), device);
    if (!all_allowed) continue;
    const std::pair kind{problem.cluster.devices[d].cls, problem.memoryLimit(device)};
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
    seen.push_back(kind);
    Plan plan;
    plan.modes = problem.modes;
    plan.assignment.assign(problem.opCount(), device);
    if (ordered) {
      Plan in_order = plan;
      in_order.start = order;
      progress.plan(std::move(in_order), "single");
    }
    progress.plan(std::move(plan), "single");
  }
  return {};
}

SolveResult accelerateSequential(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const ModuleOrder order = moduleOrder(problem);
  const std::vector<Block>& blocks = order.blocks;
  const std::vector<DeviceId> devices = ruleDevices(problem, true);
  const std::vector<double> limits = memoryLimits(problem, devices);
  report(problem, blocks, devices, fillInOrder(problem, blocks, devices, limits), "accelerate-sequential",
         progress);
  return {};
}

SolveResult accelerateBalanced(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const ModuleOrder order = moduleOrder(problem);
  const std::vector<Block>& blocks = order.blocks;
  const std::vector<DeviceId> devices = ruleDevices(problem, true);
  std::vector<double> limits = memoryLimits(problem, devices);

  // Each accelerator but the last may hold an equal share and a buffer of 1.25 times the larger of the
  // largest block that cannot be split and the mean leaf (an op that holds something).
  double total = 0, largest_block = 0;
  std::size_t leaves = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    total += problem.residentBytes(OpId(i));
    leaves += problem.residentBytes(OpId(i)) > 0 ? 1 : 0;
  }
  for (const Block& block : blocks) {
    if (block.ops > 1) largest_block = std::max(largest_block, block.resident_bytes);
  }
  const double mean_leaf = leaves > 0 ? total / static_cast<double>(leaves) : 0;
  const std::size_t accelerators = ruleDevices(problem, false).size();
  for (std::size_t d = 0; d + 1 < accelerators; ++d) {
    const double share =
        total / static_cast<double>(accelerators) + 1.25 * std::max(largest_block, mean_leaf);
    limits[d] = std::min(limits[d], share);
  }
  report(problem, blocks, devices, fillInOrder(problem, blocks, devices, limits), "accelerate-balanced",
         progress);
  return {};
}

SolveResult deepspeedParameters(const Problem& problem, const Budget& budget, Progress& progress) {
  return splitStages(problem, budget, progress, "deepspeed-parameters", splitByParameters);
}

SolveResult evenSplit(const Problem& problem, const Budget& budget, Progress& progress) {
  return splitStages(problem, budget, progress, "even-split", splitEvenly);
}

SolveResult memoryProportional(const Problem& problem, const Budget& budget, Progress& progress) {
  return splitStages(problem, budget, progress, "memory-proportional",
                     [&](const std::vector<Block>& blocks, const std::vector<DeviceId>& devices) {
                       return splitByMemory(blocks.size(), memoryLimits(problem, devices));
                     });
}

// The prefix ends at the first block that the accelerator cannot run or cannot hold at 1.5 times its size;
// what comes after is not looked at again, even where it would fit.
SolveResult ortBudget(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  constexpr double kSafety = 1.5;
  const std::vector<DeviceId> accelerators = devicesOfKind(problem, DeviceKind::kAccelerator);
  const std::vector<DeviceId> cpus = devicesOfKind(problem, DeviceKind::kCpu);
  if (accelerators.empty()) return {SolveEnd::kNotSuitable, {}};
  std::vector<DeviceId> devices{accelerators.front()};
  if (!cpus.empty())
    devices.push_back(cpus.front());
  else if (accelerators.size() > 1)
    devices.push_back(accelerators[1]);

  const ModuleOrder order = moduleOrder(problem);
  const std::vector<Block>& blocks = order.blocks;
  std::vector<std::size_t> place(blocks.size(), devices.size() > 1 ? 1 : kNoDevice);
  double used = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    used += kSafety * blocks[b].resident_bytes;
    if (used > problem.memoryLimit(devices[0]) || !allowed(problem, blocks[b], devices[0])) break;
    place[b] = 0;
  }
  report(problem, blocks, devices, place, "ort-budget", progress);
  return {};
}

}  // namespace allot::baseline
