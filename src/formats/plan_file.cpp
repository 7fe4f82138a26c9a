// allot.plan/1: decisions, schedule, value and proof.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "cost/provenance.h"
#include "formats/foreign.h"
#include "formats/op_parts.h"
#include "formats/own.h"
#include "formats/schema.h"

namespace allot {
namespace {

constexpr std::string_view kRemedy = "give the plan of this problem";
constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::optional<DataType> arithmeticOfPlan(std::string_view text) {
  const auto document = JsonDocument::parse(text, "", true);
  if (!document) return std::nullopt;
  Options options;
  Warnings unused;
  if (!expectSchema(document->root(), "allot.plan/1") || !readModes(document->root(), options, unused))
    return std::nullopt;
  return options.modes.dtype;
}

namespace {

class PlanReader {
 public:
  PlanReader(const Problem& problem, Warnings& warnings) : problem_(problem), warnings_(warnings) {
    ops_.reserve(problem.opCount());
    for (std::size_t i = 0; i < problem.opCount(); ++i) ops_.add(problem.graph.op_name[i]);
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      devices_.add(problem.cluster.devices[d].name);
    }
  }

  Result<Plan> read(const JsonNode& root) {
    ALLOT_CHECK(expectSchema(root, "allot.plan/1"));
    Options options{problem_.modes, {}};
    ALLOT_CHECK(readModes(root, options, warnings_));
    plan_.modes = options.modes;
    ALLOT_CHECK(readClaims(root));
    plan_.assignment.assign(problem_.opCount(), DeviceId());
    if (root.has("assignment")) ALLOT_CHECK(readAssignment(root));
    if (root.has("devices")) ALLOT_CHECK(readDevices(root));
    if (root.has("stages")) ALLOT_CHECK(readStages(root));
    if (root.has("schedule")) ALLOT_CHECK(readSchedule(root));
    if (root.has("transfers")) ALLOT_CHECK(readTransfers(root));
    if (root.has("models")) ALLOT_CHECK(readModels(root));
    if (root.has("noise")) ALLOT_CHECK(readNoise(root));
    root.warnUnknown({"schema",     "problem",    "goal",    "options", "status",   "value",        "bound",
                      "gap",        "solver",     "proof",   "seed",    "seconds",  "time_limited", "curve",
                      "costs",      "assignment", "devices", "stages",  "schedule", "transfers",    "models",
                      "per_second", "conflict",   "noise",   "idle",    "moves",    "table"},
                     warnings_);
    return std::move(plan_);
  }

 private:
  const Problem& problem_;
  Warnings& warnings_;
  NameIndex ops_, devices_;
  Plan plan_;

  Result<OpId> op(const JsonNode& node) const {
    ALLOT_TRY(const std::uint32_t id, ops_.at(node, "op", kRemedy));
    return OpId(id);
  }
  Result<DeviceId> device(const JsonNode& node) const {
    ALLOT_TRY(const std::uint32_t id, devices_.at(node, "device", kRemedy));
    return DeviceId(id);
  }
  static Result<double> numberAt(const JsonNode& node, std::string_view key, double absent) {
    if (!node.has(key)) return absent;
    ALLOT_TRY(const JsonNode child, node.at(key));
    if (child.isNull()) return absent;
    return child.number();
  }

  Result<void> readClaims(const JsonNode& root) {
    ALLOT_TRY(plan_.value, numberAt(root, "value", kNotGiven));
    ALLOT_TRY(plan_.bound, numberAt(root, "bound", kNotGiven));
    ALLOT_TRY(plan_.seconds, numberAt(root, "seconds", 0));
    if (root.has("gap")) {
      ALLOT_TRY(const JsonNode node, root.at("gap"));
      ALLOT_TRY(const double gap, numberAt(root, "gap", kNotGiven));
      const double derived = plan_.gap();
      if (std::isfinite(derived) && std::fabs(gap - derived) > 1e-9 * std::max(1.0, std::fabs(derived))) {
        return node.fail(fmt::format("gap {} is not (value - bound) / value = {}", gap, derived),
                         "re-make the plan");
      }
    }
    plan_.status = Status::kFeasible;
    if (root.has("status")) {
      ALLOT_TRY(const JsonNode node, root.at("status"));
      ALLOT_TRY(const std::string_view text, node.string());
      bool known = false;
      for (const Status status : {Status::kOptimal, Status::kFeasible, Status::kInfeasible, Status::kNoPlan,
                                  Status::kBadInput, Status::kInternalError}) {
        if (name(status) != text) continue;
        plan_.status = status;
        known = true;
      }
      if (!known) return node.fail(fmt::format("unknown status \"{}\"", text), "re-make the plan");
    }
    if (root.has("solver")) {
      ALLOT_TRY(const JsonNode node, root.at("solver"));
      ALLOT_TRY(plan_.solver, node.label());
    }
    if (root.has("proof")) {
      ALLOT_TRY(const JsonNode node, root.at("proof"));
      if (!node.isNull()) {
        ALLOT_TRY(plan_.proof, node.label());
      }
    }
    if (root.has("seed")) {
      ALLOT_TRY(const JsonNode node, root.at("seed"));
      ALLOT_TRY(plan_.seed, node.natural());
    }
    if (root.has("time_limited")) {
      ALLOT_TRY(const JsonNode node, root.at("time_limited"));
      ALLOT_TRY(plan_.time_limited, node.boolean());
    }
    if (root.has("costs")) {
      ALLOT_TRY(const JsonNode node, root.at("costs"));
      ALLOT_TRY(std::string costs, node.label());
      plan_.costs = provenanceLine(std::move(costs));
    }
    return root.has("curve") ? readCurve(root) : Result<void>{};
  }

  Result<void> readCurve(const JsonNode& root) {
    ALLOT_TRY(const JsonNode list, root.at("curve"));
    return list.forEach([&](const JsonNode& node) -> Result<void> {
      std::vector<double> numbers;
      ALLOT_CHECK(node.forEach([&](const JsonNode& item) -> Result<void> {
        if (item.isNull()) {
          numbers.push_back(std::numeric_limits<double>::infinity());
          return {};
        }
        ALLOT_TRY(const double number, item.number());
        numbers.push_back(number);
        return {};
      }));
      if (numbers.size() != 3) return node.fail("expected three numbers", "write [seconds, value, bound]");
      plan_.curve.push_back({numbers[0], numbers[1], numbers[2]});
      return {};
    });
  }

  Result<void> readAssignment(const JsonNode& root) {
    ALLOT_TRY(const JsonNode node, root.at("assignment"));
    ALLOT_TRY(const auto fields, node.object());
    for (const auto field : fields) {
      const JsonNode child = node.member(field.key, field.value);
      const auto id = ops_.find(field.key);
      if (!id)
        return child.fail(fmt::format("unknown op \"{}\"", field.key), "give the plan of this problem");
      if (plan_.assignment[*id].valid())
        return child.fail("the op is assigned twice", "leave one of the entries out");
      ALLOT_TRY(plan_.assignment[*id], device(child));
    }
    return {};
  }

  Result<void> readDevices(const JsonNode& root) {
    ALLOT_TRY(const JsonNode list, root.at("devices"));
    plan_.devices.assign(problem_.deviceCount(), {kNotGiven, kNotGiven, kNotGiven, kNotGiven});
    return list.forEach([&](const JsonNode& node) -> Result<void> {
      ALLOT_TRY(const JsonNode name_node, node.at("name"));
      ALLOT_TRY(const DeviceId id, device(name_node));
      DeviceUse& use = plan_.devices[id.index()];
      ALLOT_TRY(use.compute_seconds, numberAt(node, "compute", kNotGiven));
      ALLOT_TRY(use.communication_seconds, numberAt(node, "communication", kNotGiven));
      ALLOT_TRY(use.load_seconds, numberAt(node, "load", kNotGiven));
      ALLOT_TRY(use.memory_bytes, numberAt(node, "memory", kNotGiven));
      return {};
    });
  }

  Result<void> readStages(const JsonNode& root) {
    ALLOT_TRY(const JsonNode list, root.at("stages"));
    return list.forEach([&](const JsonNode& node) -> Result<void> {
      PlanStage stage;
      if (node.has("devices")) {
        ALLOT_TRY(const JsonNode devices, node.at("devices"));
        ALLOT_CHECK(devices.forEach([&](const JsonNode& item) -> Result<void> {
          ALLOT_TRY(const DeviceId id, device(item));
          stage.devices.push_back(id);
          return {};
        }));
        if (stage.devices.empty()) return devices.fail("a stage needs a device", "name one");
      } else {
        ALLOT_TRY(const JsonNode device_node, node.at("device"));
        ALLOT_TRY(const DeviceId id, device(device_node));
        stage.devices.push_back(id);
      }
      ALLOT_TRY(const JsonNode ops, node.at("ops"));
      ALLOT_CHECK(ops.forEach([&](const JsonNode& item) -> Result<void> {
        ALLOT_TRY(const OpId id, op(item));
        stage.ops.push_back(id);
        return {};
      }));
      plan_.stages.push_back(std::move(stage));
      return {};
    });
  }

  Result<void> readSchedule(const JsonNode& root) {
    ALLOT_TRY(const JsonNode list, root.at("schedule"));
    ALLOT_TRY(const auto items, list.array());
    if (items.size() == 0) return {};
    plan_.start.assign(problem_.opCount(), kNotGiven);
    plan_.end.assign(problem_.opCount(), kNotGiven);
    return list.forEach([&](const JsonNode& node) -> Result<void> {
      ALLOT_TRY(const JsonNode op_node, node.at("op"));
      ALLOT_TRY(const OpId id, op(op_node));
      if (!std::isnan(plan_.start[id.index()]))
        return op_node.fail("the op is scheduled twice", "leave one entry out");
      ALLOT_TRY(const JsonNode device_node, node.at("device"));
      ALLOT_TRY(const DeviceId on, device(device_node));
      DeviceId& assigned = plan_.assignment[id.index()];
      if (assigned.valid() && assigned != on)
        return device_node.fail("the assignment names another device", "re-make the plan");
      assigned = on;
      ALLOT_TRY(const JsonNode start, node.at("start"));
      ALLOT_TRY(plan_.start[id.index()], start.number());
      ALLOT_TRY(const JsonNode end, node.at("end"));
      ALLOT_TRY(plan_.end[id.index()], end.number());
      return {};
    });
  }

  // The producer's tensor that has all these consumers.
  Result<TensorId> tensorOf(const JsonNode& node, OpId producer, std::span<const OpId> consumers) const {
    const OpGraph& graph = problem_.graph;
    std::int64_t wanted = -1;
    if (node.has("tensor")) {
      ALLOT_TRY(const JsonNode child, node.at("tensor"));
      ALLOT_TRY(wanted, child.integer());
    }
    for (const TensorId tensor : graph.outputs(producer)) {
      if (problem_.isOrder(tensor) || (wanted >= 0 && static_cast<std::int64_t>(tensor.index()) != wanted))
        continue;
      const auto all = graph.consumers(tensor);
      const bool holds = std::all_of(consumers.begin(), consumers.end(), [&](OpId c) {
        return std::find(all.begin(), all.end(), c) != all.end();
      });
      if (holds) return tensor;
    }
    return node.fail(
        fmt::format("no tensor of \"{}\" goes to these consumers", graph.op_name[producer.index()]),
        "give the plan of this problem");
  }

  Result<void> readTransfers(const JsonNode& root) {
    ALLOT_TRY(const JsonNode list, root.at("transfers"));
    return list.forEach([&](const JsonNode& node) -> Result<void> {
      PlanTransfer transfer;
      ALLOT_TRY(const JsonNode producer_node, node.at("producer"));
      ALLOT_TRY(const OpId producer, op(producer_node));
      ALLOT_TRY(const JsonNode consumers, node.at("consumers"));
      ALLOT_CHECK(consumers.forEach([&](const JsonNode& item) -> Result<void> {
        ALLOT_TRY(const OpId id, op(item));
        transfer.consumers.push_back(id);
        return {};
      }));
      ALLOT_TRY(transfer.tensor, tensorOf(node, producer, transfer.consumers));
      ALLOT_TRY(const JsonNode from, node.at("from"));
      ALLOT_TRY(transfer.from, device(from));
      ALLOT_TRY(const JsonNode to, node.at("to"));
      ALLOT_TRY(transfer.to, device(to));
      ALLOT_TRY(const JsonNode start, node.at("start"));
      ALLOT_TRY(transfer.start, start.number());
      ALLOT_TRY(const JsonNode end, node.at("end"));
      ALLOT_TRY(transfer.end, end.number());
      plan_.transfers.push_back(std::move(transfer));
      return {};
    });
  }

  Result<void> readModels(const JsonNode& root) {
    ALLOT_TRY(const JsonNode list, root.at("models"));
    plan_.completion.assign(problem_.graph.modelCount(), kNotGiven);
    return list.forEach([&](const JsonNode& node) -> Result<void> {
      ALLOT_TRY(const JsonNode name_node, node.at("name"));
      ALLOT_TRY(const std::string label, name_node.label());
      const auto& names = problem_.graph.model_name;
      const auto found = std::find(names.begin(), names.end(), label);
      if (found == names.end())
        return name_node.fail(fmt::format("unknown model \"{}\"", label), "give the plan of this problem");
      ALLOT_TRY(plan_.completion[static_cast<std::size_t>(found - names.begin())],
                numberAt(node, "completion", kNotGiven));
      return {};
    });
  }

  Result<void> readNoise(const JsonNode& root) {
    ALLOT_TRY(const JsonNode node, root.at("noise"));
    NoiseReport noise;
    ALLOT_TRY(noise.share, numberAt(node, "share", 0));
    ALLOT_TRY(const JsonNode samples, node.at("samples"));
    ALLOT_TRY(const std::uint64_t count, samples.natural());
    if (count > 1'000'000) return samples.fail("out of range", "re-make the plan");
    noise.samples = static_cast<std::uint32_t>(count);
    ALLOT_TRY(noise.mean, numberAt(node, "mean", kNotGiven));
    ALLOT_TRY(noise.p95, numberAt(node, "p95", kNotGiven));
    plan_.noise = noise;
    return {};
  }
};

}  // namespace

Result<Plan> readPlan(std::string_view text, const std::string& file, const Problem& problem,
                      Warnings& warnings) {
  ALLOT_TRY(const JsonDocument document, JsonDocument::parse(text, file, true));
  const JsonNode root = document.root();
  if (root.has("fpgas") && !root.has("schema")) return readDnnPartitioningSplit(root, problem);
  return PlanReader(problem, warnings).read(root);
}

}  // namespace allot
