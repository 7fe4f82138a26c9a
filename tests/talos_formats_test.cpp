// Op chains and operator types: read number by number, packed, and refused where wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "allot/packing.h"
#include "formats/op_chain.h"
#include "talos_samples.h"

namespace allot::talos_test {
namespace {

TEST(TalosFormats, ChainBecomesOneModelOnCpuAndGpu) {
  Warnings warnings;
  const auto problem = readProblem(kChain, "some/folder/net.csv", {}, nullptr, warnings);
  ASSERT_TRUE(problem) << problem.error().text();
  EXPECT_EQ(problem->name, "net");
  EXPECT_EQ(problem->goal(), Goal::kCompletion);
  EXPECT_EQ(problem->graph.op_name, (std::vector<std::string>{"conv2d#1", "relu, in place#2", "conv2d#3"}));
  EXPECT_EQ(problem->op_seconds, (std::vector<double>{4e-3, 5e-4, 1e-4, 4e-5, 6e-3, 7e-4}));
  EXPECT_EQ(problem->deviceCount(), 2u);
  EXPECT_EQ(problem->cluster.classes[0].kind, DeviceKind::kCpu);
  EXPECT_EQ(problem->graph.tensorCount(), 2u);
  EXPECT_EQ(problem->transferSeconds(TensorId(0), DeviceId(0), DeviceId(1)), 0);
  ASSERT_EQ(warnings.size(), 1u);
  expectMention(warnings[0], "1 op of phase load");
  EXPECT_EQ(*recogniseFormat(kChain, "f"), Format::kOpChainCsv);
  // What was read survives its own format.
  expectSameProblem(*problem, problemOf(writeProblem(*problem)));
}

TEST(TalosFormats, ClusterGivesCountsAndTransfers) {
  const Cluster named = clusterOf(
      "schema: allot.cluster/1\nclasses: [{name: gpu, kind: accelerator}, {name: cpu, kind: cpu}]\n"
      "devices: [{name: g0, class: gpu}, {name: g1, class: gpu}, {name: c0, class: cpu}]\n"
      "links: [{from: '*', to: '*', latency: 50us, bandwidth: 1GB/s}]\n");
  const Problem p = problemOf(kChain, {}, &named);
  EXPECT_EQ(p.deviceCount(), 3u);
  EXPECT_EQ(p.opSeconds(OpId(0), DeviceId(2)), 4e-3);
  EXPECT_EQ(p.opSeconds(OpId(0), DeviceId(1)), 5e-4);
  EXPECT_EQ(p.transferSeconds(TensorId(0), DeviceId(0), DeviceId(1)), 5e-5);
  const Cluster by_kind = clusterOf(
      "schema: allot.cluster/1\nclasses: [{name: host, kind: cpu}, {name: A100, kind: accelerator}]\n"
      "devices: [{name: h, class: host}, {name: a, class: A100}]\n");
  EXPECT_EQ(problemOf(kChain, {}, &by_kind).opSeconds(OpId(0), DeviceId(1)), 5e-4);
  const Cluster unclear = clusterOf(
      "schema: allot.cluster/1\nclasses: [{name: cpu, kind: cpu}, {name: A100, kind: accelerator}]\n"
      "devices: [{name: h, class: cpu}, {name: a, class: A100}]\n");
  Warnings warnings;
  const auto wrong = readProblem(kChain, "file", {}, &unclear, warnings);
  ASSERT_FALSE(wrong);
  expectMention(wrong.error().text(), "A100");
}

TEST(TalosFormats, UnitsComeFromTheHeaderOrTheOption) {
  const Problem ms = problemOf("operator,cpu_dur_ms,gpu_dur_ms\na,4,0.5\n");
  EXPECT_EQ(ms.op_seconds, (std::vector<double>{4e-3, 5e-4}));
  const Problem plain = problemOf("Operator,CPU,GPU\na,4,2\n");
  EXPECT_EQ(plain.op_seconds, (std::vector<double>{4e-6, 2e-6}));
  const Problem forced_unit = problemOf("operator,cpu_us,gpu_us\na,4,2\n", inUnit("s"));
  EXPECT_EQ(forced_unit.op_seconds, (std::vector<double>{4, 2}));
}

TEST(TalosFormats, SeveralModelsInOneChainFile) {
  const Problem p = problemOf("model,segment,cpu_us,gpu_us\nx,0,3,1\ny,0,5,2\nx,1,4,1\n");
  EXPECT_EQ(p.graph.model_name, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(p.graph.op_name, (std::vector<std::string>{"x/segment#0", "x/segment#1", "y/segment#0"}));
  EXPECT_EQ(p.graph.tensorCount(), 1u);
}

TEST(TalosFormats, TypesCountTheCallsOfBothRuns) {
  Warnings warnings;
  const auto p = readProblem(kTypes, "net.csv", {}, nullptr, warnings);
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(*recogniseFormat(kTypes, "f"), Format::kOpTypesCsv);
  EXPECT_NEAR(p->op_seconds[0], 0.08, 1e-15);
  EXPECT_NEAR(p->op_seconds[1], 0.01, 1e-15);
  // 10 calls on the cpu, 20 on the gpu: 10 of each.
  EXPECT_NEAR(p->op_seconds[2], 1e-4, 1e-18);
  EXPECT_NEAR(p->op_seconds[3], 2e-4, 1e-18);
  const auto odd =
      readProblem("operator,speedup,cpu_total_us,gpu_total_us,cpu_avg_us,gpu_avg_us\na,8,8,1,8e-3,1\n", "f",
                  {}, nullptr, warnings);
  ASSERT_TRUE(odd);
  ASSERT_EQ(warnings.size(), 1u);
  expectMention(warnings[0], "check their units");
}

TEST(TalosFormats, WrongTablesNameLineAndRemedy) {
  const std::string head = "operator,cpu_dur_us,gpu_dur_us\n";
  const auto chain = [&](const std::string& rows) {
    return errorOf(head + rows, forced(Format::kOpChainCsv));
  };
  expectMention(chain("a,1,2\nb,nan,2\n"), "line 3, column cpu_dur_us");
  expectMention(chain("a,1,-2\n"), "negative");
  expectMention(chain("a,1,inf\n"), "not a finite number");
  expectMention(chain("a,1,1e30\n"), "absurd");
  expectMention(chain("a,1\n"), "2 fields for 3 columns");
  expectMention(chain("a,1,2,3\n"), "4 fields for 3 columns");
  expectMention(chain(",1,2\n"), "no name");
  expectMention(chain("\"a,1,2\n"), "no end");
  expectMention(chain("\"a\" b,1,2\n"), "behind a quoted field");
  expectMention(chain(""), "no ops");
  expectMention(chain("\xff,1,2\n"), "UTF-8");
  expectMention(errorOf("operator,cpu_dur_us\na,1\n", forced(Format::kOpChainCsv)), "gpu_dur_us");
  expectMention(errorOf("operator,operator,cpu_us,gpu_us\na,a,1,1\n"), "twice");
  expectMention(errorOf("", forced(Format::kOpChainCsv)), "no header");
  expectMention(errorOf("seq,operator,cpu_us,gpu_us\n1,a,1,1\n1,b,1,1\n"), "line 3");
  expectMention(errorOf("seq,operator,cpu_us,gpu_us\nx,a,1,1\n"), "whole number");
  expectMention(errorOf("model,operator,cpu_us,gpu_us\na/b,a,1,1\n"), "no name of a model");
  expectMention(errorOf("operator,phase,cpu_us,gpu_us\na,load,1,1\n"), "no ops");
  expectMention(errorOf("operator,cpu_ts_us,cpu_dur_us,gpu_dur_us\na,1,1,1\n"), "gpu_ts_us");
  expectMention(errorOf("operator,cpu_ts_us,cpu_dur_us,gpu_ts_us,gpu_dur_us\na,9,1,9,1\nb,1,1,1,1\n"),
                "before");
  const auto types = [](const std::string& rows) {
    return errorOf("operator,speedup,cpu_total_us,gpu_total_us,cpu_avg_us,gpu_avg_us\n" + rows);
  };
  expectMention(types("a,1,1,1,1,1\na,1,1,1,1,1\n"), "line 3");
  expectMention(types("a,1,1,1,1000,1\n"), "check the columns and their units");
  expectMention(types("a,x,1,1,1,1\n"), "not a finite number");
  expectMention(types(""), "no operator types");
  expectMention(errorOf(std::string("\x1f\x8b\x08")), "gunzip");
}

TEST(TalosFormats, CutOffTablesNeverCrash) {
  for (const std::string& whole : {kChain, kTypes}) {
    const Format format = whole == kChain ? Format::kOpChainCsv : Format::kOpTypesCsv;
    for (std::size_t end = 0; end < whole.size(); ++end) {
      Warnings warnings;
      const auto problem = readProblem(whole.substr(0, end), "file", forced(format), nullptr, warnings);
      if (!problem) {
        EXPECT_TRUE(problem.error().text().starts_with("file")) << end;
        EXPECT_FALSE(problem.error().remedy.empty());
      }
    }
  }
}

// The blocks of a page that are fenced as `language`.
std::vector<std::string> examples(const std::string& page, const std::string& language) {
  const std::string text = textOf(std::string(ALLOT_SOURCE_DIR) + "/docs/formats/" + page);
  const std::string fence = "```" + language + "\n";
  std::vector<std::string> blocks;
  for (std::size_t at = 0; (at = text.find(fence, at)) != std::string::npos;) {
    at += fence.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

TEST(TalosFormats, WorkedExamplesOfTheDocumentation) {
  const auto tables = examples("op-chain-csv.md", "csv");
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(problemOf(tables[0]).graph.op_name,
            (std::vector<std::string>{"conv2d#1", "relu_#2", "conv2d#3"}));
  const Problem types = problemOf(tables[1]);
  EXPECT_NEAR(types.op_seconds[2], 100e-6, 1e-15);
  EXPECT_NEAR(types.op_seconds[3], 200e-6, 1e-15);
  const auto traces = examples("pytorch-trace.md", "json");
  ASSERT_EQ(traces.size(), 1u);
  const Problem joined = partsOf({{traces[0], "cpu.json"}, {kOldGpu, "gpu.json"}});
  EXPECT_EQ(joined.op_seconds, (std::vector<double>{40e-6, 8e-6, 5e-6, 2.5e-6}));
}

TEST(TalosPacking, WindowsTimeAndFirstGroup) {
  // The first group reaches 4 above its opener, later ones 1 or the window.
  const std::vector<double> speedup{1, 4.9, 5.1, 2.5, 0.1, 10.3, 10};
  const std::vector<double> start{0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(packBySpeedup(speedup, start, {0.5, 2, 0}), (std::vector<std::size_t>{0, 2, 3, 5}));
  // Cuts only once a group has lasted longer than the time: 2.5 at 3 comes too early.
  EXPECT_EQ(packBySpeedup(speedup, start, {0.5, 2, 1}), (std::vector<std::size_t>{0, 2, 5}));
  EXPECT_EQ(packBySpeedup(speedup, start, {0.5, 2, 100}), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(packBySpeedup({}, {}, {}).empty());
}

TEST(TalosPacking, GroupsLastFromStartToStart) {
  ReadOptions options;
  options.pack = PackRule{0.5, 2, 0.001};
  Warnings said;
  const Problem p = partsOf({{kChain, "net.csv"}}, options, &said);
  // Speed-ups of types: empty 0.5, conv2d 10000/1200, relu 2.5. The first conv2d comes too early to cut.
  EXPECT_EQ(p.graph.op_name, (std::vector<std::string>{"empty#0-2", "conv2d#3"}));
  EXPECT_NEAR(p.op_seconds[0], 4200e-6, 1e-15);
  EXPECT_NEAR(p.op_seconds[1], 600e-6, 1e-15);
  EXPECT_NEAR(p.op_seconds[2], 6000e-6, 1e-15);
  EXPECT_NEAR(p.op_seconds[3], 700e-6, 1e-15);
  expectMention(said[0], "4 ops packed into 2 groups");
  // Given speed-ups of types come first: with conv2d at 3 nothing is unlike the first op.
  const std::string alike = "operator,cpu_total,gpu_total,cpu_avg,gpu_avg\nconv2d,3,1,3,1\n";
  EXPECT_EQ(partsOf({{kChain, "net.csv"}, {alike, "types.csv"}}, options).opCount(), 1u);
  // A joined name stands for both of its parts.
  const std::string joined = "operator,cpu_total,gpu_total,cpu_avg,gpu_avg\nMkldnn/conv2d,3,1,3,1\n";
  EXPECT_EQ(partsOf({{kChain, "net.csv"}, {joined, "types.csv"}}, options).opCount(), 1u);
}

std::string published(const std::string& name) {
  return textOf(std::string(std::getenv("ALLOT_DATA")) + "/talos/" + name);
}

TEST(TalosPacking, PublishedGroupCounts) {
  if (std::getenv("ALLOT_DATA") == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published files";
  const PackRule rules[] = {
      {0.3, 3.33, 0.01}, {0.5, 2, 0.01}, {0.7, 1.43, 0.01}, {0.5, 2, 0.005}, {0.5, 2, 0.02}};
  const std::pair<std::string, std::vector<std::size_t>> models[] = {{"alexnet", {23, 27, 29, 38, 19}},
                                                                     {"squeezenet", {19, 42, 43, 55, 29}},
                                                                     {"vgg19", {44, 72, 76, 85, 62}}};
  for (const auto& [model, counts] : models) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      ReadOptions options;
      options.pack = rules[i];
      const Problem p = partsOf({{published("opchain_" + model + ".csv"), model + ".csv"},
                                 {published("optype_" + model + ".csv"), "types.csv"}},
                                options);
      // The first group is the loading of data, which the problem leaves out.
      EXPECT_EQ(p.opCount() + 1, counts[i]) << model << " setting " << i;
    }
  }
}

TEST(TalosFormats, PublishedChainsAndTypes) {
  if (std::getenv("ALLOT_DATA") == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published files";
  EXPECT_EQ(problemOf(published("opchain_alexnet.csv")).opCount(), 281u);
  EXPECT_EQ(problemOf(published("opchain_squeezenet.csv")).opCount(), 768u);
  EXPECT_EQ(problemOf(published("opchain_vgg19.csv")).opCount(), 648u);
  EXPECT_EQ(problemOf(published("optype_bert.csv")).opCount(), 71u);
  EXPECT_EQ(problemOf(published("segments_tv20_published.csv")).graph.modelCount(), 5u);
}

}  // namespace
}  // namespace allot::talos_test
