#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "solve/throughput/chain_rivals.h"
#include "solve/throughput/chain_search.h"
#include "solve/throughput/chain_walker.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A load is added up in another order when it is traced than when it was walked.
constexpr double kRounding = 1 + 1e-12;

}  // namespace

// One run with its own table.
template <std::size_t Q>
class ChainRun {
 public:
  ChainRun(const ChainSearch& search, const ChainLimits& limits, const Budget& budget, WalkCrew& crew)
      : search_(search),
        limits_(limits),
        table_(search.packing_.words, search.states_, budget.memory_bytes / 2),
        crew_(crew),
        rivals_(search, table_, limits.any),
        shared_{budget, table_, rivals_, crew_, limits.max_pairs, limits.any},
        waiting_(search.model_.problem->deviceCount() + 1),
        cutoff_(limits.cutoff) {
    for (std::uint32_t t = 0; t < std::max(1u, budget.threads); ++t) walkers_.emplace_back(search, shared_);
  }

  ChainOutcome run() {
    bool is_new = false;
    const std::vector<std::uint64_t> empty(search_.packing_.words, 0);
    rivals_.enter(search_.segments_.front());
    table_.insert(empty.data(), is_new);
    table_.lower(0, 0, 0);
    reach(0, 0);
    rivals_.sortNew();
    ChainOutcome outcome;
    for (std::size_t s = 0; s < search_.segments_.size(); ++s) {
      const ChainSegment& segment = search_.segments_[s];
      // Whatever leads to a state has fewer stages, or ends in a segment before.
      bool whole = true;
      for (std::size_t stages = 0; whole && stages < waiting_.size(); ++stages)
        whole = walkAll(std::exchange(waiting_[stages], {}), segment);
      whole =
          whole && (segment.barrier == kNoBarrier || leaveBarrier(segment.barrier, search_.segments_[s + 1]));
      outcome.pairs = pairs_;
      if (!whole) return outcome;
    }
    outcome.complete = true;
    outcome.ideals = table_.size();
    const auto [state, value] = best();
    if (!(value < limits_.cutoff)) return outcome;
    outcome.value = value;
    outcome.found = trace(*whole_, state, value, outcome);
    // Rounding hid the way back: then nothing is known.
    outcome.complete = outcome.found;
    return outcome;
  }

 private:
  using Walker = ChainWalker<Q>;
  using Entry = typename Walker::Entry;
  using Arrival = typename Walker::Arrival;

  const ChainSearch& search_;
  const ChainLimits& limits_;
  IdealTable table_;
  WalkCrew& crew_;
  ChainRivals rivals_;
  ChainShared shared_;
  struct Waiting {
    std::uint32_t ideal, state;
  };
  std::vector<std::vector<Waiting>> waiting_;  // by number of stages: states to walk from in the segment
  std::optional<std::uint32_t> whole_;         // the ideal of all items, once it is reached
  double cutoff_;
  std::deque<Walker> walkers_;
  std::uint64_t pairs_ = 0;
  const bool replicas_ = std::any_of(search_.options_.begin(), search_.options_.end(),
                                     [](const StageOption& option) { return option.replicas > 1; });

  std::pair<std::uint32_t, double> best() const {
    std::pair<std::uint32_t, double> least{0, kInfinity};
    for (std::uint32_t s = 0; whole_ && s < search_.states_; ++s) {
      const double value = table_.value(*whole_, s);
      if (value < least.second) least = {s, value};
    }
    return least;
  }

  bool replaces(double value, double other) const {
    return limits_.any ? mayReplace(value, other, cutoff_) : value <= other;
  }

  // Of these states of an ideal those below the cut-off that no other one with fewer devices replaces.
  std::vector<Entry> entriesOf(std::span<const Waiting> states) const {
    std::vector<Entry> entries;
    for (const Waiting& waiting : states) {
      const double value = table_.value(waiting.ideal, waiting.state);
      if (!(value < cutoff_)) continue;
      bool covered = false;
      for (std::uint32_t s = 0; search_.comparesStates() && s < waiting.state && !covered; ++s)
        covered = search_.covers(s, waiting.state) && replaces(table_.value(waiting.ideal, s), value);
      if (!covered) entries.push_back({waiting.state, value});
    }
    return entries;
  }

  void reach(std::uint32_t ideal, std::uint32_t state) {
    waiting_[search_.stagesOf(state)].push_back({ideal, state});
    rivals_.add(ideal, state);
  }

  // Gives tasks 0 .. n-1 to the walkers until all are done; false when out of time, pairs or memory.
  template <class Task>
  bool share(std::size_t n, Task&& task) {
    for (;;) {
      for (Walker& walker : walkers_) walker.pairs = 0;
      crew_.run(n, [&](std::size_t worker, std::size_t i, const WalkPart* part) {
        // Many walks are shorter than a look at the clock.
        if (i % 16 == 0) shared_.stopped();
        if (shared_.stop || shared_.full) return;
        walkers_[worker].begin(i, part);
        task(walkers_[worker], i);
      });
      for (Walker& walker : walkers_) {
        for (const auto& reached : walker.reached) {
          if (reached.items == search_.model_.itemCount())
            whole_ = reached.ideal;
          else
            reach(reached.ideal, reached.state);
        }
        walker.reached.clear();
      }
      rivals_.sortNew();
      if (shared_.stop) return false;
      if (!shared_.full) break;
      // Offers only ever lower values, so all can simply be done again in a larger table.
      if (!table_.grow()) return false;
      shared_.full = false;
    }
    for (Walker& walker : walkers_) {
      pairs_ += walker.pairs;
      walker.pairs = 0;
    }
    // A finished chain lowers the cut-off for the rest.
    cutoff_ = std::min(cutoff_, best().second);
    return pairs_ <= limits_.max_pairs;
  }

  // From all these states.
  bool walkAll(std::vector<Waiting> states, const ChainSegment& segment) {
    std::sort(states.begin(), states.end(), [](const Waiting& a, const Waiting& b) {
      return std::tie(a.ideal, a.state) < std::tie(b.ideal, b.state);
    });
    std::vector<std::span<const Waiting>> sources;
    for (std::size_t i = 0, end = 0; i < states.size(); i = end) {
      while (end < states.size() && states[end].ideal == states[i].ideal) ++end;
      sources.push_back({&states[i], end - i});
    }
    return share(sources.size(), [&](Walker& walker, std::size_t i) {
      const std::vector<Entry> entries = entriesOf(sources[i]);
      return entries.empty() ||
             walker.walk(sources[i].front().ideal, entries, segment, cutoff_, limits_.forward_cutoff);
    });
  }

  // Takes the stages that have arrived at a barrier on through the segment behind it.
  bool leaveBarrier(std::uint32_t barrier, const ChainSegment& segment) {
    std::vector<Arrival> arrivals;
    for (Walker& walker : walkers_) {
      arrivals.insert(arrivals.end(), walker.arrivals.begin(), walker.arrivals.end());
      walker.arrivals.clear();
    }
    rivals_.enter(segment);
    std::vector<std::vector<Arrival>> by_option(search_.options_.size());
    for (Arrival& arrival : unbeaten(arrivals)) by_option[arrival.option].push_back(arrival);
    std::erase_if(by_option, [](const auto& list) { return list.empty(); });
    return share(by_option.size(), [&](Walker& walker, std::size_t i) {
      return walker.walkFrom(barrier, by_option[i], segment, cutoff_, limits_.forward_cutoff);
    });
  }

  static constexpr std::size_t kValue = 2 * Q, kResident = 2 * Q + 1;
  struct Ranked {
    std::array<double, 2 * Q + 5> figures;  // all that counts later; less is better
    std::uint32_t option, state, index;

    bool beats(const Ranked& other) const {
      for (std::size_t f = 0; f < figures.size(); ++f) {
        if (figures[f] > other.figures[f]) return false;
      }
      return true;
    }
  };
  // Arrivals with the same option and state, by rising load.
  struct Group {
    std::vector<Ranked> members;
    std::vector<double> least_value, least_resident;  // of the members so far
  };

  Ranked rank(const Arrival& a, std::uint32_t index) const {
    Ranked r{{}, a.option, a.from.state, index};
    for (std::size_t q = 0; q < Q; ++q) {
      const double compute = a.sums.compute[q], transfer = a.sums.transfer[q];
      r.figures[2 * q] = search_.overlap_sum_ ? compute + transfer : compute;
      r.figures[2 * q + 1] = search_.overlap_sum_ ? 0 : transfer;
    }
    r.figures[kValue] = a.from.value;
    if (search_.memory_counts_) r.figures[kResident] = a.sums.resident;
    if (search_.memory_counts_) r.figures[2 * Q + 2] = a.sums.stash;
    if (replicas_) r.figures[2 * Q + 3] = a.sums.weights;
    if (replicas_) r.figures[2 * Q + 4] = a.sums.trains ? 1 : 0;
    return r;
  }

  // Arrivals of each option and state, none of which equals or beats another in all that counts later.
  std::vector<Group> group(const std::vector<Arrival>& all) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> by_group;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (all[i].from.value < cutoff_)
        by_group.emplace_back(std::uint64_t{all[i].option} << 32 | all[i].from.state, i);
    }
    std::sort(by_group.begin(), by_group.end());
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < by_group.size(); ++i) {
      if (i == 0 || by_group[i - 1].first != by_group[i].first) first.push_back(i);
    }
    std::vector<Group> groups(first.size());
    first.push_back(by_group.size());
    crew_.run(groups.size(), [&](std::size_t, std::size_t g, const WalkPart*) {
      std::vector<Ranked> ranked;
      for (std::size_t i = first[g]; i < first[g + 1]; ++i)
        ranked.push_back(rank(all[by_group[i].second], by_group[i].second));
      std::sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
        return std::tie(a.figures, all[a.index].sums.compute[0]) <
               std::tie(b.figures, all[b.index].sums.compute[0]);
      });
      Group& group = groups[g];
      double value = kInfinity, resident = kInfinity;
      for (std::size_t i = 0; i < ranked.size(); ++i) {
        if (i % 256 == 255 && shared_.stopped()) return;
        const Ranked& r = ranked[i];
        if (value <= r.figures[kValue] && resident <= r.figures[kResident] &&
            std::any_of(group.members.rbegin(), group.members.rend(),
                        [&](const Ranked& other) { return other.beats(r); }))
          continue;
        group.members.push_back(r);
        group.least_value.push_back(value = std::min(value, r.figures[kValue]));
        group.least_resident.push_back(resident = std::min(resident, r.figures[kResident]));
      }
    });
    return groups;
  }

  // Drops every arrival that another one with the same option equals or beats in all that counts later: first
  // within each group, then by groups that use fewer devices. Groups do not wait for each other.
  std::vector<Arrival> unbeaten(const std::vector<Arrival>& all) {
    const std::vector<Group> groups = group(all);
    std::vector<std::vector<std::uint32_t>> kept(groups.size());
    crew_.run(groups.size(), [&](std::size_t, std::size_t g, const WalkPart*) {
      if (shared_.stopped()) return;
      const Ranked& head = groups[g].members.front();
      std::vector<const Group*> others;
      for (std::size_t o = 0; o < g; ++o) {
        const Ranked& other = groups[o].members.front();
        if (other.option == head.option && search_.covers(other.state, head.state))
          others.push_back(&groups[o]);
      }
      for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
        if (i % 256 == 255 && shared_.stopped()) return;
        const Ranked& r = groups[g].members[i];
        const bool beaten =
            std::any_of(others.begin(), others.end(), [&](const Group* o) { return beatenBy(*o, r); });
        if (!beaten) kept[g].push_back(r.index);
      }
    });
    std::vector<Arrival> result;
    for (const auto& list : kept) {
      for (const std::uint32_t i : list) result.push_back(all[i]);
    }
    return result;
  }

  static bool beatenBy(const Group& group, const Ranked& r) {
    const auto end = std::upper_bound(group.members.begin(), group.members.end(), r.figures[0],
                                      [](double load, const Ranked& m) { return load < m.figures[0]; });
    if (end == group.members.begin()) return false;
    const auto last = static_cast<std::size_t>(end - group.members.begin()) - 1;
    if (group.least_value[last] > r.figures[kValue] || group.least_resident[last] > r.figures[kResident])
      return false;
    // From the back: with few figures that count, the last member has the least of the others.
    return std::any_of(std::make_reverse_iterator(end), group.members.rend(),
                       [&](const Ranked& other) { return other.beats(r); });
  }

  bool contains(const std::uint64_t* larger, const std::uint64_t* smaller) const {
    for (std::size_t c = 0; c < search_.packing_.chains.size(); ++c) {
      if (search_.packing_.held(smaller, c) > search_.packing_.held(larger, c)) return false;
    }
    return true;
  }

  // Finds the stages that made the value, first stage first: the whole set was reached last.
  bool trace(std::uint32_t ideal, std::uint32_t state, double value, ChainOutcome& outcome) const {
    const double busy = value + (Q == 2 ? limits_.forward_cutoff : 0);
    while (state != 0) {
      const std::uint64_t* here = table_.key(ideal);
      // Ways to have come to the state.
      struct Way {
        std::uint32_t option, state;
        double most_work;  // work alone rules most stages out
      };
      std::vector<Way> ways;
      for (std::uint32_t o = 0; o < search_.options_.size(); ++o) {
        const StageOption& option = search_.options_[o];
        for (std::uint32_t s = 0; s < state; ++s) {
          if (search_.next_state_[o * search_.states_ + s] == static_cast<std::int32_t>(state))
            ways.push_back({o, s, busy * option.replicas * option.weight[0] + search_.slack_[0]});
        }
      }
      ChainStage stage;
      std::uint32_t from = ideal, from_state = 0;
      double forward = 0, traced = 0;
      const auto look = [&](std::uint32_t i, const Way& way) {
        if (!(table_.value(i, way.state) <= value) || !contains(here, table_.key(i))) return;
        // The same choice whatever numbers the threads gave the ideals.
        if (from != ideal &&
            !std::lexicographical_compare(table_.key(i), table_.key(i) + search_.packing_.words,
                                          table_.key(from), table_.key(from) + search_.packing_.words))
          return;
        if (workBetween(table_.key(i), here) > way.most_work) return;
        std::vector<std::uint32_t> items = difference(here, table_.key(i));
        const auto load = search_.stageLoad(items, search_.options_[way.option], way.state);
        if (!(load.value <= value * kRounding) || load.forward > limits_.forward_cutoff * kRounding) return;
        forward = load.forward;
        traced = load.value;
        stage = {way.option, std::move(items)};
        from = i;
        from_state = way.state;
      };
      for (std::uint32_t i = 0; i < table_.size(); ++i) {
        for (const Way& way : ways) {
          if (i != ideal) look(i, way);
        }
      }
      if (from == ideal) return false;
      outcome.stages.push_back(std::move(stage));
      outcome.forward = std::max(outcome.forward, forward);
      outcome.traced = std::max(outcome.traced, traced);
      ideal = from;
      state = from_state;
    }
    return true;
  }

  double workBetween(const std::uint64_t* smaller, const std::uint64_t* larger) const {
    double sum = 0;
    for (std::size_t c = 0; c < search_.packing_.chains.size(); ++c) {
      sum += search_.chainSums(c, search_.packing_.held(larger, c))[search_.work_figure_] -
             search_.chainSums(c, search_.packing_.held(smaller, c))[search_.work_figure_];
    }
    return sum;
  }

  std::vector<std::uint32_t> difference(const std::uint64_t* larger, const std::uint64_t* smaller) const {
    std::vector<std::uint32_t> items;
    const IdealPacking& packing = search_.packing_;
    for (std::size_t c = 0; c < packing.chains.size(); ++c) {
      for (std::uint32_t i = packing.held(smaller, c); i < packing.held(larger, c); ++i)
        items.push_back(packing.chains[c][i]);
    }
    return items;
  }
};

ChainOutcome ChainSearch::run(const ChainLimits& limits, const Budget& budget, WalkCrew& crew) const {
  return by_parts_ ? ChainRun<2>(*this, limits, budget, crew).run()
                   : ChainRun<1>(*this, limits, budget, crew).run();
}

}  // namespace allot
