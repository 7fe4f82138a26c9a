#include "support/stop_time.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace allot {

StoppedRun stopAfter(const Problem& problem, const RunOptions& run, double wait_seconds) {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> stop{false};
  Clock::time_point asked;
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_seconds));
    asked = Clock::now();
    stop = true;
  });
  StoppedRun stopped;
  stopped.outcome = solve(problem, run, nullptr, &stop);
  const Clock::time_point ended = Clock::now();
  user.join();
  stopped.seconds = std::chrono::duration<double>(ended - asked).count();
  return stopped;
}

}  // namespace allot
