// Own files survive the round trip bit for bit, and every format is recognised.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "formats_support.h"

namespace allot {
namespace {

TEST(OwnFormats, ProblemSurvivesRoundTripBitForBit) {
  const Problem first = problemOf(data("problem.json"));
  const std::string written = writeProblem(first);
  const Problem second = problemOf(written);
  expectSameProblem(first, second);
  EXPECT_EQ(written, writeProblem(second));
}

TEST(OwnFormats, ProblemMeansWhatItSays) {
  const Problem p = problemOf(data("problem.json"));
  ASSERT_EQ(p.opCount(), 5u);
  EXPECT_EQ(p.name, "everything");
  EXPECT_EQ(p.costs, "measured");
  EXPECT_EQ(p.goal(), Goal::kCompletion);
  EXPECT_EQ(p.modes.link_mode, LinkMode::kHalfDuplex);
  EXPECT_EQ(p.modes.send, Send::kPerEdge);
  EXPECT_EQ(p.modes.memory, MemoryModel::kLive);
  EXPECT_EQ(p.modes.headroom, 0.05);
  EXPECT_EQ(p.modes.optimizer_factor, 2.5);
  EXPECT_EQ(p.cluster.classes[0].launch_seconds, 3e-6);
  EXPECT_EQ(p.cluster.devices[0].memory_bytes, std::int64_t{24} << 30);
  EXPECT_EQ(p.cluster.devices[1].memory_bytes, 9007199254740993);  // not a double
  EXPECT_FALSE(p.cluster.devices[2].memory_bytes);
  const std::vector<double> seconds = p.givenTimes(Problem::ShortTime::Table::kOp);
  EXPECT_EQ(seconds[1], 0.30000000000000004);
  EXPECT_EQ(seconds[3], kCannotRun);
  EXPECT_EQ(seconds[4], 0.0015);
  EXPECT_EQ(seconds[5], 4.9406564584124654e-324);
  EXPECT_EQ(p.op_seconds[5], 0);  // too short for the clock
  EXPECT_EQ(p.graph.op_name[3], "u\u00e9 \"x\"\n");
  EXPECT_EQ(p.graph.op_phase[3], Phase::kUpdate);
  EXPECT_EQ(p.graph.tensor_bytes[1], 9007199254740993);
  EXPECT_EQ(p.firstOrderTensor(), 4u);
  EXPECT_EQ(p.unit(OpId(1)), p.unit(OpId(4)));
  EXPECT_EQ(p.unit(OpId(0)), p.unit(OpId(2)));
  EXPECT_FALSE(p.allowed(p.unit(OpId(0)), DeviceId(1)));
  EXPECT_EQ(p.cluster.links[2].from_kind, LinkEnd::kHost);
  EXPECT_TRUE(std::isinf(p.cluster.links[1].bandwidth_bytes_per_second));
}

TEST(OwnFormats, EveryModeOfEveryGoalSurvives) {
  for (
      const char* modes :
      {R"("goal": "throughput", "options": {"contiguity": "none", "transfers": "by-link", "overlap": "max",
                                "training-load": "max-parts", "replicate": true, "max-stages": 4294967295, "headroom": 0.1})",
       R"("goal": "throughput", "options": {"contiguity": "chain", "in-flight": true, "transfers": "via-host"})",
       R"("goal": "latency", "options": {"model": "subgraph-calls", "calls": 7, "link-mode": "free"})",
       R"("options": {"contiguity": "convex", "calls": 3})"}) {
    const std::string text =
        std::string(R"({"schema": "allot.problem/1", "classes": [{"name": "g", "kind": "accelerator"}],
      "devices": [{"name": "d", "class": "g"}, {"name": "e", "class": "g"}], "ops": [{"name": "a", "time": [1]}], )") +
        modes + "}";
    const Problem first = problemOf(text);
    const Problem second = problemOf(writeProblem(first));
    EXPECT_EQ(first.modes.goal, second.modes.goal);
    for (const OptionSpec& spec : optionTable()) {
      EXPECT_EQ(spec.get({first.modes, {}}), spec.get({second.modes, {}})) << spec.name;
    }
  }
}

TEST(OwnFormats, GraphSurvivesRoundTrip) {
  const GraphFile first = graphOf(data("graph.json"));
  const GraphFile second = graphOf(writeGraph(first));
  expectSameGraph(first.graph, second.graph);
  ASSERT_EQ(first.op_seconds.size(), second.op_seconds.size());
  EXPECT_TRUE(std::isnan(second.op_seconds[0]));
  EXPECT_EQ(second.op_seconds[1], 0.1);
  EXPECT_EQ(second.op_class_seconds[2], first.op_class_seconds[2]);
  ASSERT_EQ(second.op_class_seconds[2].size(), 2u);
  EXPECT_EQ(second.op_class_seconds[2][1].second, kCannotRun);
  EXPECT_EQ(second.goal, Goal::kThroughput);
  EXPECT_EQ(writeGraph(first), writeGraph(second));
}

TEST(OwnFormats, GraphAndClusterMakeAProblem) {
  const Cluster cluster = clusterOf(data("cluster.json"));
  GraphFile graph = graphOf(data("graph.json"));
  auto missing = makeProblem(graph, cluster);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("no time on class"), std::string::npos);
  graph.op_seconds[0] = 0;
  auto problem = makeProblem(graph, cluster);
  ASSERT_TRUE(problem) << problem.error().text();
  EXPECT_EQ(problem->opSeconds(OpId(1), ClassId(0)), 0.05);
  EXPECT_EQ(problem->opSeconds(OpId(1), ClassId(1)), 1.6);
  EXPECT_EQ(problem->opSeconds(OpId(2), ClassId(0)), 0.2);
  EXPECT_EQ(problem->opSeconds(OpId(2), ClassId(1)), kCannotRun);
  expectSameProblem(*problem, problemOf(writeProblem(*problem)));
}

TEST(OwnFormats, ClusterSurvivesRoundTrip) {
  const Cluster first = clusterOf(data("cluster.json"));
  EXPECT_EQ(writeCluster(first), writeCluster(clusterOf(writeCluster(first))));
  EXPECT_EQ(first.links.size(), 3u);
  EXPECT_EQ(first.classes[1].speed, 0.0625);
}

TEST(OwnFormats, YamlEqualsJson) {
  EXPECT_EQ(writeCluster(clusterOf(data("cluster.yaml"))), writeCluster(clusterOf(data("cluster.json"))));
  EXPECT_EQ(writeProblem(problemOf(data("problem.yaml"))),
            writeProblem(problemOf(data("problem_of_yaml.json"))));
}

const char* const kPlanned = R"({"schema": "allot.problem/1", "name": "planned",
  "classes": [{"name": "gpu", "kind": "accelerator"}],
  "devices": [{"name": "g0", "class": "gpu"}, {"name": "g1", "class": "gpu"}], "models": [{"name": "m"}],
  "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [1]}, {"name": "c", "time": [1]}],
  "tensors": [{"from": "a", "to": ["b", "c"], "time": 0.5}], "goal": "latency"})";

TEST(OwnFormats, PlanSurvivesRoundTripBitForBit) {
  const Problem problem = problemOf(kPlanned);
  Warnings warnings;
  auto first = readPlan(data("plan.json"), "plan.json", problem, warnings);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(first->seed, ~std::uint64_t{0});
  EXPECT_TRUE(first->time_limited);
  EXPECT_EQ(first->modes.link_mode, LinkMode::kFree);
  ASSERT_EQ(first->curve.size(), 2u);
  EXPECT_TRUE(std::isinf(first->curve[0].value));
  ASSERT_EQ(first->stages.size(), 2u);
  EXPECT_EQ(first->stages[1].devices.size(), 2u);
  ASSERT_EQ(first->transfers.size(), 1u);
  first->value = 0.1 + 0.2;
  first->bound = 0.3;
  first->start[1] = 1.0 / 3;
  first->start[0] = -0.0;
  const std::string written = writePlan(problem, *first);
  auto second = readPlan(written, "plan.json", problem, warnings);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(written, writePlan(problem, *second));
  expectSameBits({first->value, first->bound, first->seconds},
                 {second->value, second->bound, second->seconds});
  expectSameBits(first->start, second->start);
  expectSameBits(first->end, second->end);
  expectSameBits(first->completion, second->completion);
  EXPECT_EQ(first->assignment, second->assignment);
  EXPECT_EQ(first->status, second->status);
}

TEST(OwnFormats, PartialPlanIsKeptPartial) {
  const Problem problem = problemOf(kPlanned);
  Warnings warnings;
  auto plan = readPlan(R"({"schema": "allot.plan/1", "assignment": {"b": "g1"}, "value": 3})", "p", problem,
                       warnings);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_FALSE(plan->assignment[0].valid());
  EXPECT_EQ(plan->assignment[1], DeviceId(1));
  auto again = readPlan(writePlan(problem, *plan), "p", problem, warnings);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->assignment, plan->assignment);
}

TEST(OwnFormats, UnknownKeysWarn) {
  Warnings warnings;
  auto cluster =
      readCluster(R"({"schema": "allot.cluster/1", "classes": [{"name": "c", "kind": "cpu", "colour": 1}],
                                 "devices": [{"name": "d", "class": "c"}]})",
                  "file", warnings);
  ASSERT_TRUE(cluster);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("colour"), std::string::npos);
}

TEST(OwnFormats, ByteOrderMarkIsSkipped) {
  EXPECT_EQ(problemOf("\xEF\xBB\xBF" + data("problem.json")).opCount(), 5u);
}

TEST(Recognition, FromContent) {
  const std::map<std::string, Format> files{{"problem.json", Format::kProblem},
                                            {"problem.yaml", Format::kProblem},
                                            {"graph.json", Format::kGraph},
                                            {"cluster.json", Format::kCluster},
                                            {"cluster.yaml", Format::kCluster},
                                            {"plan.json", Format::kPlan},
                                            {"moirai.json", Format::kMoirai},
                                            {"dnn_partitioning.json", Format::kDnnPartitioning},
                                            {"piper.json", Format::kPiper},
                                            {"pipedream.json", Format::kPipeDreamJson},
                                            {"pipedream_graph.txt", Format::kPipeDreamText}};
  for (const auto& [file, format] : files) {
    const auto found = recogniseFormat(data(file), file);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(*found, format) << file;
    EXPECT_EQ(formatFromName(name(format)), format);
  }
  EXPECT_FALSE(formatFromName("nonsense"));
}

TEST(Recognition, CanBeForced) {
  std::string unmarked = data("moirai.json");
  unmarked.replace(unmarked.find("\"format\": \"moirai-v1\","), 22, "");
  Warnings warnings;
  EXPECT_FALSE(readProblem(unmarked, "file", {}, nullptr, warnings));
  EXPECT_EQ(problemOf(unmarked, forced(Format::kMoirai)).opCount(), 4u);
  const auto wrong = readProblem(unmarked, "file", forced(Format::kPiper), nullptr, warnings);
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().text().starts_with("file: "));
}

}  // namespace
}  // namespace allot
