#include <gtest/gtest.h>

#include <cmath>

#include "allot/allot.h"
#include "base/units.h"

namespace allot {
namespace {

Problem read(const std::string& text) {
  Warnings warnings;
  auto problem = readProblem(text, "test.json", {}, nullptr, warnings);
  EXPECT_TRUE(problem) << (problem ? "" : problem.error().text());
  return problem ? std::move(*problem) : Problem{};
}

std::string linked(const std::string& links, const std::string& extra = "") {
  return R"({"schema": "allot.problem/1", "name": "p", "classes": [{"name": "gpu", "kind": "accelerator"}, {"name": "cpu", "kind": "cpu"}],
    "devices": [{"name": "g0", "class": "gpu", "host": "h"}, {"name": "g1", "class": "gpu", "host": "h"}, {"name": "c", "class": "cpu", "host": "h"}],
    "ops": [{"name": "a", "time": [1, 2]}, {"name": "b", "time": [1, null]}],
    "tensors": [{"from": "a", "to": ["b"], "bytes": 100}], "links": [)" +
         links + "]" + extra + "}";
}

TEST(Links, TheMostSpecificWins) {
  const Problem p = read(linked(R"({"from": "*", "to": "*", "latency": 1, "bandwidth": 100},
    {"from": "gpu", "to": "*", "latency": 2, "bandwidth": 100}, {"from": "g0", "to": "g1", "latency": 3, "bandwidth": 100},
    {"from": "h", "to": "g0", "latency": 4, "bandwidth": 100})"));
  const TensorId t(0);
  EXPECT_DOUBLE_EQ(p.transferSeconds(t, DeviceId(0), DeviceId(1)), 4);  // device to device
  EXPECT_DOUBLE_EQ(p.transferSeconds(t, DeviceId(0), DeviceId(2)), 3);  // class to any
  EXPECT_DOUBLE_EQ(p.transferSeconds(t, DeviceId(2), DeviceId(1)), 2);  // any to any
  EXPECT_DOUBLE_EQ(p.transferSeconds(t, DeviceId(2), DeviceId(0)), 5);  // host to device: 1 + 3
  EXPECT_DOUBLE_EQ(p.transferSeconds(t, DeviceId(1), DeviceId(0)),
                   5);  // host + device (4) before class + any (2)
  EXPECT_DOUBLE_EQ(p.transferSeconds(t, DeviceId(1), DeviceId(1)), 0);
}

TEST(Links, OnATieTheMoreSpecificFromThenTheLaterEntry) {
  const Problem p = read(linked(
      R"({"from": "*", "to": "*", "bandwidth": 100}, {"from": "*", "to": "gpu", "latency": 1, "bandwidth": 100},
    {"from": "gpu", "to": "*", "latency": 2, "bandwidth": 100}, {"from": "gpu", "to": "*", "latency": 3, "bandwidth": 100})"));
  EXPECT_DOUBLE_EQ(p.transferSeconds(TensorId(0), DeviceId(0), DeviceId(1)), 4);
}

TEST(Links, AMissingPairIsNamed) {
  Warnings warnings;
  const auto p = readProblem(linked(R"({"from": "g0", "to": "*"})", R"(, "goal": "latency")"), "x.json", {},
                             nullptr, warnings);
  ASSERT_FALSE(p);
  EXPECT_NE(p.error().text().find("x.json: links: no link from g1 to g0"), std::string::npos)
      << p.error().text();
}

TEST(Transfers, DefaultFollowsTheLinksToTheHost) {
  const std::string to_host =
      R"({"from": "gpu", "to": "h", "bandwidth": 50}, {"from": "h", "to": "gpu", "bandwidth": 25},
    {"from": "*", "to": "*", "bandwidth": 100})";
  EXPECT_EQ(read(linked(to_host)).transfers(), Transfers::kViaHost);
  EXPECT_EQ(read(linked(R"({"from": "*", "to": "*", "bandwidth": 100})")).transfers(), Transfers::kByLink);
  const Problem p = read(linked(to_host));
  EXPECT_DOUBLE_EQ(p.toHostSeconds(TensorId(0), DeviceId(0)), 2);
  EXPECT_DOUBLE_EQ(p.fromHostSeconds(TensorId(0), DeviceId(0)), 4);
}

TEST(Constraints, JoinUnitsAndTakeDevices) {
  Problem p = read(linked(R"({"from": "*", "to": "*"})"));
  EXPECT_EQ(p.unitCount(), 2u);
  EXPECT_FALSE(p.allowed(p.unit(OpId(1)), DeviceId(2)));  // no time on cpu
  Constraints more;
  more.together.push_back({OpId(0), OpId(1)});
  more.forbid.emplace_back(OpId(0), DeviceId(0));
  ASSERT_TRUE(p.addConstraints(more));
  ASSERT_EQ(p.unitCount(), 1u);
  EXPECT_FALSE(p.allowed(UnitId(0), DeviceId(0)));
  EXPECT_TRUE(p.allowed(UnitId(0), DeviceId(1)));
  EXPECT_FALSE(p.allowed(UnitId(0), DeviceId(2)));
}

TEST(Conflict, NamesTheOpAndTheMissingBytes) {
  const Problem p = read(R"({"schema": "allot.problem/1", "classes": [{"name": "g", "kind": "accelerator"}],
    "devices": [{"name": "g0", "class": "g", "memory": 100}], "goal": "latency", "ops": [{"name": "big", "time": [1], "weights": 130}]})");
  const SolveOutcome outcome = solve(p, {});
  EXPECT_EQ(outcome.plan.status, Status::kInfeasible);
  ASSERT_EQ(outcome.conflict.facts.size(), 1u);
  EXPECT_NE(outcome.conflict.facts[0].find("\"big\" needs 130 B (130 bytes)"), std::string::npos)
      << outcome.conflict.facts[0];
  EXPECT_NE(outcome.conflict.facts[0].find("30 B are missing"), std::string::npos);
}

TEST(Conflict, TheDeletionFilterKeepsOnlyWhatIsNeeded) {
  // Two ops that need 60 of 100 bytes each are pinned to one device; the third pin has nothing to do with it.
  const Problem p = read(R"({"schema": "allot.problem/1", "classes": [{"name": "g", "kind": "accelerator"}],
    "devices": [{"name": "g0", "class": "g", "memory": 100}, {"name": "g1", "class": "g", "memory": 100}], "goal": "latency",
    "ops": [{"name": "a", "time": [1], "memory": 60}, {"name": "b", "time": [1], "memory": 60}, {"name": "c", "time": [1]}],
    "constraints": {"pin": {"a": "g0", "b": "g0", "c": "g1"}}})");
  const SolveOutcome outcome = solve(p, {});
  EXPECT_EQ(outcome.plan.status, Status::kInfeasible);
  EXPECT_EQ(outcome.conflict.facts,
            (std::vector<std::string>{"the memory of the devices", "op \"a\" is pinned to g0",
                                      "op \"b\" is pinned to g0"}));
}

TEST(Options, EveryOptionReadsBackWhatItWrites) {
  for (const OptionSpec& spec : optionTable()) {
    Options options;
    const std::string before = spec.get(options);
    if (!before.empty()) {
      ASSERT_TRUE(setOption(options, spec.name, before)) << spec.name;
    }
    EXPECT_EQ(spec.get(options), before) << spec.name;
    for (const std::string_view choice : spec.choices) {
      ASSERT_TRUE(setOption(options, spec.name, choice));
      EXPECT_EQ(spec.get(options), choice);
    }
    if (spec.name != "solver") {
      EXPECT_FALSE(setOption(options, spec.name, "no such value")) << spec.name;
    }
    EXPECT_FALSE(spec.help.empty());
  }
  Options options;
  EXPECT_FALSE(setOption(options, "no-such-option", "1"));
  EXPECT_FALSE(setOption(options, "headroom", "120%"));
}

TEST(Units, AreReadWithTheirFactorsAndRefusedOtherwise) {
  EXPECT_DOUBLE_EQ(*parseSeconds("3us"), 3e-6);
  EXPECT_DOUBLE_EQ(*parseSeconds("1.5 ms"), 1.5e-3);
  EXPECT_EQ(*parseBytes("24GiB"), 24ll << 30);
  EXPECT_EQ(*parseBytes("512MB"), 512'000'000);
  EXPECT_DOUBLE_EQ(*parseBytesPerSecond("12.5GB/s"), 12.5e9);
  EXPECT_DOUBLE_EQ(*parseShare("5%"), 0.05);
  for (const char* bad : {"", "x", "12 bananas", "nan", "inf", "1e999", "-1GB"})
    EXPECT_FALSE(parseBytes(bad)) << bad;
  EXPECT_FALSE(parseSeconds("3 parsecs"));
  EXPECT_FALSE(parseBytesPerSecond("3GB"));
}

}  // namespace
}  // namespace allot
