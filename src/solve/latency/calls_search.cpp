#include "solve/latency/calls_search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "solve/latency/calls_branches.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kAlikeBytes =
    1.0 / 256;                           // share of the memory that labels may differ in and be run together
constexpr std::size_t kGuideBeam = 500;  // of the run whose exits guide the whole one

struct CutLabel {
  double time = 0, bytes = 0;
  std::uint64_t used = 0;
  bool relaxed = false;
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
  CallSearch(const CallGraphFacts& facts, const std::vector<std::uint32_t>& calls, std::uint32_t calls_each,
             const CallSearchLimits& limits, const Budget& budget)
      : facts_(facts),
        items_(facts.items),
        calls_(calls),
        calls_each_(calls_each),
        limits_(limits),
        budget_(budget) {
    for (std::size_t p = 0; p < calls.size(); ++p) most_used_ |= std::uint64_t{calls[p]} << (8 * p);
    for (const std::uint32_t count : calls) most_calls_ += count;
    findPaths();
    branches_.resize(facts_.cuts.size() - 1);
    for (std::size_t m = 0; m + 1 < facts_.cuts.size(); ++m) {
      tied_.push_back(std::any_of(items_.tie.begin() + facts_.cuts[m],
                                  items_.tie.begin() + facts_.cuts[m + 1],
                                  [](std::uint32_t tie) { return tie != CallItems::kNone; }));
    }
    for (std::size_t m = 0; limits_.by_branches && m < branches_.size(); ++m) {
      branches_[m] = std::make_unique<CallBranches>(facts_, m);
      if (!branches_[m]->usable()) branches_[m] = nullptr;
    }
  }

  CallSearchOutcome run() {
    positions_.resize(facts_.cuts.size());
    positions_[0].cuts.push_back({});
    positions_[0].labels.push_back({});
    outcome_.complete = true;
    const bool whole = runClosed();
    outcome_.bound = rest_closed_[0][most_calls_];
    if (!whole) {
      outcome_.complete = false;
      return std::move(outcome_);
    }
    for (std::size_t m = 0; m + 1 < positions_.size(); ++m) {
      if (!step(m)) {
        outcome_.complete = false;
        return std::move(outcome_);
      }
    }
    const Position& last = positions_.back();
    std::uint32_t best = UINT32_MAX;
    double relaxed = limits_.below;
    for (std::uint32_t l = 0; l < last.labels.size(); ++l) {
      const CutLabel& label = last.labels[l];
      if (last.cuts[label.cut].pool >= 0) continue;
      if (label.relaxed)
        relaxed = std::min(relaxed, label.time);
      else if (best == UINT32_MAX || label.time < last.labels[best].time)
        best = l;
    }
    const double least = best == UINT32_MAX ? limits_.below : last.labels[best].time;
    if (outcome_.complete) outcome_.bound = std::max(outcome_.bound, std::min(relaxed, least));
    if (relaxed < least) outcome_.complete = false;
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
  std::uint32_t calls_each_;
  const CallSearchLimits& limits_;
  const Budget& budget_;
  std::uint64_t most_used_ = 0;
  std::uint32_t most_calls_ = 0;
  std::vector<std::uint8_t> tied_;  // by module: some unit has several items
  std::vector<double> least_;       // by module: least time of paths
  std::vector<double> before_;      // by cut: the same for all modules before it
  // By cut and calls left, up to most_calls_ + 1: no plan takes less from there to its end when it passes the
  // cut closed, or open.
  std::vector<std::vector<double>> rest_closed_, rest_open_;
  std::vector<ModuleExits> closed_runs_;                 // by module
  std::vector<std::unique_ptr<CallBranches>> branches_;  // by module: absent where there are none
  std::vector<Position> positions_;
  std::vector<std::vector<CallStep>> runs_;
  CallSearchOutcome outcome_;

  void findPaths() {
    const std::size_t modules = facts_.cuts.size() - 1;
    least_.assign(modules, 0);
    for (std::size_t m = 0; m < modules; ++m) {
      for (std::uint32_t v = facts_.cuts[m]; v < facts_.cuts[m + 1]; ++v) {
        least_[m] = std::max(least_[m], facts_.alone(v));
      }
    }
    before_.assign(modules + 1, 0);
    for (std::size_t m = 0; m < modules; ++m) before_[m + 1] = before_[m] + least_[m];
  }

  // Runs a module, first with a beam where that guides the whole run (it does not where units bind items).
  ModuleExits runGuided(std::size_t m, const CallCut& entry, const std::vector<std::uint32_t>& calls,
                        ModuleLimits module) {
    // Half of the time for one module, so that there is some for the bounds of those before it.
    const bool alone = limits_.beam > 0 || m == 0;
    const Budget budget = alone ? budget_ : budget_.slice(budget_.remainingSeconds() / 2);
    module.most_labels = limits_.most_labels;
    const bool guided = limits_.beam == 0 && !tied_[m];
    module.beam = guided ? kGuideBeam : limits_.beam;
    ModuleExits exits = runModule(facts_, m, entry, calls, calls_each_, module, budget);
    outcome_.labels += exits.labels;
    if (!exits.complete && guided && !budget.stopped()) {
      const ModuleExits known = std::move(exits);
      module.beam = 0;
      module.known = &known;
      exits = runModule(facts_, m, entry, calls, calls_each_, module, budget);
      outcome_.labels += exits.labels;
    }
    if (!exits.complete) outcome_.complete = false;
    return exits;
  }

  // Every module entered closed, and from that what the rest of a plan takes at least. False when some module
  // could not be run whole; the least times hold nevertheless.
  bool runClosed() {
    const std::size_t modules = facts_.cuts.size() - 1;
    const std::size_t width = most_calls_ + 2;
    rest_closed_.assign(modules + 1, std::vector<double>(width, 0));
    rest_open_ = rest_closed_;  // both 0 at the end
    closed_runs_.resize(modules);
    bool whole = true;
    for (std::size_t m = modules; m-- > 0;) {
      ModuleLimits module;
      for (std::uint32_t used = 0; used < width; ++used) {
        const std::size_t left = width - 1 - used;
        module.closed.push_back(limits_.below - before_[m] - rest_closed_[m + 1][left]);
        module.open.push_back(limits_.below - before_[m] - rest_open_[m + 1][left]);
      }
      const bool sound =
          !budget_.stopped() && (branches_[m] != nullptr ? restByBranches(m, module) : restByRun(m, module));
      if (sound) continue;
      whole = whole && limits_.beam > 0 && !budget_.stopped();
      for (std::size_t left = 0; left < width; ++left) {
        rest_closed_[m][left] = least_[m] + std::min(rest_closed_[m + 1][left], rest_open_[m + 1][left]);
        rest_open_[m][left] = rest_closed_[m][left];
      }
    }
    return whole;
  }

  // What follows for the rest from all exits of a module: exits at or above the limit were dropped; they are
  // of no use, but no way out either.
  void setRest(std::size_t m, const ModuleExits& exits, std::vector<double>& rest) const {
    for (std::size_t left = 0; left < rest.size(); ++left) {
      double least = limits_.below - before_[m];
      for (const CallExit& exit : exits.exits) {
        const std::size_t used = usedInAll(exit.used);
        if (used > left) continue;
        const auto& behind = exits.cuts[exit.cut].pool < 0 ? rest_closed_ : rest_open_;
        least = std::min(least, exit.time + behind[m + 1][left - used]);
      }
      rest[left] = least;
    }
  }

  // A call that is open at a cut could be closed there and another one opened: all nets across sent and
  // fetched, one more call used. So one more call is allowed here than there are.
  bool restByRun(std::size_t m, ModuleLimits& module) {
    std::vector<std::uint32_t> one_more = calls_;
    for (std::uint32_t& count : one_more) count = std::min(count + 1, kMostCallsOfPool);
    closed_runs_[m] = runGuided(m, {}, one_more, std::move(module));
    if (!closed_runs_[m].complete) return false;
    setRest(m, closed_runs_[m], rest_closed_[m]);
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
    for (std::size_t left = 0; left + 1 < rest_open_[m].size(); ++left) {
      const double path = least_[m] + std::min(rest_closed_[m + 1][left], rest_open_[m + 1][left]);
      rest_open_[m][left] = std::max(path, rest_closed_[m][left + 1] - across);
    }
    rest_open_[m].back() = least_[m] + std::min(rest_closed_[m + 1].back(), rest_open_[m + 1].back());
    return true;
  }

  // Both ways of entering; bytes are left out.
  bool restByBranches(std::size_t m, const ModuleLimits& module) {
    for (const bool open : {false, true}) {
      const ModuleExits exits = branches_[m]->run(open, most_calls_ + 1, false, module, budget_);
      outcome_.labels += exits.labels;
      if (!exits.complete) return false;
      setRest(m, exits, (open ? rest_open_ : rest_closed_)[m]);
    }
    return true;
  }

  bool step(std::size_t m) {
    const Position& here = positions_[m];
    for (std::uint32_t c = 0; c < here.cuts.size(); ++c) {
      std::vector<std::uint32_t> labels;
      for (std::uint32_t l = 0; l < here.labels.size(); ++l) {
        if (here.labels[l].cut == c) labels.push_back(l);
      }
      const auto bytesOf = [&](std::uint32_t l) { return here.labels[l].bytes; };
      std::stable_sort(labels.begin(), labels.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return bytesOf(a) < bytesOf(b); });
      // A unit may leave the open call and go on in another one of its accelerator: then all bytes count, and
      // labels that differ in them by more than a little are run one by one.
      const std::int32_t pool = here.cuts[c].pool;
      const bool apart = tied_[m] && calls_each_ > 1 && pool >= 0;
      const double alike =
          apart ? items_.pools[static_cast<std::size_t>(pool)].memory * kAlikeBytes : kInfinity;
      for (std::size_t first = 0, end = 0; first < labels.size(); first = end) {
        while (end < labels.size() && bytesOf(labels[end]) <= bytesOf(labels[first]) + alike) ++end;
        if (!stepFrom(m, c, {labels.data() + first, end - first})) return false;
      }
    }
    return true;
  }

  // From labels of one cut, by rising bytes.
  bool stepFrom(std::size_t m, std::uint32_t c, std::span<const std::uint32_t> labels) {
    const Position& here = positions_[m];
    Position& next = positions_[m + 1];
    ModuleLimits module;
    module.closed.assign(most_calls_ + 1, -kInfinity);
    module.open = module.closed;
    module.entry_bytes_least = here.labels[labels.front()].bytes;
    module.entry_bytes_most = here.labels[labels.back()].bytes;
    for (const std::uint32_t l : labels) {
      const CutLabel& label = here.labels[l];
      for (std::size_t used = 0; used + usedInAll(label.used) <= most_calls_; ++used) {
        const std::size_t left = most_calls_ - used - usedInAll(label.used);
        const double room = limits_.below - label.time;
        module.closed[used] = std::max(module.closed[used], room - rest_closed_[m + 1][left]);
        module.open[used] = std::max(module.open[used], room - rest_open_[m + 1][left]);
      }
    }
    const bool closed = here.cuts[c] == CallCut{};
    ModuleExits fresh;
    if (branches_[m] != nullptr) {
      fresh = branches_[m]->run(!closed, most_calls_, true, module, budget_);
      outcome_.labels += fresh.labels;
    } else if (!closed)
      fresh = runGuided(m, here.cuts[c], calls_, std::move(module));
    ModuleExits& exits = closed && branches_[m] == nullptr ? closed_runs_[m] : fresh;
    if (!exits.complete && (limits_.beam == 0 || budget_.stopped())) return false;
    const auto run = static_cast<std::uint32_t>(runs_.size());
    runs_.push_back(std::move(exits.steps));
    std::vector<std::uint32_t> cut_of;
    for (CallCut& cut : exits.cuts) {
      const auto at = std::find(next.cuts.begin(), next.cuts.end(), cut);
      cut_of.push_back(static_cast<std::uint32_t>(at - next.cuts.begin()));
      if (at == next.cuts.end()) next.cuts.push_back(cut);
    }
    return std::all_of(labels.begin(), labels.end(),
                       [&](std::uint32_t l) { return join(m, l, exits, cut_of, run); });
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
      label.relaxed = from.relaxed || exit.relaxed;
      label.cut = cut_of[exit.cut];
      label.from = l;
      label.run = run;
      label.step = exit.step;
      const auto beats = [](const CutLabel& a, const CutLabel& b) {
        return a.cut == b.cut && a.time <= b.time && a.bytes <= b.bytes && a.relaxed <= b.relaxed &&
               usesNoMore(a.used, b.used);
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
                              std::uint32_t calls_each, const CallSearchLimits& limits,
                              const Budget& budget) {
  return CallSearch(facts, calls, calls_each, limits, budget).run();
}

}  // namespace allot
