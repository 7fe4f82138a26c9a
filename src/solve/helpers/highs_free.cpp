#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "solve/helpers/free_run.h"
#include "solve/helpers/highs.h"

namespace allot {
namespace {

constexpr std::string_view kName = "highs-free";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastMargin = 1e-6;

// Adds a row with its values divided by `scale`.
void addRow(MilpModel& milp, const std::vector<FreeModel::Term>& terms, double scale, double lower,
            double upper) {
  for (const FreeModel::Term& term : terms) {
    milp.row_column.push_back(static_cast<std::int32_t>(term.column));
    milp.row_value.push_back(term.value / scale);
  }
  milp.row_lower.push_back(lower);
  milp.row_upper.push_back(upper);
  milp.row_begin.push_back(static_cast<std::int32_t>(milp.row_column.size()));
}

// Loads in units of `scale`; the load columns come behind the binaries.
MilpModel toMilp(const FreeModel& model, double scale, double floor, double ceiling) {
  MilpModel milp;
  const std::size_t columns = model.binaries + model.parts;
  milp.cost.assign(columns, 0);
  milp.lower.assign(columns, 0);
  milp.upper.assign(columns, 1);
  milp.integer.assign(columns, 1);
  milp.row_begin = {0};
  for (std::size_t c = 0; c < model.binaries; ++c) {
    if (model.fixed[c]) milp.upper[c] = 0;
  }
  std::vector<FreeModel::Term> objective;
  for (std::size_t c = model.binaries; c < columns; ++c) {
    milp.cost[c] = 1;
    milp.upper[c] = ceiling;
    milp.integer[c] = 0;
    objective.push_back({static_cast<std::uint32_t>(c), 1});
  }
  if (model.parts == 1)
    milp.lower.back() = floor;
  else
    addRow(milp, objective, 1, floor, ceiling);
  for (const FreeModel::Row& row : model.logic) addRow(milp, row.terms, 1, row.lower, row.upper);
  for (const FreeModel::Row& row : model.memory) {
    const double unit = std::max(row.upper, 1.0);
    addRow(milp, row.terms, unit, -kInfinity, row.upper / unit);
  }
  for (const FreeModel::LoadRow& row : model.loads) {
    std::vector<FreeModel::Term> terms = row.terms;
    terms.push_back({static_cast<std::uint32_t>(model.binaries + row.part), -scale});
    addRow(milp, terms, scale, -kInfinity, 0);
  }
  return milp;
}

}  // namespace

SolveResult runHighsFree(const FreeModel& model, const FreeRun& run) {
  Progress& progress = run.progress;
  const Plan* start = progress.bestPlan();
  const double most = model.largestLoad();
  double scale = start != nullptr ? progress.bestValue() : progress.bestBound();
  if (!(scale > 0)) scale = most;
  if (!(scale > 0)) scale = 1;     // nothing costs anything
  constexpr double kSlack = 1e-7;  // leaves room for rounding around the start and the known bound
  const MilpModel milp = toMilp(model, scale, progress.bestBound() / scale * (1 - kSlack),
                                start != nullptr ? 1 + kSlack : std::max(1.0, most / scale));
  const double margin =
      std::max(kLeastMargin, kMilpTolerance * static_cast<double>(milp.cost.size() + milp.row_lower.size()));
  MilpRun milp_run;
  milp_run.threads = run.threads;
  milp_run.seconds = run.seconds;
  milp_run.seed = run.budget.seed;
  milp_run.gap = run.budget.gap;
  std::vector<double> values;
  if (start != nullptr) {
    const std::vector<std::uint8_t> binary = model.columnsOf(*start);
    values.assign(binary.begin(), binary.end());
    for (const double load : model.loadsOf(binary)) values.push_back(load / scale);
    milp_run.start = values;
  }
  std::atomic<bool> done = false;
  milp_run.stopped = [&] { return done.load(std::memory_order_relaxed) || run.stopped(); };
  milp_run.on_solution = [&](std::span<const double> solution) {
    progress.plan(model.planOf({solution.begin(), solution.end()}), kName);
    if (progress.done()) done = true;
  };
  milp_run.on_bound = [&](double bound) {
    progress.bound((bound - margin) * scale, kName);
    if (progress.done()) done = true;
  };
  const auto answer = solveMilp(milp, milp_run);
  if (!answer) return {SolveEnd::kNotSuitable, ""};
  if (!answer->solution.empty()) milp_run.on_solution(answer->solution);
  // Nothing within the cutoff: every plan is worse than the start, up to the same margin.
  if (answer->end != MilpEnd::kInfeasible)
    milp_run.on_bound(answer->bound);
  else if (start != nullptr)
    milp_run.on_bound(1);
  return {answer->end == MilpEnd::kStopped && !done ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace allot
