// The solver contract and the portfolio.
//
// A solver reports every better plan and every better bound as it finds them, stops within 50 ms of a stop
// request, and keeps to its memory budget. What it reports is re-evaluated and checked before it counts: a
// solver cannot claim a value.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// What a search may use. A work limit replaces the clock, so that results repeat.
class Budget {
 public:
  Budget(const RunOptions& run, const std::atomic<bool>* stop_flag);

  double gap;
  std::uint32_t threads;
  std::uint64_t seed;
  std::uint64_t work_limit;  // candidate plans a search may value; 0 = its own limit
  std::size_t memory_bytes = std::size_t{2} << 30;
  bool helpers;  // optional solver libraries may be loaded
  // Of a solver's own patience, where it ends by itself: less than 1 where what comes behind makes up for it.
  double patience = 1;
  std::uint32_t turn = 0;  // how often the solver has been called before: it should try something else then

  // True once the time is up or a stop was asked for; costs a look at the clock.
  bool stopped() const;
  double elapsedSeconds() const;
  // Until the time is up; infinite under a work limit.
  double remainingSeconds() const;
  // The same with this much time at most, from now; no change under a work limit.
  Budget slice(double seconds) const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  Clock::time_point deadline_ = Clock::time_point::max();
  const std::atomic<bool>* stop_flag_;
};

// Receives what solvers find. `decisions` is what `evaluate` reads; the value is computed by the receiver.
class Progress {
 public:
  virtual ~Progress() = default;
  // Returns true when the plan is valid and better than the best so far.
  virtual bool plan(Plan decisions, std::string_view solver) = 0;
  virtual void bound(double bound, std::string_view solver) = 0;
  // Best value and bound so far.
  virtual double bestValue() const = 0;
  virtual double bestBound() const = 0;
  // Best plan so far, or nullptr.
  virtual const Plan* bestPlan() const = 0;
  // True when the best value is proven to the requested gap.
  virtual bool done() const = 0;
};

enum class SolveEnd : std::uint8_t {
  kFinished,    // ran to its own end
  kExhausted,   // every plan was looked at: the best reported plan is optimal, or there is none
  kStopped,     // limit or stop request
  kNotSuitable  // the problem is outside what it accepts (for example too large)
};

struct SolveResult {
  SolveEnd end = SolveEnd::kFinished;
  std::string proof;  // how it was proved, with counts: when exhausted, or when its bound was met
};

struct Solver {
  std::string_view name;
  std::string_view summary;
  std::string_view guarantee;
  bool (*accepts)(const Problem&);
  SolveResult (*solve)(const Problem&, const Budget&, Progress&);
};

// All solvers, baselines first, in the order in which the portfolio runs them.
std::span<const Solver> solvers();
const Solver* findSolver(std::string_view name);

// A valid lower bound on the value of every plan, from the problem alone.
double lowerBound(const Problem& problem);

// The first facts that make every plan impossible, if they are easy to see; absent otherwise.
std::optional<Conflict> findConflict(const Problem& problem);

struct ProgressLine {
  double seconds, value, bound;
  std::string_view solver;
};

struct SolveOutcome {
  Plan plan;            // status says what it is
  Conflict conflict;    // of an infeasible problem
  std::string method;   // which solvers were chosen, and why
  std::string message;  // of a bad call or an internal error (a solver's plan that failed the checker)
};

// Runs one solver, or the portfolio when `run.solver` is empty. `start` is a warm start. The plan has passed
// the checker.
SolveOutcome solve(const Problem& problem, const RunOptions& run, const Plan* start = nullptr,
                   const std::atomic<bool>* stop_flag = nullptr,
                   const std::function<void(const ProgressLine&)>& on_progress = {});

}  // namespace allot
