// The cost model: physics, fall-backs, families, what is priced from what, and its error on public data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include "allot/catalogue.h"
#include "allot/cost.h"
#include "cost/roofline.h"
#include "formats/csv.h"
#include "formats_support.h"

namespace allot {
namespace {

DeviceSpec specOf(std::string_view device) {
  const auto found = catalogueDevice(device);
  EXPECT_TRUE(found) << device;
  return found ? found->spec : DeviceSpec();
}

double& peak(DeviceSpec& spec, DataType type) {
  return spec.peak_per_second[static_cast<std::size_t>(type)];
}

TEST(Roofline, NeverBelowTheDatasheetAndMonotone) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(0, 15);
  const auto& devices = catalogue().devices;
  for (int round = 0; round < 200'000; ++round) {
    const DeviceSpec& spec = devices[random() % devices.size()].spec;
    OpWork work{static_cast<OpFamily>(random() % 6), static_cast<DataType>(random() % kDataTypeCount),
                std::pow(10, exponent(random)), std::pow(10, exponent(random))};
    const double seconds = estimateSeconds(work, spec);
    ASSERT_GE(seconds * (1 + 1e-12),
              std::max(work.flops / peakFor(spec, work.type), work.bytes / spec.memory_bytes_per_second));
    ASSERT_GE(seconds, spec.overhead_seconds);
    OpWork more = work;
    more.flops *= 1.5;
    ASSERT_GE(estimateSeconds(more, spec), seconds);
    more.bytes *= 1.5;
    ASSERT_GE(estimateSeconds(more, spec), estimateSeconds(work, spec));
  }
}

TEST(Roofline, ViewsCostNothing) {
  for (int family = 0; family < 6; ++family)
    EXPECT_EQ(estimateSeconds({static_cast<OpFamily>(family), DataType::kFloat32, 0, 0}, specOf("t4")), 0);
}

TEST(Roofline, PeaksFallBackAsDocumented) {
  DeviceSpec spec;
  EXPECT_FALSE(canEstimate(spec));
  peak(spec, DataType::kFloat32) = 10e12;
  EXPECT_FALSE(canEstimate(spec));
  spec.memory_bytes_per_second = 1e11;
  EXPECT_TRUE(canEstimate(spec));
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat8, DataType::kFloat4,
                              DataType::kInt8, DataType::kInt4, DataType::kOther, DataType::kUnknown})
    EXPECT_EQ(peakFor(spec, type), 10e12);
  EXPECT_EQ(peakFor(spec, DataType::kFloat64), 5e12);
  peak(spec, DataType::kFloat16) = 80e12;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat8, DataType::kFloat4,
                              DataType::kInt8, DataType::kInt4})
    EXPECT_EQ(peakFor(spec, type), 80e12);
  peak(spec, DataType::kInt8) = 160e12;
  EXPECT_EQ(peakFor(spec, DataType::kInt4), 160e12);
  EXPECT_EQ(peakFor(spec, DataType::kFloat8), 80e12);
  peak(spec, DataType::kFloat32) = 0;
  EXPECT_EQ(peakFor(spec, DataType::kFloat32), 20e12);
}

TEST(Roofline, NarrowArithmeticIsFasterWhereTheDeviceHasIt) {
  const OpWork wide{OpFamily::kMatmul, DataType::kFloat32, 1e12, 1e8};
  const OpWork narrow{OpFamily::kMatmul, DataType::kFloat16, 1e12, 5e7};
  EXPECT_GT(estimateSeconds(wide, specOf("a100")), 5 * estimateSeconds(narrow, specOf("a100")));
  EXPECT_NEAR(estimateSeconds(wide, specOf("p4")) / estimateSeconds(narrow, specOf("p4")), 1, 0.1);
}

TEST(Families, ByTypeOfManySpellings) {
  for (const char* type : {"MatMul", "Gemm", "QLinearMatMul", "MatMulInteger", "com.microsoft.MatMulNBits",
                           "aten::addmm", "aten.bmm", "Linear", "LSTM", "FusedMatMul", "Einsum"})
    EXPECT_EQ(familyOf(type), OpFamily::kMatmul) << type;
  for (const char* type :
       {"Conv", "ConvTranspose", "QLinearConv", "ConvInteger", "conv2d", "com.microsoft:FusedConv"})
    EXPECT_EQ(familyOf(type), OpFamily::kConvolution) << type;
  for (const char* type : {"Attention", "MultiHeadAttention", "com.microsoft::GroupQueryAttention"})
    EXPECT_EQ(familyOf(type), OpFamily::kAttention) << type;
  for (const char* type : {"LayerNormalization", "SkipLayerNormalization", "BatchNormalization", "Softmax",
                           "LogSoftmax", "RMSNormalization", "EmbedLayerNormalization"})
    EXPECT_EQ(familyOf(type), OpFamily::kNormalisation) << type;
  for (const char* type : {"Gather", "GatherND", "Embedding", "ScatterElements"})
    EXPECT_EQ(familyOf(type), OpFamily::kGather) << type;
  for (const char* type : {"Add", "Relu", "Gelu", "Transpose", "Concat", "", "DequantizeLinear",
                           "QuantizeLinear", "MaxPool", "ReduceMean", "SomethingNew", "DynamicQuantizeLinear",
                           "QLinearAdd", "RotaryEmbedding", "upsample_bilinear2d"})
    EXPECT_EQ(familyOf(type), OpFamily::kElementwise) << type;
}

// Two ops with work, a view between them and an op of unknown cost behind.
GraphFile smallGraph() {
  return graphOf(R"({"schema": "allot.graph/1", "name": "small", "ops": [
    {"name": "product", "type": "MatMul", "flops": 2e9, "read": 8000000, "written": 4000000, "weights": 4000000, "dtype": "fp16"},
    {"name": "view", "type": "Reshape"},
    {"name": "sum", "type": "Add", "flops": 1000000, "read": 8000000, "written": 4000000, "dtype": "fp16"},
    {"name": "odd", "type": "Custom", "cost-unknown": true}],
    "tensors": [{"from": "product", "to": ["view"], "bytes": 4000000}, {"from": "view", "to": ["sum"], "bytes": 4000000},
                {"from": "sum", "to": ["odd"], "bytes": 4000000}]})");
}

Cluster twoKinds() {
  auto cluster = clusterFromShortForm("A100-80GB,T4", "");
  EXPECT_TRUE(cluster);
  return *cluster;
}

TEST(PriceGraph, FillsEveryClass) {
  GraphFile file = smallGraph();
  const Cluster cluster = twoKinds();
  const auto report = priceGraph(file, cluster);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->estimated, 8u);
  EXPECT_EQ(report->given + report->measured, 0u);
  ASSERT_EQ(report->unpriced.size(), 1u);
  EXPECT_EQ(report->unpriced.at("Custom"), 1u);
  EXPECT_EQ(file.graph.op_activation_bytes[0], 4'000'000);
  EXPECT_EQ(file.graph.op_activation_bytes[3], 0);
  const auto problem = makeProblem(std::move(file), cluster);
  ASSERT_TRUE(problem) << problem.error().text();
  EXPECT_NE(problem->costs.find("estimated (roofline; a100-80gb, t4 from the catalogue of 20"),
            std::string::npos)
      << problem->costs;
  EXPECT_NE(problem->costs.find("1 ops of unknown cost"), std::string::npos) << problem->costs;
  for (std::size_t c = 0; c < 2; ++c) {
    const DeviceSpec& spec = *cluster.classes[c].spec;
    EXPECT_EQ(problem->opSeconds(OpId(0), ClassId(c)),
              estimateSeconds({OpFamily::kMatmul, DataType::kFloat16, 2e9, 12e6}, spec));
    EXPECT_EQ(problem->opSeconds(OpId(1), ClassId(c)), 0);
    // Priced by the tensor it reads.
    EXPECT_EQ(problem->opSeconds(OpId(3), ClassId(c)),
              estimateSeconds({OpFamily::kElementwise, DataType::kUnknown, 0, 4e6}, spec));
  }
  EXPECT_LT(problem->opSeconds(OpId(0), ClassId(0)), problem->opSeconds(OpId(0), ClassId(1)));
}

TEST(PriceGraph, ActivationsAreHeldUnlessMemoryIsLive) {
  GraphFile file = smallGraph();
  ASSERT_TRUE(priceGraph(file, twoKinds()));
  auto problem = makeProblem(std::move(file), twoKinds());
  ASSERT_TRUE(problem) << problem.error().text();
  Modes modes;
  modes.goal = Goal::kLatency;
  ASSERT_TRUE(problem->setModes(modes));
  EXPECT_EQ(problem->residentBytes(OpId(0)), 8e6);
  modes.memory = MemoryModel::kLive;
  ASSERT_TRUE(problem->setModes(modes));
  EXPECT_EQ(problem->residentBytes(OpId(0)), 4e6);
}

TEST(PriceGraph, MeasuredBeforeGivenBeforeEstimated) {
  GraphFile file = smallGraph();
  file.op_class_seconds[0] = {{"t4", 0.5}, {"a100-80gb", kCannotRun}};
  file.op_seconds[2] = 0.25;
  MeasuredTimes measured{"times.csv",
                         {{"product", {{"t4", 0.125}}},
                          {"odd", {{"", 3.0}, {"t4", 4.0}}},
                          {"ghost", {{"", 1.0}}},
                          {"view", {{"h100", 1.0}}}}};
  const Cluster cluster = twoKinds();
  const auto report = priceGraph(file, cluster, &measured);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->measured, 3u);
  EXPECT_EQ(report->given, 3u);
  EXPECT_EQ(report->estimated, 2u);
  EXPECT_TRUE(report->unpriced.empty());
  ASSERT_EQ(report->warnings.size(), 2u);
  EXPECT_NE(report->warnings[0].find("\"ghost\""), std::string::npos) << report->warnings[0];
  EXPECT_NE(report->warnings[0].find("1 of 4"), std::string::npos) << report->warnings[0];
  EXPECT_NE(report->warnings[1].find("\"h100\""), std::string::npos) << report->warnings[1];
  const auto problem = makeProblem(std::move(file), cluster);
  ASSERT_TRUE(problem) << problem.error().text();
  EXPECT_EQ(problem->opSeconds(OpId(0), ClassId(0)), kCannotRun);
  EXPECT_EQ(problem->opSeconds(OpId(0), ClassId(1)), 0.125);
  EXPECT_EQ(problem->opSeconds(OpId(2), ClassId(0)), 0.25);
  EXPECT_EQ(problem->opSeconds(OpId(3), ClassId(0)), 3);
  EXPECT_EQ(problem->opSeconds(OpId(3), ClassId(1)), 4);
  EXPECT_NE(problem->costs.find("3 times measured (times.csv)"), std::string::npos) << problem->costs;
}

TEST(PriceGraph, AClassWithoutFiguresNeedsTimes) {
  Cluster cluster = twoKinds();
  cluster.classes[1].spec.reset();
  GraphFile file = smallGraph();
  auto report = priceGraph(file, cluster);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().text().find("--times"), std::string::npos) << report.error().text();
  EXPECT_NE(report.error().text().find("\"t4\""), std::string::npos);
  file = smallGraph();
  const auto problem = makeProblem(std::move(file), cluster);
  ASSERT_FALSE(problem);
  EXPECT_NE(problem.error().text().find("no time on class"), std::string::npos);
  cluster.classes[1].spec.emplace();
  file = smallGraph();
  report = priceGraph(file, cluster);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("peak and bandwidth"), std::string::npos);
}

TEST(PriceGraph, AGraphThatSaysNothingIsNotFree) {
  GraphFile file = graphOf(R"({"schema": "allot.graph/1", "ops": [{"name": "a"}, {"name": "b"}],
    "tensors": [{"from": "a", "to": ["b"], "bytes": 5}]})");
  const auto report = priceGraph(file, twoKinds());
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("neither times nor flops"), std::string::npos);
}

TEST(PriceGraph, HugeSizesStayFinite) {
  GraphFile file = graphOf(
      R"({"schema": "allot.graph/1", "ops": [{"name": "a", "flops": 1e300, "type": "MatMul"}, {"name": "b"}],
    "tensors": [{"from": "a", "to": ["b"], "bytes": 1152921504606846976}, {"from": "a", "to": ["b"], "bytes": 1152921504606846976}]})");
  ASSERT_TRUE(priceGraph(file, twoKinds()));
  EXPECT_LE(file.op_class_seconds[0][0].second, kMaxSeconds);
}

// Mean relative error of the estimates by device.
struct Errors {
  std::map<std::string, std::pair<double, std::size_t>> by_device;

  void add(const std::string& device, double estimated, double measured) {
    auto& [sum, count] = by_device[device];
    sum += std::fabs(estimated / measured - 1);
    ++count;
  }
  double mean(const std::string& device) const {
    const auto& [sum, count] = by_device.at(device);
    return sum / static_cast<double>(count);
  }
};

class PublicTimes : public testing::Test {
 protected:
  std::string folder;
  void SetUp() override {
    const char* data = std::getenv("ALLOT_DATA");
    if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA does not name the public data";
    folder = std::string(data) + "/op-times/";
  }
};

TEST_F(PublicTimes, ProductsIn16BitOfAiconfigurator) {
  const std::string text = textOf(folder + "aiconfigurator/gemm.csv");
  const auto table = CsvTable::parse(text);
  ASSERT_TRUE(table);
  const auto number = [&](std::size_t row, const char* column) {
    return *table->number(row, *table->column(column));
  };
  const std::map<std::string, std::string> ids{{"a100_sxm", "a100"},
                                               {"h200_sxm", "h200"},
                                               {"l40s", "l40s"},
                                               {"b60", "b60"},
                                               {"rtx_pro_6000_server", "rtx-pro-6000"}};
  Errors errors;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (table->field(row, *table->column("dtype")) != "bfloat16") continue;
    const std::string& device = table->field(row, *table->column("device"));
    const double m = number(row, "m"), n = number(row, "n"), k = number(row, "k");
    const OpWork work{OpFamily::kMatmul, DataType::kBFloat16, 2 * m * n * k, 2 * (m * k + n * k + m * n)};
    errors.add(device, estimateSeconds(work, specOf(ids.at(device))), number(row, "latency_ms") / 1e3);
  }
  // The catalogue's overhead of a call, not one fitted to this harness.
  for (const auto& [device, limit] : std::map<std::string, double>{{"a100_sxm", 0.40},
                                                                   {"h200_sxm", 0.35},
                                                                   {"l40s", 0.40},
                                                                   {"rtx_pro_6000_server", 0.40},
                                                                   {"b60", 0.40}}) {
    EXPECT_LT(errors.mean(device), limit) << device;
    RecordProperty(device, std::to_string(errors.mean(device)));
  }
}

TEST_F(PublicTimes, ProductsInFp32OfNeusight) {
  const std::string text = textOf(folder + "neusight/gemm.csv");
  const auto table = CsvTable::parse(text);
  ASSERT_TRUE(table);
  const auto number = [&](std::size_t row, const char* column) {
    return *table->number(row, *table->column(column));
  };
  Errors errors;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (table->field(row, *table->column("op")) != "linear") continue;
    const std::string& device = table->field(row, *table->column("device"));
    const double m = number(row, "m"), n = number(row, "n"), k = number(row, "k");
    const double measured = number(row, "latency_ms") / 1e3;
    if (measured < 1e-3) continue;  // the harness adds up to 60 us to each call
    const OpWork work{OpFamily::kMatmul, DataType::kFloat32, 2 * m * n * k, 4 * (m * n + n * k + m * k)};
    errors.add(device, estimateSeconds(work, specOf(device)), measured);
  }
  for (const auto& [device, limit] : std::map<std::string, double>{{"NVIDIA A100-PCIE-40GB", 0.20},
                                                                   {"NVIDIA A100 80GB PCIe", 0.20},
                                                                   {"NVIDIA L4", 0.35},
                                                                   {"Tesla T4", 0.30},
                                                                   {"Tesla V100-PCIE-32GB", 0.20},
                                                                   {"AMD Instinct MI210", 0.35},
                                                                   {"Tesla P4", 0.50}}) {
    EXPECT_LT(errors.mean(device), limit) << device;
    RecordProperty(device.substr(device.rfind(' ') + 1), std::to_string(errors.mean(device)));
  }
}

// "[[8, 512], [1]]" or "(8, 512)": the lists of numbers in it.
std::vector<std::vector<double>> shapesOf(const std::string& text) {
  std::vector<std::vector<double>> shapes;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] >= '0' && text[at] <= '9') {
      std::size_t used = 0;
      const double number = std::stod(text.substr(at), &used);
      if (shapes.empty()) shapes.emplace_back();
      shapes.back().push_back(number);
      at += used;
    } else {
      if (text[at] == '[' || text[at] == '(') shapes.emplace_back();
      ++at;
    }
  }
  shapes.erase(std::remove_if(shapes.begin(), shapes.end(), [](const auto& shape) { return shape.empty(); }),
               shapes.end());
  return shapes;
}

double elements(const std::vector<double>& shape) {
  double product = 1;
  for (const double side : shape) product *= side;
  return product;
}

// Work of a node of NeuSight's traces in fp32; nothing for views, scalars and drop-outs, which inference
// skips.
std::optional<OpWork> workOf(const std::string& target, const std::string& inputs,
                             const std::string& output) {
  const auto in = shapesOf(inputs);
  const auto outs = shapesOf(output);
  if (in.empty() || outs.empty() || elements(outs[0]) <= 1) return std::nullopt;
  const auto has = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return target.find(word) != std::string::npos; });
  };
  const double out = elements(outs[0]);
  double traffic = out;
  for (const auto& shape : in) traffic += elements(shape);
  OpWork work{OpFamily::kElementwise, DataType::kFloat32, out, 4 * traffic};
  if (has({"dropout", ".drop"})) return std::nullopt;
  if (has({"LayerNorm", "ln_", "softmax"})) {
    work.family = OpFamily::kNormalisation;
  } else if (has({"embeddings", "wte", "wpe"})) {
    work.family = OpFamily::kGather;
    work.bytes = 8 * out;
  } else if (has({"addmm", "matmul"})) {
    work = {OpFamily::kMatmul, DataType::kFloat32, 2 * out * in[in.size() - 2].back(), 4 * traffic};
  } else if (has({"query", "key", "value", "dense", "classifier", "decoder", "lm_head",
                  "seq_relationship"})) {
    const double depth = in[0].back();
    work = {OpFamily::kMatmul, DataType::kFloat32, 2 * out * depth, 4 * (traffic + depth * outs[0].back())};
  } else if (!has({"function add", "function mul", "truediv", "function sub", "pow", "tanh", "gelu", "where",
                   "contiguous", "activation"})) {
    return std::nullopt;
  }
  return work;
}

TEST_F(PublicTimes, WholeGraphsOfNeusight) {
  const std::string node_text = textOf(folder + "neusight/graph_nodes.csv");
  const std::string time_text = textOf(folder + "neusight/graph_times.csv");
  const auto nodes = CsvTable::parse(node_text), times = CsvTable::parse(time_text);
  ASSERT_TRUE(nodes && times);
  const auto text = [](const CsvTable& table, std::size_t row, const char* column) -> const std::string& {
    return table.field(row, *table.column(column));
  };
  std::map<std::pair<std::string, std::string>, OpWork> work;
  for (std::size_t row = 0; row < nodes->rows(); ++row) {
    const auto known = workOf(text(*nodes, row, "target"), text(*nodes, row, "input_shapes"),
                              text(*nodes, row, "output_shape"));
    if (known) work[{text(*nodes, row, "graph"), text(*nodes, row, "node")}] = *known;
  }
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> totals;  // device, graph
  for (std::size_t row = 0; row < times->rows(); ++row) {
    const std::string& graph = text(*times, row, "graph");
    std::string device = text(*times, row, "device");
    std::replace(device.begin(), device.end(), '_', ' ');
    const auto found = work.find({graph, text(*times, row, "node")});
    // A node of an MI250 ran on one of its two dies.
    if (found == work.end() || graph.find("-inf-") == std::string::npos ||
        device.find("MI250") != std::string::npos)
      continue;
    auto& [estimated, measured] = totals[{device, graph}];
    estimated += estimateSeconds(found->second, specOf(device));
    measured += *times->number(row, *times->column("fw_ms")) / 1e3;
  }
  Errors errors;
  for (const auto& [key, total] : totals) errors.add(key.first, total.first, total.second);
  ASSERT_GE(errors.by_device.size(), 6u);
  for (const auto& [device, sums] : errors.by_device) {
    EXPECT_LT(errors.mean(device), 0.30) << device;
    std::string label = device.substr(device.rfind(' ') + 1);
    RecordProperty("total_" + label,
                   std::to_string(errors.mean(device)) + " of " + std::to_string(sums.second));
  }
}

}  // namespace
}  // namespace allot
