#include "report/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace allot {
namespace {

// The problem as it was before `finish`, which adds the order tensors anew.
Problem unfinished(const Problem& problem) {
  Problem copy;
  copy.name = problem.name;
  copy.cluster = problem.cluster;
  using Table = Problem::ShortTime::Table;
  copy.op_seconds = problem.givenTimes(Table::kOp);
  copy.model_weight = problem.model_weight;
  copy.model_release = problem.model_release;
  copy.matrices = problem.givenTimes(Table::kMatrix);
  const std::vector<double> tensor_seconds = problem.givenTimes(Table::kTensor);
  copy.constraints = problem.constraints;
  copy.modes = problem.modes;
  copy.costs = problem.costs;
  copy.default_memory = problem.default_memory;
  const OpGraph& from = problem.graph;
  OpGraph& to = copy.graph;
  to.op_name = from.op_name;
  to.op_type = from.op_type;
  to.op_model = from.op_model;
  to.op_phase = from.op_phase;
  to.op_group = from.op_group;
  to.op_flops = from.op_flops;
  to.op_memory_bytes = from.op_memory_bytes;
  to.op_weight_bytes = from.op_weight_bytes;
  to.op_workspace_bytes = from.op_workspace_bytes;
  to.op_activation_bytes = from.op_activation_bytes;
  to.op_read_bytes = from.op_read_bytes;
  to.op_written_bytes = from.op_written_bytes;
  to.op_data_type = from.op_data_type;
  to.op_cost_unknown = from.op_cost_unknown;
  to.block_name = from.block_name;
  to.block_bytes = from.block_bytes;
  to.block_readers = from.block_readers;
  to.input_bytes = from.input_bytes;
  to.input_readers = from.input_readers;
  to.order_hint = from.order_hint;
  to.type_name = from.type_name;
  to.model_name = from.model_name;
  to.group_name = from.group_name;
  for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) {
    copy.addTensor(from.tensor_producer[t], from.tensor_consumers[t], from.tensor_bytes[t],
                   tensor_seconds[t]);
    copy.tensor_matrix.back() = problem.tensor_matrix[t];
  }
  return copy;
}

// Two other devices of the class, as a pattern for the pair of twins.
std::optional<std::pair<std::size_t, std::size_t>> pairOfClass(const Cluster& cluster, ClassId cls) {
  std::vector<std::size_t> found;
  for (std::size_t d = 0; d < cluster.deviceCount() && found.size() < 2; ++d) {
    if (cluster.devices[d].cls == cls) found.push_back(d);
  }
  if (found.size() < 2) return std::nullopt;
  return std::pair{found[0], found[1]};
}

std::vector<double> widened(const std::vector<double>& matrices, std::size_t devices, std::size_t twin,
                            const std::optional<std::pair<std::size_t, std::size_t>>& pattern) {
  std::vector<double> wide;
  const std::size_t cells = devices * devices;
  for (std::size_t base = 0; base < matrices.size(); base += cells) {
    const auto cell = [&](std::size_t a, std::size_t b) { return matrices[base + a * devices + b]; };
    double slowest = 0;
    for (std::size_t d = 0; d < devices; ++d) {
      if (d != twin) slowest = std::max({slowest, cell(twin, d), cell(d, twin)});
    }
    for (std::size_t a = 0; a <= devices; ++a) {
      for (std::size_t b = 0; b <= devices; ++b) {
        const std::size_t x = a == devices ? twin : a, y = b == devices ? twin : b;
        if (a != b && x == y) {
          wide.push_back(pattern ? cell(pattern->first, pattern->second) : slowest);
        } else {
          wide.push_back(cell(x, y));
        }
      }
    }
  }
  return wide;
}

// Gives the new device what the twin's own entries say, and the pair of twins a link of its own.
void addLinks(Cluster& cluster, std::size_t twin, std::size_t added,
              const std::optional<std::pair<std::size_t, std::size_t>>& pattern) {
  const std::size_t before = cluster.links.size();
  for (std::size_t i = 0; i < before; ++i) {
    Link link = cluster.links[i];
    const bool from = link.from_kind == LinkEnd::kDevice && link.from == twin;
    const bool to = link.to_kind == LinkEnd::kDevice && link.to == twin;
    if (from == to) continue;
    (from ? link.from : link.to) = static_cast<std::uint32_t>(added);
    cluster.links.push_back(link);
  }
  std::optional<Link> between;
  if (pattern) {
    if (const Link* link = cluster.linkBetween(DeviceId(pattern->first), DeviceId(pattern->second)))
      between = *link;
  }
  if (!between && cluster.linkBetween(DeviceId(twin), DeviceId(added)) == nullptr) {
    for (std::size_t d = 0; d < added; ++d) {
      const Link* link = d == twin ? nullptr : cluster.linkBetween(DeviceId(twin), DeviceId(d));
      if (link && (!between || link->bandwidth_bytes_per_second < between->bandwidth_bytes_per_second))
        between = *link;
    }
  }
  if (!between) return;
  between->from_kind = between->to_kind = LinkEnd::kDevice;
  between->from = static_cast<std::uint32_t>(twin);
  between->to = static_cast<std::uint32_t>(added);
  cluster.links.push_back(*between);
  std::swap(between->from, between->to);
  cluster.links.push_back(*between);
}

}  // namespace

Result<Problem> withExtraDevice(const Problem& problem, ClassId cls) {
  Problem changed = unfinished(problem);
  Cluster& cluster = changed.cluster;
  const std::size_t devices = cluster.deviceCount();
  const auto found = std::find_if(cluster.devices.begin(), cluster.devices.end(),
                                  [&](const Device& d) { return d.cls == cls; });
  if (found == cluster.devices.end()) {
    return badInput(cluster.classes[cls.index()].name, "no device of this class to copy",
                    "add one to the cluster");
  }
  const auto twin = static_cast<std::size_t>(found - cluster.devices.begin());
  const auto pattern = pairOfClass(cluster, cls);
  Device extra = *found;
  extra.name = fmt::format("extra-{}", cluster.classes[cls.index()].name);
  const auto taken = [&](const std::string& name) {
    return std::any_of(cluster.devices.begin(), cluster.devices.end(),
                       [&](const Device& d) { return d.name == name; });
  };
  while (taken(extra.name)) extra.name += "+";
  cluster.devices.push_back(std::move(extra));
  changed.matrices = widened(changed.matrices, devices, twin, pattern);
  addLinks(cluster, twin, devices, pattern);
  ALLOT_CHECK(changed.finish());
  return changed;
}

Result<Problem> withFasterClass(const Problem& problem, ClassId cls, double factor) {
  Problem changed = unfinished(problem);
  const std::size_t classes = problem.cluster.classCount();
  for (std::size_t i = cls.index(); i < changed.op_seconds.size(); i += classes)
    changed.op_seconds[i] /= factor;
  ALLOT_CHECK(changed.finish());
  return changed;
}

Result<Problem> withFasterLinks(const Problem& problem, double factor) {
  Problem changed = unfinished(problem);
  for (Link& link : changed.cluster.links) {
    link.latency_seconds /= factor;
    link.bandwidth_bytes_per_second *= factor;
  }
  for (double& seconds : changed.tensor_seconds) seconds /= factor;
  for (double& seconds : changed.matrices) seconds /= factor;
  ALLOT_CHECK(changed.finish());
  return changed;
}

}  // namespace allot
