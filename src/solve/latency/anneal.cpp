#include "solve/latency/anneal.h"

#include <algorithm>
#include <cmath>

#include "evaluate/live_memory.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOpsBetweenPolls = 200'000;
// What a share of memory above the limit costs, in values: between these it rises while nothing fits and
// falls while all does.
constexpr double kFirstWeight = 2, kLeastWeight = 0.2, kMostWeight = 50;
constexpr double kCheaper = 0.8, kDearer = 1.4;
constexpr std::uint32_t kWatch = 256;  // accepted moves between two looks

}  // namespace

Annealer::Annealer(const ScheduleModel& model, const SearchRange& range)
    : model_(model),
      live_(model.problem->modes.memory == MemoryModel::kLive),
      decoder_(model, range.first, range.last, range.open, range.ports, range.grid),
      recorder_(model, range.first, live_ ? range.last : range.first, range.open && live_, true, range.grid),
      neighbourhood_(model, range) {}

// Factor of the value of a sequence that does not fit the memory; 1 where it does.
double Annealer::penalty(const Sequence& sequence) {
  if (!live_) return 1 + weight_ * neighbourhood_.overflow();
  const std::vector<double> peaks = livePeaks(*model_.problem, planOf(model_, recorder_.record(sequence)));
  double share = 0;
  for (std::size_t d = 0; d < peaks.size(); ++d) {
    if (peaks[d] > model_.memory[d]) share += (peaks[d] - model_.memory[d]) / (model_.memory[d] + 1);
  }
  return 1 + weight_ * share;
}

double Annealer::valueOf(const Sequence& sequence) {
  return decoder_.reset(sequence);
}

AnnealResult Annealer::run(Sequence start, const AnnealPlan& plan, const Budget& budget, Random& random) {
  AnnealResult best;
  neighbourhood_.begin(std::move(start));
  weight_ = kFirstWeight;
  const Sequence& sequence = neighbourhood_.sequence();
  const double scale = decoder_.reset(sequence);
  double factor = penalty(sequence);
  double current = scale * factor;
  if (factor == 1) best = {scale, sequence, 0};
  neighbourhood_.findCritical(decoder_);
  const auto n = static_cast<double>(neighbourhood_.opCount());
  const auto poll = static_cast<std::uint64_t>(std::clamp(kOpsBetweenPolls / n, 1.0, 1024.0));
  const auto refresh = static_cast<std::uint64_t>(n) + 20;
  const double began = budget.elapsedSeconds();
  double temperature = scale * plan.hot;
  std::uint64_t accepted = 0;
  std::uint32_t watched = 0, fitting = 0;
  for (std::uint64_t move = 0; move < plan.moves; ++move) {
    if (move % poll == 0) {
      if (budget.stopped()) break;
      double share = static_cast<double>(move) / static_cast<double>(plan.moves);
      if (plan.seconds < kInfinity) share = std::max(share, (budget.elapsedSeconds() - began) / plan.seconds);
      if (share >= 1) break;
      temperature = scale * plan.hot * std::pow(plan.cold / plan.hot, share);
    }
    ++best.moves;
    neighbourhood_.propose(random);
    const std::uint32_t from = neighbourhood_.changedFrom(), until = neighbourhood_.changedUntil();
    if (from >= until) continue;
    const double limit = current - temperature * std::log(1 - random.unit());
    double next_factor = live_ ? 1 : penalty(sequence);
    double candidate = kInfinity;
    const double value = decoder_.tryChange(sequence, from, until, limit / next_factor);
    if (value < kInfinity) {
      if (live_) next_factor = penalty(sequence);
      candidate = value * next_factor;
    }
    if (!(candidate <= limit)) {
      decoder_.reject(sequence);
      neighbourhood_.undo();
      continue;
    }
    decoder_.accept(sequence);
    current = candidate;
    factor = next_factor;
    fitting += factor == 1;
    if (++watched == kWatch) {
      if (fitting > kWatch * 3 / 4) weight_ = std::max(weight_ * kCheaper, kLeastWeight);
      if (fitting < kWatch / 4) weight_ = std::min(weight_ * kDearer, kMostWeight);
      if (!live_) current = value * (factor = penalty(sequence));
      watched = fitting = 0;
    }
    if (factor == 1 && candidate < best.value * (1 - 1e-12)) {
      best.value = candidate;
      best.sequence = sequence;
      neighbourhood_.findCritical(decoder_);
    } else if (++accepted % refresh == 0) {
      neighbourhood_.findCritical(decoder_);
    }
  }
  return best;
}

}  // namespace allot
