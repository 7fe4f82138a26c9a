#include "solve/throughput/linear_dp.h"

#include <algorithm>
#include <array>

#include "base/thread_pool.h"
#include "solve/throughput/linear_dp_split.h"

namespace allot {
namespace {

using Kind = OrderRule::Kind;

// Items above which a dozen orders would take seconds.
constexpr std::size_t kLarge = 100'000;
// Items up to which further orders are tried.
constexpr std::size_t kSmall = 500;
constexpr std::size_t kMoreBatches = 8;
// Items below which a split takes no longer than to start a thread.
constexpr std::size_t kTiny = 150;
// Batches in a row without a better plan: the best of all orders is likely found.
constexpr std::size_t kPatience = 3;

}  // namespace

LinePlan bestSplit(const LineModel& model, std::span<const OrderRule> rules,
                   std::span<const std::uint32_t> stage_of, double cutoff, const Budget& budget) {
  std::vector<LinePlan> plans(rules.size());
  parallelFor(rules.size(), model.item_count < kTiny ? 1 : budget.threads, [&](std::size_t i) {
    if (budget.stopped()) return;
    const std::vector<std::uint32_t> order = makeOrder(model, rules[i], stage_of, budget);
    if (order.size() < model.item_count) return;
    plans[i] = splitLine(model, order, {.cutoff = cutoff, .sequence_seed = i}, budget);
  });
  const auto best = std::min_element(plans.begin(), plans.end(),
                                     [](const LinePlan& a, const LinePlan& b) { return a.value < b.value; });
  return best == plans.end() ? LinePlan{} : std::move(*best);
}

SolveResult solveLinearDp(const Problem& problem, const Budget& budget, Progress& progress) {
  if (lineModelBytes(problem) > static_cast<double>(budget.memory_bytes)) return {SolveEnd::kNotSuitable, ""};
  const LineModel model(problem);
  // Batches share a cut-off, so that the plan does not depend on which thread ends first. The first order is
  // a batch of its own, since without a cut-off splits are slow.
  constexpr std::size_t kBatch = 4;
  static constexpr std::array<OrderRule, 13> kRules{{{Kind::kGiven, false, 0, 0},
                                                     {Kind::kFrontier, false, 0, 0},
                                                     {Kind::kDepth, false, 0, 0},
                                                     {Kind::kFrontier, true, 0, 0},
                                                     {Kind::kDepth, true, 0, 0},
                                                     {Kind::kBreadth, false, 0, 0},
                                                     {Kind::kLevel, false, 0, 0},
                                                     {Kind::kBreadth, true, 0, 0},
                                                     {Kind::kLevel, true, 0, 0},
                                                     {Kind::kFrontier, false, 0.5, 1},
                                                     {Kind::kFrontier, true, 0.5, 2},
                                                     {Kind::kDepth, false, 1, 3},
                                                     {Kind::kDepth, true, 1, 4}}};
  const bool large = model.item_count > kLarge;
  const std::size_t rules = large ? 1 + kBatch : kRules.size();
  LinePlan best;
  std::size_t failures = 0;  // batches since the last better plan
  const auto improves = [&](std::span<const OrderRule> batch, std::span<const std::uint32_t> stage_of) {
    // Not below it by rounding alone.
    const double cutoff = (best.found() ? best.value : progress.bestValue()) * (1 - kOptimalGap);
    LinePlan found = bestSplit(model, batch, stage_of, cutoff, budget);
    ++failures;
    if (!found.found()) return false;
    failures = 0;
    progress.plan(model.toPlan(found), "linear-dp");
    best = std::move(found);
    return true;
  };
  const auto goesOn = [&] { return !progress.done() && !budget.stopped(); };
  for (std::size_t first = 0; first < rules && goesOn(); first += first == 0 ? 1 : kBatch) {
    // In haste any plan will do that a few orders give.
    if (static_cast<double>(first) > budget.patience * static_cast<double>(rules) &&
        progress.bestPlan() != nullptr)
      return {SolveEnd::kFinished, ""};
    improves(std::span(kRules).subspan(first, std::min(first == 0 ? 1 : kBatch, rules - first)), {});
  }
  if (!best.found() && progress.bestPlan() != nullptr) best = model.fromPlan(*progress.bestPlan());
  static constexpr std::array<OrderRule, kBatch> kInside{{{Kind::kFrontier, false, 0, 0},
                                                          {Kind::kFrontier, true, 0, 0},
                                                          {Kind::kDepth, false, 0, 0},
                                                          {Kind::kDepth, true, 0, 0}}};
  for (int round = 0; round < (large ? 2 : 8) && best.found() && goesOn(); ++round) {
    if (!improves(kInside, best.stage_of)) break;
  }
  // Orders of small models cost little: try some more, half of them inside the stages found.
  const std::size_t more = model.item_count > kSmall ? 0 : kMoreBatches;
  for (std::size_t round = 0; round < more && failures < kPatience && best.found() && goesOn(); ++round) {
    std::array<OrderRule, kBatch> batch = kInside;
    for (std::size_t i = 0; i < kBatch; ++i) {
      batch[i].noise = i % 2 == round % 4 / 2 ? 0.3 : 2;
      batch[i].seed = 5 + round * kBatch + i;
    }
    const std::vector<std::uint32_t> inside = round % 2 == 0 ? best.stage_of : std::vector<std::uint32_t>();
    improves(batch, inside);
  }
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace allot
