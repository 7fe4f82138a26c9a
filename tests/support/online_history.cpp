#include "support/online_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/random.h"
#include "support/online_log.h"

namespace allot {
namespace {

// Short lists make events, ends and sends fall together. The least time moves the clock of the problem, but
// not that of a long history.
double someSeconds(Random& random) {
  constexpr std::array kTimes{0.0, 0.1, 0.1, 0.5, 0.5, 1.0, 1.0, 2.0};
  if (random.below(8) == 0) return random.unit();
  if (random.below(32) == 0) return 1e-13;
  return kTimes[random.below(kTimes.size())];
}

void addDevices(Random& random, Problem& problem) {
  const std::uint32_t classes = 1 + random.below(3), devices = 1 + random.below(4);
  const bool tight = random.below(2) == 0;
  for (std::uint32_t c = 0; c < classes; ++c) {
    DeviceClass cls;
    cls.name = fmt::format("C{}", c);
    cls.kind = DeviceKind::kAccelerator;
    if (random.below(6) == 0) cls.launch_seconds = 0.1;
    problem.cluster.classes.push_back(cls);
  }
  for (std::uint32_t d = 0; d < devices; ++d) {
    Device device;
    device.name = fmt::format("d{}", d);
    device.cls = ClassId(random.below(classes));
    if (tight && random.below(4) != 0) device.memory_bytes = 10 + random.below(60);
    problem.cluster.devices.push_back(device);
  }
  for (std::uint32_t k = 0; k < 3; ++k) {
    Link link;
    if (k > 0) {
      link.from_kind = LinkEnd::kClass;
      link.from = random.below(classes);
    }
    link.latency_seconds = 0.1 * random.below(2);
    link.bandwidth_bytes_per_second = random.below(2) == 0 ? 10 : 100;
    problem.cluster.links.push_back(link);
  }
}

void addTensors(Random& random, Problem& problem, const std::vector<OpId>& ops) {
  const std::size_t devices = problem.deviceCount();
  for (std::size_t i = 0; i + 1 < ops.size(); ++i) {
    for (std::uint32_t k = random.below(3); k > 0; --k) {
      std::vector<OpId> to;
      for (std::size_t c = i + 1; c < ops.size(); ++c) {
        if (random.below(2) == 0) to.push_back(ops[c]);
      }
      if (to.empty()) to.push_back(ops.back());
      const std::uint32_t kind = random.below(6);
      const double seconds = kind == 0 ? std::nan("") : 0.5 * someSeconds(random);
      const TensorId tensor =
          problem.addTensor(ops[i], to, random.below(10), kind == 1 ? std::nan("") : seconds);
      if (kind != 1) continue;
      problem.tensor_matrix[tensor.index()] =
          static_cast<std::int32_t>(problem.matrices.size() / (devices * devices));
      for (std::size_t pair = 0; pair < devices * devices; ++pair)
        problem.matrices.push_back(pair % (devices + 1) == 0 ? 0 : 0.5 * someSeconds(random));
    }
  }
}

void addModel(Random& random, Problem& problem, std::uint32_t m) {
  problem.graph.model_name.push_back(fmt::format("m{}", m));
  problem.model_weight.push_back(0.5 * random.below(4));
  problem.model_release.push_back(0);
  const std::size_t classes = problem.cluster.classCount(), devices = problem.deviceCount();
  const bool memory = random.below(2) == 0, picky = random.below(2) == 0;
  std::vector<OpId> ops;
  for (std::uint32_t i = 0, count = 1 + random.below(6); i < count; ++i) {
    const OpId op = problem.graph.addOp(fmt::format("m{}o{}", m, i));
    ops.push_back(op);
    problem.graph.op_model[op.index()] = ModelId(m);
    if (memory) problem.graph.op_memory_bytes[op.index()] = random.below(20);
    if (memory) problem.graph.op_weight_bytes[op.index()] = random.below(6);
    const std::uint32_t only = random.below(static_cast<std::uint32_t>(devices));
    for (std::size_t c = 0; c < classes; ++c) {
      const bool can = !picky || ClassId(c) == problem.cluster.devices[only].cls || random.below(4) != 0;
      problem.op_seconds.push_back(can ? someSeconds(random) : kCannotRun);
    }
    if (picky && random.below(8) == 0) problem.constraints.pin.emplace_back(op, DeviceId(only));
  }
  addTensors(random, problem, ops);
  const auto two = [&] {
    const std::uint32_t a = random.below(static_cast<std::uint32_t>(ops.size() - 1));
    const std::uint32_t b = a + 1 + random.below(static_cast<std::uint32_t>(ops.size() - 1 - a));
    return std::pair(ops[a], ops[b]);
  };
  if (ops.size() > 1 && random.below(3) == 0) problem.constraints.order.push_back(two());
  if (ops.size() > 1 && random.below(3) == 0) problem.graph.addBlock("w", random.below(25), ops);
  if (ops.size() > 1 && random.below(3) == 0) {
    const auto [a, b] = two();
    problem.constraints.together.push_back({a, b});
  }
}

}  // namespace

Problem hostileProblem(std::uint64_t seed) {
  // Not every draw makes sense: ops of a group may have no device in common.
  for (std::uint64_t attempt = 0;; ++attempt) {
    Random random(seed, 4100 + attempt);
    Problem problem;
    problem.modes.goal = Goal::kCompletion;
    problem.modes.link_mode = static_cast<LinkMode>(random.below(3));
    problem.modes.send = random.below(2) == 0 ? Send::kPerEdge : Send::kOnce;
    if (random.below(4) == 0) problem.modes.optimizer_factor = 2.5;
    addDevices(random, problem);
    for (std::uint32_t m = 0, models = 1 + random.below(3); m < models; ++m) addModel(random, problem, m);
    if (problem.finish()) return problem;
    if (attempt == 1000) std::abort();
  }
}

OnlineOptions hostileOptions(std::uint64_t seed) {
  Random random(seed, 42);
  OnlineOptions options;
  if (random.below(4) == 0) options.max_moves = random.below(4);
  if (random.below(4) == 0) options.move_cost = 0.01;
  if (random.below(4) == 0) options.work = 1 + random.below(60);
  options.ends_reported = random.below(5) == 0;
  return options;
}

std::vector<OnlineEvent> hostileEvents(const Problem& problem, std::uint64_t seed) {
  Random random(seed, 43);
  constexpr std::array kGaps{0.0, 0.0, 0.1, 0.1, 0.5, 1.0, 2.0};
  const auto devices = static_cast<std::uint32_t>(problem.deviceCount());
  const std::uint32_t failures = 5 + random.below(30);  // in a hundred events
  std::vector<OnlineEvent> events;
  std::vector<std::uint8_t> up(devices, 1);
  std::vector<std::string> jobs;
  double time = random.below(8) == 0 ? 1e4 : 0;
  const auto add = [&](EventKind kind) -> OnlineEvent& {
    OnlineEvent& event = events.emplace_back();
    event.kind = kind;
    event.time = time;
    return event;
  };
  const auto toggle = [&](std::uint32_t device) {
    add(up[device] ? EventKind::kFail : EventKind::kReturn).device = DeviceId(device);
    up[device] = !up[device];
  };
  for (std::uint32_t i = 0, count = 3 + random.below(40); i < count; ++i) {
    time += random.below(5) == 0 ? random.unit() : kGaps[random.below(kGaps.size())];
    const std::uint32_t kind = random.below(100), device = random.below(devices);
    if (kind < failures) {
      toggle(device);
      for (std::uint32_t other = 0; other < devices; ++other) {
        if (random.below(6) == 0) toggle(other);
      }
    } else if (kind < failures + 8) {
      OnlineEvent& event = add(EventKind::kSlow);
      event.device = DeviceId(device);
      event.factor = 0.5 + 0.5 * random.below(5);
    } else if (kind < failures + 16) {
      OnlineEvent& event = add(EventKind::kTime);
      event.op = OpId(random.below(static_cast<std::uint32_t>(problem.opCount())));
      event.cls = ClassId(random.below(static_cast<std::uint32_t>(problem.cluster.classCount())));
      event.seconds = someSeconds(random);
    } else if (kind < failures + 22 && !jobs.empty()) {
      add(EventKind::kLeave).job = jobs[random.below(static_cast<std::uint32_t>(jobs.size()))];
    } else {
      const auto model = random.below(static_cast<std::uint32_t>(problem.graph.modelCount()));
      if (random.below(8) != 0 || jobs.empty()) jobs.push_back(fmt::format("j{}", jobs.size()));
      OnlineEvent& event = add(EventKind::kArrive);
      event.job = random.below(8) == 0 ? jobs.front() : jobs.back();  // a name may come again
      event.model = ModelId(model);
      if (random.below(2) == 0) event.weight = random.below(4);
    }
  }
  for (std::uint32_t device = 0; device < devices; ++device) {
    if (up[device]) continue;
    time += 0.1 * random.below(2);
    toggle(device);
  }
  return events;
}

namespace {

class Life {
 public:
  Life(const Problem& problem, const OnlineOptions& options, std::uint64_t seed)
      : problem_(problem), options_(options), random_(seed, 44), engine_(created(problem, options)) {}

  History live(const std::vector<OnlineEvent>& events) {
    for (std::size_t i = 0; i < events.size() && wrong_.empty(); ++i) {
      if (options_.ends_reported) runUntil(events[i].time);
      apply(events[i]);
      // Refused events change nothing; others of the instant come before the plan.
      if (i + 1 == events.size() || events[i + 1].time > events[i].time) replan();
    }
    if (options_.ends_reported)
      runUntil(std::numeric_limits<double>::infinity());
    else
      engine_.finish();
    note();
    verify("at the end");
    for (std::size_t j = 0; j < engine_.jobCount() && wrong_.empty(); ++j) {
      const JobReport job = engine_.job(JobId(j));
      if (!job.left && std::isnan(job.completion))
        wrong_ = fmt::format("{} does not finish: {}", job.name, engine_.waitsFor(JobId(j)));
    }
    if (wrong_.empty()) wrong_ = verifyLog(problem_, taken_, log_, engine_, options_.ends_reported);
    History history;
    history.wrong = wrong_;
    for (const Decision& decision : log_) {
      history.starts += decision.kind == DecisionKind::kStart;
      history.repeats += decision.kind == DecisionKind::kRepeat;
      history.finished += decision.kind == DecisionKind::kFinish;
      history.holds += decision.kind == DecisionKind::kHold;
    }
    return history;
  }

 private:
  const Problem& problem_;
  const OnlineOptions options_;
  Random random_;
  OnlineEngine engine_;
  std::vector<OnlineEvent> taken_;
  std::vector<Decision> log_;
  struct Running {
    double end;
    DeviceId device;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Running> running_;  // by job and op
  std::string wrong_;

  static OnlineEngine created(const Problem& problem, const OnlineOptions& options) {
    auto engine = OnlineEngine::create(problem, options);
    if (!engine) {
      std::fprintf(stderr, "%s\n", engine.error().text().c_str());
      std::abort();
    }
    return std::move(*engine);
  }

  void verify(std::string_view when) {
    const auto sound = engine_.verify();
    if (!sound && wrong_.empty())
      wrong_ = fmt::format("{} {}: {}", when, engine_.now(), sound.error().message);
  }

  void apply(const OnlineEvent& event) {
    const auto taken = engine_.apply(event);
    if (taken) {
      taken_.push_back(event);
      // Nobody says so of jobs that left.
      if (event.kind == EventKind::kFail)
        std::erase_if(running_, [&](const auto& run) { return run.second.device == event.device; });
    } else if (event.kind == EventKind::kEnd && wrong_.empty()) {
      wrong_ = "the end of what runs is refused: " + taken.error().text();
    }
    note();
    verify("after an event at");
  }

  void replan() {
    engine_.replan();
    note();
    verify("after a plan at");
  }

  // What was decided; what started runs for some time.
  void note() {
    for (Decision& decision : engine_.takeDecisions()) {
      if (options_.ends_reported && decision.op.valid()) {
        const std::pair key{decision.job.value, decision.op.value};
        if (decision.kind == DecisionKind::kStart)
          running_[key] = {decision.start + (decision.end - decision.start) * (0.5 + 1.5 * random_.unit()),
                           decision.device};
        if (decision.kind == DecisionKind::kEnd || decision.kind == DecisionKind::kRepeat)
          running_.erase(key);
      }
      log_.push_back(std::move(decision));
    }
  }

  // Reports ends until `time`, or until nothing happens any more.
  void runUntil(double time) {
    int idle = 0;
    while (wrong_.empty()) {
      std::erase_if(running_,
                    [&](const auto& run) { return engine_.job(JobId(run.first.first)).open_ops == 0; });
      auto first = std::min_element(running_.begin(), running_.end(),
                                    [](const auto& a, const auto& b) { return a.second.end < b.second.end; });
      if (first == running_.end()) {
        // Starts that are planned for later, behind sends.
        const double later = std::min(time, engine_.now() + 1);
        engine_.advance(later);
        note();
        if (running_.empty() && (later >= time || ++idle == 20)) return;
        continue;
      }
      idle = 0;
      const double end = std::max(first->second.end, engine_.now());
      if (end >= time) return;
      const auto before = running_.size();
      engine_.advance(end);
      note();
      if (running_.size() != before) continue;  // what began meanwhile may end before
      OnlineEvent event;
      event.kind = EventKind::kEnd;
      event.time = end;
      event.job = engine_.job(JobId(first->first.first)).name;
      event.op = OpId(first->first.second);
      apply(event);
      replan();
    }
  }
};

}  // namespace

History liveThrough(const Problem& problem, const OnlineOptions& options,
                    const std::vector<OnlineEvent>& events, std::uint64_t seed) {
  return Life(problem, options, seed).live(events);
}

}  // namespace allot
