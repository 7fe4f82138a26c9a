// Plans of the library by the rules of the enumeration, and the other way round.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "base/random.h"
#include "random/calls.h"
#include "random/pipelines.h"
#include "random/schedules.h"

namespace allot::tiny {

// What a complete plan is worth and holds; what is wrong with it.
struct Own {
  std::string wrong;
  double value = 0;
  std::vector<double> memory, load;  // by device; load of pipelines
};

Own ownValue(const Rules& rules, const Plan& plan);

Plan planOf(const Rules& rules, const std::vector<Stage>& stages);
Plan planOf(const Rules& rules, const std::vector<Stage>& calls, const std::vector<int>& device);
Plan planOf(const Schedule& schedule);

// A plan with something else in it, often invalid: an op on another device, one more replica, another order
// of stages, something earlier or later. Absent where nothing came of it.
std::optional<Plan> changed(const Rules& rules, const Plan& plan, Random& random);

}  // namespace allot::tiny
