#include "solve/latency/module_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "solve/latency/barrier_modules.h"
#include "solve/latency/module_table.h"

namespace allot {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;
constexpr std::size_t kMostOps = 20'000;

class ModuleSolver {
 public:
  ModuleSolver(const ScheduleModel& model, const Modules& modules, const Budget& budget, Progress& progress)
      : budget_(budget), progress_(progress), model_(model), table_(model, modules.parts) {
    for (const ModuleTable::Module& module : table_.modules)
      effort_.emplace_back(module.ins, Effort{kFirstStates, 1, 0, model_.link_mode == LinkMode::kFree});
  }

  SolveResult run() {
    // The narrow beam gives the target that keeps the wider one short.
    beams(1);
    beams(kFirstWidth);
    while (!stopped()) {
      const ModuleTable::Distances low = table_.distances(false);
      progress_.bound(low.total * (1 - kRounding), "modules");
      if (progress_.done()) return {SolveEnd::kFinished, proof()};
      if (!(low.total < kNever)) break;
      if (!improve(low)) break;
    }
    return {stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, proof()};
  }

 private:
  struct Effort {
    std::size_t states;
    double step;  // of the target, as a share of an even split of what is open
    int failed;
    bool relaxed;  // what can be had without ports is known
  };
  static constexpr std::size_t kFirstStates = 5'000, kFirstWidth = 20;

  const Budget& budget_;
  Progress& progress_;
  const ScheduleModel& model_;
  ModuleTable table_;
  double reported_ = kNever;  // sum of upper costs along their least path that was last made a plan
  std::vector<std::vector<Effort>> effort_;  // by module and entry device
  std::size_t states_ = 0, searches_ = 0;

  bool stopped() const {
    return budget_.stopped() || (budget_.work_limit > 0 && states_ >= budget_.work_limit);
  }
  std::string proof() const {
    return fmt::format("{} modules between barriers, {} searches, {} partial schedules kept",
                       table_.modules.size(), searches_, states_);
  }

  // The least sum of costs is no more than this, whether or not the plan was accepted as a whole.
  double upper() const { return std::min(progress_.bestValue(), reported_); }
  std::size_t room(std::size_t states) const {
    if (budget_.work_limit == 0) return states;
    return std::max<std::size_t>(
        1, std::min(states, budget_.work_limit - std::min(budget_.work_limit, states_)));
  }

  // What is behind a module as tails of its exit.
  ExactWindow windowWithTails(std::size_t m, std::size_t in, const ModuleTable::Distances& low) const {
    ExactWindow window = table_.windowFrom(m, in);
    if (table_.modules[m].has_exit) {
      for (std::size_t out = 0; out < table_.modules[m].outs; ++out)
        window.tail[window.exit * window.devices + out] = low.behind[m][out];
    }
    return window;
  }

  void beams(std::size_t width) {
    const ModuleTable::Distances low = table_.distances(false);
    for (std::size_t m = 0; m < table_.modules.size(); ++m) {
      for (std::size_t in = 0; in < table_.modules[m].ins; ++in) {
        if (stopped()) return;
        if (table_.modules[m].in_runs[in])
          search(m, in, windowWithTails(m, in, low), upper() - low.before[m][in], width, 0);
      }
    }
    report();
  }

  // Plans found become upper costs. True when everything below the target was looked at.
  bool search(std::size_t m, std::size_t in, const ExactWindow& window, double target, std::size_t width,
              std::size_t states) {
    ModuleTable::Module& module = table_.modules[m];
    WindowResult result = searchWindow(window, {target, width, states > 0 ? room(states) : 0, &budget_});
    states_ += result.states;
    ++searches_;
    for (std::size_t out = 0; out < module.outs; ++out) {
      ModuleCost& cost = module.cost[in * module.outs + out];
      WindowPlan& plan = result.best[out];
      const double tail = module.has_exit ? window.tail[window.exit * window.devices + out] : 0;
      if (plan.end < cost.plan.end) cost.plan = std::move(plan);
      if (!result.complete) continue;
      cost.lower = std::max(cost.lower, std::min(cost.plan.end, target - tail));
    }
    return result.complete;
  }

  // The same without ports, where the search is far smaller: it only raises lower costs.
  bool searchRelaxed(std::size_t m, std::size_t in, ExactWindow window, double target, Effort& effort) {
    ModuleTable::Module& module = table_.modules[m];
    window.link_mode = LinkMode::kFree;
    const WindowResult result = searchWindow(window, {target, 0, room(effort.states), &budget_});
    states_ += result.states;
    ++searches_;
    if (!result.complete) return false;
    for (std::size_t out = 0; out < module.outs; ++out) {
      double& lower = module.cost[in * module.outs + out].lower;
      const double tail = module.has_exit ? window.tail[window.exit * window.devices + out] : 0;
      const double end = result.best[out].end;
      effort.relaxed = effort.relaxed || end < kNever;
      lower = std::max(lower, std::min(end * (1 - 1e-12), target - tail));
    }
    return true;
  }

  // Works on one module of the least path. False when nothing is left to do.
  bool improve(const ModuleTable::Distances& low) {
    const double best = upper();
    std::size_t chosen = table_.modules.size(), chosen_in = 0, open = 0, in = 0;
    double most = 0;
    for (std::size_t m = 0; m < table_.modules.size(); ++m) {
      const std::size_t out = low.path[m];
      const ModuleCost& cost = table_.modules[m].cost[in * table_.modules[m].outs + out];
      if (!cost.exact()) {
        ++open;
        const double width = cost.plan.end - cost.lower;
        const bool first = chosen == table_.modules.size();
        const std::size_t states = effort_[m][in].states;
        const std::size_t least = first ? 0 : effort_[chosen][chosen_in].states;
        if (first || states < least || (states == least && width > most)) {
          chosen = m;
          chosen_in = in;
          most = width;
        }
      }
      in = out;
    }
    if (open == 0) {
      report();
      return false;
    }
    Effort& effort = effort_[chosen][chosen_in];
    const double slack = best < kNever ? std::max(best - low.total, 1e-9 * best) : low.total;
    const double share = slack * std::min(1.0, effort.step / static_cast<double>(open));
    const ExactWindow window = windowWithTails(chosen, chosen_in, low);
    const double before = low.before[chosen][chosen_in];
    double target = low.total - before + share;
    if (best < kNever) target = std::min(target, best * (1 + kRounding) - before);
    const bool complete = effort.relaxed ? search(chosen, chosen_in, window, target, 0, effort.states)
                                         : searchRelaxed(chosen, chosen_in, window, target, effort);
    if (complete) {
      effort.step *= 2;
      effort.failed = 0;
    } else {
      effort.step /= 2;
      // A better plan lowers all targets.
      if (++effort.failed % 3 == 1) search(chosen, chosen_in, window, best - before, effort.states / 50, 0);
      if (effort.failed % 3 == 0) effort.states *= 4, effort.step *= 8;
    }
    report();
    return true;
  }

  // The plan along the least path of upper costs.
  void report() {
    const ModuleTable::Distances high = table_.distances(true);
    if (!(high.total < upper() * (1 - kRounding))) return;
    reported_ = high.total;
    Schedule schedule;
    schedule.device.assign(model_.opCount(), 0);
    schedule.start.assign(model_.opCount(), 0);
    double base = 0;
    std::size_t in = 0;
    for (std::size_t m = 0; m < table_.modules.size(); ++m) {
      const ModuleTable::Module& module = table_.modules[m];
      const WindowPlan& plan = module.cost[in * module.outs + high.path[m]].plan;
      for (std::size_t i = module.has_entry ? 1 : 0; i < plan.device.size(); ++i) {
        schedule.device[module.window.source_op[i]] = plan.device[i];
        schedule.start[module.window.source_op[i]] = base + plan.start[i];
      }
      for (const NetTransfer& transfer : plan.transfers)
        schedule.transfers.push_back({module.window.source_net[transfer.net], transfer.to,
                                      base + transfer.start, base + transfer.end});
      base += plan.end;
      in = high.path[m];
    }
    progress_.plan(planOf(model_, schedule), "modules");
  }
};

}  // namespace

bool moduleSolverAccepts(const Problem& problem) {
  return problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kEvents &&
         problem.opCount() > 1 && problem.opCount() <= kMostOps &&
         problem.deviceCount() <= ExactWindow::kMaxDevices;
}

SolveResult solveModules(const Problem& problem, const Budget& budget, Progress& progress) {
  const ScheduleModel model(problem);
  const Modules modules = barrierModules(model);
  for (const BarrierModule& part : modules.parts) {
    if (part.ops.size() > ExactWindow::kMaxOps) return {SolveEnd::kNotSuitable, ""};
  }
  return ModuleSolver(model, modules, budget, progress).run();
}

}  // namespace allot
