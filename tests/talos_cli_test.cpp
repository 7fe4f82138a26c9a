// Op chains, traces and affinity from the command line.
#include <gtest/gtest.h>

#include <string>

#include "command_support.h"

namespace {

namespace fs = std::filesystem;

using Answer = allot::CommandAnswer;

class TalosCli : public allot::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    save("a.csv", "operator,cpu_us,gpu_us\nconv2d,50,10\nrelu,4,2\nconv2d,60,12\n");
    save("b.csv", "operator,cpu_us,gpu_us\nmatmul,30,20\nrelu,2,2\n");
  }

  Answer run(const std::string& arguments) const { return runCommand(arguments); }

  static void expectWord(const std::string& text, const std::string& word) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
  }
};

TEST_F(TalosCli, EachFileIsOneModel) {
  const Answer plan = run("plan a.csv b.csv --goal completion -o plan.json");
  EXPECT_EQ(plan.code, 0) << plan.err;
  expectWord(plan.out, "a ends at");
  EXPECT_EQ(run("check a.csv b.csv plan.json").code, 0);
  for (const char* solver : {"average-speedup", "average-speedup-measured", "transient-speedup",
                             "transient-speedup-published", "shortest-first", "weighted-speedup-published"}) {
    const Answer answer = run(std::string("plan a.csv b.csv -q --solver ") + solver);
    EXPECT_EQ(answer.code, 0) << solver << answer.err;
  }
}

TEST_F(TalosCli, PackedChainsArePlannedLikeAnyOther) {
  const Answer import = run("import a.csv --pack 0.5,2,20us -o packed.json");
  EXPECT_EQ(import.code, 0) << import.err;
  expectWord(import.err, "3 ops packed into 2 groups");
  expectWord(import.out, "2 ops");
  EXPECT_EQ(run("import packed.json -q").code, 0);
  const Answer twice = run("import packed.json --pack 0.5,2,20us");
  EXPECT_EQ(twice.code, 2);
  expectWord(twice.err, "cannot be packed");
  for (const char* wrong :
       {"1", "0.5,2", "2,2,1ms", "0.5,0.5,1ms", "0.5,2,-1ms", "a,2,1ms", "0.5,2,1parsec"}) {
    const Answer answer = run(std::string("import a.csv --pack ") + wrong);
    EXPECT_EQ(answer.code, 2) << wrong;
    expectWord(answer.err, "--pack 0.5,2,10ms");
  }
}

TEST_F(TalosCli, TwoTracesMakeOneModel) {
  save("cpu.json", R"([{"name": "a", "ph": "X", "ts": 0, "dur": 9, "tid": 1, "pid": "CPU functions"}])");
  save("gpu.json", R"([{"name": "a", "ph": "X", "ts": 0, "dur": 2, "tid": 0, "pid": "CUDA functions"}])");
  EXPECT_EQ(run("import cpu.json gpu.json -o model.json").code, 0);
  const Answer plan = run("plan model.json");
  EXPECT_EQ(plan.code, 0) << plan.err;
  expectWord(plan.out, "2 us");
  const Answer one = run("import cpu.json");
  EXPECT_EQ(one.code, 3);
  expectWord(one.err, "cpu.json: ");
  const Answer turned = run("import gpu.json cpu.json");
  EXPECT_EQ(turned.code, 3);
  expectWord(turned.err, "CPU.json GPU.json");
  EXPECT_EQ(run("import - - < cpu.json").code, 2);
}

TEST_F(TalosCli, AffinityNamesPairs) {
  const Answer text = run("affinity a.csv b.csv");
  EXPECT_EQ(text.code, 0) << text.err;
  expectWord(text.out, "a + b");
  expectWord(text.out, "co-place: a + b");
  const Answer json = run("affinity a.csv b.csv --json");
  expectWord(json.out, "\"shared_types\": 1");
  EXPECT_EQ(run("affinity a.csv").code, 2);
  EXPECT_EQ(run("affinity missing.csv b.csv").code, 3);
  save("c.csv", "operator,cpu_us,gpu_us\nother,3,1\n");
  expectWord(run("affinity a.csv c.csv --json").out, "null");
  expectWord(run("affinity a.csv c.csv").out, "none");
}

}  // namespace
