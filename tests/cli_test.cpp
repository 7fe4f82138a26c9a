// Drives the built command from outside.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "command_support.h"
#include "report/options_doc.h"

namespace {

namespace fs = std::filesystem;

struct Answer : allot::CommandAnswer {
  // Parses the output and returns a member's value; fails the test when there is none.
  double number(const char* key) const {
    simdjson::dom::parser parser;
    double value = std::nan("");
    EXPECT_EQ(parser.parse(out)[key].get(value), simdjson::SUCCESS) << key << " in " << out;
    return value;
  }
  std::string text(const char* key) const {
    simdjson::dom::parser parser;
    std::string_view value;
    EXPECT_EQ(parser.parse(out)[key].get(value), simdjson::SUCCESS) << key << " in " << out;
    return std::string(value);
  }
  std::size_t length(const char* key) const {
    simdjson::dom::parser parser;
    simdjson::dom::array list;
    const auto error = parser.parse(out)[key].get(list);
    EXPECT_EQ(error, simdjson::SUCCESS) << key << " in " << out;
    return error ? 0 : list.size();
  }
  bool isJson() const {
    simdjson::dom::parser parser;
    return parser.parse(out).error() == simdjson::SUCCESS;
  }
};

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

constexpr const char* kTiny = R"({"schema": "allot.problem/1", "name": "tiny",
  "classes": [{"name": "g", "kind": "accelerator"}, {"name": "c", "kind": "cpu"}],
  "devices": [{"name": "g0", "class": "g", "memory": 100}, {"name": "c0", "class": "c"}],
  "ops": [{"name": "a", "time": [1.0, 3.0], "memory": 60}, {"name": "b", "time": [2.0, 2.5], "memory": 60},
          {"name": "d", "time": [1.0, 9.0], "memory": 10}],
  "tensors": [{"from": "a", "to": ["b", "d"], "bytes": 8, "time": 0.25}, {"from": "b", "to": ["d"], "bytes": 8, "time": 0.5}]})";

class Cli : public allot::CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    save("tiny.json", kTiny);
  }

  Answer run(const std::string& arguments) const { return {runCommand(arguments)}; }

  std::size_t leftovers() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) count += entry.path().extension() == ".tmp";
    return count;
  }
};

TEST_F(Cli, PlansTheTinyProblemToItsOptimum) {
  const Answer answer = run("plan tiny.json --goal latency --link-mode free --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NEAR(answer.number("value"), 5.25, 1e-9);
  EXPECT_EQ(answer.text("status"), "optimal");
  EXPECT_EQ(answer.err, "");
}

TEST_F(Cli, PrintsASummaryAndWritesThePlan) {
  const Answer answer = run("plan tiny.json --goal throughput -o plan.json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  for (const char* word : {"samples per second", "bound", "gap", "optimal", "bottleneck", "g0", "c0"}) {
    EXPECT_NE(answer.out.find(word), std::string::npos) << word << " in " << answer.out;
  }
  EXPECT_EQ(run("check tiny.json plan.json").code, 0);
  EXPECT_EQ(leftovers(), 0u);
  EXPECT_EQ(run("plan tiny.json --goal throughput -q -o plan.json").out, "");
}

TEST_F(Cli, ReadsStandardInputOnce) {
  EXPECT_EQ(run("plan - --goal latency --json < tiny.json").code, 0);
  const Answer hostile = run("plan - --goal latency < /dev/null");
  EXPECT_EQ(hostile.code, 3);
  EXPECT_EQ(hostile.err.rfind("standard input", 0), 0u) << hostile.err;
  EXPECT_EQ(run("check - - < tiny.json").code, 2);
}

TEST_F(Cli, NamesTheMissingGoal) {
  const Answer answer = run("plan tiny.json");
  EXPECT_EQ(answer.code, 2);
  EXPECT_NE(answer.err.find("--goal"), std::string::npos);
}

TEST_F(Cli, RefusesWrongCalls) {
  for (const char* call :
       {"", "dance", "plan", "plan tiny.json --goal speed", "plan tiny.json --goal latency --no-such",
        "check tiny.json", "plan tiny.json --goal latency --solver nobody",
        "plan tiny.json --goal latency --set gap", "completion tcsh",
        "plan tiny.json --goal latency --gap 200%", "plan tiny.json --goal latency --from nothing",
        "plan tiny.json --goal latency --time-unit h",
        "compare tiny.json --goal latency --solvers heft,nobody"}) {
    const Answer answer = run(call);
    EXPECT_EQ(answer.code, 2) << call << ": " << answer.err;
    EXPECT_NE(answer.err, "") << call;
  }
}

TEST_F(Cli, HelpsEveryVerb) {
  for (const char* verb : {"import", "plan", "check", "compare", "simulate", "explain", "export", "demo",
                           "completion", "version"}) {
    const Answer answer = run(std::string(verb) + " --help");
    EXPECT_EQ(answer.code, 0) << verb;
    EXPECT_NE(answer.out.find("Examples:"), std::string::npos) << verb;
  }
  EXPECT_EQ(run("--help").code, 0);
}

TEST_F(Cli, TakesOptionsByPrecedence) {
  save("config.yaml", "goal: latency\nlink-mode: half-duplex\nseed: 9\n");
  Answer answer = run("plan tiny.json --config config.yaml --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.text("goal"), "latency");
  EXPECT_NE(answer.out.find("half-duplex"), std::string::npos);
  EXPECT_EQ(answer.number("seed"), 9);
  answer = run("plan tiny.json --config config.yaml --set seed=4 --link-mode free --json");
  EXPECT_EQ(answer.number("seed"), 4);
  EXPECT_NE(answer.out.find("\"free\""), std::string::npos);
  save("bad.yaml", "goal: speed\n");
  answer = run("plan tiny.json --config bad.yaml");
  EXPECT_EQ(answer.code, 3);
  EXPECT_NE(answer.err.find("bad.yaml"), std::string::npos);
}

TEST_F(Cli, AppliesConstraintsByPattern) {
  const Answer answer = run("plan tiny.json --goal latency --pin 'a=c0' --forbid 'd=g0' --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("\"a\": \"c0\""), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("\"d\": \"c0\""), std::string::npos) << answer.out;
  EXPECT_EQ(run("plan tiny.json --goal latency --together '[ab]' --json").code, 0);
  Answer wrong = run("plan tiny.json --goal latency --pin 'zz*=g0'");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("zz*"), std::string::npos);
  wrong = run("plan tiny.json --goal latency --pin 'a=nowhere'");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("nowhere"), std::string::npos);
}

TEST_F(Cli, ExplainsInfeasibility) {
  const Answer answer = run("plan tiny.json --goal latency --pin '*=g0' --json");
  EXPECT_EQ(answer.code, 4);
  EXPECT_NE(answer.err, "");
  EXPECT_EQ(answer.text("status"), "infeasible");
  EXPECT_GE(answer.length("conflict"), 1u);
}

TEST_F(Cli, CheckNamesWhatIsWrong) {
  run("plan tiny.json --goal latency -q -o plan.json");
  std::string plan = slurp(folder / "plan.json");
  const std::size_t at = plan.find("\"value\": ");
  ASSERT_NE(at, std::string::npos);
  plan.insert(at + 9, "1");
  plan.replace(plan.find("\"gap\""), 5, "\"was\"");
  save("wrong.json", plan);
  const Answer answer = run("check tiny.json wrong.json --json");
  EXPECT_EQ(answer.code, 7) << answer.err;
  EXPECT_GE(answer.length("violations"), 1u);
  EXPECT_NE(answer.err.find("wrong.json"), std::string::npos);
}

TEST_F(Cli, SimulatesAnAssignment) {
  save(
      "split.json",
      R"({"schema": "allot.plan/1", "goal": "throughput", "assignment": {"a": "g0", "b": "c0", "d": "g0"}})");
  Answer answer = run("simulate tiny.json split.json --contiguity none --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NEAR(answer.number("value"), 2.75, 1e-9);  // 1 + 1 on g0, and both cut tensors: 0.25 + 0.5
  EXPECT_EQ(answer.length("violations"), 0u);
  answer = run("simulate tiny.json split.json --contiguity chain --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_GE(answer.length("violations"), 1u);
  answer = run("simulate tiny.json split.json --contiguity none --noise 10% --seed 3");
  EXPECT_NE(answer.out.find("mean"), std::string::npos) << answer.out << answer.err;
  EXPECT_EQ(answer.out, run("simulate tiny.json split.json --contiguity none --noise 10% --seed 3").out);
  EXPECT_TRUE(run("simulate tiny.json split.json --contiguity none --noise 10% --json").isJson());
  EXPECT_EQ(run("simulate tiny.json split.json -q --contiguity none -o full.json").code, 0);
  EXPECT_EQ(run("check tiny.json full.json").code, 0);
  save("partial.json",
       R"({"schema": "allot.plan/1", "goal": "throughput", "assignment": {"a": "g0", "d": "g0"}})");
  answer = run("simulate tiny.json partial.json");
  EXPECT_EQ(answer.code, 3);
  EXPECT_NE(answer.err.find("\"b\""), std::string::npos) << answer.err;
}

TEST_F(Cli, ComparesSolvers) {
  Answer answer = run("compare tiny.json --goal latency --time-limit 5 --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_GE(answer.length("rows"), 3u);
  EXPECT_NE(answer.out.find("portfolio"), std::string::npos);
  answer = run("compare tiny.json --goal throughput --solvers single,portfolio");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("1.000"), std::string::npos) << answer.out;
}

TEST_F(Cli, ComparesWithAPlanMadeElsewhere) {
  // a and d on the accelerator, b on the cpu: 2 s and 0.75 s for two cut tensors; out and back is no chain.
  save("split.json", R"({"fpgas": [{"nodes": ["a", "d"]}], "cpus": [{"nodes": ["b"]}]})");
  const std::string call = "compare tiny.json --goal throughput --start split.json --solvers single";
  Answer answer = run(call + " --contiguity none --json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.length("rows"), 2u);
  EXPECT_NE(answer.out.find("\"start\""), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("2.75"), std::string::npos) << answer.out;
  answer = run(call);
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.err.find("split.json"), std::string::npos) << answer.err;
  EXPECT_EQ(run("plan tiny.json --goal throughput --contiguity none --start split.json -q").code, 0);
}

TEST_F(Cli, ExplainsBothKindsOfPlan) {
  for (const char* goal : {"throughput", "latency", "completion"}) {
    ASSERT_EQ(run(std::string("plan tiny.json -q -o plan.json --goal ") + goal).code, 0);
    Answer answer = run("explain tiny.json plan.json --op b --time-limit 1");
    EXPECT_EQ(answer.code, 0) << answer.err;
    for (const char* word : {"Busiest device", "is here", "one more g", "links twice as fast", "memory"}) {
      EXPECT_NE(answer.out.find(word), std::string::npos) << word << " in " << answer.out;
    }
    answer = run("explain tiny.json plan.json --time-limit 0 --json");
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.length("critical_path") > 0, std::string(goal) != "throughput");
    EXPECT_EQ(answer.length("what_if"), 5u);
  }
  EXPECT_EQ(run("explain tiny.json plan.json --op nobody").code, 2);
}

TEST_F(Cli, ExportsEveryFormat) {
  for (const char* goal : {"throughput", "latency"}) {
    ASSERT_EQ(run(std::string("plan tiny.json -q -o plan.json --goal ") + goal).code, 0);
    Answer answer = run("export tiny.json plan.json --to chrome");
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_GE(answer.length("traceEvents"), 9u);
    EXPECT_EQ(run("export tiny.json plan.json --to dot -o graph.dot").code, 0);
    EXPECT_EQ(slurp(folder / "graph.dot").rfind("digraph \"tiny\" {", 0), 0u);
    EXPECT_TRUE(run("export tiny.json plan.json --to json").isJson());
  }
  EXPECT_EQ(run("export tiny.json plan.json").code, 2);
  EXPECT_EQ(run("export tiny.json plan.json --to svg").code, 2);
}

TEST_F(Cli, ImportsAndRewrites) {
  Answer answer = run("import tiny.json --json -o again.json");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.number("ops"), 3);
  EXPECT_EQ(answer.number("tensors"), 2);
  EXPECT_EQ(answer.length("unknown_shapes"), 0u);
  EXPECT_EQ(run("import again.json -q -o twice.json").code, 0);
  EXPECT_EQ(slurp(folder / "again.json"), slurp(folder / "twice.json"));
  save("graph.json", R"({"schema": "allot.graph/1", "ops": [{"name": "x", "time": 1}], "tensors": []})");
  EXPECT_NE(run("import graph.json").out.find("--cluster"), std::string::npos);
  EXPECT_EQ(run("plan graph.json --goal latency").code, 3);
}

TEST_F(Cli, JoinsSeveralModels) {
  const Answer answer =
      run("plan tiny.json tiny.json --goal completion --link-mode free --json -o plan.json --time-limit 5");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.length("models"), 2u);
  EXPECT_EQ(run("check tiny.json tiny.json plan.json").code, 0);
}

TEST_F(Cli, LeavesNoPartialFiles) {
  for (const char* path : {"/dev/full", "/proc/nowhere/plan.json", "missing/plan.json"}) {
    const Answer answer = run(std::string("plan tiny.json --goal latency -q -o ") + path);
    EXPECT_EQ(answer.code, 3) << path;
    EXPECT_NE(answer.err.find(path), std::string::npos) << answer.err;
  }
  EXPECT_EQ(run("plan tiny.json --goal latency --json > /dev/full").code, 3);
  EXPECT_EQ(leftovers(), 0u);
}

TEST_F(Cli, AnswersHostileFilesInOneLine) {
  const std::pair<const char*, std::string> files[] = {{"empty.json", ""},
                                                       {"text.json", "hello"},
                                                       {"deep.json", std::string(100000, '[')},
                                                       {"cut.json", std::string(kTiny).substr(0, 200)},
                                                       {"null.json", "null"},
                                                       {"binary.json", std::string(100, '\1')}};
  for (const auto& [name, text] : files) {
    save(name, text);
    const Answer answer = run(std::string("plan ") + name + " --goal latency --json");
    EXPECT_EQ(answer.code, 3) << name;
    EXPECT_EQ(answer.err.rfind(name, 0), 0u) << answer.err;
    EXPECT_EQ(std::count(answer.err.begin(), answer.err.end(), '\n'), 1) << answer.err;
  }
  EXPECT_EQ(run("plan absent.json --goal latency").code, 3);
  EXPECT_EQ(run("check tiny.json tiny.json").code, 3);
}

TEST_F(Cli, CompletesShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Answer answer = run(std::string("completion ") + shell);
    EXPECT_EQ(answer.code, 0);
    for (const char* word : {"simulate", "time-limit", "full-duplex"})
      EXPECT_NE(answer.out.find(word), std::string::npos) << shell << word;
  }
  run("completion bash > script.bash");
  EXPECT_EQ(std::system(("bash -n '" + (folder / "script.bash").string() + "'").c_str()), 0);
}

TEST_F(Cli, SaysItsVersion) {
  EXPECT_EQ(run("version").out.rfind("allot ", 0), 0u);
  EXPECT_NE(run("version --json").text("version"), "");
}

TEST_F(Cli, DemoWritesItsProblem) {
  EXPECT_EQ(run("demo -q -o demo.json").code, 0);
  EXPECT_GE(run("import demo.json --json").number("ops"), 100);
  const Answer answer = run("demo --time-limit 2");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("Allot against the rules people use today"), std::string::npos);
}

TEST_F(Cli, PlansTheExamples) {
  const std::string examples = std::string(ALLOT_SOURCE_DIR) + "/examples/";
  for (const char* call : {"two-gpus.yaml", "latency-diamond.json", "two-models.yaml"}) {
    EXPECT_EQ(run("plan -q -o plan.json " + examples + call).code, 0) << call;
    EXPECT_EQ(run("check -q " + examples + call + " plan.json").code, 0) << call;
  }
  EXPECT_EQ(run("plan -q --goal latency " + examples + "graph.yaml --cluster " + examples + "rig.yaml").code,
            0);
}

TEST_F(Cli, ManPageNamesEveryVerb) {
  const Answer answer = run("version --man-page");
  EXPECT_EQ(answer.code, 0);
  for (const char* verb : {"import", "plan", "check", "compare", "simulate", "explain", "export", "demo"})
    EXPECT_NE(answer.out.find(std::string(".SS \"allot ") + verb), std::string::npos) << verb;
  EXPECT_NE(answer.out.find("\\fB\\-\\-link\\-mode\\fR"), std::string::npos);
}

TEST(OptionsPage, IsUpToDate) {
  EXPECT_EQ(slurp(fs::path(ALLOT_SOURCE_DIR) / "docs/options.md"), allot::optionsMarkdown())
      << "refresh it: build/debug/allot version --options-doc > docs/options.md";
}

}  // namespace
