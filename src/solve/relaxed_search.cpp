#include "solve/relaxed_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/evaluate.h"
#include "solve/baselines/baselines.h"
#include "solve/exhaustive/exhaustive.h"
#include "solve/local_search/local_search.h"

namespace allot {
namespace {

// Shares of the time: the relaxed problem at first, the rules alone, each round with a margin.
constexpr double kFirstShare = 0.4, kRulesShare = 0.1, kRoundShare = 0.15;
constexpr int kRounds = 10;
constexpr double kLeastRound = 8;  // times what the end of a search takes
constexpr std::uint32_t kAnnealTurns = 8;
// A margin is fine enough within this share of the device.
constexpr double kFine = 0.01;
// Margins grow by a little more than was missing, for another plan will not miss the same.
constexpr double kRoom = 1.02;

// A collector of the relaxed problem that values every plan in the problem itself too.
class Listener : public Collector {
 public:
  // `bounds`: whether bounds of this problem are bounds of the true one.
  Listener(const Problem& seen, const Budget& budget, Collector& truth, bool bounds)
      : Collector(seen, budget, {}), truth_(truth), bounds_(bounds) {}

  bool plan(Plan decisions, std::string_view solver) override {
    truth_.plan(decisions, solver);
    return Collector::plan(std::move(decisions), solver);
  }
  void bound(double bound, std::string_view solver) override {
    Collector::bound(bound, solver);
    if (bounds_) truth_.bound(bound, solver);
  }

 private:
  Collector& truth_;
  bool bounds_;
};

class MarginSearch {
 public:
  MarginSearch(const Problem& problem, const Problem& relaxed, const Solver* only, double seconds,
               const Budget& budget, Collector& truth)
      : problem_(problem),
        relaxed_(relaxed),
        only_(only),
        seconds_(kRoundShare * seconds),
        budget_(budget),
        truth_(truth),
        margin_(problem.deviceCount(), 0),
        too_little_(margin_) {}

  bool interrupted() const { return interrupted_; }

  void run(Plan last) {
    for (int round = 0; round < kRounds && !truth_.done(); ++round) {
      // A round values its plan twice before it begins, and each plan that it finds twice again.
      if (budget_.stopped() || budget_.remainingSeconds() < kLeastRound * truth_.secondsToFinish()) {
        interrupted_ = true;
        return;
      }
      if (!chooseMargins(last)) return;
      const Problem tighter = withMargins();
      if (findConflict(tighter)) {
        last = {};
        continue;
      }
      const Budget part = budget_.slice(seconds_);
      Listener found(tighter, part, truth_, false);
      interrupted_ = runCourse(tighter, only_, seconds_, part, found).interrupted || interrupted_;
      truth_.reportError(found.internalError());
      last = found.bestPlan() == nullptr ? Plan{} : *found.bestPlan();
    }
  }

 private:
  const Problem& problem_;
  const Problem& relaxed_;
  const Solver* only_;
  double seconds_;
  const Budget& budget_;
  Collector& truth_;
  bool interrupted_ = false;
  std::vector<double> margin_;      // bytes by device
  std::vector<double> too_little_;  // the largest margins under which a plan held too much
  std::vector<double> enough_;      // the least under which none did that is of use; empty = not known
  std::vector<double> wanted_;      // what the last plan would have needed

  // False when nothing is to be gained any more.
  bool chooseMargins(const Plan& last) {
    const bool useless = last.assignment.empty() || last.value >= truth_.bestValue();
    const bool fits = useless || !raiseMargins(last);
    if (fits)
      enough_ = margin_;
    else
      too_little_ = margin_;
    if (fits || !enough_.empty()) {
      for (std::size_t d = 0; d < margin_.size(); ++d) margin_[d] = (too_little_[d] + enough_[d]) / 2;
    } else {
      margin_ = wanted_;
    }
    for (std::size_t d = 0; d < margin_.size(); ++d) {
      const double limit = problem_.memoryLimit(DeviceId(d));
      if (enough_.empty() || (std::isfinite(limit) && enough_[d] - too_little_[d] > kFine * limit))
        return true;
    }
    return false;
  }

  // What the plan would have needed; false when it fits. Devices that look the same get the same margin, so
  // that engines may still treat them as the same.
  bool raiseMargins(const Plan& last) {
    const Evaluation here = evaluate(problem_, last);
    if (here.valid()) return false;
    const Evaluation there = evaluate(relaxed_, last);
    wanted_ = margin_;
    bool over = false;
    for (std::size_t d = 0; d < margin_.size(); ++d) {
      const double held = here.plan.devices[d].memory_bytes;
      if (held <= problem_.memoryLimit(DeviceId(d))) continue;
      over = true;
      const double missing = kRoom * (held - there.plan.devices[d].memory_bytes);
      for (std::size_t e = 0; e < margin_.size(); ++e) {
        if (alike(d, e)) wanted_[e] = std::max(wanted_[e], missing);
      }
    }
    return over;
  }

  bool alike(std::size_t d, std::size_t e) const {
    const Device &a = problem_.cluster.devices[d], &b = problem_.cluster.devices[e];
    return a.cls == b.cls && a.memory_bytes == b.memory_bytes;
  }

  Problem withMargins() const {
    Problem tighter = relaxed_;
    tighter.modes.headroom = 0;
    for (std::size_t d = 0; d < margin_.size(); ++d) {
      const double limit = problem_.memoryLimit(DeviceId(d));
      if (!std::isfinite(limit)) continue;
      tighter.cluster.devices[d].memory_bytes =
          static_cast<std::int64_t>(std::max(0.0, std::floor(limit - margin_[d])));
    }
    return tighter;
  }
};

// Lets a search begin at a plan that need not be valid.
class FromPlan : public Progress {
 public:
  FromPlan(const Plan& start, Collector& truth) : start_(start), truth_(truth) {}

  bool plan(Plan decisions, std::string_view solver) override {
    return truth_.plan(std::move(decisions), solver);
  }
  void bound(double, std::string_view) override {}
  double bestValue() const override { return truth_.bestValue(); }
  double bestBound() const override { return truth_.bestBound(); }
  const Plan* bestPlan() const override { return &start_; }
  bool done() const override { return truth_.done(); }

 private:
  const Plan& start_;
  Collector& truth_;
};

// Annealing knows the true memory: from the best plan, and from the one that would be best if it fitted, in
// turn.
bool anneal(const Problem& problem, const Plan* relaxed_best, const Budget& budget, Collector& truth) {
  bool interrupted = false;
  for (std::uint32_t turn = 0; turn < kAnnealTurns && !truth.done(); ++turn) {
    const Plan* start = turn % 2 == 0 || relaxed_best == nullptr ? truth.bestPlan() : relaxed_best;
    if (start == nullptr) continue;
    if (budget.remainingSeconds() < kLeastRound * truth.secondsToFinish()) return true;
    Budget part = budget.slice(budget.remainingSeconds() / (kAnnealTurns - turn));
    part.seed += turn;
    const Plan from = *start;
    FromPlan progress(from, truth);
    interrupted = solveLocalSearch(problem, part, progress).end == SolveEnd::kStopped || interrupted;
  }
  return interrupted;
}

// The rules alone, each from nothing.
bool runRules(std::span<const Solver> rules, const Problem& relaxed, const Budget& budget, Collector& truth) {
  for (const Solver& rule : rules) {
    if (truth.done()) break;
    if (budget.stopped()) return true;
    if (!rule.accepts(relaxed)) continue;
    Listener alone(relaxed, budget, truth, true);
    if (rule.solve(relaxed, budget, alone).end == SolveEnd::kStopped) return true;
  }
  return false;
}

bool isRule(const Solver& solver) {
  const auto named = [&](const Solver& rule) { return rule.name == solver.name; };
  return std::any_of(baselineSolvers().begin(), baselineSolvers().end(), named) ||
         std::any_of(slowBaselineSolvers().begin(), slowBaselineSolvers().end(), named);
}

}  // namespace

std::optional<Problem> relaxedForEngines(const Problem& problem) {
  // Engines know no blocks, though those that one unit reads add up.
  const bool plain = problem.relaxedIsExact() && problem.graph.block_bytes.empty();
  if (plain && !problem.liveMemory()) return std::nullopt;
  Problem relaxed = problem.relaxed();
  if (plain && relaxed.memoryBars().empty()) return std::nullopt;
  return relaxed;
}

CourseEnd searchByRelaxation(const Problem& problem, const Problem& relaxed, const Solver* only,
                             const RunOptions& run, const Budget& budget, Collector& collector) {
  const double seconds = run.time_limit_seconds;
  CourseEnd end;
  const bool looks_at_all = only == nullptr || only->name == "exhaustive";
  if (looks_at_all && exhaustiveAccepts(problem)) {
    // It knows every term.
    const Budget part = budget.slice(kFirstShare * seconds);
    const SolveResult result = solveExhaustive(problem, part, collector);
    if (result.end == SolveEnd::kExhausted) return {true, false, fmt::format("exhaustive: {}", result.proof)};
    if (only != nullptr) return {false, result.end == SolveEnd::kStopped, ""};
  }
  // The fastest device may hold too much where another one does not.
  if (only == nullptr) findSolver("single")->solve(problem, budget, collector);
  const Budget first = budget.slice(kFirstShare * seconds);
  Listener listener(relaxed, first, collector, true);
  listener.bound(collector.bestBound(), "bounds");
  if (collector.bestPlan() != nullptr) listener.plan(*collector.bestPlan(), collector.bestPlan()->solver);
  end = runCourse(relaxed, only, kFirstShare * seconds, first, listener);
  const bool ended_early = end.proven || listener.done();
  if (end.proven) {
    if (listener.bestPlan() == nullptr) return end;
    collector.bound(listener.bestValue(), listener.bestPlan()->solver);
    end.proven = false;
    if (!collector.done()) end.proof.clear();
  }
  bool interrupted = end.interrupted;
  const Plan* best = listener.bestPlan();
  // Where the best plan of the relaxed problem is one here, memory decides nothing: its search goes on.
  const bool binds = best == nullptr || collector.bestValue() > best->value * (1 + kOptimalGap);
  // What proves the relaxed problem may do so before all rules have had their turn.
  if (only == nullptr && ended_early && !collector.done()) {
    const Budget part = budget.slice(kRulesShare * seconds);
    interrupted = runRules(baselineSolvers(), relaxed, part, collector) || interrupted;
    interrupted = runRules(slowBaselineSolvers(), relaxed, part, collector) || interrupted;
  }
  if (binds && (only == nullptr || !isRule(*only))) {
    MarginSearch margins(problem, relaxed, only, seconds, budget, collector);
    margins.run(best == nullptr ? Plan{} : *best);
    interrupted = interrupted || margins.interrupted();
  }
  if (binds && only == nullptr && !collector.done())
    interrupted = anneal(problem, best, budget, collector) || interrupted;
  if (end.interrupted && !collector.done() && !budget.stopped() && budget.work_limit == 0) {
    const CourseEnd again = runCourse(relaxed, only, budget.remainingSeconds(), budget, listener);
    if (again.proven && listener.bestPlan() == nullptr) return again;
    if (again.proven) collector.bound(listener.bestValue(), listener.bestPlan()->solver);
    interrupted = again.interrupted;
    if (collector.done()) end.proof = again.proof;
  }
  collector.reportError(listener.internalError());
  end.interrupted = interrupted;
  return end;
}

}  // namespace allot
