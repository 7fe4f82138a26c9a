// Where times come from is said on every way from a file to an answer, and never "given" where a time was
// not.
#include "cost/provenance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "command_support.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

std::string joined(std::vector<std::string> lines) {
  return joinProvenance(lines);
}

TEST(Provenance, OneKindKeepsItsNameAndJoinsItsSources) {
  EXPECT_EQ(joined({"given", "given"}), "given");
  EXPECT_EQ(joined({"measured (a.csv)", "measured (b.csv)", "measured (a.csv)"}), "measured (a.csv; b.csv)");
  EXPECT_EQ(joined({"measured", "measured (b.csv)"}), "measured (b.csv)");
  EXPECT_EQ(joined({"estimated (roofline; t4 from the catalogue of 2026-08; 2 ops of unknown cost)",
                    "estimated (roofline; t4 from the catalogue of 2026-08; 3 ops of unknown cost)"}),
            "estimated (roofline; t4 from the catalogue of 2026-08; 5 ops of unknown cost)");
  EXPECT_EQ(joined({"by hand"}), "by hand");
  EXPECT_EQ(joined({"by hand (2026)", "by hand (2026)"}), "by hand (2026)");
  EXPECT_EQ(joined({}), "given");
  EXPECT_EQ(joined({"", ""}), "given");
}

TEST(Provenance, SeveralKindsAreMixed) {
  EXPECT_EQ(joined({"given", "estimated (roofline; t4)"}), "mixed (given; estimated (roofline; t4))");
  EXPECT_EQ(joined({"mixed (given; 2 times measured (a.csv))", "3 times measured (a.csv)"}),
            "mixed (given; 5 times measured (a.csv))");
  EXPECT_EQ(joined({"mixed (estimated (x; y); 2 times given)", "measured (a (1; 2).csv)"}),
            "mixed (estimated (x; y); 2 times given; measured (a (1; 2).csv))");
  EXPECT_EQ(joined({"by hand", "given"}), "mixed (by hand; given)");
  for (const std::string text : {"mixed (", "mixed ()", "estimated (", "(", ")", "7", "7 ", "mixed (a; b"})
    EXPECT_EQ(joined({text}), text) << "free text stays as it is";
}

TEST(Provenance, AnyNumberOfItemsIsJoinedAtOnce) {
  std::string items;
  for (int i = 0; i < 150'000; ++i) items += fmt::format("{}source{}", i == 0 ? "" : "; ", i);
  const std::string line = fmt::format("mixed ({})", items);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(joined({line, line}), line);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

std::string denseModel(const std::string& name) {
  GraphParts parts;
  parts.inputs = {valueInfo("x", kFloat, {std::int64_t{64}, std::int64_t{256}})};
  parts.outputs = {valueInfo("y", kFloat, {std::int64_t{64}, std::int64_t{256}})};
  parts.initializers.push_back(tensor("w", kFloat, {256, 256}));
  parts.nodes.push_back(node("MatMul", {"x", "w"}, {"h"}, {.name = name + "/dense"}));
  parts.nodes.push_back(node("Relu", {"h"}, {"y"}, {.name = name + "/relu"}));
  return model(graph(parts));
}

constexpr const char* kRig = R"({"schema": "allot.cluster/1",
  "classes": [{"name": "t4", "device": "t4"}, {"name": "cpu8", "kind": "cpu", "device": "cpu:8"}],
  "devices": [{"name": "g", "class": "t4"}, {"name": "c", "class": "cpu8"}],
  "links": [{"from": "*", "to": "*", "latency": "5us", "bandwidth": "10GB/s"}]})";

class ProvenanceCli : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    save("a.onnx", denseModel("a"));
    save("b.onnx", denseModel("b"));
    save("rig.json", kRig);
    save("timed.json", R"({"schema": "allot.graph/1", "name": "timed", "ops": [{"name": "x", "time": 1},
      {"name": "y", "time": {"t4": 1, "cpu8": 2}}], "tensors": [{"from": "x", "to": ["y"], "bytes": 8}]})");
    save("half.json", R"({"schema": "allot.graph/1", "name": "half", "ops": [{"name": "x", "time": 1},
      {"name": "y", "flops": 1e9, "read": 1000, "written": 1000}], "tensors": [{"from": "x", "to": ["y"], "bytes": 8}]})");
  }

  // What the JSON of a call says of its costs; the call must succeed.
  std::string costsOf(const std::string& call) const {
    const CommandAnswer answer = runCommand(call + " --json");
    EXPECT_EQ(answer.code, 0) << call << ": " << answer.err;
    const std::size_t at = answer.out.find("\"costs\": \"");
    if (at == std::string::npos) return "none in " + answer.out;
    const std::size_t begin = at + 10;
    return answer.out.substr(begin, answer.out.find('"', begin) - begin);
  }
  std::string saved(const std::string& name) const { return readFile((folder / name).string()).value_or(""); }

  // Every verb that prints or writes times of these inputs says where they come from.
  void expectEverywhere(const std::string& inputs, const std::string& options, const std::string& goal,
                        const std::string& costs) const {
    const std::string planned = inputs + " plan.json " + options;
    EXPECT_EQ(costsOf(fmt::format("plan {} {} --goal {} -o plan.json", inputs, options, goal)), costs);
    EXPECT_EQ(
        costsOf(fmt::format("plan {} {} --goal {} --fuse ort-cpu --seed 3 --robust", inputs, options, goal)),
        costs);
    EXPECT_EQ(
        costsOf(fmt::format("compare {} {} --goal {} --solvers single,portfolio", inputs, options, goal)),
        costs);
    EXPECT_EQ(costsOf("check " + planned), costs);
    EXPECT_EQ(costsOf("simulate " + planned), costs);
    EXPECT_EQ(costsOf("explain " + planned + " --time-limit 0.2"), costs);
    EXPECT_EQ(costsOf("export " + planned + " --to json"), costs);
    // A plan file that claims something else changes nothing.
    std::string forged = saved("plan.json");
    const std::size_t at = forged.find(costs);
    ASSERT_NE(at, std::string::npos) << forged;
    save("plan.json", forged.replace(at, costs.size(), "given, says the plan"));
    EXPECT_EQ(costsOf("export " + planned + " --to json"), costs);
    EXPECT_EQ(runCommand("report " + planned + " -q -o report.html --time-limit 0.2").code, 0);
    EXPECT_NE(saved("report.html").find("\"costs\": \"" + costs + "\""), std::string::npos);
    EXPECT_EQ(saved("report.html").find("given, says the plan"), std::string::npos);
    const std::string line = "times       " + costs;
    for (const char* verb : {"check", "simulate", "explain"}) {
      const CommandAnswer text = runCommand(fmt::format("{} {} --time-limit 0.2", verb, planned));
      EXPECT_EQ(text.out.find(line) != std::string::npos, costs != "given") << verb << text.out;
    }
  }
};

constexpr const char* kFigures = "t4, cpu:8 from the catalogue of ";

TEST_F(ProvenanceCli, OneModel) {
  const std::string costs = costsOf("plan a.onnx --cluster rig.json --goal latency");
  EXPECT_EQ(costs.rfind("estimated (roofline; ", 0), 0u) << costs;
  EXPECT_NE(costs.find(kFigures), std::string::npos) << costs;
  expectEverywhere("a.onnx", "--cluster rig.json", "latency", costs);
  expectEverywhere("a.onnx", "--cluster rig.json", "throughput", costs);
}

TEST_F(ProvenanceCli, SeveralModelsInOnePlan) {
  const std::string costs = costsOf("plan a.onnx --cluster rig.json --goal latency");
  expectEverywhere("a.onnx b.onnx", "--cluster rig.json", "completion", costs);
  expectEverywhere("a.onnx timed.json", "--cluster rig.json", "completion",
                   fmt::format("mixed ({}; given)", costs));
}

TEST_F(ProvenanceCli, GivenIsSaidOfGivenTimesAlone) {
  expectEverywhere("timed.json", "--cluster rig.json", "latency", "given");
  expectEverywhere("timed.json timed.json", "--cluster rig.json", "completion", "given");
  const std::string costs = costsOf("plan half.json --cluster rig.json --goal latency");
  EXPECT_EQ(costs.rfind("mixed (estimated (roofline; ", 0), 0u) << costs;
  EXPECT_NE(costs.find("; 2 times given)"), std::string::npos) << costs;
  expectEverywhere("half.json", "--cluster rig.json", "latency", costs);
}

TEST_F(ProvenanceCli, MeasuredTimes) {
  save("some.csv", "op,class,ms\na/dense,t4,1\na/dense,cpu8,2\n");
  const std::string mixed = costsOf("plan a.onnx --cluster rig.json --times some.csv --goal latency");
  EXPECT_EQ(mixed.rfind("mixed (estimated (", 0), 0u) << mixed;
  EXPECT_NE(mixed.find("; 2 times measured (some.csv))"), std::string::npos) << mixed;
  expectEverywhere("a.onnx", "--cluster rig.json --times some.csv", "latency", mixed);
  save("all.csv", "op,ms\na/dense,1\na/relu,1\n");
  expectEverywhere("a.onnx", "--cluster rig.json --times all.csv", "latency", "measured (all.csv)");
}

TEST_F(ProvenanceCli, FilesKeepIt) {
  const std::string costs = costsOf("plan a.onnx --cluster rig.json --goal latency");
  EXPECT_EQ(costsOf("import a.onnx --cluster rig.json -o problem.json"), costs);
  expectEverywhere("problem.json", "", "latency", costs);
  ASSERT_EQ(runCommand("import a.onnx -q -o graph.json").code, 0);
  expectEverywhere("graph.json", "--cluster rig.json", "latency", costs);
  expectEverywhere("problem.json problem.json", "", "completion", costs);
}

TEST_F(ProvenanceCli, WhatAFileSaysIsOneLine) {
  save("rude.json",
       R"({"schema": "allot.problem/1", "costs": "by\n\u001b[31mhand\u007f\u0000", "goal": "latency",
    "classes": [{"name": "g", "kind": "accelerator"}], "devices": [{"name": "g0", "class": "g"}],
    "ops": [{"name": "a", "time": [1]}], "tensors": []})");
  expectEverywhere("rude.json", "", "latency", "by  [31mhand  ");
}

TEST_F(ProvenanceCli, ChainsAndReplays) {
  save("chain.csv",
       "operator,speedup,cpu_total_us,gpu_total_us,cpu_avg_us,gpu_avg_us\nConv,8,8,1,8,1\nRelu,2,4,2,4,2\n");
  expectEverywhere("chain.csv", "", "completion", "measured (chain)");
  expectEverywhere("chain.csv", "--pack 0.5,2,10ms", "completion", "measured (chain)");
  EXPECT_EQ(costsOf("affinity chain.csv chain.csv"), "measured (chain)");
  ASSERT_EQ(runCommand("import a.onnx --cluster rig.json -q -o problem.json").code, 0);
  save("events.jsonl", "{\"schema\": \"allot.events/1\"}\n");
  const CommandAnswer replay = runCommand("simulate problem.json --events events.jsonl --json");
  EXPECT_NE(replay.out.find("\"costs\": \"estimated ("), std::string::npos) << replay.out << replay.err;
}

}  // namespace
}  // namespace allot
