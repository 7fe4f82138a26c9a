// Affinity of models: how well two of them share unlike devices.
//
// Problem: of several models, say which to place on the same devices. Models whose operators gain unlike
// amounts from the accelerator leave each other the device that each needs less.
// Method: by operator type, speed-up = time on the reference class / time on the accelerated one, all ops of
// the type together. Two measures of a pair:
//   published (Talos, ASAP 2021, Eq. 2 and 3): sum over k of |s_a,k - s_b,k|, both ascending, as far as the
//     shorter reaches, divided by the share of types that both have;
//   Hellinger: the distance of the two ascending vectors, each divided by its sum and the shorter one filled
//     up with zeros in front, which is what the published figures really show; divided by the same share.
// Guarantee: exact arithmetic of these formulas. What follows from them is a rule of thumb: a plan says more.
// Complexity: O(ops + models^2 types).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allot/problem.h"

namespace allot {

// The published tool places two models together above this.
inline constexpr double kAffinityThreshold = 0.4;

struct ModelSpeedups {
  std::string name;
  std::vector<std::pair<std::string, double>> types;  // by type, in the order of their names
};

struct SpeedupTable {
  ClassId reference, accelerated;
  std::vector<ModelSpeedups> models;
};
// Fails when there are not two classes of devices to compare, or a model has no op that both can run.
Result<SpeedupTable> modelSpeedups(const Problem& problem);

struct Affinity {
  std::size_t a, b;          // models
  std::size_t shared, most;  // types in common, and of the model that has more
  double published_distance;
  double shared_distance;  // sum of |s_a - s_b| over the types in common
  double hellinger;

  double share() const { return static_cast<double>(shared) / static_cast<double>(most); }
  // Infinite where nothing is shared.
  double published() const { return published_distance / share(); }
  double value() const { return hellinger / share(); }
};

// Every pair of models, in order.
std::vector<Affinity> affinities(std::span<const ModelSpeedups> models);
// Disjoint pairs, each the pair of largest Hellinger affinity among the models that are left.
std::vector<Affinity> coPlacement(std::vector<Affinity> pairs);

}  // namespace allot
