// Reading and writing files.
//
// Every reader takes text and a name for messages, and returns an error value that begins with that name. The
// format of an input is recognised from its content; `Format` forces it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allot/cluster.h"
#include "allot/cost.h"
#include "allot/graph_file.h"
#include "allot/packing.h"
#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

enum class Format {
  kProblem,          // allot.problem/1
  kGraph,            // allot.graph/1
  kCluster,          // allot.cluster/1
  kPlan,             // allot.plan/1
  kDnnPartitioning,  // msr-fiddle/dnn-partitioning JSON
  kMoirai,           // moirai-v1 JSON
  kPipeDreamText,    // graph.txt
  kPipeDreamJson,    // pipedream-v1 JSON
  kPiper,            // msr-fiddle/piper JSON
  kOpChainCsv,       // ops in order with cpu and gpu times
  kOpTypesCsv,       // operator types with cpu and gpu times
  kPyTorchTrace,     // Chrome trace of the PyTorch profiler, old form or Kineto
  kOnnx,             // ONNX model, weights inside or beside it
};

std::string_view name(Format format);
std::optional<Format> formatFromName(std::string_view name);
// All names, for messages.
std::string formatNames();

struct ReadOptions {
  std::optional<Format> format;              // absent = recognise
  std::optional<std::string> time_unit;      // "s", "ms" or "us": overrides a foreign file's unit
  bool merge_edges = false;                  // Moirai: join edges of one producer whose matrices are equal
  std::optional<PackRule> pack;              // op chains: merge ops that follow one another
  const MeasuredTimes* measured = nullptr;   // graphs: times of ops that go before all others (allot/cost.h)
  std::map<std::string, std::int64_t> dims;  // ONNX: values of symbolic dimensions
  std::optional<DataType> dtype;             // graphs: arithmetic to estimate for; absent = the model's own
};

Result<Format> recogniseFormat(std::string_view text, const std::string& file);

// Reads any input that carries devices and times into a finished problem; a graph needs `cluster`.
Result<Problem> readProblem(std::string_view text, const std::string& file, const ReadOptions& options,
                            const Cluster* cluster, Warnings& warnings);
// One model from several files: the trace of a cpu run and that of a gpu run, in this order, or one op chain;
// in both cases a table of operator types may follow, whose speed-ups then decide the packing.
struct InputText {
  std::string text;
  std::string file;  // for messages
};
Result<Problem> readModelParts(std::span<const InputText> files, const ReadOptions& options,
                               const Cluster* cluster, Warnings& warnings);
Result<GraphFile> readGraph(std::string_view text, const std::string& file, const ReadOptions& options,
                            Warnings& warnings);
Result<Cluster> readCluster(std::string_view text, const std::string& file, Warnings& warnings);
// CSV (op,class,seconds; a header row says the unit) or allot.profile/1.
Result<MeasuredTimes> readTimes(std::string_view text, const std::string& file, Warnings& warnings);
// Names are resolved in `problem`; what the file leaves out stays empty.
Result<Plan> readPlan(std::string_view text, const std::string& file, const Problem& problem,
                      Warnings& warnings);

// The arithmetic that a plan was made for, where it names one: graphs are estimated for it before the plan is
// read. Nothing where the text is no plan.
std::optional<DataType> arithmeticOfPlan(std::string_view text);

// Joins a graph and a cluster to a finished problem.
Result<Problem> makeProblem(GraphFile graph, const Cluster& cluster);
// Joins several problems, each one model, over one cluster.
Result<Problem> joinModels(std::vector<Problem> problems);

std::string writeProblem(const Problem& problem);
std::string writeGraph(const GraphFile& graph);
std::string writeCluster(const Cluster& cluster);
std::string writePlan(const Problem& problem, const Plan& plan);
// The split file of dnn-partitioning: {fpgas: [{nodes, load}], cpus: [...], maxLoad}, in milliseconds.
Result<std::string> writeDnnPartitioningSplit(const Problem& problem, const Plan& plan);

}  // namespace allot
