// Plans whose devices hold convex sets, below a cut-off, by branch and bound.
//
// Problem: throughput with contiguity `convex`, training load `sum`, no replicas. No path of the forward
// graph may leave a device and return to it. Method: place unit after unit, always one with the fewest
// devices left. The hull of a device is all that lies on paths between what it holds: it must be free or on
// the device, and goes there at once. A branch ends when a load, settled transfers among it (tensors whose
// ends are on two devices already), reaches the cut-off; when some unit has no device left; or when the work
// left does not fit into what is left of the devices. Empty devices of one pool are alike: only the first is
// tried. Guarantee: a pass that is complete has ruled out every plan below the cut-off that it ends with.
// Loads are those of the model: under by-link transfers lower bounds. Complexity: exponential; each node
// O(units * devices * words of a bitset). Out of time or nodes: not complete, and nothing is known but the
// plans found.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "evaluate/forward_graph.h"
#include "solve/throughput/chain_window.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

bool convexSearchAccepts(const Problem& problem);
// Raises the bound and reports plans below the best one.
SolveResult solveConvex(const Problem& problem, const Budget& budget, Progress& progress);

// One search with its tables; items are units.
class ConvexSearch {
 public:
  // Hears of each plan below the cut-off, by item.
  using OnPlan = std::function<void(std::span<const DeviceId>)>;
  ConvexSearch(const Problem& problem, const PipelineModel& model, const Budget& budget);

  // Looks for plans below the cut-off, which falls to the value of each plan found. True when complete.
  bool pass(double cutoff, std::uint64_t max_nodes, const OnPlan& on_plan);
  double cutoff() const { return cutoff_; }
  std::uint64_t nodes() const { return nodes_; }
  double workBound() const { return window_.bound(); }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  using Bits = std::vector<std::uint64_t>;  // rows of `words_` words, a bit for each node
  // All that placing an item changes for good or ill; a branch keeps a copy to go back to.
  struct State {
    std::vector<double> compute, transfer, resident;  // by device
    std::vector<std::uint32_t> items;                 // by device
    Bits held, ahead, behind;  // by device: its nodes, those that follow some of them, those that some follow
    Bits free;                 // nodes of items without a device
    std::array<double, CapacityWindow::kMost> work_left{};
  };

  const Problem& problem_;
  const PipelineModel& model_;
  const Budget& budget_;
  ForwardGraph forward_;
  CapacityWindow window_;
  bool overlap_sum_;
  std::size_t most_stages_;
  std::vector<DeviceId> devices_;
  std::vector<std::uint32_t> pool_;  // by device
  std::size_t words_ = 0;
  std::vector<std::uint32_t> node_item_;
  Csr<std::uint32_t> item_nodes_;
  Bits reach_, reached_by_;                // by node, itself not among them
  std::vector<std::uint32_t> on_;          // by item: a device, or kFree
  std::vector<std::uint32_t> net_on_;      // [net * devices + device]: ends there
  std::vector<std::uint32_t> net_placed_;  // by net: ends on devices
  std::vector<std::uint32_t> trail_;       // items in the order in which they were placed
  State state_;
  double cutoff_ = 0;
  std::uint64_t nodes_ = 0, max_nodes_ = 0;
  bool cut_ = false;
  const OnPlan* on_plan_ = nullptr;

  void listNodes();
  void clear();
  double load(std::size_t device) const;
  double transferOf(std::size_t net, std::size_t device) const;
  void put(std::uint32_t item, std::uint32_t device);
  void takeBack(std::size_t mark);
  bool opens(std::uint32_t device) const;
  bool mayHold(std::uint32_t item, std::uint32_t device) const;
  bool place(std::uint32_t item, std::uint32_t device);
  bool workFits() const;
  void leaf();
  void search();
};

}  // namespace allot
