#include "solve/completion/completion_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "solve/completion/chain_beam.h"
#include "solve/completion/chain_model.h"
#include "solve/completion/model_orders.h"
#include "solve/completion/order_walk.h"
#include "solve/completion/pair_moves.h"
#include "solve/completion/price_search.h"
#include "solve/completion/window_moves.h"
#include "solve/local_search/local_search.h"

namespace allot {
namespace {

constexpr double kRounding = 1e-10;
constexpr std::size_t kFirstWidth = 16, kMostWidth = 8192;
constexpr std::uint64_t kFirstRounds = 5, kRounds = 40;
constexpr std::size_t kPairCap = 6;
constexpr std::uint64_t kOrders = 720;
constexpr std::uint64_t kVisits = 20'000'000;     // ops and edges visited by a walk
constexpr std::size_t kMemory = 200;              // steps that a walk looks back at first
constexpr std::uint64_t kWindowVisits = 250'000;  // that take as long, with what is kept for each
constexpr int kPatience = 16;                     // rounds without gain

// Counts work as plans under a work limit; without one there is always some left.
class Work {
 public:
  explicit Work(const Budget& budget) : limited_(budget.work_limit > 0), left_(budget.work_limit) {}
  bool left() const { return !limited_ || left_ > 0; }
  void take(std::uint64_t plans) { left_ -= std::min(left_, plans); }

 private:
  bool limited_;
  std::uint64_t left_;
};

SolveEnd searchChains(const Problem& problem, const ChainModel& model, const Budget& budget,
                      Progress& progress) {
  PriceSearch prices(problem, budget, progress);
  Work work(budget);
  std::size_t width = kFirstWidth;
  const bool pairs = model.link_mode == LinkMode::kFree && !model.hasLaunch() && model.chains.size() > 2;
  for (bool first = true; width <= kMostWidth && !progress.done() && work.left(); first = false) {
    if (!prices.run(first ? kFirstRounds : kRounds + width / 8)) return SolveEnd::kStopped;
    if (!prices.started()) break;
    if (!prices.priceAtBest()) return SolveEnd::kStopped;
    ChainBeam beam(model, prices);
    if (beam.run(width, progress.bestValue() * (1 - kRounding), budget)) {
      progress.plan(planOfChains(problem, model, beam.activities()), "completion-search");
      if (pairs && !improvePairs(problem, model, kPairCap, budget, progress)) return SolveEnd::kStopped;
    }
    if (budget.stopped()) return SolveEnd::kStopped;
    work.take(width);
    width *= 2;
  }
  return SolveEnd::kFinished;
}

// Rounds of small changes and, in turn with them, of parts planned anew, each from the best plan so far;
// after those without gain with more freedom on the way, now and then annealing. Live memory needs states
// that do not fit on the way: there all rounds are of annealing.
SolveEnd refine(const Problem& problem, const Budget& budget, Progress& progress) {
  const bool live = problem.modes.memory == MemoryModel::kLive;
  const std::size_t size = problem.opCount() + problem.graph.tensor_consumers.items.size();
  const std::uint64_t moves = budget.work_limit > 0
                                  ? budget.work_limit / kChains
                                  : std::clamp<std::uint64_t>(kVisits / (size + 1), 500, 100'000);
  int stale = 0;
  for (std::uint64_t round = 1; stale < kPatience && !progress.done() && progress.bestPlan() != nullptr;
       ++round) {
    const Plan start = *progress.bestPlan();
    const bool hot = live || stale % 4 == 3;
    const std::size_t memory = kMemory << (2 * (stale % 4));
    std::vector<WalkResult> results(kChains);
    parallelFor(kChains, budget.threads, [&](std::size_t chain) {
      if (budget.stopped()) {
        results[chain].value = std::numeric_limits<double>::infinity();
        return;
      }
      const std::uint64_t stream = round * kChains + chain;
      if (hot) {
        ChainResult result = annealSchedule(problem, budget, start, stream);
        results[chain] = {result.value, std::move(result.decisions)};
      } else if (round % 2 == 0 && budget.work_limit == 0) {
        results[chain] = improveWindows(problem, start, kWindowVisits, stream, budget);
      } else {
        results[chain] = walkOrders(problem, start, moves, memory, stream, budget);
      }
    });
    // By value, the earlier walk on a tie: the same report for any number of threads.
    std::stable_sort(results.begin(), results.end(),
                     [](const WalkResult& a, const WalkResult& b) { return a.value < b.value; });
    bool better = false;
    if (std::isfinite(results.front().value))
      better = progress.plan(std::move(results.front().decisions), "completion-search");
    stale = better ? 0 : stale + 1;
    if (budget.stopped()) return SolveEnd::kStopped;
    if (budget.work_limit > 0) break;
  }
  return SolveEnd::kFinished;
}

}  // namespace

bool completionSearchAccepts(const Problem& problem) {
  return problem.goal() == Goal::kCompletion;
}

SolveResult solveCompletionSearch(const Problem& problem, const Budget& budget, Progress& progress) {
  const bool priced = problem.opCount() <= PriceSearch::kMostOps;
  const std::optional<ChainModel> model = priced ? chainModelOf(problem) : std::nullopt;
  if (model) {
    const SolveEnd end = searchChains(problem, *model, budget, progress);
    // Without ports and memory nothing is left to try.
    if (end == SolveEnd::kStopped || (model->memory_is_free && model->link_mode == LinkMode::kFree))
      return {end, ""};
  }
  PriceSearch prices(problem, budget, progress);
  if (priced && !prices.run(kRounds)) return {SolveEnd::kStopped, ""};
  const std::uint64_t orders = budget.work_limit > 0 ? std::min(kOrders, 1 + budget.work_limit / 8) : kOrders;
  if (!searchModelOrders(problem, prices, orders, budget, progress)) return {SolveEnd::kStopped, ""};
  return {refine(problem, budget, progress), ""};
}

}  // namespace allot
