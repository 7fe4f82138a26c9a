// Good files with every value in turn replaced or left out: the reader answers with a good error, or what it
// read survives the round trip.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bad_input_support.h"

namespace allot {
namespace {

using Json = nlohmann::ordered_json;

// Pointers to all values below `value`.
void collect(const Json& value, const Json::json_pointer& at, std::vector<Json::json_pointer>& found) {
  if (!at.empty()) found.push_back(at);
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) collect(child, at / key, found);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) collect(value[i], at / i, found);
  }
}

const std::vector<Json>& oddValues() {
  static const std::vector<Json> values{nullptr,
                                        true,
                                        0,
                                        1,
                                        -1,
                                        -0.0,
                                        0.5,
                                        1e-320,
                                        1e300,
                                        4096,
                                        9007199254740993,
                                        UINT64_MAX,
                                        "",
                                        "a",
                                        "*",
                                        "1",
                                        "3us",
                                        "5GiB",
                                        "1GB/s",
                                        "50%",
                                        Json::array(),
                                        Json::object(),
                                        Json::array({0, 1}),
                                        Json::array({Json::array({0, 1}), Json::array({1, 0})}),
                                        "\xc3\xa9\n\"\\"};
  return values;
}

void expectStableProblem(const std::string& text, Format format) {
  Warnings warnings;
  const auto problem = readProblem(text, "bad.json", forced(format), nullptr, warnings);
  if (!problem) return expectGood(problem.error());
  const std::string written = writeProblem(*problem);
  const auto again = readProblem(written, "bad.json", {}, nullptr, warnings);
  ASSERT_TRUE(again) << again.error().text() << "\n" << text;
  EXPECT_EQ(writeProblem(*again), written) << text;
}

void expectStableGraph(const std::string& text, Format format) {
  Warnings warnings;
  const auto graph = readGraph(text, "bad.json", forced(format), warnings);
  if (!graph) return expectGood(graph.error());
  const std::string written = writeGraph(*graph);
  const auto again = readGraph(written, "bad.json", {}, warnings);
  ASSERT_TRUE(again) << again.error().text() << "\n" << text;
  EXPECT_EQ(writeGraph(*again), written) << text;
}

void expectStableCluster(const std::string& text) {
  Warnings warnings;
  const auto cluster = readCluster(text, "bad.json", warnings);
  if (!cluster) return expectGood(cluster.error());
  const std::string written = writeCluster(*cluster);
  const auto again = readCluster(written, "bad.json", warnings);
  ASSERT_TRUE(again) << again.error().text() << "\n" << text;
  EXPECT_EQ(writeCluster(*again), written) << text;
}

void expectStablePlan(const std::string& text) {
  static const Problem problem = problemOf(kPlanned);
  Warnings warnings;
  const auto plan = readPlan(text, "bad.json", problem, warnings);
  if (!plan) return expectGood(plan.error());
  const std::string written = writePlan(problem, *plan);
  const auto again = readPlan(written, "bad.json", problem, warnings);
  ASSERT_TRUE(again) << again.error().text() << "\n" << text;
  EXPECT_EQ(writePlan(problem, *again), written) << text;
}

template <class Check>
void mutateAll(const char* file, Check&& check) {
  const Json good = Json::parse(data(file));
  std::vector<Json::json_pointer> places;
  collect(good, Json::json_pointer(), places);
  for (const auto& place : places) {
    for (const Json& odd : oddValues()) {
      // A count of thousands of devices is allowed but slow; the limit has tests of its own.
      if (odd == 4096 && place.back().starts_with("max")) continue;
      Json bad = good;
      bad[place] = odd;
      check(bad.dump());
      if (testing::Test::HasFailure()) return;
    }
    Json bad = good;
    Json& parent = bad[place.parent_pointer()];
    if (parent.is_object())
      parent.erase(place.back());
    else
      parent.erase(static_cast<std::size_t>(std::stoul(place.back())));
    check(bad.dump());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(MutatedInput, Problem) {
  mutateAll("problem.json", [](const std::string& text) { expectStableProblem(text, Format::kProblem); });
}
TEST(MutatedInput, Graph) {
  mutateAll("graph.json", [](const std::string& text) { expectStableGraph(text, Format::kGraph); });
}
TEST(MutatedInput, Cluster) {
  mutateAll("cluster.json", expectStableCluster);
}
TEST(MutatedInput, Plan) {
  mutateAll("plan.json", expectStablePlan);
}
TEST(MutatedInput, DnnPartitioning) {
  mutateAll("dnn_partitioning.json",
            [](const std::string& text) { expectStableProblem(text, Format::kDnnPartitioning); });
}
TEST(MutatedInput, Moirai) {
  mutateAll("moirai.json", [](const std::string& text) { expectStableProblem(text, Format::kMoirai); });
}
TEST(MutatedInput, Piper) {
  mutateAll("piper.json", [](const std::string& text) { expectStableProblem(text, Format::kPiper); });
}
TEST(MutatedInput, PipeDream) {
  mutateAll("pipedream.json",
            [](const std::string& text) { expectStableGraph(text, Format::kPipeDreamJson); });
}

}  // namespace
}  // namespace allot
