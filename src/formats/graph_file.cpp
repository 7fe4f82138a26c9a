// allot.graph/1: the operator graph of a model without devices, and its join with a cluster.
#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "formats/op_parts.h"
#include "formats/own.h"
#include "formats/schema.h"

namespace allot {

Result<GraphFile> readOwnGraph(const JsonNode& root, Warnings& warnings) {
  ALLOT_CHECK(expectSchema(root, "allot.graph/1"));
  GraphFile file;
  if (root.has("name")) {
    ALLOT_TRY(const JsonNode node, root.at("name"));
    ALLOT_TRY(file.name, node.label());
  }
  Options options;
  ALLOT_CHECK(readModes(root, options, warnings));
  file.goal = options.modes.goal;
  file.dtype = options.modes.dtype;
  file.memory = options.modes.memory.value_or(MemoryModel::kStatic);
  if (root.has("options")) {
    ALLOT_TRY(const JsonNode node, root.at("options"));
    ALLOT_TRY(const auto fields, node.object());
    for (const auto field : fields) {
      if (field.key == "memory" || field.key == "dtype" || findOption(field.key) == nullptr) continue;
      warnings.push_back(fmt::format("{}: a graph keeps no such option, ignored",
                                     node.member(field.key, field.value).path()));
    }
  }
  OpPartsReader parts(file.graph, warnings);
  ALLOT_TRY(const JsonNode ops, root.at("ops"));
  ALLOT_CHECK(ops.forEach([&](const JsonNode& node) -> Result<void> {
    ALLOT_CHECK(
        parts.readOp(node, {"name", "time", "type", "flops", "memory", "weights", "workspace", "activations",
                            "read", "written", "dtype", "cost-unknown", "phase", "group"}));
    file.op_seconds.push_back(std::nan(""));
    file.op_class_seconds.emplace_back();
    if (!node.has("time")) return {};
    ALLOT_TRY(const JsonNode time, node.at("time"));
    if (!time.isObject()) {
      ALLOT_TRY(file.op_seconds.back(), time.seconds());
      return {};
    }
    ALLOT_TRY(const auto fields, time.object());
    for (const auto field : fields) {
      const JsonNode child = time.member(field.key, field.value);
      if (child.isNull()) {
        file.op_class_seconds.back().emplace_back(field.key, kCannotRun);
        continue;
      }
      ALLOT_TRY(const double seconds, child.seconds());
      file.op_class_seconds.back().emplace_back(field.key, seconds);
    }
    return {};
  }));
  ALLOT_CHECK(parts.finishOps(ops));
  if (file.graph.opCount() == 0) return ops.fail("there are no ops", "give at least one op");
  if (root.has("tensors")) {
    ALLOT_TRY(const JsonNode tensors, root.at("tensors"));
    std::vector<OpId> consumers;
    ALLOT_CHECK(tensors.forEach([&](const JsonNode& node) -> Result<void> {
      ALLOT_TRY(const OpId producer, parts.readTensorEnds(node, consumers));
      std::int64_t bytes = 0;
      if (node.has("bytes")) {
        ALLOT_TRY(const JsonNode child, node.at("bytes"));
        ALLOT_TRY(bytes, child.bytes());
      }
      if (producer.valid())
        file.graph.addTensor(producer, consumers, bytes);
      else
        file.graph.addInput(bytes, consumers);
      node.warnUnknown({"from", "to", "bytes"}, warnings);
      return {};
    }));
  }
  ALLOT_CHECK(parts.readOrderHint(root));
  root.warnUnknown({"schema", "name", "goal", "options", "ops", "tensors", "order_hint"}, warnings);
  ALLOT_CHECK(file.graph.finish());
  return file;
}

std::string writeGraph(const GraphFile& file) {
  const OpGraph& graph = file.graph;
  JsonWriter out;
  out.beginObject().field("schema", "allot.graph/1").field("name", file.name);
  if (file.goal) out.field("goal", name(*file.goal));
  if (file.dtype || file.memory != MemoryModel::kStatic) {
    out.key("options").beginObject();
    if (file.dtype) out.field("dtype", name(*file.dtype));
    if (file.memory != MemoryModel::kStatic) out.field("memory", name(file.memory));
    out.endObject();
  }
  out.key("ops").beginArray();
  const WeightBlockWriter blocks(graph);
  for (std::size_t i = 0; i < graph.opCount(); ++i) {
    out.beginObject();
    writeOpParts(graph, OpId(i), false, blocks, out);
    if (!file.op_class_seconds[i].empty()) {
      out.key("time").beginObject();
      for (const auto& [cls, seconds] : file.op_class_seconds[i]) out.field(cls, seconds);
      out.endObject();
    } else if (!std::isnan(file.op_seconds[i])) {
      out.field("time", file.op_seconds[i]);
    }
    out.endObject();
  }
  out.endArray().key("tensors").beginArray();
  writeModelInputs(graph, out);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    out.beginObject().field("from", graph.op_name[graph.tensor_producer[t].index()]);
    writeReaders(graph, graph.tensor_consumers[t], out);
    out.field("bytes", graph.tensor_bytes[t]).endObject();
  }
  out.endArray();
  writeOrderHint(graph, out);
  out.endObject();
  return out.take();
}

Result<Problem> makeProblem(GraphFile file, const Cluster& cluster) {
  Problem problem;
  problem.name = file.name;
  problem.graph = std::move(file.graph);
  problem.cluster = cluster;
  const std::size_t classes = cluster.classCount();
  const std::size_t n = problem.opCount();
  problem.op_seconds.reserve(n * classes);
  for (std::size_t i = 0; i < n; ++i) {
    for (const DeviceClass& cls : cluster.classes) {
      double seconds = file.op_seconds[i] / cls.speed;
      for (const auto& [class_name, given] : file.op_class_seconds[i]) {
        if (class_name == cls.name) seconds = given;
      }
      if (std::isnan(seconds)) {
        return badInput(fmt::format("op \"{}\"", problem.graph.op_name[i]),
                        fmt::format("no time on class \"{}\"", cls.name),
                        cls.spec
                            ? "give \"time\", or flops and traffic to estimate it from"
                            : "give \"time\" in seconds or as {class: seconds}, measured times (--times), or "
                              "a device of the catalogue for the class");
      }
      if (seconds > kMaxSeconds && seconds != kCannotRun) {
        return badInput(fmt::format("op \"{}\"", problem.graph.op_name[i]),
                        fmt::format("time {} s on class \"{}\" is absurd", seconds, cls.name),
                        "check its time and the class's speed");
      }
      problem.op_seconds.push_back(seconds);
    }
  }
  problem.tensor_seconds.assign(problem.graph.tensorCount(), std::nan(""));
  problem.tensor_matrix.assign(problem.graph.tensorCount(), -1);
  problem.modes.goal = file.goal;
  problem.modes.dtype = file.dtype;
  problem.default_memory = file.memory;
  problem.costs = std::move(file.costs);
  ALLOT_CHECK(problem.finish());
  return problem;
}

}  // namespace allot
