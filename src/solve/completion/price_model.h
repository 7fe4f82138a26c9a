// Completion problems without device capacities, for bounds by prices.
//
// If a second of a device in a slot of time has a price, each model can be planned alone: it minimises weight
// x completion + the price of the time its ops hold devices. The sum of these minima, less the price of all
// device time there is, is a bound for every plan, for any prices >= 0 (Lagrangian relaxation of the
// capacities). Devices of a class share prices.
// Relaxed besides: units, memory, ports, tensors between models, and transfers to the cheapest pair of
// devices of two classes. Of a model one path is planned exactly, all of it where it is a chain; of its other
// ops only windows of time between their paths are kept (see price_parts.h).
#pragma once

#include <cstdint>
#include <vector>

#include "allot/problem.h"

namespace allot {

struct PricedPart {
  double weight = 1, release = 0;
  // The path: ops of which each reads the one before.
  std::vector<double> seconds;   // [op * classes + class], infinite where it cannot run
  std::vector<double> transfer;  // [(op * classes + from) * classes + to], to the next op
  bool has_transfer = false;
  std::vector<double> earliest;  // by op: it cannot start before; at last the path's end
  // The other ops: time before the start and behind the end, [op * classes + class].
  std::vector<double> other_seconds, head, tail;
  double completion = 0;  // the model cannot end before
};

struct PricedModel {
  std::size_t classes = 0;
  std::vector<double> count, launch;  // by class
  std::vector<PricedPart> parts;      // models with ops

  std::size_t ops() const;
};

PricedModel pricedModelOf(const Problem& problem);

}  // namespace allot
