// Models that are chains, as flat arrays: what the engines for chains work on.
//
// A model is a chain when its ops have one order in which each reads its predecessor. Edges that skip ops are
// allowed where they take no time between any two devices, for then the chain implies them. Not taken: units
// of several ops, tensors or orders between models, and under port modes more than one transfer that takes
// time between neighbours.
// Memory is not part of the model: `memory_is_free` says whether it can never bind. Where it can, a schedule
// of the chains may be invalid, but its optimum is still a bound.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct Chain {
  double weight = 1, release = 0;
  std::vector<OpId> ops;
  std::vector<double> seconds;    // [op * devices + device]; kCannotRun where it may not run
  std::vector<double> transfer;   // [(op * devices + from) * devices + to], from op to its successor
  std::vector<TensorId> carrier;  // by op: the tensor whose transfer takes time, if any

  std::size_t size() const { return ops.size(); }
};

struct ChainModel {
  std::size_t devices = 0;
  LinkMode link_mode = LinkMode::kFree;
  bool memory_is_free = true;
  std::vector<double> launch;          // by device
  std::vector<std::uint32_t> classes;  // by device
  std::vector<Chain> chains;           // models with ops, in the order of the problem

  bool hasLaunch() const;
  double time(const Chain& chain, std::size_t op, std::size_t device) const {
    return chain.seconds[op * devices + device];
  }
  double transfer(const Chain& chain, std::size_t op, std::size_t from, std::size_t to) const {
    return chain.transfer[(op * devices + from) * devices + to];
  }
};

// Whether no placement of all ops and tensors can exceed a device's memory.
bool memoryNeverBinds(const Problem& problem);

// Absent when some model is not a chain.
std::optional<ChainModel> chainModelOf(const Problem& problem);

// One decision of a schedule of chains: an op or, under port modes, a transfer behind it.
struct ChainActivity {
  std::uint32_t op;        // position in its chain
  std::uint32_t from, to;  // from == to: the op runs there; else the transfer of its output
  double start, end;
};

// Activities of each chain, in order, as decisions for `Progress::plan`.
Plan planOfChains(const Problem& problem, const ChainModel& model,
                  const std::vector<std::vector<ChainActivity>>& activities);

}  // namespace allot
