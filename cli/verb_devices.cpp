// allot devices: the catalogue, clusters to edit, and this machine.
#include <fmt/format.h>

#include <algorithm>

#include "allot/catalogue.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "cluster/catalogue.h"
#include "cluster/detect.h"
#include "cluster/measure.h"
#include "common.h"

namespace allot::cli {
namespace {

constexpr std::string_view kExampleCluster = "2xT4,cpu:16";
constexpr double kMeasureSeconds = 0.8;

double peakOf(const CatalogueDevice& device, DataType type) {
  return device.spec.peak_per_second[static_cast<std::size_t>(type)];
}

std::vector<std::string> sourceKeys(std::string_view text) {
  std::vector<std::string> keys;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('+'), text.size());
    if (end > 0) keys.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return keys;
}

// Keys of all figures of a device, each once, in their order.
std::vector<std::string> sourcesOf(const CatalogueDevice& device) {
  std::vector<std::string> keys;
  for (const CatalogueFigure& figure : device.figures) {
    for (const std::string& key : sourceKeys(figure.source)) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

bool matches(const CatalogueDevice& device, const std::string& word) {
  const std::string plain = plainName(word);
  for (const std::string& text : {device.id, device.name, device.vendor, device.arch}) {
    if (plainName(text).find(plain) != std::string::npos) return true;
  }
  return std::any_of(device.aliases.begin(), device.aliases.end(), [&](const std::string& alias) {
    return plainName(alias).find(plain) != std::string::npos;
  });
}

void deviceFields(const CatalogueDevice& device, JsonWriter& out) {
  out.field("id", device.id).field("name", device.name).field("vendor", device.vendor);
  out.field("kind", device.kind == DeviceKind::kCpu ? "cpu" : "accelerator").field("arch", device.arch);
  out.key("aliases").beginArray();
  for (const std::string& alias : device.aliases) out.value(alias);
  out.endArray();
  if (device.memory_bytes) out.field("memory", *device.memory_bytes);
  out.key("peak").beginObject();
  for (std::size_t t = 1; t < kDataTypeCount; ++t) {
    if (device.spec.peak_per_second[t] > 0)
      out.field(name(static_cast<DataType>(t)), device.spec.peak_per_second[t]);
  }
  out.endObject().field("bandwidth", device.spec.memory_bytes_per_second);
  out.field("overhead", device.spec.overhead_seconds).field("sustained", device.spec.sustained);
  if (!device.peer_link.empty()) out.field("peer_link", device.peer_link);
  if (!device.host_link.empty()) out.field("host_link", device.host_link);
  if (device.year > 0) out.field("year", device.year);
  if (device.watts > 0) out.field("watts", device.watts);
  out.field("date", device.date);
  if (!device.note.empty()) out.field("note", device.note);
  out.key("sources").beginArray();
  for (const std::string& key : sourcesOf(device)) out.value(key);
  out.endArray();
}

Result<std::string> listing(const Arguments& arguments) {
  std::vector<const CatalogueDevice*> found;
  for (const CatalogueDevice& device : catalogue().devices) {
    if (std::all_of(arguments.inputs.begin() + 1, arguments.inputs.end(),
                    [&](const std::string& word) { return matches(device, word); }))
      found.push_back(&device);
  }
  if (arguments.json) {
    JsonWriter out;
    out.beginObject().field("date", catalogue().date).key("devices").beginArray();
    for (const CatalogueDevice* device : found) {
      out.beginObject();
      deviceFields(*device, out);
      out.endObject();
    }
    out.endArray().key("links").beginArray();
    for (const CatalogueLink& link : catalogue().links) {
      out.beginObject().field("name", link.name).field("latency", link.latency_seconds);
      out.field("bandwidth", link.bandwidth_bytes_per_second).field("source", link.source).endObject();
    }
    out.endArray().endObject();
    return out.take();
  }
  if (found.empty()) {
    return badInput("allot devices list",
                    fmt::format("no device matches \"{}\"",
                                fmt::join(arguments.inputs.begin() + 1, arguments.inputs.end(), " ")),
                    "leave the words out to see all");
  }
  const auto rate = [](double value) {
    return value > 0 ? fmt::format("{:.4g}", value / 1e12) : std::string("-");
  };
  std::vector<std::vector<std::string>> cells{{"device", "memory GB", "fp32 TFLOPS", "tf32", "fp16", "bf16",
                                               "fp8", "int8", "GB/s", "year", "sources", ""}};
  for (const CatalogueDevice* device : found) {
    cells.push_back(
        {device->id,
         device->memory_bytes ? fmt::format("{:.4g}", static_cast<double>(*device->memory_bytes) / 1e9) : "-",
         rate(peakOf(*device, DataType::kFloat32)), rate(peakOf(*device, DataType::kTf32)),
         rate(peakOf(*device, DataType::kFloat16)), rate(peakOf(*device, DataType::kBFloat16)),
         rate(peakOf(*device, DataType::kFloat8)), rate(peakOf(*device, DataType::kInt8)),
         fmt::format("{:.4g}", device->spec.memory_bytes_per_second / 1e9),
         device->year > 0 ? fmt::format("{}", device->year) : "-",
         fmt::format("{}", fmt::join(sourcesOf(*device), " ")), device->name});
  }
  return tableText(cells) + fmt::format(
                                "\n{} devices, figures of {}, dense peaks; cpu:CORES is a generic CPU. "
                                "`allot devices show NAME` "
                                "gives sources and prices.\n",
                                found.size(), catalogue().date);
}

std::vector<const RentedInstance*> instancesWith(const CatalogueDevice& device) {
  std::vector<const RentedInstance*> rented;
  for (const RentedInstance& instance : catalogue().instances) {
    if (instance.device == device.id) rented.push_back(&instance);
  }
  std::stable_sort(rented.begin(), rented.end(), [](const RentedInstance* a, const RentedInstance* b) {
    return a->usd_per_hour / std::max(1U, a->count) < b->usd_per_hour / std::max(1U, b->count);
  });
  return rented;
}

std::string_view unitOf(std::string_view figure) {
  if (figure == "memory") return "GB";
  if (figure == "bandwidth") return "GB/s";
  if (figure == "peer-gbs") return "GB/s both ways";
  if (figure == "watts") return "W";
  if (figure == "int8" || figure == "int4") return "TOPS";
  return dataTypeFromName(figure) ? "TFLOPS" : "";
}

std::string sourceText(const std::string& keys) {
  std::string text;
  for (const std::string& key : sourceKeys(keys)) {
    const std::string* found = catalogue().sourceText(key);
    text += fmt::format("{}{}", text.empty() ? "" : " | ", found != nullptr ? *found : key);
  }
  return text;
}

std::string showJson(const CatalogueDevice& device) {
  JsonWriter out;
  out.beginObject();
  deviceFields(device, out);
  out.key("figures").beginArray();
  for (const CatalogueFigure& figure : device.figures) {
    out.beginObject()
        .field("name", figure.name)
        .field("value", figure.value)
        .field("unit", unitOf(figure.name));
    out.field("source", figure.source).field("text", sourceText(figure.source)).endObject();
  }
  out.endArray().key("instances").beginArray();
  for (const RentedInstance* instance : instancesWith(device)) {
    out.beginObject()
        .field("cloud", instance->cloud)
        .field("name", instance->name)
        .field("region", instance->region);
    out.field("count", static_cast<std::uint64_t>(instance->count)).field("vcpus", instance->vcpus);
    out.field("memory_gib", instance->memory_gib).field("usd_per_hour", instance->usd_per_hour);
    if (instance->spot_usd_per_hour > 0) out.field("spot_usd_per_hour", instance->spot_usd_per_hour);
    if (instance->network_gbps > 0) out.field("network_gbps", instance->network_gbps);
    out.field("date", instance->date).field("source", instance->source).endObject();
  }
  out.endArray().endObject();
  return out.take();
}

std::string showText(const CatalogueDevice& device) {
  std::string text = heading(fmt::format("{}: {}", device.id, device.name)) + "\n";
  text += fmt::format("{} {} of {}, figures of {}\n", device.vendor,
                      device.kind == DeviceKind::kCpu ? "cpu" : "accelerator", device.arch, device.date);
  if (!device.aliases.empty()) text += fmt::format("also: {}\n", fmt::join(device.aliases, ", "));
  if (!device.note.empty()) text += fmt::format("note: {}\n", device.note);
  std::vector<std::vector<std::string>> cells{{"figure", "value", "source", ""}};
  for (const CatalogueFigure& figure : device.figures) {
    cells.push_back({figure.name, fmt::format("{} {}", figure.value, unitOf(figure.name)), figure.source,
                     sourceText(figure.source)});
  }
  cells.push_back(
      {"overhead", secondsText(device.spec.overhead_seconds), "", "of starting one op; docs/cost-model.md"});
  text += "\n" + tableText(cells);
  const auto rented = instancesWith(device);
  if (rented.empty()) return text + "\nno rentable machine with it is known\n";
  cells = {{"machine", "cloud", "region", "devices", "vCPUs", "GiB", "USD/h", "each", "date"}};
  for (const RentedInstance* instance : rented) {
    cells.push_back(
        {instance->name, instance->cloud, instance->region.empty() ? "-" : instance->region,
         instance->count > 0 ? fmt::format("{}", instance->count) : "-",
         fmt::format("{:.4g}", instance->vcpus), fmt::format("{:.5g}", instance->memory_gib),
         fmt::format("{:.2f}", instance->usd_per_hour),
         instance->count > 0 ? fmt::format("{:.2f}", instance->usd_per_hour / instance->count) : "-",
         instance->date});
  }
  return text + "\n" + tableText(cells) + "\nprices on demand, Linux; by price of one device\n";
}

Result<std::string> show(const Arguments& arguments) {
  if (arguments.inputs.size() < 2)
    return usageError("allot devices show", "which device?",
                      "name one, for example allot devices show A100-80GB");
  // Words of one name: "RTX 3090" needs no quotes.
  const std::string name =
      fmt::format("{}", fmt::join(arguments.inputs.begin() + 1, arguments.inputs.end(), " "));
  ALLOT_TRY(const CatalogueDevice device, catalogueDevice(name));
  return arguments.json ? showJson(device) : showText(device);
}

// YAML for people; JSON where it is asked for or the file is called so.
Result<std::string> written(const Arguments& arguments, const Cluster& cluster,
                            const std::vector<std::string>& notes) {
  const bool json = arguments.output.empty() ? arguments.json : arguments.output.ends_with(".json");
  const std::string text = json ? writeCluster(cluster) : clusterYaml(cluster, notes);
  if (arguments.output.empty()) return text;
  ALLOT_CHECK(writeFile(arguments.output, text));
  if (arguments.quiet || arguments.output == "-") return std::string();
  return arguments.json ? writeCluster(cluster)
                        : fmt::format("{} devices of {} classes written to {}\n", cluster.deviceCount(),
                                      cluster.classCount(), arguments.output);
}

Result<std::string> newCluster(const Arguments& arguments) {
  const bool given = arguments.inputs.size() > 1;
  const std::string text =
      given ? fmt::format("{}", fmt::join(arguments.inputs.begin() + 1, arguments.inputs.end(), ","))
            : std::string(kExampleCluster);
  std::vector<std::string> notes;
  ALLOT_TRY(const Cluster cluster, clusterFromShortForm(text, arguments.link, &notes));
  return written(arguments, cluster, notes);
}

void machineFields(const Machine& machine, JsonWriter& out) {
  out.field("cpu", machine.cpu_model).field("vector", machine.vector);
  out.field("sockets", static_cast<std::uint64_t>(machine.sockets))
      .field("cores", static_cast<std::uint64_t>(machine.cores));
  out.field("threads", static_cast<std::uint64_t>(machine.threads)).field("gigahertz", machine.gigahertz);
  out.field("memory", machine.memory_bytes).key("caches").beginArray();
  for (const DetectedCache& cache : machine.caches) {
    out.beginObject().field("level", static_cast<std::uint64_t>(cache.level)).field("type", cache.type);
    out.field("bytes", cache.bytes).endObject();
  }
  out.endArray().key("nodes").beginArray();
  for (const DetectedNode& node : machine.nodes) {
    out.beginObject().field("name", node.name).field("cores", static_cast<std::uint64_t>(node.cores));
    out.field("memory", node.memory_bytes).endObject();
  }
  out.endArray().key("gpus").beginArray();
  for (const DetectedGpu& gpu : machine.gpus) {
    out.beginObject().field("name", gpu.name).field("memory", gpu.memory_bytes);
    out.field("pcie_generation", static_cast<std::uint64_t>(gpu.pcie_generation));
    out.field("pcie_lanes", static_cast<std::uint64_t>(gpu.pcie_lanes)).endObject();
  }
  out.endArray();
  if (machine.measured.fp32_per_second > 0) {
    out.key("measured").beginObject().field("fp32", machine.measured.fp32_per_second);
    out.field("bandwidth", machine.measured.bytes_per_second).endObject();
  }
}

std::vector<std::string> machineLines(const Machine& machine) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {} socket{}, {} cores, {} threads, {}",
                              machine.cpu_model.empty() ? "CPU" : machine.cpu_model, machine.sockets,
                              machine.sockets == 1 ? "" : "s", machine.cores, machine.threads,
                              machine.vector.empty() ? "vectors not known" : machine.vector));
  std::string caches;
  for (const DetectedCache& cache : machine.caches) {
    caches += fmt::format("{}L{}{} {}", caches.empty() ? "" : ", ", cache.level,
                          cache.type == "Data"          ? "d"
                          : cache.type == "Instruction" ? "i"
                                                        : "",
                          bytesText(static_cast<double>(cache.bytes)));
  }
  lines.push_back(fmt::format(
      "memory {}, {} NUMA node{}{}{}", bytesText(static_cast<double>(machine.memory_bytes)),
      machine.nodes.size(), machine.nodes.size() == 1 ? "" : "s", caches.empty() ? "" : "; caches ", caches));
  for (const DetectedGpu& gpu : machine.gpus) {
    lines.push_back(fmt::format("{}, {}, PCIe {} x{}", gpu.name,
                                bytesText(static_cast<double>(gpu.memory_bytes)), gpu.pcie_generation,
                                gpu.pcie_lanes));
  }
  if (machine.measured.fp32_per_second > 0) {
    lines.push_back(fmt::format("measured: {} in fp32, {}",
                                operationsPerSecondText(machine.measured.fp32_per_second),
                                bytesPerSecondText(machine.measured.bytes_per_second)));
  }
  return lines;
}

Result<std::string> detect(const Arguments& arguments) {
  if (!arguments.output.empty()) ALLOT_CHECK(checkWritable(arguments.output));
  Machine machine = detectMachine({});
  if (arguments.measure) machine.measured = measureCpu(std::max(1U, machine.cores), kMeasureSeconds);
  std::vector<std::string> notes = machineLines(machine);
  const Cluster cluster = clusterOfMachine(machine, notes);
  if (!arguments.json) {
    ALLOT_TRY(const std::string text, written(arguments, cluster, notes));
    if (arguments.output.empty() || arguments.quiet) return text;
    return fmt::format("{}\n{}", fmt::join(notes, "\n"), text);
  }
  if (!arguments.output.empty()) ALLOT_CHECK(written(arguments, cluster, notes));
  JsonWriter out;
  out.beginObject();
  machineFields(machine, out);
  out.key("notes").beginArray();
  for (const std::string& note : notes) out.value(note);
  out.endArray().endObject();
  return withMember(out.take(), "cluster", writeCluster(cluster));
}

Result<std::string> answer(const Arguments& arguments) {
  const std::string& action = arguments.inputs.front();
  if (arguments.measure && action != "detect")
    return usageError("--measure", "is for detect", "leave it out");
  if (!arguments.link.empty() && action != "new") return usageError("--link", "is for new", "leave it out");
  if (!arguments.output.empty() && (action == "list" || action == "show"))
    return usageError("--output", "is for new and detect", "leave it out, or redirect standard output");
  if (action == "list") return listing(arguments);
  if (action == "show") return show(arguments);
  if (action == "new") return newCluster(arguments);
  if (action == "detect") return detect(arguments);
  return usageError("allot devices", fmt::format("unknown action \"{}\"", action),
                    "use list, show, new or detect");
}

}  // namespace

int runDevices(const Arguments& arguments) {
  const auto text = answer(arguments);
  if (!text) return printError(text.error());
  if (text->empty()) return kExitOk;
  const auto done = print(*text);
  return done ? kExitOk : printError(done.error());
}

}  // namespace allot::cli
