#include "solve/throughput/run_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/thread_pool.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // of sums of work and costs, as a share of them
constexpr std::size_t kShareIdeals = 64;
// Sets of unfinished runs that a stage may go on with are listed up to this many runs.
constexpr std::size_t kMostUnfinished = 8;
// Of the memory, what may wait: beside it are shares, indices and room that vectors keep.
constexpr std::size_t kMemoryParts = 4;
// Labels between looks at the clock.
constexpr std::size_t kLabelsPerLook = 256;
// Beginnings of stages that are noted: some hundred megabytes.
constexpr std::size_t kMostBeginnings = 4'000'000;

}  // namespace

RunSearch::Node RunSearch::nodeOf(const RunIdeal& ideal) const {
  Node node{.ideal = ideal, .cost = {}};
  node.least_cost = kInfinity;
  for (const std::uint32_t e : ideal.open) {
    node.open |= ideals_.bit(e);
    node.cost[ideals_.slot(e)] = graph_.net_cost[e];
    node.all_open += graph_.net_cost[e];
    node.least_cost = std::min(node.least_cost, graph_.net_cost[e]);
  }
  for (const std::uint32_t r : ideals_.unfinished(ideal.key)) {
    Node::Unfinished run{graph_.rest(r), 0, 0};
    for (const std::uint32_t e : graph_.run_nets[r]) {
      if (graph_.net_maker[e] != r) continue;
      run.cost += 2 * graph_.net_cost[e];
      run.nets |= ideals_.bit(e);
    }
    node.unfinished.push_back(run);
  }
  return node;
}

bool RunSearch::alive(const Label& label, const Node& node) const {
  const double most = label.left + limit_, with_cut = windows_.with_cut[complete_ + 1];
  return most >= std::max(node.ideal.least + label.excess, windows_.work[complete_ + 1]) &&
         (most >= with_cut || most + sumOf(label.old, node.cost) >= with_cut);
}

bool RunSearch::beats(const Label& other, const Label& label, const Node& node) {
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

void RunSearch::finish(Label& label, double rest) {
  label.lack = std::max(0.0, label.lack - rest);
  label.excess = std::max(0.0, label.excess - rest);
}

void RunSearch::keepBest(std::vector<Label>& labels, const Node& node, const Budget& budget) {
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
    if (a.left != b.left) return a.left > b.left;
    if (a.lack != b.lack) return a.lack < b.lack;
    if (a.excess != b.excess) return a.excess < b.excess;
    return a.old != b.old ? a.old < b.old : a.unpaid < b.unpaid;
  });
  std::size_t kept = 0, last_winner = 0;
  for (const Label& label : labels) {
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

void RunSearch::hold(const Node& node, std::uint32_t run, std::span<const Label> labels, Share& share) const {
  thread_local RunIdeals::Room room;
  const RunIdeal& from = node.ideal;
  const Node made = nodeOf(ideals_.with(from, run, room));
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
  const std::size_t first = share.labels.items.size();
  double work = -1;
  std::uint32_t via = kNowhere;
  for (Label label : labels) {
    if (label.lack > 0 || label.excess > 0) finish(label, finished + sumOf(label.unpaid & tells, rest));
    label.left -= sumOf(label.unpaid & touched, node.cost) + cut_cost;
    label.old = (label.old & ~closed) | cut;
    label.unpaid &= ~touched;
    if (!alive(label, made)) continue;
    share.labels.items.push_back(label);
    const double here = workAtEnd(label, made);
    if (here <= work) continue;
    work = here;
    via = label.begun;
  }
  if (share.labels.items.size() == first) return;
  share.labels.closeRow();
  share.ideals.add(made.ideal);
  share.choice.push_back(ideals_.nextChoice(made.ideal, run + 1));
  share.work.push_back(work);
  share.via.push_back(via);
}

void RunSearch::refuse(Node& node, std::uint32_t run, std::span<const Label> labels, Share& share) const {
  thread_local RunIdeals::Room room;
  const RunIdeal made = ideals_.without(node.ideal, run, room);
  if (made.available < windows_.work[complete_ + 1]) return;
  const std::uint32_t choice = ideals_.nextChoice(made, run + 1);
  if (choice == graph_.runCount()) return;  // as if it ended here
  NetSet cut = 0, untouched = 0;
  for (const std::uint32_t e : made.open) {
    if (!ideals_.cutsSurely(made, e)) continue;
    cut |= ideals_.bit(e);
    // Where it tells of an unfinished run, it is still of use that a net is not paid for.
    const std::uint32_t maker = graph_.net_maker[e];
    const auto runs = graph_.net_runs[e];
    if ((maker == RunGraph::kNoRun || ideals_.holdsAny(made.key, graph_.after[maker])) &&
        std::all_of(runs.begin(), runs.end(), [&](std::uint32_t r) {
          return RunIdeals::refuses(made, r) || ideals_.holds(made.key, r);
        }))
      untouched |= ideals_.bit(e);
  }
  node.ideal = made;
  const std::size_t first = share.labels.items.size();
  for (Label label : labels) {
    label.left -= sumOf(cut & ~label.old, node.cost);
    label.old |= cut;
    label.unpaid &= ~untouched;
    if (alive(label, node)) share.labels.items.push_back(label);
  }
  if (share.labels.items.size() == first) return;
  share.labels.closeRow();
  share.ideals.add(made);
  share.choice.push_back(choice);
  share.work.push_back(-1);
  share.via.push_back(kNowhere);
}

double RunSearch::workAtEnd(const Label& label, const Node& node) const {
  const double most = node.ideal.most, least = node.ideal.least + label.excess;
  const double paid = label.left + limit_ - node.all_open + sumOf(label.old, node.cost);
  if (paid < least) return -1;
  double work = std::min(paid, most - label.lack);
  if (work >= paid || label.lack <= 0) return std::max(work, least);
  // The stage may go on with unfinished runs from before.
  std::array<const Node::Unfinished*, kMostUnfinished> runs{};
  std::size_t count = 0;
  for (const Node::Unfinished& run : node.unfinished) {
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
  return std::max(work, least);
}

RunSearch::Label RunSearch::begin(const Node& node, double work) const {
  Label label{.old = node.open, .unpaid = node.open, .left = work};
  // Rounding must not tell labels apart: less of both only allows more.
  const auto clear = [&](double amount) { return amount > slack_ ? amount : 0; };
  label.lack = clear(node.ideal.most - work);
  label.excess = clear(work - node.ideal.least);
  // An ideal with enough work for the end of the stage has all runs but those with little work elsewhere.
  const auto comes = [&](std::uint32_t run) {
    return ideals_.total - ideals_.behind[run] < windows_.work[complete_ + 1];
  };
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

double RunSearch::delayOf(const Label& label, const Node& node) const {
  // What is left takes as long as between the amounts that are needed at least.
  const std::vector<double>& needed = windows_.work;
  const double work = node.ideal.most;
  std::size_t b = 0;
  while (b + 1 < stages_ && needed[b + 1] <= work) ++b;
  const double step = needed[b + 1] - needed[b];
  const double done = static_cast<double>(b) + (step > 0 ? std::min(1.0, (work - needed[b]) / step) : 1);
  return work - limit_ * done - label.left + node.all_open - sumOf(label.old, node.cost);
}

void RunSearch::put(const RunIdeal& ideal, std::span<const Label> labels, Waiting& waiting) const {
  const std::uint32_t number = numberOf(ideal, waiting.ideals, waiting.index);
  waiting.labels.insert(waiting.labels.end(), labels.begin(), labels.end());
  waiting.owner.insert(waiting.owner.end(), labels.size(), number);
}

bool RunSearch::endAt(const RunIdeal& ideal, double work, std::uint32_t via, Ends& ends) {
  if (work < windows_.work[complete_ + 1]) return false;
  if (work >= ideals_.total * (1 - kRounding) && ideals_.isAll(ideal.key)) {
    trace(via);
    return true;
  }
  const std::uint32_t number = numberOf(ideal, ends.ideals, ends.index);
  if (number == ends.work.size()) {
    ends.work.push_back(-1);
    ends.via.push_back(kNowhere);
  }
  if (work > ends.work[number]) {
    ends.work[number] = work;
    ends.via[number] = via;
  }
  return false;
}

std::uint32_t RunSearch::numberOf(const RunIdeal& ideal, RunIdealList& list, HashIndex& index) const {
  const auto size = static_cast<std::uint32_t>(list.size());
  index.makeRoom(size, [&](std::uint32_t i) { return ideals_.hashOf(list[i].key); });
  const std::uint32_t number = index.find(
      ideals_.hashOf(ideal.key), size, [&](std::uint32_t i) { return ideals_.same(list[i].key, ideal.key); });
  if (number == size) list.add(ideal);
  return number;
}

Csr<RunSearch::Label> RunSearch::byIdeal(const Waiting& waiting) {
  Csr<Label> rows;
  rows.begin.assign(waiting.ideals.size() + 1, 0);
  for (const std::uint32_t i : waiting.owner) ++rows.begin[i + 1];
  std::partial_sum(rows.begin.begin(), rows.begin.end(), rows.begin.begin());
  rows.items.resize(waiting.labels.size());
  std::vector<std::uint32_t> at(rows.begin.begin(), rows.begin.end() - 1);
  for (std::size_t k = 0; k < waiting.labels.size(); ++k)
    rows.items[at[waiting.owner[k]]++] = waiting.labels[k];
  return rows;
}

void RunSearch::dropLate(const RunIdealList& ideals, std::size_t most_labels, Csr<Label>& labels,
                         const Budget& budget) const {
  std::vector<double> delays;
  for (std::size_t i = 0; i < ideals.size(); ++i) {
    if (i % kLabelsPerLook == 0 && budget.stopped()) return;
    const Node node = nodeOf(ideals[i]);
    for (const Label& label : labels[i]) delays.push_back(delayOf(label, node));
  }
  std::vector<double> sorted = delays;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(most_labels);
  std::nth_element(sorted.begin(), last, sorted.end());
  Csr<Label> kept;
  for (std::size_t i = 0, at = 0; i < ideals.size(); ++i) {
    for (const Label& label : labels[i]) {
      if (delays[at++] <= *last) kept.items.push_back(label);
    }
    kept.closeRow();
  }
  labels = std::move(kept);
}

std::vector<RunSearch::Share> RunSearch::expand(const RunIdealList& ideals, const Csr<Label>& labels,
                                                std::uint32_t run, const Budget& budget) const {
  std::vector<Share> shares((ideals.size() + kShareIdeals - 1) / kShareIdeals, Share{ideals_.list()});
  parallelFor(shares.size(), budget.threads, [&](std::size_t s) {
    std::vector<Label> best;
    for (std::size_t i = s * kShareIdeals; i < std::min(ideals.size(), (s + 1) * kShareIdeals); ++i) {
      if (budget.stopped()) return;
      Node node = nodeOf(ideals[i]);
      best.assign(labels[i].begin(), labels[i].end());
      keepBest(best, node, budget);
      shares[s].kept += best.size();
      hold(node, run, best, shares[s]);
      refuse(node, run, best, shares[s]);
    }
  });
  return shares;
}

RunSearch::Step RunSearch::makeStage(const Ends& from, Ends& to, std::size_t most_labels, bool& dropped,
                                     const Budget& budget) {
  const auto n = static_cast<std::uint32_t>(graph_.runCount());
  std::vector<Waiting> waiting(n, Waiting{ideals_.list()});
  RunIdeals::Room room;
  for (std::size_t i = 0; i < from.ideals.size(); ++i) {
    if (i % kLabelsPerLook == 0 && budget.stopped()) return Step::kStopped;
    const Node node = nodeOf(ideals_.anew(from.ideals[i], room));
    Label label = begin(node, from.work[i]);
    if (!alive(label, node)) continue;
    label.begun = noteBeginning(from, i);
    // The stage may hold nothing but the rest of runs.
    if (endAt(node.ideal, workAtEnd(label, node), label.begun, to)) return Step::kFound;
    const std::uint32_t choice = ideals_.nextChoice(node.ideal, 0);
    if (choice == n) continue;
    put(node.ideal, {&label, 1}, waiting[choice]);
  }
  for (std::uint32_t run = 0; run < n; ++run) {
    if (waiting[run].labels.empty()) continue;
    Csr<Label> labels = byIdeal(waiting[run]);
    if (labels.items.size() > most_labels) {
      dropLate(waiting[run].ideals, most_labels, labels, budget);
      dropped = true;
    }
    const std::vector<Share> shares = expand(waiting[run].ideals, labels, run, budget);
    waiting[run] = Waiting{ideals_.list()};
    for (const Share& share : shares) {
      if (budget.stopped()) return Step::kStopped;
      labels_ += share.kept;
      for (std::size_t i = 0; i < share.ideals.size(); ++i) {
        if (endAt(share.ideals[i], share.work[i], share.via[i], to)) return Step::kFound;
        if (share.choice[i] == n) continue;
        put(share.ideals[i], share.labels[i], waiting[share.choice[i]]);
      }
    }
    std::size_t bytes = to.ideals.bytes();
    for (const Waiting& other : waiting) bytes += other.ideals.bytes() + sizeof(Label) * other.labels.size();
    if (bytes > budget.memory_bytes / kMemoryParts) return Step::kStopped;
  }
  return Step::kDone;
}

std::uint32_t RunSearch::noteBeginning(const Ends& ends, std::size_t i) {
  if (complete_ == 0 || beginnings_.size() >= kMostBeginnings) return kNowhere;
  beginnings_.push_back({ends.via[i], ends.work[i]});
  const std::uint64_t* key = ends.ideals[i].key;
  beginning_keys_.insert(beginning_keys_.end(), key, key + ideals_.keyWords());
  return static_cast<std::uint32_t>(beginnings_.size() - 1);
}

void RunSearch::trace(std::uint32_t beginning) {
  // Without a beginning the way was not noted, or the stage is the first.
  for (; beginning != kNowhere; beginning = beginnings_[beginning].previous) {
    RunBoundary boundary{.begun = std::vector<std::uint8_t>(graph_.runCount()),
                         .work = beginnings_[beginning].work};
    const std::uint64_t* key = &beginning_keys_[beginning * ideals_.keyWords()];
    for (std::uint32_t r = 0; r < graph_.runCount(); ++r) boundary.begun[r] = ideals_.holds(key, r) ? 1 : 0;
    chain_.push_back(std::move(boundary));
  }
  std::reverse(chain_.begin(), chain_.end());
}

RunSearch::End RunSearch::below(double limit, const RunWindows& windows, std::size_t most_labels,
                                const Budget& budget) {
  slack_ = kRounding * ideals_.total;
  limit_ = limit + slack_;
  windows_ = windows;
  for (double& work : windows_.work) work -= slack_;
  for (double& both : windows_.with_cut) both -= slack_;
  labels_ = 0;
  beginnings_.clear();
  beginning_keys_.clear();
  chain_.clear();
  bool dropped = false;
  RunIdeals::Room room;
  Ends from{ideals_.list()};
  complete_ = 0;
  from.ideals.add(ideals_.none(room));
  from.work.push_back(0);
  from.via.push_back(kNowhere);
  for (; complete_ < stages_ && from.ideals.size() > 0; ++complete_) {
    Ends to{ideals_.list()};
    const Step step = makeStage(from, to, most_labels, dropped, budget);
    if (step == Step::kFound) return End::kFound;
    if (step == Step::kStopped) return End::kCut;
    from = std::move(to);
  }
  return dropped ? End::kCut : End::kNone;
}

}  // namespace allot
