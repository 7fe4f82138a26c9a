// Readers of foreign formats. Each takes a parsed document (or text) and returns a finished problem, or a
// finished graph where the format has no devices. Field by field: docs/formats/.
#pragma once

#include "allot/formats.h"
#include "base/json_reader.h"

namespace allot {

// Milliseconds; op name = node id; devices acc0.. and cpu0...
Result<Problem> readDnnPartitioning(const JsonNode& root, const ReadOptions& options, Warnings& warnings);
// Milliseconds (seconds when the file's unit is "abstract"); op name = node id; devices dev0...
Result<Problem> readMoirai(const JsonNode& root, const ReadOptions& options, Warnings& warnings);
// Seconds unless --time-unit says otherwise; op name = node id; devices acc0...
Result<Problem> readPiper(const JsonNode& root, const ReadOptions& options, Warnings& warnings);
// Milliseconds; each layer becomes a forward and a backward op of one group.
Result<GraphFile> readPipeDreamJson(const JsonNode& root, const ReadOptions& options, Warnings& warnings);
Result<GraphFile> readPipeDreamText(std::string_view text, const ReadOptions& options, Warnings& warnings);
// Ops in order, or operator types, with times on a cpu and a gpu: by default one device of each class.
Result<Problem> readOpChain(std::string_view text, const std::string& file, const ReadOptions& options,
                            const Cluster* cluster, Warnings& warnings);
Result<Problem> readOpTypes(std::string_view text, const std::string& file, const ReadOptions& options,
                            const Cluster* cluster, Warnings& warnings);
// An ONNX model; `file` also says in which folder its external data lies. The bytes must stay until it
// returns.
Result<GraphFile> readOnnx(std::string_view bytes, const std::string& file, const ReadOptions& options,
                           Warnings& warnings);
// Fails on what a compressed file begins with.
Result<void> refuseCompressed(std::string_view text);
// Fails on the first option, or the cluster, that such a file has no use for; an error of the call.
Result<void> requireHeeded(Format format, const ReadOptions& options, bool cluster);
// The CSV format that a text's header names, if any.
std::optional<Format> recogniseCsv(std::string_view text);

// Which nodes each accelerator and each cpu holds, as devices of `problem` in the order of its file. Ops that
// the split leaves out follow an op of their group.
Result<Plan> readDnnPartitioningSplit(const JsonNode& root, const Problem& problem);

// Factor from the file's unit of time to seconds: the option's unit, or `standard`.
Result<double> timeUnitFactor(const ReadOptions& options, double standard);

}  // namespace allot
