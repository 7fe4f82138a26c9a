#include "solve/latency/search.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/thread_pool.h"
#include "problem/calls_model.h"
#include "solve/baselines/list_schedule.h"
#include "solve/latency/elite.h"
#include "solve/latency/search_modules.h"
#include "solve/latency/search_windows.h"
#include "solve/latency/serial_place.h"
#include "solve/latency/window_resolve.h"
#include "solve/packing.h"

namespace allot {
namespace {

constexpr std::string_view kName = "schedule-search";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kChains = 4, kPool = 6, kStarts = 12;
constexpr std::uint64_t kFirstMoves = 20;    // by op, in the first round of annealing
constexpr std::uint32_t kPatience = 7;       // rounds without a better plan
constexpr std::size_t kListLimit = 100'000;  // ops up to which list schedulers are run again for their orders
constexpr std::size_t kWindowsFrom = 5'000;  // ops from which the search goes window by window
// Placements for tight memory: runs, moves of each by op and in all, share of the time of each.
constexpr std::uint64_t kSerialRuns = 2, kSerialMoves = 300, kMostSerialMoves = 1'000'000;
constexpr double kSerialShare = 0.15;
constexpr double kFarStart = 1.2;  // where memory binds, starts this much longer than the best are left out
constexpr double kMostResolve = 3, kLeastResolve = 0.1;  // work on parts, in that of annealing one chain
constexpr double kStartShare = 0.4;                      // of the time, at most, for the first round
constexpr double kHottest = 0.01;  // of one chain in every other round: out of what the starts have in common
constexpr std::array kPrices{0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0};
constexpr std::array kPortPrices{0.0, 1.0, 4.0};
constexpr std::array<std::string_view, 5> kLists{"heft", "peft", "cpop", "min-eft", "etf"};

// Takes down what a list scheduler decides.
class Listener : public Progress {
 public:
  bool plan(Plan decisions, std::string_view) override {
    plans.push_back(std::move(decisions));
    return false;
  }
  void bound(double, std::string_view) override {}
  double bestValue() const override { return kInfinity; }
  double bestBound() const override { return 0; }
  const Plan* bestPlan() const override { return nullptr; }
  bool done() const override { return false; }

  std::vector<Plan> plans;
};

class ScheduleSearch {
 public:
  ScheduleSearch(const Problem& problem, const Budget& budget, Progress& progress)
      : problem_(problem),
        budget_(budget),
        progress_(progress),
        model_(problem),
        memory_binds_(problem.modes.memory == MemoryModel::kStatic && !model_.memoryNeverBinds()),
        range_{0, static_cast<std::uint32_t>(model_.opCount()), false, true, timeGrid(model_)},
        scratch_(model_, range_),
        recorder_(model_),
        pool_(kPool) {}

  SolveResult run() {
    if (model_.opCount() == 0) return {SolveEnd::kFinished, ""};
    if (const PackingEnd packed = collectStarts(); packed != PackingEnd::kFound) {
      if (packed == PackingEnd::kNone)
        return {SolveEnd::kExhausted, "no assignment fits the memory of the devices"};
      return {SolveEnd::kStopped, ""};
    }
    rankStarts();
    if (memory_binds_) {
      addPlacements();
      rankStarts();
    }
    const std::vector<std::uint32_t> barriers = scheduleBarriers(model_);
    if (decomposes(barriers)) {
      Sequence best;
      const ModuleSearchEnd end = searchModules(model_, barriers, starts_.front(), budget_,
                                                [&](const Sequence& sequence) { report(sequence); });
      moves_ += end.moves;
      return {end.by_clock ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
    }
    if (model_.opCount() >= kWindowsFrom && problem_.modes.memory == MemoryModel::kStatic) {
      const WindowSearchEnd end = searchWindows(model_, range_, starts_.front(), budget_,
                                                [&](const Sequence& sequence) { report(sequence); });
      return {end.by_clock ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
    }
    rounds();
    return {by_clock_ ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
  }

 private:
  const Problem& problem_;
  const Budget& budget_;
  Progress& progress_;
  ScheduleModel model_;
  bool memory_binds_;
  SearchRange range_;
  Neighbourhood scratch_;
  Decoder recorder_;
  ElitePool pool_;
  std::vector<Sequence> starts_;  // the best plan so far first
  std::uint64_t moves_ = 0;
  bool by_clock_ = false;

  bool report(const Sequence& sequence) {
    return progress_.plan(planOf(model_, recorder_.record(sequence)), kName);
  }

  bool fits(const Sequence& sequence) {
    scratch_.begin(sequence);
    return scratch_.overflow() == 0;
  }

  // The best start goes first and is reported: list schedules are worth more when the decoder orders their
  // transfers. Only the best few are kept, besides the first, which fits the memory.
  void rankStarts() {
    std::vector<std::pair<double, std::size_t>> ranked;
    for (std::size_t i = 0; i < starts_.size() && (i == 0 || !budget_.stopped()); ++i)
      ranked.emplace_back(recorder_.reset(starts_[i]), i);
    std::sort(ranked.begin(), ranked.end());
    const auto fitting = std::find_if(ranked.begin(), ranked.end(),
                                      [&](const auto& entry) { return fits(starts_[entry.second]); });
    if (fitting != ranked.end()) std::rotate(ranked.begin(), fitting, fitting + 1);
    std::vector<Sequence> kept;
    for (const auto& [value, i] : ranked) {
      const Sequence& start = starts_[i];
      const bool known = std::any_of(kept.begin(), kept.end(),
                                     [&](const Sequence& other) { return other.device == start.device; });
      const bool hopeless = memory_binds_ && (!fits(start) || value > kFarStart * ranked.front().first);
      if (kept.empty() || (kept.size() < kStarts && !known && !hopeless)) kept.push_back(start);
    }
    starts_ = std::move(kept);
    report(starts_.front());
  }

  // Placements of least total time that fit, from the best start on.
  void addPlacements() {
    const MemoryPrices prices(model_, budget_);
    const std::uint64_t moves = std::min(kSerialMoves * model_.opCount(), kMostSerialMoves);
    for (std::uint64_t run = 0; run < kSerialRuns && !budget_.stopped(); ++run) {
      const Budget part = budget_.slice(budget_.remainingSeconds() * kSerialShare);
      Random random(budget_.seed, 2000 + run);
      starts_.push_back(SerialPlacer(model_, range_, prices).run(starts_.front(), moves, part, random));
    }
  }

  bool decomposes(const std::vector<std::uint32_t>& barriers) const {
    std::uint32_t largest = 0, first = 0;
    for (const std::uint32_t barrier : barriers) {
      largest = std::max(largest, barrier - first);
      first = barrier;
    }
    largest = std::max(largest, range_.last - first);
    return !barriers.empty() && 2 * largest <= range_.last;
  }

  void addStart(const Plan& plan) {
    if (plan.assignment.size() != model_.opCount() || plan.start.size() != model_.opCount()) return;
    Sequence sequence;
    std::vector<double> start;
    for (const OpId op : model_.op_id) {
      sequence.device.push_back(plan.assignment[op.index()].value);
      start.push_back(plan.start[op.index()]);
    }
    sequence.setOrder(scratch_.orderBy(start));
    starts_.push_back(std::move(sequence));
  }

  // Longest way behind each op on its best devices, so that an order by it is a good one for any devices.
  std::vector<std::uint32_t> pathOrder() const {
    std::vector<double> key(model_.opCount(), 0);
    for (std::size_t op = model_.opCount(); op-- > 0;) {
      double fastest = kInfinity;
      for (std::size_t d = 0; d < model_.devices; ++d) fastest = std::min(fastest, model_.time(op, d));
      for (const std::uint32_t reader : model_.after[op]) key[op] = std::min(key[op], key[reader]);
      key[op] -= fastest;
    }
    return scratch_.orderBy(key);
  }

  // List schedules by least finish plus a price for what an op costs above its least: a device that is free a
  // little sooner is not worth much more of its time, nor memory that others need more.
  void addPricedLists(const MemoryPrices& prices) {
    std::vector<double> rank(model_.opCount(), 0);
    for (std::size_t i = model_.opCount(); i-- > 0;) {
      const std::size_t op = model_.op_id[i].index();
      double fastest = kInfinity;
      for (std::size_t d = 0; d < model_.devices; ++d) fastest = std::min(fastest, model_.time(i, d));
      for (const std::uint32_t reader : model_.after[i])
        rank[op] = std::max(rank[op], rank[model_.op_id[reader].index()]);
      rank[op] += fastest;
    }
    for (const double price : kPrices) {
      baseline::ListOutcome outcome = baseline::scheduleList(
          problem_, budget_, [&](OpId op, double) { return -rank[op.index()]; },
          [&](OpId op, DeviceId device, double finish) {
            return finish + price * prices.excess(problem_.unit(op).index(), device.index());
          });
      if (outcome.plan) addStart(*outcome.plan);
    }
  }

  PackingEnd collectStarts() {
    if (progress_.bestPlan() != nullptr) addStart(*progress_.bestPlan());
    const std::vector<std::uint32_t> order = pathOrder();
    if (starts_.empty()) {
      Packing packing = pack(problem_, budget_);
      if (packing.end != PackingEnd::kFound) return packing.end;
      Sequence sequence;
      for (const OpId op : model_.op_id) sequence.device.push_back(packing.assignment[op.index()].value);
      sequence.setOrder(order);
      starts_.push_back(std::move(sequence));
      report(starts_.front());
    }
    // One device for all that can run there: the best of them.
    Sequence single;
    double single_value = kInfinity;
    for (std::uint32_t d = 0; d < model_.devices; ++d) {
      Sequence sequence;
      sequence.device.assign(model_.opCount(), d);
      for (std::size_t op = 0; op < model_.opCount(); ++op) {
        // Elsewhere only what cannot run here; all ops of a unit run on the same devices.
        for (std::uint32_t e = 0; e < model_.devices && !model_.runs(op, sequence.device[op]); ++e)
          sequence.device[op] = e;
      }
      sequence.setOrder(order);
      if (const double value = recorder_.reset(sequence); value < single_value || single.order.empty()) {
        single_value = value;
        single = std::move(sequence);
      }
    }
    starts_.push_back(std::move(single));
    if (model_.opCount() <= kListLimit) {
      for (const std::string_view name : kLists) {
        const Solver* solver = findSolver(name);
        Listener listener;
        if (solver == nullptr || !solver->accepts(problem_) || budget_.stopped()) continue;
        solver->solve(problem_, budget_, listener);
        for (const Plan& plan : listener.plans) addStart(plan);
      }
    }
    const MemoryPrices prices(model_, budget_);
    if (model_.opCount() <= kListLimit) addPricedLists(prices);
    if (model_.link_mode != LinkMode::kFree) {
      for (const double price : kPortPrices) {
        Sequence sequence;
        sequence.setOrder(order);
        if (recorder_.greedy(sequence, price, prices, budget_)) starts_.push_back(std::move(sequence));
      }
    }
    return PackingEnd::kFound;
  }

  struct Task {
    Sequence start;
    AnnealPlan plan;
    bool ports = true;     // false: first as if transfers did not wait for each other
    bool resolve = false;  // parts of what was annealed are solved again
  };

  // True when a better plan was found.
  bool runRound(std::vector<Task> tasks, std::uint32_t round) {
    std::vector<AnnealResult> results(tasks.size());
    std::vector<double> annealed(tasks.size(), kInfinity);
    const double began = budget_.elapsedSeconds();
    if (budget_.work_limit > 0) {
      std::uint64_t planned = 0;
      for (const Task& task : tasks) planned += task.plan.moves;
      const std::uint64_t left = budget_.work_limit - std::min(budget_.work_limit, moves_);
      if (planned > left) {
        for (Task& task : tasks)
          task.plan.moves =
              static_cast<std::uint64_t>(static_cast<double>(task.plan.moves) * static_cast<double>(left) /
                                         static_cast<double>(planned));
      }
    }
    parallelFor(tasks.size(), budget_.threads, [&](std::size_t i) {
      Task& task = tasks[i];
      if (budget_.stopped()) return;
      Random random(budget_.seed, (std::uint64_t{round} << 20) + i);
      if (!task.ports) {
        SearchRange free = range_;
        free.ports = false;
        AnnealPlan ahead = task.plan;
        ahead.hot = 0.003;
        AnnealResult result = Annealer(model_, free).run(std::move(task.start), ahead, budget_, random);
        if (!(result.value < kInfinity)) return;
        task.start = std::move(result.sequence);
      }
      AnnealPlan plan = task.plan;
      if (task.resolve) plan.seconds /= 1 + resolve_share_;
      results[i] = Annealer(model_, range_).run(std::move(task.start), plan, budget_, random);
      annealed[i] = results[i].value;
      if (!task.resolve || !(annealed[i] < kInfinity)) return;
      WindowResolver resolver(model_, range_);
      const double states = resolve_share_ * static_cast<double>(plan.moves) * statesLikeMove();
      const double seconds = plan.seconds < kInfinity ? task.plan.seconds - plan.seconds : kInfinity;
      results[i].value = resolver.improve(results[i].sequence, static_cast<std::uint64_t>(states),
                                          budget_.slice(seconds), random);
      results[i].moves += resolver.states();
    });
    if (tasks.front().resolve) shareOut(*std::min_element(annealed.begin(), annealed.end()), results);
    std::size_t best = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      moves_ += results[i].moves;
      if (results[i].value < kInfinity) pool_.add(results[i].value, results[i].sequence);
      if (results[i].value < results[best].value) best = i;
    }
    seconds_per_round_ = budget_.elapsedSeconds() - began;
    if (budget_.stopped()) by_clock_ = true;
    return results[best].value < kInfinity && report(results[best].sequence);
  }

  double seconds_per_round_ = 0;
  double resolve_share_ = 1;  // work on parts that are solved again, in that of annealing

  // A move costs a pass over a part of the schedule, a partial schedule one over the devices of a window.
  double statesLikeMove() const {
    return static_cast<double>(model_.opCount()) / static_cast<double>(20 * model_.devices * model_.devices);
  }

  // More for what gained more in this round: annealing, or the parts that were solved again after it.
  void shareOut(double annealed, const std::vector<AnnealResult>& results) {
    double resolved = annealed;
    for (const AnnealResult& result : results) resolved = std::min(resolved, result.value);
    const double by_annealing = pool_[0].value - annealed;
    const double factor = annealed - resolved > resolve_share_ * by_annealing ? 2 : 0.5;
    resolve_share_ = std::clamp(resolve_share_ * factor, kLeastResolve, kMostResolve);
  }

  void rounds() {
    std::uint64_t moves = kFirstMoves * model_.opCount();
    std::vector<Task> tasks;
    for (const Sequence& start : starts_) tasks.push_back({start, {moves, 0.0005, 1e-5, kInfinity}});
    if (model_.link_mode != LinkMode::kFree) {
      tasks.push_back({starts_.front(), {moves, 0.0005, 1e-5, kInfinity}, false});
      tasks.push_back({starts_.back(), {moves, 0.0005, 1e-5, kInfinity}, false});
    }
    // Where time is short, what lies behind the first round counts more than long runs from every start.
    const double turns = static_cast<double>((tasks.size() + budget_.threads - 1) / budget_.threads);
    for (Task& task : tasks) task.plan.seconds = budget_.remainingSeconds() * kStartShare / turns;
    runRound(std::move(tasks), 0);
    std::uint32_t idle = 0;
    for (std::uint32_t round = 1; idle < kPatience && !by_clock_ && pool_.size() > 0; ++round, moves *= 2) {
      if (progress_.done() || (budget_.work_limit > 0 && moves_ >= budget_.work_limit)) return;
      tasks.clear();
      // A round that the clock would cut short is cooled by the clock.
      double seconds = kInfinity;
      const double chain_turns = static_cast<double>((kChains + budget_.threads - 1) / budget_.threads);
      if (round > 1 && 2 * seconds_per_round_ > budget_.remainingSeconds() * 0.9)
        seconds = budget_.remainingSeconds() * 0.98 / chain_turns;
      Random random(budget_.seed, (std::uint64_t{round} << 20) + 1000);
      for (std::size_t chain = 0; chain < kChains; ++chain) {
        const std::size_t member = chain % pool_.size();
        Sequence start = pool_[member].sequence;
        if (chain + 1 == kChains && pool_.size() > 1) {
          const std::size_t other = 1 + random.below(static_cast<std::uint32_t>(pool_.size() - 1));
          start = relink(model_, pool_[0].sequence, pool_[other].sequence, random);
        }
        constexpr std::array<double, kChains> kHot{0.0005, 0.002, 0.001, 0.0005};
        tasks.push_back({std::move(start),
                         {moves, chain == 2 && round % 2 == 1 ? kHottest : kHot[chain], 1e-5, seconds},
                         true,
                         chain == 0 && WindowResolver::applies(model_)});
      }
      idle = runRound(std::move(tasks), round) ? 0 : idle + 1;
      if (seconds < kInfinity) by_clock_ = true;
    }
  }
};

}  // namespace

bool scheduleSearchAccepts(const Problem& problem) {
  return problem.goal() == Goal::kLatency && !isCallsModel(problem);
}

SolveResult solveScheduleSearch(const Problem& problem, const Budget& budget, Progress& progress) {
  return ScheduleSearch(problem, budget, progress).run();
}

}  // namespace allot
