// Detection of a machine from made-up /proc and /sys, a made-up nvidia-smi, and the measuring of this one.
#include "cluster/detect.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "cluster/measure.h"
#include "formats_support.h"

namespace allot {
namespace {

namespace fs = std::filesystem;

class Detect : public testing::Test {
 protected:
  fs::path folder;

  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "allot-detect-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  void save(const std::string& path, const std::string& text) const {
    fs::create_directories((folder / path).parent_path());
    std::ofstream(folder / path, std::ios::binary) << text;
  }

  std::string program(const std::string& body) const {
    save("nvidia-smi", "#!/bin/sh\n" + body + "\n");
    fs::permissions(folder / "nvidia-smi", fs::perms::owner_all);
    return (folder / "nvidia-smi").string();
  }

  // Two sockets of two cores with two threads each, a NUMA node by socket.
  void saveTwoSockets() const {
    std::string cpus;
    for (int cpu = 0; cpu < 8; ++cpu) {
      cpus += "processor\t: " + std::to_string(cpu) +
              "\nmodel name\t: Made Up 9000\ncpu MHz\t\t: 2000.000\nphysical id\t: " +
              std::to_string(cpu % 4 / 2) + "\ncore id\t\t: " + std::to_string(cpu % 2) +
              "\nflags\t\t: fpu sse2 avx fma avx2\n\n";
    }
    save("proc/cpuinfo", cpus);
    save("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:  5 kB\n");
    for (const char* node : {"0", "1"}) {
      const std::string base = std::string("sys/devices/system/node/node") + node + "/";
      save(base + "cpulist", node[0] == '0' ? "0-1,4-5\n" : "2-3,6-7\n");
      save(base + "meminfo", std::string("Node ") + node + " MemTotal:       8388608 kB\n");
    }
    const std::string cache = "sys/devices/system/cpu/cpu0/cache/index";
    save(cache + "0/size", "32K\n");
    save(cache + "0/level", "1\n");
    save(cache + "0/type", "Data\n");
    save(cache + "3/size", "16M\n");
    save(cache + "3/level", "3\n");
    save(cache + "3/type", "Unified\n");
  }

  Machine detect(const std::string& nvidia_smi = "no-such-program-here") const {
    DetectOptions options;
    options.root = folder.string();
    options.nvidia_smi = nvidia_smi;
    options.time_limit_seconds = 2;
    return detectMachine(options);
  }
};

TEST_F(Detect, SocketsCoresThreadsAndNodes) {
  saveTwoSockets();
  const Machine machine = detect();
  EXPECT_EQ(machine.cpu_model, "Made Up 9000");
  EXPECT_EQ(machine.sockets, 2u);
  EXPECT_EQ(machine.cores, 4u);
  EXPECT_EQ(machine.threads, 8u);
  EXPECT_EQ(machine.vector, "avx2");
  EXPECT_DOUBLE_EQ(machine.gigahertz, 2);
  EXPECT_EQ(machine.memory_bytes, std::int64_t{16} << 30);
  ASSERT_EQ(machine.caches.size(), 2u);
  EXPECT_EQ(machine.caches[1].bytes, 16 << 20);
  ASSERT_EQ(machine.nodes.size(), 2u);
  EXPECT_EQ(machine.nodes[1].cores, 2u);
  EXPECT_EQ(machine.nodes[1].memory_bytes, std::int64_t{8} << 30);
  std::vector<std::string> notes;
  const Cluster cluster = clusterOfMachine(machine, notes);
  ASSERT_EQ(cluster.deviceCount(), 2u);
  ASSERT_EQ(cluster.classCount(), 1u);
  EXPECT_EQ(cluster.devices[0].memory_bytes, std::int64_t{8} << 30);
  // Two cores at 2 GHz with 32 operations a cycle.
  EXPECT_DOUBLE_EQ(cluster.classes[0].spec->peak_per_second[static_cast<std::size_t>(DataType::kFloat32)],
                   128e9);
  EXPECT_NE(cluster.linkBetween(DeviceId(0), DeviceId(1)), nullptr);
  EXPECT_EQ(writeCluster(clusterOf(clusterYaml(cluster, notes))), writeCluster(cluster));
}

TEST_F(Detect, GraphicsCardsGetTheFiguresOfTheCatalogue) {
  saveTwoSockets();
  const Machine machine = detect(
      program("echo 'NVIDIA A100-SXM4-80GB, 81920, 4, 16'\necho 'NVIDIA A100-SXM4-80GB, 81920, 4, 16'\n"
              "echo 'Tesla T4, 15360, 3, 8'\necho 'Quadro Unheard, 8192, [N/A], [N/A]'"));
  ASSERT_EQ(machine.gpus.size(), 4u);
  EXPECT_EQ(machine.gpus[0].memory_bytes, std::int64_t{80} << 30);
  std::vector<std::string> notes;
  const Cluster cluster = clusterOfMachine(machine, notes);
  ASSERT_EQ(cluster.deviceCount(), 6u);
  EXPECT_EQ(cluster.devices[1].name, "a100-80gb-1");
  EXPECT_EQ(cluster.classes[0].spec->catalogue, "a100-80gb");
  EXPECT_FALSE(cluster.classes[2].spec);
  const auto rate = [&](std::size_t a, std::size_t b) {
    return cluster.linkBetween(DeviceId(a), DeviceId(b))->bandwidth_bytes_per_second;
  };
  EXPECT_EQ(rate(0, 1), catalogueLink("nvlink3")->bandwidth_bytes_per_second);
  EXPECT_EQ(rate(0, 2), catalogueLink("pcie3x8")->bandwidth_bytes_per_second);
  EXPECT_EQ(rate(2, 0), catalogueLink("pcie3x8")->bandwidth_bytes_per_second);
  EXPECT_EQ(rate(4, 0), catalogueLink("pcie4")->bandwidth_bytes_per_second);
  std::string all;
  for (const std::string& note : notes) all += note + "\n";
  EXPECT_NE(all.find("Quadro Unheard is not in the catalogue"), std::string::npos) << all;
  EXPECT_EQ(writeCluster(clusterOf(clusterYaml(cluster, notes))), writeCluster(cluster));
}

TEST_F(Detect, ProgramsThatFailHangOrBabble) {
  using Clock = std::chrono::steady_clock;
  EXPECT_EQ(outputOf({program("echo one; echo two")}, 2), "one\ntwo\n");
  EXPECT_FALSE(outputOf({program("echo half; exit 3")}, 2));
  EXPECT_FALSE(outputOf({"no-such-program-here"}, 2));
  EXPECT_FALSE(outputOf({program("kill -9 $$")}, 2));
  for (const char* hanging : {"sleep 30", "exec >&-; sleep 30", "sleep 30 & wait", "yes"}) {
    const auto begin = Clock::now();
    EXPECT_FALSE(outputOf({program(hanging)}, 0.2)) << hanging;
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 5) << hanging;
  }
}

TEST_F(Detect, NothingThereIsNoError) {
  const Machine machine = detect();
  ASSERT_EQ(machine.nodes.size(), 1u);
  std::vector<std::string> notes;
  const Cluster cluster = clusterOfMachine(machine, notes);
  ASSERT_EQ(cluster.deviceCount(), 1u);
  EXPECT_FALSE(notes.empty());
  EXPECT_GT(cluster.classes[0].spec->memory_bytes_per_second, 0);
}

TEST_F(Detect, NonsenseIsNoError) {
  save("proc/cpuinfo",
       "processor : -5\nprocessor : 99999999999999999999\ncore id : x\nmodel name : \n: :\n:::\n");
  save("proc/meminfo", "MemTotal: lots kB\n");
  save("sys/devices/system/node/node0/cpulist", "0-999999999999,,-,x-y,5-1\n");
  save("sys/devices/system/node/nodex/cpulist", "0\n");
  save("sys/devices/system/cpu/cpu0/cache/index0/size", "hugeK\n");
  const Machine machine = detect(program("printf ',,,,\\n\\n, , ,\\nGPU\\nx,-1,nan,1e99\\n'"));
  std::vector<std::string> notes;
  const Cluster cluster = clusterOfMachine(machine, notes);
  EXPECT_GE(cluster.deviceCount(), 1u);
  EXPECT_EQ(writeCluster(clusterOf(clusterYaml(cluster, notes))), writeCluster(cluster));
}

TEST(Measure, ProductEqualsThePlainLoop) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> value(-1, 1);
  for (const auto& [m, n, k] :
       {std::array<std::size_t, 3>{1, 1, 1}, {6, 16, 256}, {7, 17, 257}, {97, 33, 300}, {5, 100, 3}}) {
    std::vector<float> a(m * k), b(k * n), c(m * n, 1);
    for (float& x : a) x = value(random);
    for (float& x : b) x = value(random);
    multiply(m, n, k, a, b, c);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double expected = 1;
        for (std::size_t p = 0; p < k; ++p) expected += static_cast<double>(a[i * k + p]) * b[p * n + j];
        ASSERT_NEAR(c[i * n + j], expected, 1e-4) << m << " " << n << " " << k;
      }
    }
  }
}

TEST(Measure, FiguresAreSane) {
  const Measured measured = measureCpu(2, 0.05);
  EXPECT_GT(measured.bytes_per_second, 1e7);
  EXPECT_LT(measured.bytes_per_second, 1e13);
  EXPECT_GT(measured.fp32_per_second, 1e7);
  EXPECT_LT(measured.fp32_per_second, 1e15);
}

TEST(Measure, MeasuredFiguresGoIntoTheCluster) {
  Machine machine;
  machine.cores = 4;
  machine.nodes = {{"node0", 3, 1000}, {"node1", 1, 1000}};
  machine.measured = {4e11, 8e10};
  std::vector<std::string> notes;
  const Cluster cluster = clusterOfMachine(machine, notes);
  ASSERT_EQ(cluster.classCount(), 2u);
  EXPECT_DOUBLE_EQ(cluster.classes[0].spec->peak_per_second[static_cast<std::size_t>(DataType::kFloat32)],
                   3e11);
  EXPECT_DOUBLE_EQ(cluster.classes[1].spec->memory_bytes_per_second, 2e10);
}

}  // namespace
}  // namespace allot
