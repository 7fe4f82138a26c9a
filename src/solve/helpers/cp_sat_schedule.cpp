#include "solve/helpers/cp_sat_schedule.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/random.h"
#include "solve/helpers/cp_sat.h"
#include "solve/helpers/grid.h"
#include "solve/helpers/library.h"
#include "solve/helpers/schedule_cp.h"
#include "solve/packing.h"

namespace allot {
namespace {

constexpr std::string_view kName = "cp-sat-schedule";
constexpr std::size_t kMostOps = 5'000;
constexpr std::size_t kWholeOps = 600;
constexpr double kWholeShare = 0.5;  // of the time, for the model as a whole
constexpr double kErrorShare = 2e-10;
constexpr double kWindowSeconds = 4;
constexpr std::size_t kWindowOps = 60;

// Fine enough that all durations together lose next to nothing; 1e-9 of the value where no grid does that.
double gridOf(const ScheduleModel& model, double value) {
  const double exact = coarsestGrid(value, [&](double grid) {
    double error = 0;
    const auto add = [&](double seconds) {
      if (seconds < kCannotRun) error += std::abs(wholes(seconds, grid) * grid - seconds);
      return error <= kErrorShare * value;
    };
    for (const double seconds : model.seconds) {
      if (!add(seconds)) return false;
    }
    for (const double seconds : model.launch) {
      if (!add(seconds)) return false;
    }
    for (std::size_t net = 0; net < model.netCount(); ++net) {
      for (std::size_t from = 0; from < model.devices; ++from) {
        for (std::size_t to = 0; to < model.devices; ++to) {
          if (from != to && !add(model.transfer(net, from, to))) return false;
        }
      }
    }
    return true;
  });
  return std::max(exact, 1e-9 * value);
}

class Run {
 public:
  Run(const Problem& problem, const Budget& budget, Progress& progress)
      : model_(problem), budget_(budget), progress_(progress), random_(budget.seed) {}

  SolveResult run() {
    const double value = progress_.bestValue();
    if (!(value > 0)) return {SolveEnd::kFinished, ""};
    grid_ = gridOf(model_, value);
    if (model_.opCount() <= kWholeOps) {
      const double seconds = kWholeShare * std::min(budget_.remainingSeconds(), 1e6);
      if (solveOnce({}, seconds) == CpEnd::kOptimal) return {SolveEnd::kFinished, ""};
    }
    while (!budget_.stopped() && !progress_.done()) solveOnce(window(), kWindowSeconds);
    return {SolveEnd::kStopped, ""};
  }

 private:
  ScheduleModel model_;
  const Budget& budget_;
  Progress& progress_;
  Random random_;
  double grid_ = 1;
  double share_ = 1;  // of kWindowOps: smaller where windows are not closed in time

  // Ops nearest in time to a random one.
  std::vector<std::uint8_t> window() {
    const Schedule now = scheduleOf(model_, *progress_.bestPlan());
    const std::size_t n = model_.opCount();
    const double centre = now.start[random_.below(static_cast<std::uint32_t>(n))];
    std::vector<std::uint32_t> nearest(n);
    for (std::uint32_t i = 0; i < n; ++i) nearest[i] = i;
    const std::size_t size =
        std::min(n, std::max<std::size_t>(8, static_cast<std::size_t>(share_ * kWindowOps)));
    std::partial_sort(nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(size), nearest.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                        const double near_a = std::abs(now.start[a] - centre);
                        const double near_b = std::abs(now.start[b] - centre);
                        return near_a != near_b ? near_a < near_b : a < b;
                      });
    std::vector<std::uint8_t> is_free(n, 0);
    for (std::size_t k = 0; k < size; ++k) is_free[nearest[k]] = 1;
    return is_free;
  }

  // An empty window is the whole model.
  CpEnd solveOnce(const std::vector<std::uint8_t>& is_free, double seconds) {
    const Schedule now = scheduleOf(model_, *progress_.bestPlan());
    ScheduleCp schedule(model_, grid_, now, is_free);
    const bool whole = is_free.empty();
    const double floor = std::max(0.0, (progress_.bestBound() - schedule.up) / grid_ - 1) * (1 - 1e-9);
    // Rounding down may leave a path up to one step per op shorter than the bound says.
    schedule.cp.lower[schedule.latest()] =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(floor) -
                                      2 * static_cast<std::int64_t>(model_.opCount() + model_.netCount()));
    const std::vector<std::int64_t> start = schedule.startValues();
    const auto begin = std::chrono::steady_clock::now();
    CpRun run;
    run.threads = budget_.threads;
    run.seed = budget_.seed;
    run.gap = whole ? budget_.gap : 0;
    run.memory_bytes = budget_.memory_bytes;
    run.start = start;
    run.stopped = [&] {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      return spent.count() >= seconds || budget_.stopped();
    };
    const auto answer = solveCp(schedule.cp, run);
    if (!answer) return CpEnd::kStopped;
    if (!answer->solution.empty())
      progress_.plan(planOf(model_, schedule.scheduleOf(answer->solution)), kName);
    if (whole && answer->end != CpEnd::kInfeasible)
      progress_.bound((static_cast<double>(answer->bound) * grid_ - schedule.up) * (1 - 1e-12), kName);
    if (!whole) share_ = std::clamp(share_ * (answer->end == CpEnd::kOptimal ? 1.1 : 0.8), 0.15, 2.0);
    return answer->end;
  }
};

}  // namespace

bool cpSatScheduleAccepts(const Problem& problem) {
  return problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kEvents &&
         problem.modes.memory == MemoryModel::kStatic && problem.opCount() <= kMostOps &&
         HelperLibrary::present(kCpLibrary);
}

SolveResult solveCpSatSchedule(const Problem& problem, const Budget& budget, Progress& progress) {
  if (!budget.helpers || budget.work_limit > 0) return {SolveEnd::kNotSuitable, ""};
  if (!loadCpSolver()) return {SolveEnd::kNotSuitable, ""};
  if (progress.bestPlan() == nullptr) {
    Plan any;
    any.modes = problem.modes;
    any.assignment = pack(problem, budget).assignment;
    if (any.assignment.empty() || !progress.plan(std::move(any), kName)) return {SolveEnd::kNotSuitable, ""};
  }
  return Run(problem, budget, progress).run();
}

}  // namespace allot
