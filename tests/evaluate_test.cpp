// Values of fixed decisions: hand-worked, and published splits with the values of the reference programs.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <cstdlib>

#include "allot/allot.h"
#include "base/file_io.h"
#include "evaluate/sweep.h"
#include "support/random_problem.h"

namespace allot {
namespace {

std::string dataPath(const std::string& name) {
  const char* root = std::getenv("ALLOT_DATA");
  return root == nullptr ? "" : std::string(root) + "/" + name;
}

Problem load(const std::string& path, const Modes& modes) {
  Warnings warnings;
  auto text = readFile(path);
  EXPECT_TRUE(text) << path;
  auto problem = readProblem(*text, path, {}, nullptr, warnings);
  EXPECT_TRUE(problem) << problem.error().text();
  EXPECT_TRUE(problem->setModes(modes));
  return std::move(*problem);
}

// The devices of a split file as an assignment; ops of a group that the file leaves out follow the group.
std::vector<DeviceId> splitOf(const Problem& problem, const std::string& path) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.load(path);
  std::vector<DeviceId> unit_device(problem.unitCount());
  std::uint32_t device = 0;
  std::uint32_t cpu = 0;
  while (cpu < problem.deviceCount() && problem.cluster.isAccelerator(DeviceId(cpu))) ++cpu;
  for (const char* key : {"fpgas", "cpus"}) {
    device = std::string_view(key) == "cpus" ? cpu : 0;
    for (const simdjson::dom::element part : simdjson::dom::array(root[key])) {
      for (const std::int64_t id : simdjson::dom::array(part["nodes"])) {
        for (std::size_t i = 0; i < problem.opCount(); ++i) {
          if (problem.graph.op_name[i] == std::to_string(id))
            unit_device[problem.unit(OpId(i)).index()] = DeviceId(device);
        }
      }
      ++device;
    }
  }
  std::vector<DeviceId> assignment(problem.opCount());
  for (std::size_t i = 0; i < assignment.size(); ++i)
    assignment[i] = unit_device[problem.unit(OpId(i)).index()];
  return assignment;
}

double valueOf(const Problem& problem, const std::vector<DeviceId>& assignment) {
  Plan plan;
  plan.assignment = assignment;
  return evaluate(problem, plan).plan.value;
}

// Hand-made splits of the public layer graphs, in ms: the values printed by the published program (6 digits).
TEST(ReferenceValues, ExpertSplitsForThroughput) {
  if (dataPath("").empty()) GTEST_SKIP() << "ALLOT_DATA names no folder with published graphs";
  const std::vector<std::tuple<std::string, std::string, double>> cases{
      {"bert24_inference", "bert24_inference", 20.0840},
      {"bert24_training", "bert24_training", 49.4049},
      {"gnmt_inference", "gnmt_inference", 46.2085},
      {"gnmt_training", "gnmt_training", 137.1539},
      {"resnet50_inference", "resnet50_inference", 43.9183},
      {"resnet50_training", "resnet50_inference", 112.1075},
      {"inceptionv3_inference", "inceptionv3_inference", 102.4821},
      {"inceptionv3_training", "inceptionv3_inference", 213.6542}};
  Modes modes;
  modes.goal = Goal::kThroughput;
  modes.contiguity = Contiguity::kNone;
  for (const auto& [graph, split, expected] : cases) {
    const Problem problem =
        load(dataPath("dnn-partitioning/throughput/LayerGraphs/" + graph + ".json"), modes);
    const auto assignment = splitOf(problem, dataPath("dnn-partitioning/experts/" + split + "_expert.json"));
    EXPECT_NEAR(valueOf(problem, assignment) * 1e3, expected, 6e-5) << graph;
  }
}

TEST(ReferenceValues, ExpertSplitsForSubgraphCalls) {
  if (dataPath("").empty()) GTEST_SKIP() << "ALLOT_DATA names no folder with published graphs";
  // The expert split of bert24 has one accelerator more than the latency input allows.
  const std::vector<std::pair<std::string, double>> cases{
      {"gnmt_inference", 293.403}, {"resnet50_inference", 1014.927}, {"inceptionv3_inference", 865.519}};
  Modes modes;
  modes.goal = Goal::kLatency;
  modes.model = LatencyModel::kSubgraphCalls;
  for (const auto& [graph, expected] : cases) {
    const Problem problem = load(dataPath("dnn-partitioning/latency/LayerGraphs/" + graph + ".json"), modes);
    const auto assignment = splitOf(problem, dataPath("dnn-partitioning/experts/" + graph + "_expert.json"));
    EXPECT_NEAR(valueOf(problem, assignment) * 1e3, expected, 6e-4) << graph;
  }
}

// Optimal chain values that the published program prints with all digits, met by a split of a linear order.
TEST(ReferenceValues, ChainOptimaOfThePublishedProgram) {
  if (dataPath("").empty()) GTEST_SKIP() << "ALLOT_DATA names no folder with published graphs";
  const std::vector<std::pair<std::string, double>> cases{
      {"LayerGraphs/bert24_inference", 17.789906250},
      {"LayerGraphs/bert24_training", 41.745812500},
      {"LayerGraphs/resnet50_inference", 33.774666016},
      {"OperatorGraphs/bert_l-3_inference", 27.918567680},
      {"OperatorGraphs/bert_l-3_training", 65.303149122},
      {"OperatorGraphs/bert_l-6_inference", 29.579505806},
      {"OperatorGraphs/bert_l-6_training", 72.864966322},
      {"OperatorGraphs/resnet50_inference", 124.348849774}};
  Modes modes;
  modes.goal = Goal::kThroughput;
  RunOptions run;
  run.solver = "linear-dp";
  for (const auto& [graph, expected] : cases) {
    const Problem problem = load(dataPath("dnn-partitioning/throughput/" + graph + ".json"), modes);
    const double value = solve(problem, run).plan.value * 1e3;
    EXPECT_GE(value, expected * (1 - 2e-9)) << graph;
    // The printed optima have nine decimals; a split that is not optimal differs by far more.
    EXPECT_NEAR(value, expected, 2e-9 * expected) << graph;
  }
}

// The moments of a schedule with one port, worked out by hand.
TEST(EventSimulation, PortsServeByProducersEndThenRank) {
  Warnings warnings;
  auto problem = readProblem(
      R"({"schema": "allot.problem/1", "goal": "latency", "classes": [{"name": "g", "kind": "accelerator"}],
    "devices": [{"name": "x", "class": "g"}, {"name": "y", "class": "g"}],
    "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [1]}, {"name": "c", "time": [2]}, {"name": "d", "time": [5]}],
    "tensors": [{"from": "a", "to": ["c"], "time": 3}, {"from": "a", "to": ["d"], "time": 2}, {"from": "b", "to": ["d"], "time": 1}]})",
      "t.json", {}, nullptr, warnings);
  ASSERT_TRUE(problem) << problem.error().text();
  Plan plan;
  plan.assignment = {DeviceId(0), DeviceId(0), DeviceId(1), DeviceId(1)};
  const Plan full = evaluate(*problem, plan).plan;
  // x: a 0-1, b 1-2. Both tensors of a are ready at 1: d has the larger rank, so 1-3, then the one to c 3-6,
  // then b's 6-7.
  EXPECT_DOUBLE_EQ(full.start[2], 6 + 6);  // after d on y
  EXPECT_DOUBLE_EQ(full.start[3], 7);
  EXPECT_DOUBLE_EQ(full.value, 14);
}

// The sweep and the event engine give the same schedule where their rules coincide: link mode free, order by
// start.
TEST(Sweep, AgreesWithTheEventEngineInLinkModeFree) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Problem problem = randomProblem(seed, seed % 2 == 0 ? Goal::kLatency : Goal::kCompletion, {12, 4});
    Modes modes = problem.modes;
    modes.model = LatencyModel::kEvents;
    modes.link_mode = LinkMode::kFree;
    ASSERT_TRUE(problem.setModes(modes));
    Random random(seed, 9);
    Plan plan;
    plan.assignment.resize(problem.opCount());
    bool runs = true;
    for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
      plan.assignment[i] = DeviceId(random.below(static_cast<std::uint32_t>(problem.deviceCount())));
      runs = runs && problem.opSeconds(OpId(i), plan.assignment[i]) != kCannotRun;
    }
    if (!runs) continue;
    const Plan events = evaluate(problem, plan).plan;
    Sweep sweep(problem);
    std::vector<OpId> order(problem.graph.topologicalOrder().begin(), problem.graph.topologicalOrder().end());
    std::stable_sort(order.begin(), order.end(), [&](OpId a, OpId b) {
      return std::pair(events.start[a.index()], events.end[a.index()]) <
             std::pair(events.start[b.index()], events.end[b.index()]);
    });
    const double value = sweep.run(order, plan.assignment);
    Plan recorded;
    recorded.assignment = plan.assignment;
    EXPECT_DOUBLE_EQ(sweep.record(order, plan.assignment, recorded), value);
    EXPECT_NEAR(value, events.value, 1e-9 * (1 + value)) << "seed " << seed;
    ++compared;
  }
  EXPECT_GT(compared, 800);
}

}  // namespace
}  // namespace allot
