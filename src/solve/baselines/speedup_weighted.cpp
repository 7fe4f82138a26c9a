// weighted-speedup-published: see speedup_steps.h.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "solve/baselines/list_schedule.h"
#include "solve/baselines/speedup_steps.h"

namespace allot::baseline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// Assigns as many rows as possible to distinct columns, at the least cost of all such assignments, by
// successive shortest paths. Returns the row of each column, or kNone.
std::vector<std::size_t> assignRows(const std::vector<double>& cost, std::size_t columns) {
  const std::size_t rows = cost.size() / columns;
  std::vector<std::size_t> row_of(columns, kNone);
  std::vector<std::uint8_t> assigned(rows, 0);
  for (;;) {
    std::vector<double> distance(columns, kInfinity);
    std::vector<std::size_t> source(columns, kNone), before(columns, kNone);  // new row; column it came from
    for (std::size_t r = 0; r < rows; ++r) {
      if (assigned[r]) continue;
      for (std::size_t c = 0; c < columns; ++c) {
        if (cost[r * columns + c] < distance[c]) {
          distance[c] = cost[r * columns + c];
          source[c] = r;
        }
      }
    }
    for (std::size_t round = 0; round < columns; ++round) {
      bool changed = false;
      for (std::size_t c = 0; c < columns; ++c) {
        if (row_of[c] == kNone || distance[c] == kInfinity) continue;
        const double* row = &cost[row_of[c] * columns];
        for (std::size_t to = 0; to < columns; ++to) {
          // Rounding must not turn a way round into a gain.
          const double through = distance[c] + row[to] - row[c];
          if (to == c || !(through < distance[to] - 1e-12 * (1 + std::abs(through)))) continue;
          distance[to] = through;
          before[to] = c;
          changed = true;
        }
      }
      if (!changed) break;
    }
    std::size_t end = kNone;
    for (std::size_t c = 0; c < columns; ++c) {
      if (row_of[c] == kNone && distance[c] < kInfinity && (end == kNone || distance[c] < distance[end]))
        end = c;
    }
    if (end == kNone) return row_of;
    std::size_t at = end;
    for (std::size_t step = 0; before[at] != kNone && step < columns; ++step) {
      row_of[at] = row_of[before[at]];
      at = before[at];
    }
    row_of[at] = source[at];
    assigned[source[at]] = 1;
  }
}

class Weighted {
 public:
  Weighted(const Problem& problem, const Budget& budget)
      : problem_(problem),
        budget_(budget),
        schedule_(problem, false),
        readiness_(problem),
        running_(problem.graph.modelCount()) {}

  ListOutcome run() {
    const std::size_t devices = problem_.deviceCount();
    readiness_.begin([&](OpId op) { ready_.push_back(op); });
    std::vector<double> cost;
    while (!ready_.empty()) {
      cost.clear();
      for (std::size_t i = 0; i < ready_.size(); ++i) {
        if (i % kPollInterval == 0 && budget_.stopped()) return {std::nullopt, true};
        for (std::size_t d = 0; d < devices; ++d) cost.push_back(costOf(ready_[i], DeviceId(d)));
      }
      const std::vector<std::size_t> row_of = assignRows(cost, devices);
      if (!placeStep(row_of)) return {};
    }
    return {schedule_.takePlan(), false};
  }

 private:
  const Problem& problem_;
  const Budget& budget_;
  ListSchedule schedule_;
  Readiness readiness_;
  std::vector<OpId> ready_;  // in topological order
  // By model: end and length of placed ops, without those that another one outlasts in both.
  std::vector<std::map<double, double>> running_;

  double readyTime(OpId op) const {
    double time = schedule_.release(op);
    for (const TensorId tensor : problem_.graph.inputs(op))
      time = std::max(time, schedule_.end(problem_.graph.producer(tensor)));
    return time;
  }

  std::map<double, double>& running(OpId op) { return running_[problem_.graph.op_model[op.index()].index()]; }

  void addRunning(OpId op, double seconds) {
    std::map<double, double>& ops = running(op);
    const double end = schedule_.end(op);
    const auto later = ops.lower_bound(end);
    if (later != ops.end() && later->second >= seconds) return;
    const auto entry = ops.insert_or_assign(end, seconds).first;
    while (entry != ops.begin() && std::prev(entry)->second <= seconds) ops.erase(std::prev(entry));
  }

  double costOf(OpId op, DeviceId device) {
    if (!schedule_.canPlace(op, device)) return kInfinity;
    const double ready = readyTime(op);
    const double transfer = schedule_.arrival(op, device) - ready;
    // The first that outlasts the time is the longest that does.
    const auto longest = running(op).upper_bound(ready);
    const double hidden = longest != running(op).end() ? longest->second : 0;
    const double waiting = std::max(0.0, schedule_.freeFrom(device) - ready);
    return std::max(0.0, waiting + transfer + problem_.opSeconds(op, device) - hidden);
  }

  // False when nothing could be placed.
  bool placeStep(const std::vector<std::size_t>& row_of) {
    std::vector<OpId> next;
    std::vector<std::uint8_t> done(ready_.size(), 0);
    bool any = false;
    for (std::size_t d = 0; d < row_of.size(); ++d) {
      if (row_of[d] == kNone) continue;
      const OpId op = ready_[row_of[d]];
      const DeviceId device(d);
      // An op of the same unit may just have gone elsewhere.
      if (!schedule_.canPlace(op, device)) continue;
      schedule_.place(op, device, schedule_.earliestStart(op, device, schedule_.arrival(op, device)));
      addRunning(op, problem_.opSeconds(op, device));
      done[row_of[d]] = 1;
      any = true;
      readiness_.finish(op, [&](OpId consumer) { next.push_back(consumer); });
    }
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      if (!done[i]) next.push_back(ready_[i]);
    }
    std::sort(next.begin(), next.end(),
              [&](OpId a, OpId b) { return problem_.graph.position(a) < problem_.graph.position(b); });
    ready_ = std::move(next);
    return any;
  }
};

}  // namespace

SolveResult weightedSpeedupPublished(const Problem& problem, const Budget& budget, Progress& progress) {
  ListOutcome outcome = Weighted(problem, budget).run();
  if (outcome.plan) progress.plan(std::move(*outcome.plan), "weighted-speedup-published");
  return {outcome.stopped ? SolveEnd::kStopped : SolveEnd::kFinished, {}};
}

}  // namespace allot::baseline
