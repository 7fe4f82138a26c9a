// Networks for the flow benchmark, and changes to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace allot::bench {

inline constexpr std::int64_t kNoLimit = INT64_MAX;

struct FlowInstance {
  struct Arc {
    std::uint32_t from, to;
    std::int64_t capacity, cost;
  };
  std::string name;
  std::vector<std::int64_t> supply;
  std::vector<Arc> arcs;
  std::uint32_t source = 0, sink = 0;

  std::uint32_t addNode(std::int64_t node_supply = 0) {
    supply.push_back(node_supply);
    return static_cast<std::uint32_t>(supply.size() - 1);
  }
  std::uint32_t addArc(std::uint32_t from, std::uint32_t to, std::int64_t capacity, std::int64_t cost) {
    arcs.push_back({from, to, capacity, cost});
    return static_cast<std::uint32_t>(arcs.size() - 1);
  }
};

// One op or task arrives: arcs from old nodes to it and from it to old nodes, and changes of supply and
// capacity.
struct Arrival {
  std::int64_t supply = 0;                                            // of the new node
  std::vector<FlowInstance::Arc> arcs;                                // with kNewNode for the new node
  std::vector<std::pair<std::uint32_t, std::int64_t>> more_supply;    // node, amount
  std::vector<std::pair<std::uint32_t, std::int64_t>> more_capacity;  // arc, amount
};
inline constexpr std::uint32_t kNewNode = 0xffffffffu;

// source - models - ops - devices - sink with an unscheduled node per model; slots for nine ops in ten. Costs
// come from 50 op types with a speed-up per device; with sizes, each op has its own scale too.
class Talos {
 public:
  Talos(std::size_t arcs, std::uint32_t devices, std::uint32_t models, bool sizes, std::uint64_t seed);
  FlowInstance instance;
  Arrival arrival();

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
  std::uint32_t devices_, models_, first_device_ = 0, first_model_ = 0, first_unscheduled_ = 0,
                                   first_entry_ = 0;
  bool sizes_;
  std::vector<std::int64_t> type_cost_;  // [type * devices + device]
  Arrival makeOp(std::uint64_t stream, std::uint32_t model) const;
};

// Tasks with ten preferred machines, two racks and the cluster to fall back on, an unscheduled node per job;
// ten slots per machine, some 10 % of them spare.
class Quincy {
 public:
  Quincy(std::size_t arcs, std::uint64_t seed);
  FlowInstance instance;
  Arrival arrival();

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
  std::uint32_t machines_ = 0, racks_ = 0, jobs_ = 0, first_machine_ = 0, first_rack_ = 0, cluster_ = 0,
                first_job_ = 0;
  Arrival makeTask(std::uint64_t stream, std::uint32_t job) const;
};

// One node for eight arcs, a tenth of them sources and sinks joined by chains that make it feasible, the rest
// random; capacities to 1,000, costs to 10,000.
FlowInstance netgenLike(std::size_t arcs, std::uint64_t seed);

// New costs for some arcs, at most `share` of them: each as far from the old as another arc's like it.
std::vector<std::pair<std::uint32_t, std::int64_t>> costChanges(const FlowInstance& instance, double share,
                                                                std::uint64_t seed);

struct Timed {
  double seconds = 0;  // of one core
  std::int64_t cost = 0;
};
double cpuSeconds();

// Solve from scratch; building LEMON's graph is not timed, copying it into the solver is. INT64_MIN where it
// fails.
Timed lemonNetworkSimplex(const FlowInstance& instance);
Timed lemonCostScaling(const FlowInstance& instance);

}  // namespace allot::bench
