#include "solve/throughput/chain_proof.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace allot {
namespace {

// The first cut-off above a bound, as a share of it; later ones double.
constexpr double kFirstStep = 0.01;
// Passes that find some chain are fast, each begins below the last one's; after so many the best one is asked
// for.
constexpr int kMostDecisions = 8;
// Longer times, as a multiple of what the devices of a stage can be given, are no longer told apart.
constexpr double kFarAbove = 100;
// What is found far below a cut-off is looked for again just below this many times its value.
constexpr double kAgain = 1 + 1e-6;

}  // namespace

ChainProof::ChainProof(const PipelineModel& model, std::vector<std::uint32_t> counts, const Budget& budget)
    : model_(model),
      budget_(budget),
      counts_(std::move(counts)),
      limited_(model),
      limit_(std::numeric_limits<double>::infinity()),
      search_(std::make_unique<ChainSearch>(limited_, counts_)),
      crew_(std::max(1u, budget.threads)),
      work_bound_(search_->workBound()) {
  double sum = std::accumulate(model.send.begin(), model.send.end(), 0.0) +
               std::accumulate(model.receive.begin(), model.receive.end(), 0.0);
  for (const double seconds : model.seconds) sum += seconds < kCannotRun ? seconds : 0;
  for (const std::vector<double>* times : {&model.send, &model.receive, &model.seconds}) {
    for (const double seconds : *times) longest_ = std::max(longest_, seconds < kCannotRun ? seconds : 0);
  }
  const double weights = std::accumulate(model.weights.begin(), model.weights.end(), 0.0);
  double sync = 0;
  for (const StageOption& option : search_->options()) {
    sync = std::max(sync, option.sync(weights));
    most_replicas_ = std::max<double>(most_replicas_, option.replicas);
  }
  // Twice, because max-parts adds two loads.
  worst_load_ = 2 * (sum + sync) + 1;
}

ChainProof::Pass ChainProof::below(double cutoff, std::uint64_t max_pairs) {
  double best = cutoff * (1 - kChainEqual);
  Pass end = Pass::kNone;
  for (int round = 0; model_.problem->modes.training_load == TrainingLoad::kSum; ++round) {
    const bool any = round < kMostDecisions;
    ChainOutcome outcome = pass({.cutoff = best, .any = any, .max_pairs = max_pairs});
    if (!outcome.complete) return Pass::kCut;
    if (!outcome.found) return end;
    if (isFarBelow(outcome.traced)) {
      best = outcome.traced * kAgain;
      keep(std::move(outcome), outcome.traced);
      end = Pass::kFound;
      continue;
    }
    best = outcome.value * (1 - kChainEqual);
    keep(std::move(outcome), outcome.value);
    end = Pass::kFound;
    if (!any) return end;
  }
  for (double forward = best;;) {
    ChainOutcome outcome = pass({.cutoff = best, .forward_cutoff = forward, .max_pairs = max_pairs});
    if (!outcome.complete) return Pass::kCut;
    if (!outcome.found) return end;
    if (const double sum = outcome.forward + outcome.traced; isFarBelow(sum)) {
      best = forward = sum * kAgain;
      keep(std::move(outcome), sum);
      end = Pass::kFound;
      continue;
    }
    const double rest = outcome.value;
    forward = outcome.forward * (1 - kChainEqual);
    if (outcome.forward + rest < best) {
      best = outcome.forward + rest;
      keep(std::move(outcome), best);
      end = Pass::kFound;
    }
    forward = std::min(forward, best - rest);
  }
}

ChainProof::Pass ChainProof::close(double lower, double upper, std::uint64_t max_pairs,
                                   const std::function<void(double)>& on_bound) {
  for (double step = lower > 0 ? kFirstStep * lower : upper;; step *= 2) {
    const double cutoff = std::min(upper, lower + step);
    const Pass end = below(cutoff, max_pairs);
    if (end != Pass::kNone || cutoff >= upper) return end;
    on_bound(cutoff * (1 - kChainEqual));
    if (budget_.stopped()) return Pass::kCut;
  }
}

ChainOutcome ChainProof::pass(const ChainLimits& limits) {
  limitFor(std::max(limits.cutoff, limits.forward_cutoff));
  ChainOutcome outcome = search_->run(limits, budget_, crew_);
  pairs_ += outcome.pairs;
  ideals_ = std::max(ideals_, outcome.ideals);
  return outcome;
}

void ChainProof::limitFor(double cutoff) {
  // A load of this, shared by all replicas there can be, is too much.
  const double least = most_replicas_ * cutoff;
  if (least <= limit_ && std::min(limit_, longest_) <= kFarAbove * least) return;
  limited_ = model_;
  limit_ = std::sqrt(kFarAbove) * least;
  limited_.limitTimes(limit_);
  search_ = std::make_unique<ChainSearch>(limited_, counts_);
}

bool ChainProof::isFarBelow(double value) const {
  return std::min(limit_, longest_) > kFarAbove * most_replicas_ * value;
}

void ChainProof::keep(ChainOutcome&& outcome, double value) {
  value_ = value;
  stages_ = std::move(outcome.stages);
}

Plan ChainProof::plan() const {
  const Problem& problem = *model_.problem;
  Plan plan;
  plan.modes = problem.modes;
  std::vector<DeviceId> device_of_item(model_.itemCount());
  std::vector<std::size_t> taken(model_.poolCount(), 0);
  for (const ChainStage& stage : stages_) {
    const StageOption& option = search_->options()[stage.option];
    PlanStage& made = plan.stages.emplace_back();
    const auto take = [&](std::size_t k) {
      for (std::uint32_t r = 0; r < option.taken[k]; ++r)
        made.devices.push_back(model_.pools[k].devices[taken[k]++]);
    };
    // The first device must be of the pool whose costs were counted.
    take(option.pool);
    for (std::size_t k = 0; k < model_.poolCount(); ++k) {
      if (k != option.pool) take(k);
    }
    for (const std::uint32_t item : stage.items) {
      device_of_item[item] = made.devices.front();
      for (const UnitId unit : model_.item_units[item]) {
        const auto ops = problem.unitOps(unit);
        made.ops.insert(made.ops.end(), ops.begin(), ops.end());
      }
    }
  }
  plan.assignment = model_.assignment(device_of_item);
  return plan;
}

}  // namespace allot
