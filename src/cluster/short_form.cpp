// Clusters written in one line: "2xA100-80GB,1xT4,cpu:16".
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "cluster/catalogue.h"

namespace allot {
namespace {

constexpr std::size_t kMaxDevices = 4096;
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxItemShown = 40;

struct Item {
  CatalogueDevice device;
  std::size_t count = 0;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxItemShown)) out += c >= ' ' && c < 127 ? c : '?';
  return text.size() > kMaxItemShown ? out + "..." : out;
}

// "2x" off the front of "2xT4"; 1 where there is no count.
Result<std::size_t> takeCount(std::string_view& item) {
  const std::size_t digits = std::min(item.find_first_not_of("0123456789"), item.size());
  std::string_view rest = trim(item.substr(digits));
  if (digits == 0 || rest.empty() || (rest.front() != 'x' && rest.front() != 'X' && rest.front() != '*'))
    return std::size_t{1};
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(item.data(), item.data() + digits, count);
  if (error != std::errc{} || count > kMaxDevices) {
    return badInput("", fmt::format("\"{}\": so many devices are absurd", shown(item)),
                    fmt::format("use at most {}", kMaxDevices));
  }
  if (count == 0) {
    return badInput("", fmt::format("\"{}\" is no device at all", shown(item)),
                    "give a count of 1 or more, or leave it out");
  }
  rest.remove_prefix(1);
  item = trim(rest);
  return count;
}

Result<std::vector<Item>> itemsOf(std::string_view text) {
  const std::string_view example = "write for example 2xA100-80GB,1xT4,cpu:16";
  // The text becomes the cluster's name, so it must also read well in a file.
  constexpr std::string_view kMarks = " \t,+*:.-_()/";
  const bool odd = std::any_of(text.begin(), text.end(), [&](char c) {
    const bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return !letter && kMarks.find(c) == std::string_view::npos;
  });
  if (odd)
    return badInput("", fmt::format("\"{}\" has characters that no device has", shown(text)),
                    std::string(example));
  if (text.size() > kMaxText) return badInput("", "the list of devices is too long", std::string(example));
  std::vector<Item> items;
  std::size_t total = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(",+", at), text.size());
    std::string_view item = trim(text.substr(at, end - at));
    at = end + 1;
    if (item.empty())
      return badInput("", fmt::format("\"{}\" has an empty part", shown(text)), std::string(example));
    ALLOT_TRY(const std::size_t count, takeCount(item));
    ALLOT_TRY(CatalogueDevice device, catalogueDevice(item));
    total += count;
    if (total > kMaxDevices) {
      return badInput("", fmt::format("{} devices are absurd", total),
                      fmt::format("use at most {}", kMaxDevices));
    }
    const auto same = std::find_if(items.begin(), items.end(),
                                   [&](const Item& other) { return other.device.id == device.id; });
    if (same != items.end())
      same->count += count;
    else
      items.push_back({std::move(device), count});
  }
  return items;
}

// The bus of the generation, where the catalogue does not say.
std::string_view usualHostLink(std::string_view arch) {
  for (const std::string_view old : {"kepler", "pascal", "volta", "turing"}) {
    if (arch == old) return "pcie3";
  }
  for (const std::string_view recent : {"hopper", "blackwell", "cdna3"}) {
    if (arch == recent) return "pcie5";
  }
  return "pcie4";
}

std::string rateText(const CatalogueLink& link) {
  return fmt::format("{} ({:.4g} GB/s, {:.3g} us)", link.name, link.bandwidth_bytes_per_second / 1e9,
                     link.latency_seconds * 1e6);
}

Result<void> joinByCatalogue(const std::vector<Item>& items, Cluster& cluster,
                             std::vector<std::string>& notes) {
  std::vector<std::optional<CatalogueLink>> bus;
  for (const Item& item : items) {
    bus.emplace_back();
    if (item.device.kind == DeviceKind::kCpu) continue;
    const bool known = !item.device.host_link.empty();
    ALLOT_TRY(bus.back(), catalogueLink(known ? item.device.host_link : usualHostLink(item.device.arch)));
    notes.push_back(fmt::format("{}: host link {}{}", item.device.id, rateText(*bus.back()),
                                known ? "" : ", assumed from its generation"));
  }
  addHostLinks(cluster, bus);
  for (std::size_t c = 0; c < items.size(); ++c) {
    if (items[c].count < 2 || items[c].device.peer_link.empty()) continue;
    ALLOT_TRY(const CatalogueLink peer, catalogueLink(items[c].device.peer_link));
    addPeerLink(cluster, ClassId(c), peer);
    notes.push_back(fmt::format("{}: joined by {}", cluster.classes[c].name, rateText(peer)));
  }
  return {};
}

}  // namespace

Result<Cluster> clusterFromShortForm(std::string_view text, std::string_view link,
                                     std::vector<std::string>* assumed) {
  ALLOT_TRY(const std::vector<Item> items, itemsOf(text));
  Cluster cluster;
  cluster.name = std::string(trim(text));
  std::vector<std::string> notes;
  for (const Item& item : items) {
    const ClassId cls(cluster.classes.size());
    cluster.classes.push_back(classOf(item.device));
    for (std::size_t i = 0; i < item.count; ++i) {
      Device device;
      device.name = fmt::format("{}-{}", cluster.classes.back().name, i);
      device.cls = cls;
      device.memory_bytes = item.device.memory_bytes;
      cluster.devices.push_back(std::move(device));
    }
    if (item.device.vendor == "any") notes.push_back(fmt::format("{}: {}", item.device.id, item.device.note));
  }
  if (trim(link).empty()) {
    ALLOT_CHECK(joinByCatalogue(items, cluster, notes));
  } else {
    ALLOT_TRY(const CatalogueLink given, catalogueLink(trim(link)));
    cluster.links.push_back(
        {LinkEnd::kAny, LinkEnd::kAny, 0, 0, given.latency_seconds, given.bandwidth_bytes_per_second});
  }
  if (assumed != nullptr) assumed->insert(assumed->end(), notes.begin(), notes.end());
  return cluster;
}

bool looksLikeShortForm(std::string_view text) {
  if (trim(text).empty() || text == "-" || text.size() > kMaxText) return false;
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(std::string(text)), ignored)) return false;
  for (const std::string_view ending : {".json", ".yaml", ".yml"}) {
    if (text.ends_with(ending)) return false;
  }
  return text.find('/') == std::string_view::npos;
}

}  // namespace allot
