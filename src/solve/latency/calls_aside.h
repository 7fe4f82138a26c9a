// Items that only keep a subgraph-calls problem from falling into modules, left out.
//
// Problem: one long side path (an op that reads something early and is read late) runs beside everything, so
// that no item is a cut, and the search carries the item through all of it. Method: an item beside which most
// others are cuts is taken out, from its unit too; whoever reads it pays, when in a call, the least that it
// can cost to have the tensor there: fetching it, or the item in the same call and what it reads fetched,
// unless that may be in the call as well. Guarantee: every plan of the problem, without that item, is a plan
// of what is left and no later there: bounds carry over. A plan of what is left becomes one of the problem
// with the item on the cpu; it may be later. Complexity: items^2 / 64 for each item taken out.
#pragma once

#include <optional>

#include "solve/latency/calls_items.h"

namespace allot {

// Absent where nothing is to be left out. `calls_each`: of an accelerator; with one, a unit shares its call.
std::optional<CallItems> withoutBypasses(const CallItems& items, std::uint32_t calls_each);

}  // namespace allot
