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
      addTimes(part, members[m]);
      part.is_chain = addChain(part, members[m]);
      if (!part.is_chain) addWindows(part, members[m]);
      model_.parts.push_back(std::move(part));
    }
    return std::move(model_);
  }

 private:
  const Problem& problem_;
  std::size_t classes_;
  std::vector<std::uint32_t> position_;  // of an op in its model
  PricedModel model_;

  void addTimes(PricedPart& part, const std::vector<OpId>& ops) {
    part.seconds.assign(ops.size() * classes_, kInfinity);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
        if (!problem_.allowed(problem_.unit(ops[i]), DeviceId(d))) continue;
        const std::size_t cls = problem_.cluster.devices[d].cls.index();
        part.seconds[i * classes_ + cls] = problem_.opSeconds(ops[i], DeviceId(d));
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

  bool addChain(PricedPart& part, const std::vector<OpId>& ops) {
    const OpGraph& graph = problem_.graph;
    part.transfer.assign(ops.size() * classes_ * classes_, 0);
    for (std::size_t i = 1; i < ops.size(); ++i) {
      bool reads = false;
      for (const TensorId tensor : graph.inputs(ops[i])) {
        if (graph.producer(tensor) != ops[i - 1]) continue;
        reads = true;
        for (std::size_t from = 0; from < classes_; ++from) {
          for (std::size_t to = 0; to < classes_; ++to) {
            double& longest = part.transfer[((i - 1) * classes_ + from) * classes_ + to];
            longest = std::max(longest, between(tensor, from, to));
            part.has_transfer = part.has_transfer || longest > 0;
          }
        }
      }
      if (!reads) return false;
    }
    return true;
  }

  void addWindows(PricedPart& part, const std::vector<OpId>& ops) {
    const OpGraph& graph = problem_.graph;
    part.transfer.clear();
    part.has_transfer = false;
    part.head.assign(ops.size() * classes_, part.release);
    part.tail.assign(ops.size() * classes_, 0);
    const auto same = [&](OpId a, OpId b) { return graph.op_model[a.index()] == graph.op_model[b.index()]; };
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (const TensorId tensor : graph.inputs(ops[i])) {
        const OpId producer = graph.producer(tensor);
        if (!same(producer, ops[i])) continue;
        const std::size_t p = position_[producer.index()];
        for (std::size_t to = 0; to < classes_; ++to) {
          double there = kInfinity;
          for (std::size_t from = 0; from < classes_; ++from) {
            const double seconds = part.seconds[p * classes_ + from];
            if (seconds == kInfinity) continue;
            there = std::min(there, part.head[p * classes_ + from] + seconds + between(tensor, from, to));
          }
          double& head = part.head[i * classes_ + to];
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
              const double seconds = part.seconds[p * classes_ + to];
              if (seconds == kInfinity) continue;
              left = std::min(left, between(tensor, from, to) + seconds + part.tail[p * classes_ + to]);
            }
            double& tail = part.tail[i * classes_ + from];
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
  for (const PricedPart& part : parts) sum += part.seconds.size() / classes;
  return sum;
}

PricedModel pricedModelOf(const Problem& problem) {
  return Maker(problem).make();
}

}  // namespace allot
