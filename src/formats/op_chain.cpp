#include "formats/op_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace allot {
namespace {

constexpr double kLargestSpeedup = 1e6;

struct TwoTimes {
  double cpu = 0, gpu = 0;
};

// Mean speed-ups of the chain's own types, under those given.
std::vector<double> typeSpeedups(const OpChain& chain, const TypeSpeedups& types) {
  TypeSpeedups known;
  for (const auto& [name, speedup] : types) {
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('/', begin), name.size());
      known.emplace(name.substr(begin, end - begin), speedup);
      begin = end + 1;
    }
    known.insert_or_assign(name, speedup);
  }
  std::unordered_map<std::string_view, TwoTimes> sums;
  for (const ChainOp& op : chain.ops) {
    TwoTimes& sum = sums[op.type];
    sum.cpu += op.cpu_seconds;
    sum.gpu += op.gpu_seconds;
  }
  std::vector<double> speedup;
  speedup.reserve(chain.ops.size());
  for (const ChainOp& op : chain.ops) {
    const auto given = known.find(op.type);
    const TwoTimes& sum = sums[op.type];
    speedup.push_back(given != known.end() ? given->second : speedupOf(sum.cpu, sum.gpu));
  }
  return speedup;
}

// Which of the two measured times a class of the cluster takes; nothing where that is not clear.
std::vector<std::optional<bool>> gpuClasses(const Cluster& cluster) {
  const auto named = [&](std::string_view name) {
    return std::any_of(cluster.classes.begin(), cluster.classes.end(),
                       [&](const DeviceClass& cls) { return cls.name == name; });
  };
  const bool by_name = named("cpu") || named("gpu");
  std::vector<std::optional<bool>> gpu;
  for (const DeviceClass& cls : cluster.classes) {
    if (!by_name)
      gpu.emplace_back(cls.kind == DeviceKind::kAccelerator);
    else if (cls.name == "cpu" || cls.name == "gpu")
      gpu.emplace_back(cls.name == "gpu");
    else
      gpu.emplace_back();
  }
  return gpu;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Cluster cpuAndGpu() {
  Cluster cluster;
  cluster.classes.push_back({.name = "cpu", .kind = DeviceKind::kCpu});
  cluster.classes.push_back({.name = "gpu"});
  cluster.devices.push_back({"cpu0", ClassId(0), std::nullopt, HostId()});
  cluster.devices.push_back({"gpu0", ClassId(1), std::nullopt, HostId()});
  return cluster;
}

}  // namespace

double speedupOf(double cpu_seconds, double gpu_seconds) {
  if (cpu_seconds == 0 && gpu_seconds == 0) return 1;
  const double ratio = gpu_seconds > 0 ? cpu_seconds / gpu_seconds : kLargestSpeedup;
  return std::clamp(ratio, 1 / kLargestSpeedup, kLargestSpeedup);
}

OpChain packChain(const OpChain& chain, const PackRule& rule, const TypeSpeedups& types) {
  const std::size_t n = chain.ops.size();
  // Without a clock the ops follow one another without gaps.
  std::vector<double> cpu_start(n + 1, 0), gpu_start(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const ChainOp& op = chain.ops[i];
    if (chain.has_clock) {
      cpu_start[i] = op.cpu_start;
      gpu_start[i] = op.gpu_start;
    }
    cpu_start[i + 1] = cpu_start[i] + op.cpu_seconds;
    gpu_start[i + 1] = gpu_start[i] + op.gpu_seconds;
  }
  const std::vector<double> speedup = typeSpeedups(chain, types);
  std::vector<std::size_t> begins = packBySpeedup(speedup, std::span(cpu_start).first(n), rule);
  const std::size_t groups = begins.size();
  begins.push_back(n);
  OpChain packed{chain.model, chain.has_clock, {}};
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t begin = begins[g], end = begins[g + 1];
    ChainOp group = chain.ops[begin];
    if (end - begin > 1) group.number += fmt::format("-{}", chain.ops[end - 1].number);
    // Clocks of hostile files may run backwards.
    group.cpu_seconds = std::max(0.0, cpu_start[end] - cpu_start[begin]);
    group.gpu_seconds = std::max(0.0, gpu_start[end] - gpu_start[begin]);
    group.loading = std::all_of(chain.ops.begin() + static_cast<std::ptrdiff_t>(begin),
                                chain.ops.begin() + static_cast<std::ptrdiff_t>(end),
                                [](const ChainOp& op) { return op.loading; });
    packed.ops.push_back(std::move(group));
  }
  return packed;
}

Result<Problem> chainProblem(std::vector<OpChain> chains, std::string name, const ReadOptions& options,
                             const TypeSpeedups& types, const Cluster* cluster, Warnings& warnings) {
  Problem problem;
  problem.name = std::move(name);
  problem.costs = fmt::format("measured ({})", problem.name);
  problem.cluster = cluster != nullptr ? *cluster : cpuAndGpu();
  problem.modes.goal = Goal::kCompletion;
  const std::vector<std::optional<bool>> on_gpu = gpuClasses(problem.cluster);
  for (std::size_t c = 0; c < on_gpu.size(); ++c) {
    if (on_gpu[c]) continue;
    return badInput(fmt::format("class \"{}\"", problem.cluster.classes[c].name),
                    "the times of the ops are those of a cpu and a gpu",
                    "call the classes of --cluster \"cpu\" and \"gpu\"");
  }
  // A cluster without links says nothing of transfers; then they take no time, as without a cluster.
  const double transfer = problem.cluster.links.empty() ? 0 : std::nan("");
  const bool several = chains.size() > 1;
  for (OpChain& chain : chains) {
    const std::string whose = several ? chain.model + ": " : "";
    if (options.pack) {
      const std::size_t before = chain.ops.size();
      chain = packChain(chain, *options.pack, types);
      warnings.push_back(fmt::format("{}{} packed into {}", whose, counted(before, "op"),
                                     counted(chain.ops.size(), "group")));
    }
    const auto loading =
        std::count_if(chain.ops.begin(), chain.ops.end(), [](const ChainOp& op) { return op.loading; });
    if (loading > 0) {
      const std::string what = counted(static_cast<std::size_t>(loading), options.pack ? "group" : "op");
      warnings.push_back(
          fmt::format("{}{} of phase load left out: fed to the model, no part of it", whose, what));
    }
    const ModelId model(problem.graph.modelCount());
    OpId last;
    for (const ChainOp& op : chain.ops) {
      if (op.loading) continue;
      const OpId id =
          problem.graph.addOp(fmt::format("{}{}#{}", several ? chain.model + "/" : "", op.type, op.number));
      problem.graph.op_type[id.index()] = problem.graph.internType(op.type);
      problem.graph.op_model[id.index()] = model;
      for (const auto gpu : on_gpu) problem.op_seconds.push_back(*gpu ? op.gpu_seconds : op.cpu_seconds);
      if (last.valid()) problem.addTensor(last, std::span(&id, 1), 0, transfer);
      last = id;
    }
    if (!last.valid()) {
      return badInput(several ? fmt::format("model \"{}\"", chain.model) : "", "there are no ops",
                      "give at least one op that is not of phase load");
    }
    problem.graph.model_name.push_back(chain.model.empty() ? problem.name : chain.model);
  }
  ALLOT_CHECK(problem.finish());
  return problem;
}

std::string stemOf(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  std::string stem = slash == std::string::npos ? file : file.substr(slash + 1);
  const std::size_t dot = stem.rfind('.');
  if (dot != std::string::npos && dot > 0) stem.resize(dot);
  return stem;
}

}  // namespace allot
