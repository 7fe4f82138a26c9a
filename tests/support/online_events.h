// Events in a line, and an engine to give them to.
#pragma once

#include <string>
#include <vector>

#include "allot/online.h"

namespace allot {

OnlineEvent arrival(double time, std::string job, std::size_t model);
OnlineEvent onDevice(EventKind kind, double time, std::size_t device, double factor = 1);
OnlineEvent ofJob(EventKind kind, double time, std::string job);

// Two models of two ops in a row on a slow and a fast device, no transfer times.
Problem twoChains();
OnlineEngine engineFor(const Problem& problem, const OnlineOptions& options = {});

// An engine that is verified after each event and plan, and that remembers what it took and decided.
class FollowedEngine : public OnlineEngine {
 public:
  explicit FollowedEngine(const Problem& problem, const OnlineOptions& options = {});
  Result<void> apply(const OnlineEvent& event);
  void replan();
  const std::vector<Decision>& log();
  std::size_t count(DecisionKind kind);
  // What the verifier of logs finds, or "".
  std::string wrong();

 private:
  const Problem& problem_;
  bool reported_;
  std::vector<OnlineEvent> taken_;
  std::vector<Decision> log_;
};

}  // namespace allot
