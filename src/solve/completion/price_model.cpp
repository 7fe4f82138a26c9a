#include "solve/completion/price_model.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Maker {
 public:
  explicit Maker(const Problem& problem)
      : problem_(problem), classes_(problem.cluster.classCount()), position_(problem.opCount()) {}

  PricedModel make() {
    model_.classes = classes_;
    model_.count.assign(classes_, 0);
    for (const DeviceClass& cls : problem_.cluster.classes) model_.launch.push_back(cls.launch_seconds);
    for (const Device& device : problem_.cluster.devices) ++model_.count[device.cls.index()];
    const OpGraph& graph = problem_.graph;
    std::vector<std::vector<OpId>> members(graph.modelCount());
    for (const OpId op : graph.topologicalOrder()) {
      auto& list = members[graph.op_model[op.index()].index()];
      position_[op.index()] = static_cast<std::uint32_t>(list.size());
      list.push_back(op);
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (members[m].empty()) continue;
      PricedPart part;
      part.weight = problem_.model_weight[m];
      part.release = problem_.model_release[m];
      addTimes(members[m]);
      addWindows(part.release, members[m]);
      addPath(part, members[m]);
      model_.parts.push_back(std::move(part));
    }
    return std::move(model_);
  }

 private:
  const Problem& problem_;
  std::size_t classes_;
  std::vector<std::uint32_t> position_;  // of an op in its model
  PricedModel model_;

  // Of one model, [op * classes + class].
  std::vector<double> seconds_, head_, tail_;

  void addTimes(const std::vector<OpId>& ops) {
    seconds_.assign(ops.size() * classes_, kInfinity);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
        if (!problem_.allowed(problem_.unit(ops[i]), DeviceId(d))) continue;
        const std::size_t cls = problem_.cluster.devices[d].cls.index();
        seconds_[i * classes_ + cls] = problem_.opSeconds(ops[i], DeviceId(d));
      }
    }
  }

  // Least time from a device of one class to one of another; 0 within a class, where it may stay.
  double between(TensorId tensor, std::size_t from, std::size_t to) const {
    if (from == to) return 0;
    if (problem_.tensor_matrix[tensor.index()] < 0) {
      const double single = problem_.tensor_seconds[tensor.index()];
      if (single == single) return single;
    }
    double least = kInfinity;
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      if (problem_.cluster.devices[d].cls.index() != from) continue;
      for (std::size_t e = 0; e < problem_.deviceCount(); ++e) {
        if (problem_.cluster.devices[e].cls.index() != to) continue;
        least = std::min(least, problem_.transferSeconds(tensor, DeviceId(d), DeviceId(e)));
      }
    }
    return least < kInfinity ? least : 0;
  }

  double least(const std::vector<double>& rows, std::size_t op) const {
    return *std::min_element(&rows[op * classes_], &rows[op * classes_] + classes_);
  }

  // The path that takes longest with every op at its best, and windows for what is not on it.
  void addPath(PricedPart& part, const std::vector<OpId>& ops) {
    const OpGraph& graph = problem_.graph;
    std::vector<double> longest(ops.size(), 0);
    std::vector<std::uint32_t> before(ops.size(), ~0u);
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      for (const TensorId tensor : graph.inputs(ops[i])) {
        const OpId producer = graph.producer(tensor);
        if (!same(producer, ops[i])) continue;
        const std::uint32_t p = position_[producer.index()];
        // Of equal ways the one over the nearest op: a chain is its own path even where ops take no time.
        if (before[i] != ~0u &&
            (longest[p] < longest[before[i]] || (longest[p] == longest[before[i]] && p < before[i])))
          continue;
        before[i] = p;
      }
      longest[i] = least(seconds_, i) + (before[i] != ~0u ? longest[before[i]] : 0);
      if (longest[i] >= longest[last]) last = i;
    }
    std::vector<std::uint32_t> path;
    std::vector<std::uint8_t> on_path(ops.size(), 0);
    for (std::uint32_t i = last; i != ~0u; i = before[i]) {
      path.push_back(i);
      on_path[i] = 1;
    }
    std::reverse(path.begin(), path.end());
    const auto copyRow = [&](const std::vector<double>& from, std::size_t op, std::vector<double>& to) {
      to.insert(to.end(), &from[op * classes_], &from[op * classes_] + classes_);
    };
    double end = part.release;
    for (std::size_t k = 0; k < path.size(); ++k) {
      copyRow(seconds_, path[k], part.seconds);
      end = std::max(end, least(head_, path[k]));
      part.earliest.push_back(end);
      end += least(seconds_, path[k]);
      addTransfers(part, ops[path[k]], k + 1 < path.size() ? ops[path[k + 1]] : OpId());
    }
    part.earliest.push_back(end);
    part.completion = end;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      double shortest = kInfinity;
      for (std::size_t c = 0; c < classes_; ++c) {
        const std::size_t at = i * classes_ + c;
        shortest = std::min(shortest, head_[at] + seconds_[at] + tail_[at]);
      }
      if (shortest < kInfinity) part.completion = std::max(part.completion, shortest);
      if (on_path[i]) continue;
      copyRow(seconds_, i, part.other_seconds);
      copyRow(head_, i, part.head);
      copyRow(tail_, i, part.tail);
    }
  }

  void addTransfers(PricedPart& part, OpId from_op, OpId to_op) {
    const std::size_t begin = part.transfer.size();
    part.transfer.resize(begin + classes_ * classes_, 0);
    if (!to_op.valid()) return;
    for (const TensorId tensor : problem_.graph.inputs(to_op)) {
      if (problem_.graph.producer(tensor) != from_op) continue;
      for (std::size_t from = 0; from < classes_; ++from) {
        for (std::size_t to = 0; to < classes_; ++to) {
          double& longest = part.transfer[begin + from * classes_ + to];
          longest = std::max(longest, between(tensor, from, to));
          part.has_transfer = part.has_transfer || longest > 0;
        }
      }
    }
  }

  bool same(OpId a, OpId b) const {
    return problem_.graph.op_model[a.index()] == problem_.graph.op_model[b.index()];
  }

  void addWindows(double release, const std::vector<OpId>& ops) {
    const OpGraph& graph = problem_.graph;
    head_.assign(ops.size() * classes_, release);
    tail_.assign(ops.size() * classes_, 0);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (const TensorId tensor : graph.inputs(ops[i])) {
        const OpId producer = graph.producer(tensor);
        if (!same(producer, ops[i])) continue;
        const std::size_t p = position_[producer.index()];
        for (std::size_t to = 0; to < classes_; ++to) {
          double there = kInfinity;
          for (std::size_t from = 0; from < classes_; ++from) {
            const double seconds = seconds_[p * classes_ + from];
            if (seconds == kInfinity) continue;
            there = std::min(there, head_[p * classes_ + from] + seconds + between(tensor, from, to));
          }
          double& head = head_[i * classes_ + to];
          if (there < kInfinity) head = std::max(head, there);
        }
      }
    }
    for (std::size_t i = ops.size(); i-- > 0;) {
      for (const TensorId tensor : graph.outputs(ops[i])) {
        for (const OpId consumer : graph.consumers(tensor)) {
          if (!same(consumer, ops[i])) continue;
          const std::size_t p = position_[consumer.index()];
          for (std::size_t from = 0; from < classes_; ++from) {
            double left = kInfinity;
            for (std::size_t to = 0; to < classes_; ++to) {
              const double seconds = seconds_[p * classes_ + to];
              if (seconds == kInfinity) continue;
              left = std::min(left, between(tensor, from, to) + seconds + tail_[p * classes_ + to]);
            }
            double& tail = tail_[i * classes_ + from];
            if (left < kInfinity) tail = std::max(tail, left);
          }
        }
      }
    }
  }
};

}  // namespace

std::size_t PricedModel::ops() const {
  std::size_t sum = 0;
  for (const PricedPart& part : parts) sum += (part.seconds.size() + part.other_seconds.size()) / classes;
  return sum;
}

PricedModel pricedModelOf(const Problem& problem) {
  return Maker(problem).make();
}

}  // namespace allot
