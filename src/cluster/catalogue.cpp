#include "cluster/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/units.h"
#include "catalogueTables.h"

namespace allot {

namespace {

constexpr double kTera = 1e12, kGiga = 1e9, kMicrosecondsPerSecond = 1e6;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Calls fn(fields) for each row behind the header of a table of src/cluster/catalogue; missing fields at the
// end are empty. Fields hold no commas and no quotes.
template <class Fn>
void forEachRow(std::string_view name, std::size_t columns, Fn&& fn) {
  std::string table;
  for (const EmbeddedFile& file : catalogueTables()) {
    if (file.name == name) table = file.text();
  }
  std::size_t line_begin = std::min(table.find('\n'), table.size() - 1) + 1;
  while (line_begin < table.size()) {
    const std::size_t line_end = std::min(table.find('\n', line_begin), table.size());
    const std::string_view line = std::string_view(table).substr(line_begin, line_end - line_begin);
    line_begin = line_end + 1;
    std::vector<std::string> fields;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(',', at), line.size());
      fields.emplace_back(line.substr(at, end - at));
      at = end + 1;
    }
    fields.resize(columns);
    if (!fields.front().empty()) fn(fields);
  }
}

double numberOf(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void takeFigure(CatalogueDevice& device, const CatalogueFigure& figure) {
  const double value = numberOf(figure.value);
  if (const auto type = dataTypeFromName(figure.name)) {
    device.spec.peak_per_second[static_cast<std::size_t>(*type)] = value * kTera;
  } else if (figure.name == "memory") {
    device.memory_bytes = static_cast<std::int64_t>(value * kGiga);
  } else if (figure.name == "bandwidth") {
    device.spec.memory_bytes_per_second = value * kGiga;
  } else if (figure.name == "sustained") {
    device.spec.sustained = value;
  } else if (figure.name == "peer") {
    device.peer_link = figure.value;
  } else if (figure.name == "host") {
    device.host_link = figure.value;
  } else if (figure.name == "watts") {
    device.watts = value;
  } else if (figure.name == "year") {
    device.year = static_cast<int>(value);
  }
}

Catalogue readTables() {
  Catalogue tables;
  forEachRow("devices.csv", 8, [&](const std::vector<std::string>& row) {
    CatalogueDevice device;
    device.id = row[0];
    device.name = row[1];
    device.aliases = split(row[2], ';');
    device.vendor = row[3];
    device.kind = row[4] == "cpu" ? DeviceKind::kCpu : DeviceKind::kAccelerator;
    device.arch = row[5];
    device.date = row[6];
    device.note = row[7];
    device.spec.catalogue = device.id;
    device.spec.overhead_seconds = overheadSeconds(device.vendor, device.kind);
    tables.date = std::max(tables.date, device.date);
    tables.devices.push_back(std::move(device));
  });
  forEachRow("figures.csv", 4, [&](const std::vector<std::string>& row) {
    for (CatalogueDevice& device : tables.devices) {
      if (device.id != row[0]) continue;
      device.figures.push_back({row[1], row[2], row[3]});
      takeFigure(device, device.figures.back());
    }
  });
  forEachRow("links.csv", 7, [&](const std::vector<std::string>& row) {
    tables.links.push_back({row[0], split(row[1], ';'), numberOf(row[2]) * kGiga, numberOf(row[3]) * kGiga,
                            numberOf(row[4]) / kMicrosecondsPerSecond, row[5], row[6]});
  });
  forEachRow("instances.csv", 12, [&](const std::vector<std::string>& row) {
    tables.instances.push_back({row[0], row[1], row[2], row[3], static_cast<unsigned>(numberOf(row[4])),
                                numberOf(row[5]), numberOf(row[6]), numberOf(row[7]), numberOf(row[8]),
                                numberOf(row[9]), row[10], row[11]});
  });
  forEachRow("sources.csv", 2, [&](const std::vector<std::string>& row) {
    tables.sources.push_back({row[0], row[1]});
  });
  return tables;
}

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

// Texts of hostile length are not worth a comparison.
constexpr std::size_t kMaxNameCompared = 64;
constexpr std::size_t kMaxNameShown = 40;

std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, kMaxNameShown)) text += c >= ' ' && c < 127 ? c : '?';
  return name.size() > kMaxNameShown ? text + "..." : text;
}

std::string suggestion(const std::vector<std::string>& nearest, std::string_view otherwise) {
  return nearest.empty() ? std::string(otherwise)
                         : fmt::format("did you mean {}? {}", fmt::join(nearest, ", "), otherwise);
}

// "16" of "cpu:16" or "cpu16"; nothing where the text is no generic CPU.
std::optional<std::string_view> genericCores(std::string_view name) {
  std::string_view rest = name;
  if (rest.size() < 4 || plainName(rest.substr(0, 3)) != "cpu") return std::nullopt;
  rest.remove_prefix(3);
  if (rest.front() == ':' || rest.front() == '-') rest.remove_prefix(1);
  if (rest.empty() || rest.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return rest;
}

// "pcie4x8" is half of "pcie4".
std::optional<CatalogueLink> pcieLanes(const std::string& plain) {
  const std::size_t lanes_at = plain.rfind('x');
  if (!plain.starts_with("pcie") || lanes_at == std::string::npos) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 5> kLanes{
      {{"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}}};
  constexpr double kFullLanes = 16;
  const std::string_view lanes = std::string_view(plain).substr(lanes_at + 1);
  for (const auto& [text, count] : kLanes) {
    if (lanes != text) continue;
    for (const CatalogueLink& full : catalogue().links) {
      if (full.name != plain.substr(0, lanes_at)) continue;
      CatalogueLink link = full;
      link.name = plain;
      link.aliases.clear();
      link.line_bytes_per_second *= count / kFullLanes;
      link.bandwidth_bytes_per_second *= count / kFullLanes;
      return link;
    }
  }
  return std::nullopt;
}

// "25GB/s" or "25GB/s,5us".
Result<CatalogueLink> linkOfFigures(std::string_view text) {
  constexpr double kLeastRate = 1e3, kMostRate = 1e15, kMostLatency = 10;
  const std::size_t comma = std::min(text.find(','), text.size());
  CatalogueLink link;
  link.name = std::string(text);
  link.source = "given";
  ALLOT_TRY(link.bandwidth_bytes_per_second, parseBytesPerSecond(text.substr(0, comma)));
  if (comma < text.size()) {
    ALLOT_TRY(link.latency_seconds, parseSeconds(text.substr(comma + 1)));
  }
  if (!(link.bandwidth_bytes_per_second >= kLeastRate && link.bandwidth_bytes_per_second <= kMostRate) ||
      !(link.latency_seconds >= 0 && link.latency_seconds <= kMostLatency)) {
    return badInput("", fmt::format("link \"{}\" is absurd", shown(text)), "write for example 25GB/s,5us");
  }
  return link;
}

}  // namespace

std::string plainName(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  }
  return plain;
}

std::vector<std::string> nearestNames(std::string_view name,
                                      const std::vector<std::pair<std::string, std::string>>& known,
                                      std::size_t count) {
  const std::string plain = plainName(name.substr(0, kMaxNameCompared));
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& [spelling, meant] : known) {
    const std::string other = plainName(spelling);
    std::size_t distance = editDistance(plain, other);
    // Part of a name is nearer than its length says: "a100" of "a100-40gb-pcie".
    if (plain.size() >= 2 && other.find(plain) != std::string::npos)
      distance = std::min<std::size_t>(distance, 1);
    if (2 * distance <= std::max(plain.size(), other.size())) ranked.emplace_back(distance, meant);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> nearest;
  for (const auto& [distance, meant] : ranked) {
    if (nearest.size() >= count) break;
    if (std::find(nearest.begin(), nearest.end(), meant) == nearest.end()) nearest.push_back(meant);
  }
  return nearest;
}

double overheadSeconds(std::string_view vendor, DeviceKind kind) {
  if (kind == DeviceKind::kCpu) return 2e-6;
  return vendor == "intel" ? 20e-6 : 3e-6;
}

CatalogueDevice genericCpu(unsigned cores) {
  CatalogueDevice cpu;
  cpu.id = fmt::format("cpu:{}", cores);
  cpu.name = fmt::format("CPU of {} cores", cores);
  cpu.vendor = "any";
  cpu.arch = "avx2";
  cpu.kind = DeviceKind::kCpu;
  cpu.date = catalogue().date;
  cpu.note =
      "assumed: 80 GFLOPS a core (2.5 GHz with two 256-bit FMA units); 5 GB/s a core but at least 20 GB/s";
  cpu.spec.catalogue = cpu.id;
  cpu.spec.peak_per_second[static_cast<std::size_t>(DataType::kFloat32)] = cores * kCoreFp32PerSecond;
  cpu.spec.memory_bytes_per_second = std::max(kLeastCpuBytesPerSecond, cores * kCoreBytesPerSecond);
  cpu.spec.overhead_seconds = overheadSeconds(cpu.vendor, cpu.kind);
  cpu.figures = {{"fp32", fmt::format("{}", cores * kCoreFp32PerSecond / kTera), "assumed"},
                 {"bandwidth", fmt::format("{}", cpu.spec.memory_bytes_per_second / kGiga), "assumed"}};
  return cpu;
}

const std::string* Catalogue::sourceText(std::string_view key) const {
  for (const CatalogueSource& source : sources) {
    if (source.key == key) return &source.text;
  }
  return nullptr;
}

const Catalogue& catalogue() {
  static const Catalogue tables = readTables();
  return tables;
}

Result<CatalogueDevice> catalogueDevice(std::string_view name) {
  if (const auto digits = genericCores(name)) {
    unsigned cores = 0;
    const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), cores);
    if (error != std::errc{} || end != digits->data() + digits->size() || cores == 0 ||
        cores > kMaxGenericCores) {
      return badInput("", fmt::format("\"{}\" is no CPU", shown(name)),
                      fmt::format("write cpu:CORES with 1 to {} cores", kMaxGenericCores));
    }
    return genericCpu(cores);
  }
  std::string plain = plainName(name.substr(0, kMaxNameCompared));
  // Drivers put the vendor before the name: "NVIDIA A100-SXM4-80GB".
  for (const std::string_view vendor : {"nvidia", "amd", "intel"}) {
    if (plain.starts_with(vendor)) plain.erase(0, vendor.size());
  }
  std::vector<std::pair<std::string, std::string>> known;
  for (const CatalogueDevice& device : catalogue().devices) {
    bool found = plainName(device.id) == plain || plainName(device.name) == plain;
    known.emplace_back(device.id, device.id);
    for (const std::string& alias : device.aliases) {
      found = found || plainName(alias) == plain;
      known.emplace_back(alias, device.id);
    }
    if (found && !plain.empty()) return device;
  }
  return badInput("", fmt::format("the catalogue has no device \"{}\"", shown(name)),
                  suggestion(nearestNames(plain, known, 3), "`allot devices list` shows all"));
}

Result<CatalogueLink> catalogueLink(std::string_view name) {
  if (name.find("B/s") != std::string_view::npos) return linkOfFigures(name);
  const std::string plain = plainName(name.substr(0, kMaxNameCompared));
  std::vector<std::pair<std::string, std::string>> known;
  for (const CatalogueLink& link : catalogue().links) {
    bool found = plainName(link.name) == plain;
    for (const std::string& alias : link.aliases) found = found || plainName(alias) == plain;
    if (found && !plain.empty()) return link;
    known.emplace_back(link.name, link.name);
  }
  if (auto link = pcieLanes(plain)) return *link;
  return badInput("", fmt::format("unknown link \"{}\"", shown(name)),
                  suggestion(nearestNames(plain, known, 3),
                             "write for example pcie4, nvlink3, ethernet100g or 25GB/s,5us"));
}

DeviceClass classOf(const CatalogueDevice& device) {
  DeviceClass cls;
  for (const char c : device.id) {
    if (c != ':') cls.name += c;
  }
  cls.kind = device.kind;
  cls.spec = device.spec;
  return cls;
}

}  // namespace allot
