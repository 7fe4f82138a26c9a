// Clusters written in one line: "2xA100-80GB,1xT4,cpu:16".
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

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

class LinkMaker {
 public:
  LinkMaker(Cluster& cluster, const std::vector<Item>& items, std::vector<std::string>& assumed)
      : cluster_(cluster), items_(items), assumed_(assumed) {}

  Result<void> fromCatalogue() {
    for (const Item& item : items_) {
      ALLOT_TRY(CatalogueLink host, hostLinkOf(item.device));
      host_.push_back(std::move(host));
    }
    const bool alike = std::all_of(host_.begin(), host_.end(), [&](const CatalogueLink& link) {
      return link.bandwidth_bytes_per_second == host_.front().bandwidth_bytes_per_second &&
             link.latency_seconds == host_.front().latency_seconds;
    });
    if (alike)
      add(LinkEnd::kAny, 0, LinkEnd::kAny, 0, host_.front());
    else
      addPairs();
    for (std::uint32_t c = 0; c < items_.size(); ++c) {
      if (items_[c].count < 2 || items_[c].device.peer_link.empty()) continue;
      ALLOT_TRY(const CatalogueLink peer, catalogueLink(items_[c].device.peer_link));
      add(LinkEnd::kClass, c, LinkEnd::kClass, c, peer);
      assumed_.push_back(fmt::format("{}: joined by {}", cluster_.classes[c].name, rateText(peer)));
    }
    return {};
  }

  void everywhere(const CatalogueLink& link) { add(LinkEnd::kAny, 0, LinkEnd::kAny, 0, link); }

 private:
  Cluster& cluster_;
  const std::vector<Item>& items_;
  std::vector<std::string>& assumed_;
  std::vector<CatalogueLink> host_;  // by class

  Result<CatalogueLink> hostLinkOf(const CatalogueDevice& device) {
    const bool cpu = device.kind == DeviceKind::kCpu;
    if (cpu) {
      // The host itself: transfers to and from it take the other device's bus.
      if (items_.size() == 1) return catalogueLink("numa");
      CatalogueLink none;
      none.bandwidth_bytes_per_second = std::numeric_limits<double>::infinity();
      return none;
    }
    const bool known = !device.host_link.empty();
    ALLOT_TRY(CatalogueLink link, catalogueLink(known ? device.host_link : usualHostLink(device.arch)));
    assumed_.push_back(fmt::format("{}: host link {}{}", device.id, rateText(link),
                                   known ? "" : ", assumed from its generation"));
    return link;
  }

  // Two buses in a row are as fast as the slower one.
  void addPairs() {
    for (std::uint32_t c = 0; c < items_.size(); ++c) {
      if (items_[c].device.kind == DeviceKind::kCpu) continue;
      add(LinkEnd::kClass, c, LinkEnd::kAny, 0, host_[c]);
      add(LinkEnd::kAny, 0, LinkEnd::kClass, c, host_[c]);
    }
    // Of the two entries that match a pair, the sender's wins: right unless the receiver's bus is slower.
    for (std::uint32_t a = 0; a < items_.size(); ++a) {
      for (std::uint32_t b = 0; b < items_.size(); ++b) {
        const bool slower = host_[b].bandwidth_bytes_per_second < host_[a].bandwidth_bytes_per_second;
        if (slower && items_[a].device.kind != DeviceKind::kCpu)
          add(LinkEnd::kClass, a, LinkEnd::kClass, b, host_[b]);
      }
    }
    addCpuPairs();
  }

  void addCpuPairs() {
    const auto numa = catalogueLink("numa");
    for (std::uint32_t a = 0; a < items_.size(); ++a) {
      for (std::uint32_t b = 0; b < items_.size() && numa; ++b) {
        const bool cpus =
            items_[a].device.kind == DeviceKind::kCpu && items_[b].device.kind == DeviceKind::kCpu;
        if (cpus && (a != b || items_[a].count > 1)) add(LinkEnd::kClass, a, LinkEnd::kClass, b, *numa);
      }
    }
  }

  void add(LinkEnd from_kind, std::uint32_t from, LinkEnd to_kind, std::uint32_t to,
           const CatalogueLink& link) {
    cluster_.links.push_back(
        {from_kind, to_kind, from, to, link.latency_seconds, link.bandwidth_bytes_per_second});
  }
};

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
  LinkMaker maker(cluster, items, notes);
  if (trim(link).empty()) {
    ALLOT_CHECK(maker.fromCatalogue());
  } else {
    ALLOT_TRY(const CatalogueLink given, catalogueLink(trim(link)));
    maker.everywhere(given);
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
