// Parts of a chain and the shortest path over (chain op, device) through them.
//
// Each part has a bound for every pair of devices of its two ends, an item. `raise` takes the items on the
// shortest path and tries to refute larger times for them, a few nodes of search at first and more each time
// it has to come back. The length of the shortest path is a bound on the whole.
// Where a time cannot be refuted because a schedule of the part takes no longer, the schedule is kept; along
// a chain that leaves no op out, schedules of the parts make one of the whole.
#pragma once

#include <memory>
#include <vector>

#include "solve/latency/bound_chain.h"
#include "solve/latency/refute.h"

namespace allot {

class BoundParts {
 public:
  BoundParts(const ScheduleModel& model, const BoundChain& chain, const Budget& budget);

  // Length of the shortest path.
  double bound() const { return bound_; }
  // Tries to raise one item of the shortest path, every other time of the shortest path by schedules; nothing
  // beyond `upper` is looked for. False when no item of the shortest path can be raised any more.
  bool raise(double upper);

  // Takes over the parts of a schedule of the whole that are better than those known.
  void learn(const Schedule& known);
  // Whether a better schedule of the whole may have come up since the last call of `assemble`.
  bool fresh() const { return complete_ && fresh_; }
  // The best schedule of the whole from those of the parts, if it is better than `upper`; else empty.
  Schedule assemble(double upper);

  std::size_t size() const { return parts_.size(); }
  std::uint64_t nodes() const;
  // Nodes times the size of their parts.
  double work() const;

 private:
  struct Item {
    double bound = 0;
    double step = 0;             // next try beyond the bound
    double failed = kCannotRun;  // least time that was not refuted at this level
    double open = kCannotRun;    // of the best schedule
    int level = 0;
    bool closed = false;
    bool probed = false;  // a first schedule was looked for
    Schedule schedule;
  };
  struct Part {
    std::unique_ptr<BoundModule> module;
    std::unique_ptr<Refuter> refuter;
    std::size_t froms, tos;
    double work;              // of the ops between, each on its best device
    std::vector<Item> items;  // [from * tos + to]
  };

  const ScheduleModel& model_;
  const Budget& budget_;
  std::vector<Part> parts_;
  bool complete_ = false, fresh_ = true;
  std::vector<std::vector<double>> ahead_, behind_;  // by part: least time before its start, after its end
  std::vector<std::vector<double>> open_behind_;     // by part: least time of schedules after its end
  bool turn_ = false;
  double bound_ = 0;

  void update();
  void openPath();
  void tryItem(Part& part, std::size_t item, double most);
  void refuteItem(Part& part, std::size_t item, double target, double most, std::uint64_t node_limit);
  double openTime(Part& part, std::size_t item);
};

}  // namespace allot
