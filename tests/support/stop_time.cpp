#include "support/stop_time.h"

#include <gtest/gtest.h>

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

void expectStopsSoon(const Problem& problem, const char* solver) {
  RunOptions run;
  run.solver = solver;
  run.threads = 1;
  const double seconds = stopAfter(problem, run, 0.3).seconds;
  EXPECT_GT(seconds, 0) << solver << " ended before it was asked to";
  EXPECT_LT(seconds, kStopAllowance) << solver;
}

}  // namespace allot
