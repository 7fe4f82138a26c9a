#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "solve/helpers/cp_sat.h"
#include "solve/helpers/free_run.h"
#include "solve/helpers/grid.h"

namespace allot {
namespace {

constexpr std::string_view kName = "cp-sat-free";
constexpr double kErrorShare = 2e-10;  // of the value: what rounding to the grid may cost
constexpr double kCoarse = 1e-4;       // of the value: the grid of the second look
constexpr double kLargest = 0x1.0p60;  // sums in a row stay below this

// What a grid does to the load rows.
struct Rounding {
  double up = 0;    // most that an integer load times the grid exceeds the load
  double loss = 0;  // most that it falls short
  double sum = 0;   // largest sum of coefficients
};

Rounding roundingAt(const FreeModel& model, double grid, double most) {
  Rounding rounding;
  for (const FreeModel::LoadRow& row : model.loads) {
    double up = 0, loss = 0, sum = 0;
    for (const FreeModel::Term& term : row.terms) {
      const double whole = wholes(term.value, grid);
      const double error = whole * grid - term.value;
      (error > 0 ? up : loss) += std::abs(error);
      sum += whole;
      if (up + loss > most) return {up, loss, sum};
    }
    rounding.up = std::max(rounding.up, up);
    rounding.loss = std::max(rounding.loss, loss);
    rounding.sum = std::max(rounding.sum, sum);
  }
  return rounding;
}

double exactGrid(const FreeModel& model, double value) {
  const double most = kErrorShare * value / static_cast<double>(model.parts);
  return coarsestGrid(value, [&](double grid) {
    const Rounding rounding = roundingAt(model, grid, most);
    return rounding.up + rounding.loss <= most;
  });
}

void addRow(CpModel& cp, std::int64_t lower, std::int64_t upper) {
  cp.row_lower.push_back(lower);
  cp.row_upper.push_back(upper);
  cp.row_begin.push_back(static_cast<std::uint32_t>(cp.row_variable.size()));
}

void addTerm(CpModel& cp, std::size_t variable, std::int64_t value) {
  if (value == 0) return;
  cp.row_variable.push_back(static_cast<std::int32_t>(variable));
  cp.row_value.push_back(value);
}

// Bytes are whole up to the optimiser's factor; needs are rounded down and limits up, so that no valid plan
// is lost.
void addMemory(CpModel& cp, const FreeModel& model) {
  for (const FreeModel::Row& row : model.memory) {
    double sum = 0;
    for (const FreeModel::Term& term : row.terms) sum += term.value;
    const double unit = std::max(1.0, std::ceil(sum / 0x1.0p50));
    for (const FreeModel::Term& term : row.terms)
      addTerm(cp, term.column, static_cast<std::int64_t>(std::floor(term.value / unit)));
    addRow(cp, 0, static_cast<std::int64_t>(std::floor(row.upper / unit)));
  }
}

// The load columns come behind the binaries.
CpModel toCp(const FreeModel& model, double grid, std::int64_t floor, std::int64_t ceiling) {
  constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max() / 2;
  CpModel cp;
  const std::size_t variables = model.binaries + model.parts;
  cp.lower.assign(variables, 0);
  cp.upper.assign(variables, 1);
  cp.objective.assign(variables, 0);
  for (std::size_t v = 0; v < model.binaries; ++v) {
    if (model.fixed[v]) cp.upper[v] = 0;
  }
  for (std::size_t v = model.binaries; v < variables; ++v) {
    cp.upper[v] = ceiling;
    cp.objective[v] = 1;
    addTerm(cp, v, 1);
  }
  addRow(cp, floor, ceiling);
  for (const FreeModel::Row& row : model.logic) {
    for (const FreeModel::Term& term : row.terms)
      addTerm(cp, term.column, static_cast<std::int64_t>(term.value));
    addRow(cp, static_cast<std::int64_t>(row.lower),
           std::isfinite(row.upper) ? static_cast<std::int64_t>(row.upper) : kOpen);
  }
  addMemory(cp, model);
  for (const FreeModel::LoadRow& row : model.loads) {
    for (const FreeModel::Term& term : row.terms)
      addTerm(cp, term.column, static_cast<std::int64_t>(wholes(term.value, grid)));
    addTerm(cp, model.binaries + row.part, -1);
    addRow(cp, -kOpen, 0);
  }
  return cp;
}

std::vector<std::int64_t> startOf(const FreeModel& model, const CpModel& cp, const Plan& plan) {
  const std::vector<std::uint8_t> binary = model.columnsOf(plan);
  std::vector<std::int64_t> values(binary.begin(), binary.end());
  values.resize(model.binaries + model.parts, 0);
  const std::size_t first = cp.row_lower.size() - model.loads.size();
  for (std::size_t r = 0; r < model.loads.size(); ++r) {
    std::int64_t sum = 0;
    for (std::uint32_t t = cp.row_begin[first + r]; t + 1 < cp.row_begin[first + r + 1]; ++t)
      sum += cp.row_value[t] * values[static_cast<std::size_t>(cp.row_variable[t])];
    std::int64_t& top = values[model.binaries + model.loads[r].part];
    top = std::max(top, sum);
  }
  return values;
}

SolveResult runAt(const FreeModel& model, const FreeRun& run, double value, double grid, double seconds) {
  Progress& progress = run.progress;
  const Rounding rounding = roundingAt(model, grid, std::numeric_limits<double>::infinity());
  if (rounding.sum > kLargest) return {SolveEnd::kNotSuitable, ""};
  const double up = rounding.up * static_cast<double>(model.parts);
  const Plan* start = progress.bestPlan();
  const double ceiling = start != nullptr ? (progress.bestValue() + up) / grid + 1
                                          : rounding.sum * static_cast<double>(model.parts);
  // The bound holds in seconds; a plan may lose this much when it is counted on the grid.
  const double loss = rounding.loss * static_cast<double>(model.parts);
  const double floor = std::max(0.0, (progress.bestBound() - loss) / grid - 1 - 1e-12 * value / grid);
  const CpModel cp = toCp(model, grid, static_cast<std::int64_t>(std::min(floor, ceiling)),
                          static_cast<std::int64_t>(std::ceil(ceiling)));
  const auto begin = std::chrono::steady_clock::now();
  CpRun cp_run;
  cp_run.threads = run.threads;
  cp_run.seed = run.budget.seed;
  cp_run.gap = run.budget.gap;
  cp_run.memory_bytes = run.budget.memory_bytes;
  cp_run.stopped = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return spent.count() >= seconds || run.stopped();
  };
  std::vector<std::int64_t> values;
  if (start != nullptr) {
    values = startOf(model, cp, *start);
    cp_run.start = values;
  }
  const auto answer = solveCp(cp, cp_run);
  if (!answer) return {SolveEnd::kNotSuitable, ""};
  // Needs of memory are rounded down, so this holds for the real ones. With a start it cannot be.
  if (answer->end == CpEnd::kInfeasible)
    return start != nullptr
               ? SolveResult{SolveEnd::kNotSuitable, ""}
               : SolveResult{SolveEnd::kExhausted, "no assignment fits the memory of the devices"};
  if (!answer->solution.empty())
    progress.plan(model.planOf({answer->solution.begin(), answer->solution.end()}), kName);
  // 1e-13: sums of doubles, here and in the evaluator, are exact to less than that.
  progress.bound((static_cast<double>(answer->bound) * grid - up) * (1 - 1e-13), kName);
  return {answer->end == CpEnd::kStopped ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace

SolveResult runCpSatFree(const FreeModel& model, const FreeRun& run) {
  double value = run.progress.bestPlan() != nullptr ? run.progress.bestValue() : run.progress.bestBound();
  if (!(value > 0)) value = model.largestLoad();
  if (!(value > 0)) value = 1;  // nothing costs anything
  const double grid = exactGrid(model, value);
  if (grid == 0) return {SolveEnd::kNotSuitable, ""};
  constexpr double kExactShare = 2.0 / 3;
  const auto begin = std::chrono::steady_clock::now();
  const auto left = [&] {
    return run.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const bool again = grid < kCoarse * value && std::isfinite(run.seconds);
  SolveResult result = runAt(model, run, value, grid, run.seconds * (again ? kExactShare : 1));
  if (!again || result.end != SolveEnd::kStopped || run.progress.done() || run.stopped()) return result;
  // Between the plan and the bound of a coarse proof the exact grid has little left to search.
  if (runAt(model, run, value, kCoarse * value, left()).end == SolveEnd::kFinished && !run.progress.done())
    result = runAt(model, run, value, grid, left());
  return result;
}

}  // namespace allot
