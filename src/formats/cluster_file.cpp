// allot.cluster/1, and the parts it shares with allot.problem/1.
#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

#include "formats/cluster_parts.h"
#include "formats/schema.h"

namespace allot {
namespace {

// Links are resolved for every pair of devices, so the number of devices bounds the memory a file can ask
// for.
constexpr std::size_t kMaxDevices = 4096;

Result<void> readClasses(const JsonNode& list, Cluster& cluster, Warnings& warnings) {
  std::unordered_set<std::string> seen;
  return list.forEach([&](const JsonNode& node) -> Result<void> {
    DeviceClass cls;
    ALLOT_TRY(const JsonNode name_node, node.at("name"));
    ALLOT_TRY(cls.name, name_node.label());
    if (!seen.insert(cls.name).second)
      return name_node.fail(fmt::format("class \"{}\" is there twice", cls.name), "rename one");
    ALLOT_TRY(const JsonNode kind_node, node.at("kind"));
    ALLOT_TRY(const std::string_view kind, kind_node.string());
    if (kind != "accelerator" && kind != "cpu") {
      return kind_node.fail(fmt::format("unknown kind \"{}\"", kind), "use \"accelerator\" or \"cpu\"");
    }
    cls.kind = kind == "cpu" ? DeviceKind::kCpu : DeviceKind::kAccelerator;
    if (node.has("launch")) {
      ALLOT_TRY(const JsonNode launch, node.at("launch"));
      ALLOT_TRY(cls.launch_seconds, launch.seconds());
    }
    if (node.has("speed")) {
      ALLOT_TRY(const JsonNode speed, node.at("speed"));
      ALLOT_TRY(cls.speed, speed.number());
      if (!(cls.speed >= 1e-6 && cls.speed <= 1e6)) {
        return speed.fail(fmt::format("speed {} is not between 1e-6 and 1e6", cls.speed),
                          "1 = the device the times were measured on");
      }
    }
    node.warnUnknown({"name", "kind", "launch", "speed"}, warnings);
    cluster.classes.push_back(std::move(cls));
    return {};
  });
}

Result<void> readDevices(const JsonNode& list, Cluster& cluster, Warnings& warnings) {
  std::unordered_set<std::string> seen;
  return list.forEach([&](const JsonNode& node) -> Result<void> {
    if (cluster.devices.size() >= kMaxDevices) {
      return list.fail("so many devices are absurd", fmt::format("use at most {}", kMaxDevices));
    }
    Device device;
    ALLOT_TRY(const JsonNode name_node, node.at("name"));
    ALLOT_TRY(device.name, name_node.label());
    if (!seen.insert(device.name).second) {
      return name_node.fail(fmt::format("device \"{}\" is there twice", device.name),
                            "give each device its own name");
    }
    ALLOT_TRY(const JsonNode class_node, node.at("class"));
    ALLOT_TRY(const std::string class_name, class_node.label());
    for (std::size_t c = 0; c < cluster.classes.size(); ++c) {
      if (cluster.classes[c].name == class_name) device.cls = ClassId(c);
    }
    if (!device.cls.valid()) {
      return class_node.fail(fmt::format("unknown class \"{}\"", class_name), "name one of \"classes\"");
    }
    if (node.has("memory")) {
      ALLOT_TRY(const JsonNode memory, node.at("memory"));
      if (!memory.isNull()) {
        ALLOT_TRY(device.memory_bytes, memory.bytes());
      }
    }
    if (node.has("host")) {
      ALLOT_TRY(const JsonNode host, node.at("host"));
      ALLOT_TRY(const std::string host_name, host.label());
      device.host = cluster.internHost(host_name);
    }
    node.warnUnknown({"name", "class", "memory", "host"}, warnings);
    cluster.devices.push_back(std::move(device));
    return {};
  });
}

Result<void> readLinks(const JsonNode& list, Cluster& cluster, Warnings& warnings) {
  return list.forEach([&](const JsonNode& node) -> Result<void> {
    Link link;
    const auto readEnd = [&](std::string_view key, LinkEnd& kind, std::uint32_t& index) -> Result<void> {
      ALLOT_TRY(const JsonNode end_node, node.at(key));
      ALLOT_TRY(const std::string text, end_node.label());
      auto end = cluster.parseEnd(text);
      if (!end) return end_node.fail(end.error().message, end.error().remedy);
      std::tie(kind, index) = *end;
      return {};
    };
    ALLOT_CHECK(readEnd("from", link.from_kind, link.from));
    ALLOT_CHECK(readEnd("to", link.to_kind, link.to));
    if (node.has("latency")) {
      ALLOT_TRY(const JsonNode latency, node.at("latency"));
      ALLOT_TRY(link.latency_seconds, latency.seconds());
    }
    if (node.has("bandwidth")) {
      ALLOT_TRY(const JsonNode bandwidth, node.at("bandwidth"));
      ALLOT_TRY(link.bandwidth_bytes_per_second, bandwidth.bytesPerSecond());
    }
    node.warnUnknown({"from", "to", "latency", "bandwidth"}, warnings);
    cluster.links.push_back(link);
    return {};
  });
}

}  // namespace

Result<void> readClusterParts(const JsonNode& root, Cluster& cluster, Warnings& warnings) {
  ALLOT_TRY(const JsonNode classes, root.at("classes"));
  ALLOT_CHECK(readClasses(classes, cluster, warnings));
  ALLOT_TRY(const JsonNode devices, root.at("devices"));
  ALLOT_CHECK(readDevices(devices, cluster, warnings));
  if (cluster.devices.empty()) return devices.fail("there are no devices", "give at least one device");
  if (root.has("links")) {
    ALLOT_TRY(const JsonNode links, root.at("links"));
    ALLOT_CHECK(readLinks(links, cluster, warnings));
  }
  return {};
}

void writeClusterParts(const Cluster& cluster, JsonWriter& out) {
  out.key("classes").beginArray();
  for (const DeviceClass& cls : cluster.classes) {
    out.beginObject()
        .field("name", cls.name)
        .field("kind", cls.kind == DeviceKind::kCpu ? "cpu" : "accelerator");
    if (cls.launch_seconds != 0) out.field("launch", cls.launch_seconds);
    if (cls.speed != 1) out.field("speed", cls.speed);
    out.endObject();
  }
  out.endArray().key("devices").beginArray();
  for (const Device& device : cluster.devices) {
    out.beginObject().field("name", device.name).field("class", cluster.classes[device.cls.index()].name);
    if (device.memory_bytes) out.field("memory", *device.memory_bytes);
    if (device.host.valid()) out.field("host", cluster.host_name[device.host.index()]);
    out.endObject();
  }
  out.endArray();
  if (cluster.links.empty()) return;
  out.key("links").beginArray();
  for (const Link& link : cluster.links) {
    out.beginObject();
    out.field("from", cluster.endText(link.from_kind, link.from))
        .field("to", cluster.endText(link.to_kind, link.to));
    out.field("latency", link.latency_seconds);
    if (std::isfinite(link.bandwidth_bytes_per_second))
      out.field("bandwidth", link.bandwidth_bytes_per_second);
    out.endObject();
  }
  out.endArray();
}

Result<Cluster> readCluster(std::string_view text, const std::string& file, Warnings& warnings) {
  ALLOT_TRY(const JsonDocument document, JsonDocument::parse(text, file, true));
  const JsonNode root = document.root();
  ALLOT_CHECK(expectSchema(root, "allot.cluster/1"));
  Cluster cluster;
  if (root.has("name")) {
    ALLOT_TRY(const JsonNode name_node, root.at("name"));
    ALLOT_TRY(cluster.name, name_node.label());
  }
  ALLOT_CHECK(readClusterParts(root, cluster, warnings));
  root.warnUnknown({"schema", "name", "classes", "devices", "links"}, warnings);
  return cluster;
}

std::string writeCluster(const Cluster& cluster) {
  JsonWriter out;
  out.beginObject().field("schema", "allot.cluster/1").field("name", cluster.name);
  writeClusterParts(cluster, out);
  out.endObject();
  return out.take();
}

}  // namespace allot
