// Every own file that Allot writes is valid by its JSON schema in docs/schemas.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "formats_support.h"

namespace allot {
namespace {

constexpr int kSkipped = 77;

// Exit code of the validator.
int validate(const std::string& schema, const std::string& text) {
  const std::string source = ALLOT_SOURCE_DIR;
  const std::string file =
      (std::filesystem::temp_directory_path() / ("allot-schema-" + std::to_string(getpid()) + ".json"))
          .string();
  EXPECT_TRUE(writeFile(file, text));
  const std::string command = "/usr/bin/python3 '" + source + "/tests/schemas/validate.py' '" + source +
                              "/docs/schemas/" + schema + ".json' '" + file + "'";
  const int status = std::system(command.c_str());
  std::filesystem::remove(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Schema : public testing::Test {
 protected:
  void SetUp() override {
    const int code = validate("cluster", data("cluster.json"));
    if (code == kSkipped) GTEST_SKIP() << "the Python module jsonschema is absent";
    if (code == 127) GTEST_SKIP() << "/usr/bin/python3 is absent";
    ASSERT_EQ(code, 0);
  }
};

TEST_F(Schema, AcceptsWhatIsWritten) {
  EXPECT_EQ(validate("cluster", writeCluster(clusterOf(data("cluster.json")))), 0);
  EXPECT_EQ(validate("graph", writeGraph(graphOf(data("graph.json")))), 0);
  EXPECT_EQ(validate("graph", writeGraph(graphOf(data("pipedream.json")))), 0);
  for (const char* file :
       {"problem.json", "problem.yaml", "dnn_partitioning.json", "moirai.json", "piper.json"}) {
    EXPECT_EQ(validate("problem", writeProblem(problemOf(data(file)))), 0) << file;
  }
}

TEST_F(Schema, AcceptsBlocksInputsAndOrders) {
  const std::string ops =
      R"("ops": [{"name": "a", "time": TIME, "weights": [{"name": "w", "bytes": "4kB"}]},
      {"name": "b", "time": TIME, "weights": [{"name": "w", "bytes": 4000}, {"name": "v", "bytes": 1}]}],
      "tensors": [{"to": ["a"], "bytes": 3}], "order_hint": ["b", "a"], "options": {"memory": "live"}})";
  const auto timed = [&](std::string text, const char* time) {
    for (std::size_t at = 0; (at = text.find("TIME")) != std::string::npos;) text.replace(at, 4, time);
    return text;
  };
  const std::string graph = timed(R"({"schema": "allot.graph/1", )" + ops, "1");
  const std::string problem =
      timed(R"({"schema": "allot.problem/1", "classes": [{"name": "g", "kind": "accelerator"}],
      "devices": [{"name": "d", "class": "g"}], )" +
                ops,
            "[1]");
  EXPECT_EQ(validate("graph", graph), 0);
  EXPECT_EQ(validate("graph", writeGraph(graphOf(graph))), 0);
  EXPECT_EQ(validate("problem", problem), 0);
  EXPECT_EQ(validate("problem", writeProblem(problemOf(problem))), 0);
  EXPECT_EQ(
      validate("graph", R"({"schema": "allot.graph/1", "ops": [{"name": "a", "weights": [{"bytes": 1}]}]})"),
      1);
}

TEST_F(Schema, AcceptsWrittenPlans) {
  const Problem problem =
      problemOf(R"({"schema": "allot.problem/1", "classes": [{"name": "gpu", "kind": "accelerator"}],
    "devices": [{"name": "g0", "class": "gpu"}, {"name": "g1", "class": "gpu"}], "models": [{"name": "m"}],
    "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [1]}, {"name": "c", "time": [1]}],
    "tensors": [{"from": "a", "to": ["b", "c"], "time": 0.5}], "goal": "latency"})");
  Warnings warnings;
  auto plan = readPlan(data("plan.json"), "plan.json", problem, warnings);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(validate("plan", writePlan(problem, *plan)), 0);
  plan->status = Status::kInfeasible;
  EXPECT_EQ(validate("plan", writePlan(problem, *plan)), 0);
}

TEST_F(Schema, RefusesWhatIsWrong) {
  EXPECT_EQ(validate("plan", data("cluster.json")), 1);
  EXPECT_EQ(
      validate("cluster", R"({"schema": "allot.cluster/1", "classes": [], "devices": [{"name": "d"}]})"), 1);
  EXPECT_EQ(validate("graph", R"({"schema": "allot.graph/1", "ops": [{"name": "a", "time": -1}]})"), 1);
}

}  // namespace
}  // namespace allot
