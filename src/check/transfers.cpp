// Listed transfers: right ends, right times, each consumer served once, ports held by one transfer at a time.
#include "check/intervals.h"
#include "check/parts.h"

namespace allot {
namespace {

class TransferChecker {
 public:
  TransferChecker(const CheckContext& context, double tolerance)
      : context_(context), graph_(context.problem.graph), tolerance_(tolerance) {}

  Deliveries run() {
    const auto& transfers = context_.plan.transfers;
    deliveries_.cover.assign(graph_.tensor_consumers.items.size(), Deliveries::kNone);
    if (transfers.empty()) return std::move(deliveries_);
    owner_.assign(context_.problem.opCount(), TensorId());
    slot_.assign(context_.problem.opCount(), 0);
    consumers_on_.assign(context_.problem.deviceCount(), 0);
    sent_to_.assign(context_.problem.deviceCount(), TensorId());
    groupByTensor();
    for (std::size_t t = 0; t < graph_.tensorCount(); ++t) {
      if (by_tensor_.begin[t] != by_tensor_.begin[t + 1]) checkTensor(TensorId(t));
    }
    checkPorts();
    return std::move(deliveries_);
  }

 private:
  const CheckContext& context_;
  const OpGraph& graph_;
  const double tolerance_;
  Deliveries deliveries_;
  Csr<std::uint32_t> by_tensor_;  // sound transfers of each tensor
  // Scratch of the tensor at hand: whose consumer an op is, its place in the list, consumers on each device,
  // who was sent to.
  std::vector<TensorId> owner_;
  std::vector<std::uint32_t> slot_;
  std::vector<std::uint32_t> consumers_on_;
  std::vector<TensorId> sent_to_;
  std::vector<std::uint32_t> sound_;

  void groupByTensor() {
    const auto& transfers = context_.plan.transfers;
    by_tensor_.begin.assign(graph_.tensorCount() + 1, 0);
    for (std::uint32_t k = 0; k < transfers.size(); ++k) {
      if (isReadable(k)) sound_.push_back(k);
    }
    for (const std::uint32_t k : sound_) ++by_tensor_.begin[transfers[k].tensor.index() + 1];
    for (std::size_t t = 0; t < graph_.tensorCount(); ++t) by_tensor_.begin[t + 1] += by_tensor_.begin[t];
    by_tensor_.items.resize(sound_.size());
    std::vector<std::uint32_t> fill = by_tensor_.begin;
    for (const std::uint32_t k : sound_) by_tensor_.items[fill[transfers[k].tensor.index()]++] = k;
  }

  bool isReadable(std::uint32_t k) const {
    const PlanTransfer& transfer = context_.plan.transfers[k];
    Findings& findings = context_.findings;
    if (transfer.tensor.index() >= graph_.tensorCount()) {
      findings.add("transfer {} names tensor number {} of {}", k, transfer.tensor.value,
                   graph_.tensorCount());
    } else if (!context_.isDevice(transfer.from) || !context_.isDevice(transfer.to)) {
      findings.add("transfer {} of {} names an unknown device", k, context_.tensorName(transfer.tensor));
    } else if (!std::isfinite(transfer.start) || !std::isfinite(transfer.end)) {
      findings.add("transfer {} of {} has no start or end", k, context_.tensorName(transfer.tensor));
    } else if (context_.problem.isOrder(transfer.tensor)) {
      findings.add("transfer {} of {} sends an order constraint, which carries no data", k,
                   context_.tensorName(transfer.tensor));
    } else {
      return true;
    }
    return false;
  }

  void checkTensor(TensorId tensor) {
    const std::uint32_t first = graph_.tensor_consumers.begin[tensor.index()];
    const auto consumers = graph_.consumers(tensor);
    for (std::uint32_t c = 0; c < consumers.size(); ++c) {
      owner_[consumers[c].index()] = tensor;
      slot_[consumers[c].index()] = first + c;
      ++consumers_on_[context_.deviceOf(consumers[c]).index()];
    }
    for (const std::uint32_t k : by_tensor_[tensor.index()]) {
      checkEnds(k);
      checkConsumers(k);
    }
    for (const OpId consumer : consumers) consumers_on_[context_.deviceOf(consumer).index()] = 0;
  }

  void checkEnds(std::uint32_t k) const {
    const PlanTransfer& transfer = context_.plan.transfers[k];
    Findings& findings = context_.findings;
    const std::string& from = context_.deviceName(transfer.from);
    const std::string& to = context_.deviceName(transfer.to);
    const OpId producer = graph_.producer(transfer.tensor);
    if (transfer.from != context_.deviceOf(producer)) {
      findings.add("{} is sent from device \"{}\" but lies on \"{}\"", context_.tensorName(transfer.tensor),
                   from, context_.deviceName(context_.deviceOf(producer)));
      return;
    }
    if (transfer.from == transfer.to) {
      findings.add("{} is sent from device \"{}\" to itself", context_.tensorName(transfer.tensor), from);
      return;
    }
    const double ready = context_.plan.end[producer.index()];
    if (transfer.start < ready - tolerance_) {
      findings.add("{} is sent to device \"{}\" at {} but is ready at {}",
                   context_.tensorName(transfer.tensor), to, transfer.start, ready);
    }
    const double seconds = context_.clock.transferSeconds(transfer.tensor, transfer.from, transfer.to);
    if (!(std::fabs(transfer.end - transfer.start - seconds) <= tolerance_)) {
      findings.add(
          "the transfer of {} from device \"{}\" to \"{}\" takes {} s in the plan but {} s by the problem",
          context_.tensorName(transfer.tensor), from, to, transfer.end - transfer.start, seconds);
    }
  }

  void checkConsumers(std::uint32_t k) {
    const PlanTransfer& transfer = context_.plan.transfers[k];
    Findings& findings = context_.findings;
    const std::string& to = context_.deviceName(transfer.to);
    std::uint32_t served = 0;
    for (const OpId consumer : transfer.consumers) {
      if (!context_.isOp(consumer) || owner_[consumer.index()] != transfer.tensor) {
        findings.add(
            "{} is sent to device \"{}\" for {}, which does not read it",
            context_.tensorName(transfer.tensor), to,
            context_.isOp(consumer) ? fmt::format("op \"{}\"", context_.opName(consumer)) : "an unknown op");
        continue;
      }
      if (context_.deviceOf(consumer) != transfer.to) {
        findings.add("{} is sent to device \"{}\" for op \"{}\", which is on \"{}\"",
                     context_.tensorName(transfer.tensor), to, context_.opName(consumer),
                     context_.deviceName(context_.deviceOf(consumer)));
        continue;
      }
      std::uint32_t& cover = deliveries_.cover[slot_[consumer.index()]];
      if (cover != Deliveries::kNone) {
        findings.add("{} is sent twice to op \"{}\" on device \"{}\"", context_.tensorName(transfer.tensor),
                     context_.opName(consumer), to);
        continue;
      }
      cover = k;
      ++served;
    }
    if (context_.modes().send == Send::kPerEdge) {
      if (transfer.consumers.size() == 1) return;
      findings.add("a transfer of {} to device \"{}\" serves {} consumers, but sending per edge serves one",
                   context_.tensorName(transfer.tensor), to, transfer.consumers.size());
      return;
    }
    checkSentOnce(transfer, served, to);
  }

  // Sending once: one transfer per destination, for all consumers there.
  void checkSentOnce(const PlanTransfer& transfer, std::uint32_t served, const std::string& to) {
    TensorId& last = sent_to_[transfer.to.index()];
    if (last == transfer.tensor) {
      context_.findings.add("{} is sent to device \"{}\" more than once",
                            context_.tensorName(transfer.tensor), to);
    } else if (const std::uint32_t there = consumers_on_[transfer.to.index()];
               served != there || there == 0) {
      context_.findings.add("the transfer of {} to device \"{}\" serves {} of its {} consumers there",
                            context_.tensorName(transfer.tensor), to, served, there);
    }
    last = transfer.tensor;
  }

  void checkPorts() const {
    const LinkMode mode = context_.modes().link_mode;
    if (mode == LinkMode::kFree) return;
    const std::size_t devices = context_.problem.deviceCount();
    const bool one_port = mode == LinkMode::kHalfDuplex;
    // Send ports, then receive ports where they are apart.
    std::vector<std::vector<Busy>> ports(one_port ? devices : 2 * devices);
    for (const std::uint32_t k : sound_) {
      const PlanTransfer& transfer = context_.plan.transfers[k];
      if (transfer.from == transfer.to) continue;
      if (context_.clock.transferSeconds(transfer.tensor, transfer.from, transfer.to) == 0) continue;
      ports[transfer.from.index()].push_back({transfer.start, transfer.end, k});
      ports[transfer.to.index() + (one_port ? 0 : devices)].push_back({transfer.start, transfer.end, k});
    }
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const char* port = one_port ? "port" : p < devices ? "send port" : "receive port";
      findConflicts(ports[p], 0, tolerance_, [&](const Busy& first, const Busy& next) {
        context_.findings.add("the {} of device \"{}\" is held by {} until {} but takes {} at {}", port,
                              context_.deviceName(DeviceId(p % devices)), tensorOf(first), first.end,
                              tensorOf(next), next.start);
      });
    }
  }

  std::string tensorOf(const Busy& busy) const {
    return context_.tensorName(context_.plan.transfers[busy.id].tensor);
  }
};

}  // namespace

Deliveries checkTransfers(const CheckContext& context, double tolerance) {
  return TransferChecker(context, tolerance).run();
}

}  // namespace allot
