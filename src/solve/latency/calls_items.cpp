#include "solve/latency/calls_items.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/union_find.h"
#include "graph/contraction.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostUnitOps = 64;     // larger units are not judged, their ops stay apart
constexpr std::size_t kMostTailsOfItem = 2;  // nets with tails; each doubles the ways to enter a call

}  // namespace

CallItems::CallItems(const Problem& p, bool units_in_one_call)
    : problem(&p), units_in_one_call_(units_in_one_call) {
  chooseCpus();
  if (!suitable) return;
  groupDevices();
  findFree();
  join();
}

// The cpu device that is as fast as any other for every op of the unit.
void CallItems::chooseCpus() {
  cpu_device.assign(problem->opCount(), DeviceId());
  for (std::size_t u = 0; u < problem->unitCount(); ++u) {
    const UnitId unit(u);
    const auto ops = problem->unitOps(unit);
    DeviceId best;
    bool sound = true;
    for (std::size_t d = 0; d < problem->deviceCount(); ++d) {
      const DeviceId device(d);
      if (problem->cluster.isAccelerator(device) || !problem->allowed(unit, device)) continue;
      if (!best.valid()) {
        best = device;
        continue;
      }
      bool faster = false, slower = false;
      for (const OpId op : ops) {
        faster = faster || problem->opSeconds(op, device) < problem->opSeconds(op, best);
        slower = slower || problem->opSeconds(op, device) > problem->opSeconds(op, best);
      }
      sound = sound && !(faster && slower);
      if (faster) best = device;
    }
    suitable = suitable && sound;
    for (const OpId op : ops) cpu_device[op.index()] = best;
  }
}

void CallItems::groupDevices() {
  const Problem& p = *problem;
  const auto alike = [&](DeviceId a, DeviceId b) {
    if (p.cluster.devices[a.index()].cls != p.cluster.devices[b.index()].cls) return false;
    if (p.memoryLimit(a) != p.memoryLimit(b)) return false;
    for (std::size_t u = 0; u < p.unitCount(); ++u) {
      if (p.allowed(UnitId(u), a) != p.allowed(UnitId(u), b)) return false;
    }
    for (std::size_t t = 0; t < p.graph.tensorCount(); ++t) {
      const TensorId tensor(t);
      if (p.toHostSeconds(tensor, a) != p.toHostSeconds(tensor, b)) return false;
      if (p.fromHostSeconds(tensor, a) != p.fromHostSeconds(tensor, b)) return false;
    }
    return true;
  };
  for (std::size_t d = 0; d < p.deviceCount(); ++d) {
    const DeviceId device(d);
    if (!p.cluster.isAccelerator(device)) continue;
    auto pool = std::find_if(pools.begin(), pools.end(),
                             [&](const CallPool& other) { return alike(other.devices.front(), device); });
    if (pool == pools.end()) pool = pools.insert(pools.end(), {{}, p.memoryLimit(device)});
    pool->devices.push_back(device);
  }
}

// On every device that may run it.
bool CallItems::takesNoTime(OpId op) const {
  for (std::size_t d = 0; d < problem->deviceCount(); ++d) {
    if (problem->allowed(problem->unit(op), DeviceId(d)) && problem->opSeconds(op, DeviceId(d)) > 0)
      return false;
  }
  return true;
}

void CallItems::findFree() {
  const OpGraph& graph = problem->graph;
  free_.assign(problem->opCount(), 0);
  for (const OpId op : graph.topologicalOrder()) {
    const DeviceId device = cpu_device[op.index()];
    if (!device.valid() || problem->unitOps(problem->unit(op)).size() > 1) continue;
    if (problem->opSeconds(op, device) > 0) continue;
    const auto inputs = graph.inputs(op);
    bool is_free = std::all_of(inputs.begin(), inputs.end(),
                               [&](TensorId t) { return free_[graph.producer(t).index()] != 0; });
    for (const TensorId tensor : graph.outputs(op)) {
      for (const CallPool& pool : pools)
        is_free = is_free && problem->fromHostSeconds(tensor, pool.devices.front()) == 0;
    }
    if (!is_free) continue;
    free_[op.index()] = 1;
    free_ops.push_back(op);
  }
}

// Whether all that leaves the unit ends the same time after all that enters it has come, on the cpu.
bool CallItems::actsAsOne(UnitId unit) const {
  const OpGraph& graph = problem->graph;
  std::vector<OpId> ops(problem->unitOps(unit).begin(), problem->unitOps(unit).end());
  if (!cpu_device[ops.front().index()].valid()) return true;  // one call in any case
  if (ops.size() > kMostUnitOps) return false;
  std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return graph.position(a) < graph.position(b); });
  const std::size_t n = ops.size();
  std::vector<std::uint8_t> enters(n, 0), leaves(n, 0);
  std::vector<std::vector<std::size_t>> inside(n);  // producers within the unit
  for (std::size_t i = 0; i < n; ++i) {
    for (const TensorId tensor : graph.inputs(ops[i])) {
      const OpId from = graph.producer(tensor);
      if (problem->unit(from) == unit)
        inside[i].push_back(static_cast<std::size_t>(std::find(ops.begin(), ops.end(), from) - ops.begin()));
      else if (!free_[from.index()])
        enters[i] = 1;
    }
    for (const TensorId tensor : graph.outputs(ops[i])) {
      for (const OpId to : graph.consumers(tensor)) leaves[i] = leaves[i] || problem->unit(to) != unit;
    }
  }
  const auto seconds = [&](std::size_t i) { return problem->opSeconds(ops[i], cpu_device[ops[i].index()]); };
  // Longest path to each op from `start` alone, or from anywhere at time 0 (start = n).
  const auto paths = [&](std::size_t start) {
    std::vector<double> longest(n, start == n ? 0 : -kInfinity);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == start) longest[i] = 0;
      for (const std::size_t j : inside[i]) longest[i] = std::max(longest[i], longest[j]);
      longest[i] += seconds(i);
    }
    return longest;
  };
  const std::vector<double> from_zero = paths(n);
  double whole = *std::max_element(from_zero.begin(), from_zero.end());
  for (std::size_t i = 0; i < n; ++i) {
    if (leaves[i] && from_zero[i] != whole) return false;
  }
  for (std::size_t a = 0; a < n; ++a) {
    if (!enters[a]) continue;
    const std::vector<double> path = paths(a);
    for (std::size_t i = 0; i < n; ++i) {
      if (leaves[i] && path[i] != whole) return false;
    }
    // A unit whose inputs come too late to matter for its longest path is not like one op either.
    if (*std::max_element(path.begin(), path.end()) != whole) return false;
  }
  return true;
}

void CallItems::join() {
  const OpGraph& graph = problem->graph;
  const std::size_t n = problem->opCount();
  const auto notFree = [&](OpId op) { return !free_[op.index()]; };
  // May stand wherever the unit of `with` may.
  const auto goesWith = [&](OpId op, OpId with) {
    for (std::size_t d = 0; d < problem->deviceCount(); ++d) {
      if (problem->allowed(problem->unit(with), DeviceId(d)) &&
          !problem->allowed(problem->unit(op), DeviceId(d)))
        return false;
    }
    return true;
  };
  const auto alone = [&](OpId op) { return problem->unitOps(problem->unit(op)).size() == 1; };

  tail_.assign(n, 0);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> joins;
  std::vector<std::vector<OpId>> tails(graph.tensorCount());
  for (std::size_t i = 0; i < n; ++i) {
    const OpId op(i);
    if (free_[i] || !takesNoTime(op)) continue;
    OpId neighbour;
    bool one = true;
    std::size_t from = 0, to = 0;
    const auto meet = [&](OpId other, std::size_t& count) {
      if (!notFree(other)) return;
      one = one && (!neighbour.valid() || neighbour == other);
      neighbour = other;
      ++count;
    };
    for (const TensorId t : graph.inputs(op)) meet(graph.producer(t), from);
    for (const TensorId t : graph.outputs(op)) {
      for (const OpId consumer : graph.consumers(t)) meet(consumer, to);
    }
    if (!one || !neighbour.valid() || (from > 0 && to > 0)) continue;
    const bool same_unit = problem->unit(op) == problem->unit(neighbour);
    if (same_unit || (alone(op) && problem->residentBytes(op) == 0 && goesWith(op, neighbour))) {
      joins.emplace_back(i, neighbour.index());
    } else if (alone(op) && from == 1 && to == 0 && cpu_device[i].valid() && goesWith(op, neighbour)) {
      for (const TensorId t : graph.inputs(op)) {
        if (notFree(graph.producer(t))) tails[t.index()].push_back(op);
      }
    }
  }
  for (std::size_t u = 0; u < problem->unitCount(); ++u) {
    std::size_t nets = 0;
    for (const OpId producer : problem->unitOps(UnitId(u))) {
      for (const TensorId t : graph.outputs(producer)) {
        if (tails[t.index()].empty() || ++nets > kMostTailsOfItem) continue;
        for (const OpId op : tails[t.index()]) tail_[op.index()] = 1;
      }
    }
  }
  std::vector<std::uint8_t> whole(problem->unitCount(), 0);
  if (units_in_one_call_) {
    for (std::size_t u = 0; u < problem->unitCount(); ++u) {
      whole[u] = problem->unitOps(UnitId(u)).size() > 1 && actsAsOne(UnitId(u));
    }
  }
  for (;;) {
    UnionFind sets(n);
    for (const auto& [a, b] : joins) sets.join(a, b);
    for (std::size_t u = 0; u < problem->unitCount(); ++u) {
      if (!whole[u]) continue;
      const auto ops = problem->unitOps(UnitId(u));
      for (const OpId op : ops) sets.join(op.value, ops.front().value);
    }
    std::vector<std::uint32_t> number(n, kNone);
    part_.assign(n, kNone);
    std::size_t parts = 0;
    for (const OpId op : graph.topologicalOrder()) {
      if (free_[op.index()] || tail_[op.index()]) continue;
      std::uint32_t& mine = number[sets.find(op.value)];
      if (mine == kNone) mine = static_cast<std::uint32_t>(parts++);
      part_[op.index()] = mine;
    }
    std::vector<PartEdge> edges;
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
      const std::uint32_t from = part_[graph.tensor_producer[t].index()];
      if (from == kNone) continue;
      for (const OpId consumer : graph.tensor_consumers[t]) {
        if (part_[consumer.index()] != kNone) edges.push_back({from, part_[consumer.index()]});
      }
    }
    const Contraction contraction = contract(parts, std::move(edges));
    if (contraction.acyclic()) {
      fill(parts, contraction.order);
      return;
    }
    // Only whole units can close a cycle; each round takes at least one of them apart.
    for (std::size_t i = 0; i < n; ++i) {
      const auto& cycle = contraction.cycle;
      if (part_[i] == kNone || std::find(cycle.begin(), cycle.end(), part_[i]) == cycle.end()) continue;
      whole[problem->unit(OpId(i)).index()] = 0;
    }
  }
}

void CallItems::fill(std::size_t parts, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> place(parts);
  for (std::uint32_t i = 0; i < parts; ++i) place[order[i]] = i;
  std::vector<std::uint32_t> item_of_op(problem->opCount(), kNone);
  std::vector<std::vector<OpId>> ops(parts);
  for (const OpId op : problem->graph.topologicalOrder()) {
    if (part_[op.index()] == kNone) continue;
    item_of_op[op.index()] = place[part_[op.index()]];
    ops[place[part_[op.index()]]].push_back(op);
  }
  cpu.assign(parts, 0);
  bytes.assign(parts, 0);
  tie.assign(parts, kNone);
  accelerator.assign(parts * pools.size(), 0);
  std::vector<std::vector<std::uint32_t>> items_of_unit(problem->unitCount());
  for (std::uint32_t i = 0; i < parts; ++i) {
    item_ops.items.insert(item_ops.items.end(), ops[i].begin(), ops[i].end());
    item_ops.closeRow();
    // On the cpu the ops of an item run one after the other along its longest path.
    std::map<OpId, double> end;
    for (const OpId op : ops[i]) {
      bytes[i] += problem->residentBytes(op);
      auto& items = items_of_unit[problem->unit(op).index()];
      if (items.empty() || items.back() != i) items.push_back(i);
      const DeviceId device = cpu_device[op.index()];
      double ready = 0;
      for (const TensorId t : problem->graph.inputs(op)) {
        const auto before_it = end.find(problem->graph.producer(t));
        if (before_it != end.end()) ready = std::max(ready, before_it->second);
      }
      end[op] = device.valid() ? ready + problem->opSeconds(op, device) : kInfinity;
      cpu[i] = std::max(cpu[i], end[op]);
      for (std::size_t p = 0; p < pools.size(); ++p) {
        const DeviceId first = pools[p].devices.front();
        accelerator[i * pools.size() + p] +=
            problem->allowed(problem->unit(op), first) ? problem->opSeconds(op, first) : kInfinity;
      }
    }
  }
  for (auto& items : items_of_unit) {
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    if (items.size() < 2) continue;
    for (const std::uint32_t i : items) {
      tie[i] = static_cast<std::uint32_t>(tie_count);
      tie_items.items.push_back(i);
    }
    tie_items.closeRow();
    ++tie_count;
  }
  fillNets(item_of_op);
}

void CallItems::fillNets(const std::vector<std::uint32_t>& item_of_op) {
  const OpGraph& graph = problem->graph;
  const std::size_t n = itemCount();
  struct Net {
    std::vector<std::uint32_t> consumers;
    std::vector<double> receive, send;
    double tail_bytes = 0;
    std::vector<OpId> tails;
  };
  std::vector<std::vector<Net>> nets(n);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const std::uint32_t from = item_of_op[graph.tensor_producer[t].index()];
    if (from == kNone) continue;
    Net net;
    for (const OpId consumer : graph.tensor_consumers[t]) {
      if (tail_[consumer.index()]) {
        net.tails.push_back(consumer);
        net.tail_bytes += problem->residentBytes(consumer);
      } else if (item_of_op[consumer.index()] != from) {
        net.consumers.push_back(item_of_op[consumer.index()]);
      }
    }
    if (net.consumers.empty() && net.tails.empty()) continue;
    std::sort(net.consumers.begin(), net.consumers.end());
    net.consumers.erase(std::unique(net.consumers.begin(), net.consumers.end()), net.consumers.end());
    for (const CallPool& pool : pools) {
      net.receive.push_back(problem->fromHostSeconds(TensorId(t), pool.devices.front()));
      net.send.push_back(problem->toHostSeconds(TensorId(t), pool.devices.front()));
    }
    // Tensors with the same ends are paid for together.
    auto same = nets[from].end();
    if (net.tails.empty()) {
      same = std::find_if(nets[from].begin(), nets[from].end(), [&](const Net& other) {
        return other.tails.empty() && other.consumers == net.consumers;
      });
    }
    if (same == nets[from].end()) {
      nets[from].push_back(std::move(net));
      continue;
    }
    for (std::size_t p = 0; p < pools.size(); ++p) {
      same->receive[p] += net.receive[p];
      same->send[p] += net.send[p];
    }
  }
  std::vector<std::vector<std::uint32_t>> inputs(n), next(n), previous(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (Net& net : nets[i]) {
      const auto number = static_cast<std::uint32_t>(net_producer.size());
      net_producer.push_back(i);
      item_outputs.items.push_back(number);
      for (const std::uint32_t c : net.consumers) {
        net_consumers.items.push_back(c);
        inputs[c].push_back(number);
        next[i].push_back(c);
        previous[c].push_back(i);
      }
      net_consumers.closeRow();
      receive.insert(receive.end(), net.receive.begin(), net.receive.end());
      send.insert(send.end(), net.send.begin(), net.send.end());
      tail_bytes.push_back(net.tail_bytes);
      tail_ops.push_back(std::move(net.tails));
    }
    item_outputs.closeRow();
  }
  const auto rows = [n](std::vector<std::vector<std::uint32_t>>& lists, Csr<std::uint32_t>& csr) {
    for (std::size_t i = 0; i < n; ++i) {
      std::sort(lists[i].begin(), lists[i].end());
      lists[i].erase(std::unique(lists[i].begin(), lists[i].end()), lists[i].end());
      csr.items.insert(csr.items.end(), lists[i].begin(), lists[i].end());
      csr.closeRow();
    }
  };
  rows(inputs, item_inputs);
  rows(next, after);
  rows(previous, before);
}

}  // namespace allot
