#include "solve/throughput/linear_dp_split.h"

#include <algorithm>
#include <cmath>

#include "solve/throughput/linear_dp_states.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums of work are taken in another order than loads.
constexpr double kSlack = 1 + 1e-9;

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

  Cells(const LineModel& model, std::span<const std::uint32_t> order, std::size_t most) {
    choose(model, order, most);
    fill(model, order);
  }

 private:
  // Cells of about equal work that end where the open nets weigh least.
  void choose(const LineModel& model, std::span<const std::uint32_t> order, std::size_t most) {
    const auto n = static_cast<std::uint32_t>(order.size());
    begin.push_back(0);
    if (n <= most) {
      for (std::uint32_t p = 1; p <= n; ++p) begin.push_back(p);
      return;
    }
    std::vector<std::uint32_t> place(n);
    for (std::uint32_t p = 0; p < n; ++p) place[order[p]] = p;
    std::vector<double> open(n + 1, 0);  // by position: what is open when the line is cut before it
    for (std::uint32_t net = 0; net < model.netCount(); ++net) {
      std::uint32_t first = n, last = 0;
      for (const std::uint32_t item : model.net_items[net]) {
        first = std::min(first, place[item]);
        last = std::max(last, place[item]);
      }
      open[first + 1] += model.net_weight[net];
      open[last + 1] -= model.net_weight[net];
    }
    for (std::uint32_t p = 1; p <= n; ++p) open[p] += open[p - 1];
    // Half by work and half by number, so that many small items do not hide in one cell.
    const double share_work = model.total_work > 0 ? 0.5 / model.total_work : 0;
    const double share_item = (share_work > 0 ? 0.5 : 1.0) / n;
    double filled = 0;
    double next = 1.0 / static_cast<double>(most);
    std::uint32_t least = 0;
    for (std::uint32_t p = 1; p < n; ++p) {
      filled += share_work * model.work[order[p - 1]] + share_item;
      if (least == 0 || open[p] < open[least]) least = p;
      if (filled < next) continue;
      begin.push_back(least);
      least = 0;
      while (next <= filled) next += 1.0 / static_cast<double>(most);
    }
    begin.push_back(n);
  }

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

class LineSplit {
 public:
  LineSplit(const LineModel& model, std::span<const std::uint32_t> order, const SplitOptions& options,
            const Budget& budget)
      : model_(model),
        order_(order),
        budget_(budget),
        cutoff_(options.cutoff),
        states_(model, options.max_cells, options.sequence_seed, budget.memory_bytes),
        cells_(model, order, options.max_cells) {}

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
  return LineSplit(model, order, options, budget).run();
}

}  // namespace allot
