#include "problem/option_use.h"

#include <fmt/format.h>

#include <array>

namespace allot {
namespace {

bool isCalls(const Modes& modes) {
  return modes.goal == Goal::kLatency && modes.model == LatencyModel::kSubgraphCalls;
}

// What an option needs besides its goal.
struct Need {
  std::string_view option;
  bool (*met)(const Problem&, const Modes&);
  std::string_view reason;
};

constexpr std::array kNeeds = std::to_array<Need>({
    {"calls", [](const Problem&, const Modes& m) { return isCalls(m); },
     "counts the calls of model subgraph-calls, and the model is events"},
    {"link-mode", [](const Problem&, const Modes& m) { return !isCalls(m); },
     "means nothing for model subgraph-calls, whose calls pay their own transfers"},
    {"send", [](const Problem&, const Modes& m) { return !isCalls(m); },
     "means nothing for model subgraph-calls, whose calls pay their own transfers"},
    {"in-flight", [](const Problem&, const Modes& m) { return m.contiguity == Contiguity::kChain; },
     "is defined for contiguity chain alone"},
    {"in-flight", [](const Problem& p, const Modes&) { return p.hasTraining(); },
     "counts samples between forward and backward, and there are forward ops alone"},
    {"training-load", [](const Problem& p, const Modes&) { return p.hasTraining(); },
     "is about forward and backward, and there are forward ops alone"},
    {"max-moves", [](const Problem&, const Modes& m) { return m.goal == Goal::kCompletion; },
     "is for the goal completion"},
});

std::string goalsOf(OptionScope scope) {
  std::string goals;
  for (const Goal goal : {Goal::kThroughput, Goal::kLatency, Goal::kCompletion}) {
    if (isModeOf(scope, goal)) goals += fmt::format("{}{}", goals.empty() ? "" : " and ", name(goal));
  }
  return goals;
}

}  // namespace

std::string whyMoot(const OptionSpec& option, const Problem& problem, const Modes& modes) {
  if (!modes.goal) return "";
  if (option.scope != OptionScope::kRun && !isModeOf(option.scope, *modes.goal))
    return fmt::format("is a mode of {}, and the goal is {}", goalsOf(option.scope), name(*modes.goal));
  for (const Need& need : kNeeds) {
    if (need.option == option.name && !need.met(problem, modes)) return std::string(need.reason);
  }
  return "";
}

}  // namespace allot
