// Chooses the prices of items, near the best prices so far.
//
// Problem: prices of groups of items and of devices, all devices together worth 1, under which no known set
// is worth more than its device and the items are worth as much as possible, less a price for the square of
// the distance to the center: what is known of sets is worth little far from there. The exact best prices,
// by a linear program, take longer to find and are worse guesses: they lie in corners.
// Method: the dual, weights of sets. Weights w cover the part w(g) of each group g, and the price of g is
//   center(g) + t * scale(g) * (1 - w(g)),
// so what is not yet covered gets dearer. An active-set method keeps the sets (and groups whose price would
// fall below zero) of positive weight, solves for their best weights exactly, drops what gets negative and
// takes up the set that is worth most above its device. It starts from the last weights.
// Groups: items can be tied so that their prices move together, in fixed shares: few numbers settle fast.
// Guarantee: none on precision; whoever uses the prices proves by them without this program. Complexity: some
// dozen changes of the active sets, each O(active^2 + ends of all sets in groups).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "solve/throughput/cover_set.h"
#include "solve/throughput/growing_factor.h"

namespace allot {

class PriceBundle {
 public:
  // `counts`: devices by pool. `variety`: another one takes other steps. `tie` must follow.
  PriceBundle(std::size_t items, std::span<const double> counts, std::uint32_t variety);

  // False when the set is known already.
  bool add(std::size_t pool, std::vector<std::uint32_t> items, double load);
  // Only sets of at most this load count from now on.
  void setLimit(double load) { limit_ = load; }
  // Forgets the sets that are worth less than a share of their device under these prices, and all but the
  // dearest `most`; `tie` must follow.
  void keepWorth(std::span<const double> item_prices, std::span<const double> device_prices, double share,
                 std::size_t most);
  // Item v belongs to group_of[v] and gets the share base[v] of what the group's items have together there.
  void tie(std::span<const std::uint32_t> group_of, std::span<const double> base);
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
  struct Part {
    std::uint32_t group;
    double value;  // share of the group, times its root scale
  };
  struct KnownSet {
    std::size_t pool;
    std::vector<std::uint32_t> items;
    double load;
    std::vector<Part> parts;
  };
  // A set, or a group whose price is kept from falling below zero.
  struct Active {
    bool is_set;
    std::uint32_t index;
    double weight;
  };
  std::size_t items_, groups_ = 0;
  std::vector<double> counts_;
  double reach_;  // see kReach
  std::vector<KnownSet> sets_;
  std::set<std::pair<std::size_t, std::vector<std::uint32_t>>> known_;
  double limit_ = 0;
  std::vector<std::uint32_t> group_of_;
  std::vector<double> share_;       // by item, of its group
  std::vector<double> root_scale_;  // by group; prices and parts are kept in units of it
  std::size_t made_ = 0;            // sets that have parts
  std::vector<Active> active_;
  GrowingFactor factor_;       // of the products of the active ones
  bool sides_known_ = false;   // its right-hand sides are those of this program
  double devices_needed_ = 1;  // over those there are, by the weights
  // Of the program that is being solved. Prices by group are in units of the root scale.
  double step_ = 0;                     // t
  std::vector<double> center_, price_;  // by group
  std::vector<std::size_t> pools_;      // those that have sets within the limit
  double worth_left_ = 1;               // of the devices of these pools
  std::vector<double> device_worth_;    // by pool
  std::vector<double> weights_;         // the best ones of the active sets, whatever their signs
  double needed_ = 1;                   // the same of `devices_needed_`
  std::vector<std::pair<double, std::size_t>> candidates_;  // sets above their worth, by how much once

  void makeParts();
  double worth(const KnownSet& set, std::span<const double> prices) const;
  std::vector<double> sidesOf(const Active& active) const;
  void setSides();
  void activate(bool is_set, std::uint32_t index, double weight);
  void deactivate(std::size_t at);
  bool start(std::span<const double> center_devices);
  bool bestWeights();
  bool balance();
  void takePrices();
  std::pair<double, std::size_t> dearestSet();
  bool takeUp();
  bool settle();
  void forgetWeights();
  void report();
};

}  // namespace allot
