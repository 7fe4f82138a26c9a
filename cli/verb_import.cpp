// allot import: what is in a file, and the same in Allot's own format.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/mapped_file.h"
#include "base/units.h"
#include "common.h"

namespace allot::cli {
namespace {

struct TypeTotal {
  std::size_t ops = 0;
  double flops = 0, weight_bytes = 0;
};

struct Contents {
  std::string name, costs;
  std::size_t ops = 0, tensors = 0, devices = 0;
  TypeTotal all;
  std::map<std::string, TypeTotal> types;
  std::map<std::string, std::size_t> unknown_cost;  // op type -> ops
  std::vector<std::string> unknown_shapes;          // names of values
  std::int64_t largest_tensor = 0;
  std::string largest_producer;
};

Contents contentsOf(std::string name, const OpGraph& graph, std::size_t tensors) {
  Contents contents;
  contents.name = std::move(name);
  contents.ops = graph.opCount();
  contents.tensors = tensors;
  for (std::size_t i = 0; i < graph.opCount(); ++i) {
    const std::string& type = graph.type_name[graph.op_type[i]];
    for (TypeTotal* total : {&contents.all, &contents.types[type]}) {
      ++total->ops;
      total->flops += graph.op_flops[i];
      total->weight_bytes += static_cast<double>(graph.op_weight_bytes[i]);
    }
    if (graph.op_cost_unknown[i] != 0) ++contents.unknown_cost[type];
  }
  // What several ops read is there once, and counts for the type of its first reader.
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
    const auto bytes = static_cast<double>(graph.block_bytes[b]);
    contents.all.weight_bytes += bytes;
    if (graph.block_readers[b].empty()) continue;
    const OpId first = graph.block_readers[b].front();
    contents.types[graph.type_name[graph.op_type[first.index()]]].weight_bytes += bytes;
  }
  for (std::size_t t = 0; t < tensors; ++t) {
    if (graph.tensor_bytes[t] <= contents.largest_tensor) continue;
    contents.largest_tensor = graph.tensor_bytes[t];
    contents.largest_producer = graph.op_name[graph.tensor_producer[t].index()];
  }
  return contents;
}

std::string contentsJson(Format format, const Contents& contents) {
  JsonWriter out(3);
  out.beginObject()
      .field("name", contents.name)
      .field("format", name(format))
      .field("ops", static_cast<std::uint64_t>(contents.ops))
      .field("tensors", static_cast<std::uint64_t>(contents.tensors))
      .field("flops", contents.all.flops)
      .field("weight_bytes", static_cast<std::int64_t>(contents.all.weight_bytes))
      .field("largest_tensor_bytes", contents.largest_tensor)
      .field("devices", static_cast<std::uint64_t>(contents.devices));
  if (!contents.costs.empty()) out.field("costs", contents.costs);
  out.key("types").beginObject();
  for (const auto& [type, total] : contents.types) {
    out.key(type)
        .beginObject()
        .field("ops", static_cast<std::uint64_t>(total.ops))
        .field("flops", total.flops)
        .field("weight_bytes", static_cast<std::int64_t>(total.weight_bytes))
        .endObject();
  }
  out.endObject().key("unknown_cost").beginObject();
  for (const auto& [type, count] : contents.unknown_cost) out.field(type, static_cast<std::uint64_t>(count));
  out.endObject().key("unknown_shapes").beginArray();
  for (const std::string& value : contents.unknown_shapes) out.value(value);
  out.endArray().endObject();
  return out.take();
}

std::string flopsText(double flops) {
  return flops > 0 ? fmt::format("{:.4g}", flops) : std::string("-");
}

// Types by falling flops, then by name.
std::string typeTable(const Contents& contents, bool all) {
  std::vector<std::pair<std::string, TypeTotal>> types(contents.types.begin(), contents.types.end());
  std::stable_sort(types.begin(), types.end(),
                   [](const auto& a, const auto& b) { return a.second.flops > b.second.flops; });
  std::vector<std::vector<std::string>> rows{{"type", "ops", "flops", "weights"}};
  const std::size_t shown = all ? types.size() : std::min<std::size_t>(12, types.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [type, total] = types[i];
    rows.push_back({type.empty() ? "(no type)" : type, fmt::format("{}", total.ops), flopsText(total.flops),
                    bytesText(total.weight_bytes)});
  }
  std::string text = "\n" + tableText(rows);
  if (shown < types.size()) text += fmt::format("  (-v shows {} more types)\n", types.size() - shown);
  return text;
}

std::string contentsText(const std::string& file, Format format, const Contents& contents, bool verbose) {
  std::string text = fmt::format("{} ({})\n  {} ops, {} tensors, {} of weights",
                                 contents.name.empty() ? file : contents.name, name(format), contents.ops,
                                 contents.tensors, bytesText(contents.all.weight_bytes));
  if (contents.all.flops > 0) text += fmt::format(", {:.4g} flops", contents.all.flops);
  text += contents.devices > 0 ? fmt::format(", {} devices\n", contents.devices)
                               : "; no devices, plan it with --cluster\n";
  if (contents.largest_tensor > 0) {
    text += fmt::format("  largest activation {}, put out by {}\n",
                        bytesText(static_cast<double>(contents.largest_tensor)), contents.largest_producer);
  }
  if (!contents.costs.empty()) text += fmt::format("  times: {}\n", contents.costs);
  if (contents.types.size() > 1) text += typeTable(contents, verbose);
  if (format != Format::kOnnx) return text;
  text += "\n  cost not known:";
  for (const auto& [type, count] : contents.unknown_cost) text += fmt::format(" {} {};", count, type);
  if (contents.unknown_cost.empty()) text += " nothing;";
  text.back() = '\n';
  text += fmt::format("  shape not known: {}\n",
                      contents.unknown_shapes.empty()
                          ? "nothing"
                          : fmt::format("{} values, the first is {}", contents.unknown_shapes.size(),
                                        contents.unknown_shapes.front()));
  return text;
}

bool isGraph(Format format) {
  return format == Format::kGraph || format == Format::kPipeDreamText || format == Format::kPipeDreamJson ||
         format == Format::kOnnx;
}

// A graph stays a graph where no devices are given.
Result<Contents> importGraph(const Arguments& arguments, std::string_view text, const std::string& file,
                             const ReadOptions& options, std::string* document) {
  Warnings warnings;
  auto graph = readGraph(text, file, options, warnings);
  printWarnings(arguments, file, warnings);
  if (!graph) return fail(std::move(graph).error());
  for (const auto& [option, value] : arguments.options) {
    const bool kept = option == "goal" || option == "memory" || option == "dtype";
    if (!kept)
      return usageError("--" + option, "a graph without devices does not keep it",
                        "give it to plan, or add --cluster");
  }
  if (!arguments.times.empty())
    return usageError("--times", "a graph without devices keeps no times of classes",
                      "give it to plan, or add --cluster");
  Options modes;
  modes.modes.goal = graph->goal;
  modes.modes.dtype = graph->dtype;
  ALLOT_CHECK(applyOptions(arguments, modes));
  ALLOT_CHECK(requireArithmetic(modes, graph->dtype));
  graph->goal = modes.modes.goal;
  graph->memory = modes.modes.memory.value_or(graph->memory);
  Contents contents = contentsOf(graph->name, graph->graph, graph->graph.tensorCount());
  contents.unknown_shapes = graph->unknown_shapes;
  if (document != nullptr) *document = writeGraph(*graph);
  return contents;
}

Result<Contents> importProblem(const Arguments& arguments, Problem problem, std::string* document) {
  Options modes;
  modes.modes = problem.modes;
  ALLOT_CHECK(adoptOptions(arguments, modes, problem));
  Contents contents = contentsOf(problem.name, problem.graph, problem.firstOrderTensor());
  contents.devices = problem.deviceCount();
  contents.costs = problem.costs;
  if (document != nullptr) *document = writeProblem(problem);
  return contents;
}

Result<Contents> importInputs(const Arguments& arguments, Format& format, std::string* document) {
  const std::string file = displayName(arguments.inputs.front());
  if (std::count(arguments.inputs.begin(), arguments.inputs.end(), "-") > 1)
    return usageError("-", "standard input can be read only once", "give all but one of the files by name");
  ALLOT_TRY(const MappedFile input, MappedFile::open(arguments.inputs.front()));
  ALLOT_TRY(const InputOptions options, inputOptions(arguments));
  if (options.read.format) {
    format = *options.read.format;
  } else {
    ALLOT_TRY(format, inFile(recogniseFormat(input.text(), file), file));
  }
  if (!options.cluster && arguments.inputs.size() == 1 && isGraph(format))
    return importGraph(arguments, input.text(), file, options.read, document);
  const Cluster* cluster = options.cluster ? &*options.cluster : nullptr;
  Warnings warnings;
  std::optional<Result<Problem>> problem;
  if (arguments.inputs.size() == 1) {
    problem = readProblem(input.text(), file, options.read, cluster, warnings);
  } else {
    std::vector<InputText> parts{{std::string(input.text()), file}};
    for (std::size_t i = 1; i < arguments.inputs.size(); ++i) {
      ALLOT_TRY(std::string content, readFile(arguments.inputs[i]));
      parts.push_back({std::move(content), displayName(arguments.inputs[i])});
    }
    problem = readModelParts(parts, options.read, cluster, warnings);
  }
  printWarnings(arguments, file, warnings);
  if (!*problem) return fail(std::move(*problem).error());
  return importProblem(arguments, std::move(**problem), document);
}

Result<int> importFile(const Arguments& arguments) {
  ALLOT_CHECK(checkWritable(arguments.output));
  Format format = Format::kProblem;
  std::string document;
  ALLOT_TRY(const Contents contents,
            importInputs(arguments, format, arguments.output.empty() ? nullptr : &document));
  if (!arguments.output.empty()) ALLOT_CHECK(writeFile(arguments.output, document));
  if (arguments.output == "-") return kExitOk;
  if (arguments.json) {
    ALLOT_CHECK(print(contentsJson(format, contents)));
  } else if (!arguments.quiet) {
    ALLOT_CHECK(
        print(contentsText(displayName(arguments.inputs.front()), format, contents, arguments.verbose)));
  }
  return kExitOk;
}

}  // namespace

int runImport(const Arguments& arguments) {
  const auto code = importFile(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
