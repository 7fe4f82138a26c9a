// Rules by speed-up: the toy example worked by hand, what each rule does where it differs from the others,
// and the published figures.
#include <gtest/gtest.h>

#include <cmath>

#include "allot/evaluate.h"
#include "baselines_support.h"
#include "formats_support.h"

namespace allot::baselines_test {
namespace {

double valueOf(const Problem& problem, std::string_view name) {
  const std::vector<Plan> plans = run(problem, name);
  if (plans.size() != 1) return std::nan("");
  const Evaluation evaluated = evaluate(problem, plans.front());
  EXPECT_TRUE(evaluated.valid()) << name << ": " << evaluated.violations.front();
  return evaluated.plan.value;
}

// Model 1: op0 -> op1 -> op2. Model 2: {op3, op4} -> op5. Times on the cpu, then on the gpu.
Problem toy() {
  Maker m(Goal::kCompletion);
  m.cpu().device();
  m.problem.graph.model_name = {"1", "2"};
  const double times[6][2] = {{5, 1}, {1, 3}, {3, 2}, {1.5, 1.5}, {3, 1}, {2, 4}};
  for (std::size_t i = 0; i < 6; ++i) {
    m.op({times[i][0], times[i][1]});
    m.problem.graph.op_model[i] = ModelId(i / 3);
  }
  m.edge(OpId(0), OpId(1));
  m.edge(OpId(1), OpId(2));
  m.edge(OpId(3), OpId(5));
  m.edge(OpId(4), OpId(5));
  return std::move(m.done());
}

TEST(SpeedupBaselines, ToyExample) {
  const Problem problem = toy();
  EXPECT_DOUBLE_EQ(valueOf(problem, "average-speedup"), 12.5);
  EXPECT_DOUBLE_EQ(valueOf(problem, "transient-speedup"), 11.5);
  EXPECT_DOUBLE_EQ(valueOf(problem, "weighted-speedup-published"), 9);
  // Both on the gpu, the first model first: 6 + 12.5.
  EXPECT_DOUBLE_EQ(valueOf(problem, "average-speedup-measured"), 18.5);
  EXPECT_EQ(place(problem, "weighted-speedup-published"), (Devices{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(place(problem, "transient-speedup"), (Devices{1, 0, 0, 0, 1, 1}));
}

// Models that are chains of equal ops, with times on a cpu and on gpus.
Problem chains(std::size_t gpus, const std::vector<std::vector<std::pair<double, double>>>& models) {
  Maker m(Goal::kCompletion);
  m.problem.cluster.classes = {{"cpu", DeviceKind::kCpu}, {"gpu", DeviceKind::kAccelerator}};
  m.problem.cluster.devices.push_back({"cpu0", ClassId(0), std::nullopt, HostId()});
  for (std::size_t g = 0; g < gpus; ++g)
    m.problem.cluster.devices.push_back({"gpu" + std::to_string(g), ClassId(1), std::nullopt, HostId()});
  for (std::size_t k = 0; k < models.size(); ++k) {
    m.problem.graph.model_name.push_back("m" + std::to_string(k));
    for (std::size_t i = 0; i < models[k].size(); ++i) {
      const OpId op = m.op({models[k][i].first, models[k][i].second});
      m.problem.graph.op_model.back() = ModelId(k);
      if (i > 0) m.edge(OpId(op.index() - 1), op);
    }
  }
  return std::move(m.done());
}

TEST(SpeedupBaselines, AverageSpeedupGivesOneModelToEachAccelerator) {
  const Problem problem = chains(2, {{{4, 2}}, {{30, 3}}, {{9, 3}}, {{2, 2}}});
  // Speed-ups 2, 10, 3, 1.
  EXPECT_EQ(place(problem, "average-speedup"), (Devices{0, 1, 2, 0}));
  // 10 and 3 first, then 2 behind either, then 1 where it ends first.
  EXPECT_EQ(place(problem, "average-speedup-measured"), (Devices{1, 1, 2, 2}));
  // Shortest first: the last one, as fast on the cpu, leaves the second gpu free.
  EXPECT_EQ(place(problem, "shortest-first"), (Devices{1, 2, 1, 0}));
}

TEST(SpeedupBaselines, ModelsStayWholeWhereShortestOpsFirstWouldSplit) {
  const Problem problem = chains(1, {{{1, 2}, {10, 1}}, {{8, 4}}});
  EXPECT_EQ(place(problem, "shortest-first"), (Devices{1, 1, 1}));
  EXPECT_EQ(place(problem, "spt-fastest"), (Devices{0, 1, 1}));
}

TEST(SpeedupBaselines, TransientNeverWaitsAndPublishedStaysOnceItMoved) {
  // The gpu is busy until 4 with the first model; the second begins on the cpu and crosses at 3 to 6.
  const Problem problem = chains(1, {{{40, 4}}, {{3, 1}, {3, 1}, {3, 1}, {1, 2}}});
  EXPECT_EQ(place(problem, "transient-speedup"), (Devices{1, 0, 0, 1, 0}));
  EXPECT_EQ(place(problem, "transient-speedup-published"), (Devices{1, 0, 0, 1, 1}));
  EXPECT_DOUBLE_EQ(valueOf(problem, "transient-speedup"), 4 + 8);
  EXPECT_DOUBLE_EQ(valueOf(problem, "transient-speedup-published"), 4 + 9);
}

TEST(SpeedupBaselines, WeightedForcesReadyOpsApart) {
  // Waiting 1 s for the gpu would be better than 9 s on the cpu, but each device takes one op per step.
  const Problem problem = chains(1, {{{9, 1}}, {{9, 1}}});
  EXPECT_DOUBLE_EQ(valueOf(problem, "weighted-speedup-published"), 10);
  EXPECT_DOUBLE_EQ(valueOf(problem, "eft"), 3);
}

TEST(SpeedupBaselines, OneKindOfDeviceIsEnough) {
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kAccelerator}) {
    Maker m(Goal::kCompletion);
    m.device(kind).device(kind);
    m.problem.graph.model_name = {"a", "b"};
    m.op({1, 2});
    m.op({4, 3});
    m.problem.graph.op_model[1] = ModelId(1);
    m.done();
    for (const char* name : {"average-speedup", "average-speedup-measured", "transient-speedup",
                             "transient-speedup-published", "shortest-first", "weighted-speedup-published"}) {
      EXPECT_GT(valueOf(m.problem, name), 0) << name;
    }
  }
}

// Chains of the published segments; squeezenet, which lacks its first segment there, as packed again.
std::vector<std::pair<double, double>> segments(const std::string& model) {
  const bool packed = model == "squeezenet";
  std::ifstream file(std::string(std::getenv("ALLOT_DATA")) + "/talos/segments_" +
                     (packed ? "rebuilt" : "tv20_published") + ".csv");
  std::vector<std::pair<double, double>> chain;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::stringstream row(line);
    for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
    if (fields[0] != model || (packed && (fields[3] != "20000" || fields[4] == "0"))) continue;
    const std::size_t n = fields.size();
    chain.emplace_back(std::stod(fields[n - 2]) / 1e6, std::stod(fields[n - 1]) / 1e6);
  }
  return chain;
}

struct PublishedPair {
  const char *first, *second;
  // Milliseconds. What the published transient rule counts twice is counted once.
  double base, average, transient, shortest, earliest;
};

class PublishedPairs : public testing::TestWithParam<PublishedPair> {};

TEST_P(PublishedPairs, Agree) {
  if (std::getenv("ALLOT_DATA") == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published files";
  const PublishedPair& pair = GetParam();
  const Problem problem = chains(1, {segments(pair.first), segments(pair.second)});
  const auto points = [&](std::string_view name) {
    return 100 * (1 - 1e3 * valueOf(problem, name) / pair.base);
  };
  const auto expected = [&](double value) { return 100 * (1 - value / pair.base); };
  EXPECT_NEAR(1e3 * valueOf(problem, "average-speedup"), pair.base, 0.06);
  EXPECT_NEAR(points("average-speedup-measured"), expected(pair.average), 0.05);
  EXPECT_NEAR(points("transient-speedup"), expected(pair.transient), 0.05);
  EXPECT_NEAR(points("transient-speedup-published"), expected(pair.transient), 0.05);
  EXPECT_NEAR(points("shortest-first"), expected(pair.shortest), 0.05);
  EXPECT_NEAR(points("eft"), expected(pair.earliest), 0.05);
  EXPECT_GT(points("weighted-speedup-published"), -13.95);
  EXPECT_LT(points("weighted-speedup-published"), 27.65);
}

INSTANTIATE_TEST_SUITE_P(
    SpeedupBaselines, PublishedPairs,
    testing::Values(PublishedPair{"alexnet", "squeezenet", 1074.6, 382.8, 375.1, 382.8, 466.0},
                    PublishedPair{"googlenet", "squeezenet", 1269.0, 771.6, 729.4, 667.5, 729.8},
                    PublishedPair{"googlenet", "alexnet", 1052.4, 681.2, 645.4, 486.8, 533.7},
                    PublishedPair{"bert", "squeezenet", 1382.6, 998.8, 959.2, 781.2, 872.7},
                    PublishedPair{"bert", "alexnet", 1166.0, 908.5, 936.3, 600.5, 656.6},
                    PublishedPair{"bert", "googlenet", 3394.7, 1102.9, 1093.7, 989.2, 1180.0},
                    PublishedPair{"resnet50", "squeezenet", 1603.6, 1440.8, 1332.6, 1002.1, 1083.4},
                    PublishedPair{"resnet50", "alexnet", 1387.0, 1350.4, 1296.9, 821.5, 874.9},
                    PublishedPair{"resnet50", "googlenet", 3615.7, 1544.8, 1511.8, 1210.2, 1441.7},
                    PublishedPair{"resnet50", "bert", 4997.4, 1658.5, 1581.0, 1437.5, 1938.8}),
    [](const auto& pair) { return std::string(pair.param.first) + "_" + pair.param.second; });

TEST(SpeedupBaselines, PublishedFiveModels) {
  if (std::getenv("ALLOT_DATA") == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published files";
  std::vector<std::vector<std::pair<double, double>>> all;
  for (const char* model : {"alexnet", "squeezenet", "googlenet", "bert", "resnet50"})
    all.push_back(segments(model));
  EXPECT_NEAR(1e3 * valueOf(chains(1, all), "shortest-first"), 3551.8, 0.1);
  EXPECT_NEAR(1e3 * valueOf(chains(2, all), "shortest-first"), 2283.8, 0.1);
}

}  // namespace
}  // namespace allot::baselines_test
