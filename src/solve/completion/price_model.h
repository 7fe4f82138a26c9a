// Completion problems without device capacities, for bounds by prices.
//
// If a second of a device in a slot of time has a price, each model can be planned alone: it minimises weight
// x completion + the price of the time its ops hold devices. The sum of these minima, less the price of all
// device time there is, is a bound for every plan, for any prices >= 0 (Lagrangian relaxation of the
// capacities). Devices of a class share prices.
// Relaxed besides: units, memory, ports, tensors between models, and transfers to the cheapest pair of
// devices of two classes. A model whose ops have one order in which each reads its predecessor is a chain and
// planned exactly; of others only windows of time between their paths are kept (see price_parts.h).
#pragma once

#include <cstdint>
#include <vector>

#include "allot/problem.h"

namespace allot {

struct PricedPart {
  double weight = 1, release = 0;
  bool is_chain = false;
  std::vector<double> seconds;   // [op * classes + class], infinite where it cannot run
  std::vector<double> transfer;  // chains: [(op * classes + from) * classes + to], to the next op
  bool has_transfer = false;
  std::vector<double> head, tail;  // others: [op * classes + class], before the start and behind the end
};

struct PricedModel {
  std::size_t classes = 0;
  std::vector<double> count, launch;  // by class
  std::vector<PricedPart> parts;      // models with ops

  std::size_t ops() const;
};

PricedModel pricedModelOf(const Problem& problem);

}  // namespace allot
