#include "graph/memory_order.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace allot {
namespace {

// How many readers of each tensor and model input have not run yet.
struct Waiting {
  explicit Waiting(const OpGraph& graph) {
    for (std::size_t t = 0; t < graph.tensorCount(); ++t)
      tensors.push_back(static_cast<std::uint32_t>(graph.tensor_consumers[t].size()));
    for (std::size_t i = 0; i < graph.input_bytes.size(); ++i)
      inputs.push_back(static_cast<std::uint32_t>(graph.input_readers[i].size()));
  }

  std::vector<std::uint32_t> tensors, inputs;
};

double bytesOf(const OpGraph& graph, TensorId tensor) {
  return static_cast<double>(graph.tensor_bytes[tensor.index()]);
}

double madeBytes(const OpGraph& graph, OpId op) {
  double bytes = 0;
  for (const TensorId tensor : graph.outputs(op)) bytes += bytesOf(graph, tensor);
  return bytes;
}

// Runs next the op after which least is live: what it makes less what it is the last to read. Of equal ones
// the latest that became ready, which goes deep before it goes wide, or the first declared.
class FreeFirst {
 public:
  FreeFirst(const OpGraph& graph, bool deep)
      : graph_(graph), deep_(deep), waiting_(graph), grows_(graph.opCount()), ready_(graph.opCount()) {
    for (std::size_t i = 0; i < graph.opCount(); ++i) grows_[i] = madeBytes(graph, OpId(i));
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
      if (waiting_.tensors[t] == 1)
        grows_[graph.tensor_consumers[t][0].index()] -= bytesOf(graph, TensorId(t));
    }
    for (std::size_t i = 0; i < graph.input_bytes.size(); ++i) {
      if (waiting_.inputs[i] == 1)
        grows_[graph.input_readers[i][0].index()] -= static_cast<double>(graph.input_bytes[i]);
    }
  }

  std::vector<OpId> run() {
    const std::size_t n = graph_.opCount();
    std::vector<std::uint32_t> missing(n);
    done_.assign(n, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      missing[i] = static_cast<std::uint32_t>(graph_.inputs(OpId(i)).size());
      if (missing[i] == 0) makeReady(OpId(i));
    }
    std::vector<OpId> order;
    order.reserve(n);
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      const OpId op(entry.op);
      if (done_[op.index()] || entry.grows != grows_[op.index()]) continue;  // it has been put in again
      done_[op.index()] = 1;
      order.push_back(op);
      for (const TensorId tensor : graph_.inputs(op))
        readOnce(waiting_.tensors[tensor.index()], graph_.consumers(tensor), bytesOf(graph_, tensor));
      for (const InputId input : graph_.modelInputs(op))
        readOnce(waiting_.inputs[input.index()], graph_.input_readers[input.index()],
                 static_cast<double>(graph_.input_bytes[input.index()]));
      for (const TensorId tensor : graph_.outputs(op)) {
        for (const OpId consumer : graph_.consumers(tensor)) {
          if (--missing[consumer.index()] == 0) makeReady(consumer);
        }
      }
    }
    return order;
  }

 private:
  struct Entry {
    double grows;
    std::uint64_t rank;
    std::uint32_t op;
    bool operator<(const Entry& other) const {
      return std::tie(grows, rank, op) > std::tie(other.grows, other.rank, other.op);
    }
  };

  const OpGraph& graph_;
  bool deep_;
  Waiting waiting_;
  std::vector<double> grows_;
  std::vector<std::uint64_t> ready_;  // by op: its rank since it is ready, 0 before
  std::vector<std::uint8_t> done_;
  std::uint64_t clock_ = UINT64_MAX;
  std::priority_queue<Entry> queue_;

  void makeReady(OpId op) {
    ready_[op.index()] = deep_ ? clock_-- : op.index() + 1;
    push(op);
  }

  void push(OpId op) { queue_.push({grows_[op.index()], ready_[op.index()], op.value}); }

  // One reader has run; where one is left, that one frees the bytes.
  void readOnce(std::uint32_t& waiting, std::span<const OpId> readers, double bytes) {
    if (--waiting != 1) return;
    for (const OpId reader : readers) {
      if (done_[reader.index()]) continue;
      grows_[reader.index()] -= bytes;
      if (ready_[reader.index()] != 0) push(reader);
      return;
    }
  }
};

// The same from the end back: takes last the op before which least is live, what it reads and nobody after it
// does less what it makes.
class FreeLast {
 public:
  explicit FreeLast(const OpGraph& graph)
      : graph_(graph),
        grows_(graph.opCount()),
        is_live_(graph.tensorCount()),
        is_given_(graph.input_bytes.size()) {
    for (std::size_t i = 0; i < graph.opCount(); ++i) {
      grows_[i] = -madeBytes(graph, OpId(i));
      for (const TensorId tensor : graph.inputs(OpId(i))) grows_[i] += bytesOf(graph, tensor);
      for (const InputId input : graph.modelInputs(OpId(i)))
        grows_[i] += static_cast<double>(graph.input_bytes[input.index()]);
    }
  }

  std::vector<OpId> run() {
    const std::size_t n = graph_.opCount();
    std::vector<std::uint32_t> missing(n, 0);
    is_ready_.assign(n, 0);
    done_.assign(n, 0);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (const TensorId tensor : graph_.outputs(OpId(i)))
        missing[i] += static_cast<std::uint32_t>(graph_.consumers(tensor).size());
      if (missing[i] == 0) makeReady(OpId(i));
    }
    std::vector<OpId> order;
    order.reserve(n);
    while (!queue_.empty()) {
      const auto [grows, rank, raw] = queue_.top();
      queue_.pop();
      const OpId op(raw);
      if (done_[op.index()] || -grows != grows_[op.index()]) continue;
      done_[op.index()] = 1;
      order.push_back(op);
      for (const TensorId tensor : graph_.inputs(op)) {
        if (!std::exchange(is_live_[tensor.index()], 1))
          readLater(graph_.consumers(tensor), bytesOf(graph_, tensor));
        const OpId producer = graph_.producer(tensor);
        if (--missing[producer.index()] == 0) makeReady(producer);
      }
      for (const InputId input : graph_.modelInputs(op)) {
        if (!std::exchange(is_given_[input.index()], 1))
          readLater(graph_.input_readers[input.index()],
                    static_cast<double>(graph_.input_bytes[input.index()]));
      }
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  const OpGraph& graph_;
  std::vector<double> grows_;
  std::vector<std::uint8_t> is_live_, is_given_, is_ready_, done_;
  std::uint64_t clock_ = 0;
  // By least growth, then the latest that became ready.
  std::priority_queue<std::tuple<double, std::uint64_t, std::uint32_t>> queue_;

  void makeReady(OpId op) {
    is_ready_[op.index()] = 1;
    push(op);
  }

  void push(OpId op) { queue_.emplace(-grows_[op.index()], ++clock_, op.value); }

  // The tensor is live now, so the other readers need not pay for it.
  void readLater(std::span<const OpId> readers, double bytes) {
    for (const OpId reader : readers) {
      if (done_[reader.index()]) continue;
      grows_[reader.index()] -= bytes;
      if (is_ready_[reader.index()]) push(reader);
    }
  }
};

// Depth first from the outputs back: what an op reads is made just before it, the branch that needs most
// beyond its result first (Sethi and Ullman, for trees).
class DepthFirst {
 public:
  explicit DepthFirst(const OpGraph& graph) : graph_(graph), row_(graph.opCount()) {
    std::vector<double> needs(graph.opCount());
    for (const OpId op : graph.topologicalOrder()) {
      std::vector<Branch> branches;
      for (const TensorId tensor : graph.inputs(op))
        branches.push_back(
            {needs[graph.producer(tensor).index()], bytesOf(graph, tensor), graph.producer(tensor)});
      std::stable_sort(branches.begin(), branches.end(), [](const Branch& a, const Branch& b) {
        return a.needs - a.bytes > b.needs - b.bytes;
      });
      double held = 0, most = 0;
      for (const Branch& branch : branches) {
        most = std::max(most, held + branch.needs);
        held += branch.bytes;
      }
      const double running =
          held + madeBytes(graph, op) + static_cast<double>(graph.op_workspace_bytes[op.index()]);
      needs[op.index()] = std::max(most, running);
      for (const Branch& branch : branches) producers_.items.push_back(branch.producer);
      row_[op.index()] = static_cast<std::uint32_t>(producers_.rows());
      producers_.closeRow();
    }
  }

  std::vector<OpId> run() const {
    const std::size_t n = graph_.opCount();
    std::vector<OpId> order, stack;
    order.reserve(n);
    std::vector<std::uint32_t> next(n, 0);
    std::vector<std::uint8_t> seen(n, 0);
    const auto visit = [&](OpId op) {
      if (seen[op.index()]) return;
      seen[op.index()] = 1;
      stack.push_back(op);
    };
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_sink = std::all_of(graph_.outputs(OpId(i)).begin(), graph_.outputs(OpId(i)).end(),
                                       [&](TensorId t) { return graph_.consumers(t).empty(); });
      if (!is_sink) continue;
      visit(OpId(i));
      while (!stack.empty()) {
        const OpId op = stack.back();
        const auto producers = producers_[row_[op.index()]];
        if (next[op.index()] < producers.size()) {
          visit(producers[next[op.index()]++]);
          continue;
        }
        order.push_back(op);
        stack.pop_back();
      }
    }
    return order;
  }

 private:
  struct Branch {
    double needs, bytes;
    OpId producer;
  };

  const OpGraph& graph_;
  Csr<OpId> producers_;  // rows in topological order
  std::vector<std::uint32_t> row_;
};

}  // namespace

double livePeak(const OpGraph& graph, std::span<const OpId> order) {
  Waiting waiting(graph);
  double live = 0, peak = 0;
  for (std::size_t i = 0; i < graph.input_bytes.size(); ++i) {
    if (waiting.inputs[i] > 0) live += static_cast<double>(graph.input_bytes[i]);
  }
  for (const OpId op : order) {
    live += madeBytes(graph, op);
    peak = std::max(peak, live + static_cast<double>(graph.op_workspace_bytes[op.index()]));
    for (const TensorId tensor : graph.inputs(op)) {
      if (--waiting.tensors[tensor.index()] == 0) live -= bytesOf(graph, tensor);
    }
    for (const InputId input : graph.modelInputs(op)) {
      if (--waiting.inputs[input.index()] == 0) live -= static_cast<double>(graph.input_bytes[input.index()]);
    }
  }
  return peak;
}

std::vector<OpId> smallPeakOrder(const OpGraph& graph) {
  std::vector<OpId> best(graph.topologicalOrder().begin(), graph.topologicalOrder().end());
  double least = livePeak(graph, best);
  const auto offer = [&](std::vector<OpId> order) {
    const double peak = livePeak(graph, order);
    if (peak >= least) return;
    least = peak;
    best = std::move(order);
  };
  offer(FreeFirst(graph, true).run());
  offer(FreeFirst(graph, false).run());
  offer(FreeLast(graph).run());
  offer(DepthFirst(graph).run());
  return best;
}

}  // namespace allot
