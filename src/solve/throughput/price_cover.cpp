#include "solve/throughput/price_cover.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "solve/throughput/free_search.h"
#include "solve/throughput/free_search_polish.h"
#include "solve/throughput/free_search_walk.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Place kNowhere = std::numeric_limits<Place>::max();
constexpr std::size_t kStarts = 8, kPolished = 2;  // of them the best ones
constexpr std::uint64_t kMovesPerItem = 100, kMostMoves = 20'000;
constexpr double kHottest = 1e-2, kColdestStart = 1e-4, kCold = 1e-5;  // temperatures, as parts of the value
constexpr std::uint64_t kStream = 19;                                  // of random numbers

class CoverRounding {
 public:
  CoverRounding(const FreeGround& ground, std::span<const CoverSet> cover)
      : ground_(ground), model_(*ground.model), cover_(cover) {
    for (std::size_t i = 0; i < model_.itemCount(); ++i) {
      double least = kInfinity;
      for (std::size_t k = 0; k < model_.poolCount(); ++k) least = std::min(least, model_.time(i, k));
      work_.push_back(least);
    }
  }

  // `luck`: 0 always takes the best set.
  std::vector<Place> round(double luck, Random& random) {
    places_.assign(model_.itemCount(), kNowhere);
    loads_.assign(ground_.devices, 0);
    std::vector<std::size_t> used(model_.poolCount(), 0);
    for (;;) {
      const CoverSet* best = nullptr;
      double most = 0;
      for (const CoverSet& set : cover_) {
        if (used[set.pool] == model_.pools[set.pool].devices.size()) continue;
        double fresh = 0, all = 0;
        for (const std::uint32_t v : set.items) {
          all += work_[v];
          if (places_[v] == kNowhere) fresh += work_[v];
        }
        const double score = all > 0 ? set.weight * fresh / all * std::pow(random.unit(), luck) : 0;
        if (score <= most) continue;
        most = score;
        best = &set;
      }
      if (best == nullptr) break;
      const DeviceId device = model_.pools[best->pool].devices[used[best->pool]++];
      for (const std::uint32_t v : best->items) {
        if (places_[v] == kNowhere) put(v, best->pool, static_cast<Place>(device.index()));
      }
    }
    for (const std::uint32_t v : ground_.order) {
      if (places_[v] == kNowhere) putByNets(v);
    }
    return places_;
  }

 private:
  const FreeGround& ground_;
  const PipelineModel& model_;
  std::span<const CoverSet> cover_;
  std::vector<double> work_;   // by item, where it is fastest
  std::vector<Place> places_;  // by item
  std::vector<double> loads_;  // by device, without nets

  void put(std::uint32_t item, std::size_t pool, Place device) {
    places_[item] = device;
    loads_[device] += model_.time(item, pool);
  }

  // To the device that shares the most with it, the least full among equals.
  void putByNets(std::uint32_t item) {
    std::vector<double> shared(ground_.devices, 0);
    for (const std::uint32_t net : model_.item_nets[item]) {
      for (const std::uint32_t other : model_.net_items[net]) {
        if (places_[other] != kNowhere) shared[places_[other]] += ground_.net_weight[net];
      }
    }
    Place best = kNowhere;
    std::size_t best_pool = 0;
    for (std::size_t k = 0; k < model_.poolCount(); ++k) {
      if (!model_.runs(item, k)) continue;
      for (const DeviceId id : model_.pools[k].devices) {
        const auto device = static_cast<Place>(id.index());
        if (best != kNowhere && (shared[device] < shared[best] ||
                                 (shared[device] == shared[best] && loads_[device] >= loads_[best])))
          continue;
        best = device;
        best_pool = k;
      }
    }
    put(item, best_pool, best);
  }
};

}  // namespace

bool planFromCover(const PipelineModel& model, std::span<const CoverSet> cover, const Budget& budget,
                   WalkCrew& crew, Progress& progress) {
  if (cover.empty()) return false;
  const FreeGround ground(model);
  const double near = progress.bestValue() * (1 + kNear);
  const std::uint64_t moves = std::min(kMovesPerItem * model.itemCount(), kMostMoves);
  std::vector<FreeOutcome> outcomes(kStarts);
  const WalkCrew::Task mend = [&](std::size_t, std::size_t i, const WalkPart*) {
    Random random(budget.seed, kStream + (std::uint64_t{budget.turn} << 8) + i);
    FreeWalk walk;
    const double share = static_cast<double>(i) / (kStarts - 1);
    walk.start = CoverRounding(ground, cover).round(share, random);
    walk.moves = moves;
    walk.hot = kHottest * std::pow(kColdestStart / kHottest, random.unit());
    walk.cold = kCold;
    walk.first_power = 4;
    walk.last_power = 8;
    walk.stream = (kStream << 48) + (std::uint64_t{budget.turn} << 8) + i;
    outcomes[i] = walkFree(ground, walk, budget);
  };
  crew.run(kStarts, mend, true);
  const auto better = [](const FreeOutcome& a, const FreeOutcome& b) { return a.value < b.value; };
  std::stable_sort(outcomes.begin(), outcomes.end(), better);
  const WalkCrew::Task polish = [&](std::size_t, std::size_t i, const WalkPart*) {
    if (outcomes[i].value < near) polishFree(ground, outcomes[i], kProbesPerMove * moves, budget, kInfinity);
  };
  crew.run(kPolished, polish, true);
  const FreeOutcome& best = *std::min_element(outcomes.begin(), outcomes.end(), better);
  return best.value < progress.bestValue() && reportPlaces(model, best.places, "packing-bound", progress);
}

}  // namespace allot
