#include "solve/latency/elite.h"

#include <algorithm>

namespace allot {
namespace {

constexpr std::uint32_t kCuts = 12, kWindow = 24;
constexpr double kDifferent = 0.02;  // share of ops on other devices

std::size_t distance(const Sequence& a, const Sequence& b) {
  std::size_t different = 0;
  for (std::size_t op = 0; op < a.device.size(); ++op) different += a.device[op] != b.device[op];
  return different;
}

// The first `cut` ops of `head` and then the others in the order of `tail`, each on its parent's device; a
// unit follows its first op.
Sequence spliced(const ScheduleModel& model, const Sequence& head, const Sequence& tail, std::uint32_t cut) {
  Sequence child;
  child.device = tail.device;
  std::vector<std::uint32_t> order(head.order.begin(), head.order.begin() + cut);
  for (const std::uint32_t op : order) child.device[op] = head.device[op];
  for (const std::uint32_t op : tail.order) {
    if (head.position[op] >= cut) order.push_back(op);
  }
  for (std::size_t unit = 0; unit < model.unitCount(); ++unit) {
    const auto ops = model.unit_ops[unit];
    for (const std::uint32_t op : ops) child.device[op] = child.device[ops.front()];
  }
  child.setOrder(std::move(order));
  return child;
}

}  // namespace

void ElitePool::add(double value, const Sequence& sequence) {
  const auto least = static_cast<std::size_t>(kDifferent * static_cast<double>(sequence.device.size()));
  for (const Elite& member : members_) {
    if (member.value <= value && distance(member.sequence, sequence) <= least) return;
  }
  std::erase_if(members_, [&](const Elite& member) {
    return member.value > value && distance(member.sequence, sequence) <= least;
  });
  const auto at = std::upper_bound(members_.begin(), members_.end(), value,
                                   [](double v, const Elite& member) { return v < member.value; });
  members_.insert(at, {value, sequence});
  if (members_.size() > most_) members_.pop_back();
}

Sequence relink(const ScheduleModel& model, const Sequence& a, const Sequence& b, Random& random) {
  const auto n = static_cast<std::uint32_t>(a.order.size());
  Decoder decoder(model);
  Sequence best = a;
  const Sequence* other = &b;
  double best_value = decoder.reset(a);
  Neighbourhood neighbourhood(model, {0, n});
  neighbourhood.begin(a);
  const double most = neighbourhood.overflow();
  for (std::uint32_t i = 0; i < kCuts; ++i) {
    const std::uint32_t cut = 1 + random.below(n);
    for (const bool forward : {true, false}) {
      Sequence child = forward ? spliced(model, a, b, cut) : spliced(model, b, a, cut);
      const double value = decoder.reset(child);
      if (!(value < best_value)) continue;
      neighbourhood.begin(child);
      if (neighbourhood.overflow() > most) continue;
      best_value = value;
      best = std::move(child);
      other = forward ? &b : &a;
    }
  }
  neighbourhood.begin(std::move(best));
  const Sequence& current = neighbourhood.sequence();
  decoder.reset(current);
  for (std::uint32_t begin = random.below(kWindow); begin < n; begin += kWindow) {
    neighbourhood.clearMove();
    for (std::uint32_t p = begin; p < std::min(n, begin + kWindow); ++p)
      neighbourhood.place(current.order[p], other->device[current.order[p]]);
    if (neighbourhood.changedFrom() >= neighbourhood.changedUntil()) continue;
    if (neighbourhood.overflow() > most) {
      neighbourhood.undo();
      continue;
    }
    if (decoder.tryChange(current, neighbourhood.changedFrom(), neighbourhood.changedUntil(),
                          decoder.value()) <= decoder.value()) {
      decoder.accept(current);
    } else {
      decoder.reject(current);
      neighbourhood.undo();
    }
  }
  return current;
}

}  // namespace allot
