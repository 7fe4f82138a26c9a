// Items tied into groups whose prices move together, in fixed shares; sets of items as runs of an order.
//
// Problem: what many sets are worth at prices of groups, and what weights of sets cover of each group, again
// and again. Method: most sets are few runs of the sweep order, so their worth comes from sums of prices
// along that order, and cover from where runs begin and end. Prices of a group and parts of sets are kept in
// units of the root of the group's scale, how large its price is beside the others. Complexity: O(items) for
// sums of prices and for cover, O(runs) for each set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace allot {

class PriceGroups {
 public:
  struct Run {
    std::uint32_t begin, end;  // positions in the order
  };
  // By position: what all items before it are worth.
  using Sums = std::vector<double>;

  explicit PriceGroups(std::span<const std::uint32_t> order);

  // Item v belongs to group_of[v] and gets the share base[v] of what the group's items have together there.
  void tie(std::span<const std::uint32_t> group_of, std::span<const double> base);

  std::size_t itemCount() const { return position_.size(); }
  std::size_t size() const { return root_scale.size(); }
  std::vector<double> root_scale;  // by group

  // Sorts the items by position.
  std::vector<Run> runsOf(std::vector<std::uint32_t>& items) const;
  // Of prices by group.
  void sumUp(std::span<const double> prices, Sums& sums) const;
  static double worth(std::span<const Run> runs, const Sums& sums);
  // Adds the part of each group that the runs hold.
  void addParts(std::span<const Run> runs, std::span<double> parts) const;
  // The one of this group.
  double partOf(std::uint32_t group, std::span<const Run> runs) const;
  // Prices of groups from those of items, and the other way round.
  std::vector<double> groupPrices(std::span<const double> items) const;
  std::vector<double> itemPrices(std::span<const double> groups) const;

  // What weighted sets cover of each group: `add` each, then `parts`.
  class Cover {
   public:
    void clear(std::size_t items) { changes_.assign(items + 1, 0); }
    void add(std::span<const Run> runs, double weight) {
      for (const Run run : runs) {
        changes_[run.begin] += weight;
        changes_[run.end] -= weight;
      }
    }
    // By group.
    void parts(const PriceGroups& groups, std::vector<double>& parts) const;

   private:
    std::vector<double> changes_;  // by position
  };

 private:
  std::vector<std::uint32_t> position_;      // by item
  std::vector<std::uint32_t> group_at_;      // by position
  std::vector<double> part_;                 // by position: share of the group, times its root scale
  std::vector<std::uint32_t> first_, last_;  // by group: the positions between which its items lie
};

}  // namespace allot
