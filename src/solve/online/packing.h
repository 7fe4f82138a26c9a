// Room on devices: what ops hold where, and whether a whole job finds room.
//
// An op holds its resident bytes from the plan that places it until it has ended; a job holds a block of
// weights once on each device, however many of its ops read it there; jobs of one model share nothing. Sums
// are exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/problem.h"
#include "solve/online/model_plan.h"

namespace allot::online {

// What some ops of a job hold.
struct Need {
  std::int64_t memory = 0, weights = 0;
  std::vector<BlockId> blocks;  // sorted

  void clear() {
    memory = weights = 0;
    blocks.clear();
  }
};

class Occupancy {
 public:
  explicit Occupancy(const Problem& problem)
      : problem_(problem),
        held_(problem.deviceCount()),
        block_job_(problem.graph.block_bytes.size() * problem.deviceCount(), 0) {}

  void clear() { held_.assign(held_.size(), {}); }
  // What is put or looked at from now on belongs to another job.
  void beginJob() { ++job_; }
  void add(Need& need, OpId op) const;
  // The job's op runs there and has been put before.
  void know(OpId op, DeviceId device);
  void put(const Need& need, DeviceId device);
  // Bytes of the device were these ops there too.
  double bytesWith(const Need& need, DeviceId device) const;
  bool empty() const;

  struct Held {
    std::int64_t memory = 0, weights = 0;
  };
  const std::vector<Held>& held() const { return held_; }
  void restore(const std::vector<Held>& held) { held_ = held; }

 private:
  const Problem& problem_;
  std::vector<Held> held_;  // by device
  std::uint32_t job_ = 1;
  std::vector<std::uint32_t> block_job_;  // [block * devices + device]: the job that was last seen to hold it
};

// A device for each unit with ops in `ops` (by op of the model; empty = all), so that all fit devices that
// hold nothing else: the largest first, each where most room is left. Units with a valid device in `home` (by
// unit; empty = none) stay there. Devices that are not in `up` (empty = all) take nothing. Empty: no room
// found, for `unplaced` first.
std::vector<DeviceId> packUnits(const Problem& problem, const ModelPlan& model,
                                std::span<const std::uint8_t> ops, std::span<const std::uint8_t> up,
                                std::span<const DeviceId> home, std::uint32_t& unplaced);

}  // namespace allot::online
