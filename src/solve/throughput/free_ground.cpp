#include "solve/throughput/free_ground.h"

#include <algorithm>
#include <span>

namespace allot {

FreeGround::FreeGround(const PipelineModel& m)
    : model(&m), position(m.itemCount()), devices(m.problem->deviceCount()) {
  const std::size_t n = m.itemCount();
  net_weight.assign(m.netCount(), 0);
  for (std::size_t net = 0; net < m.netCount(); ++net) {
    for (std::size_t k = 0; k < m.poolCount(); ++k)
      net_weight[net] = std::max({net_weight[net], m.cost(net, k, true), m.cost(net, k, false)});
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = heavy_first.items.size();
    heavy_first.items.insert(heavy_first.items.end(), m.item_nets[i].begin(), m.item_nets[i].end());
    std::stable_sort(heavy_first.items.begin() + static_cast<std::ptrdiff_t>(first), heavy_first.items.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return net_weight[a] > net_weight[b]; });
    heavy_first.closeRow();
    std::size_t homes = 0;
    for (std::size_t k = 0; k < m.poolCount(); ++k) homes += m.runs(i, k) ? m.pools[k].devices.size() : 0;
    if (homes > 1) loose.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t k = 0; k < m.poolCount(); ++k) {
    double least = 0, here = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!m.runs(i, k)) continue;
      const auto times = std::span(m.seconds).subspan(i * m.poolCount(), m.poolCount());
      least += *std::min_element(times.begin(), times.end());
      here += m.time(i, k);
    }
    speed.push_back(here > 0 ? std::max(1e-4, least / here) : 1);
  }
  // Depth first, so that branches stay together. Items on a cycle of units follow in their own order.
  std::vector<std::uint32_t> open(n), stack;
  std::vector<std::uint8_t> done(n, 0);
  const auto run = [&] {
    while (!stack.empty()) {
      const std::uint32_t item = stack.back();
      stack.pop_back();
      if (done[item]) continue;
      done[item] = 1;
      order.push_back(item);
      for (const std::uint32_t next : m.after[item]) {
        if (open[next] > 0 && --open[next] == 0) stack.push_back(next);
      }
    }
  };
  for (std::size_t i = 0; i < n; ++i) open[i] = static_cast<std::uint32_t>(m.before[i].size());
  for (std::size_t i = n; i-- > 0;) {
    if (open[i] == 0) stack.push_back(static_cast<std::uint32_t>(i));
  }
  run();
  for (std::uint32_t i = 0; i < n; ++i) {
    if (done[i]) continue;
    stack.push_back(i);
    run();
  }
  for (std::uint32_t at = 0; at < n; ++at) position[order[at]] = at;
}

}  // namespace allot
