// A pipeline model with its runs of items joined: far fewer ideals.
//
// A run is a path of items in which each is the only one that follows the one before it, and in which it
// costs the same to stop anywhere; nets at its end lead to what follows it. A run counts as divisible at
// will: it is either not begun or begun, and then any part of its work from the first item on may be done.
// Guarantee: for every chain of stages of the model the sets of begun runs are ideals here, and with them
// each stage costs what it costs in the model or less. Assumption: one pool. Complexity: O(items + ends of
// nets).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/pipeline_model.h"

namespace allot {

class RunGraph {
 public:
  static constexpr std::uint32_t kNoRun = UINT32_MAX;

  // `order`: the items, each behind those it follows. Only items of at most `grain` seconds go on with a run:
  // what is divisible here and not in the model is at most that much at a time.
  RunGraph(const PipelineModel& model, std::span<const std::uint32_t> order, double grain);

  Csr<std::uint32_t> items;   // of the model, by run, first to last; runs are in topological order
  std::vector<double> work;   // of all items of a run
  std::vector<double> least;  // of its first item
  Csr<std::uint32_t> before, after;
  Csr<std::uint32_t> run_nets;  // nets that end in a run and in another one
  Csr<std::uint32_t> net_runs;
  // The run of several items at whose end the net is, before all others of it; kNoRun where there is none.
  std::vector<std::uint32_t> net_maker;
  std::vector<double> net_cost;  // what a stage pays that holds some of a net's runs, not all

  std::size_t runCount() const { return work.size(); }
  // How much of a run that is begun may be left.
  double rest(std::uint32_t run) const { return work[run] - least[run]; }

 private:
  void join(const PipelineModel& model, std::span<const std::uint32_t> order, double grain);
  void fillNets(const PipelineModel& model, std::span<const std::uint32_t> run_of);
};

}  // namespace allot
