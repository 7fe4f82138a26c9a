// Devices, their classes and the links between them.
//
// A link's ends are a device, a class, a host or "*". Links are directed; for a pair the most specific entry
// wins (device 3, class 2, host 1, "*" 0, added over both ends; on a tie the more specific `from`, then the
// later entry).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "allot/graph.h"
#include "allot/ids.h"
#include "allot/result.h"

namespace allot {

enum class DeviceKind : std::uint8_t { kAccelerator, kCpu };

// What a device can do at best, for the cost model. Zero = not known.
struct DeviceSpec {
  std::string catalogue;  // id in the catalogue the figures come from; "" = from the user's file
  std::array<double, kDataTypeCount> peak_per_second{};  // operations by DataType, dense
  double memory_bytes_per_second = 0;
  double overhead_seconds = 0;  // of starting one op; part of the op's estimated time
  double sustained = 1;         // share of the peaks that the power limit leaves under long load

  bool operator==(const DeviceSpec&) const = default;
};

struct DeviceClass {
  std::string name;
  DeviceKind kind = DeviceKind::kAccelerator;
  double launch_seconds = 0;  // busy time added after each op of non-zero time
  double speed = 1;           // relative to the device that a graph's single op times were measured on
  std::optional<DeviceSpec> spec = std::nullopt;  // absent = times must be given
};

struct Device {
  std::string name;
  ClassId cls;
  std::optional<std::int64_t> memory_bytes;  // absent = unlimited
  HostId host;                               // invalid = the common unnamed host
};

enum class LinkEnd : std::uint8_t { kAny = 0, kHost = 1, kClass = 2, kDevice = 3 };

struct Link {
  LinkEnd from_kind = LinkEnd::kAny, to_kind = LinkEnd::kAny;
  std::uint32_t from = 0, to = 0;  // index of the device, class or host
  double latency_seconds = 0;
  double bandwidth_bytes_per_second = std::numeric_limits<double>::infinity();

  double seconds(std::int64_t bytes) const {
    return latency_seconds + static_cast<double>(bytes) / bandwidth_bytes_per_second;
  }
};

class Cluster {
 public:
  std::string name;
  std::vector<DeviceClass> classes;
  std::vector<Device> devices;
  std::vector<std::string> host_name;
  std::vector<Link> links;

  std::size_t deviceCount() const { return devices.size(); }
  std::size_t classCount() const { return classes.size(); }
  const DeviceClass& classOf(DeviceId device) const { return classes[devices[device.index()].cls.index()]; }
  bool isAccelerator(DeviceId device) const { return classOf(device).kind == DeviceKind::kAccelerator; }
  HostId internHost(std::string_view host);

  // Resolves an end as written in a file: a device, class or host name, or "*".
  Result<std::pair<LinkEnd, std::uint32_t>> parseEnd(std::string_view text) const;
  std::string endText(LinkEnd kind, std::uint32_t index) const;

  // The winning link of an ordered pair of devices, or nullptr.
  const Link* linkBetween(DeviceId from, DeviceId to) const;
  // The winning link between a device and its host in one direction, or nullptr. `named_host` asks for an
  // entry whose host end is that host by name, not "*".
  const Link* linkToHost(DeviceId device, bool named_host) const;
  const Link* linkFromHost(DeviceId device, bool named_host) const;
};

}  // namespace allot
