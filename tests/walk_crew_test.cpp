// The crew that shares walks: every walk once, every part once, in runs that follow each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/walk_crew.h"
#include "base/work_share.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace allot {
namespace {

void spend(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(WalkCrew, DoesEveryWalkOnce) {
  for (const std::size_t workers : {1u, 2u, 4u}) {
    WalkCrew crew(workers);
    for (const std::size_t walks : {0u, 1u, 2u, 40u, 1000u, 3u, 300u}) {
      std::vector<std::atomic<int>> done(walks);
      const WalkCrew::Task task = [&](std::size_t worker, std::size_t walk, const WalkPart* part) {
        ASSERT_LT(worker, workers);
        ASSERT_EQ(part, nullptr);
        ++done[walk];
        spend(std::chrono::microseconds(walk % 7 == 0 ? 200 : 20));
      };
      crew.run(walks, task);
      EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
      crew.run(walks, task, true);
      EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 2; }));
    }
  }
}

// What one thread has for its share takes far longer than what the others have.
TEST(WalkCrew, HelpsWhoHasMuchLeft) {
  WalkCrew crew(4);
  for (const std::size_t slow : {0u, 250u, 900u}) {
    std::vector<std::atomic<int>> done(1000);
    std::array<std::atomic<int>, 4> helped{};
    crew.run(
        done.size(),
        [&](std::size_t worker, std::size_t walk, const WalkPart*) {
          ++done[walk];
          if (walk < slow || walk >= slow + 100) return;
          ++helped[worker];
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        },
        true);
    EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
    EXPECT_GT(std::count_if(helped.begin(), helped.end(), [](const auto& times) { return times > 0; }), 1);
  }
}

// Owner and helpers take from both ends at once.
TEST(WorkShare, GivesEveryTaskOnce) {
  constexpr std::size_t kTasks = 200'000;
  WorkShare share;
  std::vector<std::atomic<int>> taken(kTasks);
  share.set({0, kTasks});
  const auto note = [&](WorkShare::Range some) {
    for (std::uint64_t i = some.first; i < some.end; ++i) ++taken[i];
    return !some.empty();
  };
  {
    std::jthread owner([&] {
      while (note(share.takeFront(1000, 5))) {
      }
    });
    std::vector<std::jthread> helpers;
    for (int i = 0; i < 3; ++i) {
      helpers.emplace_back([&] {
        for (WorkShare own; !share.empty();) {
          const WorkShare::Range half = share.takeBackHalf();
          if (half.empty()) continue;
          own.set(half);
          while (note(own.takeFront(8, UINT32_MAX))) {
          }
        }
      });
    }
  }
  EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](const auto& times) { return times == 1; }));
}

#if defined(__linux__)
// They are sent away when they begin, and may run anywhere afterwards.
TEST(WalkCrew, ThreadsMayRunWhereTheirMakerMay) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  WalkCrew crew(3);
  std::array<std::atomic<bool>, 3> differs{};
  crew.run(
      60,
      [&](std::size_t worker, std::size_t, const WalkPart*) {
        cpu_set_t here;
        spend(std::chrono::milliseconds(1));
        // What the last walk sees counts: at first they may be on their way.
        differs[worker] = sched_getaffinity(0, sizeof here, &here) != 0 || !CPU_EQUAL(&here, &mine);
      },
      true);
  for (const auto& worker : differs) EXPECT_FALSE(worker);
}
#endif

// Threads are not started for a moment's work.
TEST(WalkCrew, WorksAloneWhileThereIsLittleToDo) {
  const auto begin = std::chrono::steady_clock::now();
  WalkCrew crew(4);
  crew.startWhenLate();
  crew.run(3, [&](std::size_t worker, std::size_t, const WalkPart*) {
    const bool hungry = crew.hungry();
    if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1)) return;
    EXPECT_EQ(worker, 0u);
    EXPECT_FALSE(hungry);
  });
}

// One walk of many steps, which others only get by way of parts: each part counts the steps behind its first.
TEST(WalkCrew, HandsOverPartsOfALongWalk) {
  constexpr std::uint32_t kSteps = 400;
  for (const std::size_t workers : {2u, 3u}) {
    WalkCrew crew(workers);
    std::size_t handed = 0;
    // On a busy machine it may take a while until another thread runs.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int level = 0; level < 5 || (handed == 0 && std::chrono::steady_clock::now() < end); ++level) {
      std::vector<std::atomic<int>> done(kSteps);
      std::atomic<std::size_t> parts{0};
      crew.run(1, [&](std::size_t, std::size_t walk, const WalkPart* part) {
        ASSERT_EQ(walk, 0u);
        std::uint32_t end = part == nullptr ? kSteps : part->option;
        for (std::uint32_t i = part == nullptr ? 0 : part->first; i < end; ++i) {
          ++done[i];
          spend(std::chrono::microseconds(50));
          crew.startWhenLate();
          if (i + 2 >= end || !crew.hungry()) continue;
          // The upper half of what is left.
          const std::uint32_t middle = i + 1 + (end - i) / 2;
          crew.hand({0, end, {}, middle});
          end = middle;
          ++parts;
        }
      });
      EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
      handed += parts;
    }
    EXPECT_GT(handed, 0u);
  }
}

}  // namespace
}  // namespace allot
