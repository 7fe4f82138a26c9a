// Time of one fixed-order sweep (link mode free) by problem size. The goal is in scripts/bench-goals.py.
#include <benchmark/benchmark.h>

#include "evaluate/sweep.h"
#include "large_problem.h"

namespace allot::bench {
namespace {

void sweep(benchmark::State& state) {
  const auto problem = largeProblem(static_cast<std::uint32_t>(state.range(0)), 1);
  if (!problem) {
    state.SkipWithError(problem.error().text().c_str());
    return;
  }
  const std::vector<DeviceId> assignment = randomAssignment(*problem, 2);
  Sweep sweep(*problem);
  for (auto _ : state) benchmark::DoNotOptimize(sweep.run(problem->graph.topologicalOrder(), assignment));
  state.counters["ops"] = static_cast<double>(problem->opCount());
}
BENCHMARK(sweep)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace allot::bench
