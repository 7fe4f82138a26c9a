#include "solve/latency/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "problem/calls_model.h"
#include "solve/latency/calls_pack.h"
#include "solve/latency/calls_search.h"

namespace allot {
namespace {

constexpr std::string_view kName = "calls";
constexpr std::size_t kMostOps = 8192;  // reachability takes ops^2 bits
// Labels kept of each size of ideal, and over all sizes.
constexpr std::size_t kLeastBeam = 100, kMostBeam = 2000, kBeamOfAll = 800'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kShareOfOneCall = 0.3;  // of the time, where accelerators may run more
constexpr double kEqual = 1e-10;         // what rounding and dropped near-ties may cost, relative

}  // namespace

bool callsAccepts(const Problem& problem) {
  return isCallsModel(problem) && problem.opCount() <= kMostOps;
}

namespace {

// One model of the problem and what has been found in it.
class CallsRun {
 public:
  // `calls` of each accelerator, each as if it were one of its own.
  CallsRun(const Problem& problem, std::uint32_t calls, const Budget& budget, Progress& progress)
      : items_(problem, calls == 1), calls_each_(calls), budget_(budget), progress_(progress) {
    if (!items_.suitable || items_.poolCount() > kMostCallPools) return;
    facts_.emplace(items_);
    suitable_ = true;
    for (const CallPool& pool : items_.pools) {
      const std::size_t most = std::min(
          {pool.devices.size() * std::size_t{calls}, items_.itemCount(), std::size_t{kMostCallsOfPool} + 1});
      suitable_ = suitable_ && most <= kMostCallsOfPool;
      calls_.push_back(static_cast<std::uint32_t>(most));
    }
  }

  bool suitable() const { return suitable_; }
  std::size_t modules() const { return facts_->cuts.size() - 1; }

  // With a beam, for a plan.
  CallSearchOutcome guess(double below) {
    const std::size_t beam = std::clamp(kBeamOfAll / (items_.itemCount() + 1), kLeastBeam, kMostBeam);
    return search(below, budget_.work_limit > 0 ? std::min<std::size_t>(beam, budget_.work_limit) : beam);
  }
  CallSearchOutcome prove(double below) { return search(below, 0); }
  // Whole where no module needs a call that touches several of its branches; else a bound.
  CallSearchOutcome proveByBranches(double below) { return search(below, 0, true); }

 private:
  CallItems items_;
  std::optional<CallGraphFacts> facts_;
  std::uint32_t calls_each_;
  const Budget& budget_;
  Progress& progress_;
  bool suitable_ = false;
  std::vector<std::uint32_t> calls_;

  CallSearchOutcome search(double below, std::size_t beam, bool by_branches = false) {
    CallSearchLimits limits;
    limits.below = below;
    limits.beam = beam;
    limits.by_branches = by_branches;
    if (beam == 0 && budget_.work_limit > 0) limits.most_labels = budget_.work_limit * 100;
    CallSearchOutcome outcome = searchCalls(*facts_, calls_, calls_each_, limits, budget_);
    if (outcome.found) progress_.plan(packCalls(items_, outcome.parts, budget_), kName);
    return outcome;
  }
};

}  // namespace

SolveResult solveCalls(const Problem& problem, const Budget& budget, Progress& progress) {
  const std::uint32_t calls = problem.modes.calls;
  if (calls > 1) {
    // A plan of one call each is a plan here too.
    CallsRun once(problem, 1, budget, progress);
    if (once.suitable()) {
      const bool complete = once.guess(progress.bestValue()).complete;
      if (!complete && !budget.stopped()) {
        const Budget share = budget.slice(budget.remainingSeconds() * kShareOfOneCall);
        CallsRun(problem, 1, share, progress).proveByBranches(progress.bestValue());
      }
    }
  }
  CallsRun run(problem, calls, budget, progress);
  if (!run.suitable()) return {SolveEnd::kNotSuitable, ""};
  double below = progress.bestValue();
  CallSearchOutcome outcome = run.guess(below);
  if (!outcome.complete && !budget.stopped()) {
    below = progress.bestValue();
    outcome = run.proveByBranches(below);
    if (outcome.bound < kInfinity) progress.bound(outcome.bound * (1 - kEqual), kName);
  }
  if (!outcome.complete && !budget.stopped()) {
    below = progress.bestValue();
    outcome = run.prove(below);
    if (outcome.bound < kInfinity) progress.bound(outcome.bound * (1 - kEqual), kName);
  }
  if (!outcome.complete) return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
  const double least = (outcome.found ? outcome.value : below) * (1 - kEqual);
  if (least == kInfinity) return {SolveEnd::kExhausted, "no plan exists"};
  progress.bound(least, kName);
  const std::string proof = fmt::format("every plan below the value ruled out: {} labels over {} modules",
                                        outcome.labels, run.modules());
  const bool met = progress.bestValue() <= least * (1 + 3 * kEqual);
  return {met ? SolveEnd::kExhausted : SolveEnd::kFinished, proof};
}

}  // namespace allot
