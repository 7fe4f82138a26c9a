#include "solve/latency/pareto_search.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
// What a better plan has to be better by, so that rounding cannot make two of the same.
constexpr double kBetter = 1e-10;
}  // namespace

ParetoSearch::ParetoSearch(const ExactWindow& window, const WindowLimits& limits)
    : window_(window),
      limits_(limits),
      model_(window),
      bound_(model_),
      memory_(model_),
      now_(model_),
      next_(model_),
      partial_(model_.start()),
      lifted_(partial_),
      target_(limits.target),
      domain_(model_.ops),
      with_sends_(limits.width > 0 && model_.ports) {
  const std::size_t slots = window.exit == ExactWindow::kNoExit ? 1 : window.devices;
  best_.assign(slots, kNever);
  best_parent_.assign(slots, kRoot);
  best_last_.assign(slots, Node{});
  result_.best.resize(slots);
}

bool ParetoSearch::outOfLimits() const {
  if (limits_.states > 0 && result_.states > limits_.states) return true;
  if (limits_.budget == nullptr) return false;
  const std::size_t bytes = now_.bytes() + next_.bytes() + nodes_.capacity() * sizeof(Node) +
                            model_.idealCount() * (sizeof(Ideal) + 256);
  return bytes > limits_.budget->memory_bytes || limits_.budget->stopped();
}

WindowResult ParetoSearch::run() {
  const std::uint32_t first = model_.firstIdeal();
  if (model_.ideal(first).rest.empty()) {
    result_.complete = true;
    return std::move(result_);
  }
  const double bound = bound_(model_.ideal(first), partial_, target_);
  if (bound < target_ && next_.wants(first, partial_, bound))
    next_.take(first, partial_, partial_, bound_, bound, kRoot);
  result_.complete = true;
  while (next_.size() > 0) {
    next_.close(limits_.width, limits_.budget);
    std::swap(now_, next_);
    next_.clear();
    for (std::size_t i = 0; i < now_.size(); ++i) {
      if ((i & 15) == 0 && outOfLimits()) {
        result_.complete = false;
        break;
      }
      if (now_.boundOf(i) < target_) expand(i);
    }
    if (!result_.complete) break;
  }
  if (limits_.width > 0) result_.complete = false;
  for (std::size_t slot = 0; slot < best_.size(); ++slot) {
    if (best_[slot] < kNever) result_.best[slot] = replay(best_parent_[slot], best_last_[slot]);
  }
  return std::move(result_);
}

// Devices that are the same as one of lower number and as empty as it.
void ParetoSearch::findTwins(const Ideal& ideal) {
  twin_ = 0;
  std::uint16_t touched = 0;
  const auto touch = [&](std::size_t d) { touched |= static_cast<std::uint16_t>(1u << d); };
  for (const std::uint16_t op : ideal.live) touch(partial_.device[op]);
  for (const std::uint16_t net : ideal.nets) touched |= partial_.sent[net];
  for (const std::uint16_t unit : ideal.open_units) touch(partial_.unit_device[unit]);
  for (std::size_t d = 1; d < model_.devices; ++d) {
    if (model_.symmetric[d] == d || ((touched >> d) & 1)) continue;
    for (std::size_t e = model_.symmetric[d]; e < d; ++e) {
      if (model_.symmetric[e] != model_.symmetric[d] || ((touched >> e) & 1)) continue;
      const std::size_t in = model_.receive_offset;
      const bool same_ports = !model_.ports || (partial_.port[d] == partial_.port[e] &&
                                                partial_.port[in + d] == partial_.port[in + e]);
      if (partial_.free[d] == partial_.free[e] && same_ports &&
          (!model_.memory || partial_.used[d] == partial_.used[e])) {
        twin_ |= static_cast<std::uint16_t>(1u << d);
        break;
      }
    }
  }
}

void ParetoSearch::expand(std::size_t i) {
  const std::uint32_t at = now_.idealOf(i), parent = now_.nodeOf(i);
  floor_ = now_.boundOf(i);
  now_.read(i, partial_);
  if (!(bound_(model_.ideal(at), partial_, target_) < kNever)) return;
  for (const std::uint16_t op : model_.ideal(at).rest) domain_[op] = bound_.domain(op);
  findTwins(model_.ideal(at));
  // Ideals move in memory when one is added: no reference is held across a try.
  for (std::size_t r = 0; r < model_.ideal(at).ready.size(); ++r) {
    const std::uint16_t may = domain_[model_.ideal(at).ready[r]] & static_cast<std::uint16_t>(~twin_);
    for (std::size_t d = 0; d < model_.devices; ++d) {
      if ((may >> d) & 1) tryOp(at, r, d, parent);
    }
  }
  for (std::size_t n = 0; n < model_.ideal(at).nets.size() && !with_sends_; ++n) {
    const Ideal& ideal = model_.ideal(at);
    const std::uint16_t net = ideal.nets[n];
    const auto& consumers = window_.nets[net].consumers;
    if (model_.one_consumer[net] && partial_.sent[net] != 0) continue;
    std::uint16_t may = 0;
    for (const std::uint32_t consumer : consumers) {
      if (!ideal.done.test(consumer)) may |= domain_[consumer];
    }
    may &= static_cast<std::uint16_t>(~(partial_.sent[net] | twin_));
    const std::size_t from = partial_.device[window_.nets[net].producer];
    for (std::size_t d = 0; d < model_.devices; ++d) {
      if (((may >> d) & 1) && model_.transfer(net, from, d) > 0) trySend(at, net, d, parent);
    }
  }
}

double ParetoSearch::opStart(const OpMask& done, std::size_t op, std::size_t device) const {
  double start = model_.time(op, device) > 0 ? partial_.free[device] : 0;
  for (const std::uint16_t net : model_.inputs[op]) {
    const std::size_t producer = window_.nets[net].producer;
    if (!done.test(producer)) return kNever;
    const std::size_t from = partial_.device[producer];
    const double way = model_.transfer(net, from, device);
    double there = partial_.end[producer];
    if (!model_.ports)
      there += way;
    else if (way > 0)
      there = (partial_.sent[net] >> device) & 1 ? partial_.arrival[net * model_.devices + device] : kNever;
    start = std::max(start, there);
  }
  return start;
}

// Nothing starts before the last start any more.
void ParetoSearch::raise(double start) {
  if (with_sends_) return;
  for (std::size_t d = 0; d < model_.devices; ++d) partial_.free[d] = std::max(partial_.free[d], start);
  if (!model_.ports) return;
  for (std::size_t p = 0; p < model_.receive_offset + model_.devices; ++p)
    partial_.port[p] = std::max(partial_.port[p], start);
}

// Appends the transfers that the op still needs.
bool ParetoSearch::sendInputs(std::size_t op, std::size_t device) {
  sends_.clear();
  for (const std::uint16_t net : model_.inputs[op]) {
    const std::size_t from = partial_.device[model_.producer[net]];
    if (!(model_.transfer(net, from, device) > 0) || ((partial_.sent[net] >> device) & 1)) continue;
    sends_.push_back({0, static_cast<std::uint16_t>(kTransfer | net), static_cast<std::uint16_t>(device)});
  }
  const auto endOf = [&](const Node& node) {
    return partial_.end[model_.producer[node.what & (kTransfer - 1u)]];
  };
  std::stable_sort(sends_.begin(), sends_.end(),
                   [&](const Node& a, const Node& b) { return endOf(a) < endOf(b); });
  for (const Node& node : sends_) appendSend(node.what & (kTransfer - 1u), device);
  return !sends_.empty();
}

double ParetoSearch::appendOp(std::size_t op, std::size_t device, double start, bool opens_unit) {
  const double seconds = model_.time(op, device);
  raise(start);
  const double end = start + seconds;
  if (seconds > 0) partial_.free[device] = end + window_.launch[device];
  partial_.device[op] = static_cast<std::uint16_t>(device);
  partial_.end[op] = end;
  const std::uint32_t unit = window_.unit[op];
  partial_.unit_device[unit] = static_cast<std::uint16_t>(device);
  if (model_.memory && opens_unit) partial_.used[device] += window_.unit_bytes[unit];
  partial_.value = std::max(partial_.value, end + window_.tail[op * model_.devices + device]);
  for (const std::uint16_t net : model_.outputs[op]) partial_.sent[net] = 0;
  return end;
}

double ParetoSearch::appendSend(std::size_t net, std::size_t device) {
  const std::size_t producer = window_.nets[net].producer, from = partial_.device[producer];
  const std::size_t in = model_.receive_offset + device;
  const double start = std::max({partial_.end[producer], partial_.port[from], partial_.port[in]});
  raise(start);
  const double end = start + model_.transfer(net, from, device);
  partial_.port[from] = partial_.port[in] = end;
  partial_.sent[net] |= static_cast<std::uint16_t>(1u << device);
  partial_.arrival[net * model_.devices + device] = end;
  return start;
}

void ParetoSearch::tryOp(std::uint32_t at, std::size_t ready_index, std::size_t device,
                         std::uint32_t parent) {
  const std::size_t op = model_.ideal(at).ready[ready_index];
  const auto free = partial_.free, used = partial_.used;
  const auto port = partial_.port;
  const bool sends = with_sends_ && sendInputs(op, device);
  const auto takeBack = [&] {
    partial_.port = port;
    if (!sends) return;
    for (const Node& node : sends_)
      partial_.sent[node.what & (kTransfer - 1u)] &= static_cast<std::uint16_t>(~(1u << device));
    sends_.clear();
  };
  const double start = opStart(model_.ideal(at).done, op, device);
  if (!(start + model_.time(op, device) + model_.tail[op * model_.devices + device] < target_)) {
    takeBack();
    return;
  }
  const double value = partial_.value;
  const std::uint32_t unit = window_.unit[op];
  const std::uint16_t unit_device = partial_.unit_device[unit];
  const auto& open = model_.ideal(at).open_units;
  const double end = appendOp(op, device, start, std::find(open.begin(), open.end(), unit) == open.end());
  const Node node{parent, static_cast<std::uint16_t>(op), static_cast<std::uint16_t>(device)};
  if (model_.ideal(at).rest.size() > 1) {
    keep(model_.childIdeal(at, ready_index), node);
  } else {
    const std::size_t slot = window_.exit == ExactWindow::kNoExit ? 0 : device;
    const double found = window_.exit == ExactWindow::kNoExit ? partial_.value : end;
    if (found < best_[slot]) {
      best_[slot] = found;
      for (Node& send : sends_) {
        send.parent = parent;
        parent = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back(send);
      }
      best_parent_[slot] = parent;
      best_last_[slot] = node;
      if (window_.exit == ExactWindow::kNoExit) target_ = std::min(target_, found * (1 - kBetter));
    }
  }
  partial_.free = free;
  partial_.used = used;
  partial_.value = value;
  partial_.unit_device[unit] = unit_device;
  takeBack();
}

void ParetoSearch::trySend(std::uint32_t at, std::size_t net, std::size_t device, std::uint32_t parent) {
  const auto free = partial_.free;
  const auto port = partial_.port;
  const std::uint16_t sent = partial_.sent[net];
  appendSend(net, device);
  keep(at, {parent, static_cast<std::uint16_t>(kTransfer | net), static_cast<std::uint16_t>(device)});
  partial_.free = free;
  partial_.port = port;
  partial_.sent[net] = sent;
}

void ParetoSearch::keep(std::uint32_t ideal, Node node) {
  // The cheap questions first: most are dominated as they are.
  if (!next_.wants(ideal, partial_, floor_)) return;
  if (model_.memory && !memory_.mayFit(ideal, partial_)) return;
  const double bound = std::max(floor_, bound_(model_.ideal(ideal), partial_, target_));
  if (!(bound < target_)) return;
  lifted_ = partial_;
  bound_.lift(model_.ideal(ideal), lifted_);
  if (!next_.wants(ideal, lifted_, bound)) return;
  for (Node& send : sends_) {
    send.parent = node.parent;
    node.parent = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(send);
  }
  next_.take(ideal, partial_, lifted_, bound_, bound, static_cast<std::uint32_t>(nodes_.size()));
  nodes_.push_back(node);
  ++result_.states;
}

WindowPlan ParetoSearch::replay(std::uint32_t parent, Node last) {
  std::vector<Node> path{last};
  for (; parent != kRoot; parent = nodes_[parent].parent) path.push_back(nodes_[parent]);
  partial_ = model_.start();
  WindowPlan plan;
  plan.device.assign(model_.ops, 0);
  plan.start.assign(model_.ops, 0);
  OpMask done;
  for (std::size_t op = 0; op < model_.ops; ++op) {
    if (window_.done_on[op] == ExactWindow::kToDo) continue;
    done.set(op);
    plan.device[op] = window_.done_on[op];
    plan.start[op] = window_.done_at[op] - model_.time(op, plan.device[op]);
  }
  plan.end = 0;
  for (std::size_t i = path.size(); i-- > 0;) {
    const Node& node = path[i];
    if (node.what & kTransfer) {
      const std::uint32_t net = node.what & (kTransfer - 1u);
      const double start = appendSend(net, node.device);
      plan.transfers.push_back(
          {net, node.device, start, partial_.arrival[net * model_.devices + node.device]});
      continue;
    }
    plan.order.push_back(node.what);
    plan.device[node.what] = node.device;
    plan.start[node.what] = opStart(done, node.what, node.device);
    const double end = appendOp(node.what, node.device, plan.start[node.what], false);
    done.set(node.what);
    plan.end = window_.exit != ExactWindow::kNoExit ? end : std::max(plan.end, end);
  }
  plan.value = partial_.value;
  return plan;
}

WindowResult searchWindow(const ExactWindow& window, const WindowLimits& limits) {
  return ParetoSearch(window, limits).run();
}

}  // namespace allot
