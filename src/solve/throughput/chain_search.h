// The best chain of stages below a cut-off, by dynamic programming over ideals.
//
// Problem: stages are differences of a chain of ideals of the forward graph; each stage runs on one device of
// a pool, or on replicas of one class; minimise the largest stage load. State: the set of items in later
// stages (an ideal of the reversed graph: the programme runs from the end of the pipeline, so that the number
// of stages behind one is known, which samples in flight depend on) and how many devices of each pool they
// use. Method: states are reached by walking, from each reached state, through all larger ideals, one item at
// a time: every superset once, nothing stored per pair, loads kept by the first end of a net that enters and
// the last. Only states that are reached below the cut-off exist. A walk turns back when, on every pool,
//   - compute and the transfers that no later item can take back (nets with an end in a later stage), or
//   - memory, or
//   - waste (device time spent beyond what the items would need at the best use of the devices left)
// exceed what the cut-off allows, and a state is dropped when the work left does not fit the devices left
// ("window"). When any chain below the cut-off will do, a stage is also dropped when it could take one more
// item that is a gift: no stage before it would be the worse for it (growing_stage.h). That leaves few: the
// stages that are as full as can be. A walk turns back where what it can still take does not fill the stage
// so far, and where another ideal reached in the same state does as well (chain_rivals.h). Items that every
// other one precedes or follows cut the walks short (chain_walker.h). All tests only drop chains that cannot
// end below the cut-off. Why ideals, options and states are all there is to a plan, devices of one class that
// are not alike and training among it: docs/throughput.md, "Why a table of chains covers every plan".
// Guarantee: `complete` with a value: that value is the least of all chains below the
// cut-off (`any`: of some chain). `complete` without: no chain is below it. Where the model is not exact
// (by-link), values are of its lower loads, so the same holds as a bound. The same outcome for any number of
// threads. Complexity: pairs of reached ideals x states; each step O(nets and edges of one item). When time
// runs out: not complete, nothing is known.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "base/walk_crew.h"
#include "solve/throughput/chain_window.h"
#include "solve/throughput/ideal_table.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// A way to run a stage: the replicas it takes from each pool of one class, and the pool of the first device,
// whose transfer costs count. Whatever else counts is that of all its devices: memory, what they may run, the
// links between them, and their weight in the window.
struct StageOption {
  std::uint32_t pool = 0;
  std::uint32_t replicas = 1;
  std::vector<std::uint32_t> taken;  // by pool
  std::vector<std::uint32_t>
      other_pools;    // those of `taken` whose devices may not run all that the first's may
  double memory = 0;  // of the smallest device
  std::array<double, CapacityWindow::kMost> weight{};  // of the window, mean over its devices
  struct Ring {
    double per_byte = 0, fixed = 0;
  };
  std::vector<Ring> rings;  // weight synchronisation: the slowest counts

  double sync(double weights) const;
  // Whether a replica may not run the item, though the first device may.
  bool bars(const PipelineModel& model, std::size_t item) const {
    for (const std::uint32_t k : other_pools) {
      if (!model.runs(item, k)) return true;
    }
    return false;
  }
};

inline constexpr std::uint32_t kNoBarrier = UINT32_MAX;

// What lies between two barriers, or between one and an end of the graph.
struct ChainSegment {
  struct Run {
    std::uint32_t chain, end;  // of the chain, so many items are before the barrier at the end
  };
  std::uint32_t first = 0;             // position of the first item behind the barrier before it
  std::uint32_t barrier = kNoBarrier;  // the item at its end
  std::vector<Run> runs;               // chains with items here or at the barrier before it
  std::size_t first_word = SIZE_MAX, last_word = 0;  // of the bits of its items
  std::vector<std::uint32_t> nets;                   // that end here or at the barrier at its end
  std::vector<double> most_transfer;                 // by pool: what these nets cost when all are cut
  std::vector<std::uint32_t> stashes;                // the same
};

struct ChainLimits {
  double cutoff = 0;          // only loads below it count
  double forward_cutoff = 0;  // max-parts: the forward load must be below it, and `cutoff` is of the rest
  bool any = false;           // any chain below the cut-off will do; not with max-parts
  std::uint64_t max_pairs = UINT64_MAX;
};

struct ChainStage {
  std::uint32_t option = 0;
  std::vector<std::uint32_t> items;
};

struct ChainOutcome {
  bool complete = false;
  bool found = false;
  double value = 0;                // of the chain found; under max-parts its largest rest
  double forward = 0;              // max-parts: its largest forward load
  double traced = 0;               // `value` by sums from scratch
  std::vector<ChainStage> stages;  // in pipeline order
  std::uint64_t pairs = 0;         // ideals walked through
  std::uint64_t ideals = 0;        // states reached
};

class ChainSearch {
 public:
  // `counts`: how many devices of each pool may be used.
  ChainSearch(const PipelineModel& model, std::vector<std::uint32_t> counts);

  // False when the states would not fit in memory at all.
  bool suitable(std::size_t memory_bytes) const;
  std::span<const StageOption> options() const { return options_; }
  // A lower bound on the largest load from the work alone.
  double workBound() const { return window_.bound(); }
  ChainOutcome run(const ChainLimits& limits, const Budget& budget, WalkCrew& crew) const;

 private:
  template <std::size_t>
  friend class ChainWalker;
  template <std::size_t>
  friend class GrowingStage;
  template <std::size_t>
  friend class ChainWorth;
  template <std::size_t>
  friend class ChainRun;
  friend class ChainRivals;
  friend class RivalCount;

  const PipelineModel& model_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> order_;     // items, each after all that follow it in the forward graph
  std::vector<std::uint32_t> position_;  // of an item in it
  std::vector<ChainSegment> segments_;   // in that order
  IdealPacking packing_;
  CapacityWindow window_;
  bool overlap_sum_ = true, by_parts_ = false;
  bool memory_counts_ = true;  // some set of items does not fit some device

  std::vector<StageOption> options_;

  // States: devices used by pool, and stages where those do not tell.
  std::size_t states_ = 1;
  std::vector<std::uint32_t> used_;       // [state * (pools + 1) + pool], last the number of stages
  std::vector<std::uint8_t> covers_;      // [state * states + state]; empty where there are too many
  std::vector<std::int32_t> next_state_;  // [option * states + state], -1 when devices or stages run out
  std::vector<double> capacity_;          // [state * CapacityWindow::kMost + y] of the devices left
  // Where all devices are alike and transfers add to compute: whoever holds the root of a net, the item that
  // needs all others of the net, must pay for it as long as another one is in a later stage.
  std::vector<std::uint32_t> net_root_;  // by net; kNoRoot where there is none
  std::vector<double> net_owed_;         // by net, in units of work
  static constexpr std::uint32_t kNoRoot = UINT32_MAX;
  // For stages that must be as full as can be: the most that an item adds to a load, and whether it is always
  // a gift to the stage behind.
  std::vector<double> most_added_;         // [item * pools + pool]
  std::vector<std::uint8_t> always_gift_;  // by item
  std::size_t need_words_ = 0;
  std::vector<std::uint64_t> needs_;  // [item * words]: bits of all that needs the item, itself among them
  // Sums of the first items of each chain: compute by pool and part, work by y, resident bytes, weights and
  // how many train, how many may not run by pool, what all their nets cost by pool.
  std::size_t figures_ = 0, work_figure_ = 0, resident_figure_ = 0, blocked_figure_ = 0, nets_figure_ = 0;
  double all_resident_ = 0;
  std::vector<std::vector<double>> chain_sums_;  // [chain][items held * figures]
  std::vector<double> group_work_;     // [(item / 4 * 16 + set) * kMost + y]: work of a set of four items
  std::vector<double> group_seconds_;  // [(pool * words * 16 + item / 4) * 16 + set]: their time on the pool
  std::vector<double> without_;        // [item * kMost + y]: work of all that does not need the item
  std::vector<double> slack_;          // by y: rounding of work sums

  bool hasFewStates() const;
  void makeOptions();
  void makeStates();
  void compareStates();
  void sumNeeds();
  void findSegments();
  void listNets();
  void findRoots();
  void findGifts();
  // The least that the stage of v saves for the net, whatever the stages are, when v goes to a later one.
  double leastSaved(std::uint32_t net, std::uint32_t v, std::size_t settled, double send,
                    double receive) const;
  void sumChains();
  const double* chainSums(std::size_t chain, std::uint32_t held) const {
    return &chain_sums_[chain][held * figures_];
  }
  // The packed set of all items that come before the barrier.
  void keyBefore(std::uint32_t barrier, std::vector<std::uint64_t>& key) const;
  // Whether a net (or stash) of the barrier ends in items before it; then all its ends do.
  bool isBehind(std::uint32_t net, std::uint32_t barrier) const {
    return reachesBehind(model_.net_items[net], barrier);
  }
  bool isStashBehind(std::uint32_t stash, std::uint32_t barrier) const {
    return reachesBehind(model_.stash_readers[stash], barrier);
  }
  bool reachesBehind(std::span<const std::uint32_t> items, std::uint32_t barrier) const;
  std::uint32_t lastOf(std::span<const std::uint32_t> items) const;
  std::uint32_t stagesOf(std::uint32_t state) const {
    return used_[(state + 1) * (model_.poolCount() + 1) - 1];
  }
  bool comparesStates() const { return !covers_.empty(); }
  // Whether state `a` is known to use no more of anything than state `b`.
  bool covers(std::uint32_t a, std::uint32_t b) const {
    return a == b || (!covers_.empty() && covers_[a * states_ + b] != 0);
  }
  // What these items would be as a stage with `state` behind it; no load below infinity when they do not fit.
  struct StageLoad {
    double value, forward;
  };
  StageLoad stageLoad(std::span<const std::uint32_t> items, const StageOption& option,
                      std::uint32_t state) const;
};

}  // namespace allot
