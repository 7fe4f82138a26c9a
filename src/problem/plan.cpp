#include "allot/plan.h"

namespace allot {

std::string_view name(Status status) {
  switch (status) {
    case Status::kOptimal:
      return "optimal";
    case Status::kFeasible:
      return "feasible";
    case Status::kInfeasible:
      return "infeasible";
    case Status::kNoPlan:
      return "no-plan";
    case Status::kBadInput:
      return "bad-input";
    case Status::kInternalError:
      return "internal-error";
  }
  return "?";
}

}  // namespace allot
