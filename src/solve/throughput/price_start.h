// Where the search for prices begins.
//
// Problem: first prices of items and devices, and a first load to aim at. Method: the split of the work that
// ignores transfers and cuts items at will; its dual prices prove the mean-work bound by themselves.
// Guarantee: none needed, any prices are valid; the load is a guess. Complexity: O(items * pools) times a
// fixed number.
#pragma once

#include <span>
#include <vector>

#include "solve/throughput/cover_set.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

struct SplitPrices {
  std::vector<double> item;    // together 1
  std::vector<double> device;  // by pool; over all devices 1
};

SplitPrices splitPrices(const PipelineModel& model, std::span<const double> counts);

// Prices under which every set of a plan is worth its load, at the prices of device time of `split`: what a
// device pays for a net is spread over the items of the net that it holds.
SplitPrices planPrices(const PipelineModel& model, std::span<const CoverSet> plan, SplitPrices split);

// Twice what the largest item and the mean of the work need; above 0.
double firstLoad(const PipelineModel& model, std::span<const double> counts);

}  // namespace allot
