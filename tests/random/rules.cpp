#include "random/rules.h"

#include <algorithm>
#include <cmath>

namespace allot::tiny {

Rules::Rules(const Tiny& problem)
    : tiny(problem),
      ops(static_cast<int>(problem.ops.size())),
      devices(static_cast<int>(problem.devices.size())) {
  for (const Tensor& tensor : tiny.tensors) {
    for (const int to : tensor.to) edges.emplace_back(tensor.from, to);
  }
  edges.insert(edges.end(), tiny.order.begin(), tiny.order.end());
  for (int i = 0; i < ops; ++i) training = training || !isForward(i);
  joinUnits();
  findAllowed();
  findReference();
  clock_ = std::ldexp(longestWork(), -50);
}

void Rules::joinUnits() {
  unit_of.resize(at(ops));
  for (int i = 0; i < ops; ++i) unit_of[at(i)] = i;
  const auto join = [&](int a, int b) {
    const int gone = unit_of[at(a)], kept = unit_of[at(b)];
    std::replace(unit_of.begin(), unit_of.end(), std::max(gone, kept), std::min(gone, kept));
  };
  for (int i = 0; i < ops; ++i) {
    for (int j = 0; j < i; ++j) {
      if (tiny.ops[at(i)].group >= 0 && tiny.ops[at(i)].group == tiny.ops[at(j)].group) join(i, j);
    }
  }
  for (const auto& set : tiny.together) {
    for (const int op : set) join(op, set.front());
  }
  for (int i = 0; i < ops; ++i) {
    if (unit_of[at(i)] == i) {
      unit_of[at(i)] = static_cast<int>(units.size());
      units.push_back(0);
    } else {
      unit_of[at(i)] = unit_of[at(unit_of[at(i)])];  // that of its smallest op, numbered before
    }
    units[at(unit_of[at(i)])] |= Ops{1} << i;
  }
}

void Rules::findAllowed() {
  allowed_.assign(at(ops), std::vector<std::uint8_t>(at(devices), 1));
  for (int i = 0; i < ops; ++i) {
    for (int d = 0; d < devices; ++d) {
      if (tiny.ops[at(i)].seconds[at(classOf(d))] == kNone) allowed_[at(i)][at(d)] = 0;
    }
  }
  for (const auto& [op, device] : tiny.forbid) allowed_[at(op)][at(device)] = 0;
  for (const auto& [op, device] : tiny.pin) {
    for (int d = 0; d < devices; ++d) {
      if (d != device) allowed_[at(op)][at(d)] = 0;
    }
  }
}

bool Rules::allowed(Ops set, int device) const {
  for (int i = 0; i < ops; ++i) {
    if (in(set, i) && allowed_[at(i)][at(device)] == 0) return false;
  }
  return true;
}

// The hint, or the least topological order, which is that of declaration where that is topological.
void Rules::findReference() {
  reference = tiny.order_hint;
  Ops done = 0;
  while (static_cast<int>(reference.size()) < ops) {
    for (int i = 0; i < ops; ++i) {
      const bool waits = std::any_of(edges.begin(), edges.end(), [&](const auto& edge) {
        return edge.second == i && !in(done, edge.first);
      });
      if (in(done, i) || waits) continue;
      done |= Ops{1} << i;
      reference.push_back(i);
      break;
    }
  }
}

bool Rules::viaHost() const {
  const bool calls = modes().goal == Goal::kLatency && modes().model == LatencyModel::kSubgraphCalls;
  return calls || (modes().goal == Goal::kThroughput && modes().transfers == Transfers::kViaHost);
}

double Rules::longestWork() const {
  double sum = 0;
  for (const Model& model : tiny.models) sum = std::max(sum, model.release);
  for (const Op& op : tiny.ops) {
    double most = 0;
    for (const double seconds : op.seconds) most = seconds == kNone ? most : std::max(most, seconds);
    sum += most;
  }
  for (int t = 0; t < static_cast<int>(tiny.tensors.size()); ++t) {
    const Tensor& tensor = tiny.tensors[at(t)];
    double most = tensor.matrix.empty() && !std::isnan(tensor.seconds) ? tensor.seconds : 0;
    for (int a = 0; a < devices; ++a) {
      if (viaHost()) {
        if (isCpu(a)) continue;
        const Link *to = best(place(a), hostOf(a)), *from = best(hostOf(a), place(a));
        if (to != nullptr) most = std::max(most, givenHost(t, to));
        if (from != nullptr) most = std::max(most, givenHost(t, from));
        continue;
      }
      for (int b = 0; b < devices; ++b) {
        if (a != b && (!tensor.matrix.empty() || !std::isnan(tensor.seconds) || link(a, b) != nullptr))
          most = std::max(most, given(t, a, b));
      }
    }
    sum += most * static_cast<double>(tensor.to.size());
  }
  return sum;
}

const Link* Rules::best(const Place& from, const Place& to) const {
  const auto matches = [](LinkEnd kind, std::uint32_t index, const Place& place) {
    const int number = static_cast<int>(index);
    return kind == LinkEnd::kAny || (kind == LinkEnd::kHost && place.host == number) ||
           (kind == LinkEnd::kClass && place.cls == number) ||
           (kind == LinkEnd::kDevice && place.device == number);
  };
  const Link* found = nullptr;
  int found_sum = -1, found_from = -1;
  for (const Link& link : tiny.links) {
    if (!matches(link.from_kind, link.from, from) || !matches(link.to_kind, link.to, to)) continue;
    const int own = static_cast<int>(link.from_kind), sum = own + static_cast<int>(link.to_kind);
    if (sum < found_sum || (sum == found_sum && own < found_from)) continue;
    found = &link;
    found_sum = sum;
    found_from = own;
  }
  return found;
}

const Link* Rules::link(int from, int to) const {
  return best(place(from), place(to));
}

double Rules::given(int tensor, int from, int to) const {
  const Tensor& u = tiny.tensors[at(tensor)];
  if (!u.matrix.empty()) return u.matrix[at(from * devices + to)];
  if (!std::isnan(u.seconds)) return u.seconds;
  const Link* way = link(from, to);
  return way->latency_seconds + static_cast<double>(u.bytes) / way->bandwidth_bytes_per_second;
}

double Rules::givenHost(int tensor, const Link* way) const {
  const Tensor& u = tiny.tensors[at(tensor)];
  if (!std::isnan(u.seconds)) return u.seconds;
  return way->latency_seconds + static_cast<double>(u.bytes) / way->bandwidth_bytes_per_second;
}

double Rules::transfer(int tensor, int from, int to) const {
  return from == to ? 0 : onClock(given(tensor, from, to));
}

double Rules::toHost(int tensor, int device) const {
  return onClock(givenHost(tensor, best(place(device), hostOf(device))));
}

double Rules::fromHost(int tensor, int device) const {
  return onClock(givenHost(tensor, best(hostOf(device), place(device))));
}

double Rules::limit(int device) const {
  const std::int64_t memory = tiny.devices[at(device)].memory;
  return memory < 0 ? kNone : static_cast<double>(memory) * (1 - modes().headroom);
}

std::int64_t Rules::weights(Ops set) const {
  std::int64_t bytes = 0;
  for (int i = 0; i < ops; ++i) bytes += in(set, i) ? tiny.ops[at(i)].weights : 0;
  for (const Shared& block : tiny.blocks) {
    const bool read =
        std::any_of(block.readers.begin(), block.readers.end(), [&](int op) { return in(set, op); });
    bytes += read ? block.bytes : 0;
  }
  return bytes;
}

double Rules::resident(Ops set, std::int64_t more) const {
  for (int i = 0; i < ops; ++i) more += in(set, i) ? tiny.ops[at(i)].memory + tiny.ops[at(i)].activations : 0;
  return static_cast<double>(more) + static_cast<double>(weights(set)) * modes().optimizer_factor;
}

}  // namespace allot::tiny
