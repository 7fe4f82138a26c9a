#include "solve/completion/chains.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "solve/completion/chain_model.h"
#include "solve/completion/two_chains.h"

namespace allot {
namespace {

// Devices as bits: three for each under port modes.
constexpr std::size_t kMostDevices = 20;
constexpr double kMostCells = 1e8;
// A bound loses this to rounding: the programme adds and subtracts in another order than the evaluator.
constexpr double kRounding = 1e-10;

}  // namespace

bool chainsAccepts(const Problem& problem) {
  if (problem.goal() != Goal::kCompletion || problem.deviceCount() > kMostDevices) return false;
  if (problem.unitCount() != problem.opCount()) return false;
  std::vector<double> size(problem.graph.modelCount(), 0);
  for (const ModelId model : problem.graph.op_model) ++size[model.index()];
  std::erase(size, 0);
  if (size.empty() || size.size() > 2) return false;
  const auto devices = static_cast<double>(problem.deviceCount());
  const double kinds =
      problem.modes.link_mode == LinkMode::kFree ? devices + 1 : devices * devices + devices + 1;
  return (size.front() + 1) * (size.size() > 1 ? size.back() + 1 : 1) * kinds * kinds <= kMostCells;
}

SolveResult solveChains(const Problem& problem, const Budget& budget, Progress& progress) {
  const std::optional<ChainModel> model = chainModelOf(problem);
  if (!model || model->hasLaunch()) return {SolveEnd::kNotSuitable, ""};
  const Chain none{0, 0, {}, {}, {}, {}};
  TwoChains programme(*model, model->chains.front(), model->chains.size() > 1 ? model->chains.back() : none);
  double best = progress.bestValue();
  for (const std::size_t cap : {2, 0}) {
    const TwoChainsEnd end = programme.run(best * (1 - kRounding), cap, budget);
    if (end == TwoChainsEnd::kStopped) return {SolveEnd::kStopped, ""};
    if (end == TwoChainsEnd::kTooLarge) return {SolveEnd::kFinished, ""};
    if (programme.value() < best) {
      // A plan that memory forbids must not serve as a cutoff for plans, but is one for the bound.
      best = programme.value();
      std::vector<std::vector<ChainActivity>> activities = programme.activities();
      activities.resize(model->chains.size());
      progress.plan(planOfChains(problem, *model, activities), "chains");
    }
    if (cap > 0 && progress.done()) return {SolveEnd::kFinished, ""};
  }
  progress.bound(std::min(best, progress.bestValue()) * (1 - kRounding), "chains");
  const std::string proof =
      fmt::format("dynamic programme over two chains, {} pairs of ends", programme.pairs());
  return {model->memory_is_free ? SolveEnd::kExhausted : SolveEnd::kFinished, proof};
}

}  // namespace allot
