// Chains of operators measured on a cpu and on a gpu: what profiler traces and CSV files of them have in
// common before they become a problem.
//
// Such files know no dependencies, tensors or memory: the ops of a model run in the order of their records.
// Device classes are "cpu" and "gpu"; without `--cluster` there is one device of each and transfers take no
// time. A cluster's classes are taken by these names, else by kind.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allot/formats.h"

namespace allot {

struct ChainOp {
  std::string type;
  std::string number;    // of the op in its file, for its name
  bool loading = false;  // of the input pipeline, which no plan moves
  double cpu_seconds = 0, gpu_seconds = 0;
  double cpu_start = 0, gpu_start = 0;  // by each device's clock, where the chain has one
};

struct OpChain {
  std::string model;
  bool has_clock = false;
  std::vector<ChainOp> ops;
};

// Speed-up (cpu time / gpu time) by operator type.
using TypeSpeedups = std::map<std::string, double, std::less<>>;

// Kept within 1e-6 .. 1e6, so that a time of 0 does not spoil sums; 1 when both are 0.
double speedupOf(double cpu_seconds, double gpu_seconds);

// Merges ops by `rule`. Speed-ups of types come from `types` (joined names "a/b" stand for both) and, for
// those it lacks, from the chain itself. A group lasts from its start to that of the next one where the chain
// has a clock, else as long as its ops.
OpChain packChain(const OpChain& chain, const PackRule& rule, const TypeSpeedups& types);

// Loading ops (or groups of nothing else) are left out, with a warning.
Result<Problem> chainProblem(std::vector<OpChain> chains, std::string name, const ReadOptions& options,
                             const TypeSpeedups& types, const Cluster* cluster, Warnings& warnings);

// The file's name without folder and ending: how a file that names no model is called.
std::string stemOf(const std::string& file);

Result<std::vector<OpChain>> readOpChainCsv(std::string_view text, const ReadOptions& options,
                                            Warnings& warnings);
// A chain of the types in the order of the file, each with all its calls.
Result<OpChain> readOpTypesCsv(std::string_view text, const ReadOptions& options, TypeSpeedups& types,
                               Warnings& warnings);

}  // namespace allot
