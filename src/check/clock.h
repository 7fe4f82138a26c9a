// Times of ops and transfers as a plan's clock sees them.
//
// Let S be the largest release, plus every op's largest finite time, plus every tensor's largest transfer
// time once for each of its consumers. A time above 0 and below 2^-50 S cannot move the clock and counts as
// 0. Everything is taken from the times as they were given; what the problem made of them is only compared. S
// is a sum of many terms, so where the problem's limit agrees with ours within 1e-9, its own decides: times
// so close to the limit are on the same side for both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/problem.h"
#include "check/findings.h"
#include "check/slow_links.h"

namespace allot {

class Clock {
 public:
  // `via_host`: transfers run between accelerators and their host, else between pairs of devices.
  Clock(const Problem& problem, bool via_host);
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Times at which the problem's tables do not follow the rule.
  void compareTables(Findings& findings) const;

  double opSeconds(OpId op, DeviceId device) const {
    const std::size_t classes = problem_.cluster.classCount();
    return onClock(op_seconds_[op.index() * classes + problem_.cluster.devices[device.index()].cls.index()]);
  }
  // Time the device is busy with the op, its launch included.
  double busySeconds(OpId op, DeviceId device) const {
    const double seconds = opSeconds(op, device);
    return seconds > 0 ? seconds + problem_.cluster.classOf(device).launch_seconds : 0;
  }
  // Infinite where a link is missing.
  double transferSeconds(TensorId tensor, DeviceId from, DeviceId to) const;
  double toHostSeconds(TensorId tensor, DeviceId device) const;
  double fromHostSeconds(TensorId tensor, DeviceId device) const;

 private:
  const Problem& problem_;
  const bool via_host_;
  std::vector<double> own_tables_[3];
  std::span<const double> op_seconds_, tensor_seconds_, matrices_;  // as given
  std::vector<const Link*> to_host_, from_host_;
  double step_ = 0;

  double onClock(double seconds) const { return seconds > 0 && seconds < step_ ? 0 : seconds; }
  std::span<const double> given(Problem::ShortTime::Table table, const std::vector<double>& now);
  double longestOfAll() const;
  double longestTransfers() const;
  double hostSeconds(TensorId tensor, const Link* link) const;
};

}  // namespace allot
