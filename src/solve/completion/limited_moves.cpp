#include "solve/completion/limited_moves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "base/thread_pool.h"
#include "solve/completion/less_idle.h"
#include "solve/completion/order_walk.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::string_view kName = "limited-moves";
constexpr std::uint32_t kEveryPoint = 16;
constexpr std::size_t kWalks = 4;
constexpr std::size_t kMemory = 200;           // steps that a walk looks back
constexpr std::uint64_t kVisits = 20'000'000;  // ops and edges visited by a walk
constexpr double kFreeShare = 0.4;             // of the time, for the problem without the limit
constexpr double kAddShare = 0.2;              // for moves added one by one
constexpr int kPatience = 3;                   // rounds without gain

SolveOutcome refused(const Problem& problem, std::string message) {
  SolveOutcome outcome;
  outcome.plan.modes = problem.modes;
  outcome.plan.status = Status::kBadInput;
  outcome.message = std::move(message);
  return outcome;
}

// Rounds of walks at one point of the curve, each from the best plan there.
void walkAt(const Problem& problem, std::span<const DeviceId> base, std::size_t point, MoveCurve& curve,
            const Budget& budget) {
  const WalkLimit limit{base, curve.limit(point)};
  const std::size_t size = problem.opCount() + problem.graph.tensor_consumers.items.size();
  const std::uint64_t moves = budget.work_limit > 0
                                  ? 1 + budget.work_limit / (kWalks * curve.size())
                                  : std::clamp<std::uint64_t>(kVisits / (size + 1), 500, 50'000);
  int stale = 0;
  for (std::uint64_t round = 1; stale < kPatience && !budget.stopped(); ++round) {
    const Plan* best = curve.best(point);
    if (best == nullptr) return;
    const Plan start = *best;
    std::vector<WalkResult> results(kWalks);
    parallelFor(kWalks, budget.threads, [&](std::size_t walk) {
      const std::uint64_t stream = (round * curve.size() + point) * kWalks + walk + 5000;
      results[walk] = walkOrders(problem, start, moves, kMemory << (2 * stale), stream, budget, &limit);
    });
    for (WalkResult& result : results) {
      if (std::isfinite(result.value)) curve.offer(std::move(result.decisions));
    }
    stale = curve.best(point)->value < start.value ? 0 : stale + 1;
    if (budget.work_limit > 0) break;
  }
}

}  // namespace

std::uint32_t countMoves(std::span<const DeviceId> base, std::span<const DeviceId> assignment) {
  std::uint32_t moves = 0;
  for (std::size_t i = 0; i < base.size(); ++i) moves += base[i] != assignment[i] ? 1 : 0;
  return moves;
}

MoveCurve::MoveCurve(const Problem& problem, std::span<const DeviceId> base, std::uint32_t most)
    : problem_(problem), base_(base) {
  most = std::min<std::uint32_t>(most, static_cast<std::uint32_t>(problem.opCount()));
  for (std::uint32_t moves = 0; moves < most;
       moves = most <= kEveryPoint ? moves + 1 : std::max(1u, 2 * moves))
    limits_.push_back(moves);
  limits_.push_back(most);
  best_.resize(limits_.size());
}

void MoveCurve::offer(Plan decisions) {
  const std::uint32_t moves = countMoves(base_, decisions.assignment);
  if (moves > limits_.back()) return;
  Plan in_order;  // another order may hold less
  if (problem_.liveMemory()) in_order.assignment = decisions.assignment;
  Evaluation evaluated = evaluate(problem_, std::move(decisions));
  if (!evaluated.valid() && problem_.liveMemory()) {
    in_order.start.resize(problem_.opCount());
    for (std::size_t i = 0; i < problem_.opCount(); ++i)
      in_order.start[problem_.graph.referenceOrder()[i].index()] = static_cast<double>(i);
    evaluated = evaluate(problem_, std::move(in_order));
  }
  if (!evaluated.valid()) return;
  for (std::size_t point = 0; point < limits_.size(); ++point) {
    if (limits_[point] < moves) continue;
    if (best_[point] && !(evaluated.plan.value < best_[point]->value)) continue;
    best_[point] = evaluated.plan;
  }
}

std::vector<MovePoint> MoveCurve::points() const {
  std::vector<MovePoint> points;
  for (std::size_t k = 0; k < limits_.size(); ++k)
    points.push_back({limits_[k], best_[k] ? best_[k]->value : kInfinity});
  return points;
}

SolveOutcome solveLimited(const Problem& problem, const RunOptions& run, const Plan* start,
                          const std::atomic<bool>* stop_flag,
                          const std::function<void(const ProgressLine&)>& on_progress,
                          std::vector<MovePoint>* curve_out) {
  if (problem.goal() != Goal::kCompletion)
    return refused(problem, "max-moves is for the goal completion; leave it out");
  if (start == nullptr || start->assignment.size() != problem.opCount() ||
      std::any_of(start->assignment.begin(), start->assignment.end(), [](DeviceId d) { return !d.valid(); }))
    return refused(problem,
                   "max-moves counts from a start plan that has a device for every op; give it by --start");
  const std::uint32_t most = run.max_moves;
  const std::vector<DeviceId>& base = start->assignment;
  const Budget budget(run, stop_flag);
  RunOptions without = run;
  without.max_moves = RunOptions::kAnyMoves;
  without.time_limit_seconds = kFreeShare * run.time_limit_seconds;
  SolveOutcome outcome = solve(problem, without, start, stop_flag);
  if (outcome.plan.status == Status::kInfeasible || outcome.plan.status == Status::kBadInput ||
      outcome.plan.status == Status::kInternalError)
    return outcome;

  LimitedCollector collector(problem, budget, on_progress, run.robust, base, most);
  collector.bound(outcome.plan.hasPlan() ? outcome.plan.bound : lowerBound(problem),
                  "bound without the limit");
  MoveCurve curve(problem, base, most);
  Plan given;  // decisions only: what the file claims besides is not ours to repeat
  given.modes = problem.modes;
  given.assignment = base;
  curve.offer(given);
  given.start = start->start;
  given.end = start->end;
  given.transfers = start->transfers;
  curve.offer(std::move(given));
  if (outcome.plan.hasPlan()) curve.offer(outcome.plan);
  const bool all = tryAllMoves(problem, base, most, curve, budget);
  if (!all) {
    if (outcome.plan.hasPlan()) takeMovesBack(problem, outcome.plan, base, curve, budget);
    addMoves(problem, base, most, curve, budget.slice(kAddShare * run.time_limit_seconds));
    const std::size_t last = curve.size() - 1;
    for (std::size_t point = 0; point < curve.size(); ++point) {
      // Later points start from the plans of earlier ones; the last one is what is asked for and gets half.
      const bool is_last = point == last;
      const double left = budget.remainingSeconds();
      const Budget part = is_last || !std::isfinite(left)
                              ? budget
                              : budget.slice(0.5 * left / static_cast<double>(last - point + 1));
      walkAt(problem, base, point, curve, part);
    }
  }
  if (const Plan* best = curve.best(curve.size() - 1); best != nullptr) collector.plan(*best, kName);
  const WalkLimit limit{base, most};
  if (!run.robust) lessenIdleOf(problem, budget, collector, &limit);
  if (curve_out != nullptr) {
    *curve_out = curve.points();
    // The idle time of the last point may have been lessened at the same value.
    if (collector.bestPlan() != nullptr) curve_out->back().value = collector.bestValue();
  }
  outcome.method =
      "few moves away from the start plan: moves of the best plan taken back, then small changes";
  outcome.message = collector.internalError();
  const bool interrupted = budget.stopped();
  outcome.plan = collector.take(all, all ? "limited-moves: every placement within the limit" : "");
  Plan& plan = outcome.plan;
  plan.seed = run.seed;
  plan.seconds = budget.elapsedSeconds();
  plan.time_limited = interrupted && plan.status != Status::kOptimal && budget.work_limit == 0;
  if (!outcome.message.empty()) plan.status = Status::kInternalError;
  if (!plan.hasPlan()) return outcome;
  CheckReport report = check(problem, plan);
  for (std::string& wrong : checkMoves(problem, plan, base, most))
    report.violations.push_back(std::move(wrong));
  if (!report.ok()) {
    outcome.message = "the plan failed the checker: " + report.violations.front();
    plan.status = Status::kInternalError;
  }
  return outcome;
}

}  // namespace allot
