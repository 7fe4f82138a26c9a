// Schedules valued per second in link mode full-duplex: full passes, and changes as the searches make them.
#include <benchmark/benchmark.h>

#include "large_problem.h"
#include "solve/latency/anneal.h"

namespace allot::bench {
namespace {

Result<Problem> duplexProblem(const benchmark::State& state) {
  auto problem = largeProblem(static_cast<std::uint32_t>(state.range(0)), 1);
  if (!problem) return problem;
  Modes modes = problem->modes;
  modes.link_mode = LinkMode::kFullDuplex;
  if (const auto set = problem->setModes(modes); !set) return tl::unexpected(set.error());
  return problem;
}

Sequence startOf(const ScheduleModel& model) {
  Sequence sequence;
  const std::vector<DeviceId> assignment = randomAssignment(*model.problem, 2);
  std::vector<std::uint32_t> order;
  for (std::uint32_t op = 0; op < model.opCount(); ++op) {
    order.push_back(op);
    sequence.device.push_back(assignment[model.op_id[op].index()].value);
  }
  sequence.setOrder(std::move(order));
  return sequence;
}

void decode(benchmark::State& state) {
  const auto problem = duplexProblem(state);
  if (!problem) {
    state.SkipWithError(problem.error().text().c_str());
    return;
  }
  const ScheduleModel model(*problem);
  const Sequence sequence = startOf(model);
  Decoder decoder(model);
  for (auto _ : state) benchmark::DoNotOptimize(decoder.reset(sequence));
  state.counters["evaluations"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(decode)->Arg(150)->Arg(1'400)->Arg(50'000)->Unit(benchmark::kMicrosecond);

void anneal(benchmark::State& state) {
  const auto problem = duplexProblem(state);
  if (!problem) {
    state.SkipWithError(problem.error().text().c_str());
    return;
  }
  const ScheduleModel model(*problem);
  RunOptions run;
  run.work_limit = 1;
  const Budget budget(run, nullptr);
  const SearchRange range{0, static_cast<std::uint32_t>(model.opCount()), false, true, timeGrid(model)};
  Annealer annealer(model, range);
  constexpr std::uint64_t kMoves = 20'000;
  for (auto _ : state) {
    Random random(1);
    benchmark::DoNotOptimize(annealer.run(
        startOf(model), {kMoves, 0.003, 1e-5, std::numeric_limits<double>::infinity()}, budget, random));
  }
  state.counters["evaluations"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kMoves), benchmark::Counter::kIsRate);
}
BENCHMARK(anneal)->Arg(150)->Arg(1'400)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace allot::bench
