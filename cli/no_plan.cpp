// What to say of a search that ended with nothing: why, and what to try next.
#include <fmt/format.h>

#include <algorithm>

#include "common.h"
#include "search.h"

namespace allot::cli {
namespace {

// A run that met its limit ends at it, or a little before where no solver was worth beginning any more.
constexpr double kNearLimit = 0.9;

bool limitWasReached(const RunOptions& run, const Plan& plan) {
  return plan.time_limited && plan.seconds >= kNearLimit * run.time_limit_seconds;
}

// Whatever rules plans out here, each with the option that loosens it.
std::string whatToTry(const Problem& problem, const RunOptions& run) {
  const Modes& modes = problem.modes;
  std::vector<std::string> tries;
  const bool limited = std::any_of(problem.cluster.devices.begin(), problem.cluster.devices.end(),
                                   [](const Device& device) { return device.memory_bytes.has_value(); });
  if (run.work_limit > 0) tries.emplace_back("a larger --work-limit");
  if (!run.solver.empty()) tries.emplace_back("no --solver");
  if (limited) tries.emplace_back(modes.headroom > 0 ? "more memory or less --headroom" : "more memory");
  if (limited && problem.liveMemory()) tries.emplace_back("--memory static");
  if (problem.goal() == Goal::kThroughput) {
    if (modes.contiguity != Contiguity::kNone) tries.emplace_back("--contiguity none");
    if (modes.max_stages > 0) tries.emplace_back("more --max-stages");
  }
  if (problem.goal() == Goal::kLatency && modes.model == LatencyModel::kSubgraphCalls)
    tries.emplace_back("more --calls");
  const Constraints& c = problem.constraints;
  if (!c.pin.empty() || !c.forbid.empty() || !c.together.empty())
    tries.emplace_back("fewer pins, forbids and sets that stay together");
  if (tries.empty()) tries.emplace_back("another device");
  return fmt::format("try {}", fmt::join(tries, ", or "));
}

}  // namespace

Error noPlanError(const std::string& file, const Problem& problem, const RunOptions& run, const Plan& plan,
                  bool stopped) {
  Error error{ErrorCode::kNoPlan, file, "", "", ""};
  if (stopped) {
    error.message = "the search was stopped before it found a plan";
    error.remedy = "let it run longer";
  } else if (limitWasReached(run, plan)) {
    error.message = "the time limit was reached before a plan was found";
    error.remedy = "raise --time-limit, or " + whatToTry(problem, run);
  } else {
    error.message = "the search ended without a plan and without a proof that there is none";
    error.remedy = whatToTry(problem, run);
  }
  return error;
}

}  // namespace allot::cli
