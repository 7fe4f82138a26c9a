#include "solve/throughput/linear_dp_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/throughput/linear_dp_states.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums of work are taken in another order than loads.
constexpr double kSlack = 1 + 1e-9;
// How many times finer the places around a cut get from one pass to the next.
constexpr std::uint32_t kZoom = 8;

// The line cut into cells, each a run of items, with what a growing segment needs of each.
struct Cells {
  // Ends of a net in a cell.
  struct Net {
    std::uint32_t net;
    std::uint32_t ends : 31;
    std::uint32_t producer : 1;
  };
  std::vector<std::uint32_t> begin;     // positions of the order
  Csr<Net> nets;                        // by cell; nets inside one cell left out
  std::vector<std::uint32_t> net_ends;  // by net
  Csr<std::uint32_t> stashes;
  std::vector<double> seconds;  // [(cell * pools + pool) * parts + part]
  std::vector<double> resident, weights;
  std::vector<std::uint8_t> trains;
  std::vector<double> work_before;  // one more than cells

  std::size_t count() const { return begin.size() - 1; }

  Cells(const LineModel& model, std::span<const std::uint32_t> order, std::vector<std::uint32_t> cuts)
      : begin(std::move(cuts)) {
    fill(model, order);
  }

 private:
  void fill(const LineModel& model, std::span<const std::uint32_t> order) {
    const std::size_t row = model.poolCount() * model.parts;
    seconds.assign(count() * row, 0);
    resident.assign(count(), 0);
    weights.assign(count(), 0);
    trains.assign(count(), 0);
    work_before.assign(count() + 1, 0);
    net_ends.assign(model.netCount(), 0);
    for (std::uint32_t net = 0; net < model.netCount(); ++net)
      net_ends[net] = static_cast<std::uint32_t>(model.net_items[net].size());
    std::vector<Net> here;
    std::vector<std::uint32_t> slot(model.netCount(), UINT32_MAX),
        stash_cell(model.stash_bytes.size(), UINT32_MAX);
    for (std::uint32_t c = 0; c < count(); ++c) {
      here.clear();
      work_before[c + 1] = work_before[c];
      for (std::uint32_t p = begin[c]; p < begin[c + 1]; ++p) {
        const std::uint32_t item = order[p];
        for (std::size_t x = 0; x < row; ++x) seconds[c * row + x] += model.seconds[item * row + x];
        resident[c] += model.resident[item];
        weights[c] += model.weights[item];
        trains[c] = trains[c] | model.trains[item];
        work_before[c + 1] += model.work[item];
        for (const std::uint32_t net : model.item_nets[item]) {
          if (slot[net] >= here.size() || here[slot[net]].net != net) {
            slot[net] = static_cast<std::uint32_t>(here.size());
            here.push_back({net, 0, 0});
          }
          Net& entry = here[slot[net]];
          entry.ends = entry.ends + 1;
          if (model.net_producer[net] == item) entry.producer = 1;
        }
        for (const std::uint32_t stash : model.item_stashes[item]) {
          if (stash_cell[stash] == c) continue;
          stash_cell[stash] = c;
          stashes.items.push_back(stash);
        }
      }
      for (const Net& entry : here) {
        if (entry.ends < net_ends[entry.net]) nets.items.push_back(entry);
      }
      nets.closeRow();
      stashes.closeRow();
    }
  }
};

// Where the line may be cut: everywhere, or in places chosen because little is open there.
class CutPlaces {
 public:
  CutPlaces(const LineModel& model, std::span<const std::uint32_t> order) : model_(model), order_(order) {
    const auto n = static_cast<std::uint32_t>(order.size());
    std::vector<std::uint32_t> place(n);
    for (std::uint32_t p = 0; p < n; ++p) place[order[p]] = p;
    open_.assign(n + 1, 0);
    for (std::uint32_t net = 0; net < model.netCount(); ++net) {
      std::uint32_t first = n, last = 0;
      for (const std::uint32_t item : model.net_items[net]) {
        first = std::min(first, place[item]);
        last = std::max(last, place[item]);
      }
      open_[first + 1] += model.net_weight[net];
      open_[last + 1] -= model.net_weight[net];
    }
    for (std::uint32_t p = 1; p <= n; ++p) open_[p] += open_[p - 1];
  }

  // Cells of about equal work and number of items, which end where the open nets weigh least.
  std::vector<std::uint32_t> even(std::size_t cells) const {
    const auto n = static_cast<std::uint32_t>(order_.size());
    const double share_work = model_.total_work > 0 ? 0.5 / model_.total_work : 0;
    const double share_item = (share_work > 0 ? 0.5 : 1.0) / n;
    const double step = 1.0 / static_cast<double>(cells);
    std::vector<std::uint32_t> cuts{0};
    double filled = 0, next = step;
    std::uint32_t least = 0;
    for (std::uint32_t p = 1; p < n; ++p) {
      filled += share_work * model_.work[order_[p - 1]] + share_item;
      if (least == 0 || open_[p] < open_[least]) least = p;
      if (filled < next) continue;
      cuts.push_back(least);
      least = 0;
      while (next <= filled) next += step;
    }
    cuts.push_back(n);
    return cuts;
  }

  // The places in `anchors`, and around each of them the best of every `step` places up to `radius` away.
  std::vector<std::uint32_t> around(std::span<const std::uint32_t> anchors, std::uint32_t radius,
                                    std::uint32_t step) const {
    const auto n = static_cast<std::uint32_t>(order_.size());
    std::vector<std::uint32_t> cuts{0, n};
    cuts.insert(cuts.end(), anchors.begin(), anchors.end());
    for (const std::uint32_t anchor : anchors) {
      const std::uint32_t last = std::min(n - 1, anchor + radius);
      for (std::uint32_t p = anchor > radius ? anchor - radius : 1; p <= last; p += step) {
        const auto first = open_.begin() + p;
        const auto end = open_.begin() + std::min(last, p + step - 1) + 1;
        cuts.push_back(static_cast<std::uint32_t>(std::min_element(first, end) - open_.begin()));
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  }

 private:
  const LineModel& model_;
  std::span<const std::uint32_t> order_;
  std::vector<double> open_;  // by position: what is open when the line is cut before it
};

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
    inside_.assign(model_.netCount(), 0);
    has_producer_.assign(model_.netCount(), 0);
    stashed_.assign(model_.stash_bytes.size(), 0);
    useful_.assign(states_.count, 0);
    for (std::size_t from = n; from-- > 0;) {
      if (budget_.stopped()) return {};
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
  Cells cells_;
  std::vector<double> best_;  // [cell * states + state]
  std::vector<Choice> choice_;
  std::vector<std::vector<Alive>> alive_;  // by cell: states no worse than all with fewer devices
  std::vector<double> least_;              // by state, of one cell
  std::vector<std::uint8_t> useful_;       // by state: enough devices behind, enough left before
  // The growing segment.
  std::vector<std::uint32_t> inside_;
  std::vector<std::uint8_t> has_producer_, stashed_;
  std::vector<StageSums> sums_;          // by pool
  std::vector<std::uint8_t> permitted_;  // by pool
  double resident_ = 0, stash_ = 0;

  bool markUseful(std::size_t from) {
    bool any = false;
    const double before = cells_.work_before[from];
    const double behind = cells_.work_before.back() - before;
    for (std::size_t state = 0; state < states_.count; ++state) {
      const double share = states_.capacity(state);
      useful_[state] =
          cutoff_ == kInfinity || (behind <= cutoff_ * share * kSlack + 1e-300 &&
                                   before <= cutoff_ * std::max(0.0, 1 - share) * kSlack + 1e-9 * cutoff_);
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
    for (const Cells::Net entry : cells_.nets[cell]) {
      const std::uint32_t net = entry.net;
      const std::uint32_t had = inside_[net];
      const std::uint32_t has = had + entry.ends;
      const bool sent = has_producer_[net] != 0;
      const bool sends = sent || entry.producer != 0;
      inside_[net] = has;
      has_producer_[net] = sends ? 1 : 0;
      const std::size_t part = model_.net_part[net];
      const bool open = has < cells_.net_ends[net];
      if (had > 0 && open && sent == sends) continue;
      for (std::size_t k = 0; k < pools; ++k) {
        double change = open ? model_.cost(net, k, sends) : 0;
        if (had > 0) change -= model_.cost(net, k, sent);
        sums_[k].communication[part] += change;
      }
    }
    for (const std::uint32_t stash : cells_.stashes[cell]) {
      if (stashed_[stash]) continue;
      stashed_[stash] = 1;
      stash_ += model_.stash_bytes[stash];
    }
  }

  void extendFrom(std::size_t from) {
    sums_.assign(model_.poolCount(), {});
    permitted_.assign(model_.poolCount(), 1);
    resident_ = stash_ = 0;
    std::size_t to = from;
    while (to < cells_.count()) {
      addCell(to++);
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
    for (std::size_t cell = from; cell < to; ++cell) {
      for (const Cells::Net entry : cells_.nets[cell]) inside_[entry.net] = has_producer_[entry.net] = 0;
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

}  // namespace

LinePlan splitLine(const LineModel& model, std::span<const std::uint32_t> order, const SplitOptions& options,
                   const Budget& budget) {
  const auto n = static_cast<std::uint32_t>(order.size());
  const auto split = [&](std::vector<std::uint32_t> cuts, double cutoff) {
    return LineSplit(model, order, std::move(cuts), cutoff, options.sequence_seed, budget).run();
  };
  if (n <= options.max_cells) {
    std::vector<std::uint32_t> all(n + 1);
    std::iota(all.begin(), all.end(), 0u);
    return split(std::move(all), options.cutoff);
  }
  const CutPlaces places(model, order);
  LinePlan best = split(places.even(options.max_cells), options.cutoff * (1 + options.hope));
  if (!best.found()) return best;
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
