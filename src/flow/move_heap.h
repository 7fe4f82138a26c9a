// Moves from one hub to another, the cheapest on top. Moves may have gone stale; once there are many more
// than there were, each that is added makes the heap look at two others in turn and drop those that are. So
// memory stays within a few times that of live moves, and no single call pays for all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace allot::flow {

struct Move {
  std::int64_t cost;
  std::uint32_t in, out;  // links from a hub to the leaf and from the leaf to another hub
};

class MoveHeap {
 public:
  bool empty() const { return moves_.empty(); }
  const Move& top() const { return moves_.front(); }

  // Fetches what a push() will touch. Heaps are many and large, so that it would wait for each in turn.
  void fetch() const {
    __builtin_prefetch(moves_.data() + moves_.size(), 1);
    __builtin_prefetch(moves_.data() + moves_.size() / 2);
  }

  // Without order, to be followed by order().
  void append(const Move& move) { moves_.push_back(move); }
  void order() {
    std::make_heap(moves_.begin(), moves_.end(), dearer);
    makeRoom();
  }

  template <class Stale>
  void push(const Move& move, Stale&& stale) {
    moves_.push_back(move);
    siftUp(moves_.size() - 1);
    for (int i = 0; i < 2 && moves_.size() > allowed_; ++i) {
      if (++next_check_ >= moves_.size()) {
        if (dropped_ < moves_.size() / 4) allowed_ = 2 * moves_.size();
        next_check_ = dropped_ = 0;
      }
      if (!stale(moves_[next_check_])) continue;
      removeAt(next_check_);
      ++dropped_;
    }
  }
  void pop() { removeAt(0); }

  template <class Stale>
  void clean(Stale&& stale) {
    std::erase_if(moves_, stale);
    std::sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
      if (a.cost != b.cost) return a.cost < b.cost;
      return a.in != b.in ? a.in < b.in : a.out < b.out;
    });
    const auto same = [](const Move& a, const Move& b) { return a.in == b.in && a.out == b.out; };
    moves_.erase(std::unique(moves_.begin(), moves_.end(), same), moves_.end());
    makeRoom();
  }

 private:
  std::vector<Move> moves_;
  std::size_t allowed_ = 64;
  std::size_t next_check_ = 0, dropped_ = 0;  // in this round of checks

  // So that none of the next pushes has to move everything.
  void makeRoom() {
    allowed_ = 2 * moves_.size() + 64;
    if (moves_.capacity() < moves_.size() + moves_.size() / 8)
      moves_.reserve(moves_.size() + moves_.size() / 2);
  }
  static bool dearer(const Move& a, const Move& b) { return a.cost > b.cost; }

  void removeAt(std::size_t i) {
    const Move last = moves_.back();
    moves_.pop_back();
    if (i == moves_.size()) return;
    moves_[i] = last;
    if (i > 0 && last.cost < moves_[(i - 1) / 2].cost)
      siftUp(i);
    else
      siftDown(i);
  }
  void siftUp(std::size_t i) {
    const Move move = moves_[i];
    while (i > 0 && move.cost < moves_[(i - 1) / 2].cost) {
      moves_[i] = moves_[(i - 1) / 2];
      i = (i - 1) / 2;
    }
    moves_[i] = move;
  }
  void siftDown(std::size_t i) {
    const Move move = moves_[i];
    for (std::size_t child = 2 * i + 1; child < moves_.size(); child = 2 * i + 1) {
      if (child + 1 < moves_.size() && moves_[child + 1].cost < moves_[child].cost) ++child;
      if (moves_[child].cost >= move.cost) break;
      moves_[i] = moves_[child];
      i = child;
    }
    moves_[i] = move;
  }
};

}  // namespace allot::flow
