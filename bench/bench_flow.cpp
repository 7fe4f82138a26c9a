// The flow engine against LEMON: from scratch, after 1 % of costs changed, and after arrivals; CPU time of
// one core. LEMON has no warm start, so its time after changes is that of solving anew. Both objectives are
// printed, every solution goes through the checker, and an objective that differs is an error. Usage:
// allot_bench_flow [--large]   with --large also the general network of 1e6 arcs (a minute or more)
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "flow/min_cost_flow.h"
#include "flow_networks.h"

namespace allot::bench {
namespace {

bool all_good = true;

template <class T>
T orStop(Result<T> result) {
  if (!result) {
    fmt::print("{}\n", result.error().text());
    std::exit(1);
  }
  return *result;
}

void build(flow::MinCostFlow& network, const FlowInstance& instance) {
  for (const std::int64_t supply : instance.supply) orStop(network.addNode(supply));
  for (const auto& arc : instance.arcs) orStop(network.addArc({arc.from}, {arc.to}, arc.capacity, arc.cost));
}

// The sources and sinks that arrivals change are few; the benchmark knows their values by the instance.
void arrive(flow::MinCostFlow& network, const Arrival& arrival, const FlowInstance& after) {
  const flow::NodeId node = orStop(network.addNode(arrival.supply));
  for (const auto& arc : arrival.arcs) {
    orStop(network.addArc({arc.from == kNewNode ? node.value : arc.from},
                          {arc.to == kNewNode ? node.value : arc.to}, arc.capacity, arc.cost));
  }
  for (const auto& [at, amount] : arrival.more_supply) (void)network.setSupply({at}, after.supply[at]);
  for (const auto& [arc, amount] : arrival.more_capacity)
    (void)network.setCapacity({arc}, after.arcs[arc].capacity);
}

void report(const std::string& what, const Timed& ours, const Timed& lemon, double goal) {
  const double ratio = lemon.seconds / ours.seconds;
  const bool equal = ours.cost == lemon.cost;
  const bool good = equal && ratio >= goal;
  all_good &= good;
  fmt::print(
      "  {:<34} ours {:>11.6f} s  LEMON {:>9.4f} s  ratio {:>10.2f} (goal {:g})  objectives {} {} {}  {}\n",
      what, ours.seconds, lemon.seconds, ratio, goal, ours.cost, equal ? "=" : "!=", lemon.cost,
      good ? "ok" : "MISSED");
}

void check(const flow::MinCostFlow& network) {
  const auto checked = flow::checkOptimal(network.certificate());
  if (checked && *checked == network.cost()) return;
  fmt::print("  certificate refused: {}\n", checked ? "other cost" : checked.error().text());
  all_good = false;
}

struct Goals {
  double scratch, changed, arrivals, p99;  // ratios; microseconds
};

Timed timedSolve(flow::MinCostFlow& network) {
  const double start = cpuSeconds();
  const std::int64_t cost = orStop(network.solve());
  return {cpuSeconds() - start, cost};
}

// Runs one network through everything. `lemon` solves it anew.
template <class Family>
void runFamily(const std::string& name, Family& family,
               const std::function<Timed(const FlowInstance&)>& lemon, const Goals& goals) {
  FlowInstance& instance = family.instance;
  fmt::print("{}: {} nodes, {} arcs\n", name, instance.supply.size(), instance.arcs.size());
  flow::MinCostFlow network;
  build(network, instance);
  report("from scratch", timedSolve(network), lemon(instance), goals.scratch);
  check(network);

  const auto changes = costChanges(instance, 0.01, 7);
  for (const auto& [arc, cost] : changes) instance.arcs[arc].cost = cost;
  const double start = cpuSeconds();
  for (const auto& [arc, cost] : changes) (void)network.setCost({arc}, cost);
  const std::int64_t changed_cost = orStop(network.solve());
  const Timed changed{cpuSeconds() - start, changed_cost};
  report("1 % of costs changed", changed, lemon(instance), goals.changed);
  check(network);

  constexpr int kBatches = 200, kBatch = 10;
  std::vector<double> seconds;
  for (int batch = 0; batch < kBatches; ++batch) {
    std::vector<Arrival> arrivals;
    for (int i = 0; i < kBatch; ++i) arrivals.push_back(family.arrival());
    const double before = cpuSeconds();
    for (const Arrival& arrival : arrivals) arrive(network, arrival, instance);
    orStop(network.solve());
    seconds.push_back(cpuSeconds() - before);
  }
  std::sort(seconds.begin(), seconds.end());
  report(fmt::format("{} arrivals, median of {}", kBatch, kBatches), {seconds[kBatches / 2], network.cost()},
         lemon(instance), goals.arrivals);
  check(network);
  const double p99 = 1e6 * seconds[kBatches * 99 / 100];
  const bool quick = goals.p99 == 0 || p99 < goals.p99;
  all_good &= quick;
  fmt::print("  {:<34} median {:.1f} us, p99 {:.1f} us, largest {:.1f} us{}\n", "",
             1e6 * seconds[kBatches / 2], p99, 1e6 * seconds.back(),
             goals.p99 == 0 ? ""
             : quick        ? "  ok"
                            : "  MISSED");
}

void runNetgen(std::size_t arcs) {
  FlowInstance instance = netgenLike(arcs, 5);
  fmt::print("general network: {} nodes, {} arcs\n", instance.supply.size(), instance.arcs.size());
  flow::MinCostFlow network;
  build(network, instance);
  report("from scratch", timedSolve(network), lemonNetworkSimplex(instance), 1 / 1.3);
  check(network);
  for (const auto& [arc, cost] : costChanges(instance, 0.01, 7)) {
    instance.arcs[arc].cost = cost;
    (void)network.setCost({arc}, cost);
  }
  report("1 % of costs changed", timedSolve(network), lemonNetworkSimplex(instance), 1);
  check(network);
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  using namespace allot::bench;
  const std::string only = argc > 1 ? argv[1] : "";
  const bool large = only == "--large";
  const auto wanted = [&](const char* name) { return only.empty() || large || only == name; };
  if (wanted("talos")) {
    for (const bool sizes : {true, false}) {
      Talos talos(1'000'000, 8, 20, sizes, 1);
      runFamily(sizes ? "8 devices, 20 models, ops of many sizes" : "8 devices, 20 models, ops of 50 kinds",
                talos, lemonCostScaling, {8, 20, 5000, 200});
    }
  }
  if (wanted("devices")) {
    struct Shape {
      std::size_t arcs;
      std::uint32_t devices, models;
    };
    for (const Shape& shape :
         {Shape{100'000, 16, 20}, Shape{100'000, 32, 20}, Shape{100'000, 64, 20}, Shape{1'000'000, 8, 200}}) {
      Talos talos(shape.arcs, shape.devices, shape.models, true, 1);
      runFamily(fmt::format("{} devices, {} models", shape.devices, shape.models), talos, lemonCostScaling,
                {1, 1, 1, 0});
    }
  }
  if (wanted("quincy")) {
    Quincy quincy(1'000'000, 3);
    runFamily("cluster", quincy, lemonNetworkSimplex, {1 / 1.2, 12, 200, 0});
  }
  if (wanted("netgen")) {
    runNetgen(10'000);
    runNetgen(100'000);
  }
  if (large) runNetgen(1'000'000);
  fmt::print("{}\n", all_good ? "flow: all goals met" : "flow: some goals missed");
  return 0;
}
