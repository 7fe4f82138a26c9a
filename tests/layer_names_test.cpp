#include "report/layer_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "allot/formats.h"
#include "base/random.h"

namespace allot {
namespace {

// A chain of ops with these names on two devices.
Problem chainOf(const std::vector<std::string>& names) {
  std::string ops;
  for (const std::string& name : names)
    ops += fmt::format("{}{{\"name\": \"{}\", \"time\": [1]}}", ops.empty() ? "" : ", ", name);
  const std::string text = fmt::format(
      R"({{"schema": "allot.problem/1", "classes": [{{"name": "gpu", "kind": "accelerator"}}],
          "devices": [{{"name": "a", "class": "gpu"}}, {{"name": "b", "class": "gpu"}}], "ops": [{}]}})",
      ops);
  Warnings warnings;
  auto problem = readProblem(text, "test", {}, nullptr, warnings);
  EXPECT_TRUE(problem) << problem.error().text();
  return std::move(*problem);
}

std::vector<std::string> textOf(const Problem& problem, const std::vector<int>& devices) {
  std::vector<DeviceId> assignment;
  for (const int d : devices) assignment.emplace_back(static_cast<std::size_t>(d));
  std::vector<std::string> lines;
  for (const LayerLine& line : layerLines(problem, assignment))
    lines.push_back(
        fmt::format("{} {} {}", line.layers, problem.cluster.devices[line.device.index()].name, line.ops));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LayerNames, FoldsWhatIsOnOneDevice) {
  const Problem problem = chainOf(
      {"embed", "layers.0.q", "layers.0.k", "layers.1.q", "layers.1.k", "layers.2.q", "layers.2.k", "head"});
  EXPECT_EQ(textOf(problem, {0, 0, 0, 0, 0, 0, 0, 0}), Lines({"all layers a 8"}));
  EXPECT_EQ(textOf(problem, {0, 0, 0, 0, 0, 1, 1, 1}),
            Lines({"embed a 1", "layers.0-1 a 4", "layers.2 b 2", "head b 1"}));
  EXPECT_EQ(textOf(problem, {1, 0, 0, 0, 1, 0, 0, 1}), Lines({"embed b 1", "layers.0 a 2", "layers.1.q a 1",
                                                              "layers.1.k b 1", "layers.2 a 2", "head b 1"}));
}

TEST(LayerNames, JoinsOnlyNumbersThatFollowEachOther) {
  const Problem problem =
      chainOf({"block1/conv", "block2/conv", "block4/conv", "other", "block5/conv", "x9"});
  EXPECT_EQ(textOf(problem, {0, 0, 0, 1, 0, 0}),
            Lines({"block1 .. block4 a 3", "other b 1", "block5 .. x9 a 2"}));
}

TEST(LayerNames, AnOpMayBeTheNameOfALayer) {
  const Problem problem = chainOf({"a", "a.b", "a.c", "/", "..", "a/d"});
  EXPECT_EQ(textOf(problem, {0, 1, 1, 0, 0, 0}), Lines({"a a 1", "a.b .. c b 2", "a/d a 1", "/ .. .. a 2"}));
}

TEST(LayerNames, CoverEveryOpOnce) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> names;
    std::vector<DeviceId> assignment;
    const std::size_t n = 1 + random.below(40);
    for (std::size_t i = 0; i < n; ++i) {
      std::string name;
      for (std::uint64_t part = 0; part <= random.below(4); ++part)
        name += fmt::format("{}{}", random.below(2) != 0 ? "/" : ".", random.below(3));
      names.push_back(fmt::format("{}.{}", name, i));
      assignment.emplace_back(random.below(2));
    }
    const Problem problem = chainOf(names);
    std::size_t ops = 0;
    double seconds = 0;
    for (const LayerLine& line : layerLines(problem, assignment)) {
      ops += line.ops;
      seconds += line.seconds;
    }
    EXPECT_EQ(ops, n);
    EXPECT_EQ(seconds, static_cast<double>(n));
  }
}

TEST(LayerNames, FindsTheOpsOfALayer) {
  const Problem problem = chainOf({"l.1", "l.1.a", "l.10.b", "l.2/c", "l.2/d", "l.20"});
  EXPECT_EQ(opsOfLayer(problem.graph, "l.1"), std::vector<OpId>({OpId(0)}));
  EXPECT_EQ(opsOfLayer(problem.graph, "l.2"), std::vector<OpId>({OpId(3), OpId(4)}));
  EXPECT_TRUE(opsOfLayer(problem.graph, "l.3").empty());
}

}  // namespace
}  // namespace allot
