// graph.txt of PipeDream's profiler:
//   node4 -- Conv2d(3, 64, ...) -- forward_compute_time=1.2, backward_compute_time=2.5,
//   activation_size=4096.0, parameter_size=0.000 <tab>node4 -- node5
// A layer with several outputs has activation_size=[a; b]; a partitioned graph ends its node lines with " --
// stage_id=N".
#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <optional>

#include "base/units.h"
#include "formats/foreign_parts.h"
#include "formats/pipedream.h"

namespace allot {
namespace {

constexpr std::string_view kSeparator = " -- ";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Cuts `text` at the first separator; the head is returned and removed.
std::string_view cut(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + separator.size());
  return head;
}

class Reader {
 public:
  explicit Reader(double factor) : factor_(factor) {}

  Result<GraphFile> read(std::string_view text) {
    if (!simdjson::validate_utf8(text.data(), text.size()))
      return badInput("", "not UTF-8 text", "re-export the file");
    while (!text.empty()) {
      ++line_;
      const std::string_view line = cut(text, "\n");
      if (trim(line).empty()) continue;
      if (line.front() == '\t' || line.front() == ' ') {
        ALLOT_CHECK(readEdge(trim(line)));
      } else {
        ALLOT_CHECK(readLayer(trim(line)));
      }
    }
    if (profile_.layerCount() == 0)
      return badInput("", "there are no layers", "give lines \"node1 -- Name -- forward_compute_time=...\"");
    for (const Edge& edge : edges_) ALLOT_CHECK(connect(edge));
    return profile_.graph("");
  }

 private:
  struct Edge {
    std::string from, to;
    std::size_t line;
  };

  double factor_;
  std::size_t line_ = 0;
  PipeDreamProfile profile_;
  std::vector<Edge> edges_;

  tl::unexpected<Error> failHere(std::string message, std::string remedy) const {
    return failAt(line_, std::move(message), std::move(remedy));
  }
  static tl::unexpected<Error> failAt(std::size_t line, std::string message, std::string remedy) {
    return badInput(fmt::format("line {}", line), std::move(message), std::move(remedy));
  }

  Result<double> number(std::string_view key, std::string_view text) const {
    const auto value = parseNumber(text);
    if (!value) return failHere(fmt::format("{}: {}", key, value.error().message), "write a finite number");
    if (*value < 0)
      return failHere(fmt::format("{} {} is negative", key, *value), "write a number of 0 or more");
    return *value + 0.0;  // -0 becomes 0
  }

  Result<double> seconds(std::string_view key, std::string_view text) const {
    ALLOT_TRY(const double value, number(key, text));
    const double result = toSeconds(value, factor_);
    if (result > kMaxSeconds)
      return failHere(fmt::format("{}: time {} s is absurd", key, result),
                      "check the number, or the unit with --time-unit");
    return result;
  }

  Result<std::int64_t> bytes(std::string_view key, std::string_view text) const {
    if (text.starts_with('[')) {
      if (!text.ends_with(']')) return failHere(fmt::format("{}: the list has no end", key), "write [a; b]");
      text = text.substr(1, text.size() - 2);
    }
    double total = 0;
    while (!text.empty()) {
      ALLOT_TRY(const double value, number(key, trim(cut(text, ";"))));
      total += std::ceil(value);
      if (total > static_cast<double>(kMaxBytes))
        return failHere(fmt::format("{}: size {} is absurd", key, total), "write sizes in bytes");
    }
    return static_cast<std::int64_t>(total);
  }

  Result<void> readLayer(std::string_view line) {
    PipeDreamProfile::Layer layer;
    layer.id = trim(cut(line, kSeparator));
    layer.description = trim(cut(line, kSeparator));
    std::string_view facts = cut(line, kSeparator);
    if (layer.id.empty() || facts.empty()) {
      return failHere("not a layer",
                      "write \"node1 -- Name -- forward_compute_time=..., backward_compute_time=..., "
                      "activation_size=..., parameter_size=...\"");
    }
    std::optional<double> forward, backward;
    std::optional<std::int64_t> activation, parameters;
    while (!facts.empty()) {
      std::string_view fact = trim(cut(facts, ", "));
      const std::string_view key = cut(fact, "=");
      if (fact.empty()) return failHere(fmt::format("\"{}\" has no value", key), "write key=value");
      if (key == "forward_compute_time") {
        ALLOT_TRY(forward, seconds(key, fact));
      } else if (key == "backward_compute_time") {
        ALLOT_TRY(backward, seconds(key, fact));
      } else if (key == "activation_size") {
        ALLOT_TRY(activation, bytes(key, fact));
      } else if (key == "parameter_size") {
        ALLOT_TRY(parameters, bytes(key, fact));
      }
    }
    const std::string_view missing = !forward      ? "forward_compute_time"
                                     : !backward   ? "backward_compute_time"
                                     : !activation ? "activation_size"
                                     : !parameters ? "parameter_size"
                                                   : "";
    if (!missing.empty())
      return failHere(fmt::format("{} is missing", missing), fmt::format("add {}=...", missing));
    layer.forward_seconds = *forward;
    layer.backward_seconds = *backward;
    layer.out_bytes = *activation;
    layer.param_bytes = *parameters;
    const std::string name = layer.id;
    if (!profile_.add(std::move(layer)))
      return failHere(fmt::format("node \"{}\" is there twice", name), "give each node its own id");
    return {};
  }

  Result<void> readEdge(std::string_view line) {
    Edge edge;
    edge.from = trim(cut(line, kSeparator));
    edge.to = trim(line);
    edge.line = line_;
    if (edge.from.empty() || edge.to.empty())
      return failHere("not an edge", "write a tab, then \"node1 -- node2\"");
    edges_.push_back(std::move(edge));
    return {};
  }

  Result<std::uint32_t> layerAt(const std::string& id, std::size_t line) const {
    if (const std::uint32_t* layer = profile_.find(id)) return *layer;
    return failAt(line, fmt::format("unknown node \"{}\"", id), "name a node that has a line of its own");
  }

  Result<void> connect(const Edge& edge) {
    ALLOT_TRY(const std::uint32_t from, layerAt(edge.from, edge.line));
    ALLOT_TRY(const std::uint32_t to, layerAt(edge.to, edge.line));
    if (from == to) return failAt(edge.line, "an edge from a node to itself", "remove the self loop");
    profile_.connect(from, to);
    return {};
  }
};

}  // namespace

Result<GraphFile> readPipeDreamText(std::string_view text, const ReadOptions& options, Warnings&) {
  ALLOT_TRY(const double factor, timeUnitFactor(options, 1e-3));
  return Reader(factor).read(text);
}

}  // namespace allot
