// Runs independent tasks 0 .. n-1 on up to `threads` threads. Tasks must not depend on which thread runs
// them; results are gathered by index, so the outcome is the same for any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/processor.h"

namespace allot {

template <class Task>
void parallelFor(std::size_t n, std::uint32_t threads, Task&& task) {
  const std::size_t workers = std::min<std::size_t>(threads, n);
  if (workers <= 1) {
    for (std::size_t i = 0; i < n; ++i) task(i);
    return;
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) task(i);
  };
  std::vector<std::jthread> crew;
  crew.reserve(workers - 1);
  for (std::size_t i = 1; i < workers; ++i) sendElsewhere(crew.emplace_back(work));
  work();
}

}  // namespace allot
