// Large-neighbourhood search on a schedule: parts of it are freed and solved again, the rest stays.
//
// Problem: a sequence (decoder.h) and its schedule. Freed are the ops of a stretch of the order, which
//   is by starts: either all of them (a window), or a connected few around an op without slack, while the
//   others of a longer stretch keep their devices and their order on each (a branch).
// Method: what starts before the stretch is done at entry, with the times at which devices and ports are free
//   and what has arrived where. What starts behind it keeps devices and orders, so an op must be followed by
//   the longest way through what reads it and what its device runs next: its tail on each device. Below the
//   value of the schedule, `searchWindow` looks for the best with a limit on its width: exact where that
//   drops nothing. What it finds is put into the sequence and decoded as a whole. Width and size grow when a
//   pass over the schedule changed nothing: small parts without a limit find little that annealing did not.
//   Units that reach out of the stretch stay where they are; where memory binds, the room that the others
//   leave is part of the problem.
// Guarantee: never worse than the start; memory is not exceeded where the start does not exceed it. It does
//   not apply under live memory. The same result on every run.
// When time runs out: the best so far.
#pragma once

#include "solve/latency/exact_window.h"
#include "solve/latency/neighbourhood.h"

namespace allot {

class WindowResolver {
 public:
  WindowResolver(const ScheduleModel& model, const SearchRange& range);

  // Whether the model is one that it can work on.
  static bool applies(const ScheduleModel& model);
  // Keeps the op's unit on its device.
  void pin(std::uint32_t op) { pinned_[model_.unit[range_.first + op]] = 1; }
  // Improves the sequence with about this many partial schedules in all. Returns the value.
  double improve(Sequence& sequence, std::uint64_t states, const Budget& budget, Random& random);
  // Partial schedules made by all calls.
  std::uint64_t states() const { return states_; }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  const ScheduleModel& model_;
  SearchRange range_;
  std::size_t devices_;
  std::uint32_t n_;
  bool memory_;
  Decoder decoder_;
  Neighbourhood orders_;
  std::vector<std::uint8_t> pinned_;  // by unit
  std::size_t width_ = 0;             // partial schedules that a search keeps in each round
  std::uint32_t size_ = 0;            // ops freed
  std::uint64_t states_ = 0;

  // The schedule at hand.
  double value_ = 0;
  Schedule schedule_;
  std::vector<double> behind_;  // by op, then by transfer: what must pass after its end
  std::vector<double> used_;    // bytes by device
  std::vector<std::uint32_t> critical_;

  std::vector<std::uint32_t> transfer_at_;  // [net * devices + to]: transfer of the schedule, or kNone
  std::vector<std::uint8_t> freed_;         // by op

  double endOf(std::uint32_t op) const {
    return schedule_.start[op] + decoder_.seconds(op, schedule_.device[op]);
  }
  void look(const Sequence& sequence);
  void findBehind(const Sequence& sequence);
  void sortByStart(Sequence& sequence);
  std::pair<std::uint32_t, std::uint32_t> freeBranch(const Sequence& sequence, std::uint32_t op);
  bool tryPart(Sequence& sequence, std::uint32_t begin, std::uint32_t end, const Budget& budget);
  bool sentBefore(const Sequence& sequence, const NetTransfer& transfer, std::uint32_t begin) const;
  ExactWindow windowFor(const Sequence& sequence, std::uint32_t begin, std::uint32_t end) const;
  void setPlaces(ExactWindow& window, const Sequence& sequence, std::uint32_t begin, std::uint32_t end) const;
  void setTails(ExactWindow& window, const Sequence& sequence, std::uint32_t end) const;
  void setNets(ExactWindow& window, const Sequence& sequence, std::uint32_t begin) const;
  bool take(Sequence& sequence, const ExactWindow& window, const WindowPlan& plan, std::uint32_t begin);
};

}  // namespace allot
