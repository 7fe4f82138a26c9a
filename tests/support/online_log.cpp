#include "support/online_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace allot {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();

// What rounding may add to a time.
double slack(double time) {
  return 1e-9 * (1 + std::abs(time));
}

struct OpLife {
  enum State { kWaits, kRuns, kDone, kDropped } state = kWaits;
  std::size_t device = 0;
  double start = 0, end = 0;
  bool holds = false;  // the device, while it runs
};

struct JobLife {
  std::string name;
  ModelId model;
  double weight = 0, arrival = 0, finished = -1, last_end = 0;
  bool left = false, dropped = false;
  std::vector<OpLife> ops;                  // of the problem
  std::vector<double> copies;               // [slot * devices + device]: since when, or kNowhere
  std::map<std::size_t, std::size_t> home;  // device of a group that has begun, by unit
  bool open() const { return finished < 0 && !copies.empty(); }
};

struct Sending {
  std::size_t job, slot, from, to;
  double end;
};

struct DeviceLife {
  bool up = true;
  double factor = 1, free_at = 0;
};

class Verifier {
 public:
  Verifier(const Problem& problem, const std::vector<OnlineEvent>& events, bool reported)
      : problem_(problem),
        events_(events),
        reported_(reported),
        per_edge_(problem.modes.send == Send::kPerEdge),
        seconds_(problem.op_seconds),
        devices_(problem.deviceCount()) {
    for (std::size_t t = 0; t < problem.graph.tensorCount(); ++t) {
      first_slot_.push_back(slots_.size());
      const std::size_t copies = per_edge_ ? problem.graph.consumers(TensorId(t)).size() : 1;
      slots_.resize(slots_.size() + std::max<std::size_t>(1, copies), t);
    }
    first_slot_.push_back(slots_.size());
    for (std::size_t d = 0; d < devices_.size(); ++d)
      limited_ = limited_ || std::isfinite(problem.memoryLimit(DeviceId(d)));
  }

  std::string run(const std::vector<Decision>& log, const OnlineEngine& engine) {
    for (const Decision& decision : log) {
      std::string wrong = catchUp(decision);
      if (wrong.empty() && decision.time < now_ - slack(now_)) wrong = "time goes back";
      now_ = std::max(now_, decision.time);
      if (wrong.empty()) wrong = take(decision);
      if (!wrong.empty())
        return fmt::format("{} {} of {} at {}: {}", name(decision.kind),
                           decision.op.valid() ? problem_.graph.op_name[decision.op.index()] : "",
                           decision.job.index() < jobs_.size() ? jobs_[decision.job.index()].name : "nobody",
                           decision.time, wrong);
    }
    while (next_event_ < events_.size()) takeEvent();
    if (std::string wrong = nothingDue(); !wrong.empty()) return wrong;
    return atTheEnd(engine);
  }

 private:
  const Problem& problem_;
  const std::vector<OnlineEvent>& events_;
  const bool reported_, per_edge_;
  std::vector<double> seconds_;
  std::vector<DeviceLife> devices_;
  std::vector<std::size_t> first_slot_, slots_;  // by tensor; the tensor of a slot: one for each copy to send
  std::vector<JobLife> jobs_;
  std::map<std::string, std::size_t> job_of_;
  std::vector<Sending> sending_;
  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> sent_;                     // job, slot, device
  std::set<std::pair<std::size_t, std::size_t>> running_, must_repeat_, reported_ends_;  // job, op
  std::size_t next_event_ = 0;
  double now_ = 0;
  bool limited_ = false;
  std::string overdue_;

  // Events before the decision happened before it. Of those of its instant, all that the engine had when it
  // began anything; and as many as explain the decision where it follows from one of them.
  std::string catchUp(const Decision& decision) {
    while (next_event_ < events_.size() && events_[next_event_].time < decision.time) takeEvent();
    if (decision.time > now_ + slack(now_)) {
      if (std::string wrong = nothingDue(); !wrong.empty()) return wrong;
    }
    const std::pair key{decision.job.index(), decision.op.valid() ? decision.op.index() : 0};
    const auto explained = [&] {
      switch (decision.kind) {
        case DecisionKind::kStart:
        case DecisionKind::kSend:
          return false;
        case DecisionKind::kRepeat:
          return must_repeat_.contains(key);
        case DecisionKind::kDrop:
          return key.first < jobs_.size() && jobs_[key.first].left;
        case DecisionKind::kEnd:
          return !reported_ || reported_ends_.contains(key);
        case DecisionKind::kMove:
          return devices_[decision.device.index()].up && key.first < jobs_.size();
        default:
          return key.first < jobs_.size();
      }
    };
    while (!explained() && next_event_ < events_.size() && events_[next_event_].time <= decision.time)
      takeEvent();
    return "";
  }

  std::string nothingDue() const {
    if (must_repeat_.empty() || !overdue_.empty()) return overdue_;
    const auto [job, op] = *must_repeat_.begin();
    return fmt::format("op {} of {} was lost, but is not repeated", problem_.graph.op_name[op],
                       jobs_[job].name);
  }

  double& copy(JobLife& job, std::size_t slot, std::size_t device) {
    return job.copies[slot * devices_.size() + device];
  }
  bool nowhere(const JobLife& job, std::size_t slot) const {
    const auto begin = job.copies.begin() + static_cast<std::ptrdiff_t>(slot * devices_.size());
    return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(devices_.size()),
                       [](double time) { return time == kNowhere; });
  }
  std::size_t slotOf(TensorId tensor, OpId consumer) const {
    if (!per_edge_) return first_slot_[tensor.index()];
    const auto consumers = problem_.graph.consumers(tensor);
    return first_slot_[tensor.index()] +
           static_cast<std::size_t>(std::find(consumers.begin(), consumers.end(), consumer) -
                                    consumers.begin());
  }

  void takeEvent() {
    const OnlineEvent& event = events_[next_event_++];
    now_ = std::max(now_, event.time);
    const auto jobNamed = [&]() -> JobLife& { return jobs_[job_of_.at(event.job)]; };
    switch (event.kind) {
      case EventKind::kArrive: {
        job_of_[event.job] = jobs_.size();
        JobLife& job = jobs_.emplace_back();
        job.name = event.job;
        job.model = event.model;
        job.weight = event.weight >= 0 ? event.weight : problem_.model_weight[event.model.index()];
        job.arrival = event.time;
        job.ops.resize(problem_.opCount());
        job.copies.assign(slots_.size() * devices_.size() + 1, kNowhere);
        break;
      }
      case EventKind::kLeave:
        jobNamed().left = true;
        for (OpLife& op : jobNamed().ops) {
          if (op.state == OpLife::kWaits) op.state = OpLife::kDropped;
        }
        break;
      case EventKind::kFail:
        fail(event.device.index());
        break;
      case EventKind::kReturn:
        devices_[event.device.index()].up = true;
        devices_[event.device.index()].free_at = event.time;
        break;
      case EventKind::kSlow: {
        DeviceLife& device = devices_[event.device.index()];
        for (const auto& [j, i] : running_) {
          OpLife& op = jobs_[j].ops[i];
          if (op.device == event.device.index() && op.end > event.time)
            op.end = event.time + (op.end - event.time) * event.factor / device.factor;
        }
        device.factor = event.factor;
        break;
      }
      case EventKind::kTime:
        seconds_[event.op.index() * problem_.cluster.classCount() + event.cls.index()] = event.seconds;
        break;
      case EventKind::kEnd:
        reported_ends_.insert({job_of_.at(event.job), event.op.index()});
        break;
    }
  }

  void fail(std::size_t device) {
    devices_[device].up = false;
    std::erase_if(sending_, [&](const Sending& send) {
      if (send.end <= now_ || (send.from != device && send.to != device)) return send.end <= now_;
      JobLife& job = jobs_[send.job];
      sent_.erase({send.job, send.slot, send.to});
      if (job.open() && copy(job, send.slot, send.to) == send.end) copy(job, send.slot, send.to) = kNowhere;
      return true;
    });
    std::erase_if(sent_, [&](const auto& sent) { return std::get<2>(sent) == device; });
    std::erase_if(running_, [&](const auto& run) {
      JobLife& job = jobs_[run.first];
      OpLife& op = job.ops[run.second];
      if (op.device != device) return false;
      if (!reported_ && op.end < now_ - slack(now_))
        overdue_ = fmt::format("op {} of {} should have ended", problem_.graph.op_name[run.second], job.name);
      op.state = job.left ? OpLife::kDropped : OpLife::kWaits;
      if (!job.left) must_repeat_.insert(run);
      return true;
    });
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      JobLife& job = jobs_[j];
      if (!job.open()) continue;
      std::erase_if(job.home, [&](const auto& unit) { return unit.second == device; });
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) copy(job, slot, device) = kNowhere;
      // Where an edge has no copy left, any other copy of the tensor serves it.
      for (std::size_t t = 0; per_edge_ && t + 1 < first_slot_.size(); ++t) {
        for (std::size_t slot = first_slot_[t]; slot < first_slot_[t + 1]; ++slot) {
          if (!nowhere(job, slot)) continue;
          for (std::size_t other = first_slot_[t]; other < first_slot_[t + 1]; ++other) {
            for (std::size_t d = 0; d < devices_.size(); ++d) {
              if (copy(job, other, d) <= now_)
                copy(job, slot, d) = std::min(copy(job, slot, d), copy(job, other, d));
            }
          }
        }
      }
      if (!job.left) repeatLost(j);
    }
  }

  void repeatLost(std::size_t j) {
    JobLife& job = jobs_[j];
    for (bool more = true; more;) {
      more = false;
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
        const TensorId tensor(slots_[slot]);
        const std::size_t producer = problem_.graph.producer(tensor).index();
        if (problem_.isOrder(tensor) || job.ops[producer].state != OpLife::kDone || !nowhere(job, slot))
          continue;
        for (const OpId consumer : problem_.graph.consumers(tensor)) {
          if (job.ops[consumer.index()].state != OpLife::kWaits) continue;
          if (slotOf(tensor, consumer) != slot) continue;
          job.ops[producer].state = OpLife::kWaits;
          must_repeat_.insert({j, producer});
          more = true;
          break;
        }
      }
    }
  }

  std::string take(const Decision& decision) {
    if (decision.job.index() >= jobs_.size()) return "the job has not arrived";
    JobLife& job = jobs_[decision.job.index()];
    const std::pair key{decision.job.index(), decision.op.valid() ? decision.op.index() : 0};
    switch (decision.kind) {
      case DecisionKind::kStart:
        return start(job, decision);
      case DecisionKind::kSend:
        return send(job, decision);
      case DecisionKind::kMove:
        return devices_[decision.device.index()].up ? "" : "the device is down";
      case DecisionKind::kRepeat:
        return must_repeat_.erase(key) == 1 ? "" : "nothing of it was lost that is needed";
      case DecisionKind::kHold:
        return "";
      case DecisionKind::kDrop:
        return !job.left || std::exchange(job.dropped, true) ? "it did not leave" : "";
      case DecisionKind::kEnd:
        return end(job, decision);
      case DecisionKind::kFinish:
        for (std::size_t i = 0; i < job.ops.size(); ++i) {
          if (problem_.graph.op_model[i] == job.model && job.ops[i].state != OpLife::kDone)
            return fmt::format("op {} has not ended", problem_.graph.op_name[i]);
        }
        if (!job.open() || job.left) return "it has finished or left before";
        if (std::abs(decision.time - job.last_end) > slack(job.last_end)) return "not when its last op ended";
        job.finished = decision.time;
        std::vector<double>().swap(job.copies);
        return "";
    }
    return "unknown decision";
  }

  std::string start(JobLife& job, const Decision& decision) {
    const std::size_t device = decision.device.index();
    DeviceLife& where = devices_[device];
    OpLife& op = job.ops[decision.op.index()];
    const UnitId unit = problem_.unit(decision.op);
    if (op.state != OpLife::kWaits || problem_.graph.op_model[decision.op.index()] != job.model)
      return "it does not wait to run";
    if (!must_repeat_.empty()) return nothingDue();
    if (decision.start != decision.time) return "it starts at another time";
    if (decision.start < job.arrival) return "before the job arrived";
    if (!where.up) return "the device is down";
    if (!problem_.allowed(unit, decision.device)) return "not allowed there";
    const std::size_t cls = problem_.cluster.devices[device].cls.index();
    const double seconds = seconds_[decision.op.index() * problem_.cluster.classCount() + cls] * where.factor;
    if (std::abs(decision.end - decision.start - seconds) > slack(decision.end))
      return "it takes another time";
    const bool holds = decision.end > decision.start;
    if (holds && decision.start < where.free_at - slack(where.free_at)) return "the device is busy";
    std::map<std::size_t, std::vector<OpId>> beside;  // by job
    beside[decision.job.index()].push_back(decision.op);
    for (const auto& [j, i] : running_) {
      const OpLife& other = jobs_[j].ops[i];
      if (other.device != device) continue;
      if (holds && other.holds) return "the device runs another op";
      beside[j].push_back(OpId(i));
    }
    double bytes = 0;
    for (const auto& [j, ops] : beside) bytes += problem_.residentBytes(ops);
    if (bytes > problem_.memoryLimit(decision.device)) return "no room";
    for (const TensorId tensor : problem_.graph.inputs(decision.op)) {
      const OpId producer = problem_.graph.producer(tensor);
      if (problem_.isOrder(tensor)) {
        if (job.ops[producer.index()].state != OpLife::kDone) return "what goes before it is not done";
      } else if (!(copy(job, slotOf(tensor, decision.op), device) <=
                   decision.start + slack(decision.start))) {
        return fmt::format("the output of {} is not there", problem_.graph.op_name[producer.index()]);
      }
    }
    // Where memory is short, what is left of a group may find no room but elsewhere.
    const auto home = job.home.find(unit.index());
    if (!limited_ && home != job.home.end() && home->second != device) return "its group is elsewhere";
    job.home[unit.index()] = device;
    running_.insert({decision.job.index(), decision.op.index()});
    op = {OpLife::kRuns, device, decision.start, decision.end, holds};
    return "";
  }

  std::string end(JobLife& job, const Decision& decision) {
    OpLife& op = job.ops[decision.op.index()];
    if (op.state != OpLife::kRuns || op.device != decision.device.index()) return "it was not running there";
    if (reported_) {
      if (reported_ends_.erase({decision.job.index(), decision.op.index()}) == 0) return "nobody said so";
    } else if (std::abs(decision.time - op.end) > slack(op.end)) {
      return fmt::format("it should end at {}", op.end);
    }
    if (op.holds) {
      devices_[op.device].free_at = decision.time + problem_.cluster.classOf(decision.device).launch_seconds;
    }
    running_.erase({decision.job.index(), decision.op.index()});
    op.state = OpLife::kDone;
    job.last_end = decision.time;
    if (!job.open()) return "its job has finished";
    for (const TensorId tensor : problem_.graph.outputs(decision.op)) {
      for (std::size_t slot = first_slot_[tensor.index()]; slot < first_slot_[tensor.index() + 1]; ++slot)
        copy(job, slot, op.device) = std::min(copy(job, slot, op.device), decision.time);
    }
    return "";
  }

  std::string send(JobLife& job, const Decision& decision) {
    const std::size_t from = decision.from.index(), to = decision.device.index();
    if (!job.open() || job.left) return "the job has ended or left";
    if (!devices_[from].up || !devices_[to].up) return "a device is down";
    if (decision.start != decision.time) return "it starts at another time";
    if (per_edge_ != decision.consumer.valid()) return "for whom?";
    if (problem_.graph.producer(decision.tensor) != decision.op) return "not its output";
    const std::size_t slot = slotOf(decision.tensor, decision.consumer);
    if (slot >= first_slot_[decision.tensor.index() + 1]) return "for an op that does not need it";
    if (!(copy(job, slot, from) <= decision.start + slack(decision.start))) return "the source has no copy";
    const double seconds = problem_.transferSeconds(decision.tensor, decision.from, decision.device);
    if (std::abs(decision.end - decision.start - seconds) > slack(decision.end)) return "wrong transfer time";
    // A copy of another edge that serves this one since others were lost may be one the engine did not
    // choose.
    if (sent_.contains({decision.job.index(), slot, to}) && copy(job, slot, to) != kNowhere)
      return "it is there or on its way";
    if (copy(job, slot, to) == kNowhere) copy(job, slot, to) = decision.end;
    sent_.insert({decision.job.index(), slot, to});
    if (!(decision.end > decision.start)) return "";
    const LinkMode mode = problem_.modes.link_mode;
    std::erase_if(sending_, [&](const Sending& old) { return old.end <= decision.start; });
    for (const Sending& other : sending_) {
      if (other.end <= decision.start + slack(decision.start)) continue;
      const bool same = other.from == from || other.to == to;
      const bool crossed = other.from == to || other.to == from;
      if (mode != LinkMode::kFree && (same || (crossed && mode == LinkMode::kHalfDuplex)))
        return "a port is busy";
    }
    sending_.push_back({decision.job.index(), slot, from, to, decision.end});
    return "";
  }

  std::string atTheEnd(const OnlineEngine& engine) const {
    const bool all_up =
        std::all_of(devices_.begin(), devices_.end(), [](const DeviceLife& d) { return d.up; });
    if (engine.jobCount() != jobs_.size()) return "jobs are missing";
    if (!reported_ && !running_.empty()) {
      const auto [j, i] = *running_.begin();
      return fmt::format("op {} of {} never ends", problem_.graph.op_name[i], jobs_[j].name);
    }
    double value = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const JobLife& job = jobs_[j];
      const JobReport report = engine.job(JobId(j));
      if (job.left != job.dropped || job.left != report.left) return fmt::format("job {} left", job.name);
      if (job.left) continue;
      if (job.finished < 0) {
        if (!reported_ && all_up) return fmt::format("job {} does not finish", job.name);
        if (!std::isnan(report.completion)) return fmt::format("job {} has not finished", job.name);
        continue;
      }
      if (std::abs(job.finished - report.completion) > slack(job.finished))
        return fmt::format("job {} completes at {}, not {}", job.name, job.finished, report.completion);
      value += job.weight * job.finished;
    }
    if (std::abs(value - engine.value()) > 1e-9 * (1 + value))
      return fmt::format("value {}, not {}", value, engine.value());
    return "";
  }
};

}  // namespace

std::string verifyLog(const Problem& problem, const std::vector<OnlineEvent>& events,
                      const std::vector<Decision>& log, const OnlineEngine& engine, bool ends_reported) {
  return Verifier(problem, events, ends_reported).run(log, engine);
}

}  // namespace allot
