#include "solve/throughput/free_search.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/thread_pool.h"
#include "solve/throughput/free_search_polish.h"
#include "solve/throughput/linear_dp.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kWalksOfALength = 8;
constexpr std::size_t kElites = 8;
constexpr double kSame = 1e-12;                                   // values closer than this are one elite
constexpr std::uint64_t kMostMoves = 800'000;                     // of a walk
constexpr std::uint64_t kFirstPerItem = 30, kFirstMoves = 5'000;  // of one in haste
constexpr double kIdleMovesPerItem = 1e5, kMostIdleMoves = 3e7;   // without a better plan, until it gives up
constexpr std::uint64_t kLeastMoves = 100;  // a walk shorter than this is not worth its start
constexpr double kGrowth = 1.3;             // of a walk's moves

}  // namespace

FreeSearch::FreeSearch(const PipelineModel& model, const Budget& budget, Progress& progress)
    : model_(model),
      budget_(budget),
      progress_(progress),
      ground_(model),
      walk_moves_(budget.patience < 1
                      ? std::min(kFirstPerItem * model.itemCount(), kFirstMoves) << 2 * budget.turn
                      : kMostMoves / 2) {
  // Every item where it runs fastest: the walks mend balance and memory.
  fresh_.resize(model.itemCount());
  for (std::size_t i = 0; i < model.itemCount(); ++i) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < model.poolCount(); ++k) {
      if (model.time(i, k) < model.time(i, best)) best = k;
    }
    fresh_[i] = static_cast<Place>(model.pools[best].devices.front().index());
  }
}

void FreeSearch::takeBestPlan() {
  const Plan* plan = progress_.bestPlan();
  if (plan == nullptr || (!elites_.empty() && progress_.bestValue() >= elites_.front().value * (1 - kSame)))
    return;
  FreeOutcome start;
  for (const DeviceId device : model_.devicesOf(plan->assignment))
    start.places.push_back(static_cast<Place>(device.index()));
  // Units that were joined may be apart in that plan, so its value can differ here.
  NetState state(model_);
  state.assign(start.places);
  for (std::uint32_t i = 0; i < model_.itemCount(); ++i) {
    if (!state.runs(i, start.places[i])) return;
  }
  start.value = state.overflow() > 0 ? kInfinity : state.value();
  keep(std::move(start));
}

// Devices of one pool have no names: those of `b` are renamed to agree with `a` as far as a greedy matching
// goes. Then each item where they differ follows `a` or `b`, together with the items tied to it.
std::vector<Place> FreeSearch::mixture(const Elite& a, const Elite& b, Random& random) const {
  const std::size_t devices = ground_.devices;
  std::vector<double> common(devices * devices, 0);
  for (std::size_t i = 0; i < model_.itemCount(); ++i) {
    double least = kInfinity;
    for (std::size_t k = 0; k < model_.poolCount(); ++k) least = std::min(least, model_.time(i, k));
    common[a.places[i] * devices + b.places[i]] += least;
  }
  std::vector<std::uint32_t> pool(devices);
  for (std::uint32_t k = 0; k < model_.poolCount(); ++k) {
    for (const DeviceId device : model_.pools[k].devices) pool[device.index()] = k;
  }
  std::vector<std::uint32_t> pairs(devices * devices);
  std::iota(pairs.begin(), pairs.end(), 0u);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](std::uint32_t x, std::uint32_t y) { return common[x] > common[y]; });
  std::vector<std::uint8_t> taken(devices, 0);
  constexpr Place kNone = std::numeric_limits<Place>::max();
  std::vector<Place> name(devices, kNone);
  for (const std::uint32_t pair : pairs) {
    const std::size_t at_a = pair / devices, at_b = pair % devices;
    if (taken[at_a] || name[at_b] != kNone || pool[at_a] != pool[at_b]) continue;
    taken[at_a] = 1;
    name[at_b] = static_cast<Place>(at_a);
  }
  std::vector<Place> mixed = a.places;
  std::vector<std::uint8_t> decided(mixed.size(), 0);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t first = 0; first < mixed.size(); ++first) {
    if (decided[first]) continue;
    const bool follow = random.below(2) == 0;
    stack.assign(1, first);
    decided[first] = 1;
    while (!stack.empty()) {
      const std::uint32_t item = stack.back();
      stack.pop_back();
      if (follow) mixed[item] = name[b.places[item]];
      for (const std::uint32_t net : model_.item_nets[item]) {
        for (const std::uint32_t other : model_.net_items[net]) {
          if (decided[other] || name[b.places[other]] != name[b.places[item]] ||
              a.places[other] != a.places[item])
            continue;
          decided[other] = 1;
          stack.push_back(other);
        }
      }
    }
  }
  return mixed;
}

FreeWalk FreeSearch::plan(std::uint64_t number) {
  const std::uint64_t stream = (std::uint64_t{budget_.turn} << 32) + number;
  Random random(budget_.seed, (std::uint64_t{1} << 40) + stream);
  FreeWalk walk;
  walk.stream = stream + 1;
  walk.moves = walk_moves_;
  walk.first_power = 2 + random.below(2);
  walk.last_power = 5 + random.below(6);
  walk.cold = 1e-5 * std::pow(1e-3, random.unit());
  const std::uint32_t kind = elites_.empty() ? 0 : static_cast<std::uint32_t>(number % 4);
  if (kind == 0) {
    walk.hot = 0.05 * std::pow(0.1, random.unit());
    walk.cold = 1e-5 * std::pow(0.1, random.unit());
    walk.start = elites_.empty() || random.below(2) == 0 ? fresh_ : elites_.front().places;
  } else if (kind == 1 && elites_.size() > 1) {
    const std::uint32_t count = static_cast<std::uint32_t>(elites_.size());
    const std::uint32_t a = random.below(count), b = (a + 1 + random.below(count - 1)) % count;
    walk.hot = 1e-2 * std::pow(1e-2, random.unit());
    walk.start = mixture(elites_[a], elites_[b], random);
  } else {
    const std::uint32_t pick = random.below(static_cast<std::uint32_t>(elites_.size()));
    walk.hot = 1e-2 * std::pow(1e-3, random.unit());
    walk.first_power += random.below(5);
    walk.last_power = std::max(walk.last_power, walk.first_power);
    walk.start = elites_[kind == 2 ? 0 : pick].places;
  }
  return walk;
}

// Twice as long as it took to get here, or long enough for every item to have been tried often. In haste the
// proof that follows mends what is missing (price_cover.h).
bool FreeSearch::stale() const {
  const double most =
      std::clamp(kIdleMovesPerItem * static_cast<double>(model_.itemCount()), 1e6, kMostIdleMoves);
  const auto enough = static_cast<std::uint64_t>(budget_.patience * most);
  return next_ >= kUnderWay &&
         moves_made_ - last_gain_ > (budget_.patience < 1 ? enough : std::max(enough, 2 * last_gain_));
}

// True when it is better than all before.
bool FreeSearch::keep(FreeOutcome&& outcome) {
  if (outcome.value == kInfinity) return false;
  std::size_t at = 0;
  while (at < elites_.size() && elites_[at].value < outcome.value * (1 - kSame)) ++at;
  if (at < elites_.size() && elites_[at].value <= outcome.value * (1 + kSame)) return false;
  elites_.insert(elites_.begin() + static_cast<std::ptrdiff_t>(at),
                 {outcome.value, std::move(outcome.places)});
  if (elites_.size() > kElites) elites_.pop_back();
  return at == 0;
}

bool reportPlaces(const PipelineModel& model, std::span<const Place> places, std::string_view solver,
                  Progress& progress) {
  std::vector<DeviceId> devices;
  for (const Place place : places) devices.emplace_back(place);
  Plan plan;
  plan.modes = model.problem->modes;
  plan.assignment = model.assignment(devices);
  return progress.plan(std::move(plan), solver);
}

void FreeSearch::depart(Journey& journey, double deadline) {
  if (next_ > 0 && next_ % kWalksOfALength == 0)
    walk_moves_ =
        std::min(kMostMoves, static_cast<std::uint64_t>(static_cast<double>(walk_moves_) * kGrowth));
  journey.walk = plan(next_++);
  journey.walk.deadline = deadline;
  journey.near = elites_.empty() ? kInfinity : elites_.front().value * (1 + kNear);
  moves_made_ += walk_moves_;
  journey.state = Journey::kWalking;
}

// Takes up what a walk has found; true when a better plan was reported.
bool FreeSearch::gather(Journey& journey) {
  if (journey.state != Journey::kDone) return false;
  journey.state = Journey::kIdle;
  moves_made_ += journey.probes;
  if (!keep(std::move(journey.outcome))) return false;
  last_gain_ = moves_made_;
  return elites_.front().value < progress_.bestValue() &&
         reportPlaces(model_, elites_.front().places, "free-search", progress_);
}

bool FreeSearch::improve(double seconds, std::uint64_t moves) {
  const double deadline = budget_.work_limit > 0 ? kInfinity : budget_.elapsedSeconds() + seconds;
  const std::uint64_t moves_end = budget_.work_limit > 0 ? moves_made_ + moves : 0;
  const std::size_t room = std::max<std::size_t>(1, budget_.memory_bytes / (2 * NetState::bytes(model_) + 1));
  const std::size_t threads = std::min<std::size_t>({budget_.threads, room, kUnderWay});
  bool better = false, over = false;
  const auto ended = [&] {
    if (stale() || budget_.stopped() || progress_.done() || budget_.elapsedSeconds() >= deadline) return true;
    if (moves_end == 0) return false;
    const std::uint64_t left = moves_end > moves_made_ ? moves_end - moves_made_ : 0;
    const std::uint64_t share = left / (kUnderWay * (1 + kProbesPerMove));
    if (share < kLeastMoves && (next_ > 0 || share == 0)) return true;
    walk_moves_ = std::min(walk_moves_, share);
    return false;
  };
  std::mutex mutex;
  std::condition_variable arrived;
  const auto work = [&](std::size_t) {
    std::unique_lock lock(mutex);
    while (!over) {
      Journey& journey = journeys_[next_ % kUnderWay];
      if (journey.state == Journey::kWalking) {
        arrived.wait(lock);
        continue;
      }
      better = gather(journey) || better;
      takeBestPlan();
      if (ended()) break;
      depart(journey, deadline);
      lock.unlock();
      journey.outcome = walkFree(ground_, journey.walk, budget_);
      journey.probes =
          journey.outcome.value < journey.near
              ? polishFree(ground_, journey.outcome, kProbesPerMove * journey.walk.moves, budget_, deadline)
              : 0;
      lock.lock();
      journey.state = Journey::kDone;
      arrived.notify_all();
    }
    over = true;
    arrived.notify_all();
  };
  parallelFor(threads, static_cast<std::uint32_t>(threads), work);
  for (std::size_t i = 0; i < kUnderWay; ++i) better = gather(journeys_[(next_ + i) % kUnderWay]) || better;
  return better;
}

bool improveFree(const PipelineModel& model, const Budget& budget, Progress& progress, double limit) {
  FreeSearch search(model, budget, progress);
  return search.improve(limit, static_cast<std::uint64_t>(limit));
}

bool freeSearchAccepts(const Problem& problem) {
  const Modes& modes = problem.modes;
  return problem.goal() == Goal::kThroughput && modes.contiguity == Contiguity::kNone &&
         problem.transfers() == Transfers::kViaHost && modes.training_load == TrainingLoad::kSum &&
         !modes.replicate && !modes.in_flight && modes.max_stages == 0 &&
         problem.deviceCount() < std::numeric_limits<Place>::max();
}

SolveResult solveFreeSearch(const Problem& problem, const Budget& budget, Progress& progress) {
  PipelineModel model(problem, PipelineModel::Items::kUnits);
  model.joinFreeItems(false);
  if (3 * NetState::bytes(model) > budget.memory_bytes) return {SolveEnd::kNotSuitable, ""};
  // Where transfers are heavy, the best chain is a start that walks seldom find by themselves.
  if (progress.bestPlan() == nullptr) solveLinearDp(problem, budget, progress);
  FreeSearch search(model, budget, progress);
  search.improve(kInfinity, budget.work_limit);
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace allot
