// The search behind allot/moves.h.
#pragma once

#include <optional>
#include <vector>

#include "allot/moves.h"
#include "solve/collector.h"

namespace allot {

// Keeps only plans within the limit.
class LimitedCollector : public Collector {
 public:
  LimitedCollector(const Problem& problem, const Budget& budget,
                   std::function<void(const ProgressLine&)> on_progress, bool robust,
                   std::span<const DeviceId> base, std::uint32_t most)
      : Collector(problem, budget, std::move(on_progress), robust), base_(base), most_(most) {}

  bool plan(Plan decisions, std::string_view solver) override {
    return countMoves(base_, decisions.assignment) <= most_ && Collector::plan(std::move(decisions), solver);
  }

 private:
  std::span<const DeviceId> base_;
  std::uint32_t most_;
};

// The best plan for each number of moves, of which a plan with fewer moves also serves the larger numbers.
class MoveCurve {
 public:
  // From 0 to `most`: every number where there are few, else twice the one before.
  MoveCurve(const Problem& problem, std::span<const DeviceId> base, std::uint32_t most);

  // Values the decisions and keeps them where they are valid and better.
  void offer(Plan decisions);
  std::size_t size() const { return limits_.size(); }
  std::uint32_t limit(std::size_t point) const { return limits_[point]; }
  const Plan* best(std::size_t point) const { return best_[point] ? &*best_[point] : nullptr; }
  std::vector<MovePoint> points() const;

 private:
  const Problem& problem_;
  std::span<const DeviceId> base_;
  std::vector<std::uint32_t> limits_;
  std::vector<std::optional<Plan>> best_;
};

// Takes moves of `plan` back, those that matter least first, and offers what is left at every point.
void takeMovesBack(const Problem& problem, const Plan& plan, std::span<const DeviceId> base, MoveCurve& curve,
                   const Budget& budget);

// Moves units one by one, each time the one that gains most when the models are then placed one after
// another, the shortest first, in the times that those before leave free: a walk keeps the order on a device
// and does not see that a model which got faster should go first there. Offers what it has after each move.
void addMoves(const Problem& problem, std::span<const DeviceId> base, std::uint32_t most, MoveCurve& curve,
              const Budget& budget);

// Looks at every placement within the limit, under live memory in one or two orders each; false where that
// proves nothing: live memory, too many placements, or no time left.
bool tryAllMoves(const Problem& problem, std::span<const DeviceId> base, std::uint32_t most, MoveCurve& curve,
                 const Budget& budget);

}  // namespace allot
