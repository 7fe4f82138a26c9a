#include "solve/throughput/run_search.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/thread_pool.h"
#include "solve/throughput/hash_index.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // of sums of work and costs, as a share of them
constexpr std::size_t kShareIdeals = 64;
// Sets of unfinished runs that a stage may go on with are listed up to this many runs.
constexpr std::size_t kMostUnfinished = 8;
// Beginnings of stages that are noted: some hundred megabytes.
constexpr std::size_t kMostBeginnings = 4'000'000;

}  // namespace

RunSearch::Node RunSearch::nodeOf(const RunLevel& level, std::size_t ideal) const {
  Node node{.level = level, .ideal = ideal, .key = lattice_.key(level, ideal), .cost = {}};
  node.least_cost = kInfinity;
  for (const std::uint32_t e : level.open[ideal]) {
    node.open |= lattice_.bit(e);
    node.cost[lattice_.slot(e)] = graph_.net_cost[e];
    node.all_open += graph_.net_cost[e];
    node.least_cost = std::min(node.least_cost, graph_.net_cost[e]);
  }
  for (const std::uint32_t r : lattice_.unfinished(node.key)) {
    Node::Unfinished run{graph_.rest(r), 0, 0};
    for (const std::uint32_t e : graph_.run_nets[r]) {
      if (graph_.net_maker[e] != r) continue;
      run.cost += 2 * graph_.net_cost[e];
      run.nets |= lattice_.bit(e);
    }
    node.unfinished.push_back(run);
  }
  return node;
}

bool RunSearch::alive(const Label& label, const Node& node) const {
  const double most = label.left + limit_, with_cut = windows_.with_cut[label.stages + 1];
  return most >= std::max(node.level.least[node.ideal] + label.excess, windows_.work[label.stages + 1]) &&
         (most >= with_cut || most + sumOf(label.old, node.cost) >= with_cut);
}

bool RunSearch::beats(const Label& other, const Label& label, const Node& node) {
  if (other.left < label.left || other.stages > label.stages) return false;
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

void RunSearch::gather(const RunLevel& from, const Csr<Label>& labels, std::span<const RunEdge> edges,
                       const Node& node, std::vector<Label>& found) const {
  thread_local HashIndex index(8);
  index.clear();
  found.clear();
  const auto hashOf = [](const Label& l) {
    const std::uint64_t work =
        std::bit_cast<std::uint64_t>(l.lack) * 3 ^ std::bit_cast<std::uint64_t>(l.excess);
    return mixBits(mixBits(mixBits(l.old) ^ l.unpaid) ^ work) + l.stages;
  };
  const auto sameKind = [](const Label& a, const Label& b) {
    return a.old == b.old && a.unpaid == b.unpaid && a.stages == b.stages && a.lack == b.lack &&
           a.excess == b.excess;
  };
  for (const RunEdge& edge : edges) {
    const std::uint64_t* from_key = lattice_.key(from, edge.from);
    NetSet touched = 0, closed = 0;
    SlotFigures cost;  // of those touched; the others are never read
    for (const std::uint32_t e : graph_.run_nets[edge.run]) {
      const auto known = from.open[edge.from];
      if (std::find(known.begin(), known.end(), e) == known.end()) continue;
      touched |= lattice_.bit(e);
      cost[lattice_.slot(e)] = graph_.net_cost[e];
      if (lattice_.holdsAll(node.key, graph_.net_runs[e])) closed |= lattice_.bit(e);
    }
    // Runs that are finished now. A net that the run makes and that the stage has not touched says whether
    // the run was begun before the stage; without one it counts as if it was.
    NetSet tells = 0;
    SlotFigures rest;
    double finished = 0;
    for (const std::uint32_t r : graph_.before[edge.run]) {
      if (graph_.items[r].size() == 1 || lattice_.holdsAny(from_key, graph_.after[r])) continue;
      const auto nets = graph_.run_nets[r];
      const auto made =
          std::find_if(nets.begin(), nets.end(), [&](std::uint32_t e) { return graph_.net_maker[e] == r; });
      if (made == nets.end() || (touched & lattice_.bit(*made)) == 0) {
        finished += graph_.rest(r);
      } else {
        tells |= lattice_.bit(*made);
        rest[lattice_.slot(*made)] = graph_.rest(r);
      }
    }
    for (Label label : labels[edge.from]) {
      if (label.lack > 0 || label.excess > 0) finish(label, finished + sumOf(label.unpaid & tells, rest));
      label.left -= sumOf(label.unpaid & touched, cost);
      label.old &= ~closed;
      label.unpaid &= ~touched;
      if (!alive(label, node)) continue;
      const auto number = static_cast<std::uint32_t>(found.size());
      index.makeRoom(number, [&](std::uint32_t k) { return hashOf(found[k]); });
      const std::uint32_t same =
          index.find(hashOf(label), number, [&](std::uint32_t k) { return sameKind(found[k], label); });
      if (same == number)
        found.push_back(label);
      else if (found[same].left < label.left)
        found[same] = label;
    }
  }
}

double RunSearch::workAtEnd(const Label& label, const Node& node) const {
  const double most = node.level.most[node.ideal], least = node.level.least[node.ideal] + label.excess;
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

RunSearch::Label RunSearch::begin(const Node& node, double work, std::uint32_t stages) const {
  Label label{.old = node.open, .unpaid = node.open, .left = work, .stages = stages};
  const RunLevel& level = node.level;
  // Rounding must not tell labels apart: less of both only allows more.
  const auto clear = [&](double amount) { return amount > slack_ ? amount : 0; };
  label.lack = clear(level.most[node.ideal] - work);
  label.excess = clear(work - level.least[node.ideal]);
  // An ideal with enough work for the end of the stage has all runs but those with little work elsewhere.
  const auto comes = [&](std::uint32_t run) {
    return lattice_.total - lattice_.behind[run] < windows_.work[stages + 1];
  };
  std::vector<std::uint32_t> finished;
  for (const std::uint32_t e : level.open[node.ideal]) {
    bool touched = false, closed = true;
    for (const std::uint32_t r : graph_.net_runs[e]) {
      if (lattice_.holds(node.key, r)) continue;
      (comes(r) ? touched : closed) = comes(r);
    }
    if (!touched) continue;
    label.left -= graph_.net_cost[e];
    label.unpaid &= ~lattice_.bit(e);
    if (closed) label.old &= ~lattice_.bit(e);
    const std::uint32_t maker = graph_.net_maker[e];
    if (maker != RunGraph::kNoRun && !lattice_.holdsAny(node.key, graph_.after[maker]))
      finished.push_back(maker);
  }
  std::sort(finished.begin(), finished.end());
  finished.erase(std::unique(finished.begin(), finished.end()), finished.end());
  for (const std::uint32_t r : finished) finish(label, graph_.rest(r));
  return label;
}

void RunSearch::fill(const RunLevel& from, const Csr<Label>& labels, std::span<const RunEdge> edges,
                     const Node& node, Share& share) const {
  thread_local std::vector<Label> found;
  gather(from, labels, edges, node, found);
  std::sort(found.begin(), found.end(), [](const Label& a, const Label& b) {
    if (a.left != b.left) return a.left > b.left;
    if (a.stages != b.stages) return a.stages < b.stages;
    if (a.lack != b.lack) return a.lack < b.lack;
    if (a.excess != b.excess) return a.excess < b.excess;
    return a.old != b.old ? a.old < b.old : a.unpaid < b.unpaid;
  });
  const std::size_t first = share.labels.size();
  std::size_t last_winner = first;
  const auto keep = [&](const Label& label) {
    // The one that beat the last label often beats this one too.
    if (last_winner < share.labels.size() && beats(share.labels[last_winner], label, node)) return;
    for (std::size_t i = first; i < share.labels.size(); ++i) {
      if (!beats(share.labels[i], label, node)) continue;
      last_winner = i;
      return;
    }
    share.labels.push_back(label);
  };
  for (const Label& label : found) keep(label);
  // Stages that end here, and those that begin.
  std::vector<double> reached(stages_ + 1, -1);           // by number of stages
  std::vector<std::uint32_t> via(stages_ + 1, kNowhere);  // where that stage began
  const auto endHere = [&](std::size_t i) {
    const Label& label = share.labels[i];
    const double work = workAtEnd(label, node);
    if (work <= reached[label.stages + 1]) return;
    reached[label.stages + 1] = work;
    via[label.stages + 1] = label.begun;
  };
  for (std::size_t i = first; i < share.labels.size(); ++i) endHere(i);
  double most = -1;
  for (std::uint32_t b = 1; b <= stages_; ++b) {
    if (reached[b] <= most || reached[b] < windows_.work[b]) continue;
    most = reached[b];
    if (most >= lattice_.total * (1 - kRounding) && !share.complete) {
      share.complete = true;
      share.last = via[b];
    }
    if (b == stages_) break;
    Label label = begin(node, most, b);
    if (!alive(label, node)) continue;
    label.begun = kOfShare | static_cast<std::uint32_t>(share.beginnings.size());
    const std::size_t before = share.labels.size();
    keep(label);
    if (share.labels.size() == before) continue;
    share.beginnings.push_back({via[b], static_cast<std::uint32_t>(node.ideal), most});
    endHere(before);
  }
  for (std::size_t i = first; i < share.labels.size(); ++i)
    share.times.push_back(timeOf(share.labels[i], node));
  share.ends.push_back(static_cast<std::uint32_t>(share.labels.size()));
}

double RunSearch::timeOf(const Label& label, const Node& node) const {
  // What is left takes as long as between the amounts that are needed at least.
  const double work = node.level.most[node.ideal];
  const std::vector<double>& needed = windows_.work;
  std::size_t b = 0;
  while (b + 1 < stages_ && needed[b + 1] <= work) ++b;
  const double step = needed[b + 1] - needed[b];
  const double done = static_cast<double>(b) + (step > 0 ? std::min(1.0, (work - needed[b]) / step) : 1);
  return limit_ * (label.stages - done) + work - label.left + node.all_open - sumOf(label.old, node.cost);
}

Csr<RunSearch::Label> RunSearch::joined(std::span<Share> shares, const RunLevel& level, double latest) {
  Csr<Label> labels;
  for (Share& share : shares) {
    const bool noted = beginnings_.size() + share.beginnings.size() <= kMostBeginnings;
    const auto offset = static_cast<std::uint32_t>(beginnings_.size());
    const auto resolve = [&](std::uint32_t& begun) {
      if (begun != kNowhere && (begun & kOfShare) != 0)
        begun = noted ? offset + (begun & ~kOfShare) : kNowhere;
    };
    for (Beginning& beginning : share.beginnings) {
      if (!noted) break;
      resolve(beginning.previous);
      beginnings_.push_back(beginning);
      const std::uint64_t* key = lattice_.key(level, beginning.ideal);
      beginning_keys_.insert(beginning_keys_.end(), key, key + lattice_.keyWords());
    }
    resolve(share.last);
    std::size_t at = 0;
    for (const std::uint32_t end : share.ends) {
      for (; at < end; ++at) {
        if (share.times[at] > latest) continue;
        resolve(share.labels[at].begun);
        labels.items.push_back(share.labels[at]);
      }
      labels.closeRow();
    }
  }
  return labels;
}

void RunSearch::trace(std::uint32_t beginning) {
  // Without a beginning the way was not noted, or the stage is the first.
  for (; beginning != kNowhere; beginning = beginnings_[beginning].previous) {
    RunBoundary boundary{.begun = std::vector<std::uint8_t>(graph_.runCount()),
                         .work = beginnings_[beginning].work};
    const std::uint64_t* key = &beginning_keys_[beginning * lattice_.keyWords()];
    for (std::uint32_t r = 0; r < graph_.runCount(); ++r) boundary.begun[r] = lattice_.holds(key, r) ? 1 : 0;
    chain_.push_back(std::move(boundary));
  }
  std::reverse(chain_.begin(), chain_.end());
}

RunSearch::End RunSearch::below(double limit, const RunWindows& windows, std::size_t most_labels,
                                const Budget& budget) {
  slack_ = kRounding * lattice_.total;
  limit_ = limit + slack_;
  windows_ = windows;
  for (double& work : windows_.work) work -= slack_;
  for (double& both : windows_.with_cut) both -= slack_;
  labels_ = 0;
  beginnings_.clear();
  beginning_keys_.clear();
  chain_.clear();
  bool dropped = false;
  RunLevel level = lattice_.first();
  Csr<Label> labels;
  labels.items.push_back({});
  labels.closeRow();
  for (std::size_t i = 0; i < graph_.runCount(); ++i) {
    std::vector<std::uint32_t> live;
    for (std::uint32_t ideal = 0; ideal < level.size(); ++ideal) {
      if (!labels[ideal].empty()) live.push_back(ideal);
    }
    if (live.empty()) return dropped ? End::kCut : End::kNone;
    Csr<RunEdge> edges;
    RunLevel made = lattice_.next(level, live, edges);
    std::vector<Share> shares((made.size() + kShareIdeals - 1) / kShareIdeals);
    parallelFor(shares.size(), budget.threads, [&](std::size_t s) {
      for (std::size_t ideal = s * kShareIdeals; ideal < std::min(made.size(), (s + 1) * kShareIdeals);
           ++ideal) {
        if (budget.stopped()) return;
        fill(level, labels, edges[ideal], nodeOf(made, ideal), shares[s]);
      }
    });
    if (budget.stopped()) return End::kCut;
    std::vector<double> times;
    for (const Share& share : shares) times.insert(times.end(), share.times.begin(), share.times.end());
    labels_ += times.size();
    double latest = kInfinity;
    if (times.size() > most_labels) {
      const auto last = times.begin() + static_cast<std::ptrdiff_t>(most_labels);
      std::nth_element(times.begin(), last, times.end());
      latest = *last;
      dropped = true;
    }
    Csr<Label> next = joined(shares, made, latest);
    // The only ideal of the last level is everything.
    if (i + 1 == graph_.runCount() && shares[0].complete) {
      trace(shares[0].last);
      return End::kFound;
    }
    const std::size_t kept = labels.items.size() + next.items.size();
    if (2 * sizeof(Label) * kept > budget.memory_bytes) return End::kCut;
    labels = std::move(next);
    level = std::move(made);
  }
  return dropped ? End::kCut : End::kNone;
}

}  // namespace allot
