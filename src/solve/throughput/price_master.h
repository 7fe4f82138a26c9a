// The linear program that chooses the prices of items.
//
// Problem: cover every item by sets that devices can hold, a share of each, with the least factor on the
// number of devices; its dual values are prices of items and of devices under which no known set is worth
// more than its device. Method: CLP, from the last basis, while sets are added and switched on and off by
// their load. Items can be tied into groups whose prices move together, in fixed shares: few numbers settle
// fast, and the groups are split later. Assumption: none on precision; whoever uses the prices proves by them
// without this program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "allot/solve.h"

namespace allot {

class PriceMaster {
 public:
  // `counts`: devices by pool. Every item is a group of its own at first. Most programs have many best
  // prices; `variety` decides by which of several rules they are looked for.
  PriceMaster(std::size_t items, std::span<const double> counts, std::uint32_t variety);
  ~PriceMaster();
  PriceMaster(const PriceMaster&) = delete;
  PriceMaster& operator=(const PriceMaster&) = delete;

  // False when the set is known already.
  bool add(std::size_t pool, std::vector<std::uint32_t> items, double load);
  // Only sets of at most this load count from now on.
  void setLimit(double load);
  // Forgets the sets that are worth less than a share of their device under these prices, and all but the
  // dearest `most`; `tie` must follow.
  void keepWorth(std::span<const double> item_prices, std::span<const double> device_prices, double share,
                 std::size_t most);
  // Item v belongs to group_of[v] and gets the share base[v] of what the group's items have together there.
  void tie(std::span<const std::uint32_t> group_of, std::span<const double> base);
  // Keeps the price of a group within a range; at first it is 0 to 1.
  void setRange(std::size_t group, double low, double high);
  // False when the program could not be solved or the budget ended it.
  bool solve(const Budget& budget);

  // Of the last solution.
  double factor = 0;  // devices needed, over devices there are
  std::vector<double> item_price;
  std::vector<double> device_price;  // by pool; the sum over devices is 1
  std::size_t pivots = 0;
  bool ranges_bind = false;  // some price would leave its range

 private:
  struct Program;
  std::unique_ptr<Program> program_;

  void rebuild();
  void addColumns();
};

}  // namespace allot
