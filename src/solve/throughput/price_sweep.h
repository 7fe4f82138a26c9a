// The least load with which a device of one pool can collect each prize.
//
// Problem: given whole prizes on the items, for every p the least load of a set of items with prize p or more
// (a knapsack whose weight is the load, cut nets included). Method: dynamic programming over the paths of a
// PriceDiagram; whole prizes keep the tables small while loads stay exact, and the inner loops are plain
// minima over arrays. Only some layers are kept; sets are traced back by computing what their ways back need
// of the layers between again.
// Assumption: prizes are a matter of choice for the caller, so making them whole costs strength, never
// validity. Guarantee: no set of load below `leastLoad(p)` and at most the limit has prize p or more
// (rounding aside), for every p with need <= p <= cap. Complexity: O(nodes * cap) time, O(nodes * cap /
// sqrt(items)) space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "base/random.h"
#include "solve/throughput/price_diagram.h"

namespace allot {

// What a sweep finds.
class LeastLoads {
 public:
  // Infinite where no set within the limit collects so much.
  double leastLoad(std::uint32_t prize) const;
  // The largest prize within a load; `need - 1` (or 0) when there is none of `need`.
  std::uint32_t mostPrize(double load) const;

 private:
  friend class PriceSweep;
  std::uint32_t need_ = 0;
  std::vector<double> by_prize_;  // for so much or more
};

class PriceSweep {
 public:
  explicit PriceSweep(const PriceDiagram& diagram);

  // Prizes are by item and count up to `cap`; sets of less than `need` or of more load than `limit` need not
  // be found. False when the budget ended it.
  bool run(std::span<const std::uint32_t> prize, std::uint32_t need, std::uint32_t cap, double limit,
           const Budget& budget);

  const LeastLoads& leastLoads() const { return least_; }

  // Table entries of the last run.
  std::size_t entries() const { return entries_; }

  // Wanted: a set with this prize or more and at most this load (rounding aside), which leastLoad must allow.
  struct Wish {
    std::uint32_t prize;
    double load;
    bool by_chance;  // one of all such sets by chance, else the first
  };
  // At most once after each run.
  std::vector<std::vector<std::uint32_t>> sets(std::span<const Wish> wishes, Random& random);

 private:
  // A place for entries that are all written before they are read.
  struct Table {
    std::unique_ptr<double[]> entries;
    std::size_t room = 0;
    // Of rows without entries too.
    double* from(std::size_t begin) { return entries.get() + begin; }
    void makeRoom(std::size_t wanted) {
      if (wanted <= room) return;
      // Some to spare: the next run may need a little more.
      room = wanted + wanted / 8;
      entries = std::make_unique_for_overwrite<double[]>(room);
    }
  };
  // Prizes from first to last; none where last is less.
  struct Range {
    std::int64_t first, last;
  };
  // A node's least loads, in the table of its layer: for prizes low ... low + size - 1.
  struct Row {
    std::size_t begin = 0;
    std::uint32_t low = 0, size = 0;
    std::int64_t last() const { return std::int64_t{low} + size - 1; }
  };
  using WayIn = PriceDiagram::WayIn;
  // Where the way back of a wish stands.
  struct Walk {
    std::size_t node = 0;
    std::uint32_t prize = 0;
    double load = 0;
    bool alive = false;
  };

  const PriceDiagram& diagram_;
  std::size_t stride_;                // between layers that are kept
  std::vector<std::uint32_t> prize_;  // by layer
  std::uint32_t need_ = 0, cap_ = 0;
  std::size_t entries_ = 0;
  // Prices of load, in units of need / limit, that bound what can still be collected.
  static constexpr std::array<double, 6> kLoadPrices{0, 0.7, 1, 1.4, 2.2, 4};
  std::vector<std::array<double, kLoadPrices.size()>> best_after_;  // by node and price of load; scratch
  std::vector<double> prize_after_;                                 // by node: no path can add more
  std::vector<Row> rows_;                                           // by node
  std::vector<Table> kept_;                                         // of every stride-th layer
  std::vector<Table> between_;                                      // of the others, by layer modulo cycle_
  std::size_t cycle_ = 2;
  LeastLoads least_;

  std::uint32_t gain(const WayIn& way, std::size_t layer) const { return way.takes ? prize_[layer] : 0; }
  Table& table(std::size_t layer) {
    return layer % stride_ == 0 ? kept_[layer / stride_] : between_[layer % cycle_];
  }
  void boundPrizeAfter(double limit);
  void trimRows(std::size_t layer, double limit);
  void setRows(std::size_t layer);
  void narrowRows(std::size_t begin, std::size_t end, std::span<const Walk> walks);
  void followToCap(const WayIn& way, std::size_t layer, double& top);
  void spread(std::size_t layer);
  void stepBack(std::size_t layer, Walk& walk, double slack, Random* random, std::vector<std::uint32_t>& set);
};

}  // namespace allot
