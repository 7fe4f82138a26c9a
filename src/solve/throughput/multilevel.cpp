#include "solve/throughput/multilevel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"
#include "base/thread_pool.h"
#include "solve/throughput/chain_refine.h"
#include "solve/throughput/linear_dp.h"
#include "solve/throughput/linear_dp_split.h"

namespace allot {
namespace {

using Kind = OrderRule::Kind;

// On smaller graphs time is enough for moves that rearrange all stages.
constexpr std::size_t kLarge = 100'000;
// A level is this many times smaller than the one below it; the top has about kTop items.
constexpr double kShrink = 8;
constexpr std::size_t kTop = 300;
// Of the time that is left, at most, on a level that is not the finest.
constexpr double kCoarseShare = 0.3;
// A new start may be this many times worse than the best plan.
constexpr double kFreshLoss = 1.2;
// Rounds without gain after which the search ends.
constexpr std::size_t kIdleRounds = 4, kStuckRounds = 2;
// Share of moves that are taken at first: nearly all, so that the plan is made anew, or fewer, so that it
// keeps more of its shape. What coarser levels find would be lost on warm ones, and where there are few
// moves for each item, the plan itself.
constexpr double kHot = 0.9, kWarm = 0.4, kCold = 0.1;
// Tasks of a round: two from the best plan, two from another one, and a cold one, whose moves are fewer.
constexpr std::array<double, 5> kAcceptance{kHot, kWarm, kHot, kWarm, kCold};
constexpr std::size_t kApart = 2, kApartEnd = 4;
// Rounds take more and more moves: short borders between stages need slow cooling.
constexpr double kGrowth = 4, kMostEffort = 64, kMostColdEffort = 8;
constexpr double kNetVisits = 2e7;

// By item: the run of `order` that it is in. Runs hold about equal work, and items of one stage each.
struct Runs {
  std::vector<std::uint32_t> part;
  std::vector<std::uint32_t> stage_of;  // by run
};

Runs cutRuns(const LineModel& model, std::span<const std::uint32_t> order,
             std::span<const std::uint32_t> stage_of, std::size_t count) {
  Runs runs;
  runs.part.resize(model.item_count);
  const double share_work = model.total_work > 0 ? 0.5 / model.total_work : 0;
  const double share_item = (share_work > 0 ? 0.5 : 1.0) / static_cast<double>(model.item_count);
  const double most = 1.0 / static_cast<double>(count);
  double filled = 0;
  for (const std::uint32_t item : order) {
    const double share = share_work * model.work[item] + share_item;
    if (runs.stage_of.empty() || runs.stage_of.back() != stage_of[item] || filled + share > most) {
      runs.stage_of.push_back(stage_of[item]);
      filled = 0;
    }
    filled += share;
    runs.part[item] = static_cast<std::uint32_t>(runs.stage_of.size() - 1);
  }
  return runs;
}

class Cycle {
 public:
  // A share `acceptance` of the moves is taken at first; all moves end within `seconds`.
  Cycle(const Budget& budget, std::uint64_t seed, double acceptance, double effort, double seconds)
      : budget_(budget),
        random_(seed, 21),
        acceptance_(acceptance),
        effort_(effort),
        end_(budget.elapsedSeconds() + seconds) {}

  // A start of its own, to get away from the best plan; that plan where there is none nearly as good.
  LinePlan fresh(const LineModel& model, const LinePlan& best) {
    const std::vector<std::uint32_t> order = makeOrder(model, randomRule(), {}, budget_);
    if (order.size() < model.item_count) return best;
    LinePlan plan = splitLine(model, order,
                              {.cutoff = kFreshLoss * best.value, .sequence_seed = random_.next()}, budget_);
    return plan.found() ? plan : best;
  }

  // On all levels.
  LinePlan run(const LineModel& model, LinePlan plan, double share = 1) {
    if (model.item_count > 2 * kTop && !budget_.stopped()) {
      const std::vector<std::uint32_t> order = makeOrder(model, randomRule(), plan.stage_of, budget_);
      if (order.size() < model.item_count) return plan;
      const auto count = static_cast<std::size_t>(
          std::max<double>(kTop, std::round(static_cast<double>(model.item_count) / kShrink)));
      const Runs runs = cutRuns(model, order, plan.stage_of, count);
      LinePlan above;
      above.stage_of = runs.stage_of;
      above.stages = plan.stages;
      above.value = plan.value;
      if (!budget_.stopped()) {
        const LineModel coarse = model.coarser(runs.part, runs.stage_of.size());
        above = run(coarse, std::move(above), kCoarseShare);
      }
      plan.stages = above.stages;
      plan.value = above.value;
      for (std::size_t i = 0; i < model.item_count; ++i) plan.stage_of[i] = above.stage_of[runs.part[i]];
    }
    if (budget_.stopped()) return plan;
    return polish(model, std::move(plan), share);
  }

  // On one level, with a share of the time that is left.
  LinePlan polish(const LineModel& model, LinePlan plan, double share = 1) {
    RefineOptions options;
    const auto items = static_cast<double>(model.item_count);
    const double most =
        std::clamp(40 * items, std::min(1e5, 500 * items), model.item_count > kLarge ? 1.5e6 : 4e6);
    // A move costs as much as its item has nets: many on coarse levels.
    const double nets = static_cast<double>(model.net_items.items.size()) / items;
    options.moves = static_cast<std::uint64_t>(effort_ * std::min(most, kNetVisits / std::max(1.0, nets)));
    options.first_acceptance = model.item_count > kLarge ? kCold : acceptance_;
    options.seconds = share * (end_ - budget_.elapsedSeconds());
    options.seed = random_.next();
    if (refineFits(model, plan.stages.size(), static_cast<double>(budget_.memory_bytes) / 4))
      plan = refineChain(model, std::move(plan), options, budget_);
    // Stage by stage in a new order, then cut at best.
    const OrderRule rule = randomRule();
    const std::vector<std::uint32_t> order = makeOrder(model, rule, plan.stage_of, budget_);
    if (order.size() < model.item_count) return plan;
    LinePlan split = splitLine(model, order, {.cutoff = plan.value, .sequence_seed = rule.seed}, budget_);
    return split.found() ? split : plan;
  }

 private:
  const Budget& budget_;
  Random random_;
  double acceptance_, effort_, end_;

  OrderRule randomRule() {
    static constexpr std::array<Kind, 3> kKinds{Kind::kFrontier, Kind::kDepth, Kind::kFrontier};
    OrderRule rule;
    rule.kind = kKinds[random_.below(kKinds.size())];
    rule.backwards = random_.below(2) == 0;
    rule.noise = 1;
    rule.seed = random_.next();
    return rule;
  }
};

bool isApart(std::size_t task) {
  return kApart <= task && task < kApartEnd;
}

}  // namespace

SolveResult solveMultilevel(const Problem& problem, const Budget& budget, Progress& progress) {
  if (lineModelBytes(problem) > static_cast<double>(budget.memory_bytes)) return {SolveEnd::kNotSuitable, ""};
  const LineModel model(problem);
  const bool large = model.item_count > kLarge;
  const std::size_t tasks = large ? 2 : kAcceptance.size();
  const std::size_t rounds = large ? 4 : 30;
  LinePlan best;
  if (progress.bestPlan() != nullptr) best = model.fromPlan(*progress.bestPlan());
  if (!best.found()) {
    static constexpr std::array<OrderRule, 2> kRules{
        {{Kind::kFrontier, false, 0, 0}, {Kind::kDepth, false, 0, 0}}};
    best = bestSplit(model, kRules, {}, std::numeric_limits<double>::infinity(), budget);
    if (!best.found()) return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
    progress.plan(model.toPlan(best), "multilevel");
  }
  // Under a work limit tried moves are counted, as many for a round as its finest levels take.
  const auto round_work = static_cast<double>(tasks) * 40 * static_cast<double>(model.item_count);
  const double most_work = budget.work_limit == 0 ? std::numeric_limits<double>::infinity()
                                                  : static_cast<double>(budget.work_limit);
  double work = 0;
  // Beside the best plan another one grows up on tasks of its own, begun anew whenever it gets stuck.
  LinePlan other;
  std::size_t idle = 0, other_idle = 0;
  for (std::size_t round = 0; round < rounds && idle < kIdleRounds && work <= most_work && !progress.done();
       ++round) {
    if (budget.stopped()) return {SolveEnd::kStopped, ""};
    const double effort = large ? 1
                          : budget.turn > 0
                              ? kMostEffort
                              : std::min(kMostEffort, std::pow(kGrowth, static_cast<double>(round)));
    work += effort * round_work;
    const double seconds =
        large ? std::numeric_limits<double>::infinity()
              : budget.remainingSeconds() / std::ceil(static_cast<double>(kApartEnd) / budget.threads);
    std::vector<LinePlan> found(tasks);
    parallelFor(tasks, budget.threads, [&](std::size_t t) {
      const double acceptance = kAcceptance[t];
      const bool cold = acceptance == kCold;
      const std::uint64_t seed = budget.seed * 1'000'003 + budget.turn * 10'007 + round * tasks + t;
      Cycle cycle(budget, seed, acceptance, cold ? std::min(kMostColdEffort, effort) : effort, seconds);
      LinePlan start = !isApart(t) ? best : other.found() ? other : cycle.fresh(model, best);
      found[t] = cold || large ? cycle.run(model, std::move(start)) : cycle.polish(model, std::move(start));
    });
    ++idle;
    ++other_idle;
    for (std::size_t t = 0; t < tasks; ++t) {
      if (isApart(t) && (!other.found() || found[t].value < other.value)) {
        other = found[t];
        other_idle = 0;
      }
      if (!(found[t].value < best.value)) continue;
      idle = 0;
      best = std::move(found[t]);
    }
    if (idle == 0) progress.plan(model.toPlan(best), "multilevel");
    if (other_idle >= kStuckRounds || other.value <= best.value) other = {};
  }
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace allot
