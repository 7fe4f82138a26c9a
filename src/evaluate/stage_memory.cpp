#include "evaluate/stage_memory.h"

#include <algorithm>
#include <cmath>

namespace allot {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

// What is held over steps of the stages' walks. Steps of all stages stand behind one another, those of a
// stage in the reference order.
class StageWalk {
 public:
  StageWalk(const Problem& problem, std::span<const PlanStage> stages)
      : problem_(problem), stage_of_(problem.opCount()), step_(problem.opCount()) {
    for (std::uint32_t s = 0; s < stages.size(); ++s) {
      for (const OpId op : stages[s].ops) stage_of_[op.index()] = s;
    }
    first_.push_back(0);
    for (const PlanStage& stage : stages)
      first_.push_back(first_.back() + static_cast<std::uint32_t>(stage.ops.size()));
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const OpId op : problem.graph.referenceOrder()) step_[op.index()] = next[stage_of_[op.index()]]++;
    change_.assign(problem.opCount() + 1, 0);
    received_.assign(stages.size(), 0);
    last_.assign(stages.size(), kNobody);
  }

  // Bytes of each stage above what is resident.
  std::vector<std::int64_t> peaks() {
    const OpGraph& graph = problem_.graph;
    for (std::size_t i = 0; i < problem_.opCount(); ++i)
      hold(step_[i], step_[i], graph.op_workspace_bytes[i]);
    for (std::size_t t = 0; t < problem_.firstOrderTensor(); ++t) takeTensor(TensorId(t));
    for (std::size_t t = 0; t < graph.input_bytes.size(); ++t) {
      findReaders(graph.input_readers[t]);
      for (const std::uint32_t stage : touched_) hold(first_[stage], last_[stage], graph.input_bytes[t]);
      forgetReaders();
    }
    std::vector<std::int64_t> peaks(received_.size(), 0);
    std::int64_t held = 0;  // nothing is left over where a stage begins
    for (std::size_t s = 0; s < peaks.size(); ++s) {
      for (std::uint32_t step = first_[s]; step < first_[s + 1]; ++step) {
        held += change_[step];
        peaks[s] = std::max(peaks[s], held);
      }
      peaks[s] += received_[s];
    }
    return peaks;
  }

 private:
  const Problem& problem_;
  std::vector<std::uint32_t> stage_of_, step_;  // by op
  std::vector<std::uint32_t> first_;            // by stage, and the end of the last
  std::vector<std::int64_t> change_;            // by step: bytes taken less bytes freed before it
  std::vector<std::int64_t> received_;          // by stage
  std::vector<std::uint32_t> last_;             // by stage: last step that reads what is looked at
  std::vector<std::uint32_t> touched_;          // stages with a reader

  void hold(std::uint32_t from, std::uint32_t last, std::int64_t bytes) {
    change_[from] += bytes;
    change_[last + 1] -= bytes;
  }

  void findReaders(std::span<const OpId> readers) {
    for (const OpId op : readers) {
      std::uint32_t& last = last_[stage_of_[op.index()]];
      if (last == kNobody) touched_.push_back(stage_of_[op.index()]);
      last = last == kNobody ? step_[op.index()] : std::max(last, step_[op.index()]);
    }
  }

  void forgetReaders() {
    for (const std::uint32_t stage : touched_) last_[stage] = kNobody;
    touched_.clear();
  }

  void takeTensor(TensorId tensor) {
    const std::int64_t bytes = problem_.graph.tensor_bytes[tensor.index()];
    if (bytes == 0) return;
    const OpId producer = problem_.graph.producer(tensor);
    const std::uint32_t home = stage_of_[producer.index()];
    findReaders(problem_.graph.consumers(tensor));
    const bool stays_here = touched_.size() == 1 && touched_.front() == home;
    for (const std::uint32_t stage : touched_) {
      if (stage == home) continue;
      hold(first_[stage], last_[stage], bytes);
      received_[stage] += bytes;
    }
    hold(step_[producer.index()], stays_here ? last_[home] : first_[home + 1] - 1, bytes);
    forgetReaders();
  }
};

}  // namespace

double stashBytes(const Problem& problem, const PlanStage& stage) {
  const OpGraph& graph = problem.graph;
  std::vector<TensorId> read;
  for (const OpId op : stage.ops) {
    if (graph.op_phase[op.index()] != Phase::kBackward) continue;
    for (const TensorId tensor : graph.inputs(op)) {
      if (graph.op_phase[graph.producer(tensor).index()] == Phase::kForward) read.push_back(tensor);
    }
  }
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  double bytes = 0;
  for (const TensorId tensor : read) bytes += static_cast<double>(graph.tensor_bytes[tensor.index()]);
  return bytes;
}

std::vector<double> stageMemory(const Problem& problem, std::span<const PlanStage> stages) {
  const bool live = problem.liveMemory();
  std::vector<std::int64_t> peaks(stages.size(), 0);
  if (live) peaks = StageWalk(problem, stages).peaks();
  std::vector<double> memory;
  for (std::size_t s = 0; s < stages.size(); ++s)
    memory.push_back(problem.residentBytes(stages[s].ops, peaks[s]));
  if (!problem.modes.in_flight) return memory;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const double replicas = static_cast<double>(stages[s].devices.size());
    const double samples = std::ceil(static_cast<double>(stages.size() - s) / replicas);
    // One sample's stash is among what is live.
    memory[s] += (live ? samples - 1 : samples) * stashBytes(problem, stages[s]);
  }
  return memory;
}

}  // namespace allot
