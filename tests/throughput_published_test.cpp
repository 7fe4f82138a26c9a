// The sixteen published inputs of Tarnawski et al. (NeurIPS 2020), contiguous: their optima, proven.
//
// Values in ms: fourteen of them agree with the published program to all digits it prints; it does not finish
// the two of Inception.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "allot/allot.h"

namespace allot {
namespace {

struct Published {
  const char* input;
  double optimum;  // ms
};

constexpr Published kPublished[] = {
    {"LayerGraphs/bert24_inference", 17.789906250},
    {"LayerGraphs/bert24_training", 41.745812500},
    {"LayerGraphs/gnmt_inference", 32.910658203},
    {"LayerGraphs/gnmt_training", 107.004414063},
    {"LayerGraphs/resnet50_inference", 33.774666016},
    {"LayerGraphs/resnet50_training", 78.631812500},
    {"LayerGraphs/inceptionv3_inference", 51.551863586},
    {"LayerGraphs/inceptionv3_training", 122.761616211},
    {"OperatorGraphs/bert_l-3_inference", 27.918567680},
    {"OperatorGraphs/bert_l-3_training", 65.303149122},
    {"OperatorGraphs/bert_l-6_inference", 29.579505806},
    {"OperatorGraphs/bert_l-6_training", 72.864966322},
    {"OperatorGraphs/bert_l-12_inference", 147.477984449},
    {"OperatorGraphs/bert_L-12_training", 437.997637858},
    {"OperatorGraphs/resnet50_inference", 124.348849774},
    {"OperatorGraphs/resnet50_training", 255.194416452},
};

class PublishedChain : public testing::TestWithParam<Published> {};

TEST_P(PublishedChain, IsProven) {
  const char* data = std::getenv("ALLOT_DATA");
  if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published graphs";
  const std::string path = std::string(data) + "/dnn-partitioning/throughput/" + GetParam().input + ".json";
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  Warnings warnings;
  const auto problem = readProblem(text.str(), path, {}, nullptr, warnings);
  ASSERT_TRUE(problem) << problem.error().text();
  RunOptions run;
  run.threads = 1;
  run.time_limit_seconds = 30;
  const SolveOutcome outcome = solve(*problem, run);
  ASSERT_TRUE(outcome.message.empty()) << outcome.message;
  EXPECT_EQ(outcome.plan.status, Status::kOptimal) << outcome.plan.gap();
  EXPECT_FALSE(outcome.plan.proof.empty());
  // The published digits end at 1e-9 ms.
  EXPECT_NEAR(outcome.plan.value * 1e3, GetParam().optimum, 1e-9 * GetParam().optimum + 1e-9);
}

INSTANTIATE_TEST_SUITE_P(All, PublishedChain, testing::ValuesIn(kPublished),
                         [](const testing::TestParamInfo<Published>& info) {
                           std::string text = info.param.input;
                           for (char& c : text) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return text;
                         });

}  // namespace
}  // namespace allot
