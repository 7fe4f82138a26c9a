#include "solve/latency/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "problem/calls_model.h"
#include "solve/latency/calls_aside.h"
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

// One model of the problem: what can be found and proven in it.
class CallsRun {
 public:
  // `calls` of each accelerator, each as if it were one of its own.
  CallsRun(CallItems items, std::uint32_t calls, const Budget& budget, Progress& progress)
      : items_(std::move(items)), calls_each_(calls), budget_(budget), progress_(progress) {
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

  // First with a beam for a plan, then branch by branch, then whole. True when no plan below the best is
  // left, or below what was found here. `bounds`: what holds here holds for the problem.
  bool run(bool bounds) {
    const std::size_t beam = std::clamp(kBeamOfAll / (items_.itemCount() + 1), kLeastBeam, kMostBeam);
    CallSearchLimits limits;
    limits.beam = budget_.work_limit > 0 ? std::min<std::size_t>(beam, budget_.work_limit) : beam;
    bool complete = search(limits, bounds);
    limits.beam = 0;
    if (budget_.work_limit > 0) limits.most_labels = budget_.work_limit * 100;
    for (const bool by_branches : {true, false}) {
      if (complete || budget_.stopped()) break;
      limits.by_branches = by_branches;
      complete = search(limits, bounds);
    }
    return complete;
  }
  // No plan is worth less; infinite when there is none.
  double bound() const { return bound_; }
  std::string proof() const {
    return fmt::format("every plan below the value ruled out: {} labels over {} modules", labels_,
                       facts_->cuts.size() - 1);
  }

 private:
  CallItems items_;
  std::optional<CallGraphFacts> facts_;
  std::uint32_t calls_each_;
  const Budget& budget_;
  Progress& progress_;
  bool suitable_ = false;
  std::vector<std::uint32_t> calls_;
  double bound_ = 0;
  std::uint64_t labels_ = 0;

  bool search(CallSearchLimits limits, bool bounds) {
    limits.below = progress_.bestValue();
    const CallSearchOutcome outcome = searchCalls(*facts_, calls_, calls_each_, limits, budget_);
    if (outcome.found) progress_.plan(packCalls(items_, outcome.parts, budget_), kName);
    bound_ = std::max(bound_, outcome.bound * (1 - kEqual));
    labels_ = outcome.labels;
    if (bounds && bound_ < kInfinity) progress_.bound(bound_, kName);
    return outcome.complete;
  }
};

}  // namespace

SolveResult solveCalls(const Problem& problem, const Budget& budget, Progress& progress) {
  const std::uint32_t calls = problem.modes.calls;
  const auto met = [&](double bound) { return progress.bestValue() <= bound * (1 + 3 * kEqual); };
  if (calls > 1) {
    // A plan of one call each is a plan here too.
    const Budget share = budget.slice(budget.remainingSeconds() * kShareOfOneCall);
    CallItems items(problem, true);
    std::optional<CallItems> left = withoutBypasses(items, 1);
    CallsRun once(left ? std::move(*left) : std::move(items), 1, share, progress);
    if (once.suitable()) once.run(false);
  }
  CallItems items(problem, calls == 1);
  if (std::optional<CallItems> left = withoutBypasses(items, calls)) {
    CallsRun run(std::move(*left), calls, budget, progress);
    if (run.suitable() && run.run(true) && met(run.bound())) return {SolveEnd::kExhausted, run.proof()};
  }
  CallsRun run(std::move(items), calls, budget, progress);
  if (!run.suitable()) return {SolveEnd::kNotSuitable, ""};
  if (!run.run(true)) return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
  if (run.bound() == kInfinity) return {SolveEnd::kExhausted, "no plan exists"};
  return {met(run.bound()) ? SolveEnd::kExhausted : SolveEnd::kFinished, run.proof()};
}

}  // namespace allot
