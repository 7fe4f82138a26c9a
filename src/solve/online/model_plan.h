// What stays the same of a model, however often it runs: its ops in the order in which they are planned, its
// tensors, its units, and how long the rest of the model takes behind each op.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/problem.h"

namespace allot::online {

// Ops, tensors and units are counted within the model; ops by decreasing rank, so producers come first. Where
// sends are per edge a tensor counts once for each consumer: each has a copy of its own sent.
struct ModelPlan {
  std::vector<OpId> ops;
  std::vector<TensorId> tensors;
  Csr<std::uint32_t> inputs, outputs;  // tensors by op
  std::vector<std::uint32_t> producer;
  Csr<std::uint32_t> consumers;      // ops by tensor
  std::vector<std::uint32_t> unit;   // by op
  std::vector<std::uint8_t> shared;  // by unit: several ops
  Csr<std::uint32_t> unit_ops;
  std::size_t units = 0;
  // By unit: devices where the whole model has room when nothing else is there; empty = none found, for
  // `unplaced` first.
  std::vector<DeviceId> packing;
  std::uint32_t unplaced = 0;
  std::vector<double> rest;  // [op * classes + class]: at least this long from the op's end to the model's
};

struct ModelPlans {
  std::vector<ModelPlan> models;
  std::vector<std::uint32_t> place;  // by op of the problem: its index in its model
};

// Fails where models share units or tensors.
Result<ModelPlans> modelPlansOf(const Problem& problem);

// Computes `rest` anew from op times [op of the problem * classes + class].
void updateRest(const Problem& problem, const std::vector<double>& op_seconds, ModelPlan& model);

}  // namespace allot::online
