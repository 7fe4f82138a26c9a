// Devices of unlike speed as one machine.
//
// With weights y >= 0 over the devices that sum to 1, all devices together do at most one unit of weighted
// work per second, and op v is at least min over d of y_d * time(v, d) of it. So every schedule is one of a
// single machine with preemption, on which a model needs the sum over its ops: what is a bound there is a
// bound here, in every link mode, send mode and memory model.
// Any weights are valid; the search for good ones is by coordinates, with devices of a class alike.
// Complexity: O(ops * classes) for each weight tried.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace allot {

struct SpeedJob {
  double weight = 1, release = 0;
  std::vector<double> seconds;  // [op * classes + class]; infinite where it may not run
};

// Least sum of weight x completion of jobs on one machine with preemption and equal releases (the least of
// them is taken): shortest weighted work first.
double oneMachineSum(std::span<const SpeedJob> jobs, std::span<const double> work);

// Work of each job under weights by class.
std::vector<double> weightedWork(std::span<const SpeedJob> jobs, std::span<const double> weight);

struct SpeedWeights {
  std::vector<double> weight;  // of one device, by class; times `count` they sum to 1
  double bound = 0;            // on the sum, or on the latest completion
};

// Weights by class for a large bound on the sum of weighted completions.
SpeedWeights weightsForSum(std::span<const SpeedJob> jobs, std::span<const double> count);
// Weights by class for a large bound on the latest completion.
SpeedWeights weightsForLoad(std::span<const SpeedJob> jobs, std::span<const double> count);

}  // namespace allot
