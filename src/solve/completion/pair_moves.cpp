#include "solve/completion/pair_moves.h"

#include <algorithm>

#include "solve/completion/two_chains.h"

namespace allot {
namespace {

constexpr double kGain = 1e-9;  // share of the value that counts as better

std::vector<std::vector<ChainActivity>> activitiesOf(const ChainModel& model, const Plan& plan) {
  std::vector<std::vector<ChainActivity>> lists;
  for (const Chain& chain : model.chains) {
    auto& list = lists.emplace_back();
    for (std::uint32_t i = 0; i < chain.size(); ++i) {
      const std::size_t op = chain.ops[i].index();
      const std::uint32_t device = plan.assignment[op].value;
      list.push_back({i, device, device, plan.start[op], plan.end[op]});
    }
  }
  return lists;
}

BusyTimes busyWithout(const ChainModel& model, const std::vector<std::vector<ChainActivity>>& lists,
                      std::size_t first, std::size_t second) {
  BusyTimes busy(model.devices);
  for (std::size_t c = 0; c < lists.size(); ++c) {
    if (c == first || c == second) continue;
    for (const ChainActivity& activity : lists[c]) {
      if (activity.end > activity.start) busy[activity.to].emplace_back(activity.start, activity.end);
    }
  }
  for (auto& intervals : busy) std::sort(intervals.begin(), intervals.end());
  return busy;
}

}  // namespace

bool improvePairs(const Problem& problem, const ChainModel& model, std::size_t cap, const Budget& budget,
                  Progress& progress) {
  const std::size_t chains = model.chains.size();
  if (progress.bestPlan() == nullptr || chains < 2) return true;
  std::vector<std::vector<ChainActivity>> lists = activitiesOf(model, *progress.bestPlan());
  bool better = true;
  while (better && !progress.done()) {
    better = false;
    for (std::size_t a = 0; a < chains; ++a) {
      for (std::size_t b = a + 1; b < chains; ++b) {
        const Chain& first = model.chains[a];
        const Chain& second = model.chains[b];
        const BusyTimes busy = busyWithout(model, lists, a, b);
        const double now = first.weight * lists[a].back().end + second.weight * lists[b].back().end;
        TwoChains programme(model, first, second, &busy);
        const TwoChainsEnd end = programme.run(now * (1 - kGain), cap, budget);
        if (end == TwoChainsEnd::kStopped) return false;
        if (end != TwoChainsEnd::kDone || !(programme.value() < now)) continue;
        auto pair = programme.activities();
        std::vector<std::vector<ChainActivity>> next = lists;
        next[a] = std::move(pair[0]);
        next[b] = std::move(pair[1]);
        if (!progress.plan(planOfChains(problem, model, next), "completion-search")) continue;
        // As timed by the receiver, which moves the others to the left.
        lists = activitiesOf(model, *progress.bestPlan());
        better = true;
      }
    }
  }
  return true;
}

}  // namespace allot
