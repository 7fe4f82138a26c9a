#include "solve/throughput/run_labels.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sets of unfinished runs that a stage may go on with are listed up to this many runs.
constexpr std::size_t kMostUnfinished = 8;
// Labels between looks at the clock.
constexpr std::size_t kLabelsPerLook = 256;

bool beats(const RunLabel& other, const RunLabel& label, const RunNode& node) {
  if (other.left < label.left) return false;
  // Its unfinished runs may stay so for longer, unless those of the label are among them.
  const bool among = (label.unpaid & ~other.unpaid) == 0;
  if (other.lack > (among ? label.lack : 0)) return false;
  const double ahead = other.left - label.left - std::max(0.0, other.excess - (among ? label.excess : 0));
  if (ahead < 0) return false;
  // It may have to pay for a net at the end of the stage that came from before in the other one, and for one
  // from before that the other never pays for.
  const NetSet at_end = label.old & ~other.old, at_use = other.unpaid & ~label.unpaid;
  if ((at_end | at_use) == 0) return true;
  return ahead >= node.least_cost && sumOf(at_end, node.cost) + sumOf(at_use, node.cost) <= ahead;
}

// What runs begun before its stage lack or have in excess is no matter once something follows them.
void finish(RunLabel& label, double rest) {
  label.lack = std::max(0.0, label.lack - rest);
  label.excess = std::max(0.0, label.excess - rest);
}

}  // namespace

RunNode RunLabels::nodeOf(const RunIdeal& ideal) const {
  RunNode node{.ideal = ideal, .cost = {}};
  node.least_cost = kInfinity;
  for (const std::uint32_t e : ideal.open) {
    node.open |= ideals_.bit(e);
    node.cost[ideals_.slot(e)] = graph_.net_cost[e];
    node.all_open += graph_.net_cost[e];
    node.least_cost = std::min(node.least_cost, graph_.net_cost[e]);
  }
  return node;
}

std::vector<RunLabels::Unfinished> RunLabels::unfinished(const RunNode& node) const {
  std::vector<Unfinished> runs;
  for (const std::uint32_t r : ideals_.unfinished(node.ideal.key)) {
    Unfinished run{graph_.rest(r), 0, 0};
    for (const std::uint32_t e : graph_.run_nets[r]) {
      if (graph_.net_maker[e] != r) continue;
      run.cost += 2 * graph_.net_cost[e];
      run.nets |= ideals_.bit(e);
    }
    runs.push_back(run);
  }
  return runs;
}

bool RunLabels::alive(const RunLabel& label, const RunNode& node) const {
  const double most = label.left + limit_;
  return most >= std::max(node.ideal.least + label.excess, needed_) &&
         (most >= needed_with_cut_ || most + sumOf(label.old, node.cost) >= needed_with_cut_);
}

void RunLabels::keepBest(std::vector<RunLabel>& labels, const RunNode& node, const Budget& budget) {
  std::sort(labels.begin(), labels.end(), [](const RunLabel& a, const RunLabel& b) {
    if (a.left != b.left) return a.left > b.left;
    if (a.lack != b.lack) return a.lack < b.lack;
    if (a.excess != b.excess) return a.excess < b.excess;
    return a.old != b.old ? a.old < b.old : a.unpaid < b.unpaid;
  });
  std::size_t kept = 0, last_winner = 0;
  for (const RunLabel& label : labels) {
    if (kept % kLabelsPerLook == kLabelsPerLook - 1 && budget.stopped()) break;
    // The one that beat the last label often beats this one too.
    bool beaten = last_winner < kept && beats(labels[last_winner], label, node);
    for (std::size_t i = 0; i < kept && !beaten; ++i) {
      beaten = beats(labels[i], label, node);
      if (beaten) last_winner = i;
    }
    if (!beaten) labels[kept++] = label;
  }
  labels.resize(kept);
}

void RunLabels::hold(const RunNode& node, std::uint32_t run, const RunNode& made,
                     std::span<const RunLabel> labels, std::vector<RunLabel>& held) const {
  const RunIdeal& from = node.ideal;
  NetSet touched = 0, closed = 0, cut = 0;
  double cut_cost = 0;
  for (const std::uint32_t e : graph_.run_nets[run]) {
    if (std::find(from.open.begin(), from.open.end(), e) != from.open.end()) {
      touched |= ideals_.bit(e);
      if (ideals_.holdsAll(made.ideal.key, graph_.net_runs[e])) closed |= ideals_.bit(e);
    } else if (ideals_.cutsSurely(from, e)) {
      cut |= ideals_.bit(e);
      cut_cost += graph_.net_cost[e];
    }
  }
  // Runs that are finished now. A net that the run makes and that the stage has not touched says whether
  // the run was begun before the stage; without one it counts as if it was.
  NetSet tells = 0;
  SlotFigures rest;
  double finished = 0;
  for (const std::uint32_t r : graph_.before[run]) {
    if (graph_.items[r].size() == 1 || ideals_.holdsAny(from.key, graph_.after[r])) continue;
    const auto nets = graph_.run_nets[r];
    const auto net =
        std::find_if(nets.begin(), nets.end(), [&](std::uint32_t e) { return graph_.net_maker[e] == r; });
    if (net == nets.end() || (touched & ideals_.bit(*net)) == 0) {
      finished += graph_.rest(r);
    } else {
      tells |= ideals_.bit(*net);
      rest[ideals_.slot(*net)] = graph_.rest(r);
    }
  }
  for (RunLabel label : labels) {
    if (label.lack > 0 || label.excess > 0) finish(label, finished + sumOf(label.unpaid & tells, rest));
    label.left -= sumOf(label.unpaid & touched, node.cost) + cut_cost;
    label.old = (label.old & ~closed) | cut;
    label.unpaid &= ~touched;
    if (alive(label, made)) held.push_back(label);
  }
}

void RunLabels::refuse(const RunNode& made, std::span<const RunLabel> labels,
                       std::vector<RunLabel>& kept) const {
  NetSet cut = 0, untouched = 0;
  for (const std::uint32_t e : made.ideal.open) {
    if (!ideals_.cutsSurely(made.ideal, e)) continue;
    cut |= ideals_.bit(e);
    // Where it tells of an unfinished run, it is still of use that a net is not paid for.
    const std::uint32_t maker = graph_.net_maker[e];
    const auto runs = graph_.net_runs[e];
    if ((maker == RunGraph::kNoRun || ideals_.holdsAny(made.ideal.key, graph_.after[maker])) &&
        std::all_of(runs.begin(), runs.end(), [&](std::uint32_t r) {
          return RunIdeals::refuses(made.ideal, r) || ideals_.holds(made.ideal.key, r);
        }))
      untouched |= ideals_.bit(e);
  }
  for (RunLabel label : labels) {
    label.left -= sumOf(cut & ~label.old, made.cost);
    label.old |= cut;
    label.unpaid &= ~untouched;
    if (alive(label, made)) kept.push_back(label);
  }
}

RunLabels::End RunLabels::bestEnd(std::span<const RunLabel> labels, const RunNode& node) const {
  End best;
  std::optional<std::vector<Unfinished>> runs;  // most ends are found without them
  for (const RunLabel& label : labels) {
    const double least = node.ideal.least + label.excess;
    const double paid = label.left + limit_ - node.all_open + sumOf(label.old, node.cost);
    if (paid < least || std::max(std::min(paid, node.ideal.most), least) <= best.work) continue;
    double work = std::min(paid, node.ideal.most - label.lack);
    if (work < paid && label.lack > 0) {
      if (!runs) runs = unfinished(node);
      work = workWith(label, node, paid, *runs);
    }
    work = std::max(work, least);
    if (work > best.work) best = {work, label.begun};
  }
  return best;
}

// When the stage may go on with unfinished runs from before.
double RunLabels::workWith(const RunLabel& label, const RunNode& node, double paid,
                           std::span<const Unfinished> unfinished) const {
  const double most = node.ideal.most;
  double work = most - label.lack;
  std::array<const Unfinished*, kMostUnfinished> runs{};
  std::size_t count = 0;
  for (const Unfinished& run : unfinished) {
    if ((run.nets & ~label.unpaid) != 0) continue;
    if (count == kMostUnfinished) return std::min(paid, most);
    runs[count++] = &run;
  }
  const auto choose = [&](auto&& self, std::size_t i, double top, double rest) -> void {
    work = std::max(work, std::min({top, rest, most}));
    if (i == count || rest <= work) return;
    self(self, i + 1, top + runs[i]->rest, rest - runs[i]->cost);
    self(self, i + 1, top, rest);
  };
  choose(choose, 0, most - label.lack, paid);
  return work;
}

RunLabel RunLabels::begin(const RunNode& node, double work) const {
  RunLabel label{.old = node.open, .unpaid = node.open, .left = work};
  // Rounding must not tell labels apart: less of both only allows more.
  const auto clear = [&](double amount) { return amount > slack_ ? amount : 0; };
  label.lack = clear(node.ideal.most - work);
  label.excess = clear(work - node.ideal.least);
  // An ideal with enough work for the end of the stage has all runs but those with little work elsewhere.
  const auto comes = [&](std::uint32_t run) { return ideals_.total - ideals_.behind[run] < needed_; };
  std::vector<std::uint32_t> finished;
  for (const std::uint32_t e : node.ideal.open) {
    bool touched = false, closed = true;
    for (const std::uint32_t r : graph_.net_runs[e]) {
      if (ideals_.holds(node.ideal.key, r)) continue;
      (comes(r) ? touched : closed) = comes(r);
    }
    if (!touched) continue;
    label.left -= graph_.net_cost[e];
    label.unpaid &= ~ideals_.bit(e);
    if (closed) label.old &= ~ideals_.bit(e);
    const std::uint32_t maker = graph_.net_maker[e];
    if (maker != RunGraph::kNoRun && !ideals_.holdsAny(node.ideal.key, graph_.after[maker]))
      finished.push_back(maker);
  }
  std::sort(finished.begin(), finished.end());
  finished.erase(std::unique(finished.begin(), finished.end()), finished.end());
  for (const std::uint32_t r : finished) finish(label, graph_.rest(r));
  return label;
}

}  // namespace allot
