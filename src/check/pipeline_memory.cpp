// Throughput: what the devices of a stage hold, with live tensors or with samples in flight.
//
// Live: the ops of a stage are taken one after the other in the graph's reference order, each once, whatever
// its phase and time. A tensor that comes in, from another stage or as a model input, lies there from the
// stage's first op to its last reader in the stage; one made in the stage from its producer to its last
// reader, or to the stage's last op where another stage or nobody reads it. To the largest step comes once
// more what is received from other stages; a model input is received from none. A replica holds what its
// stage holds.
#include "check/parts.h"

namespace allot {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

class LiveWalk {
 public:
  LiveWalk(const CheckContext& context, const StageView& stages) : context_(context), stages_(stages) {
    takeInOrder();
    last_here_.resize(stages.count());
    counted_.assign(stages.count(), kNever);
    change_.assign(ops_.items.size() + stages.count(), 0);
  }

  void addTo(std::vector<Held>& held) {
    const OpGraph& graph = context_.problem.graph;
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
      const std::int64_t bytes = graph.tensor_bytes[t];
      if (bytes == 0) continue;
      const OpId producer = graph.tensor_producer[t];
      const std::uint32_t home = stages_.of_op[producer.index()];
      findReaders(t, graph.tensor_consumers[t]);
      bool stays = readers_.empty();
      for (const std::uint32_t stage : readers_) {
        if (stage == home) continue;
        stays = true;
        hold(stage, 0, last_here_[stage], bytes);
        held[stage].arriving += bytes;
      }
      const std::uint32_t end = lastStep(home);
      hold(home, step_[producer.index()], stays ? end : last_here_[home], bytes);
    }
    for (std::size_t k = 0; k < graph.input_bytes.size(); ++k) {
      findReaders(graph.tensorCount() + k, graph.input_readers[k]);
      for (const std::uint32_t stage : readers_) hold(stage, 0, last_here_[stage], graph.input_bytes[k]);
    }
    for (std::size_t s = 0; s < stages_.count(); ++s) findPeak(s, held[s]);
  }

 private:
  const CheckContext& context_;
  const StageView& stages_;
  Csr<OpId> ops_;                    // of each stage, in reference order
  std::vector<std::uint32_t> step_;  // of each op in its stage
  // What begins at each step less what has ended before it; a stage has one step more than ops.
  std::vector<std::int64_t> change_;
  // Of the tensor at hand: the stages that read it, and the last step of each that does.
  std::vector<std::uint32_t> readers_, last_here_;
  std::vector<std::size_t> counted_;

  void takeInOrder() {
    const std::size_t n = context_.problem.opCount();
    ops_.begin.assign(stages_.count() + 1, 0);
    for (const std::uint32_t stage : stages_.of_op) ++ops_.begin[stage + 1];
    for (std::size_t s = 0; s < stages_.count(); ++s) ops_.begin[s + 1] += ops_.begin[s];
    ops_.items.resize(n);
    step_.resize(n);
    std::vector<std::uint32_t> taken(stages_.count(), 0);
    for (const OpId op : context_.problem.graph.referenceOrder()) {
      const std::uint32_t stage = stages_.of_op[op.index()];
      step_[op.index()] = taken[stage]++;
      ops_.items[ops_.begin[stage] + step_[op.index()]] = op;
    }
  }

  std::uint32_t lastStep(std::uint32_t stage) const {
    return static_cast<std::uint32_t>(ops_[stage].size() - 1);
  }

  void findReaders(std::size_t tensor, std::span<const OpId> consumers) {
    readers_.clear();
    for (const OpId op : consumers) {
      const std::uint32_t stage = stages_.of_op[op.index()];
      if (counted_[stage] != tensor) {
        counted_[stage] = tensor;
        last_here_[stage] = 0;
        readers_.push_back(stage);
      }
      last_here_[stage] = std::max(last_here_[stage], step_[op.index()]);
    }
  }

  std::size_t place(std::size_t stage, std::size_t step) const { return ops_.begin[stage] + stage + step; }

  void hold(std::uint32_t stage, std::uint32_t first, std::uint32_t last, std::int64_t bytes) {
    change_[place(stage, first)] += bytes;
    change_[place(stage, last) + 1] -= bytes;
  }

  void findPeak(std::size_t stage, Held& held) const {
    std::int64_t tensors = 0;
    for (std::size_t step = 0; step < ops_[stage].size(); ++step) {
      const OpId op = ops_[stage][step];
      tensors += change_[place(stage, step)];
      const std::int64_t workspace = context_.problem.graph.op_workspace_bytes[op.index()];
      if (held.at.valid() && tensors + workspace <= held.tensors + held.workspace) continue;
      held.at = op;
      held.tensors = tensors;
      held.workspace = workspace;
    }
  }
};

// Bytes that forward ops made and backward ops of each stage read, each tensor once per stage.
std::vector<std::int64_t> stashBytes(const Problem& problem, const StageView& stages) {
  const OpGraph& graph = problem.graph;
  std::vector<std::int64_t> stash(stages.count(), 0);
  std::vector<std::size_t> counted(stages.count(), kNever);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    if (graph.op_phase[graph.tensor_producer[t].index()] != Phase::kForward) continue;
    for (const OpId consumer : graph.tensor_consumers[t]) {
      const std::uint32_t stage = stages.of_op[consumer.index()];
      if (graph.op_phase[consumer.index()] != Phase::kBackward || counted[stage] == t) continue;
      counted[stage] = t;
      stash[stage] += graph.tensor_bytes[t];
    }
  }
  return stash;
}

}  // namespace

std::vector<Held> stageMemory(const CheckContext& context, const StageView& stages) {
  std::vector<Held> held = residentOf(context, stages.count(), stages.of_op);
  const bool live = context.liveMemory();
  if (live) LiveWalk(context, stages).addTo(held);
  if (!context.modes().in_flight) return held;
  const std::vector<std::int64_t> stash = stashBytes(context.problem, stages);
  for (std::size_t s = 0; s < stages.count(); ++s) {
    const std::size_t replicas = stages.devices[s].size();
    const std::size_t samples = (stages.count() - s + replicas - 1) / replicas;
    // The walk has one sample's tensors already.
    held[s].in_flight = static_cast<double>(live ? samples - 1 : samples) * static_cast<double>(stash[s]);
  }
  return held;
}

}  // namespace allot
