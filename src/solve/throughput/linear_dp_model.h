// What the heuristics for pipelines work on: items, nets and pools as in PipelineModel, at any coarseness.
//
// Problem: search chains of stages on graphs whose ideals cannot be listed, on the graph itself or on a
// coarser one in which runs of items have become one item.
// Guarantee: a plan of a coarse model is a plan of the fine one with the same loads, because nets keep their
// ends apart and the forward graph stays acyclic. Loads are those of PipelineModel: exact under via-host
// transfers, at most the true ones under by-link transfers.
// Complexity: made in time and space linear in items, nets and their ends (times pools).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "solve/throughput/pipeline_model.h"

namespace allot {

// A stage runs on `replicas` devices of one pool.
struct LineStage {
  std::uint32_t pool = 0;
  std::uint32_t replicas = 1;
};

// Stages in pipeline order; no edge of the forward graph leads to an earlier stage.
struct LinePlan {
  std::vector<std::uint32_t> stage_of;  // by item
  std::vector<LineStage> stages;
  double value = std::numeric_limits<double>::infinity();  // largest load of a stage

  bool found() const { return !stages.empty(); }
};

// Sums over the items of a stage. Parts: forward and the rest where they are valued apart, else all in one.
struct StageSums {
  std::array<double, 2> compute{}, communication{};
  double weights = 0;
  bool trains = false;
};

class LineModel {
 public:
  // One item per block of the module order; items that cost nothing are joined to their neighbours where the
  // model is small enough to afford it.
  explicit LineModel(const Problem& problem);

  const Problem* problem = nullptr;
  std::vector<Pool> pools;
  std::size_t parts = 1;         // 2 under max-parts
  bool per_destination = false;  // a sender pays once for each stage that reads (by-link)

  std::size_t item_count = 0;
  std::vector<double> seconds;  // [(item * pools + pool) * parts + part]; kCannotRun in part 0
  std::vector<double> resident, weights;
  std::vector<std::uint8_t> trains;
  std::vector<double> work;  // by item: share of all device time it needs at least, as `capacity` counts it
  std::vector<double> capacity;  // by pool: share of one device; all devices together make 1
  double total_work = 0;

  Csr<std::uint32_t> net_items, item_nets;
  std::vector<std::uint32_t> net_producer;
  std::vector<std::uint8_t> net_part;
  std::vector<double> send, receive;  // [net * pools + pool]
  std::vector<float> net_weight;      // mean cost over accelerator pools, to compare cuts by

  Csr<std::uint32_t> before, after;

  Csr<std::uint32_t> stash_readers, item_stashes;
  std::vector<double> stash_bytes;

  std::size_t netCount() const { return net_producer.size(); }
  std::size_t poolCount() const { return pools.size(); }
  const double* times(std::size_t item, std::size_t pool) const {
    return &seconds[(item * pools.size() + pool) * parts];
  }
  bool runs(std::size_t item, std::size_t pool) const { return times(item, pool)[0] < kCannotRun; }
  double cost(std::size_t net, std::size_t pool, bool sends) const {
    return (sends ? send : receive)[net * pools.size() + pool];
  }
  // Load of a stage on `replicas` devices of the pool; under max-parts the sum of both parts.
  double load(const StageSums& sums, std::size_t pool, std::uint32_t replicas) const;

  // The model in which item i is part of item part[i]; the parts must form an acyclic graph.
  LineModel coarser(std::span<const std::uint32_t> part, std::size_t part_count) const;

  // The plan with the assignment and stages of a plan of this model, which must be that of the problem
  // itself.
  Plan toPlan(const LinePlan& line) const;
  // The stages of a plan, if they form a chain here; else a plan without stages.
  LinePlan fromPlan(const Plan& plan) const;

 private:
  LineModel() = default;
  std::vector<std::uint32_t> item_of_unit_;
  std::vector<double> sync_bandwidth_, sync_latency_;  // by pool

  void fillSync();
  void fillWork();
  void fillNetWeights();
};

// Bytes that building a LineModel takes at its height, about.
double lineModelBytes(const Problem& problem);

}  // namespace allot
