#include "flow/certificate.h"

#include <fmt/format.h>

#include <limits>

namespace allot::flow {
namespace {

__extension__ using Sum = __int128;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

tl::unexpected<Error> refuse(std::string where, std::string message) {
  return fail({ErrorCode::kMismatch, {}, std::move(where), std::move(message), "do not use this solution"});
}

Result<void> checkShape(const Certificate& c) {
  for (std::size_t i = 0; i < c.arcs.size(); ++i) {
    const auto& arc = c.arcs[i];
    if (arc.from >= c.supply.size() || arc.to >= c.supply.size()) {
      return refuse(fmt::format("arc {}", i), "joins a node that does not exist");
    }
    if (arc.capacity < 0) return refuse(fmt::format("arc {}", i), "has a negative capacity");
  }
  return {};
}

}  // namespace

Result<std::int64_t> checkOptimal(const Certificate& c) {
  ALLOT_CHECK(checkShape(c));
  if (c.potential.size() != c.supply.size()) return refuse("potentials", "are not one per node");
  std::vector<Sum> left(c.supply.begin(), c.supply.end());
  Sum cost = 0;
  for (std::size_t i = 0; i < c.arcs.size(); ++i) {
    const auto& arc = c.arcs[i];
    if (arc.flow < 0 || arc.flow > arc.capacity) {
      return refuse(fmt::format("arc {}", i),
                    fmt::format("flow {} is not within 0 and {}", arc.flow, arc.capacity));
    }
    left[arc.from] -= arc.flow;
    left[arc.to] += arc.flow;
    cost += static_cast<Sum>(arc.cost) * arc.flow;
    const Sum reduced = static_cast<Sum>(arc.cost) + c.potential[arc.from] - c.potential[arc.to];
    if (reduced < 0 && (arc.flow < arc.capacity || arc.capacity == kNoLimit)) {
      return refuse(fmt::format("arc {}", i), "could carry more at a gain");
    }
    if (reduced > 0 && arc.flow > 0) return refuse(fmt::format("arc {}", i), "carries flow at a loss");
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] != 0) return refuse(fmt::format("node {}", i), "flow in, flow out and supply do not balance");
  }
  if (cost > kNoLimit || cost < std::numeric_limits<std::int64_t>::min()) {
    return refuse("cost", "does not fit into 64 bits");
  }
  return static_cast<std::int64_t>(cost);
}

Result<void> checkInfeasible(const Certificate& c) {
  ALLOT_CHECK(checkShape(c));
  std::vector<char> inside(c.supply.size(), 0);
  Sum supply = 0;
  for (const std::uint32_t node : c.cut) {
    if (node >= inside.size() || inside[node])
      return refuse("cut", "names a node twice or one that does not exist");
    inside[node] = 1;
    supply += c.supply[node];
  }
  Sum leaving = 0, entering = 0;
  bool leaving_free = false, entering_free = false;
  for (const auto& arc : c.arcs) {
    if (inside[arc.from] == inside[arc.to]) continue;
    if (inside[arc.from]) {
      leaving += arc.capacity;
      leaving_free |= arc.capacity == kNoLimit;
    } else {
      entering += arc.capacity;
      entering_free |= arc.capacity == kNoLimit;
    }
  }
  const bool too_much = !leaving_free && supply > leaving;
  const bool too_little = !entering_free && -supply > entering;
  if (!too_much && !too_little) return refuse("cut", "its arcs can carry what its nodes supply");
  return {};
}

Result<void> checkUnbounded(const Certificate& c) {
  ALLOT_CHECK(checkShape(c));
  if (c.cycle.empty()) return refuse("cycle", "is empty");
  Sum cost = 0;
  for (std::size_t i = 0; i < c.cycle.size(); ++i) {
    if (c.cycle[i] >= c.arcs.size()) return refuse("cycle", "names an arc that does not exist");
    const auto& arc = c.arcs[c.cycle[i]];
    const std::uint32_t next = c.cycle[(i + 1) % c.cycle.size()];
    if (next >= c.arcs.size() || arc.to != c.arcs[next].from) return refuse("cycle", "does not close");
    if (arc.capacity != kNoLimit) return refuse("cycle", "has an arc of limited capacity");
    cost += arc.cost;
  }
  if (cost >= 0) return refuse("cycle", "does not gain");
  return {};
}

}  // namespace allot::flow
