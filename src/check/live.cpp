// Peak memory with live tensors.
//
// Each tensor, workspace and arrival is a half-open interval on one device: what ends at a time is freed
// before what begins then is taken, and what has no length takes nothing.
#include "check/parts.h"

namespace allot {
namespace {

struct Change {
  double time;
  std::int64_t bytes;  // negative = freed
};

class LiveMemory {
 public:
  explicit LiveMemory(std::size_t devices) : changes_(devices) {}

  void hold(DeviceId device, std::int64_t bytes, double from, double to) {
    if (bytes == 0 || !(from < to)) return;
    changes_[device.index()].push_back({from, bytes});
    changes_[device.index()].push_back({to, -bytes});
  }
  void holdForGood(DeviceId device, std::int64_t bytes, double from) {
    if (bytes != 0) changes_[device.index()].push_back({from, bytes});
  }

  std::int64_t peak(DeviceId device) {
    auto& list = changes_[device.index()];
    std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    std::int64_t held = 0, most = 0;
    for (const Change& change : list) {
      held += change.bytes;
      most = std::max(most, held);
    }
    return most;
  }

 private:
  std::vector<std::vector<Change>> changes_;
};

// One tensor on one receiving device, over all its consumers there.
struct Arrival {
  double from = std::numeric_limits<double>::infinity();
  double to = 0;
};

}  // namespace

void addLiveMemory(const CheckContext& context, const Deliveries& deliveries,
                   std::vector<DeviceUse>& devices) {
  const Plan& plan = context.plan;
  const Problem& problem = context.problem;
  const OpGraph& graph = problem.graph;
  LiveMemory memory(problem.deviceCount());
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    memory.hold(plan.assignment[i], graph.op_workspace_bytes[i], plan.start[i], plan.end[i]);
  }
  std::vector<Arrival> arrival(problem.deviceCount());
  std::vector<DeviceId> receivers;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const std::int64_t bytes = graph.tensor_bytes[t];
    if (bytes == 0) continue;
    const OpId producer = graph.tensor_producer[t];
    const DeviceId home = context.deviceOf(producer);
    const double made = plan.start[producer.index()], ready = plan.end[producer.index()];
    if (graph.consumers(TensorId(t)).empty()) {
      memory.holdForGood(home, bytes, made);
      continue;
    }
    double kept = ready;
    receivers.clear();
    for (std::uint32_t slot = graph.tensor_consumers.begin[t]; slot < graph.tensor_consumers.begin[t + 1];
         ++slot) {
      const OpId consumer = graph.tensor_consumers.items[slot];
      const DeviceId device = context.deviceOf(consumer);
      const double end = plan.end[consumer.index()];
      if (device == home) {
        kept = std::max(kept, end);
        continue;
      }
      Arrival& here = arrival[device.index()];
      if (here.from == std::numeric_limits<double>::infinity()) receivers.push_back(device);
      const std::uint32_t k = deliveries.cover[slot];
      const bool listed = k != Deliveries::kNone;
      // A transfer that may stay unlisted runs as soon as its tensor is ready.
      const double sent = listed ? plan.transfers[k].start : ready;
      const double gone =
          listed ? plan.transfers[k].end : ready + problem.transferSeconds(TensorId(t), home, device);
      here.from = std::min(here.from, sent);
      here.to = std::max(here.to, end);
      kept = std::max(kept, gone);
    }
    memory.hold(home, bytes, made, kept);
    for (const DeviceId device : receivers) {
      memory.hold(device, bytes, arrival[device.index()].from, arrival[device.index()].to);
      arrival[device.index()] = {};
    }
  }
  for (std::size_t d = 0; d < devices.size(); ++d)
    devices[d].memory_bytes += static_cast<double>(memory.peak(DeviceId(d)));
}

}  // namespace allot
