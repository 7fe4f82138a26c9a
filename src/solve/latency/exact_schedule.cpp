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

// The largest time of which all times of the window are multiples, or 0 where it is too small to matter.
// Every latency is a sum of times along a path, so it is a multiple too.
double grain(const ExactWindow& window) {
  std::vector<double> times;
  const auto add = [&](double time) {
    if (time > 0 && time < kCannotRun) times.push_back(time);
  };
  std::for_each(window.seconds.begin(), window.seconds.end(), add);
  std::for_each(window.launch.begin(), window.launch.end(), add);
  for (const ExactWindow::Net& net : window.nets) std::for_each(net.seconds.begin(), net.seconds.end(), add);
  if (times.empty()) return 0;
  const double largest = *std::max_element(times.begin(), times.end());
  double common = 0;
  for (double time : times) {
    // Euclid; what is left below rounding counts as nothing.
    while (time > 1e-6 * largest) {
      const double rest = common > 0 ? std::fabs(time - common * std::round(time / common)) : time;
      if (common == 0) {
        common = time;
        break;
      }
      if (rest <= 1e-9 * largest) break;
      time = common;
      common = rest;
    }
    if (common < 1e-3 * largest) return 0;
  }
  for (const double time : times) {
    if (std::fabs(time - common * std::round(time / common)) > 1e-9 * common) return 0;
  }
  return common;
}

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
    grain_ = grain(window_);
  }

  SolveResult run() {
    // The narrow beam gives the target that keeps the wider one short.
    search(target(), 1, 0);
    if (!ended() && !stopped()) search(target(), kFirstWidth, 0);
    if (!ended() && !stopped()) search(target(), 0, room(kFirstStates));
    Stage whole, relaxed;
    bool open = model_.link_mode != LinkMode::kFree;
    std::size_t width = kFirstWidth;
    while (!ended() && !stopped()) {
      if (open && relaxed.states <= 4 * whole.states) {
        advance(relaxed, [&](double below) { return searchRelaxed(below, room(relaxed.states), open); });
        continue;
      }
      const std::size_t states = whole.states;
      advance(whole, [&](double below) { return search(below, 0, room(whole.states)); });
      if (whole.states > states) search(target(), width *= 4, 0);
    }
    return result();
  }

 private:
  static constexpr std::size_t kFirstWidth = 10, kFirstStates = 3'000;
  // Targets and limits grow with success and failure.
  struct Stage {
    std::size_t states = kFirstStates;
    double step = 0.02;
    int failed = 0;
    double failed_at = kNever;  // target that took more partial schedules than the limit
  };

  const Problem& problem_;
  const Budget& budget_;
  Progress& progress_;
  ScheduleModel model_;
  ExactWindow window_;
  std::size_t states_ = 0;
  double found_ = kNever;  // least value met here, whether or not the plan was accepted
  double grain_ = 0;
  bool proven_ = false;

  bool stopped() const {
    return budget_.stopped() || (budget_.work_limit > 0 && states_ >= budget_.work_limit);
  }
  std::size_t room(std::size_t states) const {
    if (budget_.work_limit == 0) return states;
    return std::max<std::size_t>(
        1, std::min(states, budget_.work_limit - std::min(budget_.work_limit, states_)));
  }
  double target() const {
    const double best = std::min(progress_.bestValue(), found_);
    if (!(best < kNever)) return kNever;
    return best - std::max(best * kRounding, grain_ * (1 - 1e-3));
  }

  template <class Try>
  void advance(Stage& stage, Try&& attempt) {
    const double low = progress_.bestBound(), high = target();
    double middle = low + stage.step * std::max(low, 1e-3);
    // Half way between two multiples, so that rounding cannot decide.
    if (grain_ > 0) middle = (std::floor(std::max(middle / grain_, low / grain_ + 1e-3)) + 0.5) * grain_;
    const double below = std::min(middle, high);
    if (below >= stage.failed_at) {
      stage.states *= 4;
      stage.failed_at = kNever;
    }
    if (attempt(below)) {
      stage.step *= 1.5;
      return;
    }
    stage.failed_at = below;
    stage.step = std::min(stage.step, high < kNever && low > 0 ? high / low - 1 : stage.step) / 2;
    if (++stage.failed % 2 != 0) return;
    stage.states *= 4;
    stage.failed_at = kNever;
  }

  // Without ports the search is far smaller and its least value is a bound; `open` ends when it is known.
  bool searchRelaxed(double target, std::size_t states, bool& open) {
    ExactWindow window = window_;
    window.link_mode = LinkMode::kFree;
    const WindowResult result = searchWindow(window, {target, 0, states, &budget_});
    states_ += result.states;
    if (!result.complete) return false;
    const WindowPlan& plan = result.best.front();
    open = !(plan.value < kNever) && target < this->target();
    if (plan.value < kNever) progress_.plan(planOf(model_, {plan.device, plan.start, {}}), "schedule-exact");
    progress_.bound(std::min(target, plan.value) * (1 - kRounding), "schedule-exact");
    return true;
  }

  // True when the search looked at everything below the target.
  bool search(double target, std::size_t width, std::size_t states) {
    WindowLimits limits{target, width, states, &budget_};
    const WindowResult result = searchWindow(window_, limits);
    states_ += result.states;
    const WindowPlan& plan = result.best.front();
    if (plan.value < kNever) {
      found_ = std::min(found_, plan.value);
      Schedule schedule{plan.device, plan.start, plan.transfers};
      for (NetTransfer& transfer : schedule.transfers) transfer.net = window_.source_net[transfer.net];
      progress_.plan(planOf(model_, schedule), "schedule-exact");
    }
    if (!result.complete) return false;
    // Nothing better than what is known: multiples of the grain have nothing between.
    const double known = std::min(progress_.bestValue(), found_);
    if (target >= this->target()) proven_ = true;
    const double floor = proven_ ? known : grain_ > 0 ? grain_ * std::ceil(target / grain_ - 1e-3) : target;
    if (floor < kNever) progress_.bound(floor * (1 - kRounding), "schedule-exact");
    return true;
  }

  bool ended() const { return proven_ || progress_.done(); }

  SolveResult result() const {
    if (!ended()) return {SolveEnd::kStopped, ""};
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
