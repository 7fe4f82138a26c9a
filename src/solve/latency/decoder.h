// The value of (order, devices) over a schedule model: the inner loop of every search over schedules.
//
// Problem: ops are taken in a given topological order and appended to their devices. When an op is taken,
// what it reads from other devices is put on the ports, earliest producer first, each transfer into the first
// idle time that both ports have after the producer's end: also before transfers that were placed earlier.
// Each port remembers its last kGaps idle times, so that its state stays small. Guarantee: every schedule is
// valid in the model's link mode and has exactly the value that is returned; the evaluator, which appends in
// the order of starts, can only find the same times or earlier ones. Memory is not looked at. Complexity:
// O(ops + edges) for a full pass. A change from position p on costs a pass over the positions behind the last
// checkpoint before p; it ends early when the value must exceed the threshold, and where devices, ports and
// all results still to be read are again as they were. What must follow an op behind the changed positions is
// known from the accepted state: the longest way over readers and over the order of its device. These ways
// are found anew, from the back, only as far as a change needs them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allot/solve.h"
#include "solve/latency/memory_prices.h"
#include "solve/latency/schedule_model.h"

namespace allot {

// What a search decides. Positions are those in `order`.
struct Sequence {
  std::vector<std::uint32_t> order;     // ops, each behind its producers
  std::vector<std::uint32_t> position;  // by op
  std::vector<std::uint32_t> device;    // by op

  void setOrder(std::vector<std::uint32_t> ops);
  // Moves the op at one position to another; those between close up.
  void shift(std::uint32_t from, std::uint32_t to);
};

// A power of two of which the decoder makes all times multiples: fine enough to be lost in rounding, coarse
// enough that no sum of a schedule is rounded. So a part of a schedule takes the same time wherever it
// begins.
double timeGrid(const ScheduleModel& model);

class Decoder {
 public:
  // The ops [first, last) of a model as a problem of their own: what they read from outside is there at time
  // 0. Ops are numbered from 0. With `open` the last op takes no time, so that the value is when it could
  // start. Without `ports` transfers do not wait for each other, whatever the link mode.
  // `grid` is the model's `timeGrid`.
  Decoder(const ScheduleModel& model, std::uint32_t first, std::uint32_t last, bool open, bool ports,
          double grid);
  explicit Decoder(const ScheduleModel& model)
      : Decoder(model, 0, static_cast<std::uint32_t>(model.opCount()), false, true, timeGrid(model)) {}

  std::size_t opCount() const { return tail_.size() / devices_; }

  // Decodes everything and makes it the state that changes start from.
  double reset(const Sequence& sequence);
  // The value after a change of positions >= `from` and < `until`, and of nothing else; infinity where it is
  // above the threshold. `accept` or `reject` must follow before the next call.
  double tryChange(const Sequence& sequence, std::uint32_t from, std::uint32_t until, double threshold);
  // From now on changes are decoded only up to position `stop`, a multiple of `stride` or the number of ops,
  // and valued by how far the devices have come there: the mean of when they are free, the latest of these,
  // so that no device is left behind the others, and the mean of the last ends. What lies behind is decoded
  // when a later window asks for it.
  void setWindow(const Sequence& sequence, std::uint32_t begin, std::uint32_t stop);
  std::uint32_t stride() const { return stride_; }

  // Keeps the change that was tried; only after a finite value.
  void accept(const Sequence& sequence);
  void reject(const Sequence& sequence_as_tried);

  // Latest end of the accepted state.
  double value() const { return value_; }
  double end(std::uint32_t op) const { return end_[op]; }
  double seconds(std::uint32_t op, std::uint32_t device) const { return seconds_[op * devices_ + device]; }
  // Gives each op of the order, one by one, the device of least finish plus `price` times what its unit costs
  // there above its least; ports count, units stay together, and devices without room are left out where any
  // has room. Writes the sequence's devices and accepts it; false when the budget ended it. Only for a whole
  // model.
  bool greedy(Sequence& sequence, double price, const MemoryPrices& prices, const Budget& budget);
  // The whole schedule of a sequence, transfers included; accepts the sequence.
  Schedule record(const Sequence& sequence);

 private:
  friend class Lanes;
  static constexpr std::size_t kGaps = 4;
  struct Input {
    std::uint32_t producer, net;
    double single;  // seconds; negative where it depends on the pair
    const double* pairs;
  };
  struct Port {
    double free = 0;
    std::uint32_t gaps = 0;
    double begin[kGaps], end[kGaps];  // idle times before `free`, oldest first
  };
  struct Arrival {
    double time = 0;
    std::uint32_t setter = kNobody;  // the consumer whose turn caused the transfer
  };
  struct Crossing {
    double ready, seconds;
    std::uint32_t from, net;
  };
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  const ScheduleModel& model_;
  std::uint32_t first_;
  std::size_t devices_;
  bool ports_, shared_;         // shared: some net has several consumers
  std::size_t receive_offset_;  // of receive ports among the ports
  std::vector<double> pairs_;
  std::vector<std::uint32_t> input_begin_;
  std::vector<Input> inputs_;
  std::vector<double> seconds_, tail_;  // [op * devices + device]
  std::vector<double> launch_;

  std::vector<double> end_;       // by op
  std::vector<Arrival> arrival_;  // [net * devices + device] where shared
  // Machine state while sweeping, and checkpoints of it before every `stride_`-th position: two copies of
  // each, the accepted one and one that a try writes.
  std::vector<double> free_;
  std::vector<Port> port_;
  std::uint32_t stride_;
  struct Checkpoint {
    std::vector<double> free;
    std::vector<Port> port;
    double largest = 0;  // of the ends before it
  };
  std::vector<Checkpoint> checkpoints_;        // [2 * index + copy]
  std::vector<std::uint8_t> copy_;             // by index: which copy is accepted
  std::vector<double> behind_;                 // by index: largest end of the positions from there on
  std::vector<std::uint32_t> last_use_;        // by op: last position that reads it
  std::vector<std::uint64_t> last_use_found_;  // by op: the change that it was found after
  std::uint64_t accepted_ = 0;                 // changes so far
  Csr<std::uint32_t> readers_;                 // by op
  std::vector<std::uint32_t> reader_input_;    // by item of readers_: the input that reads
  std::vector<double> rest_;                   // by op: the longest way behind its end
  std::vector<double> gate_;     // [block * devices + device]: the same behind the device's next start
  std::uint32_t rest_from_ = 0;  // blocks from here on have both; there is one block more than positions
  std::uint32_t stop_ = 0;       // changes are decoded up to here
  bool windowed_ = false;
  double value_ = 0, tried_value_ = 0;
  std::uint32_t tried_from_ = 0, tried_until_ = 0;      // positions swept by the last try
  std::uint32_t changed_from_ = 0, changed_until_ = 0;  // those that the caller changed
  std::uint32_t dirty_ = 0;  // results that changed in this try are read before this position
  std::vector<double> block_largest_, tried_largest_;  // by block of positions
  std::vector<double> saved_end_;                      // by position, of a try
  std::vector<std::pair<std::size_t, Arrival>> saved_arrival_;
  std::vector<Crossing> crossing_;

  double transferSeconds(const Input& input, std::uint32_t from, std::uint32_t to) const {
    return input.single >= 0 ? input.single : input.pairs[from * devices_ + to];
  }
  static void dropOldest(Port& port);
  double put(Port& a, Port& b, double ready, double seconds);
  template <bool kRecord>
  double arrive(std::uint32_t op, std::uint32_t to, const Sequence& sequence, Schedule* schedule);
  template <bool kRecord>
  double step(std::uint32_t op, const Sequence& sequence, Schedule* schedule);
  bool sameState(const Checkpoint& checkpoint) const;
  void clear();
  double windowValue(const Sequence& sequence) const;
  void findLastUse(const Sequence& sequence, std::uint32_t op);
  void findRest(const Sequence& sequence, std::uint32_t from);
};

}  // namespace allot
