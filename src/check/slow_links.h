// Of many links, those that can be the slowest for some number of bytes.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "allot/cluster.h"

namespace allot {

class SlowLinks {
 public:
  void add(const Link* link) {  // nullptr: a pair without one
    if (link != nullptr) links_.push_back({link->latency_seconds, link->bandwidth_bytes_per_second});
  }

  // Keeps a link only where none has both its latency or more and its bandwidth or less.
  void settle() {
    std::sort(links_.begin(), links_.end(), [](const Speed& a, const Speed& b) {
      return a.latency != b.latency ? a.latency > b.latency : a.bandwidth < b.bandwidth;
    });
    double narrowest = std::numeric_limits<double>::infinity();
    bool first = true;
    std::erase_if(links_, [&](const Speed& link) {
      if (!first && link.bandwidth >= narrowest) return true;
      first = false;
      narrowest = link.bandwidth;
      return false;
    });
  }

  // Most that so many bytes take on one of the links; 0 without links.
  double seconds(std::int64_t bytes) const {
    double most = 0;
    for (const Speed& link : links_)
      most = std::max(most, link.latency + static_cast<double>(bytes) / link.bandwidth);
    return most;
  }

 private:
  struct Speed {
    double latency, bandwidth;
  };
  std::vector<Speed> links_;
};

}  // namespace allot
