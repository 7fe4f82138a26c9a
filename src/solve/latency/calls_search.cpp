#include "solve/latency/calls_search.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct CutLabel {
  double time = 0, bytes = 0;
  std::uint64_t used = 0;
  std::uint32_t cut = 0;   // how it stands: index into the cuts of its position
  std::uint32_t from = 0;  // label at the cut before
  std::uint32_t run = 0;   // module run that led here
  std::uint32_t step = 0;  // last step of that run
};

struct Position {
  std::vector<CallCut> cuts;
  std::vector<CutLabel> labels;
};

class CallSearch {
 public:
  CallSearch(const CallGraphFacts& facts, const std::vector<std::uint32_t>& calls, bool ties_by_call,
             const CallSearchLimits& limits, const Budget& budget)
      : facts_(facts),
        items_(facts.items),
        calls_(calls),
        ties_by_call_(ties_by_call),
        limits_(limits),
        budget_(budget) {
    for (std::size_t p = 0; p < calls.size(); ++p) most_used_ |= std::uint64_t{calls[p]} << (8 * p);
    suffix_.assign(facts.cuts.size(), 0);
    for (std::size_t m = facts.cuts.size() - 1; m-- > 0;) {
      double least = 0;
      for (std::uint32_t v = facts.cuts[m]; v < facts.cuts[m + 1]; ++v) {
        double time = items_.cpu[v] + facts.tail_cpu[v];
        for (std::size_t p = 0; p < items_.poolCount(); ++p)
          time = std::min(time, items_.onPool(v, p) + facts.tail_call[v]);
        least = std::max(least, time);
      }
      suffix_[m] = suffix_[m + 1] + least;
    }
  }

  CallSearchOutcome run() {
    positions_.resize(facts_.cuts.size());
    positions_[0].cuts.push_back({});
    positions_[0].labels.push_back({});
    outcome_.complete = true;
    for (std::size_t m = 0; m + 1 < positions_.size(); ++m) {
      if (!step(m)) {
        outcome_.complete = false;
        return std::move(outcome_);
      }
    }
    const Position& last = positions_.back();
    std::uint32_t best = UINT32_MAX;
    for (std::uint32_t l = 0; l < last.labels.size(); ++l) {
      if (last.cuts[last.labels[l].cut].pool >= 0) continue;
      if (best == UINT32_MAX || last.labels[l].time < last.labels[best].time) best = l;
    }
    if (best == UINT32_MAX) return std::move(outcome_);
    outcome_.found = true;
    outcome_.value = last.labels[best].time;
    trace(best);
    return std::move(outcome_);
  }

 private:
  const CallGraphFacts& facts_;
  const CallItems& items_;
  const std::vector<std::uint32_t>& calls_;
  bool ties_by_call_;
  const CallSearchLimits& limits_;
  const Budget& budget_;
  std::uint64_t most_used_ = 0;
  std::vector<double> suffix_;
  std::vector<Position> positions_;
  std::vector<std::vector<CallStep>> runs_;
  CallSearchOutcome outcome_;

  bool step(std::size_t m) {
    const Position& here = positions_[m];
    Position& next = positions_[m + 1];
    for (std::uint32_t c = 0; c < here.cuts.size(); ++c) {
      ModuleLimits module;
      double earliest = kInfinity;
      module.entry_bytes_least = kInfinity;
      for (const CutLabel& label : here.labels) {
        if (label.cut != c) continue;
        earliest = std::min(earliest, label.time);
        module.entry_bytes_least = std::min(module.entry_bytes_least, label.bytes);
        module.entry_bytes_most = std::max(module.entry_bytes_most, label.bytes);
      }
      if (earliest == kInfinity) continue;
      module.limit = limits_.below - earliest - suffix_[m + 1];
      module.beam = limits_.beam;
      module.most_labels = limits_.most_labels;
      ModuleExits exits = runModule(facts_, m, here.cuts[c], calls_, ties_by_call_, module, budget_);
      outcome_.labels += exits.labels;
      if (!exits.complete) outcome_.complete = false;
      if (!exits.complete && (limits_.beam == 0 || budget_.stopped())) return false;
      const auto run = static_cast<std::uint32_t>(runs_.size());
      runs_.push_back(std::move(exits.steps));
      std::vector<std::uint32_t> cut_of;
      for (CallCut& cut : exits.cuts) {
        const auto at = std::find(next.cuts.begin(), next.cuts.end(), cut);
        cut_of.push_back(static_cast<std::uint32_t>(at - next.cuts.begin()));
        if (at == next.cuts.end()) next.cuts.push_back(std::move(cut));
      }
      for (std::uint32_t l = 0; l < here.labels.size(); ++l) {
        if (here.labels[l].cut == c && !join(m, l, exits, cut_of, run)) return false;
      }
    }
    return true;
  }

  bool join(std::size_t m, std::uint32_t l, const ModuleExits& exits,
            const std::vector<std::uint32_t>& cut_of, std::uint32_t run) {
    const Position& here = positions_[m];
    Position& next = positions_[m + 1];
    const CutLabel& from = here.labels[l];
    const std::int32_t pool = here.cuts[from.cut].pool;
    const double room = pool >= 0 ? items_.pools[static_cast<std::size_t>(pool)].memory : kInfinity;
    if (budget_.stopped()) return false;
    for (const CallExit& exit : exits.exits) {
      CutLabel label;
      label.time = from.time + exit.time;
      if (label.time + suffix_[m + 1] >= limits_.below) continue;
      label.used = from.used + exit.used;
      if (!usesNoMore(label.used, most_used_)) continue;
      label.bytes = exit.goes_on ? from.bytes + exit.bytes : exit.bytes;
      if (exit.goes_on ? label.bytes > room : from.bytes + exit.entry_bytes > room) continue;
      label.cut = cut_of[exit.cut];
      label.from = l;
      label.run = run;
      label.step = exit.step;
      const auto beats = [](const CutLabel& a, const CutLabel& b) {
        return a.cut == b.cut && a.time <= b.time && a.bytes <= b.bytes && usesNoMore(a.used, b.used);
      };
      if (std::any_of(next.labels.begin(), next.labels.end(),
                      [&](const CutLabel& other) { return beats(other, label); }))
        continue;
      std::erase_if(next.labels, [&](const CutLabel& other) { return beats(label, other); });
      next.labels.push_back(label);
    }
    return true;
  }

  void trace(std::uint32_t best) {
    std::vector<CallStep> steps;  // from the last to the first
    for (std::size_t m = positions_.size() - 1; m > 0; --m) {
      const CutLabel& label = positions_[m].labels[best];
      const std::vector<CallStep>& run = runs_[label.run];
      for (std::uint32_t s = label.step; run[s].parent != UINT32_MAX; s = run[s].parent)
        steps.push_back(run[s]);
      best = label.from;
    }
    std::reverse(steps.begin(), steps.end());
    for (const CallStep& step : steps) {
      if (step.kind == CallStep::kClose) continue;
      if (step.kind == CallStep::kCpu) {
        outcome_.parts.push_back({-1, {step.item}, {}});
        continue;
      }
      if (step.kind == CallStep::kOpen) outcome_.parts.push_back({step.pool, {}, {}});
      CallPart& call = outcome_.parts.back();
      call.items.push_back(step.item);
      std::uint32_t i = 0;
      for (const std::uint32_t net : items_.item_outputs[step.item]) {
        if (items_.tail_bytes[net] <= 0) continue;
        if (!((step.sent >> i++) & 1))
          call.tails.insert(call.tails.end(), items_.tail_ops[net].begin(), items_.tail_ops[net].end());
      }
    }
  }
};

}  // namespace

CallSearchOutcome searchCalls(const CallGraphFacts& facts, const std::vector<std::uint32_t>& calls,
                              bool ties_by_call, const CallSearchLimits& limits, const Budget& budget) {
  return CallSearch(facts, calls, ties_by_call, limits, budget).run();
}

}  // namespace allot
