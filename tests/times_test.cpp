// Measured times: tables and profiles, and what is wrong with bad ones.
#include <gtest/gtest.h>

#include "allot/cost.h"
#include "formats_support.h"

namespace allot {
namespace {

using Times = std::vector<std::pair<std::string, double>>;

MeasuredTimes timesOf(const std::string& text) {
  Warnings warnings;
  auto times = readTimes(text, "times", warnings);
  EXPECT_TRUE(times) << times.error().text();
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  return times ? std::move(*times) : MeasuredTimes();
}

std::string errorOf(const std::string& text) {
  Warnings warnings;
  const auto times = readTimes(text, "times", warnings);
  EXPECT_FALSE(times) << text;
  if (times) return "";
  EXPECT_EQ(times.error().file, "times");
  EXPECT_FALSE(times.error().remedy.empty());
  EXPECT_EQ(times.error().text().find('\n'), std::string::npos);
  return times.error().text();
}

TEST(Times, Tables) {
  const MeasuredTimes times = timesOf("op,class,seconds\na,gpu,0.5\na,cpu,2\nb,,0.25\n\"x, y\",gpu,1e-3\n");
  EXPECT_EQ(times.source, "times");
  EXPECT_EQ(times.by_op.at("a"), (Times{{"gpu", 0.5}, {"cpu", 2}}));
  EXPECT_EQ(times.by_op.at("b"), (Times{{"", 0.25}}));
  EXPECT_EQ(times.by_op.at("x, y"), (Times{{"gpu", 1e-3}}));
}

TEST(Times, UnitsOfTheHeader) {
  EXPECT_EQ(timesOf("op,ms\na,40\n").by_op.at("a"), (Times{{"", 0.04}}));
  EXPECT_EQ(timesOf("us,op,class\n40,a,gpu\n").by_op.at("a"), (Times{{"gpu", 40e-6}}));
  EXPECT_EQ(timesOf("Op,Class,Time ms\na,gpu,1\n").by_op.at("a"), (Times{{"gpu", 1e-3}}));
}

TEST(Times, Profiles) {
  const MeasuredTimes times =
      timesOf(R"({"schema": "allot.profile/1", "class": "gpu", "machine": "lab", "date": "2026-01-02",
    "ops": [{"name": "a", "time": 0.5}, {"name": "b", "time": "3us"}, {"name": "c", "time": {"cpu": 1, "gpu": "2ms"}}]})");
  EXPECT_EQ(times.by_op.at("a"), (Times{{"gpu", 0.5}}));
  EXPECT_EQ(times.by_op.at("b"), (Times{{"gpu", 3e-6}}));
  EXPECT_EQ(times.by_op.at("c"), (Times{{"cpu", 1}, {"gpu", 2e-3}}));
  EXPECT_EQ(timesOf("schema: allot.profile/1\nops:\n  - {name: a, time: 1ms}\n").by_op.at("a"),
            (Times{{"", 1e-3}}));
}

TEST(Times, UnknownColumnsAndKeysWarn) {
  Warnings warnings;
  EXPECT_TRUE(readTimes("op,ms,remark\na,1,fast\n", "times", warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("remark"), std::string::npos);
  warnings.clear();
  EXPECT_TRUE(readTimes(R"({"schema": "allot.profile/1", "ops": [{"name": "a", "time": 1, "extra": 2}]})",
                        "times", warnings));
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(Times, BadOnes) {
  EXPECT_NE(errorOf("op,class,seconds\na,gpu,nan\n").find("line 2"), std::string::npos);
  EXPECT_NE(errorOf("op,class,seconds\na,gpu,inf\n").find("line 2"), std::string::npos);
  EXPECT_NE(errorOf("op,class,seconds\na,gpu,-1\n").find("negative"), std::string::npos);
  EXPECT_NE(errorOf("op,class,seconds\na,gpu,1e30\n").find("absurd"), std::string::npos);
  EXPECT_NE(errorOf("op,class,seconds\na,gpu,1\na,gpu,2\n").find("twice"), std::string::npos);
  EXPECT_NE(errorOf("op,class,seconds\na,gpu,1\nb\n").find("line 3"), std::string::npos);
  EXPECT_NE(errorOf("op,class,seconds\n,gpu,1\n").find("missing"), std::string::npos);
  EXPECT_NE(errorOf("op,class,seconds\n").find("no times"), std::string::npos);
  EXPECT_NE(errorOf("op,seconds,ms\na,1,1\n").find("both"), std::string::npos);
  EXPECT_NE(errorOf("name,time\na,1\n").find("op,class,seconds"), std::string::npos);
  EXPECT_NE(errorOf("op,class\na,gpu\n").find("times"), std::string::npos);
  errorOf("");
  errorOf("\n\n");
  errorOf("\xff\xfe");
  errorOf("{");
  EXPECT_NE(errorOf(R"({"schema": "allot.graph/1", "ops": []})").find("allot.profile/1"), std::string::npos);
  EXPECT_NE(errorOf(R"({"schema": "allot.profile/1", "ops": []})").find("no times"), std::string::npos);
  EXPECT_NE(
      errorOf(R"({"schema": "allot.profile/1", "ops": [{"name": "a", "time": -1}]})").find("ops[0].time"),
      std::string::npos);
  EXPECT_NE(
      errorOf(R"({"schema": "allot.profile/1", "ops": [{"name": "a", "time": 1}, {"name": "a", "time": 1}]})")
          .find("twice"),
      std::string::npos);
  EXPECT_NE(errorOf(R"({"schema": "allot.profile/1", "ops": [{"time": 1}]})").find("name"),
            std::string::npos);
}

// The first block of docs/formats/profile.md that is fenced as `language`.
std::string example(const std::string& language) {
  const std::string page = textOf(std::string(ALLOT_SOURCE_DIR) + "/docs/formats/profile.md");
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = page.find(fence);
  EXPECT_NE(begin, std::string::npos);
  if (begin == std::string::npos) return {};
  return page.substr(begin + fence.size(), page.find("```", begin + fence.size()) - begin - fence.size());
}

TEST(Times, ExamplesOfTheDocumentation) {
  const MeasuredTimes table = timesOf(example("csv"));
  EXPECT_EQ(table.by_op.at("/layer.0/attention/MatMul"),
            (Times{{"a100-80gb", 0.21 / 1e3}, {"t4", 1.9 / 1e3}}));
  const MeasuredTimes profile = timesOf(example("json"));
  EXPECT_EQ(profile.by_op.at("/layer.0/attention/Softmax").size(), 2u);
}

TEST(Times, EveryBeginningOfAFileIsReadOrRefused) {
  for (const std::string& text :
       {std::string("op,class,seconds\n\"a\",gpu,0.5\nb,,0.25\n"),
        std::string(R"({"schema": "allot.profile/1", "ops": [{"name": "a", "time": "3us"}]})")}) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      Warnings warnings;
      const auto times = readTimes(text.substr(0, size), "times", warnings);
      if (!times) {
        EXPECT_EQ(times.error().text().find('\n'), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace allot
