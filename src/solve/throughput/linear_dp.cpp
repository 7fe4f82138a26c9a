#include "solve/throughput/linear_dp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "evaluate/load_state.h"
#include "solve/module_order.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWork = 2e8;

// Interchangeable devices.
struct Kind {
  std::vector<DeviceId> devices;
  double memory = 0;
  bool accelerator = false;
};

std::vector<Kind> kindsOf(const Problem& problem, const std::vector<Block>& blocks) {
  std::map<std::tuple<std::uint32_t, double, std::uint32_t, std::vector<bool>>, Kind> kinds;
  const bool all_alike = problem.constraints.pin.empty() && problem.constraints.forbid.empty();
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    const Device& device = problem.cluster.devices[d];
    std::vector<bool> permission;
    for (std::size_t b = 0; !all_alike && b < blocks.size(); ++b)
      permission.push_back(allowed(problem, blocks[b], DeviceId(d)));
    const double memory = problem.memoryLimit(DeviceId(d));
    Kind& kind = kinds[{device.cls.value, memory, device.host.value, permission}];
    kind.devices.emplace_back(d);
    kind.memory = memory;
    kind.accelerator = problem.cluster.isAccelerator(DeviceId(d));
  }
  std::vector<Kind> list;
  for (auto& [key, kind] : kinds) list.push_back(std::move(kind));
  std::sort(list.begin(), list.end(),
            [](const Kind& a, const Kind& b) { return a.devices.front() < b.devices.front(); });
  return list;
}

class LinearDp {
 public:
  LinearDp(const Problem& problem, const Budget& budget, Progress& progress)
      : problem_(problem),
        budget_(budget),
        progress_(progress),
        order_(moduleOrder(problem)),
        blocks_(order_.blocks),
        kinds_(kindsOf(problem, blocks_)) {
    for (const Kind& kind : kinds_) {
      stride_.push_back(states_);
      states_ *= kind.devices.size() + 1;
    }
    joinCells();
  }

  SolveResult run() {
    const std::size_t table = (cells_.size() + 1) * states_;
    if (table * (sizeof(double) + sizeof(Choice)) > budget_.memory_bytes) return {SolveEnd::kNotSuitable, ""};
    best_.assign(table, kInfinity);
    choice_.assign(table, {});
    best_[cells_.size() * states_] = 0;
    cutoff_ = progress_.bestValue();
    ends_.assign(problem_.graph.tensorCount(), 0);
    has_producer_.assign(problem_.graph.tensorCount(), 0);
    stashed_.assign(problem_.graph.tensorCount(), 0);
    for (std::size_t from = cells_.size(); from-- > 0;) {
      if (budget_.stopped()) return {SolveEnd::kStopped, ""};
      extendFrom(from);
    }
    report();
    return {SolveEnd::kFinished, ""};
  }

 private:
  struct Choice {
    std::uint32_t to = 0;  // first cell of the next stage
    std::uint16_t kind = 0, replicas = 0;
  };

  const Problem& problem_;
  const Budget& budget_;
  Progress& progress_;
  ModuleOrder order_;
  const std::vector<Block>& blocks_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> stride_;
  std::size_t states_ = 1;
  std::vector<std::vector<UnitId>> cells_;
  std::vector<double> best_;  // [cell * states + devices used from here on]
  std::vector<Choice> choice_;
  double cutoff_ = kInfinity;
  // The growing segment.
  std::vector<std::uint32_t> ends_;  // by tensor: ends inside
  std::vector<std::uint8_t> has_producer_, stashed_;
  std::vector<double> compute_, communication_;  // by kind
  std::vector<std::uint8_t> permitted_;          // by kind
  double resident_ = 0, stash_ = 0;
  std::int64_t weights_ = 0;
  bool trains_ = false;

  void joinCells() {
    double transitions = 0;
    for (const Kind& kind : kinds_)
      transitions += problem_.modes.replicate ? static_cast<double>(kind.devices.size()) : 1;
    const double most = std::sqrt(kWork / (static_cast<double>(states_) * transitions));
    const std::size_t cells = std::clamp<std::size_t>(static_cast<std::size_t>(most), 20, 3000);
    const std::size_t step = (blocks_.size() + cells - 1) / cells;
    for (std::size_t b = 0; b < blocks_.size(); b += step) {
      auto& cell = cells_.emplace_back();
      for (std::size_t k = b; k < std::min(b + step, blocks_.size()); ++k) {
        cell.insert(cell.end(), blocks_[k].units.begin(), blocks_[k].units.end());
      }
    }
  }

  std::size_t used(std::size_t state, std::size_t kind) const {
    return state / stride_[kind] % (kinds_[kind].devices.size() + 1);
  }
  std::size_t devicesUsed(std::size_t state) const {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) sum += used(state, k);
    return sum;
  }

  // What a device of the kind pays for a tensor with some ends in the segment.
  double tensorCost(TensorId tensor, const Kind& kind) const {
    const std::size_t all = problem_.graph.consumers(tensor).size() + 1;
    if (ends_[tensor.index()] == 0 || ends_[tensor.index()] == all) return 0;
    const DeviceId here = kind.devices.front();
    const bool sends = has_producer_[tensor.index()] != 0;
    if (problem_.transfers() == Transfers::kViaHost) {
      if (!kind.accelerator) return 0;
      return sends ? problem_.toHostSeconds(tensor, here) : problem_.fromHostSeconds(tensor, here);
    }
    const double single = problem_.tensor_seconds[tensor.index()];
    if (!std::isnan(single) && problem_.tensor_matrix[tensor.index()] < 0) return single;
    double sum = 0;
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      sum += sends ? problem_.transferSeconds(tensor, here, DeviceId(d))
                   : problem_.transferSeconds(tensor, DeviceId(d), here);
    }
    return sum / static_cast<double>(std::max<std::size_t>(1, problem_.deviceCount() - 1));
  }

  void changeTensor(TensorId tensor, bool producer) {
    for (std::size_t k = 0; k < kinds_.size(); ++k) communication_[k] -= tensorCost(tensor, kinds_[k]);
    ++ends_[tensor.index()];
    if (producer) has_producer_[tensor.index()] = 1;
    for (std::size_t k = 0; k < kinds_.size(); ++k) communication_[k] += tensorCost(tensor, kinds_[k]);
  }

  void addCell(const std::vector<UnitId>& cell) {
    const OpGraph& graph = problem_.graph;
    for (const UnitId unit : cell) {
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        if (!problem_.allowed(unit, kinds_[k].devices.front())) permitted_[k] = 0;
      }
      for (const OpId op : problem_.unitOps(unit)) {
        resident_ += problem_.residentBytes(op);
        weights_ += graph.op_weight_bytes[op.index()];
        trains_ = trains_ || graph.op_phase[op.index()] != Phase::kForward;
        for (std::size_t k = 0; k < kinds_.size(); ++k) {
          if (permitted_[k]) compute_[k] += problem_.busySeconds(op, kinds_[k].devices.front());
        }
        for (const TensorId tensor : graph.outputs(op)) changeTensor(tensor, true);
        for (const TensorId tensor : graph.inputs(op)) {
          changeTensor(tensor, false);
          const bool stash = graph.op_phase[op.index()] == Phase::kBackward &&
                             graph.op_phase[graph.producer(tensor).index()] == Phase::kForward;
          if (stash && !stashed_[tensor.index()]) {
            stashed_[tensor.index()] = 1;
            stash_ += static_cast<double>(graph.tensor_bytes[tensor.index()]);
          }
        }
      }
    }
  }

  void resetSegment(std::size_t from, std::size_t to) {
    const OpGraph& graph = problem_.graph;
    for (std::size_t c = from; c < to; ++c) {
      for (const UnitId unit : cells_[c]) {
        for (const OpId op : problem_.unitOps(unit)) {
          for (const TensorId tensor : graph.outputs(op))
            ends_[tensor.index()] = has_producer_[tensor.index()] = 0;
          for (const TensorId tensor : graph.inputs(op)) ends_[tensor.index()] = stashed_[tensor.index()] = 0;
        }
      }
    }
  }

  double load(std::size_t kind, std::size_t replicas) const {
    const double both = problem_.modes.overlap == Overlap::kSum
                            ? compute_[kind] + communication_[kind]
                            : std::max(compute_[kind], communication_[kind]);
    const double r = static_cast<double>(replicas);
    double sync = 0;
    if (replicas > 1 && trains_) {
      const Link* link = problem_.pairLink(kinds_[kind].devices[0], kinds_[kind].devices[1]);
      if (link != nullptr) {
        sync = 2 * (r - 1) / r * static_cast<double>(weights_) / link->bandwidth_bytes_per_second +
               2 * (r - 1) * link->latency_seconds;
      }
    }
    return both / r + sync;
  }

  void extendFrom(std::size_t from) {
    compute_.assign(kinds_.size(), 0);
    communication_.assign(kinds_.size(), 0);
    permitted_.assign(kinds_.size(), 1);
    resident_ = stash_ = 0;
    weights_ = 0;
    trains_ = false;
    std::size_t to = from;
    while (to < cells_.size()) {
      addCell(cells_[to++]);
      bool alive = false;
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const std::size_t most = problem_.modes.replicate ? kinds_[k].devices.size() : 1;
        if (!permitted_[k] || resident_ > kinds_[k].memory ||
            compute_[k] / static_cast<double>(most) >= cutoff_)
          continue;
        alive = true;
        for (std::size_t replicas = 1; replicas <= most; ++replicas) place(from, to, k, replicas);
      }
      if (!alive) break;
    }
    resetSegment(from, to);
  }

  void place(std::size_t from, std::size_t to, std::size_t kind, std::size_t replicas) {
    const double stage = load(kind, replicas);
    if (stage >= cutoff_) return;
    const double* rest = &best_[to * states_];
    for (std::size_t state = 0; state < states_; ++state) {
      if (rest[state] == kInfinity || used(state, kind) + replicas > kinds_[kind].devices.size()) continue;
      const std::size_t after =
          problem_.modes.max_stages > 0 || problem_.modes.in_flight ? devicesUsed(state) : 0;
      if (problem_.modes.max_stages > 0 && after + 1 > problem_.modes.max_stages) continue;
      if (problem_.modes.in_flight) {
        const double samples = std::ceil(static_cast<double>(after + 1) / static_cast<double>(replicas));
        if (resident_ + samples * stash_ > kinds_[kind].memory) continue;
      }
      const std::size_t index = from * states_ + state + replicas * stride_[kind];
      const double value = std::max(stage, rest[state]);
      if (value >= best_[index]) continue;
      best_[index] = value;
      choice_[index] = {static_cast<std::uint32_t>(to), static_cast<std::uint16_t>(kind),
                        static_cast<std::uint16_t>(replicas)};
    }
  }

  void report() {
    const auto first = best_.begin();
    const auto least = std::min_element(first, first + static_cast<std::ptrdiff_t>(states_));
    if (*least == kInfinity) return;
    std::size_t state = static_cast<std::size_t>(least - first);
    Plan plan;
    plan.modes = problem_.modes;
    plan.assignment.resize(problem_.opCount());
    std::vector<std::size_t> taken(kinds_.size(), 0);
    for (std::size_t cell = 0; cell < cells_.size();) {
      const Choice choice = choice_[cell * states_ + state];
      PlanStage& stage = plan.stages.emplace_back();
      for (std::uint16_t r = 0; r < choice.replicas; ++r)
        stage.devices.push_back(kinds_[choice.kind].devices[taken[choice.kind]++]);
      for (; cell < choice.to; ++cell) {
        for (const UnitId unit : cells_[cell]) {
          for (const OpId op : problem_.unitOps(unit)) {
            stage.ops.push_back(op);
            plan.assignment[op.index()] = stage.devices.front();
          }
        }
      }
      state -= choice.replicas * stride_[choice.kind];
    }
    progress_.plan(std::move(plan), "linear-dp");
  }
};

}  // namespace

SolveResult solveLinearDp(const Problem& problem, const Budget& budget, Progress& progress) {
  return LinearDp(problem, budget, progress).run();
}

}  // namespace allot
