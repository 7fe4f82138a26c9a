// The search of packing_bound.h for prices that refute as large a load as possible.
//
// Sweeps (packing_sweeps.cpp) price every set of items that a device may hold and say what load the prices
// refute; the search (packing_bound.cpp) moves the prices around the best so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "solve/throughput/packing_bound.h"
#include "solve/throughput/price_diagram.h"
#include "solve/throughput/price_master.h"
#include "solve/throughput/price_order.h"
#include "solve/throughput/price_sweep.h"

namespace allot {

// Sums of a plan and of a path are taken in different orders; loads within this share count as equal, and
// bounds are lowered by it.
inline constexpr double kPackingRounding = 2e-10;

class PackingBounder {
 public:
  PackingBounder(const PipelineModel& model, double upper, const Budget& budget,
                 const std::function<void(double)>& on_better)
      : model_(model),
        upper_(upper),
        budget_(budget),
        on_better_(on_better),
        crew_(std::max(1u, budget.threads)),
        random_(budget.seed, kStream) {}

  PackingBoundReport run(std::span<const std::vector<std::uint32_t>> known_sets, BoundBy by);

 private:
  static constexpr std::uint64_t kStream = 11;  // of random numbers
  enum class Outcome { kRefuted, kCovered, kStuck, kStopped };
  // Prices under which all devices at the target are worth 1, and what the items are worth then.
  struct Center {
    std::vector<double> item_price, device_price;
    double ratio = 0;
  };
  struct Priced {
    std::vector<std::uint32_t> prize;  // by item
    std::vector<std::uint32_t> most;   // by pool
    double ratio = 0;
    std::size_t added = 0;
  };

  const PipelineModel& model_;
  double upper_;
  const Budget& budget_;
  const std::function<void(double)>& on_better_;
  WalkCrew crew_;
  SweepOrder order_;
  std::vector<double> counts_;
  std::vector<PriceDiagram> diagrams_;
  std::vector<PriceSweep> sweeps_;
  std::unique_ptr<PriceMaster> master_;
  PackingBoundReport report_;
  double limit_ = 0;  // of the diagrams
  Center center_;
  Priced priced_;
  Random random_;
  std::vector<std::uint32_t> group_of_;  // by item: tied prices
  std::size_t groups_ = 0;
  double heaviest_net_ = 0;
  double work_ = 0;
  double range_ = 0;  // of prices around the center, as a share of them

  void raise(double bound) {
    if (!(bound > report_.bound)) return;
    report_.bound = bound;
    if (on_better_) on_better_(bound);
  }
  bool stopped() const;
  void build(double limit);
  double itemBound() const;
  double loadOf(std::size_t pool, std::span<const std::uint32_t> items) const;
  bool addSet(std::size_t pool, const std::vector<std::uint32_t>& items, double target);
  double resolution(std::size_t pool) const;
  bool closed(double high) const { return report_.bound >= high * (1 - kOptimalGap); }
  void search(double high, std::span<const std::vector<std::uint32_t>> known_sets, std::uint32_t variety);
  void tie(std::size_t groups);
  void setRanges();
  Outcome refute(double target);
  bool price(const std::vector<double>& item_price, const std::vector<double>& device_price, double target,
             double expected);
  double refutedBelow(std::uint64_t total, std::span<const std::uint32_t> caps) const;
};

}  // namespace allot
