// --dtype: which arithmetic a model is estimated in, what that changes of its sizes, and who remembers it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "allot/catalogue.h"
#include "command_support.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

constexpr std::int64_t kBatch = 8, kSequence = 128, kHidden = 768, kWords = 30522;
constexpr std::int32_t kBFloat16 = 16;

// Two layers of BERT-base behind an embedding whose indices another op computes. `element`: of all floats.
std::string bert(std::int32_t element = kFloat) {
  GraphParts parts;
  const auto weight = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    parts.initializers.push_back(tensor(name, element, dims));
    return name;
  };
  const auto op = [&](std::string_view type, const Names& inputs, const std::string& output,
                      const std::vector<std::string>& attributes = {}) {
    parts.nodes.push_back(node(type, inputs, {output}, {.name = output, .attributes = attributes}));
    return output;
  };
  parts.inputs = {valueInfo("tokens", kInt64, {kBatch, kSequence})};
  parts.initializers.push_back(tensor("one", kInt64, {kBatch, kSequence}));
  op("Add", {"tokens", "one"}, "ids");
  std::string x = op("Gather", {weight("words", {kWords, kHidden}), "ids"}, "embedded");
  for (int layer = 0; layer < 2; ++layer) {
    const auto own = [&](std::string_view name) { return fmt::format("layer{}.{}", layer, name); };
    const auto dense = [&](const std::string& from, std::string_view name, std::int64_t in,
                           std::int64_t out) {
      const std::string product = op("MatMul", {from, weight(own(name) + ".w", {in, out})}, own(name));
      return op("Add", {product, weight(own(name) + ".b", {out})}, own(name) + ".sum");
    };
    const auto norm = [&](const std::string& from, std::string_view name) {
      return op("LayerNormalization", {from, weight(own(name) + ".g", {kHidden})}, own(name));
    };
    const std::string q = dense(x, "q", kHidden, kHidden), k = dense(x, "k", kHidden, kHidden);
    const std::string v = dense(x, "v", kHidden, kHidden);
    std::string order;
    protozero::pbf_writer writer(order);
    const std::int64_t axes[] = {0, 2, 1};
    writer.add_string(1, "perm");
    writer.add_packed_int64(8, std::begin(axes), std::end(axes));
    writer.add_int32(20, 7);
    const std::string turned = op("Transpose", {k}, own("k.turned"), {order});
    const std::string share = op("Softmax", {op("MatMul", {q, turned}, own("scores"))}, own("share"));
    const std::string read = op("MatMul", {share, v}, own("read"));
    const std::string out = dense(read, "out", kHidden, kHidden);
    x = norm(op("Add", {x, out}, own("residual")), "norm");
    const std::string wide = op("Relu", {dense(x, "up", kHidden, 4 * kHidden)}, own("wide"));
    x = norm(op("Add", {x, dense(wide, "down", 4 * kHidden, kHidden)}, own("residual2")), "norm2");
  }
  parts.outputs = {valueInfo(x, element, {kBatch, kSequence, kHidden})};
  return model(graph(parts));
}

ReadOptions asking(std::optional<DataType> dtype) {
  ReadOptions options;
  options.dtype = dtype;
  return options;
}

Cluster clusterFor(std::string_view devices) {
  auto cluster = clusterFromShortForm(devices, "");
  EXPECT_TRUE(cluster) << cluster.error().text();
  return cluster ? *cluster : Cluster();
}

// Sum of the times of all ops on one class.
double seconds(const Problem& problem, std::size_t cls) {
  double sum = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) sum += problem.opSeconds(OpId(i), ClassId(cls));
  return sum;
}

double weightBytes(const OpGraph& graph) {
  double sum = 0;
  for (const std::int64_t bytes : graph.op_weight_bytes) sum += static_cast<double>(bytes);
  for (const std::int64_t bytes : graph.block_bytes) sum += static_cast<double>(bytes);
  return sum;
}

TEST(Dtype, SizesFollowTheWidthAskedFor) {
  const GraphFile own = graphOf(bert());
  EXPECT_FALSE(own.dtype);
  // The table of ones is of whole numbers: it keeps its bytes.
  const double whole = 8.0 * kBatch * kSequence;
  for (const auto& [dtype, share] : std::vector<std::pair<DataType, double>>{{DataType::kFloat32, 1},
                                                                             {DataType::kTf32, 1},
                                                                             {DataType::kFloat16, 0.5},
                                                                             {DataType::kBFloat16, 0.5},
                                                                             {DataType::kFloat8, 0.25},
                                                                             {DataType::kInt8, 0.25}}) {
    const GraphFile asked = graphOf(bert(), asking(dtype));
    EXPECT_EQ(asked.dtype, dtype);
    // Nothing but sizes differs, so that plans of both can be compared.
    ASSERT_EQ(asked.graph.op_name, own.graph.op_name);
    ASSERT_EQ(asked.graph.tensorCount(), own.graph.tensorCount());
    EXPECT_EQ(asked.graph.op_flops, own.graph.op_flops);
    EXPECT_EQ(asked.graph.op_group, own.graph.op_group);
    const OpId ids = opNamed(own.graph, "ids");
    for (std::size_t t = 0; t < own.graph.tensorCount(); ++t) {
      const double kept = own.graph.tensor_producer[t] == ids ? 1 : share;
      EXPECT_EQ(asked.graph.tensor_bytes[t], kept * static_cast<double>(own.graph.tensor_bytes[t]))
          << own.graph.op_name[own.graph.tensor_producer[t].index()];
    }
    EXPECT_EQ(weightBytes(asked.graph) - whole, share * (weightBytes(own.graph) - whole)) << name(dtype);
    for (std::size_t i = 0; i < own.graph.opCount(); ++i) {
      const std::string& op = own.graph.op_name[i];
      if (op == "ids" || op == "embedded") continue;
      EXPECT_EQ(asked.graph.op_read_bytes[i], share * static_cast<double>(own.graph.op_read_bytes[i])) << op;
      EXPECT_EQ(asked.graph.op_written_bytes[i], share * static_cast<double>(own.graph.op_written_bytes[i]))
          << op;
      EXPECT_EQ(asked.graph.op_data_type[i], dtype == DataType::kTf32 ? DataType::kFloat32 : dtype) << op;
    }
    EXPECT_EQ(asked.graph.op_data_type[ids.index()], DataType::kOther);
    EXPECT_EQ(asked.graph.op_read_bytes[ids.index()], own.graph.op_read_bytes[ids.index()]);
    const std::size_t gather = opNamed(own.graph, "embedded").index();
    EXPECT_EQ(asked.graph.op_read_bytes[gather] - whole,
              share * (static_cast<double>(own.graph.op_read_bytes[gather]) - whole));
  }
}

TEST(Dtype, AHalfModelCanBeAskedForInFull) {
  for (const std::int32_t half : {kFloat16, kBFloat16}) {
    const GraphFile own = graphOf(bert(half)), wide = graphOf(bert(half), asking(DataType::kFloat32));
    EXPECT_EQ(weightBytes(own.graph), weightBytes(graphOf(bert(), asking(DataType::kFloat16)).graph));
    EXPECT_EQ(weightBytes(wide.graph), weightBytes(graphOf(bert()).graph));
    EXPECT_EQ(wide.graph.tensor_bytes, graphOf(bert()).graph.tensor_bytes);
  }
}

TEST(Dtype, WhatIsQuantisedStays) {
  GraphParts parts{
      .nodes = {node("DequantizeLinear", {"packed", "scale"}, {"w"}), node("MatMul", {"x", "w"}, {"y"})},
      .initializers = {tensor("packed", kInt8, {64, 32}), tensor("scale", kFloat, {})},
      .inputs = {valueInfo("x", kFloat, {16, 64})},
      .outputs = {valueInfo("y", kFloat, {16, 32})}};
  const std::string text = model(parts);
  EXPECT_EQ(weightBytes(graphOf(text).graph), 64 * 32 + 4);
  EXPECT_EQ(weightBytes(graphOf(text, asking(DataType::kFloat16)).graph), 64 * 32 + 2);
}

// Zeros of both widths look alike in the file, but one tensor has twice as many of them.
TEST(Dtype, EqualBytesOfOtherTypesAreNotOneBlock) {
  const std::string zeros(4 * 64 * 32, '\0');
  GraphParts parts{
      .nodes = {node("MatMul", {"x", "wide"}, {"a"}),
                node("Cast", {"a"}, {"b"}, {.attributes = {attribute("to", kFloat16)}}),
                node("MatMul", {"b", "half"}, {"y"})},
      .initializers = {tensor("wide", kFloat, {64, 32}, zeros), tensor("half", kFloat16, {32, 128}, zeros)},
      .inputs = {valueInfo("x", kFloat, {16, 64})},
      .outputs = {valueInfo("y", kFloat16, {16, 128})}};
  const std::string text = model(parts);
  EXPECT_EQ(weightBytes(graphOf(text).graph), 4 * 64 * 32 + 2 * 32 * 128);
  EXPECT_EQ(weightBytes(graphOf(text, asking(DataType::kFloat16)).graph), 2 * 64 * 32 + 2 * 32 * 128);
  EXPECT_EQ(weightBytes(graphOf(text, asking(DataType::kFloat32)).graph), 4 * 64 * 32 + 4 * 32 * 128);
}

// A data-centre GPU lost to a gaming card, because fp32 peaks without TF32 were taken unsaid.
TEST(Dtype, AnA100BeatsAnRtx3090UnlessTf32IsForbidden) {
  const Cluster cluster = clusterFor("A100-80GB,RTX3090");
  const auto costs = [&](std::optional<DataType> dtype, bool a100_wins) {
    const Problem problem = problemOf(bert(), asking(dtype), &cluster);
    EXPECT_EQ(seconds(problem, 0) < seconds(problem, 1), a100_wins)
        << seconds(problem, 0) << " " << seconds(problem, 1);
    EXPECT_EQ(problem.modes.dtype, dtype);
    return problem.costs;
  };
  const std::string figures = fmt::format("; a100-80gb, rtx3090 from the catalogue of {})", catalogue().date);
  EXPECT_EQ(costs(std::nullopt, true),
            "estimated (roofline; TF32 products on a100-80gb (156 TFLOPS), rtx3090 (35.6), fp32 elsewhere; "
            "types of the model" +
                figures);
  EXPECT_EQ(
      costs(DataType::kTf32, true),
      "estimated (roofline; TF32 products on a100-80gb (156 TFLOPS), rtx3090 (35.6); --dtype tf32" + figures);
  EXPECT_EQ(
      costs(DataType::kFloat16, true),
      "estimated (roofline; fp16 products on a100-80gb (312 TFLOPS), rtx3090 (71); --dtype fp16" + figures);
  EXPECT_EQ(
      costs(DataType::kInt8, true),
      "estimated (roofline; int8 products on a100-80gb (624 TOPS), rtx3090 (284); --dtype int8" + figures);
  EXPECT_EQ(costs(DataType::kFloat32, false),
            "estimated (roofline; fp32 products on a100-80gb (19.5 TFLOPS), rtx3090 (35.58); --dtype fp32" +
                figures);
}

TEST(Dtype, DevicesWithoutTheUnitsRunWhatTheyHaveAndSaySo) {
  const Cluster cluster = clusterFor("T4,V100,P4");
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  const Problem wide = problemOf(bert(), {}, &cluster);
  has(wide.costs, "; fp32 products on t4 (8.141 TFLOPS), v100 (15.7), p4 (5.699); types of the model;");
  const Problem whole = problemOf(bert(), asking(DataType::kInt8), &cluster);
  has(whole.costs,
      "; int8 products on t4 (130.2 TOPS), fp32 products on p4 (5.699 TFLOPS) for want of int8, fp16 "
      "products "
      "on v100 (125 TFLOPS) for want of int8; --dtype int8;");
  // The P4 multiplies as slowly, but moves a quarter of the bytes.
  const OpId product = opNamed(wide.graph, "layer0.up"), sum = opNamed(wide.graph, "layer0.up.sum");
  EXPECT_GT(whole.opSeconds(product, ClassId(2)), 0.8 * wide.opSeconds(product, ClassId(2)));
  EXPECT_LT(whole.opSeconds(sum, ClassId(2)), 0.3 * wide.opSeconds(sum, ClassId(2)));
  has(problemOf(bert(), asking(DataType::kTf32), &cluster).costs,
      "fp32 products on t4 (8.141 TFLOPS), v100 (15.7), p4 (5.699) for want of TF32; --dtype tf32;");
}

class DtypeCli : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    save("bert.onnx", bert());
  }
  CommandAnswer run(const std::string& call, int code) const {
    const CommandAnswer answer = runCommand(call);
    EXPECT_EQ(answer.code, code) << call << "\n" << answer.out << answer.err;
    return answer;
  }
  static void has(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  static double valueOf(const std::string& json) {
    const std::size_t at = json.find("\"value\": ");
    return at == std::string::npos ? std::nan("") : std::stod(json.substr(at + 9));
  }
};

constexpr const char* kPair = " --cluster A100-80GB,RTX3090 --goal latency";

TEST_F(DtypeCli, ThePlanSaysItsArithmeticAndChecksWithoutBeingTold) {
  const CommandAnswer own = run(fmt::format("plan bert.onnx{}", kPair), 0);
  has(own.out, "TF32 products on a100-80gb (156 TFLOPS), rtx3090 (35.6), fp32 elsewhere; types of the model");
  run(fmt::format("plan bert.onnx{} --dtype fp16 -o plan.json", kPair), 0);
  const std::string plan = textOf((folder / "plan.json").string());
  has(plan, "\"dtype\": \"fp16\"");
  has(plan, "fp16 products on a100-80gb (312 TFLOPS), rtx3090 (71); --dtype fp16");
  for (const char* verb : {"check", "simulate", "explain", "export --to dot"})
    run(fmt::format("{} bert.onnx plan.json --cluster A100-80GB,RTX3090 --time-limit 1", verb), 0);
  has(run("explain bert.onnx plan.json --cluster A100-80GB,RTX3090 --time-limit 0", 0).out, "--dtype fp16");
  // Another arithmetic asked for is another problem.
  run("check bert.onnx plan.json --cluster A100-80GB,RTX3090 --dtype fp32", 7);
  const double half = valueOf(plan);
  EXPECT_LT(half, valueOf(run(fmt::format("plan bert.onnx{} --json", kPair), 0).out));
  save("options.yaml", "dtype: fp16\n");
  for (const char* way : {"--set dtype=fp16", "--config options.yaml", "--config - < options.yaml"}) {
    const bool stream = std::string_view(way).find('<') != std::string_view::npos;
    const CommandAnswer answer = run(fmt::format("plan bert.onnx{} --json {}", kPair, way), stream ? 2 : 0);
    if (!stream) {
      EXPECT_EQ(valueOf(answer.out), half) << way;
    }
  }
}

TEST_F(DtypeCli, FilesRememberIt) {
  run("import bert.onnx --dtype fp16 -o graph.json -q", 0);
  has(textOf((folder / "graph.json").string()), "\"dtype\": \"fp16\"");
  const double half = valueOf(run(fmt::format("plan bert.onnx{} --dtype fp16 --json", kPair), 0).out);
  const CommandAnswer again = run(fmt::format("plan graph.json{} --json", kPair), 0);
  EXPECT_EQ(valueOf(again.out), half);
  has(again.out, "--dtype fp16");
  run(fmt::format("plan graph.json{} --dtype fp16", kPair), 0);
  has(run(fmt::format("plan graph.json{} --dtype fp32", kPair), 2).err, "import the model itself again");
  // fp32 and TF32 have the same bytes.
  run("import bert.onnx -o wide.json -q", 0);
  has(run(fmt::format("plan wide.json{} --dtype fp32", kPair), 0).out, "(19.5 TFLOPS), rtx3090 (35.58)");
  has(run(fmt::format("plan wide.json{} --dtype int8", kPair), 2).err, "sizes in a graph file are those of");
  // Eight bits are a width like others.
  for (const std::string own : {"int8", "fp8"}) {
    const std::string other = own == "int8" ? "fp8" : "int8";
    run(fmt::format("import bert.onnx --dtype {} -o narrow.json -q", own), 0);
    for (const char* wide : {"fp32", "tf32", "fp16", "bf16"})
      has(run(fmt::format("plan narrow.json{} --dtype {}", kPair, wide), 2).err,
          fmt::format("sizes in a graph file are those of {}, not of {}", own, wide));
    const double direct =
        valueOf(run(fmt::format("plan bert.onnx{} --dtype {} --json", kPair, other), 0).out);
    EXPECT_EQ(valueOf(run(fmt::format("plan narrow.json{} --dtype {} --json", kPair, other), 0).out), direct);
  }
  run("import bert.onnx --dtype fp32 -o strict.json -q", 0);
  has(run(fmt::format("plan strict.json{}", kPair), 0).out, "--dtype fp32");
  // A problem keeps it with its times.
  run(fmt::format("import bert.onnx{} --dtype fp16 -o problem.json -q", kPair), 0);
  const CommandAnswer kept = run("plan problem.json --json", 0);
  EXPECT_EQ(valueOf(kept.out), half);
  has(kept.out, "\"dtype\": \"fp16\"");
  run("plan problem.json --dtype fp16 -q", 0);
  has(run("plan problem.json --dtype fp32", 2).err, "were estimated for fp16");
}

TEST_F(DtypeCli, TimesThatAreGivenOrMeasuredAreNotChanged) {
  save("given.json", data("problem.json"));
  has(run("plan given.json --dtype fp16 --goal latency", 2).err, "given, not estimated");
  has(run("plan given.json --set dtype=fp16 --goal latency", 2).err, "--dtype");
  save("moirai.json", data("moirai.json"));
  has(run("plan moirai.json --dtype fp16", 2).err, "brings its own times");
  std::string times = "op,class,ms\n";
  for (const std::string& op : graphOf(bert()).graph.op_name) times += fmt::format("{},,1\n", op);
  save("times.csv", times);
  run(fmt::format("plan bert.onnx{} --times times.csv", kPair), 0);
  has(run(fmt::format("plan bert.onnx{} --times times.csv --dtype fp16", kPair), 2).err,
      "all times are measured");
  has(run(fmt::format("plan bert.onnx{} --dtype fp64", kPair), 2).err,
      "use fp32, tf32, fp16, bf16, fp8, int8");
  // Measured where somebody has, estimated for the rest.
  save("times.csv", "op,class,ms\nlayer0.q,,5\n");
  const CommandAnswer mixed = run(fmt::format("plan bert.onnx{} --times times.csv --dtype fp16", kPair), 0);
  has(mixed.out, "fp16 products on a100-80gb");
  has(mixed.out, "2 times measured (times.csv)");
}

// Where a graph's times leave nothing to estimate, its arithmetic is a mere remark, of the plan as well.
TEST_F(DtypeCli, PlansOfGraphsWithoutEstimatesAreTaken) {
  const auto expectTaken = [&](const std::string& input, const std::string& more) {
    const std::string rest = " --cluster A100-80GB,RTX3090 --time-limit 1" + more;
    run(fmt::format("plan {}{} --goal latency -o plan.json", input, rest), 0);
    for (const char* verb : {"check", "simulate", "explain", "export --to dot"}) {
      const std::string call = fmt::format("{} {} plan.json{}", verb, input, rest);
      run(call, 0);
      run(call + " --dtype fp16", 0);
      has(run(call + " --dtype bf16", 2).err, "nothing to estimate");
    }
  };
  save("timed.json", R"({"schema": "allot.graph/1", "options": {"dtype": "fp16"},
    "ops": [{"name": "x", "time": 1, "dtype": "fp16"}, {"name": "y", "time": 2, "dtype": "fp16"}],
    "tensors": [{"from": "x", "to": ["y"], "bytes": 8}]})");
  expectTaken("timed.json", "");
  EXPECT_NE(textOf((folder / "plan.json").string()).find("\"dtype\": \"fp16\""), std::string::npos);
  run("import bert.onnx --dtype fp16 -o graph.json -q", 0);
  std::string times = "op,class,ms\n";
  for (const std::string& op : graphOf(bert()).graph.op_name) times += fmt::format("{},,1\n", op);
  save("times.csv", times);
  expectTaken("graph.json", " --times times.csv");
  // A plan for estimates, checked with times of all ops, is another problem's, but no misuse.
  run("plan bert.onnx --cluster A100-80GB,RTX3090 --goal latency --dtype fp16 -o plan.json", 0);
  run("check bert.onnx plan.json --cluster A100-80GB,RTX3090 --times times.csv", 7);
}

TEST_F(DtypeCli, MemoryShrinksWithTheType) {
  const auto memory = [&](const char* dtype) {
    const std::string plan =
        run(fmt::format("plan bert.onnx --cluster A100-80GB --goal latency --json --dtype {}", dtype), 0).out;
    const std::size_t at = plan.find("\"memory\": ", plan.find("\"devices\": ["));
    return std::stod(plan.substr(at + 10));
  };
  const double wide = memory("fp32");
  EXPECT_NEAR(memory("fp16") / wide, 0.5, 0.01);
  EXPECT_NEAR(memory("int8") / wide, 0.25, 0.01);
}

TEST_F(DtypeCli, SeveralModelsKeepIt) {
  save("other.onnx", bert(kFloat16));
  const CommandAnswer both =
      run("plan bert.onnx other.onnx --cluster A100-80GB,RTX3090 --goal completion --dtype bf16 --gap 100% "
          "--json",
          0);
  has(both.out, "\"dtype\": \"bf16\"");
}

}  // namespace
}  // namespace allot
