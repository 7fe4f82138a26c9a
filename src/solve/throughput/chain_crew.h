// Threads that share walks: whole ones by number, and parts of a long one when a thread has nothing to do.
//
// Problem: the walks of one level differ in length by orders of magnitude, and often there is only one.
// Method: a walker that sees `hungry` hands over what it has not looked at yet near the root of its tree.
// Threads live as long as the crew, because levels are many and some take microseconds.
// Guarantee: `run` returns when all walks and all their parts are done. Which thread does what is left to
// chance, so results must not depend on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

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

  explicit WalkCrew(std::size_t workers) {
    for (std::size_t w = 1; w < workers; ++w) threads_.emplace_back([this, w] { serve(w); });
  }
  WalkCrew(const WalkCrew&) = delete;
  WalkCrew& operator=(const WalkCrew&) = delete;
  ~WalkCrew() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
  }

  // Does walks 0 .. n-1.
  void run(std::size_t n, const Task& task) {
    if (threads_.empty()) {
      for (std::size_t i = 0; i < n; ++i) task(0, i, nullptr);
      return;
    }
    std::unique_lock lock(mutex_);
    task_ = &task;
    next_ = 0;
    count_ = n;
    if (n > 1) changed_.notify_all();
    for (;;) {
      if (ready()) {
        work(0, lock);
      } else if (busy_ == 0) {
        break;
      } else {
        await(lock, [&] { return ready() || busy_ == 0; });
      }
    }
    count_ = 0;
  }

  bool hungry() const { return hungry_.load(std::memory_order_relaxed) > 0; }

  void hand(WalkPart part) {
    {
      const std::lock_guard lock(mutex_);
      parts_.push_back(std::move(part));
      --hungry_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const Task* task_ = nullptr;
  std::size_t next_ = 0, count_ = 0;
  std::vector<WalkPart> parts_;
  std::size_t busy_ = 0;
  bool quit_ = false;
  std::atomic<std::int64_t> hungry_{0};  // threads that wait, less the parts that wait for them
  std::vector<std::jthread> threads_;

  bool ready() const { return next_ < count_ || !parts_.empty(); }

  template <class Condition>
  void await(std::unique_lock<std::mutex>& lock, Condition condition) {
    ++hungry_;
    changed_.wait(lock, condition);
    --hungry_;
  }

  void work(std::size_t worker, std::unique_lock<std::mutex>& lock) {
    ++busy_;
    if (!parts_.empty()) {
      const WalkPart part = std::move(parts_.back());
      parts_.pop_back();
      ++hungry_;
      lock.unlock();
      (*task_)(worker, part.walk, &part);
    } else {
      const std::size_t walk = next_++;
      lock.unlock();
      (*task_)(worker, walk, nullptr);
    }
    lock.lock();
    if (--busy_ == 0 && !ready()) changed_.notify_all();
  }

  void serve(std::size_t worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
      await(lock, [&] { return quit_ || ready(); });
      if (quit_) return;
      work(worker, lock);
    }
  }
};

}  // namespace allot
