#include <algorithm>
#include <limits>
#include <thread>

#include "allot/solve.h"

namespace allot {

Budget::Budget(const RunOptions& run, const std::atomic<bool>* stop_flag)
    : gap(run.gap),
      threads(run.threads > 0 ? run.threads : std::max(1u, std::thread::hardware_concurrency())),
      seed(run.seed),
      work_limit(run.work_limit),
      helpers(run.helpers == Helpers::kAuto),
      stop_flag_(stop_flag) {
  constexpr double kLongest = 1e8;  // keeps the addition inside the clock's range
  if (work_limit > 0) return;
  deadline_ = start_ + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(std::min(run.time_limit_seconds, kLongest)));
}

bool Budget::stopped() const {
  return (stop_flag_ != nullptr && stop_flag_->load(std::memory_order_relaxed)) || Clock::now() >= deadline_;
}

double Budget::remainingSeconds() const {
  if (deadline_ == Clock::time_point::max()) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(deadline_ - Clock::now()).count();
}

Budget Budget::slice(double seconds) const {
  Budget part = *this;
  if (work_limit == 0 && seconds < remainingSeconds())
    part.deadline_ =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return part;
}

double Budget::elapsedSeconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

}  // namespace allot
