#include "solve/infeasible.h"

#include <fmt/format.h>

#include <limits>

#include "allot/evaluate.h"
#include "problem/calls_model.h"
#include "solve/exhaustive/exhaustive.h"
#include "solve/packing.h"

namespace allot {
namespace {

// Asks only whether there is a plan: stops a search at the first one.
class AnyPlan : public Progress {
 public:
  explicit AnyPlan(const Problem& problem) : problem_(problem) {}

  bool plan(Plan decisions, std::string_view) override {
    found_ = found_ || evaluate(problem_, std::move(decisions)).valid();
    return found_;
  }
  void bound(double, std::string_view) override {}
  // Once a plan is known nothing is better than it, which ends every branch of the search.
  double bestValue() const override { return found_ ? -1 : std::numeric_limits<double>::infinity(); }
  double bestBound() const override { return 0; }
  const Plan* bestPlan() const override { return nullptr; }
  bool done() const override { return found_; }

 private:
  const Problem& problem_;
  bool found_ = false;
};

// True when the problem surely has no plan.
bool surelyInfeasible(const Problem& problem, const Budget& budget) {
  if (findConflict(problem)) return true;
  if (!exhaustiveAccepts(problem)) return pack(problem, budget).end == PackingEnd::kNone;
  AnyPlan any(problem);
  return solveExhaustive(problem, budget, any).end == SolveEnd::kExhausted && !any.done();
}

// Removes from `list` what is not needed; `apply` puts the list into force.
template <class Item, class Apply>
void filter(std::vector<Item>& list, Apply&& infeasible_with) {
  for (std::size_t i = 0; i < list.size();) {
    std::vector<Item> fewer = list;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (infeasible_with(fewer))
      list = std::move(fewer);
    else
      ++i;
  }
}

}  // namespace

Conflict smallestConflict(const Problem& problem, const Budget& budget) {
  Problem work = problem;
  Constraints needed = problem.constraints;
  needed.order.clear();
  const auto infeasible = [&] {
    work.replacePlacement(needed);
    return !budget.stopped() && surelyInfeasible(work, budget);
  };
  const auto test = [&](auto& list) {
    filter(list, [&](const auto& fewer) {
      auto kept = std::exchange(list, fewer);
      const bool still = infeasible();
      list = std::move(kept);
      return still;
    });
  };
  test(needed.pin);
  test(needed.forbid);
  test(needed.together);
  Conflict conflict;
  const auto relax = [&](std::string fact, auto&& change) {
    const Problem before = work;
    change(work);
    if (!infeasible()) {
      work = before;
      conflict.facts.push_back(std::move(fact));
    }
  };
  if (problem.goal() == Goal::kThroughput) {
    if (problem.modes.contiguity != Contiguity::kNone && !problem.modes.in_flight) {
      relax(fmt::format("contiguity {}", name(problem.modes.contiguity)),
            [](Problem& p) { p.modes.contiguity = Contiguity::kNone; });
    }
    if (problem.modes.in_flight)
      relax("activations of samples in flight", [](Problem& p) { p.modes.in_flight = false; });
    if (problem.modes.max_stages > 0) {
      relax(fmt::format("at most {} stages", problem.modes.max_stages),
            [](Problem& p) { p.modes.max_stages = 0; });
    }
  }
  if (isCallsModel(problem)) {
    relax(fmt::format("at most {} calls of an accelerator", problem.modes.calls),
          [](Problem& p) { p.modes.calls = static_cast<std::uint32_t>(p.opCount()); });
  }
  relax("the memory of the devices", [](Problem& p) { p.dropMemoryLimits(); });
  const auto& ops = problem.graph.op_name;
  const auto& devices = problem.cluster.devices;
  for (const auto& [op, device] : needed.pin) {
    conflict.facts.push_back(
        fmt::format("op \"{}\" is pinned to {}", ops[op.index()], devices[device.index()].name));
  }
  for (const auto& [op, device] : needed.forbid) {
    conflict.facts.push_back(
        fmt::format("op \"{}\" is forbidden on {}", ops[op.index()], devices[device.index()].name));
  }
  for (const auto& set : needed.together) {
    conflict.facts.push_back(
        fmt::format("op \"{}\" and {} others must share a device", ops[set.front().index()], set.size() - 1));
  }
  if (conflict.facts.empty()) conflict.facts.push_back("the ops' devices and groups leave no plan");
  return conflict;
}

}  // namespace allot
