#include "random/shrink.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace allot::tiny {
namespace {

using Clock = std::chrono::steady_clock;

void renumber(std::vector<int>& list, int gone) {
  std::erase(list, gone);
  for (int& item : list) item -= item > gone ? 1 : 0;
}

Tiny withoutOp(Tiny tiny, int gone) {
  tiny.ops.erase(tiny.ops.begin() + gone);
  const auto shift = [&](int& op) { op -= op > gone ? 1 : 0; };
  std::erase_if(tiny.tensors, [&](const Tensor& tensor) { return tensor.from == gone; });
  for (Tensor& tensor : tiny.tensors) {
    shift(tensor.from);
    renumber(tensor.to, gone);
  }
  for (auto* list : {&tiny.blocks, &tiny.inputs}) {
    for (Shared& shared : *list) renumber(shared.readers, gone);
    std::erase_if(*list, [](const Shared& shared) { return shared.readers.empty(); });
  }
  renumber(tiny.order_hint, gone);
  for (auto* list : {&tiny.pin, &tiny.forbid}) {
    std::erase_if(*list, [&](const auto& pair) { return pair.first == gone; });
    for (auto& pair : *list) shift(pair.first);
  }
  std::erase_if(tiny.order, [&](const auto& pair) { return pair.first == gone || pair.second == gone; });
  for (auto& [first, then] : tiny.order) shift(first), shift(then);
  for (auto& set : tiny.together) renumber(set, gone);
  std::erase_if(tiny.together, [](const auto& set) { return set.empty(); });
  return tiny;
}

Tiny withoutDevice(Tiny tiny, int gone) {
  const auto devices = static_cast<int>(tiny.devices.size());
  tiny.devices.erase(tiny.devices.begin() + gone);
  for (Tensor& tensor : tiny.tensors) {
    std::vector<double> matrix;
    for (int cell = 0; cell < static_cast<int>(tensor.matrix.size()); ++cell) {
      if (cell / devices != gone && cell % devices != gone)
        matrix.push_back(tensor.matrix[static_cast<std::size_t>(cell)]);
    }
    tensor.matrix = matrix;
  }
  const auto of = [&](LinkEnd kind, std::uint32_t index) {
    return kind == LinkEnd::kDevice && static_cast<int>(index) == gone;
  };
  std::erase_if(tiny.links,
                [&](const Link& link) { return of(link.from_kind, link.from) || of(link.to_kind, link.to); });
  for (Link& link : tiny.links) {
    if (link.from_kind == LinkEnd::kDevice && static_cast<int>(link.from) > gone) --link.from;
    if (link.to_kind == LinkEnd::kDevice && static_cast<int>(link.to) > gone) --link.to;
  }
  for (auto* list : {&tiny.pin, &tiny.forbid}) {
    std::erase_if(*list, [&](const auto& pair) { return pair.second == gone; });
    for (auto& pair : *list) pair.second -= pair.second > gone ? 1 : 0;
  }
  return tiny;
}

class Shrinker {
 public:
  Shrinker(Tiny tiny, const std::function<bool(const Tiny&)>& still, double seconds)
      : best_(std::move(tiny)),
        still_(still),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}

  Tiny run() {
    for (moved_ = true; moved_ && Clock::now() < end_;) {
      moved_ = false;
      for (int i = static_cast<int>(best_.ops.size()); i-- > 0 && best_.ops.size() > 1;)
        attempt(withoutOp(best_, i));
      for (int d = static_cast<int>(best_.devices.size()); d-- > 0 && best_.devices.size() > 1;)
        attempt(withoutDevice(best_, d));
      dropEach([](Tiny & t) -> auto& { return t.tensors; });
      dropEach([](Tiny & t) -> auto& { return t.links; });
      dropEach([](Tiny & t) -> auto& { return t.pin; });
      dropEach([](Tiny & t) -> auto& { return t.forbid; });
      dropEach([](Tiny & t) -> auto& { return t.order; });
      dropEach([](Tiny & t) -> auto& { return t.together; });
      dropEach([](Tiny & t) -> auto& { return t.blocks; });
      dropEach([](Tiny & t) -> auto& { return t.inputs; });
      set([](Tiny& t) { t.order_hint.clear(); }, !best_.order_hint.empty());
      simplifyModes();
      simplifyParts();
    }
    return std::move(best_);
  }

 private:
  Tiny best_;
  const std::function<bool(const Tiny&)>& still_;
  Clock::time_point end_;
  bool moved_ = false;

  bool attempt(Tiny candidate) {
    if (Clock::now() >= end_ || !still_(candidate)) return false;
    best_ = std::move(candidate);
    moved_ = true;
    return true;
  }

  template <class Change>
  void set(Change&& change, bool differs) {
    if (!differs) return;
    Tiny candidate = best_;
    change(candidate);
    attempt(std::move(candidate));
  }

  template <class List>
  void dropEach(List&& list) {
    for (std::size_t i = list(best_).size(); i-- > 0;) {
      Tiny candidate = best_;
      auto& items = list(candidate);
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
      attempt(std::move(candidate));
    }
  }

  template <class Field>
  void reset(Field&& field, const Modes& plain) {
    Modes wanted = plain;
    set([&](Tiny& t) { field(t.modes) = field(wanted); }, field(best_.modes) != field(wanted));
  }

  void simplifyModes() {
    const Modes plain;
    reset(
        [](Modes & m) -> auto& { return m.overlap; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.training_load; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.replicate; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.in_flight; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.max_stages; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.contiguity; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.link_mode; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.send; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.calls; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.headroom; }, plain);
    reset(
        [](Modes & m) -> auto& { return m.optimizer_factor; }, plain);
    set([](Tiny& t) { t.modes.memory = MemoryModel::kStatic; }, best_.modes.memory == MemoryModel::kLive);
  }

  // Rounder and smaller numbers, one at a time.
  template <class Field>
  void rounder(Field&& field) {
    const double now = *field(best_);
    if (now == 0 || now == 1 || !std::isfinite(now)) return;
    const double scale = std::pow(10.0, std::floor(std::log10(std::abs(now))));
    for (const double wanted :
         {0.0, 1.0, std::round(now), std::round(now / scale) * scale, std::round(now * 10) / 10}) {
      if (wanted == now) continue;
      Tiny candidate = best_;
      *field(candidate) = wanted;
      if (attempt(std::move(candidate))) return;
    }
  }

  template <class Field>
  void smaller(Field&& field) {
    const std::int64_t now = *field(best_);
    for (const std::int64_t wanted : {std::int64_t{0}, now / 2, now - 1}) {
      if (wanted >= now || wanted < 0) continue;
      Tiny candidate = best_;
      *field(candidate) = wanted;
      if (attempt(std::move(candidate))) return;
    }
  }

  void simplifyParts() {
    for (std::size_t i = 0; i < best_.ops.size(); ++i) {
      set([i](Tiny& t) { t.ops[i].group = -1; }, best_.ops[i].group >= 0);
      set([i](Tiny& t) { t.ops[i].phase = Phase::kForward; }, best_.ops[i].phase != Phase::kForward);
      for (std::size_t c = 0; c < best_.classes.size(); ++c)
        rounder([=](Tiny& t) { return &t.ops[i].seconds[c]; });
      smaller([i](Tiny& t) { return &t.ops[i].memory; });
      smaller([i](Tiny& t) { return &t.ops[i].activations; });
      smaller([i](Tiny& t) { return &t.ops[i].weights; });
      smaller([i](Tiny& t) { return &t.ops[i].workspace; });
    }
    for (std::size_t i = 0; i < best_.tensors.size(); ++i) {
      for (std::size_t k = best_.tensors[i].to.size(); k-- > 0;)
        set([=](Tiny& t) { t.tensors[i].to.erase(t.tensors[i].to.begin() + static_cast<std::ptrdiff_t>(k)); },
            k < best_.tensors[i].to.size());
      set([i](Tiny& t) { t.tensors[i].matrix.clear(); }, !best_.tensors[i].matrix.empty());
      smaller([i](Tiny& t) { return &t.tensors[i].bytes; });
      if (!std::isnan(best_.tensors[i].seconds)) rounder([i](Tiny& t) { return &t.tensors[i].seconds; });
      for (std::size_t cell = 0; cell < best_.tensors[i].matrix.size(); ++cell)
        rounder([=](Tiny& t) { return &t.tensors[i].matrix[cell]; });
    }
    for (std::size_t d = 0; d < best_.devices.size(); ++d) {
      set([d](Tiny& t) { t.devices[d].memory = -1; }, best_.devices[d].memory >= 0);
      set([d](Tiny& t) { t.devices[d].host = -1; }, best_.devices[d].host >= 0);
      set([d](Tiny& t) { t.devices[d].cls = 0; }, best_.devices[d].cls != 0);
    }
    for (std::size_t c = 0; c < best_.classes.size(); ++c)
      rounder([c](Tiny& t) { return &t.classes[c].launch; });
    for (std::size_t l = 0; l < best_.links.size(); ++l) {
      rounder([l](Tiny& t) { return &t.links[l].latency_seconds; });
      set([l](Tiny& t) { t.links[l].bandwidth_bytes_per_second = kNone; },
          best_.links[l].bandwidth_bytes_per_second != kNone);
    }
    for (std::size_t m = 0; m < best_.models.size(); ++m) {
      rounder([m](Tiny& t) { return &t.models[m].weight; });
      rounder([m](Tiny& t) { return &t.models[m].release; });
    }
    for (std::size_t b = 0; b < best_.blocks.size(); ++b)
      smaller([b](Tiny& t) { return &t.blocks[b].bytes; });
    for (std::size_t b = 0; b < best_.inputs.size(); ++b)
      smaller([b](Tiny& t) { return &t.inputs[b].bytes; });
    dropClass();
  }

  // The last class, where no device is of it.
  void dropClass() {
    const int last = static_cast<int>(best_.classes.size()) - 1;
    const bool used = std::any_of(best_.devices.begin(), best_.devices.end(),
                                  [&](const Device& d) { return d.cls == last; });
    if (last == 0 || used) return;
    set(
        [last](Tiny& t) {
          t.classes.pop_back();
          for (Op& op : t.ops) op.seconds.pop_back();
          std::erase_if(t.links, [&](const Link& link) {
            return (link.from_kind == LinkEnd::kClass && static_cast<int>(link.from) == last) ||
                   (link.to_kind == LinkEnd::kClass && static_cast<int>(link.to) == last);
          });
        },
        true);
  }
};

}  // namespace

Tiny shrink(Tiny tiny, const std::function<bool(const Tiny&)>& still, double seconds) {
  return Shrinker(std::move(tiny), still, seconds).run();
}

}  // namespace allot::tiny
