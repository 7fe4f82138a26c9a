// Schedules of a few tens of ops, any graphs, by states that dominate each other.
//
// Problem: least weighted sum of completions in the events model with static memory, every link and send
// mode. Method: activities (ops, and transfers under port modes) are taken in the order of their starts, each
// as early as its inputs, device and ports allow; sums of ends never gain from starting later, so these
// schedules hold an optimum. A state is the set of what has been done, with the times at which devices, ports
// and tensors are available and what memory is left; of two states with the same set, one that is nowhere
// later makes the other needless. States go layer by layer; those whose bound (paths, and all work on one
// machine of weighted speed) is not below the cutoff are dropped. Guarantee: with no limit on the width of a
// layer the result is optimal, or nothing is below the cutoff. Complexity: exponential; O(ops * devices +
// edges) for each state. When time runs out: no result.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "allot/solve.h"
#include "solve/latency/schedule_model.h"

namespace allot {

enum class StateEnd : std::uint8_t { kDone, kStopped, kTooLarge };

class StateSearch {
 public:
  static constexpr std::size_t kMostOps = 64;

  explicit StateSearch(const Problem& problem);

  // At most `width` states by layer (0 = all of them), at most `states` in all.
  StateEnd run(double cutoff, std::size_t width, std::size_t states, const Budget& budget);
  // Of the last run: infinite when nothing is below the cutoff.
  double value() const { return value_; }
  const Schedule& schedule() const { return schedule_; }
  const ScheduleModel& model() const { return model_; }
  std::size_t states() const { return nodes_.size(); }

 private:
  // What was done to reach a state: an op on a device, or a net sent to one.
  struct Activity {
    std::uint16_t item = 0, device = 0;
    bool transfer = false;
    double start = 0, end = 0;
  };
  struct Node {
    std::uint32_t parent;
    Activity activity;
  };
  // A state at full length.
  struct State {
    std::uint64_t done = 0;
    double now = 0;                         // the last start
    std::vector<double> arrival;            // [net * devices + device]
    std::vector<double> free;               // devices, send ports, receive ports
    std::vector<double> latest;             // by model, of what has ended
    std::vector<double> used;               // bytes by device
    std::vector<std::uint8_t> device;       // by op
    std::vector<std::uint8_t> unit_device;  // kNowhere until placed
  };
  // A state of a layer: what later states depend on.
  struct Kept {
    std::uint32_t node;
    std::uint64_t done;
    double now, bound;
    std::uint32_t key_begin, key_size, times_begin, times_size;
    bool dead = false;
  };
  struct Layer {
    std::vector<Kept> kept;
    std::vector<std::uint8_t> keys;
    std::vector<double> times;
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> groups;
    void clear();
  };
  static constexpr std::uint8_t kNowhere = 255;

  ScheduleModel model_;
  std::size_t n_, devices_;
  bool ports_, memory_binds_;
  std::vector<std::uint32_t> op_model_;
  std::vector<double> weight_, release_;           // by model
  std::vector<std::uint64_t> before_, consumers_;  // by op, by net: ops as bits
  std::vector<std::uint64_t> unit_bits_;
  std::vector<double> speed_;    // by device: weights of one machine
  std::vector<double> op_work_;  // by op: least weighted time
  std::vector<Node> nodes_;
  Layer layers_[2];
  State state_, next_;
  std::vector<double> times_;
  std::vector<std::uint8_t> key_;
  std::vector<double> starts_, ends_, work_, path_, sorted_, weights_down_, small_first_;
  std::vector<std::uint32_t> left_;
  double cutoff_ = 0, value_ = 0;
  Schedule schedule_;

  void prepareWeights();
  void unpack(const Layer& layer, const Kept& kept);
  void pack(const State& state);
  bool applyOp(std::size_t op, std::size_t device, Activity& activity);
  bool applyTransfer(std::size_t net, std::size_t device, Activity& activity);
  double bound(const State& state);
  double oneMachine(const State& state);
  double timeOfWork(const State& state, double work) const;
  void raiseTimes(State& state) const;
  void offer(Layer& layer, std::uint32_t parent, const Activity& activity);
  void narrow(Layer& layer, std::size_t width);
  void finish(std::uint32_t parent, const Activity& activity);
  bool reachable(std::size_t net, std::size_t device) const;
};

}  // namespace allot
