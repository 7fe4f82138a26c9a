#include "support/online_offline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

namespace allot {
namespace {

// Where the copies of each job's ops and tensors begin, and the index of each within its model.
struct Layout {
  std::vector<std::size_t> first_op, first_tensor;        // by job
  std::vector<std::size_t> op_in_model, tensor_in_model;  // of the problem
};

Layout layoutOf(const Problem& problem, const OnlineEngine& engine) {
  const OpGraph& graph = problem.graph;
  Layout layout;
  std::vector<std::size_t> ops(graph.modelCount(), 0), tensors(graph.modelCount(), 0);
  for (std::size_t i = 0; i < graph.opCount(); ++i)
    layout.op_in_model.push_back(ops[graph.op_model[i].index()]++);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t)
    layout.tensor_in_model.push_back(tensors[graph.op_model[graph.producer(TensorId(t)).index()].index()]++);
  std::size_t next_op = 0, next_tensor = 0;
  for (std::size_t j = 0; j < engine.jobCount(); ++j) {
    const std::size_t model = engine.job(JobId(j)).model.index();
    layout.first_op.push_back(next_op);
    layout.first_tensor.push_back(next_tensor);
    next_op += ops[model];
    next_tensor += tensors[model];
  }
  return layout;
}

}  // namespace

Problem offlineProblem(const Problem& problem, const OnlineEngine& engine) {
  const Layout layout = layoutOf(problem, engine);
  Problem offline;
  offline.modes = problem.modes;
  offline.cluster = problem.cluster;
  const std::size_t classes = problem.cluster.classCount();
  for (std::size_t j = 0; j < engine.jobCount(); ++j) {
    const JobReport job = engine.job(JobId(j));
    offline.graph.model_name.push_back(job.name);
    offline.model_weight.push_back(job.weight);
    offline.model_release.push_back(job.arrival);
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      if (problem.graph.op_model[i] != job.model) continue;
      const OpId op = offline.graph.addOp(fmt::format("{}/{}", job.name, problem.graph.op_name[i]));
      offline.graph.op_model[op.index()] = ModelId(j);
      offline.graph.op_memory_bytes[op.index()] = problem.graph.op_memory_bytes[i];
      for (std::size_t c = 0; c < classes; ++c)
        offline.op_seconds.push_back(problem.op_seconds[i * classes + c]);
    }
    for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) {
      const OpId producer = problem.graph.producer(TensorId(t));
      if (problem.graph.op_model[producer.index()] != job.model) continue;
      const auto copy = [&](OpId op) { return OpId(layout.first_op[j] + layout.op_in_model[op.index()]); };
      std::vector<OpId> consumers;
      for (const OpId op : problem.graph.consumers(TensorId(t))) consumers.push_back(copy(op));
      offline.addTensor(copy(producer), consumers, problem.graph.tensor_bytes[t], problem.tensor_seconds[t]);
    }
  }
  const auto done = offline.finish();
  if (!done) {
    std::fprintf(stderr, "offline problem: %s\n", done.error().text().c_str());
    std::abort();
  }
  return offline;
}

Plan executedPlan(const Problem& offline, const Problem& problem, const OnlineEngine& engine,
                  const std::vector<Decision>& decisions) {
  const Layout layout = layoutOf(problem, engine);
  Plan plan;
  plan.modes = offline.modes;
  plan.status = Status::kFeasible;
  plan.value = engine.value();
  plan.bound = 0;
  plan.assignment.assign(offline.opCount(), DeviceId());
  plan.start.assign(offline.opCount(), 0);
  plan.end.assign(offline.opCount(), 0);
  for (const Decision& decision : decisions) {
    if (decision.kind != DecisionKind::kStart) continue;
    const std::size_t op = layout.first_op[decision.job.index()] + layout.op_in_model[decision.op.index()];
    plan.assignment[op] = decision.device;
    plan.start[op] = decision.start;
    plan.end[op] = decision.end;
  }
  std::map<std::pair<std::size_t, std::size_t>, std::vector<OpId>> served;  // by tensor and device
  for (const Decision& decision : decisions) {
    if (decision.kind != DecisionKind::kSend) continue;
    const TensorId tensor(layout.first_tensor[decision.job.index()] +
                          layout.tensor_in_model[decision.tensor.index()]);
    PlanTransfer transfer{tensor, {}, decision.from, decision.device, decision.start, decision.end};
    std::vector<OpId>& done = served[{tensor.index(), decision.device.index()}];
    for (const OpId op : offline.graph.consumers(tensor)) {
      if (plan.assignment[op.index()] != decision.device) continue;
      if (std::find(done.begin(), done.end(), op) == done.end()) transfer.consumers.push_back(op);
    }
    // Per edge the send is for the next one to start.
    if (problem.modes.send == Send::kPerEdge && transfer.consumers.size() > 1) {
      const auto first =
          std::min_element(transfer.consumers.begin(), transfer.consumers.end(),
                           [&](OpId a, OpId b) { return plan.start[a.index()] < plan.start[b.index()]; });
      transfer.consumers = {*first};
    }
    done.insert(done.end(), transfer.consumers.begin(), transfer.consumers.end());
    // A move may have made a send useless.
    if (!transfer.consumers.empty()) plan.transfers.push_back(std::move(transfer));
  }
  return plan;
}

}  // namespace allot
