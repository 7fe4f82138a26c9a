// Affinity of models: worked numbers, and the published distances of 21 pairs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "formats_support.h"
#include "report/affinity.h"

namespace allot {
namespace {

// Models given by the speed-ups of their operator types.
Problem problemOfTypes(const std::vector<std::vector<std::pair<std::string, double>>>& models) {
  std::string csv = "model,operator,cpu_s,gpu_s\n";
  for (std::size_t m = 0; m < models.size(); ++m) {
    for (const auto& [type, speedup] : models[m])
      csv += "m" + std::to_string(m) + "," + type + "," + std::to_string(speedup) + ",1\n";
  }
  return problemOf(csv, forced(Format::kOpChainCsv));
}

std::vector<Affinity> pairsOf(const Problem& problem) {
  const auto table = modelSpeedups(problem);
  EXPECT_TRUE(table) << table.error().text();
  return table ? affinities(table->models) : std::vector<Affinity>();
}

TEST(Affinity, WorkedPair) {
  const auto pairs =
      pairsOf(problemOfTypes({{{"conv", 8}, {"relu", 2}}, {{"conv", 5}, {"mm", 4}, {"add", 1}}}));
  ASSERT_EQ(pairs.size(), 1u);
  const Affinity& pair = pairs[0];
  EXPECT_EQ(pair.shared, 1u);
  EXPECT_EQ(pair.most, 3u);
  // Ascending 2 8 against 1 4 5, as far as the shorter reaches.
  EXPECT_NEAR(pair.published_distance, 1 + 4, 1e-12);
  EXPECT_NEAR(pair.published(), 15, 1e-9);
  EXPECT_NEAR(pair.shared_distance, 3, 1e-12);
  // 0 .2 .8 against .1 .4 .5.
  const double overlap = std::sqrt(0.2 * 0.4) + std::sqrt(0.8 * 0.5);
  EXPECT_NEAR(pair.hellinger, std::sqrt(1 - overlap), 1e-12);
  EXPECT_NEAR(pair.value(), 3 * pair.hellinger, 1e-12);
}

TEST(Affinity, SameModelHasNone) {
  const auto pairs = pairsOf(problemOfTypes({{{"a", 3}, {"b", 5}}, {{"a", 3}, {"b", 5}}, {{"c", 1}}}));
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].value(), 0);
  EXPECT_EQ(pairs[1].shared, 0u);
  EXPECT_TRUE(std::isinf(pairs[1].published()));
  // Nothing shared is no reason to co-place.
  const auto chosen = coPlacement(pairs);
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].b, 1u);
}

TEST(Affinity, OpsOfATypeCountTogether) {
  const Problem p = problemOf("model,operator,cpu_s,gpu_s\nx,a,4,1\nx,a,8,5\nx,b,1,1\ny,a,2,1\n");
  const auto table = modelSpeedups(p);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->models[0].types[0], (std::pair<std::string, double>{"a", 2}));
  EXPECT_EQ(p.cluster.classes[table->reference.index()].name, "cpu");
}

TEST(Affinity, OpsWithoutTypeGoByName) {
  const std::string ops = R"("ops": [{"name": "conv", "time": [4, 1]}, {"name": "relu", "time": [1, 1]}]})";
  const std::string head = R"({"schema": "allot.problem/1", "goal": "completion",
    "classes": [{"name": "cpu", "kind": "cpu"}, {"name": "gpu", "kind": "accelerator"}],
    "devices": [{"name": "c", "class": "cpu"}, {"name": "g", "class": "gpu"}], )";
  std::vector<Problem> two;
  two.push_back(problemOf(head + R"("name": "x", )" + ops));
  two.push_back(problemOf(head + R"("name": "y", )" + ops));
  const auto joined = joinModels(std::move(two));
  ASSERT_TRUE(joined);
  const auto pairs = pairsOf(*joined);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].shared, 2u);
}

TEST(Affinity, NeedsTwoClasses) {
  const Problem p = problemOf(R"({"schema": "allot.problem/1", "goal": "completion",
    "classes": [{"name": "gpu", "kind": "accelerator"}, {"name": "idle", "kind": "cpu"}],
    "devices": [{"name": "g", "class": "gpu"}], "ops": [{"name": "a", "time": [1, 2]}]})");
  const auto table = modelSpeedups(p);
  ASSERT_FALSE(table);
  EXPECT_FALSE(table.error().remedy.empty());
}

TEST(Affinity, PublishedPairs) {
  const char* folder = std::getenv("ALLOT_DATA");
  if (folder == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published files";
  const std::string path = std::string(folder) + "/talos/";
  std::vector<Problem> models;
  for (const char* model : {"alexnet", "bert", "googlenet", "inceptionv3", "resnet50", "squeezenet", "vgg19"})
    models.push_back(problemOf(textOf(path + "optype_" + model + ".csv")));
  const auto joined = joinModels(std::move(models));
  ASSERT_TRUE(joined) << joined.error().text();
  const auto pairs = pairsOf(*joined);
  std::istringstream known(textOf(path + "pairwise_similarity.csv"));
  std::string line;
  std::getline(known, line);
  std::size_t row = 0;
  for (; std::getline(known, line); ++row) {
    std::vector<std::string> fields;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) fields.push_back(cell);
    ASSERT_LT(row, pairs.size());
    EXPECT_EQ(pairs[row].shared, std::stoul(fields[4])) << line;
    EXPECT_NEAR(pairs[row].share(), std::stod(fields[5]), 5.1e-4) << line;
    EXPECT_NEAR(pairs[row].hellinger, std::stod(fields[6]), 1e-4) << line;
    EXPECT_NEAR(pairs[row].shared_distance, std::stod(fields[7]), 2e-3 * std::stod(fields[7])) << line;
  }
  EXPECT_EQ(row, 21u);
}

}  // namespace
}  // namespace allot
