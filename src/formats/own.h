// Readers of Allot's own schemas on a parsed document, and the parts that several of them share.
#pragma once

#include "allot/formats.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace allot {

Result<Problem> readOwnProblem(const JsonNode& root, Warnings& warnings);
Result<GraphFile> readOwnGraph(const JsonNode& root, Warnings& warnings);

// `goal` and `options` of a problem or plan file.
Result<void> readModes(const JsonNode& root, Options& options, Warnings& warnings);
void writeModes(const Modes& modes, JsonWriter& out);

}  // namespace allot
