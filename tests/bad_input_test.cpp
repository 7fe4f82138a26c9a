// Bad input: every reader answers with one line that begins with the file's name and says what is wrong,
// where, and what to do.
#include <gtest/gtest.h>

#include <functional>

#include "base/json_reader.h"
#include "formats_support.h"

namespace allot {
namespace {

using Reader = std::function<Result<void>(const std::string&)>;

template <class T>
Result<void> dropValue(Result<T> result) {
  if (!result) return fail(std::move(result).error());
  return {};
}

Result<void> asProblem(const std::string& text) {
  Warnings warnings;
  return dropValue(readProblem(text, "bad.json", {}, nullptr, warnings));
}

Result<void> asGraph(const std::string& text) {
  Warnings warnings;
  return dropValue(readGraph(text, "bad.json", {}, warnings));
}

Result<void> asCluster(const std::string& text) {
  Warnings warnings;
  return dropValue(readCluster(text, "bad.json", warnings));
}

const char* const kPlanned =
    R"({"schema": "allot.problem/1", "classes": [{"name": "gpu", "kind": "accelerator"}],
  "devices": [{"name": "g0", "class": "gpu"}, {"name": "g1", "class": "gpu"}], "models": [{"name": "m"}],
  "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [1]}, {"name": "c", "time": [1]}],
  "tensors": [{"from": "a", "to": ["b", "c"], "time": 0.5}], "goal": "latency"})";

Result<void> asPlan(const std::string& text) {
  static const Problem problem = problemOf(kPlanned);
  Warnings warnings;
  return dropValue(readPlan(text, "bad.json", problem, warnings));
}

Reader forcedReader(Format format) {
  return [format](const std::string& text) {
    Warnings warnings;
    if (format == Format::kPipeDreamText || format == Format::kPipeDreamJson) {
      return dropValue(readGraph(text, "bad.json", forced(format), warnings));
    }
    return dropValue(readProblem(text, "bad.json", forced(format), nullptr, warnings));
  };
}

struct NamedReader {
  const char* file;
  Reader read;
};

const std::vector<NamedReader>& readers() {
  static const std::vector<NamedReader> list{
      {"problem.json", asProblem},
      {"problem.yaml", asProblem},
      {"graph.json", asGraph},
      {"cluster.json", asCluster},
      {"cluster.yaml", asCluster},
      {"plan.json", asPlan},
      {"dnn_partitioning.json", forcedReader(Format::kDnnPartitioning)},
      {"moirai.json", forcedReader(Format::kMoirai)},
      {"piper.json", forcedReader(Format::kPiper)},
      {"pipedream.json", forcedReader(Format::kPipeDreamJson)},
      {"pipedream_graph.txt", forcedReader(Format::kPipeDreamText)}};
  return list;
}

void expectGood(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_EQ(error.file, "bad.json");
  EXPECT_FALSE(error.message.empty());
  EXPECT_FALSE(error.remedy.empty()) << error.text();
  const std::string line = error.text();
  EXPECT_TRUE(line.starts_with("bad.json: ")) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

// The error must be a good one and hold all the words.
void expectError(const Reader& read, const std::string& text, std::initializer_list<const char*> words) {
  const auto result = read(text);
  ASSERT_FALSE(result) << "accepted: " << text.substr(0, 400);
  expectGood(result.error());
  for (const char* word : words)
    EXPECT_NE(result.error().text().find(word), std::string::npos) << word << " in " << result.error().text();
}

// `text` with its first `from` replaced.
std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(BadInput, SeedsAreGood) {
  for (const auto& [file, read] : readers()) {
    const auto result = read(data(file));
    EXPECT_TRUE(result) << file << ": " << result.error().text();
  }
}

TEST(BadInput, EmptyOrNotAFileOfOurs) {
  for (const auto& [file, read] : readers()) {
    expectError(read, "", {});
    expectError(read, " \n\t\r\n", {});
    expectError(read, "hello, this is no file of ours", {});
    expectError(read, "[1, 2, 3]", {});
    expectError(read, "{}", {});
    expectError(read, "null", {});
    expectError(read, "{\"schema\": 3}", {});
    expectError(read, std::string("\0\1\2\xff\xfe{", 6), {});
    expectError(read, "\xff\xff\xff\xff", {});
    expectError(read, "{\"a\": \"\xff\"}", {});
    expectError(read, "{\"schema\": \"allot.problem/1\" \"name\"}", {});
  }
}

TEST(BadInput, TruncatedAnywhere) {
  for (const auto& [file, read] : readers()) {
    const std::string whole = data(file);
    for (std::size_t part = 0; part < 50; ++part) {
      const std::string text = whole.substr(0, whole.size() * part / 50);
      const auto result = read(text);
      // YAML and plain text may end at a line and still be whole; JSON may not.
      if (text.starts_with('{')) {
        EXPECT_FALSE(result) << file << " " << part;
      }
      if (!result) expectGood(result.error());
    }
  }
}

TEST(BadInput, SyntaxErrorHasItsPlace) {
  expectError(asProblem, "{\n \"schema\": \"allot.problem/1\",\n \"ops\": [1 2]\n}", {"line 3"});
}

TEST(BadInput, DeepNesting) {
  constexpr std::size_t kDeep = 100'000;
  for (const auto& [file, read] : readers()) {
    expectError(read, repeated("[", kDeep), {});
    expectError(read, repeated("{\"a\":", kDeep), {});
    expectError(read, "{\"schema\": " + repeated("[", kDeep) + repeated("]", kDeep) + "}", {});
    expectError(read, "schema: " + repeated("[", kDeep) + repeated("]", kDeep), {});
    expectError(read, "schema: " + repeated("{a: ", kDeep) + repeated("}", kDeep), {});
    expectError(read, repeated("- ", kDeep) + "a", {});
    expectError(read, repeated("? ", kDeep) + "a", {});
    expectError(read,
                "a: \"" + repeated("]", kDeep) + "\"\nb: " + repeated("[", kDeep) + repeated("]", kDeep), {});
  }
}

TEST(BadInput, AliasBombs) {
  std::string bomb = "schema: allot.cluster/1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb +=
        "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + repeated(last + ", ", 9) + last + "]\n";
  }
  expectError(asCluster, bomb, {"too many"});
  const std::string fat =
      "a: &a \"" + repeated("x", 1'000'000) + "\"\nb: [" + repeated("*a, ", 999) + "*a]\n";
  expectError(asCluster, fat, {"too much"});
  expectError(asCluster, "a: &a [*a, *a]\n", {});
}

TEST(BadInput, AnotherSchema) {
  expectError(asProblem, with(data("problem.json"), "allot.problem/1", "allot.problem/2"),
              {"another version", "allot.problem/1"});
  expectError(asProblem, with(data("problem.json"), "allot.problem/1", "allot.nonsense/1"),
              {"unknown schema"});
  expectError(asGraph, with(data("graph.json"), "allot.graph/1", "allot.graph/99"), {"another version"});
  expectError(asCluster, data("graph.json"), {"schema", "allot.cluster/1"});
  expectError(asPlan, with(data("plan.json"), "allot.plan/1", "allot.plan/0"), {"another version"});
  expectError(asProblem, data("plan.json"), {"problem is needed"});
  expectError(asProblem, data("graph.json"), {"--cluster"});
  expectError(asGraph, data("moirai.json"), {"no graph"});
  expectError(asProblem, with(data("moirai.json"), "moirai-v1", "moirai-v9"), {"unknown format", "--from"});
}

TEST(BadInput, CyclesShowTheirPath) {
  expectError(
      asProblem,
      with(kPlanned, "\"tensors\": [", "\"tensors\": [{\"from\": \"c\", \"to\": [\"a\"], \"time\": 1}, "),
      {"cycle: a -> c -> a"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"order\": [[\"b\", \"a\"]]}, \"goal\""),
              {"cycle"});
  expectError(asGraph, with(data("graph.json"), "[\"step\"]}", "[\"conv\"]}"),
              {"cycle: conv -> conv.bwd -> conv"});
  expectError(
      asProblem,
      with(data("dnn_partitioning.json"), "\"destId\": 11, \"cost\": 1", "\"destId\": 10, \"cost\": 1"),
      {"cycle: 10 -> 7 -> 10"});
  expectError(asProblem, with(data("moirai.json"), "\"src\": 5, \"dst\": 9", "\"src\": 5, \"dst\": 4"),
              {"cycle: 4 -> 5 -> 4"});
  expectError(asProblem,
              with(data("piper.json"), "\"edges\": [",
                   "\"edges\": [{\"sourceId\": 1, \"destId\": 0, \"communicationCost\": 1}, "),
              {"cycle: 0 -> 1 -> 0"});
  expectError(asGraph, with(data("pipedream.json"), "[\"node1\", \"node2\"]", "[\"node4\", \"node2\"]"),
              {"cycle: node2 -> ", "node4 -> node2"});
  expectError(asGraph, with(data("pipedream_graph.txt"), "\tnode1 -- node2", "\tnode4 -- node2"), {"cycle"});
}

TEST(BadInput, SelfLoops) {
  expectError(asProblem, with(kPlanned, "[\"b\", \"c\"]", "[\"a\"]"), {"tensors[0].to[0]", "self loop"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"order\": [[\"b\", \"b\"]]}, \"goal\""),
              {"itself"});
  expectError(asProblem, with(data("dnn_partitioning.json"), "\"sourceId\": 3,", "\"sourceId\": 11,"),
              {"edges[3]", "self loop"});
  expectError(asProblem, with(data("moirai.json"), "\"src\": 5", "\"src\": 9"), {"edges[3]", "self loop"});
  expectError(asProblem, with(data("piper.json"), "\"destId\": 1", "\"destId\": 0"),
              {"edges[0]", "self loop"});
  expectError(asGraph, with(data("pipedream.json"), "[\"node1\", \"node2\"]", "[\"node2\", \"node2\"]"),
              {"edges[0]", "self loop"});
  expectError(asGraph, with(data("pipedream_graph.txt"), "\tnode3 -- node4", "\tnode4 -- node4"),
              {"line 8", "self loop"});
}

TEST(BadInput, DanglingIds) {
  expectError(asProblem, with(kPlanned, "[\"b\", \"c\"]", "[\"nobody\"]"),
              {"tensors[0].to[0]", "unknown op \"nobody\""});
  expectError(asGraph, with(data("graph.json"), "\"from\": \"x\"", "\"from\": \"y\""),
              {"tensors[0].from", "\"y\""});
  expectError(asProblem, with(data("dnn_partitioning.json"), "\"sourceId\": 3,", "\"sourceId\": 4,"),
              {"edges[3].sourceId", "\"4\""});
  expectError(asProblem, with(data("moirai.json"), "\"src\": 5", "\"src\": 6"), {"edges[3].src", "\"6\""});
  expectError(asProblem, with(data("piper.json"), "\"destId\": 1", "\"destId\": 2"),
              {"edges[0].destId", "\"2\""});
  expectError(asGraph, with(data("pipedream.json"), "[\"node1\", \"node2\"]", "[\"node1\", \"node9\"]"),
              {"edges[0][1]", "node9"});
  expectError(asGraph, with(data("pipedream.json"), "[\"node1\", \"node2\"]", "[\"node1\"]"),
              {"edges[0]", "two nodes"});
  expectError(asGraph, with(data("pipedream_graph.txt"), "\tnode3 -- node4", "\tnode3 -- node9"),
              {"line 8", "node9"});
  expectError(asPlan, with(data("plan.json"), "\"c\": \"g0\"", "\"d\": \"g0\""),
              {"assignment.d", "unknown op"});
  expectError(asPlan, with(data("plan.json"), "\"c\": \"g0\"", "\"c\": \"g9\""),
              {"assignment.c", "unknown device"});
  expectError(asPlan, with(data("plan.json"), "\"ops\": [\"b\"]", "\"ops\": [\"z\"]"), {"stages[1].ops[0]"});
  expectError(asPlan, with(data("plan.json"), "\"producer\": \"a\"", "\"producer\": \"c\""),
              {"transfers[0]", "no tensor"});
  expectError(asPlan, with(data("plan.json"), "{\"name\": \"m\"", "{\"name\": \"x\""), {"models[0].name"});
}

TEST(BadInput, DuplicateIds) {
  expectError(asProblem, with(kPlanned, "{\"name\": \"b\"", "{\"name\": \"a\""),
              {"ops", "\"a\" is there twice"});
  expectError(asProblem, with(kPlanned, "{\"name\": \"g1\"", "{\"name\": \"g0\""),
              {"devices[1].name", "twice"});
  expectError(asCluster, with(data("cluster.json"), "{\"name\": \"xeon\"", "{\"name\": \"a100\""),
              {"classes[1].name", "twice"});
  expectError(asProblem, with(data("problem.json"), "{\"name\": \"m1\"", "{\"name\": \"m0\""),
              {"models[1].name", "twice"});
  expectError(asProblem, with(data("dnn_partitioning.json"), "\"id\": 3", "\"id\": 10"),
              {"nodes[1].id", "twice"});
  expectError(asProblem, with(data("moirai.json"), "\"id\": 9", "\"id\": 5"), {"nodes[3].id", "twice"});
  expectError(asProblem, with(data("moirai.json"), "\"src\": 4, \"dst\": 9", "\"src\": 4, \"dst\": 5"),
              {"edges[2]", "twice"});
  expectError(asProblem, with(data("piper.json"), "{\"id\": 1", "{\"id\": 0"), {"nodes[1].id", "twice"});
  expectError(asGraph, with(data("pipedream.json"), "\"id\": \"node4\"", "\"id\": \"node3\""),
              {"nodes[3].id", "twice"});
  expectError(asGraph, with(data("pipedream.json"), "\"id\": \"node4\"", "\"id\": \"node3.bwd\""),
              {"nodes[3].id", "twice"});
  expectError(asGraph, with(data("pipedream_graph.txt"), "node4 -- Add", "node3 -- Add"),
              {"line 4", "twice"});
  expectError(asPlan, with(data("plan.json"), "\"c\": \"g0\"", "\"c\": \"g0\", \"c\": \"g0\""),
              {"assignment.c", "twice"});
  expectError(asPlan,
              with(data("plan.json"), "\"schedule\": [{\"op\": \"a\"", "\"schedule\": [{\"op\": \"c\""),
              {"twice"});
}

TEST(BadInput, BadNumbers) {
  for (const char* bad : {"NaN", "Infinity", "-1", "1e13", "1e400", "\"nan\"", "\"inf\"", "\"-3us\"",
                          "\"5 parsecs\"", "\"\"", "true", "{}", "[[]]"}) {
    expectError(asProblem, with(kPlanned, "\"time\": [1]", std::string("\"time\": [") + bad + "]"), {});
    expectError(asProblem, with(kPlanned, "\"time\": 0.5", std::string("\"time\": ") + bad), {});
    expectError(asGraph,
                with(data("graph.json"), "\"time\": 0.1",
                     std::string("\"time\": ") + (std::string(bad) == "{}" ? "[]" : bad)),
                {});
    expectError(asCluster, with(data("cluster.json"), "\"launch\": 4e-6", std::string("\"launch\": ") + bad),
                {});
  }
  for (const char* bad : {"NaN", "Infinity", "-1", "1e16", "1e400", "\"5\"", "true", "null", "{}"}) {
    const std::string value(bad);
    expectError(asProblem,
                with(data("dnn_partitioning.json"), "\"fpgaLatency\": 2", "\"fpgaLatency\": " + value), {});
    expectError(asProblem, with(data("dnn_partitioning.json"), "\"cost\": 0.25,", "\"cost\": " + value + ","),
                {});
    if (value != "null")
      expectError(asProblem, with(data("moirai.json"), "[1.5, 3]", "[1.5, " + value + "]"), {});
    expectError(asProblem, with(data("moirai.json"), "[[0, 1], [1, 0]]", "[[0, 1], [" + value + ", 0]]"), {});
    expectError(asProblem, with(data("piper.json"), "\"timePerSample\": 0.25", "\"timePerSample\": " + value),
                {});
    expectError(asGraph, with(data("pipedream.json"), "\"fwd\": 0.539", "\"fwd\": " + value), {});
  }
  for (const char* bad : {"-5", "0.5", "1e19", "\"3 bananas\"", "\"-1GiB\"", "\"1e30GiB\"", "NaN", "true"}) {
    const std::string value(bad);
    expectError(asCluster, with(data("cluster.json"), "\"memory\": 85899345920", "\"memory\": " + value), {});
    expectError(asProblem, with(data("problem.json"), "\"memory\": 1,", "\"memory\": " + value + ","), {});
    expectError(asProblem, with(data("dnn_partitioning.json"), "\"size\": 1024.0", "\"size\": " + value), {});
    expectError(asProblem, with(data("moirai.json"), "\"mem\": 60", "\"mem\": " + value), {});
    expectError(asGraph, with(data("pipedream.json"), "\"param_bytes\": 36", "\"param_bytes\": " + value),
                {});
    if (value != "0.5") expectError(asProblem, with(data("piper.json"), "8192.0", value), {});
  }
  for (const char* bad : {"0", "-1", "1e-9", "1e300", "\"5GB\"", "\"1e308TB/s\"", "\"0GB/s\""}) {
    expectError(asCluster, with(data("cluster.json"), "12500000000.0", bad), {"links[0].bandwidth"});
    expectError(asProblem, with(data("piper.json"), "25000000000.0", bad), {"bandwidth"});
  }
  for (const char* bad : {"nan", "inf", "-1", "1e300", "abc", "", "1;2", "1 2"}) {
    expectError(asGraph,
                with(data("pipedream_graph.txt"), "forward_compute_time=0.539",
                     std::string("forward_compute_time=") + bad),
                {"line 2"});
  }
  for (const char* bad : {"nan", "-1", "1e300", "[1; 2", "[1; x]", ""}) {
    expectError(
        asGraph,
        with(data("pipedream_graph.txt"), "activation_size=4000.0", std::string("activation_size=") + bad),
        {"line 2"});
  }
  for (const char* bad : {"0", "-1", "1e300", "\"2\""})
    expectError(asCluster, with(data("cluster.json"), "\"speed\": 2", std::string("\"speed\": ") + bad),
                {"classes[0].speed"});
  for (const char* bad : {"-1", "0.5", "\"x\"", "1e30"})
    expectError(asPlan, with(data("plan.json"), "18446744073709551615", bad), {"seed"});
  expectError(asPlan, with(data("plan.json"), "0.38461538461538464", "0.5"),
              {"gap", "(value - bound) / value"});
  std::string heavy = kPlanned;
  for (const char* name : {"\"name\": \"a\"", "\"name\": \"b\"", "\"name\": \"c\""}) {
    heavy =
        with(heavy, name, std::string(name) + ", \"memory\": \"1024TiB\", \"weights\": 1152921504606846976");
  }
  heavy = with(heavy, "\"name\": \"a\"", "\"name\": \"a\", \"workspace\": 1152921504606846976");
  heavy = with(heavy, "\"time\": 0.5", "\"time\": 0.5, \"bytes\": 1152921504606846976");
  expectError(asProblem, heavy, {"add up"});
}

TEST(BadInput, CountsThatDoNotMatch) {
  expectError(asProblem, with(kPlanned, "\"time\": [1]", "\"time\": []"),
              {"ops[0].time", "0 times for 1 classes"});
  expectError(asProblem, with(kPlanned, "\"time\": [1]", "\"time\": [1, 2]"), {"2 times for 1 classes"});
  expectError(asProblem, with(kPlanned, "\"time\": 0.5", "\"time\": [[0, 1]]"), {"1 rows for 2 devices"});
  expectError(asProblem, with(kPlanned, "\"time\": 0.5", "\"time\": [[0, 1], [1]]"),
              {"tensors[0].time[1]", "1 times for 2 devices"});
  expectError(asProblem, with(data("moirai.json"), "[1.5, 3]", "[1.5]"),
              {"nodes[1].time", "1 times for 2 devices"});
  expectError(asProblem, with(data("moirai.json"), "[[0, 1], [1, 0]]", "[[0, 1], [1, 0, 2]]"),
              {"edges[3].time[1]"});
  expectError(asProblem, with(data("moirai.json"), "[[0, 1], [1, 0]]", "[[0, 1]]"),
              {"edges[3].time", "1 rows"});
  expectError(asProblem, with(data("moirai.json"), "{\"id\": 1}", "{\"id\": 2}"), {"devices[1].id"});
  expectError(asProblem, with(data("dnn_partitioning.json"), "0.2500000001", "0.26"),
              {"edges[1].cost", "node \"10\""});
  expectError(asPlan, with(data("plan.json"), "[0.2, 3.25, 2]", "[0.2, 3.25]"), {"curve[1]"});
}

TEST(BadInput, NothingThere) {
  const std::string head = R"({"schema": "allot.problem/1", "classes": [{"name": "g", "kind": "cpu"}], )";
  expectError(asProblem, head + R"("devices": [{"name": "d", "class": "g"}], "ops": []})", {"no ops"});
  expectError(asProblem, head + R"("devices": [], "ops": [{"name": "a", "time": [1]}]})", {"no devices"});
  expectError(asProblem, head + R"("devices": [{"name": "d", "class": "g"}]})", {"\"ops\" is missing"});
  expectError(asGraph, R"({"schema": "allot.graph/1", "ops": []})", {"no ops"});
  expectError(asCluster, R"({"schema": "allot.cluster/1", "classes": [], "devices": []})", {"no devices"});
  expectError(asProblem, R"({"maxFPGAs": 1, "maxCPUs": 0, "maxSizePerFPGA": 1, "nodes": [], "edges": []})",
              {"no nodes"});
  expectError(asProblem, R"({"format": "moirai-v1", "devices": [], "nodes": [], "edges": []})",
              {"no devices"});
  expectError(asGraph, R"({"format": "pipedream-v1", "nodes": [], "edges": []})", {"no nodes"});
  expectError(asProblem, with(data("piper.json"), "\"maxDevices\": 3", "\"maxDevices\": 0"),
              {"maxDevices", "no devices"});
  expectError(asProblem,
              with(with(data("dnn_partitioning.json"), "\"maxFPGAs\": 2", "\"maxFPGAs\": 0"),
                   "\"maxCPUs\": 1", "\"maxCPUs\": 0"),
              {"no devices"});
}

TEST(BadInput, AbsurdCountsOfDevices) {
  for (const char* bad : {"4097", "1000000000", "-1", "1.5", "\"many\"", "1e300"}) {
    expectError(asProblem,
                with(data("dnn_partitioning.json"), "\"maxFPGAs\": 2", std::string("\"maxFPGAs\": ") + bad),
                {"maxFPGAs"});
    expectError(asProblem,
                with(data("dnn_partitioning.json"), "\"maxCPUs\": 1", std::string("\"maxCPUs\": ") + bad),
                {"maxCPUs"});
    expectError(asProblem,
                with(data("piper.json"), "\"maxDevices\": 3", std::string("\"maxDevices\": ") + bad),
                {"maxDevices"});
  }
  std::string many =
      R"({"schema": "allot.cluster/1", "classes": [{"name": "g", "kind": "cpu"}], "devices": [)";
  for (int i = 0; i < 5000; ++i)
    many += (i ? ", " : "") + std::string("{\"name\": \"d") + std::to_string(i) + "\", \"class\": \"g\"}";
  expectError(asCluster, many + "]}", {"devices", "absurd"});
}

TEST(BadInput, UnknownNames) {
  expectError(asProblem, with(kPlanned, "\"class\": \"gpu\"", "\"class\": \"tpu\""),
              {"devices[0].class", "unknown class \"tpu\""});
  expectError(asProblem, with(kPlanned, "accelerator", "quantum"), {"classes[0].kind"});
  expectError(asProblem, with(kPlanned, "\"goal\": \"latency\"", "\"goal\": \"fame\""),
              {"goal", "throughput"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"options\": {\"link-mode\": \"magic\"}, \"goal\""),
              {"options.link-mode"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"constraints\": {\"pin\": {\"a\": \"g7\"}}, \"goal\""),
              {"constraints.pin.a", "g7"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"constraints\": {\"pin\": {\"z\": \"g0\"}}, \"goal\""),
              {"constraints.pin.z"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"forbid\": [[\"a\", \"g7\"]]}, \"goal\""),
              {"constraints.forbid[0][1]"});
  expectError(asProblem, with(kPlanned, "\"goal\"", "\"constraints\": {\"forbid\": [[\"a\"]]}, \"goal\""),
              {"constraints.forbid[0]", "[op, device]"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"together\": [[\"a\", \"z\"]]}, \"goal\""),
              {"constraints.together[0][1]"});
  expectError(asProblem,
              with(kPlanned, "\"goal\"", "\"constraints\": {\"order\": [[\"a\", \"z\"]]}, \"goal\""),
              {"constraints.order[0][1]"});
  expectError(asProblem, with(data("problem.json"), "\"phase\": \"backward\"", "\"phase\": \"sideways\""),
              {"ops[2].phase"});
  expectError(asProblem, with(data("problem.json"), "\"model\": \"m1\"", "\"model\": \"m9\""),
              {"ops[3].model"});
  expectError(asCluster, with(data("cluster.json"), "\"from\": \"node1\"", "\"from\": \"node7\""),
              {"links[2].from"});
  expectError(asProblem, with(kPlanned, ", \"time\": 0.5", ""), {"no link from g0 to g1"});
  expectError(asProblem, with(data("moirai.json"), "ms (assumed)", "fortnights"),
              {"time_unit", "--time-unit"});
  expectError(asPlan, with(data("plan.json"), "\"feasible\"", "\"splendid\""), {"status"});
  Warnings warnings;
  EXPECT_FALSE(readProblem(data("piper.json"), "bad.json", inUnit("days"), nullptr, warnings));
}

TEST(BadInput, MissingFields) {
  for (const char* key : {"maxFPGAs", "maxCPUs", "maxSizePerFPGA", "nodes", "edges", "id", "cpuLatency",
                          "fpgaLatency", "sourceId", "destId", "cost"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kDnnPartitioning),
                with(data("dnn_partitioning.json"), quoted, "\"other\""), {quoted.c_str(), "missing"});
  }
  for (const char* key : {"devices", "nodes", "edges", "src", "dst"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kMoirai), with(data("moirai.json"), quoted, "\"other\""),
                {quoted.c_str(), "missing"});
  }
  for (const char* key : {"maxDevices", "maxMemoryPerDevice", "bandwidth", "nodes", "edges", "TMPCs", "1",
                          "communicationCost"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kPiper), with(data("piper.json"), quoted, "\"other\""),
                {quoted.c_str(), "missing"});
  }
  for (const char* key : {"nodes", "edges", "id", "op", "fwd", "bwd"}) {
    const std::string quoted = "\"" + std::string(key) + "\"";
    expectError(forcedReader(Format::kPipeDreamJson), with(data("pipedream.json"), quoted, "\"other\""),
                {quoted.c_str(), "missing"});
  }
  for (const char* key :
       {"forward_compute_time", "backward_compute_time", "activation_size", "parameter_size"}) {
    expectError(forcedReader(Format::kPipeDreamText), with(data("pipedream_graph.txt"), key, "other"),
                {"line 1", key, "missing"});
  }
  expectError(forcedReader(Format::kPipeDreamText), "node1 -- Conv\n", {"line 1", "not a layer"});
  expectError(forcedReader(Format::kPipeDreamText), data("pipedream_graph.txt") + "\tnode1\n",
              {"line 9", "not an edge"});
}

TEST(BadInput, NamesDoNotBreakTheLine) {
  expectError(asProblem, with(kPlanned, "[\"b\", \"c\"]", "[\"no\\nbody\\u001b\"]"), {"tensors[0].to[0]"});
}

TEST(BadInput, UnreadablePaths) {
  for (const char* path : {"/nonexistent/file.json", "/", ""}) {
    const auto text = readFile(path);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().file, path);
    EXPECT_FALSE(text.error().message.empty());
    EXPECT_FALSE(text.error().remedy.empty());
  }
  EXPECT_FALSE(writeFile("/nonexistent/file.json", "x"));
  const auto full = writeFile("/dev/full", "x");
  ASSERT_FALSE(full);
  EXPECT_TRUE(full.error().text().starts_with("/dev/full: "));
}

}  // namespace
}  // namespace allot
