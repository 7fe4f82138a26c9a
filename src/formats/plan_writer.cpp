// Writing of allot.plan/1.
#include <cmath>

#include "allot/formats.h"
#include "base/json_writer.h"
#include "formats/op_parts.h"
#include "formats/own.h"
#include "problem/idle.h"

namespace allot {
namespace {

void writeStages(const Problem& problem, const Plan& plan, JsonWriter& out) {
  out.key("stages").beginArray();
  for (const PlanStage& stage : plan.stages) {
    out.beginObject();
    if (stage.devices.size() == 1) {
      out.field("device", problem.cluster.devices[stage.devices[0].index()].name);
    } else {
      out.key("devices").beginArray();
      for (const DeviceId d : stage.devices) out.value(problem.cluster.devices[d.index()].name);
      out.endArray();
    }
    out.key("ops").beginArray();
    for (const OpId op : stage.ops) out.value(problem.graph.op_name[op.index()]);
    out.endArray().endObject();
  }
  out.endArray();
}

void writeSchedule(const Problem& problem, const Plan& plan, JsonWriter& out) {
  const auto& ops = problem.graph.op_name;
  const auto& devices = problem.cluster.devices;
  out.key("schedule").beginArray();
  for (std::size_t i = 0; i < plan.start.size(); ++i) {
    if (std::isnan(plan.start[i]) || !plan.assignment[i].valid()) continue;  // a file may leave ops out
    out.beginObject().field("op", ops[i]).field("device", devices[plan.assignment[i].index()].name);
    out.field("start", plan.start[i]).field("end", plan.end[i]).endObject();
  }
  out.endArray().key("transfers").beginArray();
  for (const PlanTransfer& transfer : plan.transfers) {
    out.beginObject()
        .field("producer", ops[problem.graph.producer(transfer.tensor).index()])
        .key("consumers")
        .beginArray();
    for (const OpId consumer : transfer.consumers) out.value(ops[consumer.index()]);
    out.endArray().field("tensor", static_cast<std::uint64_t>(transfer.tensor.index()));
    out.field("from", devices[transfer.from.index()].name).field("to", devices[transfer.to.index()].name);
    out.field("start", transfer.start).field("end", transfer.end).endObject();
  }
  out.endArray();
}

}  // namespace

std::string writePlan(const Problem& problem, const Plan& plan) {
  JsonWriter out;
  out.beginObject().field("schema", "allot.plan/1").field("problem", problem.name);
  writeModes(plan.modes, out);
  out.field("status", name(plan.status));
  if (plan.hasPlan()) {
    out.field("value", plan.value).field("bound", plan.bound).field("gap", plan.gap());
    out.field("per_second", plan.value > 0 ? 1 / plan.value : 0.0);
  }
  out.field("solver", plan.solver)
      .field("proof", plan.proof)
      .field("seed", plan.seed)
      .field("seconds", plan.seconds);
  out.field("time_limited", plan.time_limited).field("costs", plan.costs);
  out.key("curve").beginArray();
  for (const CurvePoint& point : plan.curve) {
    out.beginArray().value(point.seconds).value(point.value).value(point.bound).endArray();
  }
  out.endArray();
  if (plan.noise) {
    out.key("noise").beginObject().field("share", plan.noise->share);
    out.field("samples", static_cast<std::uint64_t>(plan.noise->samples));
    out.field("mean", plan.noise->mean).field("p95", plan.noise->p95).endObject();
  }
  if (plan.hasPlan()) {
    out.key("assignment").beginObject();
    for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
      if (!plan.assignment[i].valid()) continue;
      out.field(problem.graph.op_name[i], problem.cluster.devices[plan.assignment[i].index()].name);
    }
    out.endObject();
    if (!plan.devices.empty()) out.key("devices").beginArray();
    for (std::size_t d = 0; d < plan.devices.size(); ++d) {
      const DeviceUse& use = plan.devices[d];
      out.beginObject().field("name", problem.cluster.devices[d].name).field("compute", use.compute_seconds);
      out.field("communication", use.communication_seconds).field("load", use.load_seconds);
      out.field("memory", use.memory_bytes).endObject();
    }
    if (!plan.devices.empty()) out.endArray();
    if (!plan.stages.empty()) writeStages(problem, plan, out);
    if (!plan.start.empty()) writeSchedule(problem, plan, out);
    if (!plan.completion.empty()) {
      out.field("idle", idleSeconds(problem, plan));
      out.key("models").beginArray();
      for (std::size_t m = 0; m < plan.completion.size(); ++m) {
        out.beginObject()
            .field("name", problem.graph.model_name[m])
            .field("completion", plan.completion[m])
            .endObject();
      }
      out.endArray();
    }
  }
  out.endObject();
  return out.take();
}

}  // namespace allot
