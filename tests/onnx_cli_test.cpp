// From an ONNX file to plan, check, explanation, comparison and report, by the built command.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "command_support.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

// Four dense layers of 1,024 in single precision behind a symbolic batch.
std::string layersModel() {
  GraphParts parts;
  parts.inputs = {valueInfo("x", kFloat, {std::string("batch"), std::int64_t{1024}})};
  parts.outputs = {valueInfo("x4", kFloat, {std::string("batch"), std::int64_t{1024}})};
  for (int i = 0; i < 4; ++i) {
    const std::string from = i == 0 ? "x" : fmt::format("x{}", i);
    parts.initializers.push_back(tensor(fmt::format("w{}", i), kFloat, {1024, 1024}));
    parts.nodes.push_back(node("MatMul", {from, fmt::format("w{}", i)}, {fmt::format("h{}", i)},
                               {.name = fmt::format("layers.{}/dense", i)}));
    parts.nodes.push_back(node("Relu", {fmt::format("h{}", i)}, {fmt::format("x{}", i + 1)},
                               {.name = fmt::format("layers.{}/relu", i)}));
  }
  return model(graph(parts));
}

class OnnxCli : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    save("model.onnx", layersModel());
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }
};

constexpr const char* kDevices = " --dim batch=256 --cluster 1xT4,1xP100,cpu:8 --link pcie3 ";

TEST_F(OnnxCli, ImportSaysWhatIsKnown) {
  const CommandAnswer answer = runCommand("import model.onnx --dim batch=256");
  EXPECT_EQ(answer.code, 0) << answer.err;
  for (const char* part :
       {"8 ops", "16 MiB of weights", "largest activation 1 MiB", "MatMul", "cost not known: nothing"})
    EXPECT_TRUE(has(answer.out, part)) << part << "\n" << answer.out;
  const CommandAnswer json = runCommand("import model.onnx --dim batch=256 --json");
  EXPECT_TRUE(has(json.out, "\"flops\": 2148532224")) << json.out;  // 4 x (2 x 256 x 1024^2 + 256 x 1024)
  EXPECT_TRUE(has(json.out, "\"unknown_cost\": {}")) << json.out;
}

TEST_F(OnnxCli, EveryVerbWorksOnTheModelItself) {
  for (const char* goal : {"latency", "throughput"}) {
    const CommandAnswer plan =
        runCommand(fmt::format("plan model.onnx{}--goal {} -o plan.json", kDevices, goal));
    EXPECT_EQ(plan.code, 0) << plan.err;
    EXPECT_TRUE(has(plan.out, "estimated (roofline")) << plan.out;
    for (const char* verb : {"check", "explain", "simulate", "report"}) {
      const CommandAnswer answer =
          runCommand(fmt::format("{} model.onnx plan.json{}--time-limit 1", verb, kDevices));
      EXPECT_EQ(answer.code, 0) << verb << ": " << answer.err;
    }
    EXPECT_TRUE(has(readFile((folder / "report.html").string()).value_or(""), "estimated (roofline"));
    const CommandAnswer compared = runCommand(fmt::format(
        "compare model.onnx{}--goal {} --solvers single,accelerate-balanced,portfolio", kDevices, goal));
    EXPECT_EQ(compared.code, 0) << compared.err;
    EXPECT_TRUE(has(compared.out, "accelerate-balanced")) << compared.out;
    EXPECT_TRUE(has(compared.out, "estimated (roofline")) << compared.out;
  }
}

TEST_F(OnnxCli, AGraphFileOfTheModelPlansTheSame) {
  EXPECT_EQ(runCommand("import model.onnx --dim batch=256 -q -o graph.json").code, 0);
  const std::string rest = " --cluster 1xT4,cpu:8 --goal latency --json";
  const auto value = [](const std::string& text) {
    const std::size_t at = text.find("\"value\":");
    return text.substr(at, text.find('\n', at) - at);
  };
  const std::string direct = value(runCommand("plan model.onnx --dim batch=256" + rest).out);
  EXPECT_FALSE(direct.empty());
  EXPECT_EQ(direct, value(runCommand("plan graph.json" + rest).out));
}

TEST_F(OnnxCli, MeasuredTimesGoFirst) {
  save("times.csv", "op,class,ms\nlayers.0/dense,t4,5000\n");
  const CommandAnswer answer =
      runCommand("plan model.onnx --dim batch=256 --cluster 1xT4 --times times.csv --goal latency");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_TRUE(has(answer.out, "1 times measured (times.csv)")) << answer.out;
  EXPECT_TRUE(has(answer.out, "5.0")) << answer.out;
}

TEST_F(OnnxCli, EveryModelTakesTheDimensionsThatItHas) {
  GraphParts parts{.nodes = {node("Relu", {"x"}, {"y"})},
                   .inputs = {valueInfo("x", kFloat, {std::string("batch"), std::string("sequence")})},
                   .outputs = {valueInfo("y", kFloat, {std::string("batch"), std::string("sequence")})}};
  save("text.onnx", model(graph(parts)));
  save("timed.json", R"({"schema": "allot.graph/1", "ops": [{"name": "x", "time": 1}], "tensors": []})");
  const auto plan = [&](const std::string& inputs, const std::string& dims, int code) {
    const CommandAnswer answer = runCommand(fmt::format(
        "plan {} {} --cluster 1xT4,1xP100 --goal completion --gap 100% -q -o plan.json", inputs, dims));
    EXPECT_EQ(answer.code, code) << inputs << " " << dims << ": " << answer.err;
    return answer.err;
  };
  for (const char* both :
       {"model.onnx text.onnx", "text.onnx model.onnx", "model.onnx timed.json text.onnx"}) {
    plan(both, "--dim batch=8 --dim sequence=16", 0);
    EXPECT_EQ(
        runCommand(
            fmt::format("check {} plan.json --cluster 1xT4,1xP100 --dim batch=8 --dim sequence=16", both))
            .code,
        0);
    EXPECT_TRUE(
        has(plan(both, "--dim batch=8 --dim sequence=16 --dim seqence=4", 3), "no dimension \"seqence\""));
    EXPECT_TRUE(has(plan(both, "--dim batch=8", 3), "add --dim sequence=128"));
  }
  EXPECT_TRUE(has(plan("model.onnx", "--dim batch=8 --dim sequence=16", 3), "no dimension \"sequence\""));
  EXPECT_TRUE(has(plan("model.onnx timed.json", "--dim batch=8 --dim sequence=16", 3), "use one of batch"));
  plan("timed.json timed.json", "--dim batch=8", 2);
}

TEST_F(OnnxCli, WrongInputIsOneLineWithARemedy) {
  struct Case {
    const char *call, *part;
  };
  for (const Case& wrong :
       {Case{"import model.onnx", "--dim batch=1"},
        Case{"import model.onnx --dim bach=8 --dim batch=8", "batch"},
        Case{"plan model.onnx --dim batch=8 --goal latency --cluster 1xT5", "did you mean t4"},
        Case{"plan model.onnx --dim batch=8 --goal latency --cluster 1xT4,cpu:8 --link pcie9", "pcie"},
        Case{"plan model.onnx --dim batch=8 --goal latency --cluster missing.yaml", "missing.yaml"},
        Case{"plan model.onnx --dim batch=8 --goal latency", "--cluster"}}) {
    const CommandAnswer answer = runCommand(wrong.call);
    EXPECT_EQ(answer.code, 3) << wrong.call << ": " << answer.err;
    EXPECT_TRUE(has(answer.err, wrong.part)) << wrong.call << ": " << answer.err;
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  }
  EXPECT_EQ(runCommand("import model.onnx --dim batch").code, 2);
  EXPECT_EQ(runCommand("import model.onnx --dim batch=-1").code, 2);
}

}  // namespace
}  // namespace allot
