#include "solve/throughput/price_groups.h"

#include <algorithm>
#include <cmath>

namespace allot {

PriceGroups::PriceGroups(std::span<const std::uint32_t> order) : position_(order.size()) {
  for (std::uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
}

void PriceGroups::tie(std::span<const std::uint32_t> group_of, std::span<const double> base) {
  const std::size_t groups = 1 + *std::max_element(group_of.begin(), group_of.end());
  std::vector<double> total(groups, 0);
  double mean = 0;
  for (std::size_t v = 0; v < itemCount(); ++v) {
    total[group_of[v]] += base[v];
    mean += base[v] / static_cast<double>(groups);
  }
  root_scale.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) root_scale[g] = std::sqrt((total[g] + mean) / (2 * mean));
  group_at_.resize(itemCount());
  part_.resize(itemCount());
  first_.assign(groups, static_cast<std::uint32_t>(itemCount()));
  last_.assign(groups, 0);
  for (std::size_t v = 0; v < itemCount(); ++v) {
    const std::uint32_t g = group_of[v], at = position_[v];
    group_at_[at] = g;
    part_[at] = base[v] / total[g] * root_scale[g];
    first_[g] = std::min(first_[g], at);
    last_[g] = std::max(last_[g], at + 1);
  }
}

std::vector<PriceGroups::Run> PriceGroups::runsOf(std::vector<std::uint32_t>& items) const {
  std::sort(items.begin(), items.end(),
            [&](std::uint32_t a, std::uint32_t b) { return position_[a] < position_[b]; });
  std::vector<Run> runs;
  for (const std::uint32_t v : items) {
    const std::uint32_t at = position_[v];
    if (runs.empty() || runs.back().end != at) runs.push_back({at, at});
    ++runs.back().end;
  }
  return runs;
}

void PriceGroups::sumUp(std::span<const double> prices, Sums& sums) const {
  sums.resize(itemCount() + 1);
  double sum = 0;
  for (std::size_t i = 0; i < itemCount(); ++i) {
    sums[i] = sum;
    sum += part_[i] * prices[group_at_[i]];
  }
  sums.back() = sum;
}

double PriceGroups::worth(std::span<const Run> runs, const Sums& sums) {
  double sum = 0;
  for (const Run run : runs) sum += sums[run.end] - sums[run.begin];
  return sum;
}

void PriceGroups::addParts(std::span<const Run> runs, std::span<double> parts) const {
  for (const Run run : runs) {
    for (std::uint32_t i = run.begin; i < run.end; ++i) parts[group_at_[i]] += part_[i];
  }
}

double PriceGroups::partOf(std::uint32_t group, std::span<const Run> runs) const {
  double part = 0;
  // The first run that ends behind the beginning of the group.
  auto run = std::partition_point(runs.begin(), runs.end(),
                                  [&](const Run& each) { return each.end <= first_[group]; });
  for (; run != runs.end() && run->begin < last_[group]; ++run) {
    const std::uint32_t end = std::min(run->end, last_[group]);
    for (std::uint32_t i = std::max(run->begin, first_[group]); i < end; ++i)
      part += group_at_[i] == group ? part_[i] : 0;
  }
  return part;
}

std::vector<double> PriceGroups::groupPrices(std::span<const double> items) const {
  std::vector<double> prices(size(), 0);
  for (std::size_t v = 0; v < itemCount(); ++v) {
    const std::uint32_t g = group_at_[position_[v]];
    prices[g] += items[v] / root_scale[g];
  }
  return prices;
}

std::vector<double> PriceGroups::itemPrices(std::span<const double> groups) const {
  std::vector<double> prices(itemCount());
  for (std::size_t v = 0; v < itemCount(); ++v)
    prices[v] = part_[position_[v]] * groups[group_at_[position_[v]]];
  return prices;
}

void PriceGroups::Cover::parts(const PriceGroups& groups, std::vector<double>& parts) const {
  parts.assign(groups.size(), 0);
  double weight = 0;
  for (std::size_t i = 0; i < groups.itemCount(); ++i) {
    weight += changes_[i];
    parts[groups.group_at_[i]] += weight * groups.part_[i];
  }
}

}  // namespace allot
