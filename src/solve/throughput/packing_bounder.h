// The search of packing_bound.h for prices that refute as large a load as possible.
//
// Sweeps (packing_sweeps.cpp) price every set of items that a device may hold and say what load the prices
// refute; the search (packing_bound.cpp) moves the prices around the best so far. Two points are swept at a
// time, each by a thread of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/walk_crew.h"
#include "solve/throughput/packing_bound.h"
#include "solve/throughput/price_bundle.h"
#include "solve/throughput/price_diagram.h"
#include "solve/throughput/price_order.h"
#include "solve/throughput/price_sweep.h"

namespace allot {

// Sums of a plan and of a path are taken in different orders; loads within this share count as equal, and
// bounds are lowered by it.
inline constexpr double kPackingRounding = 2e-10;

class PackingBounder {
 public:
  PackingBounder(const PipelineModel& model, const PackingKnown& known, const Budget& budget,
                 const PackingListener& listener)
      : model_(model),
        known_(known),
        budget_(budget),
        listener_(listener),
        crew_(std::max(1u, budget.threads)) {
    report_.bound = known.lower;
  }

  PackingBoundReport run(BoundBy by);

 private:
  static constexpr std::uint64_t kStream = 11;  // of random numbers
  static constexpr std::size_t kPoints = 2;     // prices that are swept at a time
  enum class Outcome { kRefuted, kCovered, kImproved, kStopped };
  struct Prices {
    std::vector<double> item, device;  // by item, by pool
  };
  // Prices made whole, and what sweeps found by them.
  struct Priced {
    double scale = 0;
    std::vector<std::uint32_t> prize;  // by item
    std::uint64_t total = 0;
    struct Pool {
      std::uint32_t cap = 0;
      LeastLoads loads;
      std::vector<std::vector<std::uint32_t>> sets;  // worth more than their device
      std::vector<double> set_loads;
      bool swept = false;
    };
    std::vector<Pool> pools;
  };
  // Prices under which all devices at the target are worth 1, and what the items are worth then.
  struct Center {
    Prices prices;
    double ratio = 0;
    Priced priced;
  };
  struct Sweeper {
    PriceSweep sweep;
    Random random;
  };

  const PipelineModel& model_;
  const PackingKnown& known_;
  const Budget& budget_;
  const PackingListener& listener_;
  WalkCrew crew_;
  SweepOrder order_;
  std::vector<double> counts_;
  std::vector<PriceDiagram> diagrams_;
  std::array<std::vector<Sweeper>, kPoints> sweepers_;  // by pool
  std::unique_ptr<PriceBundle> bundle_;
  PackingBoundReport report_;
  double high_ = 0;   // only plans below this matter
  double limit_ = 0;  // of the diagrams
  std::vector<Prices> starts_;
  Center center_;
  std::vector<std::uint32_t> group_of_;  // by item: tied prices
  std::size_t groups_ = 0;
  double heaviest_net_ = 0;
  double work_ = 0;
  bool hopeful_ = true;  // sets that do not cover everything have not failed to make a better plan
  double range_ = 0;     // of prices around the center, as a share of them

  void raise(double bound) {
    if (!(bound > report_.bound)) return;
    report_.bound = bound;
    if (listener_.bound) listener_.bound(bound);
  }
  bool stopped() const;
  // False when the time was up.
  bool build(double limit);
  void makeSweepers();
  double itemBound() const;
  double loadOf(std::size_t pool, std::span<const std::uint32_t> items) const;
  bool addSet(std::size_t pool, const std::vector<std::uint32_t>& items, double load, double target);
  double resolution(std::size_t pool, double hope) const;
  bool closed(double load) const { return report_.bound >= load * (1 - std::max(budget_.gap, kOptimalGap)); }
  // Where this is true of what is just below a load, the load itself is closed.
  bool refuted(double load) const { return report_.bound >= load * (1 - 3.5 * kPackingRounding); }
  void search(std::uint32_t variety);
  bool improve();
  void tie(std::size_t groups);
  Outcome refute(double target);
  Priced wholePrizes(const Prices& prices, double expected, double hope) const;
  void sweepPool(std::size_t pool, const Prices& prices, Sweeper& sweeper, Priced& priced, double limit);
  double refutedBelow(const Priced& priced) const;
  void setCenter(Priced&& priced, double target);
  // `hope`: how much better than the center the prices may be, 0 where nobody knows. How many sets were new;
  // nothing when the budget ended it.
  std::optional<std::size_t> price(std::span<const Prices> points, double target, double expected,
                                   double hope);
};

}  // namespace allot
