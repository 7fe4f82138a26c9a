// Which labels of a module's walk are worth keeping (calls_module.h says what labels and states are).
//
// Problem: ways to the same state number in the thousands, and most have the same future or a worse one.
// Method: three tests for each label offered. Its times are first brought to one form for all labels with the
// same future: a time that nothing waits for becomes 0, one that others make irrelevant rises to theirs,
// bytes are forgotten where all that is to come fits. Its least exit times are then held against the limits
// and against exits that are known to exist. Last, it is dropped when a label of the state is no worse in
// everything (accelerators used, times, bytes), and those that it beats in this way go.
// Guarantee: a label is dropped only where a kept one, a known exit or the limits leave it nothing to win.
// Complexity of an offer: labels of the state x frontier.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/latency/calls_describe.h"
#include "solve/latency/calls_known.h"

namespace allot {

class CallLabels {
 public:
  // Items [lo, hi) are the module.
  CallLabels(const CallGraphFacts& facts, const CallKeys& keys, std::uint32_t lo, std::uint32_t hi,
             std::span<const std::uint32_t> pool_counts, const ModuleLimits& limits);

  void enter(const CallCut& entry) { known_.find(entry, limits_.known); }

  // The state of a key, made when there is none yet.
  std::uint32_t stateOf(CallLayer& layer, const std::uint64_t* key);

  // Keeps the label unless it is of no use; `times` are by frontier item and come back in the common form, a
  // kept label's `step` goes behind `steps`. False where the state has more in its frontier than can be told
  // apart: the search cannot be complete then.
  bool offer(CallLayer& layer, std::uint32_t state_number, CallLabel label, std::span<double> times,
             const CallStep& step, std::vector<CallStep>& steps);

  std::uint64_t made() const { return made_; }

  // Whether the item waits for something before the module.
  bool waitsForEntry(std::uint32_t item) const { return describer_.waitsForEntry(item); }

 private:
  // Least exit times with a call open there, and with none.
  struct Least {
    double open, closed;
  };

  const CallGraphFacts& facts_;
  const CallItems& items_;
  const CallKeys& keys_;
  std::uint32_t hi_;
  const ModuleLimits& limits_;
  double equal_;  // times that differ by less are the same
  CallDescriber describer_;
  KnownExits known_;
  double least_memory_;  // of all pools
  double last_out_ = 0;  // of the module's last item, on the best pool
  std::uint64_t made_ = 0;
  std::vector<double> raised_;

  void normalise(const CallState& state, CallLabel& label, std::span<double> times);
  void normaliseClosed(const CallState& state, CallLabel& label, std::span<double> times);
  void normaliseOpen(const CallState& state, CallLabel& label, std::span<double> times) const;
  void dropBytes(const CallState& state, CallLabel& label) const;
  Least leastExits(const CallState& state, const CallLabel& label, std::span<const double> times) const;
  bool isUseless(const CallState& state, const CallLabel& label, std::span<const double> times) const;
  bool beats(const CallLabel& a, const double* times_a, const CallLabel& b, const double* times_b,
             std::size_t n) const;
};

}  // namespace allot
