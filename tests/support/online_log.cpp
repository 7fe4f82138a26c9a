#include "support/online_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace allot {
namespace {

// What rounding may add to a time.
double slack(double time) {
  return 1e-9 * (1 + std::abs(time));
}

struct OpLife {
  std::optional<double> start;  // running since
  DeviceId device;
  int ended = 0, repeated = 0;  // repeated: results lost
  double end = -1;
};

class Verifier {
 public:
  Verifier(const Problem& problem, const OnlineEngine& engine) : problem_(problem), engine_(engine) {}

  std::string run(const std::vector<Decision>& log) {
    double time = 0;
    for (const Decision& decision : log) {
      if (decision.time < time - slack(time)) return fmt::format("time goes back at {}", decision.time);
      time = std::max(time, decision.time);
      if (auto wrong = take(decision); !wrong.empty())
        return fmt::format("{} {} of {} at {}: {}", name(decision.kind),
                           decision.op.valid() ? problem_.graph.op_name[decision.op.index()] : "",
                           engine_.job(decision.job).name, decision.time, wrong);
    }
    for (std::size_t j = 0; j < engine_.jobCount(); ++j) {
      const JobReport job = engine_.job(JobId(j));
      if (job.left || std::isnan(job.completion)) continue;
      double latest = 0;
      for (std::size_t i = 0; i < problem_.opCount(); ++i) {
        if (problem_.graph.op_model[i] != job.model) continue;
        const OpLife& life = lives_[{j, i}];
        if (life.start || life.ended - life.repeated != 1)
          return fmt::format("op {} of {} ended {} times, {} of them lost", problem_.graph.op_name[i],
                             job.name, life.ended, life.repeated);
        latest = std::max(latest, life.end);
      }
      if (std::abs(latest - job.completion) > slack(latest))
        return fmt::format("job {} completes at {}, not {}", job.name, latest, job.completion);
    }
    return "";
  }

 private:
  using OpKey = std::pair<std::size_t, std::size_t>;  // job, op
  const Problem& problem_;
  const OnlineEngine& engine_;
  std::map<OpKey, OpLife> lives_;
  std::map<std::size_t, OpKey> on_device_;                   // what runs, by device
  std::map<std::pair<OpKey, std::size_t>, double> arrived_;  // by job, tensor and device

  std::string take(const Decision& decision) {
    const std::size_t job = decision.job.index();
    switch (decision.kind) {
      case DecisionKind::kStart:
        return start(decision);
      case DecisionKind::kSend:
        return send(decision);
      case DecisionKind::kRepeat: {
        OpLife& life = lives_[{job, decision.op.index()}];
        if (life.start) {
          on_device_.erase(life.device.index());
          life.start.reset();
        } else {
          if (life.ended == life.repeated) return "it had not run";
          ++life.repeated;
        }
        return "";
      }
      case DecisionKind::kEnd: {
        OpLife& life = lives_[{job, decision.op.index()}];
        if (!life.start) return "it was not running";
        on_device_.erase(life.device.index());
        life.start.reset();
        ++life.ended;
        life.end = decision.time;
        for (const TensorId tensor : problem_.graph.outputs(decision.op)) {
          for (std::size_t d = 0; d < problem_.deviceCount(); ++d) arrived_.erase({{job, tensor.index()}, d});
          arrived_[{{job, tensor.index()}, life.device.index()}] = decision.time;
        }
        return "";
      }
      default:
        return "";
    }
  }

  std::string start(const Decision& decision) {
    const std::size_t job = decision.job.index(), device = decision.device.index();
    OpLife& life = lives_[{job, decision.op.index()}];
    if (life.start || life.ended > life.repeated) return "it runs or has ended already";
    if (decision.start < engine_.job(decision.job).arrival - slack(decision.start))
      return "before the job arrived";
    if (!problem_.allowed(problem_.unit(decision.op), decision.device)) return "not allowed there";
    if (decision.end > decision.start) {
      if (on_device_.contains(device)) return "the device runs another op";
      on_device_[device] = {job, decision.op.index()};
    }
    for (const TensorId tensor : problem_.graph.inputs(decision.op)) {
      const OpLife& producer = lives_[{job, problem_.graph.producer(tensor).index()}];
      if (producer.ended <= producer.repeated) return "an input was not computed";
      if (problem_.isOrder(tensor)) continue;
      const auto there = arrived_.find({{job, tensor.index()}, device});
      if (there == arrived_.end() || there->second > decision.start + slack(decision.start))
        return "an input is not there";
    }
    life.start = decision.start;
    life.device = decision.device;
    double bytes = 0;
    for (const auto& [where, key] : on_device_) {
      if (where == device) bytes += problem_.residentBytes(OpId(key.second));
    }
    if (bytes > problem_.memoryLimit(decision.device)) return "no room";
    return "";
  }

  std::string send(const Decision& decision) {
    const std::size_t job = decision.job.index();
    const auto source = arrived_.find({{job, decision.tensor.index()}, decision.from.index()});
    if (source == arrived_.end() || source->second > decision.start + slack(decision.start))
      return "the source has no copy";
    const double seconds = problem_.transferSeconds(decision.tensor, decision.from, decision.device);
    if (std::abs(decision.end - decision.start - seconds) > slack(decision.end)) return "wrong transfer time";
    arrived_[{{job, decision.tensor.index()}, decision.device.index()}] = decision.end;
    return "";
  }
};

}  // namespace

std::string verifyLog(const Problem& problem, const std::vector<Decision>& log, const OnlineEngine& engine) {
  return Verifier(problem, engine).run(log);
}

}  // namespace allot
