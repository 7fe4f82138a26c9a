#include "solve/throughput/linear_dp_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/throughput/linear_dp_cells.h"
#include "solve/throughput/linear_dp_states.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// How many times finer the places around a cut get from one pass to the next.
constexpr std::uint32_t kZoom = 8;
// Cells of a rough first split, made where the cut-off is this many times the least value possible.
constexpr std::uint32_t kRough = 128;
constexpr double kLoose = 1.3;
// A line longer than this is given up when its rough split misses the cut-off by more than this factor.
constexpr std::uint32_t kLong = 20'000;
constexpr double kHopeless = 1.1;

class LineSplit {
 public:
  LineSplit(const LineModel& model, std::span<const std::uint32_t> order, std::vector<std::uint32_t> cuts,
            double cutoff, std::uint64_t sequence_seed, const Budget& budget)
      : model_(model),
        order_(order),
        budget_(budget),
        cutoff_(cutoff),
        states_(model, cuts.size(), sequence_seed, budget.memory_bytes),
        cells_(model, order, std::move(cuts)) {}

  LinePlan run() {
    const std::size_t n = cells_.count();
    best_.assign((n + 1) * states_.count, kInfinity);
    choice_.assign(best_.size(), {});
    best_[n * states_.count] = 0;
    alive_.resize(n + 1);
    closePosition(n);
    stashed_.assign(model_.stash_bytes.size(), 0);
    useful_.assign(states_.count, 0);
    for (std::size_t from = n; from-- > 0;) {
      if (budget_.stopped()) return {};
      cells_.setFrom(from);
      if (markUseful(from)) extendFrom(from);
      closePosition(from);
    }
    return readPlan();
  }

 private:
  struct Choice {
    std::uint32_t to = 0;  // first cell of the next stage; the cell itself where a device is skipped
    std::uint16_t pool = 0, replicas = 0;
  };
  struct Alive {
    std::uint32_t state;
    double value;
  };

  const LineModel& model_;
  std::span<const std::uint32_t> order_;
  const Budget& budget_;
  double cutoff_;
  LineStates states_;
  LineCells cells_;
  std::vector<double> best_;  // [cell * states + state]
  std::vector<Choice> choice_;
  std::vector<std::vector<Alive>> alive_;  // by cell: states no worse than all with fewer devices
  std::vector<double> least_;              // by state, of one cell
  std::vector<std::uint8_t> useful_;       // by state: enough devices behind, enough left before
  // The growing segment.
  std::vector<std::uint8_t> stashed_;
  std::vector<StageSums> sums_;          // by pool
  std::vector<std::uint8_t> permitted_;  // by pool
  double resident_ = 0, stash_ = 0;

  bool markUseful(std::size_t from) {
    bool any = false;
    const double before = cells_.work_before[from];
    const double behind = cells_.work_before.back() - before;
    const double slack = 1e-9 * cutoff_;  // sums of work are taken in another order than loads
    for (std::size_t state = 0; state < states_.count; ++state) {
      const double share = states_.capacity(state);
      useful_[state] = cutoff_ == kInfinity ||
                       (behind <= cutoff_ * share + slack && before <= cutoff_ * (1 - share) + slack);
      any = any || useful_[state];
    }
    return any;
  }

  void closePosition(std::size_t cell) {
    double* row = &best_[cell * states_.count];
    if (states_.sequence) {
      for (std::size_t state = 1; state < states_.count; ++state) {
        if (row[state - 1] >= row[state]) continue;
        row[state] = row[state - 1];
        choice_[cell * states_.count + state] = {static_cast<std::uint32_t>(cell), 0, 0};
      }
    }
    least_.assign(row, row + states_.count);
    for (std::size_t state = 0; state < states_.count; ++state) {
      double below = kInfinity;
      states_.smaller(state, [&](std::size_t other) { below = std::min(below, least_[other]); });
      if (row[state] < below) alive_[cell].push_back({static_cast<std::uint32_t>(state), row[state]});
      least_[state] = std::min(least_[state], below);
    }
  }

  void addCell(std::size_t cell) {
    const std::size_t pools = model_.poolCount(), parts = model_.parts;
    resident_ += cells_.resident[cell];
    for (std::size_t k = 0; k < pools; ++k) {
      const double* time = &cells_.seconds[(cell * pools + k) * parts];
      if (time[0] == kCannotRun) permitted_[k] = 0;
      for (std::size_t part = 0; part < parts; ++part) sums_[k].compute[part] += time[part];
      sums_[k].weights += cells_.weights[cell];
      sums_[k].trains = sums_[k].trains || cells_.trains[cell] != 0;
    }
    for (const std::uint32_t stash : cells_.stashes[cell]) {
      if (stashed_[stash]) continue;
      stashed_[stash] = 1;
      stash_ += model_.stash_bytes[stash];
    }
  }

  void extendFrom(std::size_t from) {
    cells_.openSegment(sums_);
    permitted_.assign(model_.poolCount(), 1);
    resident_ = stash_ = 0;
    std::size_t to = from;
    while (to < cells_.count()) {
      addCell(to++);
      cells_.setCommunication(to, sums_);
      bool grows = false;
      for (std::size_t k = 0; k < model_.poolCount(); ++k) {
        const Pool& pool = model_.pools[k];
        const double replicas =
            model_.problem->modes.replicate ? static_cast<double>(pool.devices.size()) : 1;
        const double compute = sums_[k].compute[0] + sums_[k].compute[1];
        if (!permitted_[k] || resident_ > pool.memory || compute >= cutoff_ * replicas) continue;
        grows = true;
        if (!alive_[to].empty()) place(from, to, k);
      }
      if (!grows) break;
    }
    cells_.closeSegment();
    for (std::size_t cell = from; cell < to; ++cell) {
      for (const std::uint32_t stash : cells_.stashes[cell]) stashed_[stash] = 0;
    }
  }

  void place(std::size_t from, std::size_t to, std::size_t pool) {
    const Modes& modes = model_.problem->modes;
    const auto most =
        modes.replicate ? static_cast<std::uint32_t>(model_.pools[pool].devices.size()) : std::uint32_t{1};
    for (std::uint32_t replicas = 1; replicas <= most; ++replicas) {
      const double stage = model_.load(sums_[pool], pool, replicas);
      if (!(stage < cutoff_)) continue;
      for (const Alive& rest : alive_[to]) {
        if (states_.most(rest.state, pool) < replicas) continue;
        const std::size_t state = states_.next(rest.state, pool, replicas);
        if (!useful_[state]) continue;
        const double value = std::max(stage, rest.value);
        const std::size_t index = from * states_.count + state;
        if (value >= best_[index]) continue;
        const std::uint32_t after = states_.stages(rest.state);
        if (modes.max_stages > 0 && after + 1 > modes.max_stages) continue;
        if (modes.in_flight) {
          const double samples = std::ceil((after + 1.0) / replicas);
          if (resident_ + samples * stash_ > model_.pools[pool].memory) continue;
        }
        best_[index] = value;
        choice_[index] = {static_cast<std::uint32_t>(to), static_cast<std::uint16_t>(pool),
                          static_cast<std::uint16_t>(replicas)};
      }
    }
  }

  LinePlan readPlan() const {
    LinePlan plan;
    const auto first = best_.begin();
    const auto least = std::min_element(first, first + static_cast<std::ptrdiff_t>(states_.count));
    if (*least == kInfinity) return plan;
    plan.value = *least;
    plan.stage_of.assign(model_.item_count, 0);
    std::size_t state = static_cast<std::size_t>(least - first);
    for (std::size_t cell = 0; cell < cells_.count();) {
      const Choice choice = choice_[cell * states_.count + state];
      if (choice.replicas == 0) {
        --state;
        continue;
      }
      for (std::uint32_t p = cells_.begin[cell]; p < cells_.begin[choice.to]; ++p)
        plan.stage_of[order_[p]] = static_cast<std::uint32_t>(plan.stages.size());
      plan.stages.push_back({choice.pool, choice.replicas});
      state -= states_.next(0, choice.pool, choice.replicas);
      cell = choice.to;
    }
    return plan;
  }
};

std::vector<std::uint32_t> everywhere(std::uint32_t n) {
  std::vector<std::uint32_t> cuts(n + 1);
  std::iota(cuts.begin(), cuts.end(), 0u);
  return cuts;
}

}  // namespace

LinePlan splitLine(const LineModel& model, std::span<const std::uint32_t> order, const SplitOptions& options,
                   const Budget& budget) {
  const auto n = static_cast<std::uint32_t>(order.size());
  const auto split = [&](std::vector<std::uint32_t> cuts, double cutoff) {
    if (budget.stopped()) return LinePlan{};
    return LineSplit(model, order, std::move(cuts), cutoff, options.sequence_seed, budget).run();
  };
  if (n <= kRough) return split(everywhere(n), options.cutoff);
  const CutPlaces places(model, order);
  // A loose cut-off lets every segment live: find a better one first. On long lines a rough split also tells
  // orders that are not worth more.
  double cutoff = options.cutoff;
  LinePlan best;
  if (cutoff > kLoose * model.total_work || n > kLong) {
    LinePlan rough = split(places.even(kRough), cutoff * kHopeless);
    if (n > kLong && !rough.found()) return rough;
    if (rough.value < cutoff) {
      cutoff = rough.value;
      best = std::move(rough);
    }
  }
  const bool all = n <= options.max_cells;
  LinePlan found = split(all ? everywhere(n) : places.even(options.max_cells),
                         all || best.found() ? cutoff : cutoff * (1 + options.hope));
  if (found.found()) best = std::move(found);
  if (!best.found() || all) return best;
  // Ever finer places around the cuts found.
  for (auto step = static_cast<std::uint32_t>(n / options.max_cells + 1); step > 1 && !budget.stopped();) {
    const std::uint32_t radius = 2 * step;
    step = std::max<std::uint32_t>(1, step / kZoom);
    std::vector<std::uint32_t> anchors;
    for (std::uint32_t p = 1; p < n; ++p) {
      if (best.stage_of[order[p]] != best.stage_of[order[p - 1]]) anchors.push_back(p);
    }
    LinePlan finer = split(places.around(anchors, radius, step), best.value);
    if (finer.found()) best = std::move(finer);
  }
  return best.value < options.cutoff ? best : LinePlan{};
}

}  // namespace allot
