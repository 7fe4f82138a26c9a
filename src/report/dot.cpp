#include "report/dot.h"

#include <fmt/format.h>

#include "base/units.h"

namespace allot {
namespace {

// A quoted dot string: only quotes and backslashes mean something in it, and names must not break the line.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

// Hues far apart for neighbouring devices (golden angle).
std::string colourOf(std::size_t device) {
  const double hue = static_cast<double>(device) * 0.61803398875;
  return fmt::format("{:.3f} 0.35 0.95", hue - static_cast<double>(static_cast<long>(hue)));
}

}  // namespace

std::string writeDot(const Problem& problem, const Plan& plan) {
  const OpGraph& graph = problem.graph;
  std::string out =
      fmt::format("digraph {} {{\n  rankdir=TB;\n  node [shape=box, style=filled];\n", quoted(problem.name));
  std::vector<std::vector<OpId>> on_device(problem.deviceCount());
  for (const OpId op : graph.topologicalOrder()) on_device[plan.assignment[op.index()].index()].push_back(op);
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (on_device[d].empty()) continue;
    out +=
        fmt::format("  subgraph cluster_{} {{\n    label={};\n", d, quoted(problem.cluster.devices[d].name));
    for (const OpId op : on_device[d]) {
      const std::string label =
          fmt::format("{} ({})", graph.op_name[op.index()], secondsText(problem.opSeconds(op, DeviceId(d))));
      out += fmt::format("    n{} [label={}, fillcolor=\"{}\"];\n", op.index(), quoted(label), colourOf(d));
    }
    out += "  }\n";
  }
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const TensorId tensor(t);
    const OpId producer = graph.producer(tensor);
    for (const OpId consumer : graph.consumers(tensor)) {
      const bool cut = plan.assignment[producer.index()] != plan.assignment[consumer.index()];
      std::string style;
      if (problem.isOrder(tensor)) {
        style = " [style=dotted]";
      } else if (cut) {
        style = fmt::format(" [penwidth=2, color=red, label={}]",
                            quoted(bytesText(static_cast<double>(graph.tensor_bytes[t]))));
      }
      out += fmt::format("  n{} -> n{}{};\n", producer.index(), consumer.index(), style);
    }
  }
  return out + "}\n";
}

}  // namespace allot
