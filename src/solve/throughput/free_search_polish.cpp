#include "solve/throughput/free_search_polish.h"

#include <algorithm>

namespace allot {
namespace {

constexpr std::uint32_t kDepth = 3;
constexpr double kGain = 1e-9;            // the least gain, as a part of the value
constexpr std::uint64_t kPoll = 1 << 14;  // probes between two looks at the clock

class Polisher {
 public:
  Polisher(const FreeGround& ground, std::uint64_t probes, const Budget& budget, double deadline)
      : ground_(ground),
        budget_(budget),
        deadline_(deadline),
        most_(probes),
        state_(*ground.model),
        devices_(static_cast<Place>(ground.devices)),
        held_(ground.devices),
        moved_(ground.model->itemCount(), 0) {}

  void run(FreeOutcome& outcome) {
    state_.assign(outcome.places);
    while (improveFullest()) state_.refresh();
    state_.assign(state_.places());
    if (state_.value() >= outcome.value || state_.overflow() > 0) return;
    outcome.value = state_.value();
    outcome.places.assign(state_.places().begin(), state_.places().end());
  }
  std::uint64_t probes() const { return probes_; }

 private:
  const FreeGround& ground_;
  const Budget& budget_;
  double deadline_;
  std::uint64_t most_, probes_ = 0;
  bool ended_ = false;
  NetState state_;
  Place devices_;
  double limit_ = 0;                              // every load must come below this
  std::vector<std::vector<std::uint32_t>> held_;  // by device, as at the start of the chain
  std::vector<std::uint8_t> moved_;               // by item: part of the chain

  bool late() const { return budget_.stopped() || budget_.elapsedSeconds() > deadline_; }
  bool ok(Place device, const NetState::Sums& sums) const {
    return state_.load(sums) < limit_ && state_.overflow(device, sums) <= 0;
  }

  bool improveFullest() {
    Place fullest = 0;
    for (Place d = 1; d < devices_; ++d) {
      if (state_.load(d) > state_.load(fullest)) fullest = d;
    }
    limit_ = state_.load(fullest) * (1 - kGain);
    for (auto& items : held_) items.clear();
    for (const std::uint32_t item : ground_.loose) held_[state_.place(item)].push_back(item);
    // Shorter chains first: they are cheap and mostly enough.
    for (std::uint32_t depth = 1; depth <= kDepth && !ended_; ++depth) {
      if (relieve(fullest, depth)) return true;
    }
    return false;
  }

  // Brings `full` below the limit, alone above it, by at most `depth` moves. On failure nothing has changed.
  bool relieve(Place full, std::uint32_t depth) {
    for (const std::uint32_t item : held_[full]) {
      if (moved_[item]) continue;
      for (Place to = 0; to < devices_; ++to) {
        if (to == full || !state_.runs(item, to)) continue;
        if (probes_ >= most_ || (probes_ % kPoll == 0 && late())) ended_ = true;
        if (ended_) return false;
        ++probes_;
        const NetState::Change change = state_.probe(item, to);
        if (!ok(full, change.from)) continue;
        const bool last = ok(to, change.to);
        if (!last && depth == 1) continue;
        const NetState::Sums here = state_.sums(full), there = state_.sums(to);
        state_.mark();
        state_.apply(item, to, change);
        if (last) return true;
        moved_[item] = 1;
        const bool done = relieve(to, depth - 1);
        moved_[item] = 0;
        if (done) return true;
        // The marks of the deeper moves are gone; their devices are as they were.
        state_.apply(item, full, {there, here});
      }
    }
    return false;
  }
};

}  // namespace

std::uint64_t polishFree(const FreeGround& ground, FreeOutcome& outcome, std::uint64_t probes,
                         const Budget& budget, double deadline) {
  if (outcome.places.empty() || ground.devices < 2) return 0;
  Polisher polisher(ground, probes, budget, deadline);
  polisher.run(outcome);
  return polisher.probes();
}

}  // namespace allot
