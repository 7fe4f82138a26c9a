#include "solve/throughput/pipeline_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "evaluate/forward_graph.h"
#include "graph/contraction.h"
#include "solve/module_order.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of these links, those that are the fastest for some size.
std::vector<Link> fastest(std::vector<Link> links) {
  std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
    return std::pair{a.latency_seconds, -a.bandwidth_bytes_per_second} <
           std::pair{b.latency_seconds, -b.bandwidth_bytes_per_second};
  });
  std::vector<Link> kept;
  for (const Link& link : links) {
    if (kept.empty() || link.bandwidth_bytes_per_second > kept.back().bandwidth_bytes_per_second)
      kept.push_back(link);
  }
  return kept;
}

// The fastest links that leave (or reach) any device of a pool.
std::vector<Link> fastestLinks(const Problem& problem, const Pool& pool, bool sends) {
  std::vector<Link> links;
  for (const DeviceId here : pool.devices) {
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      const Link* link = sends ? problem.pairLink(here, DeviceId(d)) : problem.pairLink(DeviceId(d), here);
      if (DeviceId(d) != here && link != nullptr) links.push_back(*link);
    }
  }
  return fastest(std::move(links));
}

// The least time of a tensor that leaves (or reaches) any device of the pool, over all other devices; `links`
// are the fastest of them.
double leastPairSeconds(const Problem& problem, TensorId tensor, const Pool& pool, bool sends,
                        std::span<const Link> links) {
  const double single = problem.tensor_seconds[tensor.index()];
  double least = kInfinity;
  if (problem.tensor_matrix[tensor.index()] < 0) {
    if (!std::isnan(single)) return problem.deviceCount() > 1 ? single : 0;
    for (const Link& link : links)
      least = std::min(least, link.seconds(problem.graph.tensor_bytes[tensor.index()]));
    return least == kInfinity || least < problem.clockStep() ? 0 : least;
  }
  for (const DeviceId here : pool.devices) {
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      if (DeviceId(d) == here) continue;
      least = std::min(least, sends ? problem.transferSeconds(tensor, here, DeviceId(d))
                                    : problem.transferSeconds(tensor, DeviceId(d), here));
    }
  }
  return least == kInfinity ? 0 : least;
}

bool sameLink(const Link* a, const Link* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->latency_seconds == b->latency_seconds &&
         a->bandwidth_bytes_per_second == b->bandwidth_bytes_per_second;
}

// Whether two accelerators pay the same for every tensor between them and their hosts.
bool sameHostTimes(const Problem& problem, DeviceId a, DeviceId b) {
  for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) {
    const TensorId tensor(t);
    if (problem.toHostSeconds(tensor, a) != problem.toHostSeconds(tensor, b) ||
        problem.fromHostSeconds(tensor, a) != problem.fromHostSeconds(tensor, b))
      return false;
  }
  return true;
}

// Whether replicas of one class synchronise over the same links after two devices of it have changed places.
bool sameSyncLinks(const Problem& problem, DeviceId a, DeviceId b) {
  const std::vector<Device>& devices = problem.cluster.devices;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const DeviceId other(d);
    if (other == a || other == b || devices[d].cls != devices[a.index()].cls) continue;
    if (!sameLink(problem.pairLink(a, other), problem.pairLink(b, other)) ||
        !sameLink(problem.pairLink(other, a), problem.pairLink(other, b)))
      return false;
  }
  return sameLink(problem.pairLink(a, b), problem.pairLink(b, a));
}

}  // namespace

PipelineModel::PipelineModel(const Problem& p, Items items)
    : problem(&p), exact(p.transfers() == Transfers::kViaHost) {
  if (items == Items::kUnits) {
    for (std::uint32_t u = 0; u < p.unitCount(); ++u) {
      item_units.items.emplace_back(u);
      item_units.closeRow();
    }
  } else {
    const ModuleOrder order = moduleOrder(p);
    for (const Block& block : order.blocks) {
      item_units.items.insert(item_units.items.end(), block.units.begin(), block.units.end());
      item_units.closeRow();
    }
  }
  groupDevices();
  fill();
}

void PipelineModel::fill() {
  item_of_unit.assign(problem->unitCount(), 0);
  for (std::uint32_t i = 0; i < itemCount(); ++i) {
    for (const UnitId unit : item_units[i]) item_of_unit[unit.index()] = i;
  }
  fillItems();
  fillNets();
  fillForward();
  fillStash();
}

void PipelineModel::groupDevices() {
  const Problem& p = *problem;
  const bool all_alike = p.constraints.pin.empty() && p.constraints.forbid.empty();
  const bool hosts_count = p.transfers() == Transfers::kViaHost;
  std::map<std::tuple<std::uint32_t, double, std::uint32_t, std::vector<bool>>, Pool> groups;
  for (std::size_t d = 0; d < p.deviceCount(); ++d) {
    const Device& device = p.cluster.devices[d];
    std::vector<bool> permission;
    for (std::size_t u = 0; !all_alike && u < p.unitCount(); ++u)
      permission.push_back(p.allowed(UnitId(u), DeviceId(d)));
    const double memory = p.memoryLimit(DeviceId(d));
    Pool& pool = groups[{device.cls.value, memory, hosts_count ? device.host.value : 0, permission}];
    pool.devices.emplace_back(d);
    pool.cls = device.cls;
    pool.memory = memory;
    pool.accelerator = p.cluster.isAccelerator(DeviceId(d));
  }
  const bool links_count = p.modes.replicate && p.hasTraining();
  // That two devices may change places in every plan is an equivalence, so each is compared with one of a
  // pool.
  for (auto& [key, group] : groups) {
    const std::size_t first_pool = pools.size();
    for (const DeviceId d : group.devices) {
      const auto known = std::find_if(
          pools.begin() + static_cast<std::ptrdiff_t>(first_pool), pools.end(), [&](const Pool& pool) {
            const DeviceId one = pool.devices.front();
            return (!hosts_count || !group.accelerator || sameHostTimes(p, one, d)) &&
                   (!links_count || sameSyncLinks(p, one, d));
          });
      if (known != pools.end()) {
        known->devices.push_back(d);
        continue;
      }
      pools.push_back(group);
      pools.back().devices = {d};
    }
  }
  std::sort(pools.begin(), pools.end(),
            [](const Pool& a, const Pool& b) { return a.devices.front() < b.devices.front(); });
}

void PipelineModel::fillItems() {
  const Problem& p = *problem;
  const std::size_t n = itemCount();
  seconds.assign(n * poolCount(), 0);
  rest_seconds.assign(n * poolCount(), 0);
  resident.assign(n, 0);
  weights.assign(n, 0);
  trains.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (const UnitId unit : item_units[i]) {
      for (const OpId op : p.unitOps(unit)) {
        const bool rest = p.graph.op_phase[op.index()] != Phase::kForward;
        resident[i] += p.residentBytes(op);
        weights[i] += static_cast<double>(p.graph.op_weight_bytes[op.index()]);
        if (rest) trains[i] = 1;
        for (std::size_t k = 0; k < poolCount(); ++k) {
          const DeviceId device = pools[k].devices.front();
          double& all = seconds[i * poolCount() + k];
          if (!p.allowed(unit, device)) all = kCannotRun;
          if (all == kCannotRun) continue;
          const double busy = p.busySeconds(op, device);
          all += busy;
          if (rest) rest_seconds[i * poolCount() + k] += busy;
        }
      }
    }
  }
}

void PipelineModel::fillNets() {
  const Problem& p = *problem;
  const OpGraph& graph = p.graph;
  const std::size_t k = poolCount();
  struct Net {
    std::vector<std::uint32_t> ends;  // sorted
    std::uint32_t producer;
    std::uint8_t rest;
    std::vector<double> cost;  // send by pool, receive by pool
  };
  std::vector<Net> nets;
  std::vector<std::vector<Link>> sending, receiving;  // by pool: the fastest
  for (std::size_t pool = 0; pool < k && !exact; ++pool) {
    sending.push_back(fastestLinks(p, pools[pool], true));
    receiving.push_back(fastestLinks(p, pools[pool], false));
  }
  // One device alone needs no links, so costs may not be known.
  const std::size_t tensors = p.deviceCount() > 1 ? p.firstOrderTensor() : 0;
  for (std::size_t t = 0; t < tensors; ++t) {
    const std::uint32_t producer = item_of_unit[p.unit(graph.tensor_producer[t]).index()];
    Net net{{producer}, producer, 0, {}};
    for (const OpId consumer : graph.tensor_consumers[t])
      net.ends.push_back(item_of_unit[p.unit(consumer).index()]);
    std::sort(net.ends.begin(), net.ends.end());
    net.ends.erase(std::unique(net.ends.begin(), net.ends.end()), net.ends.end());
    if (net.ends.size() < 2) continue;
    net.rest = graph.op_phase[graph.tensor_producer[t].index()] == Phase::kForward ? 0 : 1;
    net.cost.assign(2 * k, 0);
    const TensorId tensor(t);
    for (std::size_t pool = 0; pool < k; ++pool) {
      const DeviceId device = pools[pool].devices.front();
      if (exact) {
        if (!pools[pool].accelerator) continue;
        net.cost[pool] = p.toHostSeconds(tensor, device);
        net.cost[k + pool] = p.fromHostSeconds(tensor, device);
      } else {
        net.cost[pool] = leastPairSeconds(p, tensor, pools[pool], true, sending[pool]);
        net.cost[k + pool] = leastPairSeconds(p, tensor, pools[pool], false, receiving[pool]);
      }
    }
    if (std::all_of(net.cost.begin(), net.cost.end(), [](double c) { return c == 0; })) continue;
    nets.push_back(std::move(net));
  }
  std::stable_sort(nets.begin(), nets.end(), [](const Net& a, const Net& b) {
    return std::tie(a.ends, a.producer, a.rest) < std::tie(b.ends, b.producer, b.rest);
  });
  net_items = {};
  net_producer.clear();
  net_rest.clear();
  send.clear();
  receive.clear();
  // The producer only matters where sending and receiving differ; the phase only where parts are valued
  // apart.
  const bool parts = p.modes.training_load == TrainingLoad::kMaxParts;
  const auto even = [&](const Net& net) {
    return std::equal(net.cost.begin(), net.cost.begin() + static_cast<std::ptrdiff_t>(k),
                      net.cost.begin() + static_cast<std::ptrdiff_t>(k));
  };
  const Net* last = nullptr;
  for (const Net& net : nets) {
    const bool joins = last != nullptr && last->ends == net.ends && (!parts || last->rest == net.rest) &&
                       (last->producer == net.producer || (even(*last) && even(net)));
    if (!joins) {
      net_items.items.insert(net_items.items.end(), net.ends.begin(), net.ends.end());
      net_items.closeRow();
      net_producer.push_back(net.producer);
      net_rest.push_back(net.rest);
      send.resize(send.size() + k, 0);
      receive.resize(receive.size() + k, 0);
      last = &net;
    }
    for (std::size_t pool = 0; pool < k; ++pool) {
      send[send.size() - k + pool] += net.cost[pool];
      receive[receive.size() - k + pool] += net.cost[k + pool];
    }
  }
  item_nets = transposed(net_items, itemCount());
}

void PipelineModel::fillForward() {
  const ForwardGraph forward(*problem);
  std::vector<PartEdge> down, up;
  for (const PartEdge& edge : forward.unitEdges()) {
    const std::uint32_t from = item_of_unit[edge.from], to = item_of_unit[edge.to];
    if (from == to) continue;
    down.push_back({from, to});
    up.push_back({to, from});
  }
  after = contract(itemCount(), std::move(down)).successors;
  before = contract(itemCount(), std::move(up)).successors;
}

void PipelineModel::fillStash() {
  stash_readers = {};
  stash_bytes.clear();
  item_stashes = {};
  item_stashes.begin.assign(itemCount() + 1, 0);
  if (!problem->modes.in_flight) return;
  const OpGraph& graph = problem->graph;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    if (graph.tensor_bytes[t] == 0 || graph.op_phase[graph.tensor_producer[t].index()] != Phase::kForward)
      continue;
    std::vector<std::uint32_t> readers;
    for (const OpId consumer : graph.tensor_consumers[t]) {
      if (graph.op_phase[consumer.index()] == Phase::kBackward)
        readers.push_back(item_of_unit[problem->unit(consumer).index()]);
    }
    if (readers.empty()) continue;
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    stash_readers.items.insert(stash_readers.items.end(), readers.begin(), readers.end());
    stash_readers.closeRow();
    stash_bytes.push_back(static_cast<double>(graph.tensor_bytes[t]));
  }
  item_stashes = transposed(stash_readers, itemCount());
}

bool PipelineModel::memoryNeverBinds() const {
  double most = std::accumulate(resident.begin(), resident.end(), 0.0);
  most += static_cast<double>(problem->deviceCount()) *
          std::accumulate(stash_bytes.begin(), stash_bytes.end(), 0.0);
  return std::all_of(pools.begin(), pools.end(), [&](const Pool& pool) { return most <= pool.memory; });
}

void PipelineModel::limitTimes(double most) {
  for (double& time : seconds) time = time < most ? time : kCannotRun;
  for (double& cost : send) cost = std::min(cost, most);
  for (double& cost : receive) cost = std::min(cost, most);
}

void PipelineModel::joinFreeItems(bool chain) {
  if (!memoryNeverBinds()) return;
  const std::size_t k = poolCount();
  const bool sync = problem->modes.replicate;
  for (bool joined = true; joined;) {
    joined = false;
    std::vector<std::uint32_t> part(itemCount());
    std::iota(part.begin(), part.end(), 0u);
    // Any number may join one that stays: each follows it whatever the others do.
    enum : std::uint8_t { kFree, kJoined, kStays };
    std::vector<std::uint8_t> role(itemCount(), kFree);
    for (std::uint32_t x = 0; x < itemCount(); ++x) {
      if (role[x] != kFree || (sync && weights[x] > 0)) continue;
      if (before[x].size() + after[x].size() != 1 && chain) continue;
      if (!chain && item_nets[x].empty()) continue;
      const auto times = std::span(seconds).subspan(x * k, k);
      // It must run for nothing everywhere.
      if (std::any_of(times.begin(), times.end(), [](double t) { return t != 0; })) continue;
      const auto follows = [&](std::uint32_t y) {
        if (y == x || role[y] == kJoined || (sync && trains[x] && !trains[y])) return false;
        return std::all_of(item_nets[x].begin(), item_nets[x].end(), [&](std::uint32_t net) {
          const auto ends = net_items[net];
          if (!std::binary_search(ends.begin(), ends.end(), y)) return false;
          if (ends.size() == 2 || net_producer[net] != x) return true;
          // The partner's device sends in its place, and the one that it leaves receives from there.
          for (std::size_t pool = 0; pool < k; ++pool) {
            if (cost(net, pool, true) != cost(net, pool, false)) return false;
          }
          return true;
        });
      };
      std::uint32_t partner = x;
      if (chain) {
        const std::uint32_t y = before[x].empty() ? after[x][0] : before[x][0];
        if (follows(y)) partner = y;
      } else {
        const auto nets = item_nets[x];
        const std::uint32_t smallest = *std::min_element(
            nets.begin(), nets.end(),
            [&](std::uint32_t a, std::uint32_t b) { return net_items[a].size() < net_items[b].size(); });
        for (const std::uint32_t y : net_items[smallest]) {
          if (!follows(y)) continue;
          partner = y;
          break;
        }
      }
      if (partner == x) continue;
      part[x] = partner;
      role[x] = kJoined;
      role[partner] = kStays;
      joined = true;
    }
    if (!joined) return;
    std::vector<std::uint32_t> number(itemCount(), 0);
    std::uint32_t parts = 0;
    for (std::uint32_t x = 0; x < itemCount(); ++x) {
      if (part[x] == x) number[x] = parts++;
    }
    for (std::uint32_t& to : part) to = number[to];
    regroup(part, parts);
  }
}

void PipelineModel::regroup(std::span<const std::uint32_t> part, std::size_t parts) {
  std::vector<std::vector<UnitId>> units(parts);
  for (std::size_t i = 0; i < itemCount(); ++i)
    units[part[i]].insert(units[part[i]].end(), item_units[i].begin(), item_units[i].end());
  item_units = {};
  for (const auto& row : units) {
    item_units.items.insert(item_units.items.end(), row.begin(), row.end());
    item_units.closeRow();
  }
  fill();
}

std::vector<DeviceId> PipelineModel::devicesOf(std::span<const DeviceId> assignment) const {
  std::vector<DeviceId> by_item(itemCount());
  for (std::size_t i = 0; i < itemCount(); ++i) {
    const auto units = item_units[i];
    double most = -1;
    for (const UnitId unit : units) {
      const DeviceId device = assignment[problem->unitOps(unit).front().index()];
      if (!std::all_of(units.begin(), units.end(), [&](UnitId u) { return problem->allowed(u, device); }))
        continue;
      double busy = 0;
      for (const OpId op : problem->unitOps(unit)) busy += problem->busySeconds(op, device);
      if (busy <= most) continue;
      most = busy;
      by_item[i] = device;
    }
  }
  return by_item;
}

std::vector<DeviceId> PipelineModel::assignment(std::span<const DeviceId> device_of_item) const {
  std::vector<DeviceId> by_op(problem->opCount());
  for (std::size_t i = 0; i < by_op.size(); ++i)
    by_op[i] = device_of_item[item_of_unit[problem->unit(OpId(i)).index()]];
  return by_op;
}

}  // namespace allot
