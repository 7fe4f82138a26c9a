// What parts of the catalogue share with each other.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allot/catalogue.h"

namespace allot {

// Lower case letters and digits alone: "RTX 3090" and "rtx-3090" are one name.
std::string plainName(std::string_view name);

// Up to `count` names, nearest first, out of pairs of a spelling and the name it stands for; none whose
// spelling differs in most letters.
std::vector<std::string> nearestNames(std::string_view name,
                                      const std::vector<std::pair<std::string, std::string>>& known,
                                      std::size_t count);

// A CPU with the assumed figures of generic cores.
CatalogueDevice genericCpu(unsigned cores);

inline constexpr unsigned kMaxGenericCores = 4096;
// Assumed of a core where nothing is measured: 2.5 GHz with two 256-bit FMA units, and the share of memory
// bandwidth that cores of the CPUs in the catalogue have (4.8 to 5.1 GB/s), but never less than 20 GB/s.
inline constexpr double kCoreFp32PerSecond = 80e9;
inline constexpr double kCoreBytesPerSecond = 5e9, kLeastCpuBytesPerSecond = 20e9;

// Of starting one op, by vendor, where the runtime starts ops ahead of time. NVIDIA and Intel: fitted to the
// 16 bit products of AIConfigurator (2.8 us; 21 us on Arc B60); the others and CPUs: assumed.
double overheadSeconds(std::string_view vendor, DeviceKind kind);

// Joins the devices of one host. `bus` is by class what lies between a device and the host's memory, absent
// for CPUs, which are the host. Transfers between two devices take the slower of their buses; CPUs are joined
// by the link between sockets.
void addHostLinks(Cluster& cluster, const std::vector<std::optional<CatalogueLink>>& bus);
// Joins the devices of a class among themselves.
void addPeerLink(Cluster& cluster, ClassId cls, const CatalogueLink& link);

}  // namespace allot
