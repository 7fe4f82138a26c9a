// allot import: what is in a file, and the same in Allot's own format.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"

namespace allot::cli {
namespace {

struct Contents {
  double flops = 0;
  double weight_bytes = 0;
  std::size_t ops = 0, tensors = 0;
};

Contents contentsOf(const OpGraph& graph, std::size_t tensors) {
  Contents contents;
  contents.flops = std::accumulate(graph.op_flops.begin(), graph.op_flops.end(), 0.0);
  for (const std::int64_t bytes : graph.op_weight_bytes) contents.weight_bytes += static_cast<double>(bytes);
  contents.ops = graph.opCount();
  contents.tensors = tensors;
  return contents;
}

std::string contentsJson(const std::string& model, Format format, const Contents& contents,
                         std::size_t devices) {
  JsonWriter out;
  out.beginObject()
      .field("name", model)
      .field("format", name(format))
      .field("ops", static_cast<std::uint64_t>(contents.ops));
  out.field("tensors", static_cast<std::uint64_t>(contents.tensors)).field("flops", contents.flops);
  out.field("weight_bytes", static_cast<std::int64_t>(contents.weight_bytes))
      .field("devices", static_cast<std::uint64_t>(devices));
  out.key("unknown_cost").beginObject().endObject().key("unknown_shapes").beginArray().endArray().endObject();
  return out.take();
}

Result<int> importFile(const Arguments& arguments) {
  ALLOT_CHECK(checkWritable(arguments.output));
  const std::string& path = arguments.inputs.front();
  const std::string file = displayName(path);
  ALLOT_TRY(const ReadOptions options, readOptionsOf(arguments));
  if (std::count(arguments.inputs.begin(), arguments.inputs.end(), "-") > 1)
    return usageError("-", "standard input can be read only once", "give all but one of the files by name");
  std::vector<InputText> parts;
  for (const std::string& part : arguments.inputs) {
    ALLOT_TRY(std::string content, readFile(part));
    parts.push_back({std::move(content), displayName(part)});
  }
  const std::string& text = parts.front().text;
  Format format = Format::kProblem;
  if (options.format) {
    format = *options.format;
  } else {
    auto recognised = recogniseFormat(text, file);
    if (!recognised) {
      Error error = std::move(recognised).error();
      if (error.file.empty()) error.file = file;
      return fail(std::move(error));
    }
    format = *recognised;
  }
  const bool graph_only =
      arguments.cluster.empty() && parts.size() == 1 &&
      (format == Format::kGraph || format == Format::kPipeDreamText || format == Format::kPipeDreamJson);
  Warnings warnings;
  Contents contents;
  std::string title, document;
  std::size_t devices = 0;
  Options modes;
  if (graph_only) {
    auto graph = readGraph(text, file, options, warnings);
    printWarnings(arguments, file, warnings);
    if (!graph) return fail(std::move(graph).error());
    modes.modes.goal = graph->goal;
    ALLOT_CHECK(applyOptions(arguments, modes));
    graph->goal = modes.modes.goal;
    contents = contentsOf(graph->graph, graph->graph.tensorCount());
    title = graph->name;
    if (!arguments.output.empty()) document = writeGraph(*graph);
  } else {
    std::optional<Cluster> cluster;
    if (!arguments.cluster.empty()) {
      ALLOT_TRY(cluster, loadCluster(arguments));
    }
    const Cluster* devices_of = cluster ? &*cluster : nullptr;
    auto problem = parts.size() == 1 ? readProblem(text, file, options, devices_of, warnings)
                                     : readModelParts(parts, options, devices_of, warnings);
    printWarnings(arguments, file, warnings);
    if (!problem) return fail(std::move(problem).error());
    modes.modes = problem->modes;
    ALLOT_CHECK(applyOptions(arguments, modes));
    if (auto set = problem->setModes(modes.modes); !set) {
      Error error = std::move(set).error();
      error.file = file;
      return fail(std::move(error));
    }
    contents = contentsOf(problem->graph, problem->firstOrderTensor());
    title = problem->name;
    devices = problem->deviceCount();
    if (!arguments.output.empty()) document = writeProblem(*problem);
  }
  if (!arguments.output.empty()) ALLOT_CHECK(writeFile(arguments.output, document));
  if (arguments.output == "-") return kExitOk;
  if (arguments.json) {
    ALLOT_CHECK(print(contentsJson(title, format, contents, devices)));
  } else if (!arguments.quiet) {
    std::string summary =
        fmt::format("{} ({})\n  {} ops, {} tensors, {} of weights", title.empty() ? file : title,
                    name(format), contents.ops, contents.tensors, bytesText(contents.weight_bytes));
    if (contents.flops > 0) summary += fmt::format(", {:.4g} flops", contents.flops);
    summary +=
        devices > 0 ? fmt::format(", {} devices\n", devices) : "; no devices, plan it with --cluster\n";
    ALLOT_CHECK(print(summary));
  }
  return kExitOk;
}

}  // namespace

int runImport(const Arguments& arguments) {
  const auto code = importFile(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
