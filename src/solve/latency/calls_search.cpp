#include "solve/latency/calls_search.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kGuideBeam = 500;  // of the run whose exits guide the whole one

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
    for (const std::uint32_t count : calls) most_calls_ += count;
    findPaths();
  }

  CallSearchOutcome run() {
    positions_.resize(facts_.cuts.size());
    positions_[0].cuts.push_back({});
    positions_[0].labels.push_back({});
    outcome_.complete = true;
    if (!runClosed()) {
      outcome_.complete = false;
      return std::move(outcome_);
    }
    outcome_.bound = rest_closed_[0][most_calls_];
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
  std::uint32_t most_calls_ = 0;
  std::vector<double> before_, behind_;  // by cut: least time of paths
  // By cut and calls left, up to most_calls_ + 1: no plan takes less from there to its end when it passes the
  // cut closed, or open.
  std::vector<std::vector<double>> rest_closed_, rest_open_;
  std::vector<ModuleExits> closed_runs_;  // by module
  std::vector<Position> positions_;
  std::vector<std::vector<CallStep>> runs_;
  CallSearchOutcome outcome_;

  void findPaths() {
    const std::size_t modules = facts_.cuts.size() - 1;
    std::vector<double> least(modules, 0);
    for (std::size_t m = 0; m < modules; ++m) {
      for (std::uint32_t v = facts_.cuts[m]; v < facts_.cuts[m + 1]; ++v) {
        double time = items_.cpu[v] + facts_.tail_cpu[v];
        for (std::size_t p = 0; p < items_.poolCount(); ++p)
          time = std::min(time, items_.onPool(v, p) + facts_.tail_call[v]);
        least[m] = std::max(least[m], time);
      }
    }
    before_.assign(modules + 1, 0);
    behind_.assign(modules + 1, 0);
    for (std::size_t m = 0; m < modules; ++m) before_[m + 1] = before_[m] + least[m];
    for (std::size_t m = modules; m-- > 0;) behind_[m] = behind_[m + 1] + least[m];
  }

  // Runs a module, first with a beam where that guides the whole run.
  ModuleExits runGuided(std::size_t m, const CallCut& entry, const std::vector<std::uint32_t>& calls,
                        ModuleLimits module) {
    module.beam = limits_.beam > 0 ? limits_.beam : kGuideBeam;
    module.most_labels = limits_.most_labels;
    ModuleExits exits = runModule(facts_, m, entry, calls, ties_by_call_, module, budget_);
    outcome_.labels += exits.labels;
    if (!exits.complete && limits_.beam == 0 && !budget_.stopped()) {
      const ModuleExits known = std::move(exits);
      module.beam = 0;
      module.known = &known;
      exits = runModule(facts_, m, entry, calls, ties_by_call_, module, budget_);
      outcome_.labels += exits.labels;
    }
    if (!exits.complete) outcome_.complete = false;
    return exits;
  }

  // Every module entered closed, and from that what the rest of a plan takes at least. A call that is open at
  // a cut could be closed there and another one opened: all nets across sent and fetched, one more call used.
  bool runClosed() {
    const std::size_t modules = facts_.cuts.size() - 1;
    const std::size_t width = most_calls_ + 2;
    std::vector<std::uint32_t> one_more = calls_;
    for (std::uint32_t& count : one_more) count = std::min(count + 1, kMostCallsOfPool);
    rest_closed_.assign(modules + 1, std::vector<double>(width, 0));
    rest_open_ = rest_closed_;  // both 0 at the end
    closed_runs_.resize(modules);
    for (std::size_t m = modules; m-- > 0;) {
      ModuleLimits module;
      for (std::uint32_t used = 0; used < width; ++used) {
        const std::size_t left = width - 1 - used;
        module.closed.push_back(limits_.below - before_[m] - rest_closed_[m + 1][left]);
        module.open.push_back(limits_.below - before_[m] - rest_open_[m + 1][left]);
      }
      closed_runs_[m] = runGuided(m, {}, one_more, std::move(module));
      const ModuleExits& exits = closed_runs_[m];
      if (!exits.complete && (limits_.beam == 0 || budget_.stopped())) return false;
      double across = 0;
      for (std::uint32_t net = 0; net < items_.netCount(); ++net) {
        if (items_.net_producer[net] >= facts_.cuts[m] || items_.net_consumers[net].empty() ||
            items_.net_consumers[net].back() < facts_.cuts[m])
          continue;
        double most = 0;
        for (std::size_t p = 0; p < items_.poolCount(); ++p)
          most = std::max(most, items_.in(net, p) + items_.out(net, p));
        across += most;
      }
      // Units bound across items, and a beam, leave ways out that closed runs do not show.
      const bool sound = exits.complete && items_.tie_count == 0;
      for (std::size_t left = 0; left < width; ++left) {
        double least = sound ? kInfinity : behind_[m];
        for (const CallExit& exit : exits.exits) {
          const std::size_t used = usedInAll(exit.used);
          if (!sound || used > left) continue;
          const auto& rest = exits.cuts[exit.cut].pool < 0 ? rest_closed_ : rest_open_;
          least = std::min(least, exit.time + rest[m + 1][left - used]);
        }
        // Exits at or above the limit were dropped: they are of no use, but no way out either.
        rest_closed_[m][left] = std::max(behind_[m], std::min(least, limits_.below - before_[m]));
      }
      for (std::size_t left = 0; left < width; ++left) {
        rest_open_[m][left] =
            left + 1 < width ? std::max(behind_[m], rest_closed_[m][left + 1] - across) : behind_[m];
      }
    }
    return true;
  }

  bool step(std::size_t m) {
    const Position& here = positions_[m];
    Position& next = positions_[m + 1];
    for (std::uint32_t c = 0; c < here.cuts.size(); ++c) {
      ModuleLimits module;
      module.closed.assign(most_calls_ + 1, -kInfinity);
      module.open = module.closed;
      module.entry_bytes_least = kInfinity;
      bool any = false;
      for (const CutLabel& label : here.labels) {
        if (label.cut != c) continue;
        any = true;
        module.entry_bytes_least = std::min(module.entry_bytes_least, label.bytes);
        module.entry_bytes_most = std::max(module.entry_bytes_most, label.bytes);
        for (std::size_t used = 0; used + usedInAll(label.used) <= most_calls_; ++used) {
          const std::size_t left = most_calls_ - used - usedInAll(label.used);
          const double room = limits_.below - label.time;
          module.closed[used] = std::max(module.closed[used], room - rest_closed_[m + 1][left]);
          module.open[used] = std::max(module.open[used], room - rest_open_[m + 1][left]);
        }
      }
      if (!any) continue;
      const bool closed = here.cuts[c] == CallCut{};
      ModuleExits fresh;
      if (!closed) fresh = runGuided(m, here.cuts[c], calls_, std::move(module));
      ModuleExits& exits = closed ? closed_runs_[m] : fresh;
      if (!exits.complete && (limits_.beam == 0 || budget_.stopped())) return false;
      const auto run = static_cast<std::uint32_t>(runs_.size());
      runs_.push_back(std::move(exits.steps));
      std::vector<std::uint32_t> cut_of;
      for (CallCut& cut : exits.cuts) {
        const auto at = std::find(next.cuts.begin(), next.cuts.end(), cut);
        cut_of.push_back(static_cast<std::uint32_t>(at - next.cuts.begin()));
        if (at == next.cuts.end()) next.cuts.push_back(cut);
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
      label.used = from.used + exit.used;
      if (!usesNoMore(label.used, most_used_)) continue;
      const auto& rest = exits.cuts[exit.cut].pool < 0 ? rest_closed_ : rest_open_;
      if (label.time + rest[m + 1][most_calls_ - usedInAll(label.used)] >= limits_.below) continue;
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
