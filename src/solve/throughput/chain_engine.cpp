#include "solve/throughput/chain_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "solve/throughput/chain_proof.h"
#include "solve/throughput/pipeline_model.h"
#include "solve/throughput/position_bound.h"
#include "solve/throughput/stage_bound.h"

namespace allot {
namespace {

constexpr std::string_view kName = "chain";
constexpr std::size_t kMostUnits = 8192;  // what ChainSearch takes
constexpr double kMostStates = 1 << 20;   // and these, of devices used
// Pairs of the first try: a second or two.
constexpr std::uint64_t kFirstPairs = 10'000'000;
constexpr std::uint64_t kQuickPairs = 2'000'000;
// Of the time, for all but the bound by stages, which has a use for more; and of that, for the cuts of the
// bound by positions.
constexpr double kUsualShare = 0.6, kPositionShare = 0.6;

}  // namespace

bool chainAccepts(const Problem& problem) {
  return problem.goal() == Goal::kThroughput && problem.unitCount() <= kMostUnits;
}

SolveResult solveChain(const Problem& problem, const Budget& budget, Progress& progress) {
  PipelineModel model(problem, PipelineModel::Items::kBlocks);
  model.joinFreeItems(true);
  std::vector<std::uint32_t> counts;
  for (const Pool& pool : model.pools) counts.push_back(static_cast<std::uint32_t>(pool.devices.size()));
  // Some more would be refused after a long look.
  double states = 1;
  for (const std::uint32_t count : counts) states *= count + 1;
  if (states > kMostStates) return {SolveEnd::kNotSuitable, ""};
  if (budget.stopped()) return {SolveEnd::kStopped, ""};
  const Budget usual = budget.slice(kUsualShare * budget.remainingSeconds());
  ChainProof proof(model, std::move(counts), usual);
  if (!proof.suitable()) return {SolveEnd::kNotSuitable, ""};
  const bool chain = problem.modes.contiguity == Contiguity::kChain;
  const std::uint64_t most_pairs = budget.work_limit > 0 ? budget.work_limit * 1000 : UINT64_MAX;
  double upper = std::min(progress.bestValue(), proof.worstLoad());
  // Where there is a bound that costs about a second, only quick proofs go before it.
  const bool by_positions =
      PositionBound::accepts(model) && progress.bestPlan() != nullptr && most_pairs > kFirstPairs;
  ChainProof::Pass end = proof.below(upper, std::min(by_positions ? kQuickPairs : kFirstPairs, most_pairs));
  if (end == ChainProof::Pass::kCut && proof.hasChain()) {
    progress.plan(proof.plan(), kName);
    upper = std::min(upper, progress.bestValue());
  }
  if (end == ChainProof::Pass::kCut && by_positions && !usual.stopped()) {
    const std::size_t stages = model.pools[0].devices.size();
    const bool by_stages = boundByStages(model, stages, budget, progress);
    if (!by_stages) {
      const Budget share = usual.slice(kPositionShare * usual.remainingSeconds());
      const PositionBound positions(model, stages, upper, share);
      raiseBound(progress, kName, [&](double target) { return positions.refutes(target); });
    }
    if (progress.done()) {
      return {SolveEnd::kFinished, by_stages ? "smaller values refuted by chains of stages over ideals"
                                             : "smaller values refuted by minimum cuts along the work"};
    }
    upper = std::min(upper, progress.bestValue());
    end = proof.below(upper, kFirstPairs);
  }
  if (end == ChainProof::Pass::kCut && chain && !usual.stopped() && most_pairs > kFirstPairs) {
    end = proof.close(progress.bestBound(), upper, most_pairs,
                      [&](double bound) { progress.bound(bound, kName); });
  }
  const bool found = end == ChainProof::Pass::kFound;
  if (proof.hasChain()) progress.plan(proof.plan(), kName);
  if (end == ChainProof::Pass::kCut) return {usual.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
  if (!chain) return {SolveEnd::kFinished, ""};
  const bool none = !found && upper >= proof.worstLoad();
  if (!model.exact && !none) {
    progress.bound((found ? proof.value() : upper) * (1 - kChainEqual), kName);
    return {SolveEnd::kFinished, ""};
  }
  // A chain that the evaluator values otherwise proves nothing.
  if (found && !(progress.bestValue() <= proof.value() * (1 + 10 * kChainEqual)))
    return {SolveEnd::kFinished, ""};
  return {SolveEnd::kExhausted,
          fmt::format("every chain of stages below the value ruled out: {} states, {} pairs of ideals",
                      proof.ideals(), proof.pairs())};
}

}  // namespace allot
