// Three ways to plans with few moves: taking moves of a good plan back, adding them to the start, and trying
// all placements.
#include <algorithm>
#include <numeric>

#include "allot/evaluate.h"
#include "evaluate/sweep.h"
#include "solve/baselines/list_schedule.h"
#include "solve/baselines/ranks.h"
#include "solve/completion/limited_moves.h"
#include "solve/completion/state_search.h"
#include "solve/local_search/ordered_plan.h"

namespace allot {
namespace {

constexpr std::size_t kRounds = 24;  // in which moves are taken back
constexpr std::size_t kMostPlacements = 3000;
constexpr std::size_t kMostOps = 12;
constexpr std::uint64_t kMostAddedPlans = 1'000'000;
constexpr std::size_t kMostStates = 200'000;
constexpr double kRounding = 1e-10;

// Every placement of the units within the limit, in order.
class Placements {
 public:
  Placements(const Problem& problem, std::span<const DeviceId> base, std::uint32_t most)
      : problem_(problem), base_(base), most_(most), assignment_(base.begin(), base.end()) {}

  // Calls visit(assignment) -> bool until it returns false; false then.
  template <class Visit>
  bool forEach(Visit&& visit) {
    return descend(0, 0, visit);
  }

 private:
  const Problem& problem_;
  std::span<const DeviceId> base_;
  std::uint32_t most_;
  std::vector<DeviceId> assignment_;

  template <class Visit>
  bool descend(std::size_t unit, std::uint32_t moved, Visit& visit) {
    if (unit == problem_.unitCount()) return visit(assignment_);
    const auto ops = problem_.unitOps(UnitId(unit));
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      if (!problem_.allowed(UnitId(unit), DeviceId(d))) continue;
      std::uint32_t now = moved;
      for (const OpId op : ops) {
        assignment_[op.index()] = DeviceId(d);
        now += base_[op.index()] != DeviceId(d) ? 1 : 0;
      }
      if (now <= most_ && !descend(unit + 1, now, visit)) return false;
    }
    return true;
  }
};

}  // namespace

void addMoves(const Problem& problem, std::span<const DeviceId> base, std::uint32_t most, MoveCurve& curve,
              const Budget& budget) {
  const OpGraph& graph = problem.graph;
  std::vector<DeviceId> assignment(base.begin(), base.end());
  const auto put = [&](UnitId unit, DeviceId device) {
    for (const OpId op : problem.unitOps(unit)) assignment[op.index()] = device;
  };
  const std::vector<double> rank =
      baseline::upwardRank(problem, baseline::meanOpSeconds(problem), baseline::meanTransferSeconds(problem));
  const double longest = std::max(1e-300, *std::max_element(rank.begin(), rank.end()));
  // The plan of the present assignment, models by their time there or at best; none where memory or time does
  // not suffice.
  const std::vector<double> least = baseline::leastOpSeconds(problem);
  const auto planOfAssignment = [&](bool by_least) -> std::optional<Plan> {
    std::vector<std::pair<double, std::size_t>> work(graph.modelCount());
    for (std::size_t m = 0; m < work.size(); ++m) work[m] = {0, m};
    for (std::size_t i = 0; i < assignment.size(); ++i)
      work[graph.op_model[i].index()].first +=
          by_least ? least[i] : problem.opSeconds(OpId(i), assignment[i]);
    for (auto& [seconds, m] : work) {
      const double weight = problem.model_weight[m];
      seconds = weight > 0 ? problem.model_release[m] + seconds / weight : kCannotRun;
    }
    std::sort(work.begin(), work.end());
    std::vector<double> place(work.size());
    for (std::size_t k = 0; k < work.size(); ++k) place[work[k].second] = static_cast<double>(k);
    const auto key = [&](OpId op, double) {
      return place[graph.op_model[op.index()].index()] + 0.99 * (1 - rank[op.index()] / longest);
    };
    const auto cost = [&](OpId op, DeviceId device, double) {
      return assignment[op.index()] == device ? 0 : kCannotRun;
    };
    baseline::ListOutcome outcome = baseline::scheduleList(problem, budget, key, cost);
    if (!outcome.plan || outcome.plan->assignment != assignment) return std::nullopt;
    Evaluation evaluated = evaluate(problem, std::move(*outcome.plan));
    if (!evaluated.valid()) return std::nullopt;
    return std::move(evaluated.plan);
  };
  std::uint64_t plans_left = budget.work_limit > 0 ? 10 * budget.work_limit : kMostAddedPlans;
  std::uint32_t moves = 0;
  while (moves < most) {
    std::optional<Plan> best;
    UnitId best_unit;
    for (std::size_t u = 0; u < problem.unitCount(); ++u) {
      const OpId op = problem.unitOps(UnitId(u)).front();
      const DeviceId now = assignment[op.index()];
      const auto size = static_cast<std::uint32_t>(problem.unitOps(UnitId(u)).size());
      if (now != base[op.index()] || moves + size > most) continue;
      for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
        if (DeviceId(d) == now || !problem.allowed(UnitId(u), DeviceId(d))) continue;
        if (plans_left == 0 || budget.stopped()) return;
        --plans_left;
        put(UnitId(u), DeviceId(d));
        for (const bool by_least : {false, true}) {
          std::optional<Plan> next = planOfAssignment(by_least);
          if (!next || (best && !(next->value < best->value))) continue;
          best = std::move(next);
          best_unit = UnitId(u);
        }
      }
      put(UnitId(u), now);
    }
    if (!best) return;
    put(best_unit, best->assignment[problem.unitOps(best_unit).front().index()]);
    moves += static_cast<std::uint32_t>(problem.unitOps(best_unit).size());
    curve.offer(std::move(*best));
  }
}

void takeMovesBack(const Problem& problem, const Plan& plan, std::span<const DeviceId> base, MoveCurve& curve,
                   const Budget& budget) {
  const std::vector<OpId> order = orderOfStarts(problem, plan);
  std::vector<DeviceId> assignment = plan.assignment;
  Sweep sweep(problem);
  std::vector<UnitId> moved;
  const auto put = [&](UnitId unit, std::span<const DeviceId> devices) {
    for (const OpId op : problem.unitOps(unit)) assignment[op.index()] = devices[op.index()];
  };
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    const OpId op = problem.unitOps(UnitId(u)).front();
    if (assignment[op.index()] != base[op.index()] && problem.allowed(UnitId(u), base[op.index()]))
      moved.push_back(UnitId(u));
  }
  const std::size_t chunk = 1 + moved.size() / kRounds;
  while (!moved.empty() && !budget.stopped()) {
    std::vector<std::pair<double, std::size_t>> loss;
    for (std::size_t k = 0; k < moved.size(); ++k) {
      if (k % 16 == 0 && budget.stopped()) return;
      put(moved[k], base);
      loss.emplace_back(sweep.run(order, assignment), k);
      put(moved[k], plan.assignment);
    }
    std::sort(loss.begin(), loss.end());
    // One by one where a point of the curve is near.
    const std::uint32_t now = countMoves(base, assignment);
    const bool near = now <= curve.limit(curve.size() - 1) + chunk;
    const std::size_t count = near ? 1 : std::min(chunk, loss.size());
    std::vector<std::uint8_t> back(moved.size(), 0);
    for (std::size_t k = 0; k < count; ++k) {
      back[loss[k].second] = 1;
      put(moved[loss[k].second], base);
    }
    std::vector<UnitId> rest;
    for (std::size_t k = 0; k < moved.size(); ++k) {
      if (!back[k]) rest.push_back(moved[k]);
    }
    moved = std::move(rest);
    Plan left;
    left.modes = problem.modes;
    sweep.record(order, assignment, left);
    left.assignment = assignment;
    curve.offer(std::move(left));
  }
}

bool tryAllMoves(const Problem& problem, std::span<const DeviceId> base, std::uint32_t most, MoveCurve& curve,
                 const Budget& budget) {
  if (problem.opCount() > kMostOps) return false;
  Placements placements(problem, base, most);
  std::size_t count = 0;
  if (!placements.forEach([&](const std::vector<DeviceId>&) { return ++count <= kMostPlacements; }))
    return false;
  if (problem.liveMemory()) {
    // Which schedule of a placement holds least is another question: nothing is proven.
    placements.forEach([&](const std::vector<DeviceId>& assignment) {
      Plan plan;
      plan.assignment = assignment;
      curve.offer(std::move(plan));
      return !budget.stopped();
    });
    return false;
  }
  return placements.forEach([&](const std::vector<DeviceId>& assignment) {
    std::vector<double> used(problem.deviceCount(), 0);
    for (std::size_t i = 0; i < assignment.size(); ++i)
      used[assignment[i].index()] += problem.residentBytes(OpId(i));
    for (std::size_t d = 0; d < used.size(); ++d) {
      if (used[d] > problem.memoryLimit(DeviceId(d))) return true;
    }
    Problem pinned = problem;
    Constraints constraints = problem.constraints;
    constraints.pin.clear();
    constraints.forbid.clear();
    for (std::size_t i = 0; i < assignment.size(); ++i) constraints.pin.emplace_back(OpId(i), assignment[i]);
    pinned.replacePlacement(std::move(constraints));
    // Below the best plan with as few moves.
    const std::uint32_t moves = countMoves(base, assignment);
    double cutoff = kCannotRun;
    for (std::size_t point = 0; point < curve.size(); ++point) {
      if (curve.limit(point) >= moves && curve.best(point) != nullptr) {
        cutoff = curve.best(point)->value * (1 - kRounding);
        break;
      }
    }
    StateSearch search(pinned);
    if (search.run(cutoff, 0, kMostStates, budget) != StateEnd::kDone) return false;
    if (search.value() < cutoff) curve.offer(planOf(search.model(), search.schedule()));
    return true;
  });
}

}  // namespace allot
