// All schedules that can be best.
//
// Values do not fall when an op or a transfer ends later. So under static memory some best schedule is one
// where everything starts as early as the order on each device and port allows, and listing ops and transfers
// by their starts, each appended at its earliest start, meets it. Under live memory one may have to wait
// until something is freed, which happens at ends only: of the best schedules take one with the least sum of
// starts; each of its starts is the earliest possible, or the end of something that starts no later.
#include <algorithm>
#include <cmath>
#include <set>

#include "random/schedules.h"

namespace allot::tiny {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

constexpr std::uint64_t kMostSteps = 3'000'000;
const double kNotYet = std::nan("");

// An op (its number) or a transfer (the number of ops + its number).
struct Item {
  double seconds = 0, launch = 0, release = 0;
  std::vector<std::pair<int, double>> after;  // items, and how long after their ends
  std::vector<int> holds;                     // devices 0.., then ports
};

class ScheduleSearch {
 public:
  ScheduleSearch(const Rules& rules, const std::vector<int>& base, int most_moves)
      : rules_(rules),
        base_(base),
        most_moves_(most_moves),
        live_(rules.modes().memory == MemoryModel::kLive) {}

  BestSchedule run() {
    now_.device.assign(at(rules_.ops), 0);
    place(0);
    return std::move(best_);
  }

 private:
  const Rules& rules_;
  const std::vector<int>& base_;
  int most_moves_;
  bool live_;
  BestSchedule best_;
  Schedule now_;
  std::uint64_t steps_ = 0;
  std::vector<Item> items_;
  std::vector<int> topological_;
  std::vector<double> start_, end_, free_;
  double last_start_ = 0;
  int last_ = -1;

  void place(std::size_t unit) {
    if (unit == rules_.units.size()) {
      schedule();
      return;
    }
    for (int d = 0; d < rules_.devices; ++d) {
      if (!rules_.allowed(rules_.units[unit], d)) continue;
      for (int i = 0; i < rules_.ops; ++i) {
        if (in(rules_.units[unit], i)) now_.device[at(i)] = d;
      }
      place(unit + 1);
    }
  }

  void schedule() {
    if (!base_.empty()) {
      int moves = 0;
      for (int i = 0; i < rules_.ops; ++i) moves += base_[at(i)] != now_.device[at(i)] ? 1 : 0;
      if (moves > most_moves_) return;
    }
    now_.transfers = transfersOf(rules_, now_.device);
    now_.start.assign(at(rules_.ops), kNotYet);
    now_.end = now_.start;
    for (Transfer& transfer : now_.transfers) transfer.start = transfer.end = kNotYet;
    for (int d = 0; d < rules_.devices; ++d) {
      if (livePeak(rules_, now_, d, 0) > rules_.limit(d)) return;  // resident bytes alone
    }
    makeItems();
    start_.assign(items_.size(), kNotYet);
    end_ = start_;
    free_.assign(at(3 * rules_.devices), 0);
    last_start_ = 0;
    last_ = -1;
    append(0);
  }

  void makeItems() {
    const int n = rules_.ops;
    const bool half = rules_.modes().link_mode == LinkMode::kHalfDuplex;
    items_.assign(at(n) + now_.transfers.size(), {});
    for (int i = 0; i < n; ++i) {
      Item& item = items_[at(i)];
      item.seconds = rules_.seconds(i, now_.device[at(i)]);
      if (*rules_.modes().goal == Goal::kCompletion)
        item.release = rules_.tiny.models[at(rules_.tiny.ops[at(i)].model)].release;
      if (item.seconds == 0) continue;
      item.launch = rules_.launch(now_.device[at(i)]);
      item.holds = {now_.device[at(i)]};
    }
    for (const auto& [first, then] : rules_.edges) items_[at(then)].after.emplace_back(first, 0);
    for (int k = 0; k < static_cast<int>(now_.transfers.size()); ++k) {
      const Transfer& transfer = now_.transfers[at(k)];
      Item& item = items_[at(n + k)];
      item.seconds = rules_.transfer(transfer.tensor, transfer.from, transfer.to);
      item.after.emplace_back(rules_.tiny.tensors[at(transfer.tensor)].from, 0);
      if (rules_.modes().link_mode != LinkMode::kFree && item.seconds > 0)
        item.holds = {rules_.devices + transfer.from, (half ? 1 : 2) * rules_.devices + transfer.to};
      for (int i = 0; i < n; ++i) {
        if (in(transfer.consumers, i)) items_[at(i)].after.emplace_back(n + k, 0);
      }
    }
    // What holds no port and frees no memory runs at once: its readers wait for the producer and as long as
    // it takes.
    if (!live_) {
      for (int k = 0; k < static_cast<int>(now_.transfers.size()); ++k) {
        const Item& transfer = items_[at(n + k)];
        if (!transfer.holds.empty()) continue;
        for (int i = 0; i < n; ++i) {
          for (auto& [item, delay] : items_[at(i)].after) {
            if (item != n + k) continue;
            item = transfer.after.front().first;
            delay = transfer.seconds;
          }
        }
      }
    }
    topological_.clear();
    while (topological_.size() < items_.size()) {
      for (int x = 0; x < static_cast<int>(items_.size()); ++x) {
        const auto listed = [&](int y) {
          return std::find(topological_.begin(), topological_.end(), y) != topological_.end();
        };
        const Item& item = items_[at(x)];
        if (!listed(x) &&
            std::all_of(item.after.begin(), item.after.end(), [&](const auto& a) { return listed(a.first); }))
          topological_.push_back(x);
      }
    }
  }

  bool done(int item) const { return !std::isnan(end_[at(item)]); }
  // Transfers that run by themselves are no items under static memory.
  bool byItself(int item) const { return !live_ && item >= rules_.ops && items_[at(item)].holds.empty(); }

  double earliest(const Item& item, const std::vector<double>& end) const {
    double start = item.release;
    for (const auto& [before, delay] : item.after) start = std::max(start, end[at(before)] + delay);
    for (const int held : item.holds) start = std::max(start, free_[at(held)]);
    return start;
  }

  // No less than what is at hand leads to: everything else starts no earlier than the last item, or than what
  // it waits for.
  double bound() const {
    std::vector<double> end = end_;
    for (const int x : topological_) {
      if (std::isnan(end[at(x)]))
        end[at(x)] = std::max(last_start_, earliest(items_[at(x)], end)) + items_[at(x)].seconds;
    }
    return valueOf(rules_, {end.begin(), end.begin() + rules_.ops});
  }

  void keepTimes() {
    for (int i = 0; i < rules_.ops; ++i) {
      now_.start[at(i)] = start_[at(i)];
      now_.end[at(i)] = end_[at(i)];
    }
    for (std::size_t k = 0; k < now_.transfers.size(); ++k) {
      Transfer& transfer = now_.transfers[k];
      transfer.start = start_[at(rules_.ops) + k];
      transfer.end = end_[at(rules_.ops) + k];
      if (!byItself(rules_.ops + static_cast<int>(k))) continue;
      transfer.start = end_[at(items_[at(rules_.ops) + k].after.front().first)];
      transfer.end = transfer.start + items_[at(rules_.ops) + k].seconds;
    }
  }

  bool fitsSoFar(double until) {
    keepTimes();
    for (int d = 0; d < rules_.devices; ++d) {
      if (livePeak(rules_, now_, d, until) > rules_.limit(d)) return false;
    }
    return true;
  }

  void append(std::size_t count) {
    if (++steps_ > kMostSteps) {
      best_.whole = false;
      return;
    }
    if (best_.value && !(bound() < *best_.value)) return;
    bool complete = true;
    for (int x = 0; x < static_cast<int>(items_.size()); ++x) complete = complete && (done(x) || byItself(x));
    if (complete) {
      if (live_ && !fitsSoFar(kNone)) return;
      keepTimes();
      best_.value = valueOf(rules_, now_.end);
      best_.schedule = now_;
      return;
    }
    if (live_ && count > 0 && !fitsSoFar(last_start_)) return;
    for (int x = 0; x < static_cast<int>(items_.size()); ++x) {
      const Item& item = items_[at(x)];
      if (done(x) || byItself(x)) continue;
      if (!std::all_of(item.after.begin(), item.after.end(), [&](const auto& a) { return done(a.first); }))
        continue;
      const double first = earliest(item, end_);
      std::set<double> starts;
      if (first >= last_start_) starts.insert(first);
      if (live_) {
        for (const double end : end_) {
          if (!std::isnan(end) && end >= std::max(first, last_start_)) starts.insert(end);
        }
      }
      for (const double start : starts) {
        if (!twin(x, start)) begin(x, start, count);
      }
    }
  }

  // The same two items with the same start in the other order lead to the same schedule.
  bool twin(int x, double start) const {
    if (last_ < x || start != last_start_) return false;
    const Item &item = items_[at(x)], &last = items_[at(last_)];
    if (live_ && (item.seconds == 0 || last.seconds == 0)) return false;
    const auto meets = [&](int held) {
      return std::find(last.holds.begin(), last.holds.end(), held) != last.holds.end();
    };
    return std::none_of(item.after.begin(), item.after.end(),
                        [&](const auto& a) { return a.first == last_; }) &&
           std::none_of(item.holds.begin(), item.holds.end(), meets);
  }

  void begin(int x, double start, std::size_t count) {
    const Item& item = items_[at(x)];
    const std::vector<double> free_before = free_;
    const double last_start = last_start_;
    const int last = last_;
    start_[at(x)] = start;
    end_[at(x)] = start + item.seconds;
    for (const int held : item.holds) free_[at(held)] = end_[at(x)] + item.launch;
    last_start_ = start;
    last_ = x;
    append(count + 1);
    start_[at(x)] = end_[at(x)] = kNotYet;
    free_ = free_before;
    last_start_ = last_start;
    last_ = last;
  }
};

}  // namespace

BestSchedule bestSchedule(const Rules& rules, const std::vector<int>& base, int most_moves) {
  return ScheduleSearch(rules, base, most_moves).run();
}

}  // namespace allot::tiny
