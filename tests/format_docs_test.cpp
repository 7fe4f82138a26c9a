// The worked examples of docs/formats are read as they stand.
#include <gtest/gtest.h>

#include "formats_support.h"

namespace allot {
namespace {

// The first block of a page that is fenced as `language`.
std::string example(const std::string& page, const std::string& language) {
  const std::string text = textOf(std::string(ALLOT_SOURCE_DIR) + "/docs/formats/" + page);
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = text.find(fence);
  EXPECT_NE(begin, std::string::npos) << page;
  if (begin == std::string::npos) return {};
  return text.substr(begin + fence.size(), text.find("```", begin + fence.size()) - begin - fence.size());
}

TEST(FormatDocs, Problem) {
  const Problem p = problemOf(example("problem.md", "json"));
  EXPECT_EQ(p.opCount(), 3u);
  EXPECT_NEAR(p.transferSeconds(TensorId(0), DeviceId(0), DeviceId(1)), 165e-6, 1e-15);
  EXPECT_EQ(p.transferSeconds(TensorId(1), DeviceId(1), DeviceId(2)), 40e-6);
}

TEST(FormatDocs, GraphAndCluster) {
  const Cluster cluster = clusterOf(example("cluster.md", "yaml"));
  EXPECT_NEAR(cluster.linkBetween(DeviceId(0), DeviceId(1))->seconds(3'000'000), 1e-5, 1e-15);
  EXPECT_EQ(cluster.linkBetween(DeviceId(2), DeviceId(1))->latency_seconds, 25e-6);
  const Problem p = problemOf(example("graph.md", "json"), {}, &cluster);
  EXPECT_EQ(p.opSeconds(OpId(1), ClassId(0)), 0.0015);
  EXPECT_EQ(p.opSeconds(OpId(2), ClassId(0)), 0.004);
}

TEST(FormatDocs, Plan) {
  const Problem problem =
      problemOf(R"({"schema": "allot.problem/1", "classes": [{"name": "gpu", "kind": "accelerator"}],
    "devices": [{"name": "gpu0", "class": "gpu"}, {"name": "gpu1", "class": "gpu"}],
    "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [1]}, {"name": "c", "time": [1]}],
    "tensors": [{"from": "a", "to": ["b", "c"], "time": 0.5}], "goal": "latency"})");
  Warnings warnings;
  const auto plan = readPlan(example("plan.md", "json"), "plan.md", problem, warnings);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(plan->transfers.size(), 1u);
}

TEST(FormatDocs, DnnPartitioning) {
  const Problem p = problemOf(example("dnn-partitioning.md", "json"));
  EXPECT_EQ(p.graph.tensorCount(), 1u);
  EXPECT_EQ(p.tensor_seconds[0], 0.00025);
}

TEST(FormatDocs, Moirai) {
  EXPECT_EQ(problemOf(example("moirai.md", "json")).graph.tensorCount(), 2u);
  EXPECT_EQ(problemOf(example("moirai.md", "json"), merging()).graph.tensorCount(), 1u);
}

TEST(FormatDocs, Piper) {
  const Problem p = problemOf(example("piper.md", "json"));
  EXPECT_EQ(p.graph.op_memory_bytes[0], 130);
  EXPECT_EQ(p.graph.op_weight_bytes[0], 100);
}

TEST(FormatDocs, PipeDream) {
  const GraphFile g = graphOf(example("pipedream.md", "text"));
  EXPECT_EQ(g.graph.opCount(), 5u);
  EXPECT_EQ(g.graph.tensor_bytes, (std::vector<std::int64_t>{600, 4000, 4000, 4000}));
}

}  // namespace
}  // namespace allot
