// Threads that share walks: whole ones by number, and parts of a long one when a thread has nothing to do.
// Whatever can be numbered may stand for a walk.
//
// Problem: the walks of one level differ in length by orders of magnitude, and often there is only one.
// Levels are many, and some take less time than it takes to wake a thread. Method: a level begins on the
// caller's thread; the others are called once it has taken a while. Each has a share of the walks, about the
// same ones of one level as of the last, whose data are near its processor; who is done helps another one
// (work_share.h). A walker that sees `hungry` hands over what it has not looked at yet near the root of its
// tree. Threads start when the crew has worked for some milliseconds, or is about to, live as long as it
// does, and look out for work for a moment before they sleep. Guarantee: `run` returns when all walks and all
// their parts are done. Which thread does what is left to chance, so results must not depend on it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/processor.h"
#include "base/work_share.h"

namespace allot {

// What is left of a walk: the candidates that lead to an inner node of its tree, and the first of that node's
// candidates that nobody has looked at.
struct WalkPart {
  std::size_t walk = 0;
  std::uint32_t option = 0;
  std::vector<std::uint32_t> path;
  std::uint32_t first = 0;
};

class WalkCrew {
 public:
  // Does a walk, or the part of it, as member number `worker` of the crew.
  using Task = std::function<void(std::size_t worker, std::size_t walk, const WalkPart* part)>;

  explicit WalkCrew(std::size_t workers) : workers_(workers), left_(workers) {}
  WalkCrew(const WalkCrew&) = delete;
  WalkCrew& operator=(const WalkCrew&) = delete;
  ~WalkCrew() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    tell();
  }

  std::size_t workers() const { return workers_; }

  // For whoever knows that there will be much to do. Only the caller is here: others come after this.
  void start() {
    if (started_.exchange(true)) return;
    for (std::size_t w = 1; w < workers_; ++w) sendElsewhere(threads_.emplace_back([this, w] { serve(w); }));
  }

  // Does walks 0 .. n-1. `at_once`: they are known to take milliseconds, so that others start and are called
  // before it begins.
  void run(std::size_t n, const Task& task, bool at_once = false) {
    if (at_once)
      start();
    else
      startWhenLate();
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      for (std::size_t w = 0; w < workers_; ++w) left_[w].set({n * w / workers_, n * (w + 1) / workers_});
      open_ = at_once;
    }
    if (at_once) tell();
    const auto begun = Clock::now();
    takeWalks(0, [&] {
      if (workers_ == 1 || open_.load(std::memory_order_relaxed)) return;
      startWhenLate();
      if (Clock::now() - begun > kCallAfter) call();
    });
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!parts_.empty()) {
        work(0, lock);
      } else if (busy_ == 0) {
        break;
      } else {
        await(lock, [&] { return !parts_.empty() || busy_ == 0; });
      }
    }
    open_ = false;
  }

  // The caller works alone as long as there is little to do; a long walk must ask now and then.
  void startWhenLate() {
    if (workers_ == 1 || started_.load(std::memory_order_relaxed) || Clock::now() - made_ < kStartAfter)
      return;
    start();
  }

  bool hungry() const { return hungry_.load(std::memory_order_relaxed) > 0; }

  void hand(WalkPart part) {
    {
      const std::lock_guard lock(mutex_);
      parts_.push_back(std::move(part));
      --hungry_;
      open_ = true;
    }
    tell();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kStartAfter = std::chrono::milliseconds(2);
  static constexpr auto kCallAfter = std::chrono::microseconds(20);
  static constexpr std::size_t kFew = 4;    // walks between looks at the clock
  static constexpr std::size_t kParts = 8;  // of its share that a worker takes at a time
  static constexpr auto kLookOut = std::chrono::microseconds(5000);

  const std::size_t workers_;
  const Clock::time_point made_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint32_t> news_{0};  // how often something has changed
  const Task* task_ = nullptr;
  std::vector<WorkShare> left_;    // by worker
  std::atomic<bool> open_{false};  // others may take walks and parts of this run
  std::vector<WalkPart> parts_;
  std::size_t busy_ = 0;  // of the others
  bool quit_ = false;
  std::atomic<std::int64_t> hungry_{0};  // threads that wait, less the parts that wait for them
  std::atomic<bool> started_{false};
  std::vector<std::jthread> threads_;

  // Whoever looks out takes the lock at the news: it should be free then, for to sleep takes long.
  void tell() {
    ++news_;
    changed_.notify_all();
  }

  void call() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    tell();
  }

  bool ready() const {
    return open_ && (!parts_.empty() || std::any_of(left_.begin(), left_.end(),
                                                    [](const WorkShare& share) { return !share.empty(); }));
  }

  template <class Condition>
  void await(std::unique_lock<std::mutex>& lock, Condition condition) {
    ++hungry_;
    // Waking up takes longer than most waits.
    for (const auto end = Clock::now() + kLookOut; !condition() && Clock::now() < end;) {
      const std::uint32_t seen = news_;
      lock.unlock();
      while (news_ == seen && Clock::now() < end) {
      }
      lock.lock();
    }
    changed_.wait(lock, condition);
    --hungry_;
  }

  void work(std::size_t worker, std::unique_lock<std::mutex>& lock) {
    if (!parts_.empty()) {
      const WalkPart part = std::move(parts_.back());
      parts_.pop_back();
      ++hungry_;
      lock.unlock();
      (*task_)(worker, part.walk, &part);
    } else {
      lock.unlock();
      takeWalks(worker, [] {});
    }
    lock.lock();
  }

  // Does walks until all are taken: a few at a time while there are many, for some are very short. As long as
  // nobody was called, there is a look at the clock after few.
  template <class Between>
  void takeWalks(std::size_t worker, Between between) {
    do {
      for (;;) {
        const bool open = open_.load(std::memory_order_relaxed);
        const WorkShare::Range some = left_[worker].takeFront(kParts, open ? UINT32_MAX : kFew);
        if (some.empty()) break;
        for (std::uint64_t i = some.first; i < some.end; ++i) (*task_)(worker, i, nullptr);
        between();
      }
    } while (helpOthers(worker));
  }

  // Takes half of what another one has left, if there is any.
  bool helpOthers(std::size_t worker) {
    for (std::size_t i = 1; i < workers_; ++i) {
      const WorkShare::Range half = left_[(worker + i) % workers_].takeBackHalf();
      if (half.empty()) continue;
      left_[worker].set(half);
      return true;
    }
    return false;
  }

  void serve(std::size_t worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      await(lock, [&] { return quit_ || ready(); });
      if (quit_) return;
      ++busy_;
      work(worker, lock);
      if (--busy_ > 0) continue;
      lock.unlock();
      tell();
      lock.lock();
    }
  }
};

}  // namespace allot
