// Parts that problem and cluster files share: classes, devices and links.
#pragma once

#include "allot/cluster.h"
#include "allot/formats.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace allot {

// Reads `classes`, `devices` and `links` of an object into `cluster`.
Result<void> readClusterParts(const JsonNode& root, Cluster& cluster, Warnings& warnings);
void writeClusterParts(const Cluster& cluster, JsonWriter& out);

}  // namespace allot
