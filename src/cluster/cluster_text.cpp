// A cluster as a commented YAML file.
#include <fmt/format.h>

#include <cmath>

#include "allot/catalogue.h"
#include "base/units.h"

namespace allot {
namespace {

// A number with a unit where that reads back to the same bits, else the plain number.
template <class Parse>
std::string exactText(double value, double factor, std::string_view unit, Parse&& parse) {
  // A product of decimals carries rounding in its last digit, which people need not see.
  for (const std::string& digits :
       {fmt::format("{:.6g}", value / factor), fmt::format("{}", value / factor)}) {
    const std::string text = digits + std::string(unit);
    const auto back = parse(text);
    if (back && static_cast<double>(*back) == value) return text;
  }
  return fmt::format("{}", value);
}

std::string secondsYaml(double seconds) {
  if (seconds == 0) return "0";
  return exactText(seconds, 1e-6, "us", parseSeconds);
}

std::string rateYaml(double rate) {
  return exactText(rate, 1e9, "GB/s", parseBytesPerSecond);
}

std::string bytesYaml(std::int64_t bytes) {
  constexpr double kGibibyte = 1073741824.0;
  const auto value = static_cast<double>(bytes);
  if (std::fmod(value, kGibibyte) == 0) return exactText(value, kGibibyte, "GiB", parseBytes);
  if (std::fmod(value, 1e8) == 0) return exactText(value, 1e9, "GB", parseBytes);
  return fmt::format("{}", bytes);
}

// Plain where YAML takes it for a text, else in double quotes, escaped as in JSON.
std::string quoted(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto plain = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  bool simple = !text.empty() && letter(text.front());
  for (const char c : text) simple = simple && plain(c);
  for (const std::string_view word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}) {
    bool same = text.size() == word.size();
    for (std::size_t i = 0; i < text.size() && same; ++i) same = (text[i] | 0x20) == word[i];
    simple = simple && !same;
  }
  if (simple) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

// One line whatever the text holds.
std::string comment(std::string_view text) {
  std::string line = "# ";
  for (const char c : text) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  return line + "\n";
}

bool whole(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt4 || type == DataType::kOther;
}

std::string classYaml(const DeviceClass& cls) {
  std::string text;
  if (!cls.spec) {
    text += "  # No figures: times of ops must be measured (--times), or add peak and bandwidth.\n";
  } else if (const auto device = catalogueDevice(cls.spec->catalogue); device) {
    text += "  " + comment(fmt::format("{}; `allot devices show {}` says where the figures come from",
                                       device->name, device->id));
  }
  text += fmt::format("  - name: {}\n    kind: {}\n", quoted(cls.name),
                      cls.kind == DeviceKind::kCpu ? "cpu" : "accelerator");
  if (cls.launch_seconds != 0) text += fmt::format("    launch: {}\n", secondsYaml(cls.launch_seconds));
  if (cls.speed != 1) text += fmt::format("    speed: {}\n", cls.speed);
  if (!cls.spec) return text;
  const DeviceSpec& spec = *cls.spec;
  DeviceSpec listed;
  if (!spec.catalogue.empty()) {
    text += fmt::format("    device: {}\n", quoted(spec.catalogue));
    if (const auto device = catalogueDevice(spec.catalogue)) listed = device->spec;
  }
  std::string peaks;
  for (std::size_t t = 1; t < kDataTypeCount; ++t) {
    if (spec.peak_per_second[t] == 0 && listed.peak_per_second[t] == 0) continue;
    const auto type = static_cast<DataType>(t);
    peaks += fmt::format(
        "      {}: {}\n", name(type),
        exactText(spec.peak_per_second[t], 1e12, whole(type) ? "TOPS" : "TFLOPS", parseOperationsPerSecond));
  }
  if (!peaks.empty()) text += "    peak: # dense operations per second by arithmetic\n" + peaks;
  if (spec.memory_bytes_per_second != 0)
    text += fmt::format("    bandwidth: {} # of its own memory\n", rateYaml(spec.memory_bytes_per_second));
  text += fmt::format("    overhead: {} # of starting one op\n", secondsYaml(spec.overhead_seconds));
  if (spec.sustained != 1 || listed.sustained != 1)
    text += fmt::format("    sustained: {} # share of the peaks under long load\n", spec.sustained);
  return text;
}

}  // namespace

std::string clusterYaml(const Cluster& cluster, std::span<const std::string> notes) {
  std::string text = "# Devices for Allot: edit what is wrong, then give the file to --cluster.\n";
  for (const std::string& note : notes) text += comment(note);
  text += fmt::format("schema: allot.cluster/1\nname: {}\nclasses:\n", quoted(cluster.name));
  for (const DeviceClass& cls : cluster.classes) text += classYaml(cls);
  text += "devices: # one line each; without memory, it is without limit\n";
  for (const Device& device : cluster.devices) {
    const DeviceClass& cls = cluster.classes[device.cls.index()];
    text += fmt::format("  - {{name: {}, class: {}", quoted(device.name), quoted(cls.name));
    if (device.memory_bytes)
      text += fmt::format(", memory: {}", bytesYaml(*device.memory_bytes));
    else if (cls.spec && !cls.spec->catalogue.empty())
      text += ", memory: null";
    if (device.host.valid())
      text += fmt::format(", host: {}", quoted(cluster.host_name[device.host.index()]));
    text += "}\n";
  }
  if (cluster.links.empty()) return text;
  text +=
      "links: # one direction each, between devices, classes, hosts or \"*\"; the most specific entry wins\n";
  for (const Link& link : cluster.links) {
    text +=
        fmt::format("  - {{from: {}, to: {}, latency: {}", quoted(cluster.endText(link.from_kind, link.from)),
                    quoted(cluster.endText(link.to_kind, link.to)), secondsYaml(link.latency_seconds));
    if (std::isfinite(link.bandwidth_bytes_per_second))
      text += fmt::format(", bandwidth: {}", rateYaml(link.bandwidth_bytes_per_second));
    text += "}\n";
  }
  return text;
}

}  // namespace allot
