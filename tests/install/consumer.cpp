// What a program that uses an installed Allot looks like: read a problem, solve it, print the value.
#include <allot/allot.h>

#include <cstdio>

namespace {

// One device of each class; "b" is five times as fast on the second, and moving its input costs one second.
constexpr const char* kProblem = R"({
  "schema": "allot.problem/1",
  "name": "consumer",
  "classes": [{"name": "left", "kind": "accelerator"}, {"name": "right", "kind": "accelerator"}],
  "devices": [{"name": "left0", "class": "left"}, {"name": "right0", "class": "right"}],
  "ops": [{"name": "a", "time": [1, null]}, {"name": "b", "time": [5, 1]}],
  "tensors": [{"from": "a", "to": ["b"], "time": 1}],
  "goal": "latency"
})";

// a runs 0..1 on left0, its tensor travels 1..2, b runs 2..3 on right0.
constexpr double kBest = 3;

}  // namespace

int main() {
  allot::Warnings warnings;
  const auto problem = allot::readProblem(kProblem, "consumer", {}, nullptr, warnings);
  if (!problem) {
    std::fprintf(stderr, "%s\n", problem.error().text().c_str());
    return 3;
  }
  allot::RunOptions run;
  run.time_limit_seconds = 5;
  const allot::SolveOutcome outcome = allot::solve(*problem, run);
  if (!outcome.plan.hasPlan()) {
    std::fprintf(stderr, "no plan: %s\n", outcome.message.c_str());
    return 1;
  }
  std::printf("allot %s: value %g\n", ALLOT_VERSION, outcome.plan.value);
  return outcome.plan.value == kBest ? 0 : 1;
}
