// The cost model: physics, fall-backs, families, and what is priced from what.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "allot/catalogue.h"
#include "allot/cost.h"
#include "cost/arithmetic.h"
#include "cost/roofline.h"
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

TEST(Roofline, Tf32IsForProductsAndNeverSlowerThanFp32) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponent(3, 13);
  for (const CatalogueDevice& device : catalogue().devices) {
    const bool has = device.spec.peak_per_second[static_cast<std::size_t>(DataType::kTf32)] > 0;
    for (int round = 0; round < 600; ++round) {
      const auto family = static_cast<OpFamily>(round % 6);
      OpWork work{family, DataType::kTf32, std::pow(10, exponent(random)), std::pow(10, exponent(random))};
      const double fast = estimateSeconds(work, device.spec);
      work.type = DataType::kFloat32;
      const double plain = estimateSeconds(work, device.spec);
      ASSERT_LE(fast, plain) << device.id;
      if (!has || !isProduct(family)) {
        ASSERT_EQ(fast, plain) << device.id << " " << name(family);
      }
    }
  }
  for (const OpFamily family : {OpFamily::kMatmul, OpFamily::kConvolution, OpFamily::kAttention}) {
    const OpWork fast{family, DataType::kTf32, 1e12, 1e6}, plain{family, DataType::kFloat32, 1e12, 1e6};
    EXPECT_GT(estimateSeconds(plain, specOf("a100")), 6 * estimateSeconds(fast, specOf("a100")));
    EXPECT_NEAR(estimateSeconds(plain, specOf("rtx3090")) / estimateSeconds(fast, specOf("rtx3090")), 1,
                0.01);
  }
}

// Whatever a device lacks, half or a quarter of the bytes never make an op slower but for converting.
TEST(Roofline, NarrowerTypesAreNeverSlowerThanFp32) {
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> exponent(3, 13);
  for (const CatalogueDevice& device : catalogue().devices) {
    for (int round = 0; round < 600; ++round) {
      const OpWork wide{static_cast<OpFamily>(round % 6), DataType::kFloat32, std::pow(10, exponent(random)),
                        std::pow(10, exponent(random))};
      for (const auto& [type, share] : std::vector<std::pair<DataType, double>>{{DataType::kFloat16, 0.5},
                                                                                {DataType::kBFloat16, 0.5},
                                                                                {DataType::kFloat8, 0.25},
                                                                                {DataType::kInt8, 0.25}}) {
        const OpWork narrow{wide.family, type, wide.flops, wide.bytes * share};
        ASSERT_LE(estimateSeconds(narrow, device.spec),
                  1.0000001 * (estimateSeconds(wide, device.spec) + device.spec.overhead_seconds))
            << device.id << " " << name(wide.family) << " " << name(type) << " " << wide.flops << " "
            << wide.bytes;
      }
    }
  }
}

TEST(Roofline, ThePeakSaysWhoseItIs) {
  EXPECT_EQ(peakOf(specOf("a100"), DataType::kTf32).type, DataType::kTf32);
  EXPECT_EQ(peakOf(specOf("v100"), DataType::kTf32).type, DataType::kFloat32);
  EXPECT_EQ(peakOf(specOf("v100"), DataType::kInt8).type, DataType::kFloat16);
  EXPECT_EQ(peakOf(specOf("v100"), DataType::kBFloat16).type, DataType::kFloat16);
  EXPECT_EQ(peakOf(specOf("p4"), DataType::kInt8).type, DataType::kFloat32);
  EXPECT_EQ(peakOf(specOf("cpu:8"), DataType::kFloat8).type, DataType::kFloat32);
  EXPECT_EQ(peakOf(specOf("h100"), DataType::kFloat8).type, DataType::kFloat8);
}

TEST(Arithmetic, OnlyFp32IsEstimatedInTf32) {
  for (std::size_t t = 0; t < kDataTypeCount; ++t) {
    const auto own = static_cast<DataType>(t);
    const bool wide = own == DataType::kFloat32 || own == DataType::kUnknown || own == DataType::kTf32;
    EXPECT_EQ(estimatedIn(own, std::nullopt), wide ? DataType::kTf32 : own) << name(own);
    EXPECT_EQ(estimatedIn(own, DataType::kTf32), wide ? DataType::kTf32 : own) << name(own);
    EXPECT_EQ(estimatedIn(own, DataType::kFloat32), wide ? DataType::kFloat32 : own) << name(own);
  }
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
  EXPECT_EQ(file.graph.op_activation_bytes[0], 0);
  const auto problem = makeProblem(std::move(file), cluster);
  ASSERT_TRUE(problem) << problem.error().text();
  EXPECT_NE(problem->costs.find(
                "estimated (roofline; fp16 products on a100-80gb (312 TFLOPS), t4 (65.13); types of the "
                "model; a100-80gb, t4 from the catalogue of 20"),
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

TEST(PriceGraph, TensorsAreNotResident) {
  GraphFile file = smallGraph();
  ASSERT_TRUE(priceGraph(file, twoKinds()));
  auto problem = makeProblem(std::move(file), twoKinds());
  ASSERT_TRUE(problem) << problem.error().text();
  Modes modes;
  modes.goal = Goal::kLatency;
  for (const MemoryModel memory : {MemoryModel::kStatic, MemoryModel::kLive}) {
    modes.memory = memory;
    ASSERT_TRUE(problem->setModes(modes));
    EXPECT_EQ(problem->residentBytes(OpId(0)), 4e6);
  }
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

}  // namespace
}  // namespace allot
