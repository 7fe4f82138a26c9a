// Links between the devices of one host.
#include <algorithm>

#include "cluster/catalogue.h"

namespace allot {
namespace {

void add(Cluster& cluster, std::optional<std::uint32_t> from, std::optional<std::uint32_t> to,
         const CatalogueLink& link) {
  cluster.links.push_back({from ? LinkEnd::kClass : LinkEnd::kAny, to ? LinkEnd::kClass : LinkEnd::kAny,
                           from.value_or(0), to.value_or(0), link.latency_seconds,
                           link.bandwidth_bytes_per_second});
}

bool alike(const CatalogueLink& a, const CatalogueLink& b) {
  return a.bandwidth_bytes_per_second == b.bandwidth_bytes_per_second &&
         a.latency_seconds == b.latency_seconds;
}

}  // namespace

void addHostLinks(Cluster& cluster, const std::vector<std::optional<CatalogueLink>>& bus) {
  const auto classes = static_cast<std::uint32_t>(bus.size());
  if (std::all_of(bus.begin(), bus.end(),
                  [&](const auto& link) { return link && alike(*link, *bus.front()); })) {
    if (classes > 0) add(cluster, {}, {}, *bus.front());
    return;
  }
  for (std::uint32_t c = 0; c < classes; ++c) {
    if (!bus[c]) continue;
    add(cluster, c, {}, *bus[c]);
    add(cluster, {}, c, *bus[c]);
  }
  // Of these two entries, both of which match a pair, the sender's wins: wrong where the receiver's bus is
  // slower.
  for (std::uint32_t a = 0; a < classes; ++a) {
    for (std::uint32_t b = 0; b < classes; ++b) {
      if (bus[a] && bus[b] && bus[b]->bandwidth_bytes_per_second < bus[a]->bandwidth_bytes_per_second)
        add(cluster, a, b, *bus[b]);
    }
  }
  const auto cpus = std::count_if(cluster.devices.begin(), cluster.devices.end(),
                                  [&](const Device& device) { return !bus[device.cls.index()]; });
  const auto numa = catalogueLink("numa");
  if (cpus < 2 || !numa) return;
  for (std::uint32_t a = 0; a < classes; ++a) {
    for (std::uint32_t b = 0; b < classes; ++b) {
      if (!bus[a] && !bus[b]) add(cluster, a, b, *numa);
    }
  }
}

void addPeerLink(Cluster& cluster, ClassId cls, const CatalogueLink& link) {
  add(cluster, cls.value, cls.value, link);
}

}  // namespace allot
