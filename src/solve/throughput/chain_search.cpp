#include "solve/throughput/chain_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/thread_pool.h"
#include "graph/contraction.h"
#include "solve/throughput/chain_walker.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Rounding of sums of work, as a share of the whole.
constexpr double kWindowSlack = 1e-9;
// A load is added up in another order when it is traced than when it was walked.
constexpr double kRounding = 1 + 1e-12;

// Items so that each comes after all that follow it in the forward graph.
std::vector<std::uint32_t> reverseOrder(const PipelineModel& model) {
  std::vector<std::uint32_t> left(model.itemCount()), order;
  for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
    left[v] = static_cast<std::uint32_t>(model.after[v].size());
    if (left[v] == 0) order.push_back(v);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::uint32_t u : model.before[order[i]]) {
      if (--left[u] == 0) order.push_back(u);
    }
  }
  return order;
}

}  // namespace

double StageOption::sync(double weights) const {
  double slowest = 0;
  for (const Ring& ring : rings) slowest = std::max(slowest, ring.per_byte * weights + ring.fixed);
  return slowest;
}

ChainSearch::ChainSearch(const PipelineModel& model, std::vector<std::uint32_t> counts)
    : model_(model),
      counts_(std::move(counts)),
      order_(reverseOrder(model)),
      packing_(model.after, order_),
      window_(model, counts_) {
  const Modes& modes = model.problem->modes;
  overlap_sum_ = modes.overlap == Overlap::kSum;
  by_parts_ = modes.training_load == TrainingLoad::kMaxParts;
  makeOptions();
  makeStates();
  if (suitable(SIZE_MAX)) {
    sumNeeds();
    findBarriers();
    sumChains();
  }
  for (std::size_t y = 0; y < window_.size(); ++y) slack_.push_back(kWindowSlack * window_.total(y));
}

void ChainSearch::makeOptions() {
  const Problem& problem = *model_.problem;
  // Replicas may come from all pools of one class: every way to take some, each pool in turn as the first.
  std::vector<std::uint32_t> taken(model_.poolCount(), 0);
  const auto addOption = [&](std::uint32_t first) {
    StageOption option;
    option.pool = first;
    option.taken = taken;
    option.replicas = std::accumulate(taken.begin(), taken.end(), 0u);
    option.memory = kInfinity;
    const double r = option.replicas;
    for (std::size_t a = 0; a < taken.size(); ++a) {
      if (taken[a] == 0) continue;
      option.memory = std::min(option.memory, model_.pools[a].memory);
      for (std::size_t b = 0; b < taken.size(); ++b) {
        if (taken[b] == 0 || (a == b && taken[a] < 2)) continue;
        const Link* link =
            problem.pairLink(model_.pools[a].devices.front(), model_.pools[b].devices[a == b ? 1 : 0]);
        if (link == nullptr) continue;
        option.rings.push_back(
            {2 * (r - 1) / r / link->bandwidth_bytes_per_second, 2 * (r - 1) * link->latency_seconds});
      }
    }
    options_.push_back(std::move(option));
  };
  const auto extend = [&](auto&& self, std::uint32_t pool, std::uint32_t cls) -> void {
    if (pool == model_.poolCount()) {
      for (std::uint32_t k = 0; k < pool; ++k) {
        if (taken[k] > 0) addOption(k);
      }
      return;
    }
    const bool same = model_.pools[pool].cls.value == cls;
    for (std::uint32_t r = 0; r <= (same ? counts_[pool] : 0); ++r) {
      taken[pool] = r;
      self(self, pool + 1, cls);
    }
    taken[pool] = 0;
  };
  if (problem.modes.replicate) {
    for (std::uint32_t cls = 0; cls < problem.cluster.classCount(); ++cls) extend(extend, 0, cls);
    return;
  }
  for (std::uint32_t k = 0; k < model_.poolCount(); ++k) {
    if (counts_[k] == 0) continue;
    std::fill(taken.begin(), taken.end(), 0);
    taken[k] = 1;
    addOption(k);
  }
}

void ChainSearch::makeStates() {
  const Modes& modes = model_.problem->modes;
  std::vector<std::size_t> stride;
  std::uint32_t devices = 0;
  for (const std::uint32_t c : counts_) {
    stride.push_back(states_);
    states_ = std::min<std::size_t>(states_ * (c + 1), std::size_t{1} << 40);
    devices += c;
  }
  // With replicas the devices used do not tell the number of stages.
  const bool count_stages = modes.replicate && (modes.in_flight || modes.max_stages > 0);
  const std::uint32_t most = modes.max_stages > 0 ? std::min(modes.max_stages, devices) : devices;
  const std::size_t combinations = states_;
  if (count_stages) states_ *= most + 1;
  if (!suitable(SIZE_MAX)) return;
  used_.resize(states_ * (counts_.size() + 1));
  next_state_.assign(options_.size() * states_, -1);
  capacity_.assign(states_ * CapacityWindow::kMost, 0);
  std::vector<std::uint32_t> left(counts_.size());
  for (std::size_t s = 0; s < states_; ++s) {
    std::uint32_t used = 0;
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const auto here = static_cast<std::uint32_t>(s % combinations / stride[k] % (counts_[k] + 1));
      used_[s * (counts_.size() + 1) + k] = here;
      left[k] = counts_[k] - here;
      used += here;
    }
    const std::uint32_t stages = count_stages ? static_cast<std::uint32_t>(s / combinations) : used;
    used_[(s + 1) * (counts_.size() + 1) - 1] = stages;
    const bool limited = modes.max_stages > 0 && !modes.replicate;
    for (std::size_t y = 0; y < window_.size(); ++y) {
      capacity_[s * CapacityWindow::kMost + y] =
          window_.capacity(y, left, limited ? most - std::min(most, stages) : UINT32_MAX);
    }
    if (stages >= most) continue;
    for (std::size_t o = 0; o < options_.size(); ++o) {
      std::size_t next = s + (count_stages ? combinations : 0);
      bool enough = true;
      for (std::size_t k = 0; k < left.size(); ++k) {
        enough = enough && options_[o].taken[k] <= left[k];
        next += options_[o].taken[k] * stride[k];
      }
      if (enough) next_state_[o * states_ + s] = static_cast<std::int32_t>(next);
    }
  }
}

void ChainSearch::sumNeeds() {
  const std::size_t n = model_.itemCount();
  constexpr std::size_t kY = CapacityWindow::kMost;
  without_.resize(n * kY);
  need_words_ = (n + 63) / 64;
  needs_.assign(n * need_words_, 0);
  std::vector<std::uint32_t> stack;
  std::vector<std::uint32_t> seen(n, UINT32_MAX);
  for (std::uint32_t x = 0; x < n; ++x) {
    for (std::size_t y = 0; y < window_.size(); ++y) without_[x * kY + y] = window_.total(y);
    // What needs x comes before it in the forward graph.
    stack.assign(1, x);
    seen[x] = x;
    while (!stack.empty()) {
      const std::uint32_t v = stack.back();
      stack.pop_back();
      for (std::size_t y = 0; y < window_.size(); ++y) without_[x * kY + y] -= window_.work(v, y);
      needs_[x * need_words_ + v / 64] |= std::uint64_t{1} << (v % 64);
      for (const std::uint32_t u : model_.before[v]) {
        if (seen[u] == x) continue;
        seen[u] = x;
        stack.push_back(u);
      }
    }
  }
}

void ChainSearch::findBarriers() {
  const std::size_t n = model_.itemCount();
  position_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) position_[order_[i]] = i;
  // An item is comparable with all others when as many need it and are needed by it as there are.
  std::vector<std::uint32_t> comparable(n, 0);
  for (std::uint32_t x = 0; x < n; ++x) {
    for (std::size_t w = 0; w < need_words_; ++w) {
      for (std::uint64_t bits = needs_[x * need_words_ + w]; bits != 0; bits &= bits - 1) {
        ++comparable[x];
        ++comparable[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      }
    }
  }
  std::vector<std::int32_t> spans(n + 1, 0);  // change of the number of nets that reach across a position
  const auto span = [&](const Csr<std::uint32_t>& sets) {
    for (std::size_t e = 0; e < sets.rows(); ++e) {
      std::uint32_t first = UINT32_MAX, last = 0;
      for (const std::uint32_t v : sets[e]) {
        first = std::min(first, position_[v]);
        last = std::max(last, position_[v]);
      }
      if (last <= first + 1) continue;
      ++spans[first + 1];
      --spans[last];
    }
  };
  span(model_.net_items);
  span(model_.stash_readers);
  std::int32_t across = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    across += spans[i];
    if (across == 0 && comparable[order_[i]] == n + 1) barriers_.push_back(order_[i]);
  }
}

void ChainSearch::sumChains() {
  for (const auto& chain : packing_.chains) {
    auto& sums = chain_work_.emplace_back(1, 0.0);
    for (const std::uint32_t v : chain) sums.push_back(sums.back() + window_.work(v, 0));
  }
}

void ChainSearch::keyBefore(std::uint32_t barrier, std::vector<std::uint64_t>& key) const {
  std::fill(key.begin(), key.end(), 0);
  for (const std::uint32_t v : order_) {
    if (v == barrier) return;
    key[packing_.places[v].word] += std::uint64_t{1} << packing_.places[v].shift;
  }
}

bool ChainSearch::reachesBehind(std::span<const std::uint32_t> items, std::uint32_t barrier) const {
  return std::any_of(items.begin(), items.end(),
                     [&](std::uint32_t v) { return position_[v] < position_[barrier]; });
}

bool ChainSearch::suitable(std::size_t memory_bytes) const {
  constexpr std::size_t kMostStates = 1 << 20, kMostItems = 8192;
  return model_.itemCount() <= kMostItems && states_ <= kMostStates &&
         options_.size() * states_ <= 16 * kMostStates && states_ <= memory_bytes / 1024 / 64;
}

// One run with its own table.
template <std::size_t Q>
class ChainRun {
 public:
  ChainRun(const ChainSearch& search, const ChainLimits& limits, const Budget& budget)
      : search_(search),
        limits_(limits),
        table_(search.packing_.words, search.states_, budget.memory_bytes / 2),
        shared_{budget, table_, limits.max_pairs},
        levels_(search.model_.itemCount() + 1),
        cutoff_(limits.cutoff) {
    walkers_.reserve(budget.threads);
    for (std::uint32_t t = 0; t < std::max(1u, budget.threads); ++t) walkers_.emplace_back(search, shared_);
  }

  ChainOutcome run() {
    const std::size_t n = search_.model_.itemCount();
    bool is_new = false;
    const std::vector<std::uint64_t> empty(search_.packing_.words, 0);
    levels_[0].push_back(table_.insert(empty.data(), is_new));
    table_.lower(0, 0, 0);
    ChainOutcome outcome;
    std::size_t passed = 0;  // barriers
    for (std::size_t level = 0; level < n; ++level) {
      const bool at_barrier =
          passed < search_.barriers_.size() && search_.position_[search_.barriers_[passed]] == level;
      const bool whole = walkLevel(level, barrier(passed)) && (!at_barrier || leaveBarrier(passed++));
      outcome.pairs = pairs_;
      if (!whole) return outcome;
      // A finished chain lowers the cut-off for the rest.
      if (!levels_[n].empty()) cutoff_ = std::min(cutoff_, best().second);
      std::vector<std::uint32_t>().swap(levels_[level]);
    }
    outcome.complete = true;
    outcome.ideals = table_.size();
    if (levels_[n].empty()) return outcome;
    const auto [state, value] = best();
    if (!(value < limits_.cutoff)) return outcome;
    outcome.found = true;
    outcome.value = value;
    trace(levels_[n].front(), state, value, outcome);
    return outcome;
  }

 private:
  using Walker = ChainWalker<Q>;
  using Entry = typename Walker::Entry;
  using Arrival = typename Walker::Arrival;

  const ChainSearch& search_;
  const ChainLimits& limits_;
  IdealTable table_;
  ChainShared shared_;
  std::vector<std::vector<std::uint32_t>> levels_;  // ideals by number of items
  double cutoff_;
  std::vector<Walker> walkers_;
  std::uint64_t pairs_ = 0;

  std::pair<std::uint32_t, double> best() const {
    std::pair<std::uint32_t, double> least{0, kInfinity};
    for (std::uint32_t s = 0; s < search_.states_; ++s) {
      const double value = table_.value(levels_.back().front(), s);
      if (value < least.second) least = {s, value};
    }
    return least;
  }

  // States of the ideal below the cut-off that no other one with fewer devices and no larger value covers.
  std::vector<Entry> entriesOf(std::uint32_t ideal) const {
    std::vector<Entry> entries;
    for (std::uint32_t s = 0; s < search_.states_; ++s) {
      const double value = table_.value(ideal, s);
      if (!(value < cutoff_)) continue;
      const bool covered = std::any_of(entries.begin(), entries.end(), [&](const Entry& e) {
        return e.value <= value && search_.covers(e.state, s);
      });
      if (!covered) entries.push_back({s, value});
    }
    return entries;
  }

  std::uint32_t barrier(std::size_t index) const {
    return index < search_.barriers_.size() ? search_.barriers_[index] : kNoBarrier;
  }

  // Gives tasks 0 .. n-1 to the walkers until all are done; false when out of time, pairs or memory.
  template <class Task>
  bool share(std::size_t n, Task&& task) {
    for (;;) {
      std::atomic<std::size_t> next{0};
      const std::size_t crew = std::min(n, walkers_.size());
      parallelFor(crew, static_cast<std::uint32_t>(crew), [&](std::size_t w) {
        walkers_[w].pairs = 0;
        for (std::size_t i = next++; i < n; i = next++) {
          if (!task(walkers_[w], i)) break;
        }
      });
      for (Walker& walker : walkers_) {
        for (const auto& added : walker.added) levels_[added.items].push_back(added.ideal);
        walker.added.clear();
      }
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
    return pairs_ <= limits_.max_pairs;
  }

  bool walkLevel(std::size_t level, std::uint32_t next) {
    const std::vector<std::uint32_t> sources = std::move(levels_[level]);
    return share(sources.size(), [&](Walker& walker, std::size_t i) {
      const std::vector<Entry> entries = entriesOf(sources[i]);
      return entries.empty() || walker.walk(sources[i], entries, next, cutoff_, limits_.forward_cutoff);
    });
  }

  // Takes the stages that have arrived at a barrier across it.
  bool leaveBarrier(std::size_t index) {
    std::vector<Arrival> arrivals;
    for (Walker& walker : walkers_) {
      arrivals.insert(arrivals.end(), walker.arrivals.begin(), walker.arrivals.end());
      walker.arrivals.clear();
    }
    std::vector<std::vector<Arrival>> by_option(search_.options_.size());
    for (Arrival& arrival : unbeaten(std::move(arrivals))) by_option[arrival.option].push_back(arrival);
    std::erase_if(by_option, [](const auto& list) { return list.empty(); });
    return share(by_option.size(), [&](Walker& walker, std::size_t i) {
      return walker.walkFrom(barrier(index), by_option[i], barrier(index + 1), cutoff_,
                             limits_.forward_cutoff);
    });
  }

  // Drops every arrival that another one with the same option equals or beats in all that counts later.
  std::vector<Arrival> unbeaten(std::vector<Arrival> all) const {
    const auto figures = [&](const Arrival& a) {
      std::array<double, 2 * Q + 4> list{a.from.value, a.sums.resident, a.sums.stash,
                                         a.sums.trains ? a.sums.weights + 1 : 0};
      for (std::size_t q = 0; q < Q; ++q) {
        list[4 + 2 * q] = search_.overlap_sum_ ? a.sums.compute[q] + a.sums.transfer[q] : a.sums.compute[q];
        list[5 + 2 * q] = search_.overlap_sum_ ? 0 : a.sums.transfer[q];
      }
      return list;
    };
    std::sort(all.begin(), all.end(), [&](const Arrival& a, const Arrival& b) {
      return std::tuple(a.option, a.from.state, figures(a)) < std::tuple(b.option, b.from.state, figures(b));
    });
    std::vector<Arrival> kept;
    for (const Arrival& arrival : all) {
      const auto mine = figures(arrival);
      const bool beaten = std::any_of(kept.rbegin(), kept.rend(), [&](const Arrival& other) {
        if (other.option != arrival.option || !search_.covers(other.from.state, arrival.from.state))
          return false;
        const auto its = figures(other);
        return std::equal(its.begin(), its.end(), mine.begin(), [](double a, double b) { return a <= b; });
      });
      if (!beaten && arrival.from.value < cutoff_) kept.push_back(arrival);
    }
    return kept;
  }

  bool contains(const std::uint64_t* larger, const std::uint64_t* smaller) const {
    for (std::size_t c = 0; c < search_.packing_.chains.size(); ++c) {
      if (search_.packing_.held(smaller, c) > search_.packing_.held(larger, c)) return false;
    }
    return true;
  }

  // Finds the stages that made the value, first stage first: the whole set was reached last.
  void trace(std::uint32_t ideal, std::uint32_t state, double value, ChainOutcome& outcome) const {
    const double busy = value + (Q == 2 ? limits_.forward_cutoff : 0);
    while (state != 0) {
      const std::uint64_t* here = table_.key(ideal);
      ChainStage stage;
      std::uint32_t from = ideal, from_state = 0;
      double forward = 0;
      for (std::uint32_t o = 0; o < search_.options_.size(); ++o) {
        // Work alone rules most stages out.
        const StageOption& option = search_.options_[o];
        const double most_work =
            busy * option.replicas * search_.window_.weight(0, option.pool) + search_.slack_[0];
        for (std::uint32_t s = 0; s < state; ++s) {
          if (search_.next_state_[o * search_.states_ + s] != static_cast<std::int32_t>(state)) continue;
          for (std::uint32_t i = 0; i < table_.size(); ++i) {
            if (i == ideal || !(table_.value(i, s) <= value) || !contains(here, table_.key(i))) continue;
            // The same choice whatever numbers the threads gave the ideals.
            if (from != ideal &&
                !std::lexicographical_compare(table_.key(i), table_.key(i) + search_.packing_.words,
                                              table_.key(from), table_.key(from) + search_.packing_.words))
              continue;
            if (workBetween(table_.key(i), here) > most_work) continue;
            std::vector<std::uint32_t> items = difference(here, table_.key(i));
            const auto load = search_.stageLoad(items, search_.options_[o], s);
            if (!(load.value <= value * kRounding) || load.forward > limits_.forward_cutoff * kRounding)
              continue;
            forward = load.forward;
            stage = {o, std::move(items)};
            from = i;
            from_state = s;
          }
        }
      }
      if (from == ideal) return;
      outcome.stages.push_back(std::move(stage));
      outcome.forward = std::max(outcome.forward, forward);
      ideal = from;
      state = from_state;
    }
  }

  double workBetween(const std::uint64_t* smaller, const std::uint64_t* larger) const {
    double sum = 0;
    for (std::size_t c = 0; c < search_.packing_.chains.size(); ++c) {
      sum += search_.chain_work_[c][search_.packing_.held(larger, c)] -
             search_.chain_work_[c][search_.packing_.held(smaller, c)];
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

bool ChainSearch::covers(std::uint32_t a, std::uint32_t b) const {
  const std::size_t digits = model_.poolCount() + 1;
  for (std::size_t i = 0; i < digits; ++i) {
    if (used_[a * digits + i] > used_[b * digits + i]) return false;
  }
  return true;
}

ChainSearch::StageLoad ChainSearch::stageLoad(std::span<const std::uint32_t> items, const StageOption& option,
                                              std::uint32_t state) const {
  constexpr StageLoad kNone{kInfinity, kInfinity};
  const std::size_t k = option.pool;
  std::vector<std::uint8_t> inside(model_.itemCount(), 0);
  std::vector<std::uint32_t> nets, stashes;
  double compute[2] = {}, transfer[2] = {}, resident = 0, weights = 0;
  bool trains = false;
  for (const std::uint32_t v : items) {
    if (!model_.runs(v, k)) return kNone;
    inside[v] = 1;
    const double rest = by_parts_ ? model_.rest_seconds[v * model_.poolCount() + k] : 0;
    compute[0] += model_.time(v, k) - rest;
    compute[1] += rest;
    resident += model_.resident[v];
    weights += model_.weights[v];
    trains = trains || model_.trains[v] != 0;
    nets.insert(nets.end(), model_.item_nets[v].begin(), model_.item_nets[v].end());
    stashes.insert(stashes.end(), model_.item_stashes[v].begin(), model_.item_stashes[v].end());
  }
  const auto unique = [](std::vector<std::uint32_t>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  unique(nets);
  unique(stashes);
  for (const std::uint32_t e : nets) {
    const auto ends = model_.net_items[e];
    if (std::all_of(ends.begin(), ends.end(), [&](std::uint32_t v) { return inside[v] != 0; })) continue;
    transfer[by_parts_ ? model_.net_rest[e] : 0] += model_.cost(e, k, inside[model_.net_producer[e]] != 0);
  }
  const double r = option.replicas;
  double stash = 0;
  for (const std::uint32_t t : stashes) stash += model_.stash_bytes[t];
  if (resident + std::ceil((stagesOf(state) + 1) / r) * stash > option.memory) return kNone;
  const auto load = [&](int part) {
    return (overlap_sum_ ? compute[part] + transfer[part] : std::max(compute[part], transfer[part])) / r;
  };
  const double sync = option.replicas > 1 && trains ? option.sync(weights) : 0;
  return by_parts_ ? StageLoad{load(1) + sync, load(0)} : StageLoad{load(0) + sync, 0};
}

ChainOutcome ChainSearch::run(const ChainLimits& limits, const Budget& budget) const {
  return by_parts_ ? ChainRun<2>(*this, limits, budget).run() : ChainRun<1>(*this, limits, budget).run();
}

}  // namespace allot
