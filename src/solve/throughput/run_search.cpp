#include "solve/throughput/run_search.h"

#include <algorithm>

#include "graph/rows.h"

namespace allot {
namespace {

constexpr double kRounding = 1e-9;  // of sums of work and costs, as a share of them
constexpr std::size_t kShareIdeals = 16;
constexpr std::size_t kManyLabels = 256;  // before a run, that take long enough for threads
// Of the memory, what may wait: beside it are shares, indices and room that vectors keep.
constexpr std::size_t kMemoryParts = 4;
// Ideals between looks at the clock.
constexpr std::size_t kIdealsPerLook = 256;
// Beginnings of stages that are noted: some hundred megabytes.
constexpr std::size_t kMostBeginnings = 4'000'000;

}  // namespace

void RunSearch::hold(const RunLabels& stage, const RunNode& node, std::uint32_t run,
                     std::span<const RunLabel> labels, Share& share) const {
  thread_local RunIdeals::Room room;
  const RunNode made = stage.nodeOf(ideals_.with(node.ideal, run, room));
  const std::size_t first = share.labels.items.size();
  stage.hold(node, run, made, labels, share.labels.items);
  if (share.labels.items.size() == first) return;
  const RunLabels::End end = stage.bestEnd(std::span(share.labels.items).subspan(first), made);
  share.labels.closeRow();
  share.ideals.add(made.ideal);
  share.choice.push_back(ideals_.nextChoice(made.ideal, run + 1));
  share.ends.push_back(end);
}

void RunSearch::refuse(const RunLabels& stage, RunNode& node, std::uint32_t run,
                       std::span<const RunLabel> labels, Share& share) const {
  thread_local RunIdeals::Room room;
  node.ideal = ideals_.without(node.ideal, run, room);
  if (node.ideal.available < windows_.work[complete_ + 1]) return;
  const std::uint32_t choice = ideals_.nextChoice(node.ideal, run + 1);
  if (choice == graph_.runCount()) return;  // as if it ended here
  const std::size_t first = share.labels.items.size();
  stage.refuse(node, labels, share.labels.items);
  if (share.labels.items.size() == first) return;
  share.labels.closeRow();
  share.ideals.add(node.ideal);
  share.choice.push_back(choice);
  share.ends.emplace_back();
}

double RunSearch::delayOf(const RunLabel& label, const RunNode& node) const {
  // What is left takes as long as between the amounts that are needed at least.
  const std::vector<double>& needed = windows_.work;
  const double work = node.ideal.most;
  std::size_t b = 0;
  while (b + 1 < stages_ && needed[b + 1] <= work) ++b;
  const double step = needed[b + 1] - needed[b];
  const double done = static_cast<double>(b) + (step > 0 ? std::min(1.0, (work - needed[b]) / step) : 1);
  return work - limit_ * done - label.left + node.all_open - sumOf(label.old, node.cost);
}

void RunSearch::put(const RunIdeal& ideal, std::span<const RunLabel> labels, Waiting& waiting) const {
  const std::uint32_t number = numberOf(ideal, waiting.ideals, waiting.index);
  waiting.labels.insert(waiting.labels.end(), labels.begin(), labels.end());
  waiting.owner.insert(waiting.owner.end(), labels.size(), number);
}

bool RunSearch::endAt(const RunIdeal& ideal, const RunLabels::End& end, Ends& ends) {
  const auto [work, via] = end;
  if (work < windows_.work[complete_ + 1]) return false;
  if (work >= ideals_.total * (1 - kRounding) && ideals_.isAll(ideal.key)) {
    trace(via);
    return true;
  }
  const std::uint32_t number = numberOf(ideal, ends.ideals, ends.index);
  if (number == ends.work.size()) {
    ends.work.push_back(-1);
    ends.via.push_back(RunLabel::kNowhere);
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

void RunSearch::dropLate(const RunLabels& stage, const RunIdealList& ideals, std::size_t most_labels,
                         const Budget& budget, Csr<RunLabel>& labels) const {
  std::vector<double> delays;
  for (std::size_t i = 0; i < ideals.size(); ++i) {
    if (i % kIdealsPerLook == 0 && budget.stopped()) return;
    const RunNode node = stage.nodeOf(ideals[i]);
    for (const RunLabel& label : labels[i]) delays.push_back(delayOf(label, node));
  }
  std::vector<double> sorted = delays;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(most_labels);
  std::nth_element(sorted.begin(), last, sorted.end());
  Csr<RunLabel> kept;
  for (std::size_t i = 0, at = 0; i < ideals.size(); ++i) {
    for (const RunLabel& label : labels[i]) {
      if (delays[at++] <= *last) kept.items.push_back(label);
    }
    kept.closeRow();
  }
  labels = std::move(kept);
}

std::vector<RunSearch::Share> RunSearch::expand(const RunLabels& stage, const RunIdealList& ideals,
                                                const Csr<RunLabel>& labels, std::uint32_t run,
                                                const Budget& budget) const {
  std::vector<Share> shares((ideals.size() + kShareIdeals - 1) / kShareIdeals, Share{ideals_.list()});
  crew_.run(
      shares.size(),
      [&](std::size_t, std::size_t s, const WalkPart*) {
        std::vector<RunLabel> best;
        for (std::size_t i = s * kShareIdeals; i < std::min(ideals.size(), (s + 1) * kShareIdeals); ++i) {
          if (budget.stopped()) return;
          RunNode node = stage.nodeOf(ideals[i]);
          best.assign(labels[i].begin(), labels[i].end());
          RunLabels::keepBest(best, node, budget);
          shares[s].kept += best.size();
          hold(stage, node, run, best, shares[s]);
          refuse(stage, node, run, best, shares[s]);
        }
      },
      labels.items.size() > kManyLabels);
  return shares;
}

RunSearch::Step RunSearch::makeStage(const Ends& from, Ends& to, const Labels& most, bool& dropped,
                                     const Budget& budget) {
  const auto n = static_cast<std::uint32_t>(graph_.runCount());
  std::vector<Waiting> waiting(n, Waiting{ideals_.list()});
  const RunLabels stage(ideals_, limit_, slack_, windows_.work[complete_ + 1],
                        windows_.with_cut[complete_ + 1]);
  RunIdeals::Room room;
  for (std::size_t i = 0; i < from.ideals.size(); ++i) {
    if (i % kIdealsPerLook == 0 && budget.stopped()) return Step::kStopped;
    const RunNode node = stage.nodeOf(ideals_.anew(from.ideals[i], room));
    RunLabel label = stage.begin(node, from.work[i]);
    if (!stage.alive(label, node)) continue;
    label.begun = noteBeginning(from, i);
    // The stage may hold nothing but the rest of runs.
    if (endAt(node.ideal, stage.bestEnd({&label, 1}, node), to)) return Step::kFound;
    const std::uint32_t choice = ideals_.nextChoice(node.ideal, 0);
    if (choice == n) continue;
    put(node.ideal, {&label, 1}, waiting[choice]);
  }
  for (std::uint32_t run = 0; run < n; ++run) {
    if (waiting[run].labels.empty()) continue;
    Csr<RunLabel> labels =
        rowsByOwner<RunLabel>(waiting[run].labels, waiting[run].owner, waiting[run].ideals.size());
    if (labels.items.size() > most.waiting) {
      dropLate(stage, waiting[run].ideals, most.waiting, budget, labels);
      dropped = true;
    }
    const bool many = labels.items.size() > kManyLabels;
    const std::vector<Share> shares = expand(stage, waiting[run].ideals, labels, run, budget);
    waiting[run] = Waiting{ideals_.list()};
    for (const Share& share : shares) labels_ += share.kept;
    bool found = false;
    const auto gatherEnds = [&] {
      for (const Share& share : shares) {
        if (budget.stopped()) return;
        for (std::size_t i = 0; i < share.ideals.size() && !found; ++i)
          found = endAt(share.ideals[i], share.ends[i], to);
      }
    };
    const auto gatherLabels = [&] {
      for (const Share& share : shares) {
        if (budget.stopped()) return;
        for (std::size_t i = 0; i < share.ideals.size(); ++i) {
          if (share.choice[i] < n) put(share.ideals[i], share.labels[i], waiting[share.choice[i]]);
        }
      }
    };
    const WalkCrew::Task gather = [&](std::size_t, std::size_t task, const WalkPart*) {
      task == 0 ? gatherLabels() : gatherEnds();
    };
    crew_.run(2, gather, many);
    if (found) return Step::kFound;
    if (budget.stopped()) return Step::kStopped;
    if (labels_ > most.altogether) return Step::kStopped;
    std::size_t bytes = to.ideals.bytes();
    for (const Waiting& other : waiting)
      bytes += other.ideals.bytes() + sizeof(RunLabel) * other.labels.size();
    if (bytes > budget.memory_bytes / kMemoryParts) return Step::kStopped;
  }
  return Step::kDone;
}

std::uint32_t RunSearch::noteBeginning(const Ends& ends, std::size_t i) {
  if (complete_ == 0 || beginnings_.size() >= kMostBeginnings) return RunLabel::kNowhere;
  beginnings_.push_back({ends.via[i], ends.work[i]});
  const std::uint64_t* key = ends.ideals[i].key;
  beginning_keys_.insert(beginning_keys_.end(), key, key + ideals_.keyWords());
  return static_cast<std::uint32_t>(beginnings_.size() - 1);
}

void RunSearch::trace(std::uint32_t beginning) {
  // Without a beginning the way was not noted, or the stage is the first.
  for (; beginning != RunLabel::kNowhere; beginning = beginnings_[beginning].previous) {
    RunBoundary boundary{.begun = std::vector<std::uint8_t>(graph_.runCount()),
                         .work = beginnings_[beginning].work};
    const std::uint64_t* key = &beginning_keys_[beginning * ideals_.keyWords()];
    for (std::uint32_t r = 0; r < graph_.runCount(); ++r) boundary.begun[r] = ideals_.holds(key, r) ? 1 : 0;
    chain_.push_back(std::move(boundary));
  }
  std::reverse(chain_.begin(), chain_.end());
}

RunSearch::End RunSearch::below(double limit, const RunWindows& windows, const Labels& most,
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
  from.via.push_back(RunLabel::kNowhere);
  for (; complete_ < stages_ && from.ideals.size() > 0; ++complete_) {
    Ends to{ideals_.list()};
    const Step step = makeStage(from, to, most, dropped, budget);
    if (step == Step::kFound) return End::kFound;
    if (step == Step::kStopped) return End::kCut;
    from = std::move(to);
  }
  return dropped ? End::kCut : End::kNone;
}

}  // namespace allot
