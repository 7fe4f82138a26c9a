// The online engine measured: time of a re-plan, jobs lost or done twice, and its value against re-planning
// everything without limits and against plans that know every job from the start.
//
// Usage: allot_bench_online [events of the long run] [small cases]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "allot/online.h"
#include "allot/solve.h"
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
void decisionTime(std::uint32_t ready, std::uint32_t devices, bool chain, LinkMode mode, bool transfers) {
  OnlineShape shape;
  shape.models = 8;
  shape.ops = 10;
  shape.devices = devices;
  shape.chain = chain;
  shape.transfers = transfers;
  shape.link_mode = mode;
  const Problem problem = onlineProblem(7, shape);
  OnlineEngine engine = engineFor(problem, {});
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
      "{} jobs wait, {} devices, {}, {}: {} re-plans of up to {} ops, median {:.0f} us, p99 {:.0f} us, "
      "longest {:.0f} us\n",
      ready, devices, chain ? "chains" : "graphs", name(mode), seconds.size(), most,
      1e6 * share(seconds, 0.5), 1e6 * share(seconds, 0.99), 1e6 * share(seconds, 1));
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
    const std::string wrong = verifyLog(problem, result.decisions, engine);
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
  for (const bool chain : {true, false}) decisionTime(1000, 16, chain, LinkMode::kFree, false);
  decisionTime(1000, 16, false, LinkMode::kFullDuplex, true);
  OnlineShape shape;
  shape.models = 5;
  shape.ops = 12;
  shape.devices = 5;
  shape.chain = false;
  shape.transfers = true;
  shape.link_mode = LinkMode::kFullDuplex;
  clairvoyant(cases);
  longRun(events, 1, shape, 0.8);
  shape.memory = true;
  longRun(events, 2, shape, 0.8);
  shape.memory = false;
  longRun(events / 4, 1, shape, 0.5);
  longRun(events / 4, 1, shape, 0.95);
}
