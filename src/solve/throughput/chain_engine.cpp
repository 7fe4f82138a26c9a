#include "solve/throughput/chain_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/throughput/chain_search.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {
namespace {

constexpr std::string_view kName = "chain";
constexpr std::size_t kMostUnits = 100'000;
// Pairs of the first try; about a tenth of a second.
constexpr std::uint64_t kFirstPairs = 4'000'000;
// A chain better by less than this share counts as equal: "optimal" allows a gap of 1e-9.
constexpr double kEqual = 1e-10;
constexpr double kRounding = 1e-12;

class ChainEngine {
 public:
  ChainEngine(const Problem& problem, const Budget& budget, Progress& progress)
      : problem_(problem),
        budget_(budget),
        progress_(progress),
        model_(problem, PipelineModel::Items::kBlocks) {
    model_.joinFreeItems(true);
    for (const Pool& pool : model_.pools) counts_.push_back(static_cast<std::uint32_t>(pool.devices.size()));
    by_parts_ = problem.modes.training_load == TrainingLoad::kMaxParts;
  }

  SolveResult run() {
    const ChainSearch search(model_, counts_);
    if (!search.suitable(budget_.memory_bytes)) return {SolveEnd::kNotSuitable, ""};
    search_ = &search;
    most_pairs_ = budget_.work_limit > 0 ? budget_.work_limit * 1000 : UINT64_MAX;
    double upper = std::min(progress_.bestValue(), worstLoad());
    if (below(upper, std::min(kFirstPairs, most_pairs_))) return done(upper);
    // Rising cut-offs: most of the work of a pass is lost when it fails, so they start low and double.
    const double lower = progress_.bestBound();
    for (double share = 1.0 / 32; share <= 1; share *= 2) {
      if (budget_.stopped()) return {SolveEnd::kStopped, ""};
      upper = std::min(progress_.bestValue(), worstLoad());
      const double cutoff = share >= 1 ? upper : lower + share * (upper - lower);
      if (!below(cutoff, most_pairs_))
        return {budget_.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
      if (found_ || share >= 1) return done(cutoff);
      progress_.bound(cutoff * (1 - kEqual), kName);
    }
    return {SolveEnd::kFinished, ""};
  }

 private:
  const Problem& problem_;
  const Budget& budget_;
  Progress& progress_;
  PipelineModel model_;
  const ChainSearch* search_ = nullptr;
  std::vector<std::uint32_t> counts_;
  bool by_parts_ = false;
  bool found_ = false;  // the last pass found a chain below its cut-off
  double value_ = 0;    // of that chain, in the model
  std::uint64_t most_pairs_ = 0, pairs_ = 0, ideals_ = 0;

  // More than any load can be.
  double worstLoad() const {
    double sum = std::accumulate(model_.send.begin(), model_.send.end(), 0.0) +
                 std::accumulate(model_.receive.begin(), model_.receive.end(), 0.0);
    for (const double seconds : model_.seconds) sum += seconds < kCannotRun ? seconds : 0;
    double sync = 0;
    const double weights = std::accumulate(model_.weights.begin(), model_.weights.end(), 0.0);
    for (const StageOption& option : search_->options()) sync = std::max(sync, option.sync(weights));
    return 2 * (sum + sync) + 1;
  }

  // Looks for the best chain below the cut-off; false when the pass was cut short.
  bool below(double cutoff, std::uint64_t max_pairs) {
    found_ = false;
    if (!by_parts_) {
      const ChainOutcome outcome = pass({cutoff * (1 - kEqual), 0, max_pairs});
      if (outcome.found) offer(outcome, outcome.value);
      return outcome.complete;
    }
    // The least rest under a falling limit on the forward load.
    double best = cutoff * (1 - kEqual), forward = best;
    for (;;) {
      const ChainOutcome outcome = pass({best, forward, max_pairs});
      if (!outcome.complete) return false;
      if (!outcome.found) return true;
      if (outcome.forward + outcome.value < best) {
        best = outcome.forward + outcome.value;
        offer(outcome, best);
      }
      forward = std::min(outcome.forward * (1 - kRounding), best - outcome.value);
    }
  }

  ChainOutcome pass(const ChainLimits& limits) {
    ChainOutcome outcome = search_->run(limits, budget_);
    pairs_ += outcome.pairs;
    ideals_ = std::max(ideals_, outcome.ideals);
    return outcome;
  }

  void offer(const ChainOutcome& outcome, double value) {
    found_ = true;
    value_ = value;
    progress_.plan(planOf(outcome), kName);
  }

  Plan planOf(const ChainOutcome& outcome) const {
    Plan plan;
    plan.modes = problem_.modes;
    std::vector<DeviceId> device_of_item(model_.itemCount());
    std::vector<std::size_t> taken(model_.poolCount(), 0);
    for (const ChainStage& stage : outcome.stages) {
      const StageOption& option = search_->options()[stage.option];
      PlanStage& made = plan.stages.emplace_back();
      // The first device must be of the pool whose costs were counted.
      const auto take = [&](std::size_t k, std::uint32_t count) {
        for (std::uint32_t r = 0; r < count; ++r) made.devices.push_back(model_.pools[k].devices[taken[k]++]);
      };
      take(option.pool, option.taken[option.pool]);
      for (std::size_t k = 0; k < model_.poolCount(); ++k) {
        if (k != option.pool) take(k, option.taken[k]);
      }
      for (const std::uint32_t item : stage.items) {
        device_of_item[item] = made.devices.front();
        for (const UnitId unit : model_.item_units[item]) {
          const auto ops = problem_.unitOps(unit);
          made.ops.insert(made.ops.end(), ops.begin(), ops.end());
        }
      }
    }
    plan.assignment = model_.assignment(device_of_item);
    return plan;
  }

  SolveResult done(double cutoff) {
    const bool none = !found_ && cutoff >= worstLoad();
    if (!model_.exact && !none) {
      progress_.bound((found_ ? value_ : cutoff) * (1 - kEqual), kName);
      return {SolveEnd::kFinished, ""};
    }
    // A chain that the evaluator values otherwise proves nothing.
    if (found_ && !(progress_.bestValue() <= value_ * (1 + 10 * kEqual))) return {SolveEnd::kFinished, ""};
    return {SolveEnd::kExhausted,
            fmt::format("every chain of stages below the value ruled out: {} states, {} pairs of ideals",
                        ideals_, pairs_)};
  }
};

}  // namespace

bool chainAccepts(const Problem& problem) {
  return problem.goal() == Goal::kThroughput && problem.modes.contiguity == Contiguity::kChain &&
         problem.unitCount() <= kMostUnits;
}

SolveResult solveChain(const Problem& problem, const Budget& budget, Progress& progress) {
  return ChainEngine(problem, budget, progress).run();
}

}  // namespace allot
