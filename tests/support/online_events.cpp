#include "support/online_events.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/online_log.h"
#include "support/online_problem.h"

namespace allot {

OnlineEvent arrival(double time, std::string job, std::size_t model) {
  OnlineEvent event;
  event.time = time;
  event.job = std::move(job);
  event.model = ModelId(model);
  return event;
}

OnlineEvent onDevice(EventKind kind, double time, std::size_t device, double factor) {
  OnlineEvent event;
  event.kind = kind;
  event.time = time;
  event.device = DeviceId(device);
  event.factor = factor;
  return event;
}

OnlineEvent ofJob(EventKind kind, double time, std::string job) {
  OnlineEvent event;
  event.kind = kind;
  event.time = time;
  event.job = std::move(job);
  return event;
}

Problem twoChains() {
  OnlineShape shape;
  shape.models = 2;
  shape.ops = 2;
  shape.devices = 2;
  Problem problem = onlineProblem(1, shape);
  // [op][class]
  problem.op_seconds = {4, 1, 4, 1, 8, 2, 8, 2};
  EXPECT_TRUE(problem.finish());
  return problem;
}

OnlineEngine engineFor(const Problem& problem, const OnlineOptions& options) {
  auto engine = OnlineEngine::create(problem, options);
  EXPECT_TRUE(engine) << engine.error().text();
  return std::move(*engine);
}

FollowedEngine::FollowedEngine(const Problem& problem, const OnlineOptions& options)
    : OnlineEngine(engineFor(problem, options)), problem_(problem), reported_(options.ends_reported) {}

Result<void> FollowedEngine::apply(const OnlineEvent& event) {
  auto taken = OnlineEngine::apply(event);
  if (taken) taken_.push_back(event);
  const auto sound = verify();
  EXPECT_TRUE(sound) << sound.error().text();
  return taken;
}

void FollowedEngine::replan() {
  OnlineEngine::replan();
  const auto sound = verify();
  EXPECT_TRUE(sound) << sound.error().text();
}

const std::vector<Decision>& FollowedEngine::log() {
  for (Decision& decision : takeDecisions()) log_.push_back(std::move(decision));
  return log_;
}

std::size_t FollowedEngine::count(DecisionKind kind) {
  return static_cast<std::size_t>(
      std::count_if(log().begin(), log().end(), [&](const Decision& d) { return d.kind == kind; }));
}

std::string FollowedEngine::wrong() {
  return verifyLog(problem_, taken_, log(), *this, reported_);
}

}  // namespace allot
