#include "allot/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace allot {
namespace {

// What a link's end must match: a device (with its class and host), or a host alone.
struct Place {
  std::optional<DeviceId> device;
  ClassId cls;
  HostId host;
};

bool matches(LinkEnd kind, std::uint32_t index, const Place& place) {
  switch (kind) {
    case LinkEnd::kAny:
      return true;
    case LinkEnd::kHost:
      return place.host.value == index;
    case LinkEnd::kClass:
      return place.device && place.cls.value == index;
    case LinkEnd::kDevice:
      return place.device && place.device->value == index;
  }
  return false;
}

const Link* bestLink(const std::vector<Link>& links, const Place& from, const Place& to, bool named_from,
                     bool named_to) {
  const Link* best = nullptr;
  std::tuple<int, int> best_rank{-1, -1};
  for (const Link& link : links) {
    if (!matches(link.from_kind, link.from, from) || !matches(link.to_kind, link.to, to)) continue;
    if (named_from && link.from_kind == LinkEnd::kAny) continue;
    if (named_to && link.to_kind == LinkEnd::kAny) continue;
    const int from_rank = static_cast<int>(link.from_kind);
    const std::tuple<int, int> rank{from_rank + static_cast<int>(link.to_kind), from_rank};
    if (rank >= best_rank) {  // on a full tie the later entry wins
      best_rank = rank;
      best = &link;
    }
  }
  return best;
}

Place placeOf(const Cluster& cluster, DeviceId device) {
  const Device& d = cluster.devices[device.index()];
  return {device, d.cls, d.host};
}

Place hostOf(const Cluster& cluster, DeviceId device) {
  return {{}, {}, cluster.devices[device.index()].host};
}

}  // namespace

HostId Cluster::internHost(std::string_view host) {
  const auto found = std::find(host_name.begin(), host_name.end(), host);
  if (found != host_name.end()) return HostId(static_cast<std::size_t>(found - host_name.begin()));
  host_name.emplace_back(host);
  return HostId(host_name.size() - 1);
}

Result<std::pair<LinkEnd, std::uint32_t>> Cluster::parseEnd(std::string_view text) const {
  using End = std::pair<LinkEnd, std::uint32_t>;
  if (text == "*") return End{LinkEnd::kAny, 0};
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].name == text) return End{LinkEnd::kDevice, i};
  }
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    if (classes[i].name == text) return End{LinkEnd::kClass, i};
  }
  for (std::uint32_t i = 0; i < host_name.size(); ++i) {
    if (host_name[i] == text) return End{LinkEnd::kHost, i};
  }
  return badInput("", fmt::format("\"{}\" is no device, class or host", text), "name one of them, or \"*\"");
}

std::string Cluster::endText(LinkEnd kind, std::uint32_t index) const {
  switch (kind) {
    case LinkEnd::kAny:
      return "*";
    case LinkEnd::kHost:
      return host_name[index];
    case LinkEnd::kClass:
      return classes[index].name;
    case LinkEnd::kDevice:
      return devices[index].name;
  }
  return "?";
}

const Link* Cluster::linkBetween(DeviceId from, DeviceId to) const {
  return bestLink(links, placeOf(*this, from), placeOf(*this, to), false, false);
}

const Link* Cluster::linkToHost(DeviceId device, bool named_host) const {
  return bestLink(links, placeOf(*this, device), hostOf(*this, device), false, named_host);
}

const Link* Cluster::linkFromHost(DeviceId device, bool named_host) const {
  return bestLink(links, hostOf(*this, device), placeOf(*this, device), named_host, false);
}

}  // namespace allot
