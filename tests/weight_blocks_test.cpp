// Blocks of weights, model inputs and the reference order in Allot's own files: what they mean, that they
// survive the round trip, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bad_input_support.h"
#include "base/random.h"

namespace allot {
namespace {

std::string problemText(const std::string& ops, const std::string& rest = "") {
  return R"({"schema": "allot.problem/1", "classes": [{"name": "g", "kind": "accelerator"}],
    "devices": [{"name": "d", "class": "g"}, {"name": "e", "class": "g"}], "ops": [)" +
         ops + "]" + (rest.empty() ? "" : ", " + rest) + "}";
}

std::string graphText(const std::string& ops, const std::string& rest = "") {
  return R"({"schema": "allot.graph/1", "ops": [)" + ops + "]" + (rest.empty() ? "" : ", " + rest) + "}";
}

const std::string kTied = R"({"name": "a", "time": [1], "weights": [{"name": "table", "bytes": "3kB"}]},
  {"name": "b", "time": [1], "weights": [{"name": "own", "bytes": 7}, {"name": "other", "bytes": 5}]},
  {"name": "c", "time": [1], "weights": [{"name": "table", "bytes": 3000}, {"name": "bias", "bytes": 11}]})";

// Reads, writes and reads again; the two must agree to the last bit.
Problem roundTrip(const std::string& text) {
  const Problem first = problemOf(text);
  expectSameProblem(first, problemOf(writeProblem(first)));
  return first;
}

TEST(WeightBlocks, AreHeldOnceByADevice) {
  const Problem p = roundTrip(problemText(kTied));
  EXPECT_EQ(p.graph.block_name, std::vector<std::string>{"table"});
  EXPECT_EQ(p.graph.block_bytes, std::vector<std::int64_t>{3000});
  EXPECT_EQ(p.graph.block_readers.items, (std::vector<OpId>{OpId(0), OpId(2)}));
  EXPECT_EQ(p.graph.op_weight_bytes, (std::vector<std::int64_t>{0, 12, 11}));
  const std::vector<OpId> both{OpId(0), OpId(2)};
  EXPECT_EQ(p.residentBytes(both), 3011);
  EXPECT_EQ(p.residentBytes(std::array{OpId(2)}), 3011);
}

TEST(WeightBlocks, OwnBytesBesideABlockFindANameThatIsFree) {
  // "c" and "c#2" are names of blocks, so that the own bytes of op c need a third.
  const std::string ops = R"({"name": "a", "time": [1], "weights": [{"name": "c", "bytes": 1}]},
    {"name": "b", "time": [1], "weights": [{"name": "c#2", "bytes": 2}]},
    {"name": "c", "time": [1], "weights": [{"name": "c", "bytes": 1}, {"name": "c#2", "bytes": 2}, {"name": "x", "bytes": 9}]})";
  const Problem p = roundTrip(problemText(ops));
  EXPECT_EQ(p.graph.op_weight_bytes[2], 9);
  EXPECT_NE(writeProblem(p).find("\"c#2#2\""), std::string::npos) << writeProblem(p);
}

TEST(WeightBlocks, NamesAreThoseOfOneModel) {
  const std::string ops =
      R"({"name": "a", "model": "m", "time": [1], "weights": [{"name": "w", "bytes": 1}]},
    {"name": "b", "model": "m", "time": [1], "weights": [{"name": "w", "bytes": 1}]},
    {"name": "c", "model": "n", "time": [1], "weights": [{"name": "w", "bytes": 2}]},
    {"name": "d", "model": "n", "time": [1], "weights": [{"name": "w", "bytes": 2}]})";
  const Problem p = roundTrip(problemText(ops, R"("models": [{"name": "m"}, {"name": "n"}])"));
  EXPECT_EQ(p.graph.block_bytes, (std::vector<std::int64_t>{1, 2}));
}

TEST(WeightBlocks, BadOnesAreRefusedWithPathAndRemedy) {
  const auto text = [](const std::string& weights) {
    return problemText(R"({"name": "a", "time": [1], "weights": [{"name": "w", "bytes": 5}]},
      {"name": "b", "time": [1], "weights": )" +
                       weights + "}");
  };
  expectError(asProblem, text(R"([{"name": "w", "bytes": 6}])"),
              {"ops[1].weights[0].bytes", "6 bytes here and 5 in op \"a\"", "wherever it is named"});
  expectError(asProblem, text(R"([{"name": "x", "bytes": 6}, {"name": "x", "bytes": 6}])"),
              {"ops[1].weights[1].name", "twice"});
  expectError(asProblem, text(R"([{"name": "x"}])"), {"ops[1].weights[0]", "\"bytes\" is missing"});
  expectError(asProblem, text(R"([{"bytes": 1}])"), {"ops[1].weights[0]", "\"name\" is missing"});
  expectError(asProblem, text(R"([7])"), {"ops[1].weights[0]"});
  expectError(asProblem, text(R"([{"name": "x", "bytes": -1}])"), {"ops[1].weights[0].bytes"});
  std::string many;
  for (int i = 0; i < 9; ++i)
    many +=
        (i == 0 ? "" : ", ") + (R"({"name": "x)" + std::to_string(i) + R"(", "bytes": 1152921504606846976})");
  expectError(asProblem, text("[" + many + "]"), {"add up to more than 2^60 bytes"});
}

TEST(ModelInputs, AreTensorsWithoutFrom) {
  const Problem p = roundTrip(problemText(
      kTied, R"("tensors": [{"to": ["a", "c"], "bytes": "2kB"}, {"from": "a", "to": ["b"], "time": 1},
                            {"to": ["b"], "bytes": 4, "time": null}])"));
  EXPECT_EQ(p.graph.tensorCount(), 1u);
  EXPECT_EQ(p.graph.input_bytes, (std::vector<std::int64_t>{2000, 4}));
  EXPECT_EQ(p.graph.modelInputs(OpId(2)).size(), 1u);
  expectError(asProblem, problemText(kTied, R"("tensors": [{"to": ["a"], "bytes": 1, "time": 1}])"),
              {"tensors[0].time", "no transfer time"});
}

TEST(OrderHint, IsAnOrderOfAllOps) {
  const std::string tensors = R"("tensors": [{"from": "a", "to": ["c"], "time": 1}])";
  const Problem p = roundTrip(problemText(kTied, tensors + R"(, "order_hint": ["b", "a", "c"])"));
  EXPECT_EQ(p.graph.order_hint, (std::vector<OpId>{OpId(1), OpId(0), OpId(2)}));
  const auto bad = [&](const std::string& hint, const char* wanted) {
    expectError(asProblem, problemText(kTied, tensors + ", \"order_hint\": " + hint), {"order_hint", wanted});
  };
  bad(R"(["a", "b"])", "2 of 3");
  bad(R"(["a", "b", "c", "a"])", "twice");
  bad(R"(["c", "b", "a"])", "\"c\" stands before op \"a\"");
  bad(R"(["a", "b", "z"])", "unknown op");
  bad(R"({})", "expected a list");
}

TEST(GraphFiles, KeepBlocksInputsOrderAndMemory) {
  const std::string ops = R"({"name": "a", "time": 1, "weights": [{"name": "w", "bytes": 4}]},
    {"name": "b", "time": 1, "weights": [{"name": "w", "bytes": 4}, {"name": "v", "bytes": 2}]})";
  const GraphFile first = graphOf(graphText(
      ops,
      R"("options": {"memory": "live"}, "tensors": [{"to": ["a", "b"], "bytes": 3}], "order_hint": ["b", "a"])"));
  EXPECT_EQ(first.memory, MemoryModel::kLive);
  const GraphFile second = graphOf(writeGraph(first));
  expectSameGraph(first.graph, second.graph);
  EXPECT_EQ(second.memory, MemoryModel::kLive);
  EXPECT_EQ(writeGraph(first), writeGraph(second));
  const auto problem = makeProblem(first, clusterOf(data("cluster.json")));
  ASSERT_TRUE(problem) << problem.error().text();
  EXPECT_TRUE(problem->liveMemory());
  EXPECT_EQ(graphOf(graphText(ops)).memory, MemoryModel::kStatic);
}

TEST(JoinedModels, KeepBlocksApartAndOrdersInLine) {
  const std::string options = R"("options": {"memory": "live"}, )";
  const Problem p = problemOf(problemText(
      kTied, R"("name": "p", "tensors": [{"to": ["b"], "bytes": 3}], "order_hint": ["c", "b", "a"])"));
  const Problem q = problemOf(problemText(kTied, options + R"("name": "q")"));
  auto all = joinModels({p, q});
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->graph.block_name, (std::vector<std::string>{"table", "table"}));
  EXPECT_EQ(all->graph.block_readers.items, (std::vector<OpId>{OpId(0), OpId(2), OpId(3), OpId(5)}));
  EXPECT_EQ(all->graph.order_hint, (std::vector<OpId>{OpId(2), OpId(1), OpId(0), OpId(3), OpId(4), OpId(5)}));
  EXPECT_EQ(all->graph.input_readers.items, std::vector<OpId>{OpId(1)});
  EXPECT_TRUE(all->liveMemory());
  expectSameProblem(*all, problemOf(writeProblem(*all)));
}

TEST(Clock, TimesTooShortForItSurviveTheRoundTrip) {
  const std::string ops = R"({"name": "a", "time": [1e-300]}, {"name": "b", "time": [1]})";
  const Problem p = roundTrip(problemText(ops, R"("tensors": [{"from": "a", "to": ["b"], "time": 1e-200}])"));
  EXPECT_EQ(p.op_seconds[0], 0);
  EXPECT_EQ(p.tensor_seconds[0], 0);
  EXPECT_NE(writeProblem(p).find("1e-300"), std::string::npos);
  EXPECT_NE(writeProblem(p).find("1e-200"), std::string::npos);
  const auto all = joinModels({p, p});
  ASSERT_TRUE(all);
  EXPECT_NE(writeProblem(*all).find("1e-300"), std::string::npos);
}

// Any mixture of own bytes, shared and unshared blocks, models and inputs survives.
TEST(WeightBlocks, RandomGraphsSurviveTheRoundTrip) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const std::uint32_t models = 1 + random.below(2), ops = 1 + random.below(6);
    std::string text, tensors, model_list;
    for (std::uint32_t m = 0; m < models; ++m)
      model_list += fmt::format("{}{{\"name\": \"m{}\"}}", m == 0 ? "" : ", ", m);
    for (std::uint32_t i = 0; i < ops; ++i) {
      const std::uint32_t model = random.below(models);
      std::string blocks;
      for (std::uint32_t b = 0; b < 4; ++b) {
        if (random.below(2) == 0) continue;
        // Some blocks are called as ops are.
        const std::string name = b < 2 ? fmt::format("o{}", b) : fmt::format("w{}", b);
        blocks += fmt::format("{}{{\"name\": \"{}\", \"bytes\": {}}}", blocks.empty() ? "" : ", ", name,
                              10 * b + model);
      }
      text += fmt::format(R"({}{{"name": "o{}", "model": "m{}", "time": [1], "weights": {}}})",
                          i == 0 ? "" : ", ", i, model,
                          random.below(3) == 0 ? std::string("17") : "[" + blocks + "]");
      if (random.below(2) == 0)
        tensors += fmt::format(R"({}{{"to": ["o{}"], "bytes": {}}})", tensors.empty() ? "" : ", ", i, i);
    }
    roundTrip(problemText(text, "\"models\": [" + model_list + "], \"tensors\": [" + tensors + "]"));
  }
}

}  // namespace
}  // namespace allot
