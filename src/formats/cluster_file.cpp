// allot.cluster/1, and the parts it shares with allot.problem/1.
#include <fmt/format.h>

#include <cmath>
#include <unordered_set>

#include "allot/catalogue.h"
#include "base/units.h"
#include "formats/cluster_parts.h"
#include "formats/schema.h"

namespace allot {
namespace {

// Links are resolved for every pair of devices, so the number of devices bounds the memory a file can ask
// for.
constexpr std::size_t kMaxDevices = 4096;

constexpr double kMaxOperationsPerSecond = 1e24;

Result<void> readPeaks(const JsonNode& node, DeviceSpec& spec) {
  ALLOT_TRY(const auto fields, node.object());
  for (const auto field : fields) {
    const JsonNode child = node.member(field.key, field.value);
    const auto type = dataTypeFromName(field.key);
    if (!type || *type == DataType::kUnknown) {
      return child.fail(fmt::format("unknown arithmetic \"{}\"", field.key),
                        "use fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8 or int4");
    }
    double rate = 0;
    if (child.isString()) {
      ALLOT_TRY(const std::string_view text, child.string());
      const auto parsed = parseOperationsPerSecond(text);
      if (!parsed) return child.fail(parsed.error().message, parsed.error().remedy);
      rate = *parsed;
    } else {
      ALLOT_TRY(rate, child.number());
    }
    if (!(rate >= 0 && rate <= kMaxOperationsPerSecond)) {
      return child.fail(fmt::format("peak {} is absurd", rate),
                        "check the unit; plain numbers are operations per second");
    }
    spec.peak_per_second[static_cast<std::size_t>(*type)] = rate + 0.0;
  }
  return {};
}

// What a class can do: a device of the catalogue, figures of its own, or both, its own ones winning.
Result<void> readSpec(const JsonNode& node, DeviceClass& cls) {
  if (node.has("device")) {
    ALLOT_TRY(const JsonNode child, node.at("device"));
    ALLOT_TRY(const std::string id, child.label());
    const auto device = catalogueDevice(id);
    if (!device) return child.fail(device.error().message, device.error().remedy);
    cls.spec = device->spec;
    cls.kind = device->kind;
  }
  if (!cls.spec &&
      (node.has("peak") || node.has("bandwidth") || node.has("overhead") || node.has("sustained")))
    cls.spec.emplace();
  if (node.has("peak")) {
    ALLOT_TRY(const JsonNode child, node.at("peak"));
    ALLOT_CHECK(readPeaks(child, *cls.spec));
  }
  if (node.has("bandwidth")) {
    ALLOT_TRY(const JsonNode child, node.at("bandwidth"));
    ALLOT_TRY(cls.spec->memory_bytes_per_second, child.bytesPerSecond());
  }
  if (node.has("overhead")) {
    ALLOT_TRY(const JsonNode child, node.at("overhead"));
    ALLOT_TRY(cls.spec->overhead_seconds, child.seconds());
  }
  if (node.has("sustained")) {
    ALLOT_TRY(const JsonNode child, node.at("sustained"));
    ALLOT_TRY(cls.spec->sustained, child.number());
    if (!(cls.spec->sustained >= 0.01 && cls.spec->sustained <= 1)) {
      return child.fail(fmt::format("{} is not between 0.01 and 1", cls.spec->sustained),
                        "write the share of the peaks that holds under load");
    }
  }
  return {};
}

// Figures are written out although the catalogue has them: a file means the same with another catalogue.
void writeSpec(const DeviceSpec& spec, JsonWriter& out) {
  DeviceSpec listed;
  if (!spec.catalogue.empty()) {
    out.field("device", spec.catalogue);
    if (const auto device = catalogueDevice(spec.catalogue)) listed = device->spec;
  }
  const auto needed = [](double value, double in_catalogue) { return value != 0 || in_catalogue != 0; };
  bool any = false;
  for (std::size_t t = 1; t < kDataTypeCount; ++t) {
    if (!needed(spec.peak_per_second[t], listed.peak_per_second[t])) continue;
    if (!any) out.key("peak").beginObject();
    any = true;
    out.field(name(static_cast<DataType>(t)), spec.peak_per_second[t]);
  }
  if (any) out.endObject();
  if (spec.memory_bytes_per_second != 0) out.field("bandwidth", spec.memory_bytes_per_second);
  if (needed(spec.overhead_seconds, listed.overhead_seconds)) out.field("overhead", spec.overhead_seconds);
  if (spec.sustained != 1 || listed.sustained != 1 || spec == DeviceSpec{})
    out.field("sustained", spec.sustained);
}

// By class: memory of a device that the file does not give, which is that of the catalogue's device.
std::vector<std::optional<std::int64_t>> usualMemory(const Cluster& cluster) {
  std::vector<std::optional<std::int64_t>> memory(cluster.classCount());
  for (std::size_t c = 0; c < memory.size(); ++c) {
    const auto& spec = cluster.classes[c].spec;
    if (!spec || spec->catalogue.empty()) continue;
    if (const auto device = catalogueDevice(spec->catalogue)) memory[c] = device->memory_bytes;
  }
  return memory;
}

Result<void> readClasses(const JsonNode& list, Cluster& cluster, Warnings& warnings) {
  std::unordered_set<std::string> seen;
  return list.forEach([&](const JsonNode& node) -> Result<void> {
    DeviceClass cls;
    ALLOT_TRY(const JsonNode name_node, node.at("name"));
    ALLOT_TRY(cls.name, name_node.label());
    if (!seen.insert(cls.name).second)
      return name_node.fail(fmt::format("class \"{}\" is there twice", cls.name), "rename one");
    ALLOT_CHECK(readSpec(node, cls));
    if (node.has("kind") || !node.has("device")) {
      ALLOT_TRY(const JsonNode kind_node, node.at("kind"));
      ALLOT_TRY(const std::string_view kind, kind_node.string());
      if (kind != "accelerator" && kind != "cpu") {
        return kind_node.fail(fmt::format("unknown kind \"{}\"", kind), "use \"accelerator\" or \"cpu\"");
      }
      cls.kind = kind == "cpu" ? DeviceKind::kCpu : DeviceKind::kAccelerator;
    }
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
    node.warnUnknown(
        {"name", "kind", "launch", "speed", "device", "peak", "bandwidth", "overhead", "sustained"},
        warnings);
    cluster.classes.push_back(std::move(cls));
    return {};
  });
}

Result<void> readDevices(const JsonNode& list, Cluster& cluster, Warnings& warnings) {
  const auto usual_memory = usualMemory(cluster);
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
    } else {
      device.memory_bytes = usual_memory[device.cls.index()];
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
    if (cls.spec) writeSpec(*cls.spec, out);
    out.endObject();
  }
  out.endArray().key("devices").beginArray();
  const auto usual_memory = usualMemory(cluster);
  for (const Device& device : cluster.devices) {
    out.beginObject().field("name", device.name).field("class", cluster.classes[device.cls.index()].name);
    if (device.memory_bytes)
      out.field("memory", *device.memory_bytes);
    else if (usual_memory[device.cls.index()])
      out.key("memory").null();
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
