// Traces of the PyTorch profiler: alignment, both forms number by number, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "formats/trace_align.h"
#include "talos_samples.h"

namespace allot::talos_test {
namespace {

TEST(TalosAlign, MatchesTheHeaviestCommonOps) {
  const std::vector<std::uint32_t> a{1, 2, 3, 2, 4}, b{1, 3, 2, 5, 4};
  const std::vector<double> light_a{1, 1, 9, 1, 1}, light_b{1, 9, 1, 1, 1};
  const auto pairs = align({a, light_a}, {b, light_b});
  ASSERT_TRUE(pairs);
  EXPECT_EQ(*pairs, (Alignment{{0, 0}, {2, 1}, {3, 2}, {4, 4}}));
  // 2 3 against 3 2: only one of the two can stay, and the longer does.
  const std::vector<std::uint32_t> x{2, 3}, y{3, 2};
  const std::vector<double> two{5, 1}, three{1, 5};
  EXPECT_EQ(*align({x, two}, {y, std::vector<double>{1, 5}}), (Alignment{{0, 1}}));
  EXPECT_EQ(*align({x, three}, {y, std::vector<double>{5, 1}}), (Alignment{{1, 0}}));
  EXPECT_TRUE(align({{}, {}}, {y, two})->empty());
}

TEST(TalosAlign, RefusesWhatIsTooLarge) {
  std::vector<std::uint32_t> a(30'000), b(30'000, 1);
  const std::vector<double> seconds(30'000, 1);
  EXPECT_FALSE(align({a, seconds}, {b, seconds}));
  // Equal ends do not count.
  b = a;
  b[15'000] = 7;
  const auto pairs = align({a, seconds}, {b, seconds});
  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->size(), 29'999u);
}

TEST(TalosAlign, NamesThatDifferByDeviceAreTheSame) {
  EXPECT_EQ(deviceFreeName("MkldnnConvolutionBackward"), deviceFreeName("CudnnConvolutionBackward"));
  EXPECT_EQ(deviceFreeName("NativeBatchNormBackward"), deviceFreeName("CudnnBatchNormBackward"));
  EXPECT_EQ(deviceFreeName("aten::conv2d"), "conv2d");
  EXPECT_EQ(deviceFreeName("autograd::engine::evaluate_function: AddmmBackward0"), "AddmmBackward0");
  EXPECT_NE(deviceFreeName("native_batch_norm"), deviceFreeName("cudnn_batch_norm"));
}

TEST(TalosTraces, OldFormJoinsTwoRuns) {
  Warnings said;
  const Problem p = partsOf({{kOldCpu, "cpu.json"}, {kOldGpu, "gpu.json"}}, {}, &said);
  EXPECT_EQ(p.name, "cpu");
  EXPECT_EQ(p.graph.op_name,
            (std::vector<std::string>{"conv2d#0", "relu_#1",
                                      "MkldnnConvolutionBackward/CudnnConvolutionBackward#2"}));
  EXPECT_EQ(p.op_seconds, (std::vector<double>{40e-6, 8e-6, 5e-6, 2.5e-6, 90e-6, 11e-6}));
  ASSERT_EQ(said.size(), 1u);
  expectMention(said[0], "1 of 4 ops of the gpu run");
  EXPECT_EQ(*recogniseFormat(kOldCpu, "f"), Format::kPyTorchTrace);
}

TEST(TalosTraces, KinetoAddsUpTheKernelsOfAStep) {
  Warnings said;
  const Problem p = partsOf({{kKinetoCpu, "cpu.json"}, {kKinetoGpu, "gpu.json"}}, {}, &said);
  EXPECT_EQ(p.graph.op_name, (std::vector<std::string>{"aten::linear#0", "aten::view#1"}));
  ASSERT_EQ(p.op_seconds.size(), 4u);
  EXPECT_NEAR(p.op_seconds[0], 300e-6, 1e-12);
  EXPECT_NEAR(p.op_seconds[1], 24e-6, 1e-12);
  EXPECT_NEAR(p.op_seconds[2], 2e-6, 1e-12);
  EXPECT_EQ(p.op_seconds[3], 0);
  ASSERT_EQ(said.size(), 2u);
  expectMention(said[0], "of 3 steps, ProfilerStep#2 is read");
  expectMention(said[1], "1 of 3 gpu events belong to no op");
}

TEST(TalosTraces, TimesSince1970KeepNeighboursApart) {
  // At this distance a double counts in quarters of a microsecond: each op seems to end inside the next.
  std::string cpu = "[", gpu = "[";
  for (int i = 0; i < 200; ++i) {
    const std::string tail = std::to_string(i * 3 + 1000) + ".9, \"dur\": 3.0, \"tid\": 1, \"pid\": ";
    const std::string head =
        (i > 0 ? "," : "") + std::string(R"({"name": "op", "ph": "X", "ts": 170000000000)");
    cpu += head + tail + R"("CPU functions"})";
    gpu += head + tail + R"("CUDA functions"})";
  }
  EXPECT_EQ(partsOf({{cpu + "]", "c.json"}, {gpu + "]", "g.json"}}).opCount(), 200u);
}

TEST(TalosTraces, WrongTracesNameFileAndRemedy) {
  expectMention(errorOf(kOldCpu), "allot import CPU.json GPU.json");
  expectMention(partsError({{kOldGpu, "g.json"}, {kOldCpu, "c.json"}}), "g.json: ");
  expectMention(partsError({{kOldCpu, "c.json"}, {kOldCpu, "d.json"}}),
                "d.json: the document: there are no events of a gpu");
  expectMention(partsError({{kOldCpu, "c.json"}, {kTypes, "t.csv"}}), "t.csv: ");
  expectMention(partsError({{kChain, "c.csv"}, {kChain, "d.csv"}}), "d.csv: ");
  expectMention(partsError({{kOldCpu, "c.json"}}), "one device only");
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const auto cpu = [&](const std::string& from, const std::string& to) {
    return partsError({{replaced(kOldCpu, from, to), "c.json"}, {kOldGpu, "g.json"}});
  };
  expectMention(cpu("\"dur\": 40.0", "\"dur\": -40.0"), "c.json: [0].dur");
  expectMention(cpu("\"dur\": 40.0", "\"dur\": NaN"), "line 2");
  expectMention(cpu("\"dur\": 40.0", "\"dur\": 1e300"), "absurd");
  expectMention(cpu("\"dur\": 40.0,", ""), "dur");
  expectMention(cpu("\"ts\": 100.0", "\"ts\": \"x\""), "[0].ts");
  expectMention(cpu("\"ts\": 100.0", "\"ts\": 1e200"), "absurd");
  std::string other = kOldCpu;
  for (std::size_t at = 0; (at = other.find("conv", at)) != std::string::npos;) other.replace(at, 4, "xxxx");
  other = replaced(replaced(other, "relu_", "gelu_"), "Mkldnn", "Other");
  expectMention(partsError({{other, "c.json"}, {kOldGpu, "g.json"}}), "no op in common");
  expectMention(partsError({{R"({"traceEvents": []})", "c.json"}, {kOldGpu, "g.json"}}), "there are no ops");
  expectMention(partsError({{R"({"traceEvents": [1]})", "c.json"}, {kOldGpu, "g.json"}}), "traceEvents[0]");
}

TEST(TalosTraces, CutOffTracesNeverCrash) {
  for (const auto& [cpu, gpu] : {std::pair{kOldCpu, kOldGpu}, std::pair{kKinetoCpu, kKinetoGpu}}) {
    for (std::size_t end = 0; end < gpu.size(); end += 3) {
      const std::string error =
          partsError({{cpu, "c.json"}, {gpu.substr(0, end), "g.json"}}, forced(Format::kPyTorchTrace));
      EXPECT_TRUE(error.starts_with("g.json")) << error;
    }
  }
}

// Odd words that mutated files get in place of their own.
const std::vector<std::string>& oddWords() {
  static const std::vector<std::string> words{"",
                                              "0",
                                              "-1",
                                              "1e308",
                                              "1e-320",
                                              "nan",
                                              "NaN",
                                              "inf",
                                              "null",
                                              "\"\"",
                                              ",",
                                              "\n",
                                              "\"",
                                              "{",
                                              "}",
                                              "[",
                                              "]",
                                              "1,2",
                                              "\r\n",
                                              "\t",
                                              "#",
                                              "/",
                                              "#1",
                                              "\xff",
                                              "\xc3\xa9",
                                              "18446744073709551616",
                                              "X",
                                              "kernel",
                                              "CUDA functions",
                                              "load"};
  return words;
}

std::string mutated(std::string text, Random& random) {
  const auto place = [&] {
    return static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(text.size() + 1)));
  };
  for (std::uint32_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::size_t at = place(), length = random.below(12);
    const std::string& word = oddWords()[random.below(static_cast<std::uint32_t>(oddWords().size()))];
    switch (random.below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(place(), random.below(80)));
        break;
      case 2:
        text.insert(at, word);
        break;
      default: {
        // A whole number or word.
        const std::size_t begin = text.find_first_of("0123456789", at);
        if (begin == std::string::npos) break;
        text.replace(begin, text.find_first_not_of("0123456789.", begin) - begin, word);
      }
    }
  }
  return text;
}

void expectStable(const Result<Problem>& problem, const std::string& text) {
  if (!problem) {
    EXPECT_TRUE(problem.error().text().starts_with("file")) << problem.error().text();
    EXPECT_FALSE(problem.error().message.empty() || problem.error().remedy.empty()) << text;
    EXPECT_EQ(problem.error().text().find('\n'), std::string::npos);
    return;
  }
  const std::string written = writeProblem(*problem);
  Warnings warnings;
  const auto again = readProblem(written, "file", {}, nullptr, warnings);
  ASSERT_TRUE(again) << again.error().text() << "\n" << text;
  EXPECT_EQ(writeProblem(*again), written) << text;
}

TEST(TalosMutated, TablesGiveAGoodErrorOrSurviveTheRoundTrip) {
  Random random(3);
  std::size_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool chain = round % 2 == 0;
    const std::string text = mutated(chain ? kChain : kTypes, random);
    ReadOptions options = forced(chain ? Format::kOpChainCsv : Format::kOpTypesCsv);
    if (round % 4 < 2) options.pack = PackRule{0.5, 2, 1e-4};
    Warnings warnings;
    const auto problem = readProblem(text, "file", options, nullptr, warnings);
    read += problem ? 1 : 0;
    expectStable(problem, text);
  }
  EXPECT_GT(read, 100u);
}

TEST(TalosMutated, TracesGiveAGoodErrorOrSurviveTheRoundTrip) {
  Random random(4);
  std::size_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool old = round % 2 == 0;
    std::vector<InputText> files{{old ? kOldCpu : kKinetoCpu, "file"}, {old ? kOldGpu : kKinetoGpu, "file"}};
    std::string& text = files[random.below(2)].text;
    text = mutated(text, random);
    Warnings warnings;
    const auto problem = readModelParts(files, forced(Format::kPyTorchTrace), nullptr, warnings);
    read += problem ? 1 : 0;
    expectStable(problem, text);
  }
  EXPECT_GT(read, 100u);
}

}  // namespace
}  // namespace allot::talos_test
