// When a device or port is taken: sorted intervals that do not touch.
//
// Complexity: a search from the first interval that ends later; neighbours that touch become one, so a packed
// device is one interval.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allot::online {

class Timeline {
 public:
  // Nothing starts before `time`.
  void reset(double time) {
    from_ = time;
    taken_.clear();
  }

  // First time at or after `time` from which `seconds` are free.
  double earliest(double time, double seconds) const {
    time = std::max(time, from_);
    auto it = std::upper_bound(taken_.begin(), taken_.end(), time,
                               [](double t, const Interval& interval) { return t < interval.end; });
    for (; it != taken_.end() && it->begin < time + seconds; ++it) time = std::max(time, it->end);
    return time;
  }

  void take(double begin, double end) {
    if (!(end > begin)) return;
    auto it = std::upper_bound(taken_.begin(), taken_.end(), begin,
                               [](double t, const Interval& interval) { return t < interval.begin; });
    const bool joins_before = it != taken_.begin() && std::prev(it)->end >= begin;
    const bool joins_after = it != taken_.end() && it->begin <= end;
    if (joins_before && joins_after) {
      std::prev(it)->end = it->end;
      taken_.erase(it);
    } else if (joins_before) {
      std::prev(it)->end = end;
    } else if (joins_after) {
      it->begin = begin;
    } else {
      taken_.insert(it, {begin, end});
    }
  }

  // Gives back what was taken.
  void release(double begin, double end) {
    if (!(end > begin)) return;
    auto it = std::upper_bound(taken_.begin(), taken_.end(), begin,
                               [](double t, const Interval& interval) { return t < interval.end; });
    if (it == taken_.end()) return;
    const Interval whole = *it;
    it = taken_.erase(it);
    if (whole.end > end) it = taken_.insert(it, {end, whole.end});
    if (whole.begin < begin) taken_.insert(it, {whole.begin, begin});
  }

 private:
  struct Interval {
    double begin, end;
  };
  double from_ = 0;
  std::vector<Interval> taken_;
};

// First time from which both are free.
inline double earliestOfBoth(const Timeline& a, const Timeline& b, double time, double seconds) {
  for (;;) {
    const double first = a.earliest(time, seconds);
    time = b.earliest(first, seconds);
    if (time == first) return time;
  }
}

}  // namespace allot::online
