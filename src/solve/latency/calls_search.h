// The best plan of a subgraph-calls problem, by labels at its cuts.
//
// Between two cuts (calls_module.h) time only shifts: what a module adds does not depend on when it is
// entered. So each module is run once for each way of entering it, and a label at a cut is accelerators used,
// time and the bytes of the call that is open there. Guarantee: when complete, the plan found is the best of
// all below `below`, or there is none below it. Complexity: module runs, plus labels of a cut x exits of the
// module.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/latency/calls_module.h"

namespace allot {

// One call, or one item on the cpu (pool < 0).
struct CallPart {
  std::int32_t pool = -1;
  std::vector<std::uint32_t> items;
  std::vector<OpId> tails;  // of its nets, in the call too
};

struct CallSearchLimits {
  double below = 0;
  std::size_t beam = 0;
  std::uint64_t most_labels = 0;  // of one module run; 0 = no limit
  bool by_branches = false;       // modules that fall into branches are run branch by branch
};

struct CallSearchOutcome {
  bool complete = false;
  bool found = false;
  double value = 0;
  double bound = 0;             // no plan is worth less; holds whether complete or not
  std::vector<CallPart> parts;  // each after all that it waits for
  std::uint64_t labels = 0;
};

// `calls` by pool: how many it may run in all. `calls_each`: how many calls of one accelerator a unit may
// be spread over.
CallSearchOutcome searchCalls(const CallGraphFacts& facts, const std::vector<std::uint32_t>& calls,
                              std::uint32_t calls_each, const CallSearchLimits& limits, const Budget& budget);

}  // namespace allot
