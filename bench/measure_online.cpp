// The online engine measured: time of a re-plan, jobs lost or done twice, what the flow of job queues gives,
// and the value against re-planning everything without limits and against plans that know every job from the
// start.
//
// Usage: allot_bench_online [events of the long run] [small cases]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "allot/online.h"
#include "allot/solve.h"
#include "solve/online/engine_state.h"
#include "support/online_log.h"
#include "support/online_offline.h"
#include "support/online_problem.h"

namespace allot {
namespace {

double share(std::vector<double> list, double part) {
  std::sort(list.begin(), list.end());
  return list[std::min(list.size() - 1, static_cast<std::size_t>(part * static_cast<double>(list.size())))];
}

EventLog logOf(const std::vector<OnlineEvent>& events) {
  EventLog log;
  for (const OnlineEvent& event : events) log.lines.push_back({1, event});
  return log;
}

OnlineEngine engineFor(const Problem& problem, const OnlineOptions& options) {
  auto engine = OnlineEngine::create(problem, options);
  if (!engine) {
    fmt::print(stderr, "{}\n", engine.error().text());
    std::exit(1);
  }
  return std::move(*engine);
}

double response(const OnlineEngine& engine) {
  double sum = 0;
  for (std::size_t j = 0; j < engine.jobCount(); ++j) {
    const JobReport job = engine.job(JobId(j));
    if (!std::isnan(job.completion)) sum += job.weight * (job.completion - job.arrival);
  }
  return sum;
}

// So many jobs wait that there are at least `ready` ops to choose from at every decision.
void decisionTime(std::uint32_t ready, const OnlineShape& shape, std::uint32_t max_moves) {
  const Problem problem = onlineProblem(7, shape);
  OnlineOptions options;
  options.max_moves = max_moves;
  OnlineEngine engine = engineFor(problem, options);
  std::vector<OnlineEvent> events = randomEvents(problem, 7, ready + 1000, 1, true);
  const double first = events[ready].time;
  for (OnlineEvent& event : events) event.time = std::max(0.0, event.time - first);
  replay(engine, logOf(events), "events");
  std::vector<double> seconds;
  std::size_t most = 0;
  for (const ReplanReport& report : engine.replans()) {
    seconds.push_back(report.seconds);
    most = std::max(most, report.planned_ops);
  }
  fmt::print(
      "{} jobs of {} ops wait, {} devices of {} kinds, {}, {}{}: {} re-plans of up to {} ops, median {:.0f} "
      "us, "
      "p99 {:.0f} us, longest {:.0f} us\n",
      ready, shape.ops, shape.devices, shape.kinds + 1, shape.chain ? "chains" : "graphs",
      name(shape.link_mode), max_moves == OnlineOptions::kAnyMoves ? "" : ", 5 moves", seconds.size(), most,
      1e6 * share(seconds, 0.5), 1e6 * share(seconds, 0.99), 1e6 * share(seconds, 1));
}

// Response with and without the flow of job queues, and how often its plan is taken.
void queueFlow(const OnlineShape& shape, double load, std::uint32_t max_moves) {
  double sum[2] = {0, 0};
  std::size_t plans = 0, priced = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Problem problem = onlineProblem(seed, shape);
    const std::vector<OnlineEvent> events = randomEvents(problem, seed, 300, load, true);
    for (const bool use : {false, true}) {
      OnlineOptions options;
      options.max_moves = max_moves;
      online::EngineState state(problem, options, *online::modelPlansOf(problem));
      state.planner.use_queues = use;
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (!state.apply(events[i])) std::exit(1);
        if (i + 1 == events.size() || events[i + 1].time > events[i].time) state.replan();
      }
      state.advance(online::kNever);
      for (const online::Job& job : state.world.jobs) sum[use] += job.report.completion - job.report.arrival;
      plans += use ? state.replans.size() : 0;
      priced += state.priced;
    }
  }
  fmt::print(
      "queues, {} devices of {} kinds, {} of {} ops{}{}, load {:.1f}: response {:.3f}x, {:.0f}% of plans\n",
      shape.devices, shape.kinds + 1, shape.chain ? "chains" : "graphs", shape.ops,
      shape.transfers ? " with ports" : "", max_moves == OnlineOptions::kAnyMoves ? "" : ", 5 moves", load,
      sum[1] / sum[0], 100 * static_cast<double>(priced) / static_cast<double>(plans));
}

// A long life with failures: nothing lost, and the value against unlimited re-plans.
void longRun(std::uint32_t events, std::uint64_t seed, const OnlineShape& shape, double load) {
  const Problem problem = onlineProblem(seed, shape);
  const EventLog log = logOf(randomEvents(problem, seed, events, load));
  struct Setting {
    const char* name;
    OnlineOptions options;
  };
  OnlineOptions five, none, scratch;
  five.max_moves = 5;
  none.max_moves = 0;
  scratch.work = 200'000;
  double best = 0, best_response = 0;
  for (const Setting& setting : {Setting{"from scratch", scratch}, Setting{"usual", {}},
                                 Setting{"at most 5 moves", five}, Setting{"no moves", none}}) {
    OnlineEngine engine = engineFor(problem, setting.options);
    const Replay result = replay(engine, log, "events");
    const std::string wrong = verifyLog(problem, result.taken, result.decisions, engine);
    std::size_t open = 0, moves = 0, forced = 0, repeats = 0;
    for (std::size_t j = 0; j < engine.jobCount(); ++j) {
      const JobReport job = engine.job(JobId(j));
      open += !job.left && std::isnan(job.completion);
    }
    std::vector<double> seconds;
    for (const ReplanReport& report : engine.replans()) {
      seconds.push_back(report.seconds);
      moves += report.moves;
      forced += report.forced_moves;
    }
    for (const Decision& decision : result.decisions) repeats += decision.kind == DecisionKind::kRepeat;
    if (best == 0) {
      best = engine.value();
      best_response = response(engine);
    }
    fmt::print(
        "{} events, {} devices, load {:.2f}, {}: {} jobs, {} unfinished, {} refused, log {}; value {:.4f}x, "
        "response {:.4f}x; {} moves, "
        "{} forced, {} repeats; median {:.0f} us, p99 {:.0f} us\n",
        events, shape.devices, load, setting.name, engine.jobCount(), open, result.errors.size(),
        wrong.empty() ? "sound" : wrong, engine.value() / best, response(engine) / best_response, moves,
        forced, repeats, 1e6 * share(seconds, 0.5), 1e6 * share(seconds, 0.99));
  }
}

// Against plans of the portfolio that know every job from the start.
void clairvoyant(std::uint32_t cases) {
  std::vector<double> value, response_ratio, gap;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    OnlineShape shape = randomShape(seed);
    shape.memory = false;
    shape.devices = std::max(2u, shape.devices);
    shape.ops = 3 + shape.ops / 2;
    const Problem problem = onlineProblem(seed, shape);
    OnlineEngine engine = engineFor(problem, {});
    replay(engine, logOf(randomEvents(problem, seed, 8, 1, true)), "events");
    const Problem offline = offlineProblem(problem, engine);
    RunOptions run;
    run.time_limit_seconds = 2;
    run.threads = 1;
    run.helpers = Helpers::kOff;
    const SolveOutcome outcome = solve(offline, run);
    if (!outcome.plan.hasPlan()) continue;
    double arrivals = 0;
    for (const double release : offline.model_release) arrivals += release;
    value.push_back(engine.value() / outcome.plan.value - 1);
    response_ratio.push_back((engine.value() - arrivals) / (outcome.plan.value - arrivals) - 1);
    gap.push_back(outcome.plan.gap());
  }
  fmt::print(
      "{} small cases against plans that know all: value median +{:.2f}%, p90 +{:.2f}%, worst +{:.2f}%; "
      "response median +{:.2f}%, p90 "
      "+{:.2f}%, worst +{:.2f}%; gap of these plans median {:.2f}%\n",
      value.size(), 100 * share(value, 0.5), 100 * share(value, 0.9), 100 * share(value, 1),
      100 * share(response_ratio, 0.5), 100 * share(response_ratio, 0.9), 100 * share(response_ratio, 1),
      100 * share(gap, 0.5));
}

}  // namespace
}  // namespace allot

int main(int argc, char** argv) {
  using namespace allot;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto events = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 10'000);
  const auto cases = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 60);
  constexpr std::uint32_t kAny = OnlineOptions::kAnyMoves;
  const auto shapeOf = [](std::uint32_t devices, std::uint32_t kinds, std::uint32_t ops, bool chain,
                          bool ports) {
    OnlineShape shape;
    shape.models = 8;
    shape.ops = ops;
    shape.devices = devices;
    shape.kinds = kinds;
    shape.chain = chain;
    shape.transfers = ports;
    shape.link_mode = ports ? LinkMode::kFullDuplex : LinkMode::kFree;
    return shape;
  };
  for (const std::uint32_t moves : {kAny, 5u}) {
    for (const std::uint32_t kinds : {1u, 4u}) {
      decisionTime(1000, shapeOf(16, kinds, 10, true, false), moves);
      decisionTime(1000, shapeOf(16, kinds, 10, false, false), moves);
      decisionTime(1000, shapeOf(16, kinds, 10, false, true), moves);
      decisionTime(1000, shapeOf(16, kinds, 1, true, false), moves);
    }
  }
  for (const double load : {0.8, 1.5}) {
    for (const auto& [devices, kinds] : {std::pair{5u, 1u}, {4u, 3u}, {16u, 4u}}) {
      queueFlow(shapeOf(devices, kinds, 1, true, false), load, kAny);
      queueFlow(shapeOf(devices, kinds, 10, true, false), load, kAny);
      queueFlow(shapeOf(devices, kinds, 10, false, true), load, kAny);
      queueFlow(shapeOf(devices, kinds, 10, false, true), load, 5);
    }
  }
  OnlineShape shape;
  shape.models = 5;
  shape.ops = 12;
  shape.devices = 5;
  shape.chain = false;
  shape.transfers = true;
  shape.link_mode = LinkMode::kFullDuplex;
  if (cases > 0) clairvoyant(cases);
  longRun(events, 1, shape, 0.8);
  shape.memory = true;
  longRun(events, 2, shape, 0.8);
  shape.memory = false;
  longRun(events / 4, 1, shape, 0.5);
  longRun(events / 4, 1, shape, 0.95);
}
