// Chooses the prices of items, near the best prices so far.
//
// Problem: prices of groups of items and of devices, all devices together worth 1, under which no known set
// is worth more than its device and the items are worth as much as possible, less a price for the square of
// the distance to the center: what is known of sets is worth little far from there. The exact best prices,
// by a linear program, take longer to find and are worse guesses: they lie in corners.
// Method: the dual, weights of sets. Weights w cover the part w(g) of each group g, and the price of g is
//   center(g) + t * scale(g) * (1 - w(g)),
// so what is not yet covered gets dearer; a price that would fall below zero is held there by a weight of its
// own. An active-set method solves for the best weights of the sets that have some, over the groups whose
// prices are free, drops what gets negative, and takes up the sets that are most above their worth and the
// prices that are most below zero. Sets with weight are some dozen, prices that are held may be hundreds:
// holding or freeing one is a change of rank one. It starts from the last weights.
// Groups: items can be tied (price_groups.h), few numbers settle fast. Guarantee: none on precision; whoever
// uses the prices proves by them without this program. Complexity: some dozen or hundred changes, each
// O(weighted sets^2 + items + runs of the sets looked at).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "solve/throughput/cover_set.h"
#include "solve/throughput/growing_factor.h"
#include "solve/throughput/price_groups.h"

namespace allot {

class PriceBundle {
 public:
  // `order`: all items, best those of a set together. `counts`: devices by pool. `variety`: another one takes
  // other steps. `tie` must follow.
  PriceBundle(std::span<const std::uint32_t> order, std::span<const double> counts, std::uint32_t variety);

  // False when the set is known already.
  bool add(std::size_t pool, std::vector<std::uint32_t> items, double load);
  // Only sets of at most this load count from now on.
  void setLimit(double load) { limit_ = load; }
  // Forgets the sets that are worth less than a share of their device under these prices, and all but the
  // dearest `most`; `tie` must follow.
  void keepWorth(std::span<const double> item_prices, std::span<const double> device_prices, double share,
                 std::size_t most);
  // Item v belongs to group_of[v] and gets the share base[v] of what the group's items have together there.
  void tie(std::span<const std::uint32_t> group_of, std::span<const double> base) {
    groups_.tie(group_of, base);
    forgetWeights();
  }
  // `range`: how far prices may go from the center, roughly, as a share of what they are on average.
  void solve(std::span<const double> center_items, std::span<const double> center_devices, double range);

  // The sets that have weight in the last solution.
  std::vector<CoverSet> cover() const;

  // Of the last solution.
  std::vector<double> item_price;
  std::vector<double> device_price;  // by pool; the sum over devices is 1
  double promise = 0;                // what the items are worth, unless there are sets that are not known
  double ceiling = 0;                // no prices of these groups can promise more
  bool blind = true;                 // no set is within the limit: the prices are those of the center
  std::size_t changes = 0;           // of the active sets

 private:
  struct KnownSet {
    std::size_t pool;
    std::vector<std::uint32_t> items;
    double load;
    std::vector<PriceGroups::Run> runs;
  };
  struct Active {
    std::uint32_t set;
    double weight;
  };
  PriceGroups groups_;
  std::vector<double> counts_;
  double reach_;  // see kReach
  std::vector<KnownSet> sets_;
  std::set<std::pair<std::size_t, std::vector<std::uint32_t>>> known_;
  double limit_ = 0;
  std::vector<Active> active_;
  std::vector<std::uint8_t> held_;  // by group: its price is held at zero,
  std::vector<double> held_by_;     // by this weight
  double devices_needed_ = 1;       // over those there are, by the weights
  // Of the program that is being solved. Prices by group are in units of the root scale.
  double step_ = 0;                     // t
  std::vector<double> center_, price_;  // by group
  std::vector<double> free_price_;      // by group: without weights
  std::vector<std::size_t> pools_;      // those that have sets within the limit
  double worth_left_ = 1;               // of the devices of these pools
  std::vector<double> device_worth_;    // by pool
  GrowingFactor factor_;                // of the products of the active sets, over free groups
  std::vector<double> weights_;         // the best ones of the active sets, whatever their signs,
  std::vector<double> covered_;         // what they cover, by group,
  std::vector<double> holding_;         // the best weights of held prices,
  double needed_ = 1;                   // and of `devices_needed_`
  PriceGroups::Cover cover_;            // scratch, as the next one
  PriceGroups::Sums sums_;
  std::vector<std::pair<double, std::uint32_t>> candidates_;  // sets that were above their worth, by how much

  bool counts(const KnownSet& set) const { return set.load <= limit_; }
  bool start(std::span<const double> center_devices);
  void factorise();
  void appendToFactor(std::size_t at);
  void hold(std::uint32_t group);
  void release(std::uint32_t group);
  std::vector<double> partsOf(std::uint32_t group) const;
  std::vector<double> sidesOf(std::uint32_t group) const;
  bool bestWeights();
  bool balance();
  void takePrices();
  void rankSets();
  bool takeUp();
  bool settle();
  void forgetWeights();
  void report();
};

}  // namespace allot
