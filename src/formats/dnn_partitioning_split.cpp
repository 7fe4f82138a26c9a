// The split file of msr-fiddle/dnn-partitioning: which nodes each accelerator and each CPU core holds.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "allot/formats.h"
#include "base/json_writer.h"
#include "formats/foreign.h"
#include "formats/op_parts.h"

namespace allot {
namespace {

constexpr double kMilliseconds = 1e3;
// What split files made by hand carry where nobody computed the load.
constexpr int kNoLoad = -1;

// The id as a number where it is one, as in the graph files.
void writeId(const std::string& id, JsonWriter& out) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(id.data(), id.data() + id.size(), number);
  const bool whole = code == std::errc{} && end == id.data() + id.size() && std::to_string(number) == id;
  if (whole)
    out.value(number);
  else
    out.value(id);
}

void writeLoad(std::string_view key, double seconds, JsonWriter& out) {
  if (std::isfinite(seconds))
    out.field(key, seconds * kMilliseconds);
  else
    out.field(key, kNoLoad);
}

void writeDevices(const Problem& problem, const Plan& plan, DeviceKind kind,
                  const std::vector<std::vector<OpId>>& held, JsonWriter& out) {
  out.beginArray();
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (problem.cluster.classOf(DeviceId(d)).kind != kind) continue;
    out.beginObject().key("nodes").beginArray();
    for (const OpId op : held[d]) writeId(problem.graph.op_name[op.index()], out);
    out.endArray();
    writeLoad("load", d < plan.devices.size() ? plan.devices[d].load_seconds : kCannotRun, out);
    out.endObject();
  }
  out.endArray();
}

// Puts the nodes of one list of the split on the devices of one kind.
Result<void> readDevices(const JsonNode& root, std::string_view key, DeviceKind kind, const Problem& problem,
                         const NameIndex& ops, Plan& plan) {
  if (!root.has(key)) return {};
  std::vector<DeviceId> devices;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (problem.cluster.classOf(DeviceId(d)).kind == kind) devices.emplace_back(d);
  }
  std::size_t next = 0;
  ALLOT_TRY(const JsonNode list, root.at(key));
  return list.forEach([&](const JsonNode& part) -> Result<void> {
    ALLOT_TRY(const JsonNode nodes, part.at("nodes"));
    const std::size_t here = next++;
    return nodes.forEach([&](const JsonNode& node) -> Result<void> {
      if (here >= devices.size()) {
        return node.fail(fmt::format("the problem has only {} devices for \"{}\"", devices.size(), key),
                         "give the split of this problem");
      }
      ALLOT_TRY(const std::uint32_t op, ops.at(node, "op", "give the split of this problem"));
      if (plan.assignment[op].valid())
        return node.fail("the node stands on two devices", "list every node once");
      plan.assignment[op] = devices[here];
      return {};
    });
  });
}

}  // namespace

Result<Plan> readDnnPartitioningSplit(const JsonNode& root, const Problem& problem) {
  NameIndex ops;
  ops.reserve(problem.opCount());
  for (const std::string& op : problem.graph.op_name) ops.add(op);
  Plan plan;
  plan.modes = problem.modes;
  plan.status = Status::kFeasible;
  // Hand-made splits carry placeholders where loads would be.
  plan.value = plan.bound = std::numeric_limits<double>::quiet_NaN();
  plan.assignment.assign(problem.opCount(), DeviceId());
  ALLOT_CHECK(readDevices(root, "fpgas", DeviceKind::kAccelerator, problem, ops, plan));
  ALLOT_CHECK(readDevices(root, "cpus", DeviceKind::kCpu, problem, ops, plan));
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    for (const OpId other : problem.unitOps(problem.unit(OpId(i)))) {
      if (!plan.assignment[i].valid()) plan.assignment[i] = plan.assignment[other.index()];
    }
  }
  return plan;
}

Result<std::string> writeDnnPartitioningSplit(const Problem& problem, const Plan& plan) {
  const auto refuse = [](std::string where, std::string message, std::string remedy) {
    return fail({ErrorCode::kUsage, {}, std::move(where), std::move(message), std::move(remedy)});
  };
  if (!plan.hasPlan())
    return refuse("status", "there is no plan to write", "give a plan that is optimal or feasible");
  for (const PlanStage& stage : plan.stages) {
    if (stage.devices.size() > 1) {
      return refuse("stages", "a split file cannot say that a stage is replicated", "plan without replicate");
    }
  }
  std::vector<std::vector<OpId>> held(problem.deviceCount());
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const DeviceId device = i < plan.assignment.size() ? plan.assignment[i] : DeviceId();
    if (!device.valid()) {
      return refuse("assignment", fmt::format("op \"{}\" has no device", problem.graph.op_name[i]),
                    "give a plan that assigns every op");
    }
    held[device.index()].emplace_back(i);
  }
  JsonWriter out;
  out.beginObject().key("fpgas");
  writeDevices(problem, plan, DeviceKind::kAccelerator, held, out);
  out.key("cpus");
  writeDevices(problem, plan, DeviceKind::kCpu, held, out);
  writeLoad("maxLoad", plan.value, out);
  out.endObject();
  return out.take();
}

}  // namespace allot
