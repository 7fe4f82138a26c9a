// Recognises what a file is and calls its reader.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "allot/cost.h"
#include "formats/foreign.h"
#include "formats/onnx/parse.h"
#include "formats/own.h"
#include "formats/pytorch_trace.h"

namespace allot {
namespace {

// What of ReadOptions a format heeds, and whether it needs a cluster or takes one.
enum Heeds : unsigned { kUnit = 1, kMerge = 2, kPack = 4, kDims = 8, kTimes = 16, kCluster = 32, kType = 64 };
constexpr unsigned kModel = kTimes | kCluster;         // a graph without devices
constexpr unsigned kChain = kUnit | kPack | kCluster;  // times of a cpu and a gpu

struct NamedFormat {
  Format format;
  std::string_view name;
  unsigned heeds;
};

constexpr std::array<NamedFormat, 13> kFormats{{{Format::kProblem, "allot.problem", kType},
                                                {Format::kGraph, "allot.graph", kType | kModel},
                                                {Format::kCluster, "allot.cluster", 0},
                                                {Format::kPlan, "allot.plan", 0},
                                                {Format::kDnnPartitioning, "dnn-partitioning", kUnit},
                                                {Format::kMoirai, "moirai", kUnit | kMerge},
                                                {Format::kPipeDreamText, "pipedream-text", kUnit | kModel},
                                                {Format::kPipeDreamJson, "pipedream-json", kUnit | kModel},
                                                {Format::kPiper, "piper", kUnit},
                                                {Format::kOpChainCsv, "op-chain-csv", kChain},
                                                {Format::kOpTypesCsv, "op-types-csv", kChain},
                                                {Format::kPyTorchTrace, "pytorch-trace", kChain},
                                                {Format::kOnnx, "onnx", kDims | kType | kModel}}};

// graph.txt has lines "node1 -- Conv2d(...) -- forward_compute_time=..., ...".
bool looksLikePipeDreamText(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || !text.substr(first).starts_with("node")) return false;
  const std::string_view line = text.substr(first, text.find('\n', first) - first);
  return line.find(" -- ") != std::string_view::npos &&
         line.find("forward_compute_time=") != std::string_view::npos;
}

// The format of what is neither JSON nor YAML. ONNX comes first: such a file may have gigabytes without a
// line.
std::optional<Format> plainFormat(std::string_view text, const std::string& file) {
  if (onnx::looksLikeModel(text) || file.ends_with(".onnx")) return Format::kOnnx;
  if (looksLikePipeDreamText(text)) return Format::kPipeDreamText;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] == '{' || text[first] == '[') return std::nullopt;
  return recogniseCsv(text);
}

bool isPlain(Format format) {
  return format == Format::kPipeDreamText || format == Format::kOpChainCsv || format == Format::kOpTypesCsv ||
         format == Format::kOnnx;
}

Result<Format> recognise(const JsonNode& root) {
  if (looksLikeTrace(root)) return Format::kPyTorchTrace;
  if (!root.isObject()) return root.fail("expected an object", "give a problem, graph, cluster or plan file");
  if (root.has("schema")) {
    ALLOT_TRY(const JsonNode node, root.at("schema"));
    ALLOT_TRY(const std::string_view schema, node.string());
    for (const NamedFormat& known : kFormats) {
      if (schema.starts_with(known.name) && schema.substr(known.name.size()).starts_with("/"))
        return known.format;
    }
    return node.fail(fmt::format("unknown schema \"{}\"", schema),
                     "use allot.problem/1, allot.graph/1, allot.cluster/1 or allot.plan/1");
  }
  if (root.has("format")) {
    ALLOT_TRY(const JsonNode node, root.at("format"));
    ALLOT_TRY(const std::string_view format, node.string());
    if (format == "moirai-v1") return Format::kMoirai;
    if (format == "pipedream-v1") return Format::kPipeDreamJson;
    return node.fail(fmt::format("unknown format \"{}\"", format), "use --from to say what it is");
  }
  if (root.has("maxFPGAs") && root.has("nodes")) return Format::kDnnPartitioning;
  if (root.has("maxDevices") && root.has("nodes")) return Format::kPiper;
  return root.fail("\"schema\" is missing and no known format has these keys",
                   "add \"schema\": \"allot.problem/1\", or say what it is with --from");
}

Error withFile(Error error, const std::string& file) {
  if (error.file.empty()) error.file = file;
  return error;
}

template <class T>
Result<T> named(Result<T> result, const std::string& file) {
  if (!result) return fail(withFile(std::move(result).error(), file));
  return result;
}

// Calls `visit(format, root)`; root is null for plain formats.
template <class Visit>
auto open(std::string_view text, const std::string& file, const ReadOptions& options, Visit&& visit)
    -> decltype(visit(Format::kGraph, static_cast<const JsonNode*>(nullptr))) {
  ALLOT_CHECK(refuseCompressed(text));
  const std::optional<Format> known = options.format ? options.format : plainFormat(text, file);
  if (known && isPlain(*known)) return visit(*known, nullptr);
  ALLOT_TRY(const JsonDocument document, JsonDocument::parse(text, file, true, JsonDocument::Keys::kAny));
  const JsonNode root = document.root();
  Format format = Format::kProblem;
  if (options.format) {
    format = *options.format;
  } else {
    ALLOT_TRY(format, recognise(root));
  }
  // Nobody writes traces by hand, and what their tools repeat is not read.
  if (format != Format::kPyTorchTrace) ALLOT_CHECK(document.refuseDoubledKeys());
  return visit(format, &root);
}

int bitsOf(DataType type) {
  if (type == DataType::kFloat16 || type == DataType::kBFloat16) return 16;
  return type == DataType::kFloat8 || type == DataType::kInt8 ? 8 : 32;
}

// Sizes of a graph file are bytes without types: what was read in one width cannot be had in another. A file
// that says its arithmetic is believed; in others whole numbers are those of the model, whatever is asked.
Result<void> requireWidth(const GraphFile& file, DataType asked) {
  const auto wrong = [&](std::string_view sizes) {
    return fail(
        {ErrorCode::kUsage, "", "--dtype",
         fmt::format("the sizes in a graph file are those of {}, not of {}", sizes, name(asked)),
         fmt::format("import the model itself again: allot import MODEL.onnx --dtype {}", name(asked))});
  };
  if (file.dtype) {
    if (bitsOf(*file.dtype) != bitsOf(asked)) return wrong(name(*file.dtype));
    return {};
  }
  const OpGraph& graph = file.graph;
  for (std::size_t i = 0; i < graph.opCount(); ++i) {
    const DataType own = graph.op_data_type[i];
    const bool floats = own == DataType::kFloat32 || own == DataType::kTf32 || own == DataType::kFloat16 ||
                        own == DataType::kBFloat16 || own == DataType::kUnknown;
    if (!floats || bitsOf(own) == bitsOf(asked)) continue;
    return wrong(fmt::format("{} (op \"{}\")",
                             own == DataType::kUnknown ? name(DataType::kFloat32) : name(own),
                             graph.op_name[i]));
  }
  return {};
}

// Makes `file`, which says its own arithmetic, one for `asked`.
Result<void> retypeGraph(GraphFile& file, std::optional<DataType> asked) {
  if (!asked || file.dtype == asked) return {};
  ALLOT_CHECK(requireWidth(file, *asked));
  for (DataType& type : file.graph.op_data_type) {
    const bool half = type == DataType::kFloat16 || type == DataType::kBFloat16;
    if (half || (file.dtype && type == *file.dtype && bitsOf(type) == 8)) type = *asked;
  }
  file.dtype = asked;
  return {};
}

Result<Problem> readProblemFile(const JsonNode& root, std::optional<DataType> asked, Warnings& warnings) {
  ALLOT_TRY(Problem problem, readOwnProblem(root, warnings));
  if (!asked || problem.modes.dtype == asked) return problem;
  return fail({ErrorCode::kUsage, "", "--dtype",
               problem.modes.dtype
                   ? fmt::format("the times in the file were estimated for {}", name(*problem.modes.dtype))
                   : std::string("the times in the file are given, not estimated here"),
               "leave it out, or give the model itself with --cluster"});
}

// A graph file keeps the arithmetic that it says.
Result<GraphFile> readGraphOf(Format format, const JsonNode* root, std::string_view text,
                              const std::string& file, const ReadOptions& options, Warnings& warnings) {
  switch (format) {
    case Format::kGraph:
      return readOwnGraph(*root, warnings);
    case Format::kPipeDreamJson:
      return readPipeDreamJson(*root, options, warnings);
    case Format::kPipeDreamText:
      return readPipeDreamText(text, options, warnings);
    case Format::kOnnx:
      return readOnnx(text, file, options, warnings);
    default:
      return badInput("", fmt::format("a {} file is no graph", name(format)),
                      "give a graph, or a problem where one is needed");
  }
}

}  // namespace

std::string_view name(Format format) {
  for (const NamedFormat& known : kFormats) {
    if (known.format == format) return known.name;
  }
  return "?";
}

std::optional<Format> formatFromName(std::string_view text) {
  for (const NamedFormat& known : kFormats) {
    if (known.name == text) return known.format;
  }
  return std::nullopt;
}

std::string formatNames() {
  std::string all;
  for (const NamedFormat& known : kFormats) all += fmt::format("{}{}", all.empty() ? "" : ", ", known.name);
  return all;
}

Result<void> requireHeeded(Format format, const ReadOptions& options, bool cluster) {
  if (format == Format::kCluster || format == Format::kPlan) return {};  // no input at all
  const auto known = std::find_if(kFormats.begin(), kFormats.end(),
                                  [&](const NamedFormat& row) { return row.format == format; });
  struct Option {
    std::string_view name;
    bool given;
    Heeds bit;
    std::string_view why;
  };
  for (const Option& option :
       {Option{"--dim", !options.dims.empty(), kDims, "has no dimensions"},
        Option{"--pack", options.pack.has_value(), kPack, "cannot be packed"},
        Option{"--time-unit", options.time_unit.has_value(), kUnit, "says its own units"},
        Option{"--merge-edges", options.merge_edges, kMerge, "has no edges to join"},
        Option{"--dtype", options.dtype.has_value(), kType,
               "brings its own times: there is nothing to estimate"},
        Option{"--times", options.measured != nullptr, kTimes, "has times of its own"},
        Option{"--cluster", cluster, kCluster, "has devices of its own"}}) {
    if (!option.given || (known->heeds & option.bit) != 0) continue;
    return fail({ErrorCode::kUsage, "", std::string(option.name),
                 fmt::format("input of format {} {}", known->name, option.why), "leave it out"});
  }
  return {};
}

Result<void> refuseCompressed(std::string_view text) {
  if (!text.starts_with("\x1f\x8b")) return {};
  return badInput("", "a gzip file", "unpack it first: gunzip FILE");
}

Result<double> timeUnitFactor(const ReadOptions& options, double standard) {
  if (!options.time_unit) return standard;
  static const std::map<std::string, double> kUnits{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
  const auto unit = kUnits.find(*options.time_unit);
  if (unit == kUnits.end())
    return badInput("time-unit", fmt::format("unknown unit \"{}\"", *options.time_unit), "use s, ms or us");
  return unit->second;
}

Result<Format> recogniseFormat(std::string_view text, const std::string& file) {
  return open(text, file, {}, [](Format format, const JsonNode*) -> Result<Format> { return format; });
}

Result<GraphFile> readGraph(std::string_view text, const std::string& file, const ReadOptions& options,
                            Warnings& warnings) {
  return named(open(text, file, options,
                    [&](Format format, const JsonNode* root) -> Result<GraphFile> {
                      ALLOT_CHECK(requireHeeded(format, options, false));
                      ALLOT_TRY(GraphFile graph, readGraphOf(format, root, text, file, options, warnings));
                      if (format == Format::kGraph) ALLOT_CHECK(retypeGraph(graph, options.dtype));
                      return graph;
                    }),
               file);
}

Result<Problem> readProblem(std::string_view text, const std::string& file, const ReadOptions& options,
                            const Cluster* cluster, Warnings& warnings) {
  const auto read = [&](Format format, const JsonNode* root) -> Result<Problem> {
    ALLOT_CHECK(requireHeeded(format, options, cluster != nullptr));
    switch (format) {
      case Format::kProblem:
        return readProblemFile(*root, options.dtype, warnings);
      case Format::kDnnPartitioning:
        return readDnnPartitioning(*root, options, warnings);
      case Format::kMoirai:
        return readMoirai(*root, options, warnings);
      case Format::kPiper:
        return readPiper(*root, options, warnings);
      case Format::kOpChainCsv:
        return readOpChain(text, file, options, cluster, warnings);
      case Format::kOpTypesCsv:
        return readOpTypes(text, file, options, cluster, warnings);
      case Format::kPyTorchTrace:
        return badInput("", "a trace has the times of one device only",
                        "join two first: allot import CPU.json GPU.json -o model.json");
      case Format::kCluster:
      case Format::kPlan:
        return badInput("", fmt::format("a {} file where a problem is needed", name(format)),
                        "give a problem or a graph");
      default:
        break;
    }
    if (cluster == nullptr)
      return badInput("", fmt::format("a {} file has no devices", name(format)), "add --cluster FILE");
    ALLOT_TRY(GraphFile graph, readGraphOf(format, root, text, file, options, warnings));
    // Asking for what the file says by itself asks for nothing.
    const bool changed = options.dtype && (format != Format::kGraph || graph.dtype != options.dtype);
    if (format == Format::kGraph) ALLOT_CHECK(retypeGraph(graph, options.dtype));
    ALLOT_TRY(const CostReport costs, priceGraph(graph, *cluster, options.measured));
    if (changed && costs.estimated == 0) {
      return fail({ErrorCode::kUsage, "", "--dtype",
                   fmt::format("all times are {}: there is nothing to estimate for {}",
                               costs.measured > 0 ? "measured" : "given", name(*options.dtype)),
                   "leave it out"});
    }
    warnings.insert(warnings.end(), costs.warnings.begin(), costs.warnings.end());
    for (const auto& [type, count] : costs.unpriced)
      warnings.push_back(
          fmt::format("the cost of {} {} is not known and taken from its traffic", count, type));
    return makeProblem(std::move(graph), *cluster);
  };
  return named(open(text, file, options, read), file);
}

}  // namespace allot
