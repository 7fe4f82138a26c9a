// Schedules valued per second in link mode full-duplex: full passes, changes as the searches make them, and
// the proposals of a window one by one by the decoder and several at once by lanes.
#include <benchmark/benchmark.h>

#include "large_problem.h"
#include "solve/latency/anneal.h"
#include "solve/latency/lanes.h"

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

// Proposals in a window in the middle of the order, as the search by windows draws them.
class WindowOfMoves {
 public:
  explicit WindowOfMoves(const ScheduleModel& model)
      : decoder(model), neighbourhood(model, {0, static_cast<std::uint32_t>(model.opCount())}) {
    neighbourhood.begin(startOf(model));
    decoder.reset(sequence());
    const auto n = static_cast<std::uint32_t>(model.opCount());
    const std::uint32_t stride = decoder.stride(), begin = n / stride / 2 * stride;
    decoder.setWindow(sequence(), begin, std::min(n, begin + 4 * stride));
    neighbourhood.restrictTo(begin, std::min(n, begin + 2 * stride));
    Random random(3);
    while (moves.size() < 840) {
      neighbourhood.propose(random);
      if (neighbourhood.changedFrom() >= neighbourhood.changedUntil()) continue;
      neighbourhood.describe(moves.emplace_back());
      neighbourhood.undo();
    }
  }
  const Sequence& sequence() const { return neighbourhood.sequence(); }

  Decoder decoder;
  Neighbourhood neighbourhood;
  std::vector<Move> moves;
};

void window(benchmark::State& state, bool by_lanes) {
  const auto problem = duplexProblem(state);
  if (!problem) {
    state.SkipWithError(problem.error().text().c_str());
    return;
  }
  const ScheduleModel model(*problem);
  WindowOfMoves window(model);
  Lanes lanes(window.decoder);
  for (auto _ : state) {
    if (by_lanes) {
      for (std::size_t first = 0; first < window.moves.size(); first += lanes.room()) {
        lanes.clear();
        for (std::size_t i = first; i < first + lanes.room(); ++i) lanes.add(window.moves[i]);
        lanes.run(window.sequence());
        benchmark::DoNotOptimize(lanes.value(0));
      }
      continue;
    }
    for (const Move& move : window.moves) {
      window.neighbourhood.redo(move);
      benchmark::DoNotOptimize(window.decoder.tryChange(window.sequence(), window.neighbourhood.changedFrom(),
                                                        window.neighbourhood.changedUntil(), 0));
      window.decoder.reject(window.sequence());
      window.neighbourhood.undo();
    }
  }
  state.counters["evaluations"] = benchmark::Counter(
      static_cast<double>(state.iterations() * window.moves.size()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(window, decoder, false)->Arg(150)->Arg(1'400)->Arg(50'000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(window, lanes, true)->Arg(150)->Arg(1'400)->Arg(50'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace allot::bench
