// The catalogue of devices and links: every figure is sourced, and names are found as people write them.
#include "allot/catalogue.h"

#include <gtest/gtest.h>

#include <set>

#include "cluster/catalogue.h"
#include "cost/roofline.h"

namespace allot {
namespace {

std::vector<std::string> keysOf(std::string_view text) {
  std::vector<std::string> keys;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('+'), text.size());
    keys.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return keys;
}

TEST(Catalogue, EveryFigureHasASourceThatIsListed) {
  for (const CatalogueDevice& device : catalogue().devices) {
    EXPECT_FALSE(device.figures.empty()) << device.id;
    EXPECT_EQ(device.date.size(), 7u) << device.id;
    for (const CatalogueFigure& figure : device.figures) {
      for (const std::string& key : keysOf(figure.source))
        EXPECT_NE(catalogue().sourceText(key), nullptr) << device.id << " " << figure.name << " " << key;
    }
  }
  for (const CatalogueLink& link : catalogue().links) {
    EXPECT_GT(link.bandwidth_bytes_per_second, 0) << link.name;
    EXPECT_GT(link.latency_seconds, 0) << link.name;
    for (const std::string& key : keysOf(link.source))
      EXPECT_NE(catalogue().sourceText(key), nullptr) << link.name << " " << key;
  }
  for (const RentedInstance& instance : catalogue().instances) {
    EXPECT_NE(catalogue().sourceText(instance.source), nullptr) << instance.name;
    EXPECT_EQ(instance.date.size(), 10u) << instance.name;
    EXPECT_GT(instance.usd_per_hour, 0) << instance.name;
  }
}

TEST(Catalogue, EveryDeviceCanBeEstimated) {
  EXPECT_GE(catalogue().devices.size(), 40u);
  for (const CatalogueDevice& device : catalogue().devices) {
    EXPECT_TRUE(canEstimate(device.spec)) << device.id;
    EXPECT_EQ(device.memory_bytes.has_value(), device.kind == DeviceKind::kAccelerator) << device.id;
    EXPECT_GT(device.spec.overhead_seconds, 0) << device.id;
    if (!device.peer_link.empty()) {
      EXPECT_TRUE(catalogueLink(device.peer_link)) << device.peer_link;
    }
    if (!device.host_link.empty()) {
      EXPECT_TRUE(catalogueLink(device.host_link)) << device.host_link;
    }
  }
}

TEST(Catalogue, PeaksStayInTheRangeOfRealDevices) {
  for (const CatalogueDevice& device : catalogue().devices) {
    for (const double peak : device.spec.peak_per_second)
      EXPECT_TRUE(peak == 0 || (peak > 1e12 && peak < 5e16));
    EXPECT_GT(device.spec.memory_bytes_per_second, 1e11) << device.id;
    EXPECT_LT(device.spec.memory_bytes_per_second, 2e13) << device.id;
    // A wider type is never faster.
    const double fp32 = peakFor(device.spec, DataType::kFloat32);
    EXPECT_LE(fp32, peakFor(device.spec, DataType::kFloat16)) << device.id;
    EXPECT_LE(peakFor(device.spec, DataType::kFloat16), peakFor(device.spec, DataType::kFloat8) * 1.001)
        << device.id;
  }
}

double figureOf(const CatalogueDevice& device, DataType type) {
  return device.spec.peak_per_second[static_cast<std::size_t>(type)] / 1e12;
}

// The figures of one device hang together; a sparse figure, twice as high, would not.
TEST(Catalogue, PeaksOfADeviceAreConsistent) {
  using enum DataType;
  constexpr double kRounding = 1.02;  // datasheets round, sources differ by a clock
  for (const CatalogueDevice& device : catalogue().devices) {
    const bool trainium = device.arch.starts_with("neuroncore");
    const double fp32 = figureOf(device, kFloat32), tf32 = figureOf(device, kTf32);
    const double half = std::max(figureOf(device, kFloat16), figureOf(device, kBFloat16));
    if (figureOf(device, kFloat16) > 0 && figureOf(device, kBFloat16) > 0) {
      EXPECT_LE(half, kRounding * std::min(figureOf(device, kFloat16), figureOf(device, kBFloat16)))
          << device.id;
    }
    if (tf32 > 0) {
      EXPECT_GE(kRounding * tf32, fp32) << device.id;
      // Trainium runs TF32 as fast as 16 bit; on GPUs it is half of it.
      if (trainium) {
        EXPECT_EQ(tf32, half) << device.id;
      } else {
        EXPECT_NEAR(tf32 / half, 0.5, 0.5 * (kRounding - 1) + 0.002) << device.id;
      }
    }
    for (const DataType eight : {kFloat8, kInt8}) {
      const double rate = figureOf(device, eight);
      if (rate == 0) continue;
      EXPECT_GE(kRounding * rate, half) << device.id;
      // GeForce halves what it accumulates in fp32, and whole numbers are not.
      EXPECT_LE(rate, (device.id.starts_with("rtx") && eight == kInt8 ? 4 : 2) * kRounding * half)
          << device.id;
    }
    const bool has_tensor_floats = device.arch == "ampere" || device.arch == "ada" ||
                                   device.arch == "hopper" || device.arch == "blackwell";
    EXPECT_EQ(tf32 > 0, has_tensor_floats || trainium || device.id == "mi300x") << device.id;
    // Names that are not read would be figures that do nothing.
    std::set<std::string> seen;
    for (const CatalogueFigure& figure : device.figures) {
      EXPECT_TRUE(seen.insert(figure.name).second) << device.id << " " << figure.name;
      const bool known = dataTypeFromName(figure.name).has_value() ||
                         std::set<std::string>{"memory",   "bandwidth", "sustained", "peer",
                                               "peer-gbs", "host",      "watts",     "year"}
                                 .count(figure.name) > 0;
      EXPECT_TRUE(known) << device.id << " " << figure.name;
    }
  }
}

// Dense figures of the datasheets, which no edit of the tables may double.
TEST(Catalogue, DensePeaksOfWellKnownDevices) {
  using enum DataType;
  struct Known {
    const char* device;
    DataType type;
    double rate;
  };
  for (const Known& known : {Known{"a100", kFloat32, 19.5},
                             {"a100", kTf32, 156},
                             {"a100", kFloat16, 312},
                             {"a100", kInt8, 624},
                             {"h100", kTf32, 494.7},
                             {"h100", kFloat16, 989.4},
                             {"h100", kFloat8, 1978.9},
                             {"rtx3090", kTf32, 35.6},
                             {"rtx3090", kFloat16, 71},
                             {"rtx3090", kInt8, 284},
                             {"rtx4090", kTf32, 82.6},
                             {"rtx4090", kFloat8, 330.3},
                             {"l4", kTf32, 60},
                             {"l4", kInt8, 242},
                             {"l40s", kTf32, 183},
                             {"a10", kTf32, 62.5},
                             {"a6000", kTf32, 77.4},
                             {"t4", kFloat16, 65.13},
                             {"t4", kInt8, 130.25},
                             {"v100", kFloat16, 125},
                             {"b200", kTf32, 1100},
                             {"mi300x", kTf32, 653.72},
                             {"mi300x", kFloat16, 1307}}) {
    const auto device = catalogueDevice(known.device);
    ASSERT_TRUE(device) << known.device;
    EXPECT_DOUBLE_EQ(figureOf(*device, known.type), known.rate) << known.device << " " << name(known.type);
  }
}

TEST(Catalogue, InstancesNameDevicesOfTheCatalogue) {
  EXPECT_GE(catalogue().instances.size(), 150u);
  for (const RentedInstance& instance : catalogue().instances) {
    const auto device = catalogueDevice(instance.device);
    ASSERT_TRUE(device) << instance.name;
    EXPECT_EQ(device->id, instance.device);
    EXPECT_EQ(instance.count == 0, device->kind == DeviceKind::kCpu) << instance.name;
  }
}

TEST(Catalogue, NamesAreUnique) {
  std::set<std::string> names;
  for (const CatalogueDevice& device : catalogue().devices) {
    std::set<std::string> own{plainName(device.id)};
    for (const std::string& alias : device.aliases) own.insert(plainName(alias));
    for (const std::string& name : own) EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Catalogue, FindsWhatPeopleWrite) {
  const auto id = [](std::string_view name) {
    const auto device = catalogueDevice(name);
    return device ? device->id : device.error().text();
  };
  EXPECT_EQ(id("A100-80GB"), "a100-80gb");
  EXPECT_EQ(id("a100-80"), "a100-80gb");
  EXPECT_EQ(id("A100"), "a100-80gb");
  EXPECT_EQ(id("NVIDIA A100-SXM4-80GB"), "a100-80gb");
  EXPECT_EQ(id("NVIDIA A100 80GB PCIe"), "a100-80gb-pcie");
  EXPECT_EQ(id("NVIDIA A100-PCIE-40GB"), "a100-40gb-pcie");
  EXPECT_EQ(id("RTX 3090"), "rtx3090");
  EXPECT_EQ(id("rtx3090"), "rtx3090");
  EXPECT_EQ(id("NVIDIA GeForce RTX 4090"), "rtx4090");
  EXPECT_EQ(id("H100"), "h100");
  EXPECT_EQ(id("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(id("Tesla T4"), "t4");
  EXPECT_EQ(id("t4"), "t4");
  EXPECT_EQ(id("Tesla V100-SXM2-16GB"), "v100");
  EXPECT_EQ(id("a100-sxm4-80"), "a100-80gb");
}

TEST(Catalogue, GenericCpuGrowsWithItsCores) {
  const auto small = catalogueDevice("cpu:4"), large = catalogueDevice("CPU:64");
  ASSERT_TRUE(small && large);
  EXPECT_EQ(large->id, "cpu:64");
  EXPECT_EQ(large->kind, DeviceKind::kCpu);
  EXPECT_DOUBLE_EQ(peakFor(large->spec, DataType::kFloat32), 16 * peakFor(small->spec, DataType::kFloat32));
  EXPECT_GT(large->spec.memory_bytes_per_second, small->spec.memory_bytes_per_second);
  EXPECT_NE(small->note.find("assumed"), std::string::npos);
  for (const char* bad : {"cpu:0", "cpu:99999999999999999999", "cpu:5000"}) {
    const auto device = catalogueDevice(bad);
    ASSERT_FALSE(device) << bad;
    EXPECT_NE(device.error().remedy.find("cores"), std::string::npos);
  }
}

TEST(Catalogue, SuggestsTheNearestNames) {
  const auto wrong = catalogueDevice("A100-90GB");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kBadInput);
  EXPECT_NE(wrong.error().remedy.find("a100-80gb"), std::string::npos) << wrong.error().text();
  const auto typo = catalogueDevice("rtx390");
  ASSERT_FALSE(typo);
  EXPECT_NE(typo.error().remedy.find("rtx3090"), std::string::npos);
  const auto nonsense = catalogueDevice("zzzzqqqq");
  ASSERT_FALSE(nonsense);
  EXPECT_NE(nonsense.error().remedy.find("devices list"), std::string::npos);
  EXPECT_FALSE(catalogueDevice(""));
  EXPECT_FALSE(catalogueDevice("-"));
  const auto hostile = catalogueDevice(std::string(100000, '\n'));
  ASSERT_FALSE(hostile);
  EXPECT_EQ(hostile.error().text().find('\n'), std::string::npos);
  EXPECT_LT(hostile.error().text().size(), 300u);
}

TEST(Catalogue, LinksByNameLanesAndFigures) {
  const auto rate = [](std::string_view name) {
    const auto link = catalogueLink(name);
    EXPECT_TRUE(link) << name;
    return link ? link->bandwidth_bytes_per_second : 0;
  };
  EXPECT_DOUBLE_EQ(rate("pcie4x8"), rate("pcie4") / 2);
  EXPECT_DOUBLE_EQ(rate("PCIe4x16"), rate("pcie4"));
  EXPECT_DOUBLE_EQ(rate("pcie3x4"), rate("pcie3") / 4);
  EXPECT_DOUBLE_EQ(rate("100g"), rate("ethernet100g"));
  EXPECT_LT(rate("ethernet10g"), rate("infiniband"));
  EXPECT_GT(rate("nvlink4"), rate("nvlink3"));
  EXPECT_DOUBLE_EQ(rate("25GB/s"), 25e9);
  const auto given = catalogueLink("25GB/s,5us");
  ASSERT_TRUE(given);
  EXPECT_DOUBLE_EQ(given->latency_seconds, 5e-6);
  for (const char* bad :
       {"", "pcie9", "pcie4x3", "nvlink33", "-5GB/s", "0GB/s", "5GB/s,-1us", "xGB/s", "1e300GB/s"}) {
    const auto link = catalogueLink(bad);
    ASSERT_FALSE(link) << bad;
    EXPECT_FALSE(link.error().remedy.empty()) << bad;
  }
  EXPECT_NE(catalogueLink("pcie7").error().remedy.find("pcie"), std::string::npos);
}

}  // namespace
}  // namespace allot
