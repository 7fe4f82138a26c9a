// allot.problem/1: graph, cluster, explicit times, constraints and objective in one file.
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "cost/provenance.h"
#include "formats/cluster_parts.h"
#include "formats/op_parts.h"
#include "formats/own.h"
#include "formats/schema.h"

namespace allot {
namespace {

Result<void> readTimes(const JsonNode& node, std::size_t classes, std::vector<double>& op_seconds) {
  ALLOT_TRY(const JsonNode times, node.at("time"));
  std::size_t count = 0;
  ALLOT_CHECK(times.forEach([&](const JsonNode& item) -> Result<void> {
    ++count;
    if (item.isNull()) {
      op_seconds.push_back(kCannotRun);
      return {};
    }
    ALLOT_TRY(const double seconds, item.seconds());
    op_seconds.push_back(seconds);
    return {};
  }));
  if (count != classes) {
    return times.fail(fmt::format("{} times for {} classes", count, classes),
                      "give one time per class, null where it cannot run");
  }
  return {};
}

Result<void> readMatrix(const JsonNode& node, std::size_t devices, Problem& problem) {
  const std::size_t row_begin = problem.matrices.size();
  std::size_t rows = 0;
  ALLOT_CHECK(node.forEach([&](const JsonNode& row) -> Result<void> {
    std::size_t columns = 0;
    ALLOT_CHECK(row.forEach([&](const JsonNode& cell) -> Result<void> {
      ALLOT_TRY(const double seconds, cell.seconds());
      problem.matrices.push_back(seconds);
      ++columns;
      return {};
    }));
    if (columns != devices)
      return row.fail(fmt::format("{} times for {} devices", columns, devices), "give one per device");
    ++rows;
    return {};
  }));
  if (rows != devices)
    return node.fail(fmt::format("{} rows for {} devices", rows, devices), "give one row per device");
  problem.tensor_matrix.back() = static_cast<std::int32_t>(row_begin / (devices * devices));
  return {};
}

Result<void> readTensors(const JsonNode& list, const OpPartsReader& ops, Problem& problem,
                         Warnings& warnings) {
  std::vector<OpId> consumers;
  return list.forEach([&](const JsonNode& node) -> Result<void> {
    ALLOT_TRY(const OpId producer, ops.readTensorEnds(node, consumers));
    std::int64_t bytes = 0;
    if (node.has("bytes")) {
      ALLOT_TRY(const JsonNode child, node.at("bytes"));
      ALLOT_TRY(bytes, child.bytes());
    }
    node.warnUnknown({"from", "to", "bytes", "time"}, warnings);
    if (!producer.valid()) {
      problem.graph.addInput(bytes, consumers);
      if (!node.has("time")) return {};
      ALLOT_TRY(const JsonNode time, node.at("time"));
      if (time.isNull()) return {};
      return time.fail(
          "a tensor without \"from\" is given to the model from outside and has no transfer time",
          "name the op that makes it, or leave out \"time\"");
    }
    problem.addTensor(producer, consumers, bytes, std::nan(""));
    if (!node.has("time")) return {};
    ALLOT_TRY(const JsonNode time, node.at("time"));
    if (time.isNull()) return {};
    if (time.isArray()) return readMatrix(time, problem.deviceCount(), problem);
    ALLOT_TRY(problem.tensor_seconds.back(), time.seconds());
    return {};
  });
}

class ConstraintReader {
 public:
  ConstraintReader(const OpPartsReader& ops, Problem& problem) : ops_(ops), problem_(problem) {
    for (std::uint32_t d = 0; d < problem.deviceCount(); ++d)
      devices_.emplace(problem.cluster.devices[d].name, d);
  }

  Result<void> read(const JsonNode& node, Warnings& warnings) {
    if (node.has("pin")) ALLOT_CHECK(readPins(node));
    ALLOT_CHECK(readList(node, "forbid", [&](const JsonNode& pair) -> Result<void> {
      ALLOT_TRY(const auto items, twoItems(pair, "[op, device]"));
      ALLOT_TRY(const OpId op, ops_.opNamed(pair.item(0, items.first)));
      ALLOT_TRY(const DeviceId device, deviceNamed(pair.item(1, items.second)));
      problem_.constraints.forbid.emplace_back(op, device);
      return {};
    }));
    ALLOT_CHECK(readList(node, "together", [&](const JsonNode& set) -> Result<void> {
      std::vector<OpId> together;
      ALLOT_CHECK(set.forEach([&](const JsonNode& item) -> Result<void> {
        ALLOT_TRY(const OpId op, ops_.opNamed(item));
        together.push_back(op);
        return {};
      }));
      if (!together.empty()) problem_.constraints.together.push_back(std::move(together));
      return {};
    }));
    ALLOT_CHECK(readList(node, "order", [&](const JsonNode& pair) -> Result<void> {
      ALLOT_TRY(const auto items, twoItems(pair, "[first, then]"));
      ALLOT_TRY(const OpId first, ops_.opNamed(pair.item(0, items.first)));
      ALLOT_TRY(const OpId then, ops_.opNamed(pair.item(1, items.second)));
      if (first == then) return pair.fail("an op cannot come before itself", "name two ops");
      problem_.constraints.order.emplace_back(first, then);
      return {};
    }));
    node.warnUnknown({"pin", "forbid", "together", "order"}, warnings);
    return {};
  }

 private:
  const OpPartsReader& ops_;
  Problem& problem_;
  std::unordered_map<std::string, std::uint32_t> devices_;

  Result<DeviceId> deviceNamed(const JsonNode& node) const {
    ALLOT_TRY(const std::string label, node.label());
    const auto found = devices_.find(label);
    if (found != devices_.end()) return DeviceId(found->second);
    return node.fail(fmt::format("unknown device \"{}\"", label), "name one of \"devices\"");
  }

  static Result<std::pair<simdjson::dom::element, simdjson::dom::element>> twoItems(const JsonNode& node,
                                                                                    std::string_view form) {
    ALLOT_TRY(const auto items, node.array());
    if (items.size() != 2) return node.fail("expected two names", fmt::format("write {}", form));
    return std::pair{items.at(0).value(), items.at(1).value()};
  }

  template <class Fn>
  static Result<void> readList(const JsonNode& node, std::string_view key, Fn&& fn) {
    if (!node.has(key)) return {};
    ALLOT_TRY(const JsonNode list, node.at(key));
    return list.forEach(fn);
  }

  Result<void> readPins(const JsonNode& node) {
    ALLOT_TRY(const JsonNode pins, node.at("pin"));
    ALLOT_TRY(const auto fields, pins.object());
    std::unordered_map<std::string_view, OpId> by_name;
    for (std::size_t i = 0; i < problem_.opCount(); ++i) by_name.emplace(problem_.graph.op_name[i], OpId(i));
    for (const auto field : fields) {
      const JsonNode pin = pins.member(field.key, field.value);
      const auto op = by_name.find(field.key);
      if (op == by_name.end())
        return pin.fail(fmt::format("unknown op \"{}\"", field.key), "name one of \"ops\"");
      ALLOT_TRY(const DeviceId device, deviceNamed(pin));
      problem_.constraints.pin.emplace_back(op->second, device);
    }
    return {};
  }
};

}  // namespace

Result<void> readModes(const JsonNode& root, Options& options, Warnings& warnings) {
  if (root.has("goal")) {
    ALLOT_TRY(const JsonNode node, root.at("goal"));
    ALLOT_TRY(const std::string_view goal, node.string());
    auto done = setOption(options, "goal", goal);
    if (!done) return node.fail(done.error().message, done.error().remedy);
  }
  if (!root.has("options")) return {};
  ALLOT_TRY(const JsonNode node, root.at("options"));
  ALLOT_TRY(const auto fields, node.object());
  for (const auto field : fields) {
    const JsonNode child = node.member(field.key, field.value);
    const OptionSpec* spec = findOption(field.key);
    if (spec == nullptr || spec->scope == OptionScope::kRun) {
      warnings.push_back(fmt::format("{}: not a mode, ignored", child.path()));
      continue;
    }
    std::string value;
    if (child.isString()) {
      ALLOT_TRY(value, child.label());
    } else if (child.isBool()) {
      ALLOT_TRY(const bool flag, child.boolean());
      value = flag ? "true" : "false";
    } else {
      ALLOT_TRY(const double number, child.number());
      value = fmt::format("{}", number);
    }
    auto done = setOption(options, field.key, value);
    if (!done) return child.fail(done.error().message, done.error().remedy);
  }
  return {};
}

void writeModes(const Modes& modes, JsonWriter& out) {
  const Options options{modes, {}};
  if (modes.goal) out.field("goal", name(*modes.goal));
  out.key("options").beginObject();
  for (const OptionSpec& spec : optionTable()) {
    const bool belongs = modes.goal ? isModeOf(spec.scope, *modes.goal) : spec.scope != OptionScope::kRun;
    if (!belongs || spec.name == "goal") continue;
    const std::string value = spec.get(options);
    if (value.empty()) continue;
    if (spec.value_name.empty())
      out.field(spec.name, value == "true");
    else if (!spec.choices.empty())
      out.field(spec.name, value);
    else
      out.field(spec.name, std::strtod(value.c_str(), nullptr));
  }
  out.endObject();
}

Result<Problem> readOwnProblem(const JsonNode& root, Warnings& warnings) {
  ALLOT_CHECK(expectSchema(root, "allot.problem/1"));
  Problem problem;
  if (root.has("name")) {
    ALLOT_TRY(const JsonNode node, root.at("name"));
    ALLOT_TRY(problem.name, node.label());
  }
  ALLOT_CHECK(readClusterParts(root, problem.cluster, warnings));
  OpPartsReader parts(problem.graph, warnings);
  ALLOT_CHECK(parts.readModels(root, problem.model_weight, problem.model_release));
  ALLOT_TRY(const JsonNode ops, root.at("ops"));
  const std::size_t classes = problem.cluster.classCount();
  ALLOT_CHECK(ops.forEach([&](const JsonNode& node) -> Result<void> {
    ALLOT_CHECK(
        parts.readOp(node, {"name", "time", "type", "flops", "memory", "weights", "workspace", "activations",
                            "read", "written", "dtype", "cost-unknown", "model", "phase", "group"}));
    return readTimes(node, classes, problem.op_seconds);
  }));
  ALLOT_CHECK(parts.finishOps(ops));
  if (problem.opCount() == 0) return ops.fail("there are no ops", "give at least one op");
  if (root.has("tensors")) {
    ALLOT_TRY(const JsonNode tensors, root.at("tensors"));
    ALLOT_CHECK(readTensors(tensors, parts, problem, warnings));
  }
  ALLOT_CHECK(parts.readOrderHint(root));
  if (root.has("constraints")) {
    ALLOT_TRY(const JsonNode node, root.at("constraints"));
    ALLOT_CHECK(ConstraintReader(parts, problem).read(node, warnings));
  }
  Options options;
  ALLOT_CHECK(readModes(root, options, warnings));
  problem.modes = options.modes;
  if (root.has("costs")) {
    ALLOT_TRY(const JsonNode node, root.at("costs"));
    ALLOT_TRY(std::string costs, node.label());
    problem.costs = provenanceLine(std::move(costs));
  }
  root.warnUnknown({"schema", "name", "classes", "devices", "models", "ops", "tensors", "order_hint", "links",
                    "constraints", "goal", "options", "costs"},
                   warnings);
  ALLOT_CHECK(problem.finish());
  return problem;
}

namespace {

void writeConstraints(const Problem& problem, JsonWriter& out) {
  const Constraints& c = problem.constraints;
  if (c.pin.empty() && c.forbid.empty() && c.together.empty() && c.order.empty()) return;
  const auto& ops = problem.graph.op_name;
  const auto& devices = problem.cluster.devices;
  out.key("constraints").beginObject();
  if (!c.pin.empty()) {
    out.key("pin").beginObject();
    for (const auto& [op, device] : c.pin) out.field(ops[op.index()], devices[device.index()].name);
    out.endObject();
  }
  if (!c.forbid.empty()) {
    out.key("forbid").beginArray();
    for (const auto& [op, device] : c.forbid) {
      out.beginArray().value(ops[op.index()]).value(devices[device.index()].name).endArray();
    }
    out.endArray();
  }
  if (!c.together.empty()) {
    out.key("together").beginArray();
    for (const auto& set : c.together) {
      out.beginArray();
      for (const OpId op : set) out.value(ops[op.index()]);
      out.endArray();
    }
    out.endArray();
  }
  if (!c.order.empty()) {
    out.key("order").beginArray();
    for (const auto& [first, then] : c.order)
      out.beginArray().value(ops[first.index()]).value(ops[then.index()]).endArray();
    out.endArray();
  }
  out.endObject();
}

// Times as they were given; those that are too short for the clock count as 0 in the problem.
struct GivenTimes {
  explicit GivenTimes(const Problem& problem)
      : ops(problem.givenTimes(Problem::ShortTime::Table::kOp)),
        tensors(problem.givenTimes(Problem::ShortTime::Table::kTensor)),
        matrices(problem.givenTimes(Problem::ShortTime::Table::kMatrix)) {}

  std::vector<double> ops, tensors, matrices;
};

void writeTensor(const Problem& problem, const GivenTimes& times, std::size_t t, JsonWriter& out) {
  const OpGraph& graph = problem.graph;
  out.beginObject().field("from", graph.op_name[graph.tensor_producer[t].index()]);
  writeReaders(graph, graph.tensor_consumers[t], out);
  if (graph.tensor_bytes[t] != 0) out.field("bytes", graph.tensor_bytes[t]);
  if (problem.tensor_matrix[t] >= 0) {
    const std::size_t devices = problem.deviceCount();
    const double* cell =
        &times.matrices[static_cast<std::size_t>(problem.tensor_matrix[t]) * devices * devices];
    out.key("time").beginArray();
    for (std::size_t a = 0; a < devices; ++a) {
      out.beginArray();
      for (std::size_t b = 0; b < devices; ++b) out.value(*cell++);
      out.endArray();
    }
    out.endArray();
  } else if (!std::isnan(times.tensors[t])) {
    out.field("time", times.tensors[t]);
  }
  out.endObject();
}

}  // namespace

std::string writeProblem(const Problem& problem) {
  JsonWriter out;
  out.beginObject().field("schema", "allot.problem/1").field("name", problem.name);
  writeClusterParts(problem.cluster, out);
  out.key("models").beginArray();
  for (std::size_t m = 0; m < problem.graph.modelCount(); ++m) {
    out.beginObject().field("name", problem.graph.model_name[m]).field("weight", problem.model_weight[m]);
    out.field("release", problem.model_release[m]).endObject();
  }
  out.endArray().key("ops").beginArray();
  const std::size_t classes = problem.cluster.classCount();
  const GivenTimes times(problem);
  const WeightBlockWriter blocks(problem.graph);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    out.beginObject();
    writeOpParts(problem.graph, OpId(i), problem.graph.modelCount() > 1, blocks, out);
    out.key("time").beginArray();
    for (std::size_t c = 0; c < classes; ++c) out.value(times.ops[i * classes + c]);
    out.endArray().endObject();
  }
  out.endArray().key("tensors").beginArray();
  writeModelInputs(problem.graph, out);
  for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) writeTensor(problem, times, t, out);
  out.endArray();
  writeOrderHint(problem.graph, out);
  writeConstraints(problem, out);
  writeModes(problem.modes, out);
  out.field("costs", problem.costs).endObject();
  return out.take();
}

}  // namespace allot
