// Foreign files mean what docs/formats says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/json_reader.h"
#include "formats_support.h"

namespace allot {
namespace {

TEST(DnnPartitioning, SmallFile) {
  const Problem p = problemOf(data("dnn_partitioning.json"));
  EXPECT_EQ(p.graph.op_name, (std::vector<std::string>{"10", "3", "7", "11"}));
  ASSERT_EQ(p.deviceCount(), 3u);
  EXPECT_EQ(p.cluster.devices[1].name, "acc1");
  EXPECT_EQ(p.cluster.devices[1].memory_bytes, 17185374208);
  EXPECT_EQ(p.cluster.devices[2].name, "cpu0");
  EXPECT_FALSE(p.cluster.devices[2].memory_bytes);
  expectSameBits(p.op_seconds, {0.000539, 0.005, 0.002, 0.02, kCannotRun, 0.0015, 0.001, 0.006});
  EXPECT_EQ(p.graph.op_memory_bytes, (std::vector<std::int64_t>{1024, 4, 0, 8}));
  EXPECT_EQ(p.unit(OpId(0)), p.unit(OpId(3)));
  EXPECT_EQ(p.unitCount(), 3u);
  EXPECT_EQ(p.graph.op_phase[3], Phase::kBackward);
  ASSERT_EQ(p.graph.tensorCount(), 3u);  // one for each node with an edge, none for the sink
  EXPECT_EQ(consumerNames(p.graph, 0), (std::vector<std::string>{"3", "7"}));
  expectSameBits(p.tensor_seconds, {0.00025, 0, 0.001});
  EXPECT_EQ(p.goal(), Goal::kThroughput);
  EXPECT_EQ(p.transfers(), Transfers::kViaHost);
  expectSameProblem(p, problemOf(writeProblem(p)));
}

TEST(DnnPartitioning, SplitFile) {
  const Problem p = problemOf(data("dnn_partitioning.json"));
  Plan plan;
  plan.status = Status::kFeasible;
  plan.value = 0.00225;
  plan.assignment = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(0)};
  plan.devices.resize(3);
  plan.devices[1].load_seconds = 0.00225;
  const auto text = writeDnnPartitioningSplit(p, plan);
  ASSERT_TRUE(text);
  const auto document = JsonDocument::parse(*text, "split", false);
  ASSERT_TRUE(document);
  std::string flat = *text;
  flat.erase(std::remove_if(flat.begin(), flat.end(), [](char c) { return c == ' ' || c == '\n'; }),
             flat.end());
  EXPECT_EQ(
      flat,
      R"({"fpgas":[{"nodes":[10,11],"load":0},{"nodes":[3],"load":2.25}],"cpus":[{"nodes":[7],"load":0}],"maxLoad":2.25})");
  plan.assignment[2] = DeviceId();
  EXPECT_FALSE(writeDnnPartitioningSplit(p, plan));
  plan.assignment[2] = DeviceId(2);
  plan.stages = {{{DeviceId(0), DeviceId(1)}, {OpId(0)}}};
  EXPECT_FALSE(writeDnnPartitioningSplit(p, plan));
}

TEST(Moirai, SmallFile) {
  const Problem p = problemOf(data("moirai.json"));
  ASSERT_EQ(p.deviceCount(), 2u);
  EXPECT_EQ(p.cluster.devices[1].name, "dev1");
  EXPECT_EQ(p.cluster.devices[0].memory_bytes, 100);
  EXPECT_FALSE(p.cluster.devices[1].memory_bytes);
  EXPECT_EQ(p.graph.op_name, (std::vector<std::string>{"0", "4", "5", "9"}));
  expectSameBits(p.op_seconds, {0, 0, 0.0015, 0.003, 0.002, kCannotRun, 0.004, 0.008});
  ASSERT_EQ(p.graph.tensorCount(), 4u);
  EXPECT_EQ(p.tensor_seconds[0], 0);
  EXPECT_EQ(p.tensor_matrix[0], -1);
  EXPECT_EQ(p.transferSeconds(TensorId(1), DeviceId(0), DeviceId(1)), 0.0005);
  EXPECT_EQ(p.transferSeconds(TensorId(1), DeviceId(1), DeviceId(0)), 0.00075);
  EXPECT_EQ(p.goal(), Goal::kLatency);
  expectSameProblem(p, problemOf(writeProblem(p)));
}

TEST(Moirai, MergesEdgesAndTakesUnits) {
  const Problem merged = problemOf(data("moirai.json"), merging());
  ASSERT_EQ(merged.graph.tensorCount(), 3u);
  EXPECT_EQ(consumerNames(merged.graph, 1), (std::vector<std::string>{"5", "9"}));
  EXPECT_EQ(problemOf(data("moirai.json"), inUnit("s")).op_seconds[2], 1.5);
  std::string abstract = data("moirai.json");
  abstract.replace(abstract.find("ms (assumed)"), 12, "abstract");
  EXPECT_EQ(problemOf(abstract).op_seconds[2], 1.5);
  EXPECT_EQ(problemOf(abstract, inUnit("us")).op_seconds[2], 1.5e-6);
}

TEST(Piper, SmallFile) {
  const Problem p = problemOf(data("piper.json"));
  EXPECT_EQ(p.graph.op_name, (std::vector<std::string>{"0", "1"}));
  ASSERT_EQ(p.deviceCount(), 3u);
  EXPECT_EQ(p.cluster.devices[2].name, "acc2");
  EXPECT_EQ(p.cluster.devices[2].memory_bytes, 80000000000);
  expectSameBits(p.op_seconds, {0.25, 0.75});
  EXPECT_EQ(p.graph.op_weight_bytes, (std::vector<std::int64_t>{100, 10}));
  EXPECT_EQ(p.graph.op_memory_bytes,
            (std::vector<std::int64_t>{131, 0}));  // 30.5 is rounded up; 3 + 4 - 10 is below 0
  EXPECT_EQ(p.graph.tensor_bytes[0], 8192);
  EXPECT_EQ(p.transferSeconds(TensorId(0), DeviceId(0), DeviceId(2)), 8192 / 25e9);
  EXPECT_EQ(p.goal(), Goal::kThroughput);
  EXPECT_EQ(p.transfers(), Transfers::kByLink);
  expectSameProblem(p, problemOf(writeProblem(p)));
}

TEST(Piper, WarnsOfMilliseconds) {
  std::string slow = data("piper.json");
  slow.replace(slow.find("0.75"), 4, "9.76");
  Warnings warnings;
  ASSERT_TRUE(readProblem(slow, "file", {}, nullptr, warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("--time-unit ms"), std::string::npos);
  warnings.clear();
  auto scaled = readProblem(slow, "file", inUnit("ms"), nullptr, warnings);
  ASSERT_TRUE(scaled);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(scaled->op_seconds[0], 0.00025);
}

void expectPipeDreamGraph(const GraphFile& file) {
  const OpGraph& g = file.graph;
  EXPECT_EQ(g.op_name, (std::vector<std::string>{"node1", "node2", "node3", "node4", "node2.bwd", "node3.bwd",
                                                 "node4.bwd"}));
  expectSameBits(file.op_seconds, {0, 0.000539, 0.00025, 0, 0.0015, 0.000125, 0});
  EXPECT_EQ(g.type_name[g.op_type[1]], "Conv2d");
  EXPECT_EQ(g.type_name[g.op_type[3]], "Add");
  EXPECT_EQ(g.op_weight_bytes[1], 36);
  EXPECT_FALSE(g.op_group[0].valid());
  EXPECT_EQ(g.op_group[1], g.op_group[4]);
  EXPECT_EQ(g.group_name[g.op_group[1].index()], "node2");
  EXPECT_EQ(g.op_phase[4], Phase::kBackward);
  EXPECT_EQ(file.goal, Goal::kThroughput);
  ASSERT_EQ(g.tensorCount(), 7u);  // four outputs, three gradients
  EXPECT_EQ(consumerNames(g, 0), (std::vector<std::string>{"node2"}));
  EXPECT_EQ(consumerNames(g, 1), (std::vector<std::string>{"node3", "node4", "node2.bwd"}));
  EXPECT_EQ(consumerNames(g, 3), (std::vector<std::string>{"node4.bwd"}));
  EXPECT_EQ(g.tensor_bytes, (std::vector<std::int64_t>{600, 4000, 4000, 8, 4000, 4000, 4000}));
  EXPECT_EQ(g.op_name[g.tensor_producer[4].index()], "node3.bwd");
  EXPECT_EQ(consumerNames(g, 4), (std::vector<std::string>{"node2.bwd"}));
}

TEST(PipeDream, JsonAndTextAgree) {
  const GraphFile json = graphOf(data("pipedream.json"));
  GraphFile text = graphOf(data("pipedream_graph.txt"));
  expectPipeDreamGraph(json);
  expectPipeDreamGraph(text);
  EXPECT_EQ(json.name, "net");
  text.name = "net";
  EXPECT_EQ(writeGraph(json), writeGraph(text));
  EXPECT_EQ(writeGraph(json), writeGraph(graphOf(writeGraph(json))));
}

TEST(PipeDream, TakesAClusterAndWindowsLines) {
  const Cluster cluster = clusterOf(data("cluster.json"));
  const Problem p = problemOf(data("pipedream.json"), {}, &cluster);
  EXPECT_EQ(p.opSeconds(opNamed(p.graph, "node2.bwd"), ClassId(0)), 0.00075);
  std::string windows;
  for (const char c : data("pipedream_graph.txt"))
    windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expectPipeDreamGraph(graphOf(windows));
}

class PublicData : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("ALLOT_DATA");
    if (folder == nullptr) GTEST_SKIP() << "ALLOT_DATA is not set";
    folder_ = folder;
  }
  // Counts of the file as it is written, by a reader of plain JSON.
  static std::pair<std::size_t, std::size_t> countsOf(const std::string& text) {
    const auto document = JsonDocument::parse(text, "file", false);
    EXPECT_TRUE(document);
    const JsonNode root = document->root();
    const auto nodes = root.at("nodes"), edges = root.at("edges");
    return {nodes->array()->size(), edges->array()->size()};
  }
  static std::size_t consumerCount(const OpGraph& graph) { return graph.tensor_consumers.items.size(); }

  std::vector<std::string> files(const std::string& sub_folder) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/" + sub_folder)) {
      if (entry.path().extension() == ".json") found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string folder_;
};

TEST_F(PublicData, DnnPartitioning) {
  std::size_t count = 0;
  for (const char* sub : {"dnn-partitioning/throughput", "dnn-partitioning/latency"}) {
    for (const std::string& file : files(sub)) {
      const std::string text = textOf(file);
      const Problem p = problemOf(text);
      const auto [nodes, edges] = countsOf(text);
      EXPECT_EQ(p.opCount(), nodes) << file;
      EXPECT_EQ(consumerCount(p.graph), edges) << file;
      EXPECT_EQ(writeProblem(p), writeProblem(problemOf(writeProblem(p)))) << file;
      ++count;
    }
  }
  EXPECT_EQ(count, 24u);
  const Problem p =
      problemOf(textOf(folder_ + "/dnn-partitioning/throughput/OperatorGraphs/bert_L-12_training.json"));
  EXPECT_EQ(std::count(p.graph.op_phase.begin(), p.graph.op_phase.end(), Phase::kBackward), 1229);
  EXPECT_EQ(p.deviceCount(), 7u);
}

TEST_F(PublicData, Moirai) {
  const auto all = files("moirai");
  EXPECT_EQ(all.size(), 5u);
  for (const std::string& file : all) {
    const std::string text = textOf(file);
    const auto [nodes, edges] = countsOf(text);
    const Problem p = problemOf(text);
    EXPECT_EQ(p.opCount(), nodes) << file;
    EXPECT_EQ(p.graph.tensorCount(), edges) << file;
    const Problem merged = problemOf(text, merging());
    EXPECT_LE(merged.graph.tensorCount(), edges) << file;
    EXPECT_EQ(consumerCount(merged.graph), edges) << file;
    EXPECT_EQ(writeProblem(p), writeProblem(problemOf(writeProblem(p)))) << file;
  }
  const Problem example = problemOf(textOf(folder_ + "/moirai/example_1.json"));
  double sum = 0;
  for (std::size_t i = 0; i < example.opCount(); ++i) sum += example.op_seconds[i * 3];
  EXPECT_EQ(sum, 65);  // abstract units are seconds
}

TEST_F(PublicData, Piper) {
  const auto all = files("piper");
  EXPECT_EQ(all.size(), 3u);
  for (const std::string& file : all) {
    const std::string text = textOf(file);
    const auto [nodes, edges] = countsOf(text);
    Warnings warnings;
    auto p = readProblem(text, file, {}, nullptr, warnings);
    ASSERT_TRUE(p) << p.error().text();
    EXPECT_EQ(p->opCount(), nodes) << file;
    EXPECT_EQ(p->graph.tensorCount(), edges) << file;
    EXPECT_EQ(p->deviceCount(), 10u);
    EXPECT_EQ(warnings.size(), file.find("bert32") == std::string::npos ? 1u : 0u) << file;
    EXPECT_EQ(writeProblem(*p), writeProblem(problemOf(writeProblem(*p)))) << file;
  }
}

TEST_F(PublicData, PipeDream) {
  const auto all = files("pipedream");
  EXPECT_EQ(all.size(), 14u);
  for (const std::string& file : all) {
    const std::string text = textOf(file);
    const auto [nodes, edges] = countsOf(text);
    const GraphFile g = graphOf(text);
    const auto backward = static_cast<std::size_t>(
        std::count(g.graph.op_phase.begin(), g.graph.op_phase.end(), Phase::kBackward));
    EXPECT_EQ(g.graph.opCount() - backward, nodes) << file;
    EXPECT_LT(backward, nodes) << file;  // inputs have none
    EXPECT_GE(backward + 3, nodes) << file;
    EXPECT_LE(consumerCount(g.graph), 2 * edges + backward) << file;
    EXPECT_EQ(writeGraph(g), writeGraph(graphOf(writeGraph(g)))) << file;
  }
}

}  // namespace
}  // namespace allot
