#include "cluster/detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "cluster/catalogue.h"

namespace allot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

// Files of /proc have no size: they are read to their end.
std::string textOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  char buffer[4096];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxFileBytes) break;
  }
  return text;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

double numberOf(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && value >= 0 && value < 1e18 ? value : 0;
}

unsigned countOf(std::string_view text) {
  return static_cast<unsigned>(std::min(numberOf(text), 1e6));
}

// Calls fn(key, value) for each "key : value" line.
template <class Fn>
void forEachPair(const std::string& text, Fn&& fn) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    fn(trim(std::string_view(line).substr(0, colon)), trim(std::string_view(line).substr(colon + 1)));
  }
}

// "MemTotal: 24682416 kB"
std::int64_t memoryOf(const std::string& text) {
  std::int64_t bytes = 0;
  forEachPair(text, [&](std::string_view key, std::string_view value) {
    if (key.ends_with("MemTotal") && bytes == 0) bytes = static_cast<std::int64_t>(numberOf(value) * 1024);
  });
  return bytes;
}

std::string vectorOf(const std::string& flags) {
  const std::string words = " " + flags + " ";
  const auto has = [&](std::string_view flag) {
    return words.find(fmt::format(" {} ", flag)) != std::string::npos;
  };
  if (has("avx512f")) return "avx512";
  if (has("avx2") && has("fma")) return "avx2";
  if (has("avx")) return "avx";
  if (has("sse2")) return "sse";
  if (has("asimd") || has("neon")) return "neon";
  return "";
}

// fp32 operations a core ends in a cycle: units x lanes x 2. The number of FMA units is assumed to be two.
double operationsPerCycle(std::string_view vector) {
  if (vector == "avx512") return 64;
  if (vector == "avx2") return 32;
  if (vector == "avx" || vector == "neon") return 16;
  return 8;
}

class Reader {
 public:
  Reader(const DetectOptions& options, Machine& machine) : root_(options.root), machine_(machine) {}

  void readAll() {
    readCpuInfo();
    machine_.memory_bytes = memoryOf(textOf(root_ + "/proc/meminfo"));
    readCaches();
    readNodes();
    if (machine_.cpu_model.empty()) machine_.notes.push_back("the CPU's model is not known");
  }

 private:
  std::string root_;
  Machine& machine_;
  std::map<unsigned, std::pair<unsigned, unsigned>> core_of_cpu_;  // logical CPU -> socket, core

  void readCpuInfo() {
    std::string flags;
    double megahertz = 0;
    unsigned cpu = 0, socket = 0;
    forEachPair(textOf(root_ + "/proc/cpuinfo"), [&](std::string_view key, std::string_view value) {
      if (key == "processor") {
        cpu = countOf(value);
        socket = 0;
        core_of_cpu_[cpu] = {0, cpu};
      } else if (key == "physical id") {
        socket = countOf(value);
        core_of_cpu_[cpu].first = socket;
      } else if (key == "core id") {
        core_of_cpu_[cpu] = {socket, countOf(value)};
      } else if ((key == "model name" || key == "Processor") && machine_.cpu_model.empty()) {
        machine_.cpu_model = std::string(value);
      } else if ((key == "flags" || key == "Features") && flags.empty()) {
        flags = std::string(value);
      } else if (key == "cpu MHz") {
        megahertz = std::max(megahertz, numberOf(value));
      }
    });
    std::set<unsigned> sockets;
    std::set<std::pair<unsigned, unsigned>> cores;
    for (const auto& [logical, core] : core_of_cpu_) {
      sockets.insert(core.first);
      cores.insert(core);
    }
    machine_.threads = static_cast<unsigned>(core_of_cpu_.size());
    machine_.sockets = static_cast<unsigned>(sockets.size());
    machine_.cores = static_cast<unsigned>(cores.size());
    machine_.vector = vectorOf(flags);
    const double most =
        numberOf(textOf(root_ + "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")) / 1e6;
    machine_.gigahertz = most > 0 ? most : megahertz / 1e3;
  }

  void readCaches() {
    for (unsigned index = 0; index < 8; ++index) {
      const std::string folder = fmt::format("{}/sys/devices/system/cpu/cpu0/cache/index{}/", root_, index);
      const std::string size = textOf(folder + "size");
      if (trim(size).empty()) continue;
      const std::string_view digits = trim(size);
      const double unit = digits.ends_with('M') ? 1048576 : digits.ends_with('K') ? 1024 : 1;
      machine_.caches.push_back({countOf(textOf(folder + "level")),
                                 std::string(trim(textOf(folder + "type"))),
                                 static_cast<std::int64_t>(numberOf(digits) * unit)});
    }
  }

  // "0-3,8-11" as physical cores.
  unsigned coresOf(std::string_view list) const {
    std::set<std::pair<unsigned, unsigned>> cores;
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      const std::string_view range = trim(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
      if (range.empty()) continue;
      const std::size_t dash = range.find('-');
      const unsigned first = countOf(range.substr(0, dash));
      const unsigned last = dash == std::string_view::npos ? first : countOf(range.substr(dash + 1));
      for (auto it = core_of_cpu_.lower_bound(first); it != core_of_cpu_.end() && it->first <= last; ++it)
        cores.insert(it->second);
    }
    return static_cast<unsigned>(cores.size());
  }

  void readNodes() {
    std::error_code ignored;
    std::vector<unsigned> numbers;
    for (fs::directory_iterator it(root_ + "/sys/devices/system/node", ignored), end; it != end;
         it.increment(ignored)) {
      const std::string name = it->path().filename().string();
      if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos) continue;
      if (name.size() > 4) numbers.push_back(countOf(std::string_view(name).substr(4)));
      if (ignored) break;
    }
    std::sort(numbers.begin(), numbers.end());
    for (const unsigned number : numbers) {
      const std::string folder = fmt::format("{}/sys/devices/system/node/node{}/", root_, number);
      // Lines read "Node 0 MemTotal: 24682416 kB".
      const DetectedNode node{fmt::format("node{}", number), coresOf(trim(textOf(folder + "cpulist"))),
                              memoryOf(textOf(folder + "meminfo"))};
      if (node.cores > 0) machine_.nodes.push_back(node);
    }
    // One node has all memory, whatever it says of itself: some virtual machines count there what came later.
    if (machine_.nodes.size() == 1 && machine_.memory_bytes > 0)
      machine_.nodes.front().memory_bytes = machine_.memory_bytes;
    if (machine_.nodes.empty())
      machine_.nodes.push_back({"node0", std::max(1U, machine_.cores), machine_.memory_bytes});
  }
};

std::vector<DetectedGpu> gpusOf(const std::string& csv) {
  std::vector<DetectedGpu> gpus;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line) && gpus.size() < 256;) {
    std::vector<std::string_view> fields;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(',', at), line.size());
      fields.push_back(trim(std::string_view(line).substr(at, end - at)));
      at = end + 1;
    }
    if (fields.size() < 4 || fields[0].empty()) continue;
    gpus.push_back({std::string(fields[0]), static_cast<std::int64_t>(numberOf(fields[1]) * 1048576),
                    countOf(fields[2]), countOf(fields[3])});
  }
  return gpus;
}

// One class by kind of CPU node or GPU, devices of it, and links.
class ClusterMaker {
 public:
  ClusterMaker(const Machine& machine, std::vector<std::string>& notes) : machine_(machine), notes_(notes) {}

  Cluster make() {
    cluster_.name = machine_.cpu_model.empty() ? "this machine" : machine_.cpu_model;
    for (const DetectedGpu& gpu : machine_.gpus) addGpu(gpu);
    for (const DetectedNode& node : machine_.nodes) addNode(node);
    addLinks();
    return std::move(cluster_);
  }

 private:
  const Machine& machine_;
  std::vector<std::string>& notes_;
  Cluster cluster_;
  std::vector<std::optional<CatalogueLink>> host_link_;  // by class; absent for CPUs
  std::vector<std::string> peer_link_;                   // by class
  std::map<std::string, unsigned> class_size_;           // by class name

  ClassId classNamed(DeviceClass cls, const std::optional<CatalogueLink>& host, const std::string& peer) {
    const auto rate = [](const std::optional<CatalogueLink>& link) {
      return link ? link->bandwidth_bytes_per_second : 0;
    };
    for (std::size_t c = 0; c < cluster_.classCount(); ++c) {
      const DeviceClass& known = cluster_.classes[c];
      if (known.name == cls.name && known.spec == cls.spec && rate(host_link_[c]) == rate(host))
        return ClassId(c);
    }
    const std::string base = cls.name;
    const auto taken = [&] {
      return std::any_of(cluster_.classes.begin(), cluster_.classes.end(),
                         [&](const DeviceClass& known) { return known.name == cls.name; });
    };
    for (int suffix = 2; taken(); ++suffix) cls.name = fmt::format("{}-{}", base, suffix);
    cluster_.classes.push_back(std::move(cls));
    host_link_.push_back(host);
    peer_link_.push_back(peer);
    return ClassId(cluster_.classCount() - 1);
  }

  void addDevice(ClassId cls, std::int64_t memory_bytes) {
    Device device;
    const std::string& class_name = cluster_.classes[cls.index()].name;
    device.name = fmt::format("{}-{}", class_name, class_size_[class_name]++);
    device.cls = cls;
    if (memory_bytes > 0) device.memory_bytes = memory_bytes;
    cluster_.devices.push_back(std::move(device));
  }

  void addGpu(const DetectedGpu& gpu) {
    const auto known = catalogueDevice(gpu.name);
    DeviceClass cls;
    if (known) {
      cls = classOf(*known);
    } else {
      cls.name = gpu.name;
      notes_.push_back(
          fmt::format("{} is not in the catalogue: add its peak and bandwidth, or measure times", gpu.name));
    }
    auto host = catalogueLink(fmt::format("pcie{}x{}", gpu.pcie_generation, gpu.pcie_lanes));
    if (!host) {
      host = catalogueLink(known && !known->host_link.empty() ? known->host_link : "pcie4");
      notes_.push_back(fmt::format("{}: its bus is not said; {} assumed", cls.name, host->name));
    }
    const ClassId id = classNamed(std::move(cls), *host, known ? known->peer_link : "");
    addDevice(id, gpu.memory_bytes > 0 ? gpu.memory_bytes : known ? known->memory_bytes.value_or(0) : 0);
  }

  void addNode(const DetectedNode& node) {
    const double share = static_cast<double>(node.cores) / std::max(1U, machine_.cores);
    DeviceClass cls;
    cls.name = fmt::format("cpu{}", node.cores);
    cls.kind = DeviceKind::kCpu;
    DeviceSpec spec;
    spec.overhead_seconds = overheadSeconds("any", DeviceKind::kCpu);
    double& fp32 = spec.peak_per_second[static_cast<std::size_t>(DataType::kFloat32)];
    if (machine_.measured.fp32_per_second > 0) {
      fp32 = machine_.measured.fp32_per_second * share;
    } else if (machine_.gigahertz > 0) {
      fp32 = node.cores * machine_.gigahertz * 1e9 * operationsPerCycle(machine_.vector);
    } else {
      fp32 = node.cores * kCoreFp32PerSecond;
    }
    spec.memory_bytes_per_second = machine_.measured.bytes_per_second > 0
                                       ? machine_.measured.bytes_per_second * share
                                       : std::max(kLeastCpuBytesPerSecond, node.cores * kCoreBytesPerSecond);
    cls.spec = spec;
    addDevice(classNamed(std::move(cls), std::nullopt, ""), node.memory_bytes);
  }

  void addLinks() {
    addHostLinks(cluster_, host_link_);
    for (std::size_t c = 0; c < cluster_.classCount(); ++c) {
      const std::string& class_name = cluster_.classes[c].name;
      if (peer_link_[c].empty() || class_size_[class_name] < 2) continue;
      if (const auto peer = catalogueLink(peer_link_[c])) {
        addPeerLink(cluster_, ClassId(c), *peer);
        notes_.push_back(fmt::format("{}: {} between them assumed", class_name, peer->name));
      }
    }
    if (machine_.nodes.size() > 1) notes_.push_back("the link between NUMA nodes is assumed");
  }
};

}  // namespace

Machine detectMachine(const DetectOptions& options) {
  Machine machine;
  Reader(options, machine).readAll();
  const auto listing =
      outputOf({options.nvidia_smi, "--query-gpu=name,memory.total,pcie.link.gen.max,pcie.link.width.max",
                "--format=csv,noheader,nounits"},
               options.time_limit_seconds);
  if (listing)
    machine.gpus = gpusOf(*listing);
  else
    machine.notes.push_back("no NVIDIA GPU was found (nvidia-smi did not answer)");
  return machine;
}

Cluster clusterOfMachine(const Machine& machine, std::vector<std::string>& notes) {
  notes.insert(notes.end(), machine.notes.begin(), machine.notes.end());
  if (machine.measured.fp32_per_second > 0) {
    notes.push_back("CPU: peak and bandwidth were measured on this machine");
  } else {
    notes.push_back(fmt::format(
        "CPU: peak computed ({} cores, {:.3g} GHz, {}), bandwidth assumed; --measure measures both",
        machine.cores, machine.gigahertz, machine.vector.empty() ? "no vectors" : machine.vector));
  }
  return ClusterMaker(machine, notes).make();
}

}  // namespace allot
