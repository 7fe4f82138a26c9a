// Bad files: every reader answers with one line that begins with the file's name and says what is wrong,
// where, and what to do.
#include <gtest/gtest.h>

#include "bad_input_support.h"

namespace allot {
namespace {

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
