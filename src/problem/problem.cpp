#include "allot/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/union_find.h"
#include "graph/fusion.h"

namespace allot {
namespace {

Link missingLink() {
  Link link;
  link.latency_seconds = std::numeric_limits<double>::quiet_NaN();
  return link;
}

bool missing(const Link& link) {
  return std::isnan(link.latency_seconds);
}

// Adds up sizes; false on overflow.
bool sumFits(const std::vector<std::int64_t>& sizes, std::int64_t& total) {
  for (const std::int64_t size : sizes) {
    if (__builtin_add_overflow(total, size, &total) || total > 4 * kMaxBytes) return false;
  }
  return true;
}

}  // namespace

TensorId Problem::addTensor(OpId producer, std::span<const OpId> consumers, std::int64_t bytes,
                            double seconds) {
  tensor_seconds.push_back(seconds);
  tensor_matrix.push_back(-1);
  return graph.addTensor(producer, consumers, bytes);
}

Result<void> Problem::checkSizes() const {
  if (graph.opCount() == 0) return badInput("ops", "there are no ops", "give at least one op");
  if (cluster.deviceCount() == 0)
    return badInput("devices", "there are no devices", "give at least one device");
  std::int64_t total = 0;
  if (!sumFits(graph.op_memory_bytes, total) || !sumFits(graph.op_weight_bytes, total) ||
      !sumFits(graph.op_workspace_bytes, total) || !sumFits(graph.op_activation_bytes, total) ||
      !sumFits(graph.block_bytes, total) || !sumFits(graph.input_bytes, total) ||
      !sumFits(graph.tensor_bytes, total)) {
    return badInput("ops", "the sizes add up to more than 4 EiB",
                    "check the units of memory, weights and bytes");
  }
  return {};
}

void Problem::joinUnits() {
  unit_ops_ = {};
  const std::size_t n = opCount();
  UnionFind sets(n);
  std::vector<OpId> first_of_group(graph.group_name.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    const GroupId group = graph.op_group[i];
    if (!group.valid()) continue;
    OpId& first = first_of_group[group.index()];
    if (!first.valid()) first = OpId(i);
    sets.join(first.value, i);
  }
  for (const auto& set : constraints.together) {
    for (const OpId op : set) sets.join(set.front().value, op.value);
  }
  for (const FusedGroup& group : findFusedGroups(graph, fusionRules(modes.fuse))) {
    for (const OpId op : group.ops) sets.join(group.ops.front().value, op.value);
  }
  op_unit_.assign(n, UnitId());
  std::uint32_t units = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t root = sets.find(i);  // the smallest member, so already numbered
    op_unit_[i] = root == i ? UnitId(units++) : op_unit_[root];
  }
  std::vector<std::uint32_t> fill(units + 1, 0);
  for (const UnitId u : op_unit_) ++fill[u.index() + 1];
  for (std::uint32_t u = 0; u < units; ++u) fill[u + 1] += fill[u];
  unit_ops_.begin = fill;
  unit_ops_.items.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) unit_ops_.items[fill[op_unit_[i].index()]++] = OpId(i);
}

void Problem::applyConstraints() {
  const std::size_t devices = deviceCount();
  const std::size_t classes = cluster.classCount();
  allowed_.assign(unitCount() * devices, 1);
  for (std::size_t i = 0; i < opCount(); ++i) {
    std::uint8_t* row = &allowed_[op_unit_[i].index() * devices];
    const double* seconds = &op_seconds[i * classes];
    for (std::size_t d = 0; d < devices; ++d) {
      if (seconds[cluster.devices[d].cls.index()] == kCannotRun) row[d] = 0;
    }
  }
  for (const auto& [op, device] : constraints.forbid)
    allowed_[unit(op).index() * devices + device.index()] = 0;
  for (const auto& [op, device] : constraints.pin) {
    std::uint8_t* row = &allowed_[unit(op).index() * devices];
    for (std::size_t d = 0; d < devices; ++d) {
      if (d != device.index()) row[d] = 0;
    }
  }
  for (const MemoryBar& bar : memory_bars_) allowed_[unit(bar.op).index() * devices + bar.device.index()] = 0;
}

void Problem::resolveLinks() {
  const std::size_t devices = deviceCount();
  pair_link_.assign(devices * devices, missingLink());
  to_host_.assign(devices, missingLink());
  from_host_.assign(devices, missingLink());
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < devices; ++b) {
      if (a == b) continue;
      if (const Link* link = cluster.linkBetween(DeviceId(a), DeviceId(b)))
        pair_link_[a * devices + b] = *link;
    }
    if (const Link* link = cluster.linkToHost(DeviceId(a), false)) to_host_[a] = *link;
    if (const Link* link = cluster.linkFromHost(DeviceId(a), false)) from_host_[a] = *link;
  }
}

Result<void> Problem::finish() {
  first_order_tensor_ = graph.tensorCount();
  for (const auto& [first, then] : constraints.order) {
    const OpId consumer[] = {then};
    addTensor(first, consumer, 0, 0.0);
  }
  ALLOT_CHECK(checkSizes());
  ALLOT_CHECK(graph.finish());
  if (graph.model_name.empty()) graph.model_name.emplace_back(name.empty() ? "model" : name);
  model_weight.resize(graph.modelCount(), 1);
  model_release.resize(graph.modelCount(), 0);
  has_training_ =
      std::any_of(graph.op_phase.begin(), graph.op_phase.end(), [](Phase p) { return p != Phase::kForward; });
  joinUnits();
  applyConstraints();
  resolveLinks();
  return setModes(modes);
}

Result<void> Problem::addConstraints(const Constraints& more) {
  if (!more.order.empty())
    return fail(
        {ErrorCode::kUsage, "", "order", "cannot be added to a finished problem", "put it in the file"});
  Constraints all = constraints;
  const auto append = [](auto& list, const auto& items) {
    list.insert(list.end(), items.begin(), items.end());
  };
  append(all.pin, more.pin);
  append(all.forbid, more.forbid);
  append(all.together, more.together);
  replacePlacement(std::move(all));
  return {};
}

void Problem::replacePlacement(Constraints placement) {
  placement.order = std::move(constraints.order);
  constraints = std::move(placement);
  joinUnits();
  applyConstraints();
  findLeastResident();
}

Transfers Problem::defaultTransfers() const {
  bool from_links = false;
  for (std::size_t t = 0; t < first_order_tensor_; ++t) {
    if (tensor_matrix[t] >= 0) return Transfers::kByLink;
    from_links = from_links || std::isnan(tensor_seconds[t]);
  }
  if (!from_links) return Transfers::kViaHost;
  for (std::size_t d = 0; d < deviceCount(); ++d) {
    if (!cluster.isAccelerator(DeviceId(d))) continue;
    if (!cluster.linkToHost(DeviceId(d), true) || !cluster.linkFromHost(DeviceId(d), true))
      return Transfers::kByLink;
  }
  return Transfers::kViaHost;
}

Result<void> Problem::setModes(const Modes& wanted) {
  const bool other_units = wanted.fuse != modes.fuse;
  // Times and sizes were made for one arithmetic; to ask for another changes nothing of them.
  const std::optional<DataType> dtype = modes.dtype;
  modes = wanted;
  modes.dtype = dtype;
  if (other_units) {
    joinUnits();
    applyConstraints();
  }
  if (!modes.transfers) modes.transfers = defaultTransfers();
  const bool calls = modes.goal == Goal::kLatency && modes.model == LatencyModel::kSubgraphCalls;
  if (!modes.memory) modes.memory = calls ? MemoryModel::kStatic : default_memory;
  findLeastResident();
  dropShortTimes();
  return modes.goal ? checkModes() : Result<void>{};
}

Result<void> Problem::checkModes() const {
  const bool calls = goal() == Goal::kLatency && modes.model == LatencyModel::kSubgraphCalls;
  const bool via_host = calls || (goal() == Goal::kThroughput && transfers() == Transfers::kViaHost);
  if (goal() == Goal::kThroughput && modes.in_flight && modes.contiguity != Contiguity::kChain) {
    return badInput("options.in-flight", "in-flight memory is defined for chains only",
                    "use contiguity chain");
  }
  if (calls && liveMemory()) {
    return badInput("options.memory", "subgraph-calls knows static memory only",
                    "use memory static, or the events model");
  }
  if (goal() == Goal::kThroughput) ALLOT_CHECK(checkReplicaLinks());
  bool from_links = false;
  for (std::size_t t = 0; t < first_order_tensor_; ++t) {
    if (tensor_matrix[t] >= 0 && via_host) {
      return badInput(fmt::format("tensors[{}]", t),
                      "a matrix of transfer times means nothing when transfers go via the host",
                      calls ? "use the events model" : "use transfers by-link");
    }
    from_links = from_links || (tensor_matrix[t] < 0 && std::isnan(tensor_seconds[t]));
  }
  if (!from_links || deviceCount() == 1) return {};
  for (std::size_t a = 0; a < deviceCount(); ++a) {
    const std::string& from = cluster.devices[a].name;
    if (via_host) {
      if (!cluster.isAccelerator(DeviceId(a))) continue;
      if (missing(to_host_[a]) || missing(from_host_[a])) {
        return badInput("links",
                        fmt::format("no link {} {} and its host", missing(to_host_[a]) ? "from" : "to", from),
                        "add the link in this direction, or give every tensor a time");
      }
      continue;
    }
    for (std::size_t b = 0; b < deviceCount(); ++b) {
      if (a != b && missing(pair_link_[a * deviceCount() + b])) {
        return badInput("links", fmt::format("no link from {} to {}", from, cluster.devices[b].name),
                        "add the link in this direction, or give every tensor a time");
      }
    }
  }
  return {};
}

Result<void> Problem::checkSyncLink(DeviceId from, DeviceId to, std::string_view who) const {
  if (from == to || !missing(pair_link_[from.index() * deviceCount() + to.index()])) return {};
  return badInput("links",
                  fmt::format("no link from {} to {}, over which {} synchronise weights",
                              cluster.devices[from.index()].name, cluster.devices[to.index()].name, who),
                  "add a link between these devices or their classes, or plan without replicate");
}

// Replicas that train, and copies of one block of weights, synchronise over the links between them.
Result<void> Problem::checkReplicaLinks() const {
  const auto none = [](const std::vector<std::int64_t>& bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::int64_t b) { return b == 0; });
  };
  const bool blocks = !none(graph.block_bytes);
  const bool replicas = modes.replicate && (blocks || !none(graph.op_weight_bytes));
  if (!has_training_ || (!replicas && !blocks)) return {};
  for (std::size_t a = 0; a < deviceCount(); ++a) {
    for (std::size_t b = 0; b < deviceCount(); ++b) {
      const bool same_class = cluster.devices[a].cls == cluster.devices[b].cls;
      if (!blocks && !same_class) continue;
      ALLOT_CHECK(checkSyncLink(DeviceId(a), DeviceId(b), blocks ? "copies of one block" : "replicas"));
    }
  }
  return {};
}

const Link* Problem::pairLink(DeviceId from, DeviceId to) const {
  const Link& link = pair_link_[from.index() * deviceCount() + to.index()];
  return missing(link) ? nullptr : &link;
}

double Problem::transferSeconds(TensorId tensor, DeviceId from, DeviceId to) const {
  if (from == to) return 0;
  const std::size_t t = tensor.index();
  if (tensor_matrix[t] >= 0) {
    const std::size_t devices = deviceCount();
    return matrices[static_cast<std::size_t>(tensor_matrix[t]) * devices * devices + from.index() * devices +
                    to.index()];
  }
  if (!std::isnan(tensor_seconds[t])) return tensor_seconds[t];
  return onClock(pair_link_[from.index() * deviceCount() + to.index()].seconds(graph.tensor_bytes[t]));
}

double Problem::toHostSeconds(TensorId tensor, DeviceId device) const {
  const double single = tensor_seconds[tensor.index()];
  if (!std::isnan(single)) return single;
  return onClock(to_host_[device.index()].seconds(graph.tensor_bytes[tensor.index()]));
}

double Problem::fromHostSeconds(TensorId tensor, DeviceId device) const {
  const double single = tensor_seconds[tensor.index()];
  if (!std::isnan(single)) return single;
  return onClock(from_host_[device.index()].seconds(graph.tensor_bytes[tensor.index()]));
}

}  // namespace allot
