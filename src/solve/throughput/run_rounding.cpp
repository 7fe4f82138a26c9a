#include "solve/throughput/run_rounding.h"

#include <algorithm>

namespace allot {

std::vector<std::vector<std::uint8_t>> roundToItems(const PipelineModel& model, const RunGraph& graph,
                                                    std::span<const RunBoundary> chain) {
  const std::size_t n = graph.runCount();
  const auto followed = [&](std::uint32_t run, const RunBoundary& boundary) {
    const auto after = graph.after[run];
    return std::any_of(after.begin(), after.end(), [&](std::uint32_t r) { return boundary.begun[r] != 0; });
  };
  std::vector<std::vector<std::uint8_t>> boundaries;
  std::vector<std::size_t> held(n, 0), next(n);  // items of each run
  for (std::size_t b = 0; b < chain.size(); ++b) {
    double work = 0;
    std::vector<std::vector<std::uint32_t>> unfinished(3);  // by what they cost when something is left
    for (std::uint32_t r = 0; r < n; ++r) {
      next[r] = chain[b].begun[r] != 0 ? graph.items[r].size() : 0;
      if (next[r] == 0) continue;
      work += graph.work[r];
      if (followed(r, chain[b])) continue;
      const bool soon = b + 1 == chain.size() || followed(r, chain[b + 1]);
      unfinished[held[r] > 0 ? 0 : soon ? 1 : 2].push_back(r);
    }
    for (const auto& runs : unfinished) {
      for (const std::uint32_t r : runs) {
        const std::size_t least = std::max<std::size_t>(held[r], 1);
        while (next[r] > least) {
          const double last = model.seconds[graph.items[r][next[r] - 1]];
          if (work - last / 2 < chain[b].work) break;
          work -= last;
          --next[r];
        }
      }
    }
    auto& boundary = boundaries.emplace_back(model.itemCount(), 0);
    for (std::uint32_t r = 0; r < n; ++r) {
      held[r] = std::max(held[r], next[r]);
      for (std::size_t i = 0; i < held[r]; ++i) boundary[graph.items[r][i]] = 1;
    }
  }
  return boundaries;
}

}  // namespace allot
