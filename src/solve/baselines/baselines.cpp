#include "solve/baselines/baselines.h"

#include "solve/baselines/baechi.h"
#include "solve/baselines/getf.h"
#include "solve/baselines/list_schedule.h"
#include "solve/baselines/list_solvers.h"
#include "solve/baselines/lookahead.h"
#include "solve/baselines/mincut_balance.h"
#include "solve/baselines/pesto.h"
#include "solve/baselines/pipedream.h"
#include "solve/baselines/restart_search.h"
#include "solve/baselines/rules.h"
#include "solve/baselines/speedup_models.h"
#include "solve/baselines/speedup_steps.h"

namespace allot {
namespace {

bool always(const Problem&) {
  return true;
}

bool hasAccelerator(const Problem& problem) {
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (problem.cluster.isAccelerator(DeviceId(d))) return true;
  }
  return false;
}

bool throughput(const Problem& problem) {
  return problem.goal() == Goal::kThroughput;
}

bool throughputForMinCut(const Problem& problem) {
  return throughput(problem) &&
         problem.opCount() + problem.graph.tensor_consumers.items.size() <= baseline::kMinCutLimit;
}

bool throughputForRestarts(const Problem& problem) {
  return throughput(problem) && problem.opCount() <= baseline::kRestartLimit;
}

bool completion(const Problem& problem) {
  return problem.goal() == Goal::kCompletion;
}

bool events(const Problem& problem) {
  return completion(problem) ||
         (problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kEvents);
}

bool completionForFlow(const Problem& problem) {
  return completion(problem) && problem.opCount() <= baseline::kWeightedOps &&
         problem.deviceCount() <= baseline::kWeightedDevices;
}

bool eventsForEtf(const Problem& problem) {
  return events(problem) && problem.opCount() <= baseline::kEtfLimit;
}

bool eventsForPeft(const Problem& problem) {
  const double devices = static_cast<double>(problem.deviceCount());
  const double edges = static_cast<double>(problem.graph.tensor_consumers.items.size());
  return events(problem) && static_cast<double>(problem.opCount()) * devices <= baseline::kPeftEntries &&
         edges * devices * devices <= baseline::kPeftPairs;
}

bool latencyEvents(const Problem& problem) {
  return events(problem) && problem.goal() == Goal::kLatency;
}

bool latencyForEarliestStart(const Problem& problem) {
  return latencyEvents(problem) && problem.opCount() <= baseline::kEarliestStartLimit;
}

bool latencyForSct(const Problem& problem) {
  return latencyForEarliestStart(problem) &&
         problem.opCount() + problem.graph.tensor_consumers.items.size() <= baseline::kSctRows;
}

bool latencyForLookahead(const Problem& problem) {
  const double devices = static_cast<double>(problem.deviceCount());
  return latencyEvents(problem) && problem.opCount() <= baseline::kInsertionLimit &&
         static_cast<double>(problem.graph.tensor_consumers.items.size()) * devices * devices <=
             baseline::kLookaheadPairs;
}

bool latencyForPesto(const Problem& problem) {
  return latencyEvents(problem) && problem.opCount() > baseline::kPestoParts / 4 &&
         problem.opCount() <= baseline::kPestoLimit;
}

constexpr Solver kBaselines[] = {
    {"single", "the best single device", "heuristic: optimal among plans that use one device", always,
     baseline::singleDevice},
    {"accelerate-sequential", "Hugging Face accelerate, device_map \"sequential\": fill devices in order",
     "heuristic: looks at memory only", always, baseline::accelerateSequential},
    {"accelerate-balanced",
     "Hugging Face accelerate, device_map \"balanced\": equal bytes per accelerator, with a buffer",
     "heuristic: looks at memory only", always, baseline::accelerateBalanced},
    {"deepspeed-parameters", "DeepSpeed, partition_method \"parameters\": least largest part of the weights",
     "heuristic: looks at weights only", always, baseline::deepspeedParameters},
    {"even-split", "vLLM's default: the same number of ops per stage", "heuristic: looks at op counts only",
     always, baseline::evenSplit},
    {"ort-budget", "ONNX Runtime's memory budget: a prefix on the first accelerator, the rest on the cpu",
     "heuristic: looks at memory only", hasAccelerator, baseline::ortBudget},
    {"memory-proportional", "llama.cpp and exo: layers in proportion to the devices' memory",
     "heuristic: looks at memory only", always, baseline::memoryProportional},
    {"pipedream", "PipeDream's planner: least largest compute of consecutive layers on identical machines",
     "heuristic: transfers do not count", throughput, baseline::pipedream},
    {"mincut-balance", "graph partitioner: least weight of cut tensors between parts of equal work",
     "heuristic: looks at the sum of cuts, not at loads", throughputForMinCut, baseline::minCutBalance},
    {"heft", "highest upward rank first, earliest finish with insertion", "heuristic: no guarantee", events,
     baseline::heft},
    {"min-eft", "highest upward rank of smallest times first, earliest finish with insertion",
     "heuristic: no guarantee", events, baseline::minEft},
    {"cpop", "critical path on one device, the others by earliest finish", "heuristic: no guarantee", events,
     baseline::cpop},
    {"peft", "optimistic cost table with the transfer times of exact device pairs", "heuristic: no guarantee",
     eventsForPeft, baseline::peft},
    {"etf", "the ready op and device that can start first", "heuristic: no guarantee", eventsForEtf,
     baseline::etf},
    {"heft-lookahead", "highest upward rank first, the device from which the children could end earliest",
     "heuristic: no guarantee", latencyForLookahead, baseline::heftLookahead},
    {"m-topo", "Baechi's m-TOPO: equal shares of the bytes in topological order",
     "heuristic: looks at memory only", latencyEvents, baseline::mTopo},
    {"m-etf", "Baechi's m-ETF: the ready op and device that can start first, ports considered",
     "heuristic: no guarantee", latencyForEarliestStart, baseline::mEtf},
    {"m-sct", "Baechi's m-SCT: the same, with devices kept for favourite children from a linear program",
     "heuristic: no guarantee", latencyForSct, baseline::mSct},
    {"getf", "GETF: the ready op that can start first on a device of the chosen speed group",
     "heuristic: no guarantee on unrelated times", latencyForEarliestStart, baseline::getf},
    {"eft", "first ready first served, each op where it finishes first", "heuristic: no guarantee",
     completion, baseline::eft},
    {"spt", "shortest model first, each op where it finishes first", "heuristic: no guarantee", completion,
     baseline::spt},
    {"spt-fastest", "shortest model first, each op on its fastest device", "heuristic: no guarantee",
     completion, baseline::sptFastest},
    {"shortest-first", "shortest model first, each wholly on the device that ends it first",
     "heuristic: no guarantee", completion, baseline::shortestFirst},
    {"average-speedup", "models of largest average speed-up on accelerators, one each, the others on cpus",
     "heuristic: looks at whole models only", completion, baseline::averageSpeedup},
    {"average-speedup-measured", "all models on accelerators, largest average speed-up first",
     "heuristic: looks at whole models only", completion, baseline::averageSpeedupMeasured},
    {"transient-speedup", "each ready op on the idle device where it is fastest, never waiting",
     "heuristic: no guarantee", completion, baseline::transientSpeedup},
    {"transient-speedup-published", "one model on the accelerator, the others on cpus until it is free",
     "heuristic: no guarantee", completion, baseline::transientSpeedupPublished},
    {"weighted-speedup-published", "Talos as drawn: a min-cost flow per step, one op per device and step",
     "heuristic: no guarantee", completionForFlow, baseline::weightedSpeedupPublished},
};

constexpr Solver kSlowBaselines[] = {
    {"pesto", "Pesto: edges of many bytes contracted by heights to 200 parts, then a search on the parts",
     "heuristic: no guarantee", latencyForPesto, baseline::pesto},
    {"local-search-restarts", "best single moves from ten random starts", "heuristic: no guarantee",
     throughputForRestarts, baseline::restartSearch},
};

}  // namespace

std::span<const Solver> baselineSolvers() {
  return kBaselines;
}

std::span<const Solver> slowBaselineSolvers() {
  return kSlowBaselines;
}

}  // namespace allot
