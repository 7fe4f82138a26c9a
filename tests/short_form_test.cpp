// Clusters in one line, and the commented file that they become.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "allot/catalogue.h"
#include "formats_support.h"

namespace allot {
namespace {

Cluster shortForm(std::string_view text, std::string_view link = "") {
  auto cluster = clusterFromShortForm(text, link);
  EXPECT_TRUE(cluster) << cluster.error().text();
  return cluster ? std::move(*cluster) : Cluster();
}

double bandwidth(const Cluster& cluster, std::size_t from, std::size_t to) {
  const Link* link = cluster.linkBetween(DeviceId(from), DeviceId(to));
  return link != nullptr ? link->bandwidth_bytes_per_second : 0;
}

TEST(ShortForm, DevicesOfThreeKinds) {
  const Cluster cluster = shortForm("2xA100-80GB,1xT4,cpu:16");
  ASSERT_EQ(cluster.deviceCount(), 4u);
  ASSERT_EQ(cluster.classCount(), 3u);
  EXPECT_EQ(cluster.devices[0].name, "a100-80gb-0");
  EXPECT_EQ(cluster.devices[1].name, "a100-80gb-1");
  EXPECT_EQ(cluster.devices[2].name, "t4-0");
  EXPECT_EQ(cluster.devices[3].name, "cpu16-0");
  EXPECT_EQ(cluster.devices[0].memory_bytes, 80'000'000'000);
  EXPECT_FALSE(cluster.devices[3].memory_bytes);
  EXPECT_FALSE(cluster.isAccelerator(DeviceId(3)));
  EXPECT_EQ(cluster.classes[0].spec->catalogue, "a100-80gb");
}

TEST(ShortForm, LinksOfTheCatalogue) {
  const Cluster cluster = shortForm("2xA100-80GB,2xT4,cpu:16");
  const double pcie4 = catalogueLink("pcie4")->bandwidth_bytes_per_second;
  const double pcie3 = catalogueLink("pcie3")->bandwidth_bytes_per_second;
  EXPECT_EQ(bandwidth(cluster, 0, 1), catalogueLink("nvlink3")->bandwidth_bytes_per_second);
  // The slower bus decides, whichever side it is on.
  EXPECT_EQ(bandwidth(cluster, 0, 2), pcie3);
  EXPECT_EQ(bandwidth(cluster, 2, 0), pcie3);
  EXPECT_EQ(bandwidth(cluster, 2, 3), pcie3);
  EXPECT_EQ(bandwidth(cluster, 0, 4), pcie4);
  EXPECT_EQ(bandwidth(cluster, 4, 0), pcie4);
  EXPECT_EQ(bandwidth(cluster, 4, 2), pcie3);
  ASSERT_NE(cluster.linkToHost(DeviceId(0), false), nullptr);
  EXPECT_EQ(cluster.linkToHost(DeviceId(0), false)->bandwidth_bytes_per_second, pcie4);
  EXPECT_EQ(cluster.linkFromHost(DeviceId(2), false)->bandwidth_bytes_per_second, pcie3);
}

TEST(ShortForm, AGivenLinkHoldsForEveryPair) {
  const Cluster cluster = shortForm("2xA100-80GB,1xT4", "ethernet10g");
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      if (a != b) {
        EXPECT_EQ(bandwidth(cluster, a, b), 1e9);
      }
    }
  }
  EXPECT_EQ(shortForm("2xT4", "25GB/s,5us").links.front().latency_seconds, 5e-6);
}

TEST(ShortForm, EveryPairOfEveryDeviceIsJoined) {
  std::string all;
  for (const CatalogueDevice& device : catalogue().devices) all += (all.empty() ? "2x" : ",2x") + device.id;
  const Cluster cluster = shortForm(all + ",2xcpu:8,cpu:16");
  EXPECT_EQ(cluster.deviceCount(), 2 * catalogue().devices.size() + 3);
  for (std::size_t a = 0; a < cluster.deviceCount(); ++a) {
    for (std::size_t b = 0; b < cluster.deviceCount(); ++b) {
      if (a == b) continue;
      ASSERT_GT(bandwidth(cluster, a, b), 0) << cluster.devices[a].name << " " << cluster.devices[b].name;
    }
  }
}

TEST(ShortForm, SpellingsAndRepeats) {
  EXPECT_EQ(writeCluster(shortForm("t4,t4")).find("t4-1") != std::string::npos, true);
  const Cluster spaced = shortForm(" 2 x RTX 3090 , T4+cpu:4 ");
  ASSERT_EQ(spaced.deviceCount(), 4u);
  EXPECT_EQ(spaced.devices[0].name, "rtx3090-0");
  EXPECT_EQ(shortForm("3090").devices[0].name, "rtx3090-0");
  EXPECT_EQ(shortForm("2*t4").deviceCount(), 2u);
  EXPECT_EQ(shortForm("2xcpu:8").deviceCount(), 2u);
  EXPECT_GT(bandwidth(shortForm("2xcpu:8"), 0, 1), 0);
}

TEST(ShortForm, SaysWhatItAssumes) {
  std::vector<std::string> assumed;
  ASSERT_TRUE(clusterFromShortForm("2xA100-80GB,A10G,cpu:16", "", &assumed));
  std::string all;
  for (const std::string& line : assumed) all += line + "\n";
  EXPECT_NE(all.find("cpu:16: assumed"), std::string::npos) << all;
  EXPECT_NE(all.find("a10g: host link pcie4"), std::string::npos) << all;
  EXPECT_NE(all.find("assumed from its generation"), std::string::npos) << all;
  EXPECT_NE(all.find("joined by nvlink3"), std::string::npos) << all;
}

TEST(ShortForm, BadOnesAreOneLineWithARemedy) {
  const std::string long_text(100000, 'x');
  for (const std::string& bad :
       {std::string("0xT4"), std::string("5000xT4"), std::string("99999999999999999999999xT4"),
        std::string(""), std::string(","), std::string("T4,,T4"), std::string("2x"), std::string("A100-90GB"),
        std::string("cpu:0"), std::string("cpu:"), std::string("4000xT4,4000xA100"),
        std::string("T4\nT4\x01"), std::string("T4\xff"), long_text}) {
    const auto cluster = clusterFromShortForm(bad, "");
    ASSERT_FALSE(cluster) << bad;
    EXPECT_EQ(cluster.error().code, ErrorCode::kBadInput) << bad;
    EXPECT_FALSE(cluster.error().remedy.empty()) << bad;
    EXPECT_EQ(cluster.error().text().find('\n'), std::string::npos) << bad;
    EXPECT_LT(cluster.error().text().size(), 400u);
  }
  EXPECT_FALSE(clusterFromShortForm("T4", "pcie99"));
}

TEST(ShortForm, IsToldFromAFile) {
  EXPECT_TRUE(looksLikeShortForm("2xA100-80GB,1xT4"));
  EXPECT_TRUE(looksLikeShortForm("t4"));
  EXPECT_FALSE(looksLikeShortForm("rig.yaml"));
  EXPECT_FALSE(looksLikeShortForm("lab/rig"));
  EXPECT_FALSE(looksLikeShortForm("-"));
  EXPECT_FALSE(looksLikeShortForm(""));
  std::string pattern = (std::filesystem::temp_directory_path() / "allot-short-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(pattern);
  std::ofstream("t4") << "a file";
  EXPECT_FALSE(looksLikeShortForm("t4"));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(pattern);
}

void expectSameCluster(const Cluster& a, const Cluster& b) {
  EXPECT_EQ(writeCluster(a), writeCluster(b));
  ASSERT_EQ(a.classCount(), b.classCount());
  for (std::size_t c = 0; c < a.classCount(); ++c) EXPECT_EQ(a.classes[c].spec, b.classes[c].spec) << c;
  ASSERT_EQ(a.deviceCount(), b.deviceCount());
  for (std::size_t d = 0; d < a.deviceCount(); ++d)
    EXPECT_EQ(a.devices[d].memory_bytes, b.devices[d].memory_bytes);
}

TEST(ClusterYaml, ReadsBackToTheSameCluster) {
  std::string all;
  for (const CatalogueDevice& device : catalogue().devices) all += (all.empty() ? "2x" : ",2x") + device.id;
  for (const std::string& text : {std::string("2xA100-80GB,1xT4,cpu:16"), std::string("L4"), all}) {
    const Cluster cluster = shortForm(text);
    expectSameCluster(cluster, clusterOf(clusterYaml(cluster, {})));
    expectSameCluster(cluster, clusterOf(writeCluster(cluster)));
  }
}

TEST(ClusterYaml, OddNamesAndNumbersSurvive) {
  Cluster cluster = shortForm("T4,cpu:3");
  cluster.name = "# \"quoted\": yes\n{tab\t}";
  cluster.classes[0].name = "true";
  cluster.classes[0].spec->memory_bytes_per_second = 123456789.123;
  cluster.classes[0].spec->peak_per_second[static_cast<std::size_t>(DataType::kInt8)] = 0;
  cluster.classes[0].spec->overhead_seconds = 1.0 / 3;
  cluster.classes[0].spec->sustained = 1;
  cluster.classes[1].spec.reset();
  cluster.classes[1].launch_seconds = 7e-6;
  cluster.devices[0].name = "4";
  cluster.devices[0].memory_bytes.reset();
  cluster.devices[1].host = cluster.internHost("node: 1");
  cluster.links[0].bandwidth_bytes_per_second = 1.0 / 7;
  const std::vector<std::string> notes{"a note\nwith: a break"};
  expectSameCluster(cluster, clusterOf(clusterYaml(cluster, notes)));
  expectSameCluster(cluster, clusterOf(writeCluster(cluster)));
}

TEST(ClusterFile, DeviceOfTheCatalogueWithFiguresOfItsOwn) {
  const Cluster cluster = clusterOf(R"(
schema: allot.cluster/1
classes:
  - {name: fast, device: A100-80GB, peak: {fp16: 200TFLOPS}, overhead: 9us}
  - {name: mine, kind: accelerator, peak: {fp32: 10 TFLOP/s, int8: 4e13}, bandwidth: 300GB/s, sustained: 0.9}
devices:
  - {name: a, class: fast}
  - {name: b, class: fast, memory: null}
  - {name: c, class: mine}
)");
  const DeviceSpec& fast = *cluster.classes[0].spec;
  EXPECT_EQ(fast.catalogue, "a100-80gb");
  EXPECT_EQ(fast.peak_per_second[static_cast<std::size_t>(DataType::kFloat16)], 200e12);
  EXPECT_EQ(fast.peak_per_second[static_cast<std::size_t>(DataType::kFloat32)], 19.5e12);
  EXPECT_EQ(fast.overhead_seconds, 9e-6);
  EXPECT_EQ(cluster.devices[0].memory_bytes, 80'000'000'000);
  EXPECT_FALSE(cluster.devices[1].memory_bytes);
  const DeviceSpec& mine = *cluster.classes[1].spec;
  EXPECT_EQ(mine.catalogue, "");
  EXPECT_EQ(mine.peak_per_second[static_cast<std::size_t>(DataType::kFloat32)], 10e12);
  EXPECT_EQ(mine.peak_per_second[static_cast<std::size_t>(DataType::kInt8)], 4e13);
  EXPECT_EQ(mine.sustained, 0.9);
  expectSameCluster(cluster, clusterOf(writeCluster(cluster)));
}

TEST(ClusterFile, BadFiguresNameTheirPlace) {
  const auto error = [](const std::string& cls) {
    Warnings warnings;
    const auto cluster = readCluster("{\"schema\": \"allot.cluster/1\", \"classes\": [" + cls +
                                         "], \"devices\": [{\"name\": \"d\", \"class\": \"c\"}]}",
                                     "file", warnings);
    EXPECT_FALSE(cluster) << cls;
    return cluster ? std::string() : cluster.error().text();
  };
  EXPECT_NE(error(R"({"name": "c", "device": "A100-90GB"})").find("classes[0].device"), std::string::npos);
  EXPECT_NE(error(R"({"name": "c", "device": "A100-90GB"})").find("a100-80gb"), std::string::npos);
  EXPECT_NE(error(R"({"name": "c", "kind": "cpu", "peak": {"fp99": 1}})").find("peak.fp99"),
            std::string::npos);
  EXPECT_NE(error(R"({"name": "c", "kind": "cpu", "peak": {"fp32": "3GB/s"}})").find("TFLOPS"),
            std::string::npos);
  EXPECT_NE(error(R"({"name": "c", "kind": "cpu", "peak": {"fp32": -1}})").find("absurd"), std::string::npos);
  EXPECT_NE(error(R"({"name": "c", "kind": "cpu", "sustained": 2})").find("sustained"), std::string::npos);
  EXPECT_NE(error(R"({"name": "c", "kind": "cpu", "bandwidth": 0})").find("bandwidth"), std::string::npos);
  EXPECT_NE(error(R"({"name": "c", "peak": {"fp32": 1}})").find("kind"), std::string::npos);
}

TEST(ProblemFile, KeepsTheFiguresOfClasses) {
  const std::string text = R"({"schema": "allot.problem/1",
    "classes": [{"name": "gpu", "device": "t4"}, {"name": "cpu", "kind": "cpu", "peak": {"fp32": "1.5TFLOPS"}}],
    "devices": [{"name": "g", "class": "gpu"}, {"name": "c", "class": "cpu"}],
    "ops": [{"name": "a", "time": [1, 2]}], "tensors": [], "goal": "latency"})";
  const Problem problem = problemOf(text);
  ASSERT_TRUE(problem.cluster.classes[0].spec);
  EXPECT_EQ(problem.cluster.classes[0].spec->catalogue, "t4");
  const Problem again = problemOf(writeProblem(problem));
  expectSameProblem(problem, again);
  for (std::size_t c = 0; c < 2; ++c)
    EXPECT_EQ(problem.cluster.classes[c].spec, again.cluster.classes[c].spec);
}

TEST(ShortForm, OnlyCharactersThatDevicesHave) {
  EXPECT_TRUE(clusterFromShortForm("2 x Tesla T4, RTX-3090, cpu:16", ""));
  for (const char* text : {"1xp4{{{", "T4#", "T4\"", "T4=2", "T4\\", "T4;P4"}) {
    const auto cluster = clusterFromShortForm(text, "");
    ASSERT_FALSE(cluster) << text;
    EXPECT_NE(cluster.error().text().find("characters"), std::string::npos) << cluster.error().text();
  }
}

}  // namespace
}  // namespace allot
