// The devices, links and rentable machines that Allot knows, and clusters written in one line.
//
// Problem: plan for hardware that nobody has at hand, from public figures alone.
// Method: tables of sourced figures (src/cluster/catalogue/*.csv) that are part of the program. Every figure
// names its source; what has no source is absent, never guessed, except where a text says "assumed".
// Guarantee: names are compared without case, blanks and punctuation; an unknown name is an error that
// suggests the nearest known ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allot/cluster.h"
#include "allot/result.h"

namespace allot {

// One figure as the table has it: "bandwidth" "2039" from "LA".
struct CatalogueFigure {
  std::string name, value, source;
};

struct CatalogueDevice {
  std::string id, name, vendor, arch, note;
  std::string date;  // when the figures were gathered, year and month
  std::vector<std::string> aliases;
  DeviceKind kind = DeviceKind::kAccelerator;
  DeviceSpec spec;
  std::optional<std::int64_t> memory_bytes;  // absent where it is the host's
  std::string peer_link, host_link;          // names of links; "" = not known
  int year = 0;                              // of launch; 0 = not known
  double watts = 0;
  std::vector<CatalogueFigure> figures;
};

// A kind of link between two devices, in one direction.
struct CatalogueLink {
  std::string name;
  std::vector<std::string> aliases;
  double line_bytes_per_second = 0;  // what the wire carries; 0 = not known
  double bandwidth_bytes_per_second = 0;
  double latency_seconds = 0;
  std::string source, note;
};

struct RentedInstance {
  std::string cloud, name, region, device;
  unsigned count = 0;  // devices in it; 0 = a CPU machine, `device` being the nearest kind of chip
  double vcpus = 0, memory_gib = 0, usd_per_hour = 0, spot_usd_per_hour = 0, network_gbps = 0;  // 0 = unknown
  std::string date, source;
};

struct CatalogueSource {
  std::string key, text;
};

struct Catalogue {
  std::vector<CatalogueDevice> devices;
  std::vector<CatalogueLink> links;
  std::vector<RentedInstance> instances;
  std::vector<CatalogueSource> sources;
  std::string date;  // of the newest device figures

  const std::string* sourceText(std::string_view key) const;
};

// The tables of the program, read once.
const Catalogue& catalogue();

// A device by id, alias or full name, or a generic CPU by its cores: "cpu:16". Fails with the nearest names.
Result<CatalogueDevice> catalogueDevice(std::string_view name);
// A link by name ("pcie4", "pcie4x8", "nvlink3", "100g") or by figures ("25GB/s", "25GB/s,5us").
Result<CatalogueLink> catalogueLink(std::string_view name);

// "2xA100-80GB,1xT4,cpu:16": devices of one host, with counts. `link` is what joins them; "" = the host link
// of each device, and the peer link between devices of one kind that have one.
// `assumed`, where given, gets one line for each thing that the text leaves open.
Result<Cluster> clusterFromShortForm(std::string_view text, std::string_view link,
                                     std::vector<std::string>* assumed = nullptr);
// Whether a text names devices rather than a file: false where a file of that name exists, or the text looks
// like a path.
bool looksLikeShortForm(std::string_view text);

// A class with the device's figures.
DeviceClass classOf(const CatalogueDevice& device);

// A commented allot.cluster/1 file in YAML, for people to edit, that reads back to the same cluster. `notes`
// go to its head as comments.
std::string clusterYaml(const Cluster& cluster, std::span<const std::string> notes);

}  // namespace allot
