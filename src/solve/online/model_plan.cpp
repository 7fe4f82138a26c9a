#include "solve/online/model_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "solve/baselines/ranks.h"
#include "solve/online/packing.h"

namespace allot::online {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

Result<void> checkApart(const Problem& problem) {
  const OpGraph& graph = problem.graph;
  const auto shared = [&](std::string what, OpId a, OpId b) {
    return badInput(fmt::format("ops \"{}\" and \"{}\"", graph.op_name[a.index()], graph.op_name[b.index()]),
                    fmt::format("two models share a {}", what),
                    "online planning runs models apart: make them one model, or cut what joins them");
  };
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    const auto ops = problem.unitOps(UnitId(u));
    for (const OpId op : ops) {
      if (graph.op_model[op.index()] != graph.op_model[ops.front().index()])
        return shared("device group", ops.front(), op);
    }
  }
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId producer = graph.producer(TensorId(t));
    for (const OpId op : graph.consumers(TensorId(t))) {
      if (graph.op_model[op.index()] != graph.op_model[producer.index()])
        return shared("tensor", producer, op);
    }
  }
  return {};
}

}  // namespace

Result<ModelPlans> modelPlansOf(const Problem& problem) {
  ALLOT_CHECK(checkApart(problem));
  const OpGraph& graph = problem.graph;
  const std::vector<double> rank =
      baseline::upwardRank(problem, baseline::meanOpSeconds(problem), baseline::meanTransferSeconds(problem));
  ModelPlans plans;
  plans.models.resize(graph.modelCount());
  for (const OpId op : graph.topologicalOrder())
    plans.models[graph.op_model[op.index()].index()].ops.push_back(op);
  plans.place.assign(problem.opCount(), 0);
  const bool per_edge = problem.modes.send == Send::kPerEdge;
  std::vector<std::uint32_t> first_copy(graph.tensorCount(), kNone), unit_place(problem.unitCount(), kNone);
  for (ModelPlan& model : plans.models) {
    std::stable_sort(model.ops.begin(), model.ops.end(),
                     [&](OpId a, OpId b) { return rank[a.index()] > rank[b.index()]; });
    for (std::size_t i = 0; i < model.ops.size(); ++i)
      plans.place[model.ops[i].index()] = static_cast<std::uint32_t>(i);
    for (const OpId op : model.ops) {
      for (const TensorId tensor : graph.outputs(op)) {
        first_copy[tensor.index()] = static_cast<std::uint32_t>(model.tensors.size());
        const auto addCopy = [&](std::span<const OpId> consumers) {
          model.tensors.push_back(tensor);
          model.producer.push_back(plans.place[op.index()]);
          for (const OpId consumer : consumers)
            model.consumers.items.push_back(plans.place[consumer.index()]);
          model.consumers.closeRow();
        };
        const auto consumers = graph.consumers(tensor);
        if (!per_edge || consumers.empty()) {
          addCopy(consumers);
        } else {
          for (std::size_t k = 0; k < consumers.size(); ++k) addCopy(consumers.subspan(k, 1));
        }
      }
      std::uint32_t& unit = unit_place[problem.unit(op).index()];
      if (unit == kNone) {
        unit = static_cast<std::uint32_t>(model.units++);
        model.shared.push_back(problem.unitOps(problem.unit(op)).size() > 1);
      }
      model.unit.push_back(unit);
    }
    for (const OpId op : model.ops) {
      for (const TensorId tensor : graph.inputs(op)) {
        const auto consumers = graph.consumers(tensor);
        const auto edge = std::find(consumers.begin(), consumers.end(), op) - consumers.begin();
        model.inputs.items.push_back(first_copy[tensor.index()] +
                                     (per_edge ? static_cast<std::uint32_t>(edge) : 0));
      }
      model.inputs.closeRow();
      for (const TensorId tensor : graph.outputs(op)) {
        const std::size_t copies = per_edge ? std::max<std::size_t>(1, graph.consumers(tensor).size()) : 1;
        for (std::size_t k = 0; k < copies; ++k)
          model.outputs.items.push_back(first_copy[tensor.index()] + static_cast<std::uint32_t>(k));
      }
      model.outputs.closeRow();
    }
    std::vector<std::vector<std::uint32_t>> members(model.units);
    for (std::uint32_t i = 0; i < model.ops.size(); ++i) members[model.unit[i]].push_back(i);
    for (const std::vector<std::uint32_t>& ops : members) {
      model.unit_ops.items.insert(model.unit_ops.items.end(), ops.begin(), ops.end());
      model.unit_ops.closeRow();
    }
    model.packing = packUnits(problem, model, {}, {}, {}, model.unplaced);
    updateRest(problem, problem.op_seconds, model);
  }
  return plans;
}

void updateRest(const Problem& problem, const std::vector<double>& op_seconds, ModelPlan& model) {
  const std::size_t classes = problem.cluster.classCount();
  // Between two classes the pair of their first devices stands for all.
  std::vector<DeviceId> first(classes);
  for (std::size_t d = problem.deviceCount(); d-- > 0;)
    first[problem.cluster.devices[d].cls.index()] = DeviceId(d);
  model.rest.assign(model.ops.size() * classes, 0);
  for (std::size_t i = model.ops.size(); i-- > 0;) {
    for (const std::uint32_t tensor : model.outputs[i]) {
      for (const std::uint32_t consumer : model.consumers[tensor]) {
        const double* seconds = &op_seconds[model.ops[consumer].index() * classes];
        for (std::size_t c = 0; c < classes; ++c) {
          if (!first[c].valid()) continue;
          double least = kCannotRun;
          for (std::size_t k = 0; k < classes; ++k) {
            if (!first[k].valid() || seconds[k] == kCannotRun) continue;
            const double send =
                k == c ? 0 : problem.transferSeconds(model.tensors[tensor], first[c], first[k]);
            least = std::min(least, send + seconds[k] + model.rest[consumer * classes + k]);
          }
          double& rest = model.rest[i * classes + c];
          if (least != kCannotRun) rest = std::max(rest, least);
        }
      }
    }
  }
}

}  // namespace allot::online
