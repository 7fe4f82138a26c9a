#include "solve/latency/exact_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "solve/latency/exact_window.h"

namespace allot {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Bounds are sums in another order than the schedule's: taken off before one is reported or compared.
constexpr double kRounding = 1e-10;

class ExactSchedule {
 public:
  ExactSchedule(const Problem& problem, const Budget& budget, Progress& progress)
      : problem_(problem), budget_(budget), progress_(progress), model_(problem) {
    std::vector<std::uint32_t> all(model_.opCount());
    std::iota(all.begin(), all.end(), 0u);
    window_ = windowOf(model_, all);
    if (!model_.memoryNeverBinds()) {
      window_.memory = model_.memory;
      for (double& limit : window_.memory) limit *= 1 + 1e-12;
      window_.unit_bytes.assign(model_.unitCount(), 0);
      for (std::size_t op = 0; op < model_.opCount(); ++op)
        window_.unit_bytes[window_.unit[op]] = model_.unit_bytes[model_.unit[op]];
    }
  }

  SolveResult run() {
    std::size_t width = 32, states = 20'000;
    while (true) {
      search(target(), width, 0);
      if (proven_ || progress_.done()) return ended();
      search(target(), 0, room(states));
      if (proven_ || progress_.done()) return ended();
      if (stopped()) break;
      raiseBound(states);
      if (proven_ || progress_.done()) return ended();
      if (stopped()) break;
      width *= 4;
      states *= 4;
    }
    return {SolveEnd::kStopped, ""};
  }

 private:
  const Problem& problem_;
  const Budget& budget_;
  Progress& progress_;
  ScheduleModel model_;
  ExactWindow window_;
  std::size_t states_ = 0;
  double found_ = kNever;  // least value met here, whether or not the plan was accepted
  bool proven_ = false, memory_out_ = false;

  bool stopped() const {
    return memory_out_ || budget_.stopped() || (budget_.work_limit > 0 && states_ >= budget_.work_limit);
  }
  std::size_t room(std::size_t states) const {
    if (budget_.work_limit == 0) return states;
    return std::max<std::size_t>(
        1, std::min(states, budget_.work_limit - std::min(budget_.work_limit, states_)));
  }
  double target() const {
    const double best = std::min(progress_.bestValue(), found_);
    return best < kNever ? best * (1 - kRounding) : kNever;
  }

  // True when the search looked at everything below the target.
  bool search(double target, std::size_t width, std::size_t states) {
    WindowLimits limits{target, width, states, &budget_};
    const WindowResult result = searchWindow(window_, limits);
    states_ += result.states;
    if (states == 0 && width == 0 && !result.complete && !budget_.stopped()) memory_out_ = true;
    const WindowPlan& plan = result.best.front();
    if (plan.value < kNever) {
      found_ = std::min(found_, plan.value);
      Schedule schedule{plan.device, plan.start, plan.transfers};
      for (NetTransfer& transfer : schedule.transfers) transfer.net = window_.source_net[transfer.net];
      progress_.plan(planOf(model_, schedule), "schedule-exact");
    }
    if (!result.complete) return false;
    const double floor = std::min(target, found_ * (1 - kRounding));
    if (floor < kNever) progress_.bound(floor * (1 - kRounding), "schedule-exact");
    if (target >= this->target()) proven_ = true;
    return true;
  }

  // Refutes targets between bound and value, halving the distance to the last that was too much.
  void raiseBound(std::size_t states) {
    double high = target();
    if (!(high < kNever)) return;
    for (int tries = 0; tries < 5 && !stopped() && !proven_; ++tries) {
      const double low = progress_.bestBound();
      if (high - low < 1e-3 * high) return;
      const double middle = (low + high) / 2;
      if (!search(middle, 0, room(states))) high = middle;
    }
  }

  SolveResult ended() const {
    const std::string proof = fmt::format("search of all schedules, {} partial schedules kept", states_);
    // Under live memory, or where a plan was refused, only the bound holds.
    const bool settled =
        proven_ && problem_.modes.memory == MemoryModel::kStatic && (progress_.done() || !(found_ < kNever));
    return {settled ? SolveEnd::kExhausted : SolveEnd::kFinished, proof};
  }
};

}  // namespace

bool exactScheduleAccepts(const Problem& problem) {
  return problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kEvents &&
         problem.opCount() > 0 && problem.opCount() <= 64 &&
         problem.deviceCount() <= ExactWindow::kMaxDevices;
}

SolveResult solveExactSchedule(const Problem& problem, const Budget& budget, Progress& progress) {
  return ExactSchedule(problem, budget, progress).run();
}

}  // namespace allot
