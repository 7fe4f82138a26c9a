#include "solve/helpers/free_solvers.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "solve/helpers/cp_sat.h"
#include "solve/helpers/free_run.h"
#include "solve/helpers/highs.h"
#include "solve/helpers/library.h"

namespace allot {
namespace {

// One thread's door to a receiver that several threads share.
class SharedProgress final : public Progress {
 public:
  SharedProgress(Progress& progress, std::mutex& mutex, std::atomic<bool>& done)
      : progress_(progress), mutex_(mutex), done_(done) {}

  bool plan(Plan decisions, std::string_view solver) override {
    const std::lock_guard lock(mutex_);
    const bool better = progress_.plan(std::move(decisions), solver);
    if (progress_.done()) done_ = true;
    return better;
  }
  void bound(double value, std::string_view solver) override {
    const std::lock_guard lock(mutex_);
    progress_.bound(value, solver);
    if (progress_.done()) done_ = true;
  }
  double bestValue() const override {
    const std::lock_guard lock(mutex_);
    return progress_.bestValue();
  }
  double bestBound() const override {
    const std::lock_guard lock(mutex_);
    return progress_.bestBound();
  }
  // A copy, which holds until this thread asks again.
  const Plan* bestPlan() const override {
    const std::lock_guard lock(mutex_);
    const Plan* best = progress_.bestPlan();
    if (best == nullptr) return nullptr;
    copy_ = *best;
    return &*copy_;
  }
  bool done() const override { return done_; }

 private:
  Progress& progress_;
  std::mutex& mutex_;
  std::atomic<bool>& done_;
  mutable std::optional<Plan> copy_;
};

bool mayRun(const Budget& budget) {
  return budget.helpers && budget.work_limit == 0;
}

// A plan that hangs on which thread was first must not pass for a repeatable one.
SolveResult honest(SolveResult result, const FreeRun& run, double value_before) {
  if (result.end == SolveEnd::kFinished && run.budget.threads > 1 && run.progress.bestValue() < value_before)
    result.end = SolveEnd::kStopped;
  return result;
}

SolveResult runAlone(const Problem& problem, const Budget& budget, Progress& progress,
                     SolveResult (*solver)(const FreeModel&, const FreeRun&)) {
  const double before = progress.bestValue();
  const FreeModel model(problem, before);
  const FreeRun run{budget, progress, budget.threads, budget.remainingSeconds(),
                    [&] { return budget.stopped(); }};
  return honest(solver(model, run), run, before);
}

}  // namespace

bool highsFreeAccepts(const Problem& problem) {
  return FreeModel::accepts(problem) && HelperLibrary::present(kMilpLibrary);
}

bool cpSatFreeAccepts(const Problem& problem) {
  return FreeModel::accepts(problem) && HelperLibrary::present(kCpLibrary);
}

bool helpersFreeAccepts(const Problem& problem) {
  return highsFreeAccepts(problem) && cpSatFreeAccepts(problem);
}

SolveResult solveHighsFree(const Problem& problem, const Budget& budget, Progress& progress) {
  if (!mayRun(budget) || !loadMilpSolver()) return {SolveEnd::kNotSuitable, ""};
  return runAlone(problem, budget, progress, runHighsFree);
}

SolveResult solveCpSatFree(const Problem& problem, const Budget& budget, Progress& progress) {
  if (!mayRun(budget) || !loadCpSolver()) return {SolveEnd::kNotSuitable, ""};
  return runAlone(problem, budget, progress, runCpSatFree);
}

SolveResult solveHelpersFree(const Problem& problem, const Budget& budget, Progress& progress) {
  if (!mayRun(budget) || !loadMilpSolver() || !loadCpSolver()) return {SolveEnd::kNotSuitable, ""};
  const double before = progress.bestValue();
  const FreeModel model(problem, before);
  std::mutex mutex;
  std::atomic<bool> done = false;
  SharedProgress for_highs(progress, mutex, done), for_cp(progress, mutex, done);
  const auto stopped = [&] { return done.load(std::memory_order_relaxed) || budget.stopped(); };
  const double left = budget.remainingSeconds();
  SolveResult cp{SolveEnd::kStopped, ""};
  if (budget.threads == 1) {
    runHighsFree(model, {budget, for_highs, 1, left / 2, stopped});
  } else {
    const std::uint32_t half = budget.threads / 2;
    std::atomic<bool> highs_ended = false;
    std::thread other([&] {
      runHighsFree(model, {budget, for_highs, half, left, stopped});
      highs_ended = true;
    });
    cp = runCpSatFree(model, {budget, for_cp, budget.threads - half, left,
                              [&] { return highs_ended.load(std::memory_order_relaxed) || stopped(); }});
    // What CP-SAT has finished is proven; HiGHS could only add digits.
    if (cp.end == SolveEnd::kFinished || cp.end == SolveEnd::kExhausted) done = true;
    other.join();
  }
  // HiGHS has ended with a gap of about 1e-6, or its half of the time is over: CP-SAT goes on between its
  // plan and its bound, which takes it a small part of the time of a search from afar.
  if (!stopped())
    cp = runCpSatFree(model, {budget, for_cp, budget.threads, budget.remainingSeconds(), stopped});
  if (cp.end == SolveEnd::kExhausted) return cp;
  const bool finished = progress.done() || cp.end == SolveEnd::kFinished;
  const FreeRun run{budget, progress, budget.threads, 0, stopped};
  return honest({finished ? SolveEnd::kFinished : SolveEnd::kStopped, ""}, run, before);
}

}  // namespace allot
