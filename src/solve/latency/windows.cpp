#include "solve/latency/windows.h"

#include <algorithm>
#include <limits>

namespace allot {

double Windows::overfull(std::span<Activity> set, double limit) {
  std::sort(set.begin(), set.end(), [](const Activity& a, const Activity& b) { return a.head < b.head; });
  heap_.clear();
  double now = 0;
  std::size_t next = 0;
  while (next < set.size() || !heap_.empty()) {
    if (heap_.empty()) now = std::max(now, set[next].head);
    while (next < set.size() && set[next].head <= now) {
      heap_.emplace_back(set[next].tail, set[next].length);
      std::push_heap(heap_.begin(), heap_.end());
      ++next;
    }
    const double until = next < set.size() ? set[next].head : std::numeric_limits<double>::infinity();
    while (!heap_.empty() && now < until) {
      auto& [tail, left] = heap_.front();
      if (now + left <= until) {
        now += left;
        if (now + tail > limit) return now + tail;
        std::pop_heap(heap_.begin(), heap_.end());
        heap_.pop_back();
      } else {
        left -= until - now;
        now = until;
      }
    }
  }
  return 0;
}

void Windows::prepare(std::span<const Activity> set) {
  by_head_.assign(set.begin(), set.end());
  by_tail_ = by_head_;
  std::sort(by_head_.begin(), by_head_.end(),
            [](const Activity& a, const Activity& b) { return a.head > b.head; });
  std::sort(by_tail_.begin(), by_tail_.end(),
            [](const Activity& a, const Activity& b) { return a.tail > b.tail; });
  const std::size_t n = set.size();
  table_.clear();
  if (n > kMaxTable) return;
  // Row i: head at least that of by_head_[i]; column j: tail at least that of by_tail_[j]. Afterwards each
  // entry is the most over all smaller heads and tails.
  constexpr double kLow = -std::numeric_limits<double>::infinity();
  table_.assign((n + 1) * (n + 1), kLow);
  for (std::size_t i = 0; i < n; ++i) {
    const double head = by_head_[i].head;
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (by_tail_[j].head < head) continue;
      sum += by_tail_[j].length;
      table_[i * (n + 1) + j] = head + sum + by_tail_[j].tail;
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = n; j-- > 0;) {
      double& most = table_[i * (n + 1) + j];
      most = std::max({most, table_[(i + 1) * (n + 1) + j], table_[i * (n + 1) + j + 1]});
    }
  }
}

double Windows::overfullWith(const Activity& more, double limit) const {
  const std::size_t n = by_head_.size();
  // From its own head on.
  double sum = more.head + more.length;
  if (sum + more.tail > limit) return sum + more.tail;
  for (const Activity& other : by_tail_) {
    if (other.head < more.head) continue;
    sum += other.length;
    if (const double end = sum + std::min(other.tail, more.tail); end > limit) return end;
  }
  // Up to its own tail.
  sum = more.length + more.tail;
  for (const Activity& other : by_head_) {
    if (other.tail < more.tail) continue;
    sum += other.length;
    if (const double end = sum + std::min(other.head, more.head); end > limit) return end;
  }
  if (table_.empty() || n == 0) return 0;
  // Windows of others that it lies in.
  const auto row = std::partition_point(by_head_.begin(), by_head_.end(),
                                        [&](const Activity& a) { return a.head > more.head; });
  const auto column = std::partition_point(by_tail_.begin(), by_tail_.end(),
                                           [&](const Activity& a) { return a.tail > more.tail; });
  const auto i = static_cast<std::size_t>(row - by_head_.begin());
  const auto j = static_cast<std::size_t>(column - by_tail_.begin());
  const double end = table_[i * (n + 1) + j] + more.length;
  return end > limit ? end : 0;
}

}  // namespace allot
