#include "formats/pytorch_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "formats/foreign_parts.h"

namespace allot {
namespace {

constexpr double kMicroseconds = 1e-6;
// Old traces hold single-precision times since their start, new ones may hold times since 1970.
constexpr double kSingleGrain = 2.5e-7;
constexpr double kDoubleGrain = 6.7e-16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Kind { kOther, kOp, kOldGpuOp, kKernel, kLaunch, kStep };

struct Event {
  std::string_view name;
  std::string thread;
  double start = 0, seconds = 0;
  std::string external, correlation;  // "" = none

  double end() const { return start + seconds; }
};

struct Events {
  std::vector<Event> ops, old_gpu_ops, kernels, launches, steps;
};

// How far two times that are meant to be the same may lie apart.
double grainAt(double time, double first) {
  return std::max(kSingleGrain * std::abs(time - first), kDoubleGrain * std::abs(time));
}

std::optional<std::string_view> textMember(const JsonNode& event, std::string_view key) {
  if (!event.has(key)) return std::nullopt;
  const auto node = event.at(key);
  if (!node || !node->isString()) return std::nullopt;
  return *node->string();
}

// A number or a string; "" where there is none.
std::string idMember(const JsonNode& event, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (!event.has(key)) continue;
    const auto node = event.at(key);
    if (!node) continue;
    if (auto label = node->label()) return std::move(*label);
  }
  return {};
}

Kind kindOf(const JsonNode& event) {
  const std::string_view pid = textMember(event, "pid").value_or("");
  if (pid == "CPU functions") return Kind::kOp;
  if (pid == "CUDA functions") return Kind::kOldGpuOp;
  const std::string_view cat = textMember(event, "cat").value_or("");
  if (cat == "cpu_op" || cat == "Operator") return Kind::kOp;
  for (const std::string_view gpu : {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}) {
    if (cat == gpu) return Kind::kKernel;
  }
  for (const std::string_view call : {"cuda_runtime", "cuda_driver", "hip_runtime", "Runtime"}) {
    if (cat == call) return Kind::kLaunch;
  }
  const bool step = textMember(event, "name").value_or("").starts_with("ProfilerStep#");
  return step && (cat == "user_annotation" || cat == "cpu_annotation") ? Kind::kStep : Kind::kOther;
}

class Reader {
 public:
  Reader(const JsonNode& root, double factor, Warnings& warnings)
      : root_(root), factor_(factor), warnings_(warnings) {}

  Result<std::vector<TraceOp>> read(TraceSide side) {
    if (root_.isObject()) {
      ALLOT_TRY(const JsonNode list, root_.at("traceEvents"));
      ALLOT_CHECK(list.forEach([&](const JsonNode& event) { return readEvent(event); }));
    } else {
      ALLOT_CHECK(root_.forEach([&](const JsonNode& event) { return readEvent(event); }));
    }
    const bool on_gpu = !events_.old_gpu_ops.empty() || !events_.kernels.empty();
    if (side == TraceSide::kCpu && on_gpu) {
      return root_.fail("there are events of a gpu in the trace of the cpu run",
                        "give the traces in the order CPU.json GPU.json, the first from a run without gpu");
    }
    if (side == TraceSide::kGpu && !on_gpu) {
      return root_.fail("there are no events of a gpu (pid \"CUDA functions\" or cat \"kernel\")",
                        "give the traces in the order CPU.json GPU.json, the second with the gpu profiled");
    }
    const bool old = side == TraceSide::kGpu && !events_.old_gpu_ops.empty();
    std::vector<Event>& ops = old ? events_.old_gpu_ops : events_.ops;
    if (ops.empty()) {
      return root_.fail("there are no ops (pid \"CPU functions\" or cat \"cpu_op\")",
                        "give a trace that the PyTorch profiler exported");
    }
    // Ops outside the chosen step stay for now: what they launched is not to be taken for lost.
    const auto [from, to] = chosenStep();
    std::vector<std::uint32_t> top;  // by op: the op it is part of, or itself
    std::vector<TraceOp> result = outermost(ops, top);
    if (side == TraceSide::kGpu && !old) takeKernels(ops, top, result);
    return inStep(std::move(result), from, to);
  }

 private:
  const JsonNode& root_;
  double factor_;
  Warnings& warnings_;
  Events events_;
  std::vector<double> top_start_;  // of each result, by the clock of the host

  Result<void> readEvent(const JsonNode& node) {
    ALLOT_CHECK(node.object());
    if (textMember(node, "ph").value_or("") != "X") return {};
    const Kind kind = kindOf(node);
    if (kind == Kind::kOther) return {};
    Event event;
    ALLOT_TRY(const JsonNode name_node, node.at("name"));
    ALLOT_TRY(event.name, name_node.string());
    ALLOT_TRY(const JsonNode start, node.at("ts"));
    ALLOT_TRY(const double ts, start.number());
    event.start = toSeconds(ts, factor_);
    if (!(std::abs(event.start) <= kMaxSeconds))
      return start.fail(fmt::format("time {} s is absurd", event.start),
                        "check the number, or the unit with --time-unit");
    ALLOT_TRY(const JsonNode length, node.at("dur"));
    ALLOT_TRY(event.seconds, scaledSeconds(length, factor_));
    event.thread = idMember(node, {"pid"}) + "/" + idMember(node, {"tid"});
    if (node.has("args")) {
      ALLOT_TRY(const JsonNode args, node.at("args"));
      if (args.isObject()) {
        event.external = idMember(args, {"External id", "external id"});
        event.correlation = idMember(args, {"correlation"});
      }
    }
    listOf(kind).push_back(std::move(event));
    return {};
  }

  std::vector<Event>& listOf(Kind kind) {
    switch (kind) {
      case Kind::kOp:
        return events_.ops;
      case Kind::kOldGpuOp:
        return events_.old_gpu_ops;
      case Kind::kKernel:
        return events_.kernels;
      case Kind::kLaunch:
        return events_.launches;
      default:
        return events_.steps;
    }
  }

  // Start and end of the step of median length, by the clock of the host; everything where none is marked.
  std::pair<double, double> chosenStep() {
    std::vector<Event>& steps = events_.steps;
    if (steps.empty()) return {-kInfinity, kInfinity};
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Event& a, const Event& b) { return a.seconds < b.seconds; });
    const Event& median = steps[(steps.size() - 1) / 2];
    if (steps.size() > 1)
      warnings_.push_back(
          fmt::format("of {} steps, {} is read: its length is the median", steps.size(), median.name));
    return {median.start, median.end()};
  }

  // Ops that start inside no other op of their thread, by start. Leaves in `top`, by op, the result that the
  // op is part of.
  std::vector<TraceOp> outermost(const std::vector<Event>& ops, std::vector<std::uint32_t>& top) {
    std::vector<std::uint32_t> order(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return ops[a].start != ops[b].start ? ops[a].start < ops[b].start : ops[a].seconds > ops[b].seconds;
    });
    struct Open {
      double end;
      std::uint32_t result;
    };
    std::unordered_map<std::string_view, Open> open;  // by thread
    std::vector<TraceOp> result;
    top.assign(ops.size(), 0);
    for (const std::uint32_t i : order) {
      const Event& op = ops[i];
      const auto [entry, fresh] = open.emplace(op.thread, Open{0, 0});
      // What begins within the grain of the open op's end follows it, unless it ends with it too.
      const double end = entry->second.end, grain = grainAt(op.start, ops[order.front()].start);
      if (fresh || op.start >= end || (op.start >= end - grain && op.end() > end)) {
        entry->second = {op.end(), static_cast<std::uint32_t>(result.size())};
        result.push_back({std::string(op.name), op.start, op.seconds});
        top_start_.push_back(op.start);
      }
      top[i] = entry->second.result;
    }
    return result;
  }

  // Replaces host times by those of the kernels that the ops launched.
  void takeKernels(const std::vector<Event>& ops, const std::vector<std::uint32_t>& top,
                   std::vector<TraceOp>& result) {
    std::unordered_map<std::string_view, std::uint32_t> by_external;
    std::map<std::string_view, std::map<double, std::uint32_t>> by_thread;  // start of result
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!ops[i].external.empty()) by_external.emplace(ops[i].external, top[i]);
      by_thread[ops[i].thread].emplace(ops[i].start, top[i]);
    }
    std::unordered_map<std::string_view, const Event*> launch_of;
    for (const Event& launch : events_.launches) {
      if (!launch.correlation.empty()) launch_of.emplace(launch.correlation, &launch);
    }
    std::vector<double> first(result.size(), kInfinity), sum(result.size(), 0);
    std::size_t lost = 0;
    for (const Event& kernel : events_.kernels) {
      std::optional<std::uint32_t> owner;
      const auto owned = [&](const Event& event) {
        const auto op = by_external.find(event.external);
        if (!event.external.empty() && op != by_external.end()) owner = op->second;
      };
      owned(kernel);
      const auto launch = launch_of.find(kernel.correlation);
      if (!owner && !kernel.correlation.empty() && launch != launch_of.end()) {
        const Event& call = *launch->second;
        owned(call);
        const auto thread = by_thread.find(call.thread);
        if (!owner && thread != by_thread.end()) {
          auto op = thread->second.upper_bound(call.start);
          if (op != thread->second.begin()) {
            const std::uint32_t before = (--op)->second;
            if (call.start <= result[before].start + result[before].seconds) owner = before;
          }
        }
      }
      if (!owner) {
        ++lost;
        continue;
      }
      first[*owner] = std::min(first[*owner], kernel.start);
      sum[*owner] += kernel.seconds;
    }
    if (lost > 0) {
      warnings_.push_back(
          fmt::format("{} of {} gpu events belong to no op and are left out", lost, events_.kernels.size()));
    }
    // An op without kernels takes the gpu no time; it starts when the one before it has ended.
    const auto known =
        std::find_if(first.begin(), first.end(), [](double start) { return std::isfinite(start); });
    double clock = known != first.end() ? *known : 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i].start = std::isfinite(first[i]) ? std::max(first[i], clock) : clock;
      result[i].seconds = sum[i];
      clock = result[i].start + sum[i];
    }
  }

  // What of it starts within the chosen step.
  Result<std::vector<TraceOp>> inStep(std::vector<TraceOp> all, double from, double to) const {
    std::vector<TraceOp> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (top_start_[i] >= from && top_start_[i] < to) kept.push_back(std::move(all[i]));
    }
    if (kept.empty()) return root_.fail("the chosen step has no ops", "profile at least one whole step");
    return kept;
  }
};

}  // namespace

Result<std::vector<TraceOp>> readPyTorchTrace(const JsonNode& root, TraceSide side,
                                              const ReadOptions& options, Warnings& warnings) {
  ALLOT_TRY(const double factor, timeUnitFactor(options, kMicroseconds));
  return Reader(root, factor, warnings).read(side);
}

bool looksLikeTrace(const JsonNode& root) {
  if (root.isObject()) return root.has("traceEvents");
  const auto items = root.array();
  if (!items || items->size() == 0) return false;
  const JsonNode first = root.item(0, items->at(0));
  return first.isObject() && first.has("ph");
}

}  // namespace allot
