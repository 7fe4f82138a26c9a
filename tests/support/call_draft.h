// A small problem of subgraph calls, drawn op by op: like accelerators of one memory and a cpu.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "check_maker.h"

namespace allot {

class CallDraft {
 public:
  CallDraft(std::uint32_t accelerators, std::int64_t memory) {
    maker_.cls("acc", DeviceKind::kAccelerator);
    maker_.cls("cpu", DeviceKind::kCpu);
    for (std::uint32_t d = 0; d < accelerators; ++d) maker_.device("acc" + std::to_string(d), 0, memory);
    maker_.device("cpu0", 1);
  }

  OpId op(double accelerator_seconds, double cpu_seconds, std::int64_t bytes) {
    const OpId op = maker_.op("op" + std::to_string(readers_.size()), {accelerator_seconds, cpu_seconds});
    maker_.problem.graph.op_memory_bytes.back() = bytes;
    readers_.emplace_back(2);
    return op;
  }

  // `to` reads the first or the second tensor of `from`.
  void read(OpId from, OpId to, bool second = false) { readers_[from.index()][second].push_back(to); }
  bool isRead(OpId op) const { return !readers_[op.index()][0].empty() || !readers_[op.index()][1].empty(); }
  void together(OpId a, OpId b) { maker_.problem.constraints.together.push_back({a, b}); }
  std::size_t opCount() const { return readers_.size(); }

  // `seconds` gives the transfer time of one tensor after another.
  Problem finish(const std::function<double()>& seconds) {
    for (std::uint32_t i = 0; i < readers_.size(); ++i) {
      for (const auto& to : readers_[i]) {
        if (!to.empty()) maker_.tensor(OpId(i), to, seconds());
      }
    }
    maker_.problem.modes.model = LatencyModel::kSubgraphCalls;
    maker_.finish(Goal::kLatency);
    return std::move(maker_.problem);
  }

 private:
  Maker maker_;
  std::vector<std::vector<std::vector<OpId>>> readers_;  // by op: of each of its two tensors
};

}  // namespace allot
