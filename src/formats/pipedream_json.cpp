// pipedream-v1: a PipeDream profile turned into JSON.
#include <fmt/format.h>

#include "formats/foreign_parts.h"
#include "formats/pipedream.h"

namespace allot {
namespace {

Result<std::int64_t> outputBytes(const JsonNode& node) {
  if (node.has("out_bytes")) {
    ALLOT_TRY(const JsonNode bytes, node.at("out_bytes"));
    return bytes.bytes();
  }
  ALLOT_TRY(const JsonNode outs, node.at("outs"));
  std::int64_t total = 0;
  ALLOT_CHECK(outs.forEach([&](const JsonNode& item) -> Result<void> {
    ALLOT_TRY(const std::int64_t bytes, item.bytes());
    if ((total += bytes) > kMaxBytes)
      return item.fail("the outputs add up to an absurd size", "write sizes in bytes");
    return {};
  }));
  return total;
}

Result<void> readLayer(const JsonNode& node, double factor, PipeDreamProfile& profile) {
  PipeDreamProfile::Layer layer;
  ALLOT_TRY(const JsonNode id, node.at("id"));
  ALLOT_TRY(layer.id, id.label());
  ALLOT_TRY(const JsonNode op, node.at("op"));
  ALLOT_TRY(layer.description, op.label());
  ALLOT_TRY(const JsonNode forward, node.at("fwd"));
  ALLOT_TRY(layer.forward_seconds, scaledSeconds(forward, factor));
  ALLOT_TRY(const JsonNode backward, node.at("bwd"));
  ALLOT_TRY(layer.backward_seconds, scaledSeconds(backward, factor));
  ALLOT_TRY(layer.out_bytes, outputBytes(node));
  if (node.has("param_bytes")) {
    ALLOT_TRY(const JsonNode bytes, node.at("param_bytes"));
    ALLOT_TRY(layer.param_bytes, bytes.bytes());
  }
  const std::string name = layer.id;
  if (!profile.add(std::move(layer)))
    return id.fail(fmt::format("node \"{}\" is there twice", name), "give each node its own id");
  return {};
}

Result<std::uint32_t> layerAt(const JsonNode& node, const PipeDreamProfile& profile) {
  ALLOT_TRY(const std::string id, node.label());
  if (const std::uint32_t* layer = profile.find(id)) return *layer;
  return node.fail(fmt::format("unknown node \"{}\"", id), "name the id of one of \"nodes\"");
}

}  // namespace

Result<GraphFile> readPipeDreamJson(const JsonNode& root, const ReadOptions& options, Warnings&) {
  ALLOT_TRY(std::string name, documentName(root));
  ALLOT_TRY(const double factor, namedTimeUnit(root, options, 1e-3));
  PipeDreamProfile profile;
  ALLOT_TRY(const JsonNode nodes, root.at("nodes"));
  ALLOT_CHECK(nodes.forEach([&](const JsonNode& node) { return readLayer(node, factor, profile); }));
  if (profile.layerCount() == 0) return nodes.fail("there are no nodes", "give at least one node");
  ALLOT_TRY(const JsonNode edges, root.at("edges"));
  ALLOT_CHECK(edges.forEach([&](const JsonNode& edge) -> Result<void> {
    ALLOT_TRY(const auto ends, edge.array());
    if (ends.size() != 2) return edge.fail("expected two nodes", "write [from, to]");
    ALLOT_TRY(const std::uint32_t from, layerAt(edge.item(0, ends.at(0).value()), profile));
    ALLOT_TRY(const std::uint32_t to, layerAt(edge.item(1, ends.at(1).value()), profile));
    if (from == to) return edge.fail("an edge from a node to itself", "remove the self loop");
    profile.connect(from, to);
    return {};
  }));
  return profile.graph(std::move(name));
}

}  // namespace allot
