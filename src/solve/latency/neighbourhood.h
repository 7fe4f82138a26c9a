// Changes of a sequence: the moves of the searches over schedules, each with its undo.
//
// Kinds: a unit to another device (mostly that of a neighbour); a chain, a connected cluster of one device,
// all that only one op feeds (or that only feeds one op) or a window of the order to another device; two
// units change places; an op shifts within the positions that its producers and consumers leave, freely or
// just before or behind a critical op of its device. Half of them start at an op without slack: no other
// change can shorten the schedule at once. Where a move leaves a device with too little memory, most often
// others are put out of it in turn until all fit: so two regions change places. Guarantee: the order stays
// topological, units stay together and on allowed devices; pinned ops stay. Memory may be exceeded:
// `overflow` says by how much, so that tight packings can be passed through. Complexity: O(size of the move),
// plus O(ops + edges) for finding ops without slack.
#pragma once

#include <span>

#include "base/random.h"
#include "solve/latency/decoder.h"

namespace allot {

// Ops [first, last) of a model as the searches see them: numbered from 0.
struct SearchRange {
  std::uint32_t first, last;
  bool open = false;  // ends when the last op can start
  bool ports = true;  // false: as if the link mode were free
  double grid = 0;    // timeGrid of the model
};

// A change of a sequence that was made, to be made again later.
struct Move {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> placed;  // ops and their devices
  bool shifted = false;
  std::uint32_t shift_op = 0, shift_from = 0, shift_to = 0;  // the op, its position, where it goes
  std::uint32_t from = 0;                                    // first position changed
};

class Neighbourhood {
 public:
  Neighbourhood(const ScheduleModel& model, const SearchRange& range);

  std::size_t opCount() const { return unit_.size(); }
  // Keeps the op's unit on the device that the next `begin` finds it on.
  void pin(std::uint32_t op) { pinned_[unit_[op]] = 1; }
  void begin(Sequence sequence);

  const Sequence& sequence() const { return sequence_; }
  // Changed positions of the last move: [from, until). Empty: no move was made.
  std::uint32_t changedFrom() const { return from_; }
  std::uint32_t changedUntil() const { return until_; }
  // Share by which resident bytes exceed the devices' memory, summed.
  double overflow() const;

  // Moves change only these positions from now on, a few at a time.
  void restrictTo(std::uint32_t begin, std::uint32_t stop);
  // Moves change devices only from now on.
  void keepOrder() { keep_order_ = true; }
  // Makes a move.
  void propose(Random& random);
  void undo();
  // Writes down the last move.
  void describe(Move& move) const;
  // Makes a move again, from the sequence that it was made from.
  void redo(const Move& move);
  // Puts an op's unit on a device, as a part of the current move.
  void place(std::uint32_t op, std::uint32_t device);
  void clearMove();
  // Units that the last move put elsewhere, with the devices they came from.
  std::span<const std::pair<std::uint32_t, std::uint32_t>> moved() const { return moved_; }
  std::span<const std::uint32_t> unitOps(std::uint32_t unit) const { return unit_ops_[unit]; }
  // Finds the ops without slack from the decoded ends.
  void findCritical(const Decoder& decoder);
  // Lists the ops by their starts; the schedule changes at most in the order of transfers.
  void sortByStart(const Decoder& decoder);

  // A topological order that takes the smallest key first.
  std::vector<std::uint32_t> orderBy(std::span<const double> key) const;

  // The positions between which an op can go.
  std::pair<std::uint32_t, std::uint32_t> room(std::uint32_t op) const;

 private:
  const ScheduleModel& model_;
  std::uint32_t first_;
  std::size_t devices_;
  Sequence sequence_;
  std::vector<std::uint32_t> unit_;  // by op, numbered from 0 inside the range
  Csr<std::uint32_t> unit_ops_;
  std::vector<double> unit_bytes_;
  std::vector<std::uint8_t> pinned_;     // by unit
  Csr<std::uint32_t> unit_devices_;      // allowed
  Csr<std::uint32_t> before_, after_;    // by op
  std::vector<double> used_;             // bytes by device
  std::vector<std::uint32_t> critical_;  // ops
  std::vector<double> behind_;           // by op: longest way to the end of the schedule
  std::vector<std::uint32_t> stamp_;
  std::uint32_t stamp_now_ = 0;
  std::vector<std::uint32_t> seen_;
  std::vector<std::uint32_t> cluster_;
  bool memory_binds_;
  bool keep_order_ = false;
  // Where memory binds: units with bytes by device, where each stands there, and the move that moved it last.
  std::vector<std::vector<std::uint32_t>> held_;
  std::vector<std::uint32_t> held_at_;
  std::vector<std::uint64_t> moved_in_;
  std::uint64_t move_ = 0;
  std::uint32_t cluster_scale_;  // clusters have up to 2^scale ops

  static constexpr std::uint32_t kNoLimit = UINT32_MAX;
  std::uint32_t low_ = 0, high_ = kNoLimit;  // positions that moves may change
  std::uint32_t from_ = 0, until_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moved_;    // unit and where it was
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shifted_;  // from, to

  std::uint32_t pickOp(Random& random) const;
  std::uint32_t pickDevice(std::uint32_t op, Random& random) const;
  void assign(std::uint32_t unit, std::uint32_t device);
  void hold(std::uint32_t unit, std::uint32_t device);
  void shift(std::uint32_t from, std::uint32_t to);
  void moveChain(Random& random);
  void moveCluster(Random& random);
  void moveRegion(Random& random);
  void moveWindow(Random& random);
  void swapUnits(Random& random);
  void shiftOp(Random& random);
  void shiftCritical(Random& random);
  void moveAndShift(Random& random);
  void eject(Random& random);
};

}  // namespace allot
