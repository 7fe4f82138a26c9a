// The HTML report: its data, its escaping, its size, its command. How it looks and behaves:
// report_browser_test.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "allot/evaluate.h"
#include "allot/formats.h"
#include "allot/solve.h"
#include "base/json_reader.h"
#include "command_support.h"
#include "report/demo_models.h"
#include "report/html_report.h"
#include "report/report_columns.h"
#include "report/report_stages.h"
#include "support/random_problem.h"

namespace allot {
namespace {

// Numbers of a column, by a decoder written from its description.
std::vector<double> decoded(std::string_view column) {
  const std::size_t colon = column.find(':');
  const std::string_view kind = column.substr(0, colon), text = column.substr(colon + 1);
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 255);
  }
  const std::size_t width = kind == "u8" ? 1 : kind == "u16" ? 2 : 4;
  std::vector<double> numbers;
  for (std::size_t i = 0; i + width <= bytes.size(); i += width) {
    std::uint32_t number = 0;
    for (std::size_t b = 0; b < width; ++b)
      number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + b])) << (8 * b);
    numbers.push_back(kind == "f32" ? static_cast<double>(std::bit_cast<float>(number)) : number);
  }
  return numbers;
}

std::string columnOf(const JsonNode& node, std::string_view key) {
  return std::string(*node.at(key)->string());
}

// The data block of a page.
std::string dataOf(const std::string& html) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = html.find(open) + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

JsonDocument parsed(const std::string& text) {
  auto document = JsonDocument::parse(text, "data", false);
  EXPECT_TRUE(document) << document.error().text();
  return std::move(*document);
}

std::size_t countOf(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

ReportOptions withoutSearch() {
  ReportOptions options;
  options.what_if_seconds = 0;
  return options;
}

// Ops in a row on two devices in turn.
Problem chain(std::size_t ops, const std::vector<std::string>& names, Goal goal) {
  Problem problem;
  problem.name = "chain";
  problem.cluster.classes.resize(2);
  problem.cluster.classes[0].name = "gpu";
  problem.cluster.classes[1].name = "cpu";
  problem.cluster.classes[1].kind = DeviceKind::kCpu;
  problem.cluster.devices = {{"gpu0", ClassId(0), {}, {}}, {"cpu0", ClassId(1), {}, {}}};
  for (std::size_t i = 0; i < ops; ++i) {
    problem.graph.addOp(i < names.size() ? names[i]
                                         : "layers." + std::to_string(i / 8) + "/op" + std::to_string(i % 8));
    problem.op_seconds.push_back(0.001 * static_cast<double>(1 + i % 5));
    problem.op_seconds.push_back(0.004);
  }
  for (std::size_t i = 0; i + 1 < ops; ++i) {
    const OpId next(i + 1);
    problem.addTensor(OpId(i), {&next, 1}, 1 << 20, 0.0001);
  }
  problem.modes.goal = goal;
  const auto finished = problem.finish();
  EXPECT_TRUE(finished) << finished.error().text();
  return problem;
}

Plan halves(const Problem& problem) {
  Plan plan;
  plan.modes = problem.modes;
  for (std::size_t i = 0; i < problem.opCount(); ++i)
    plan.assignment.emplace_back(i < problem.opCount() / 2 ? 0U : 1U);
  Evaluation evaluation = evaluate(problem, plan);
  EXPECT_TRUE(evaluation.valid()) << evaluation.violations.front();
  evaluation.plan.status = Status::kFeasible;
  return evaluation.plan;
}

TEST(ReportColumns, KeepEveryNumber) {
  for (const std::uint32_t largest : {0U, 255U, 256U, 65535U, 65536U, 4294967295U}) {
    for (std::size_t size = 0; size < 8; ++size) {
      std::vector<std::uint32_t> numbers(size, largest / 3);
      if (size > 0) numbers.back() = largest;
      JsonWriter out;
      out.beginObject();
      writeColumn(out, "c", numbers);
      const JsonDocument document = parsed(out.endObject().take());
      const std::string text = columnOf(document.root(), "c");
      EXPECT_EQ(decoded(text), std::vector<double>(numbers.begin(), numbers.end())) << text;
    }
  }
  const std::vector<double> figures{0, -1.5, 1e-9, 3.5e12, kCannotRun};
  JsonWriter out;
  out.beginObject();
  writeColumn(out, "c", figures);
  const JsonDocument document = parsed(out.endObject().take());
  const std::vector<double> read = decoded(columnOf(document.root(), "c"));
  ASSERT_EQ(read.size(), figures.size());
  for (std::size_t i = 0; i + 1 < read.size(); ++i)
    EXPECT_NEAR(read[i], figures[i], 1e-7 * std::fabs(figures[i]));
  EXPECT_TRUE(std::isinf(read.back()));
}

TEST(ReportColumns, FrontCodesNamesInUnitsThatBrowsersShare) {
  const std::vector<std::string> names{
      "layers.0/a", "layers.0/b", "", "é/x", "é/y", std::string(400, 'z'), std::string(400, 'z') + "1",
      "layers.0/b"};
  JsonWriter out;
  out.beginObject();
  writeNames(out, "names", names);
  const JsonDocument document = parsed(out.endObject().take());
  const std::vector<double> shared = decoded(columnOf(document.root(), "names_shared"));
  ASSERT_EQ(shared.size(), names.size());
  EXPECT_EQ(shared[1], 9);
  EXPECT_EQ(shared[4], 0) << "bytes beyond ASCII are not what a browser counts";
  std::string before;
  std::size_t i = 0;
  const auto all = document.root().at("names")->forEach([&](const JsonNode& rest) -> Result<void> {
    before = before.substr(0, static_cast<std::size_t>(shared[i])) + std::string(*rest.string());
    EXPECT_EQ(before, names[i++]);
    return {};
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(i, names.size());
}

TEST(ReportColumns, TicksReachTheEndAndKeepTheOrder) {
  const TickClock clock(12.5);
  EXPECT_EQ(clock.ticks(0), 0U);
  EXPECT_EQ(clock.ticks(-1), 0U);
  EXPECT_EQ(clock.ticks(12.5), 4294967295U);
  EXPECT_EQ(clock.ticks(13), 4294967295U);
  EXPECT_LT(clock.ticks(6.25), clock.ticks(6.25 + 1e-7));
  EXPECT_NEAR(clock.ticks(3.3) * clock.secondsPerTick(), 3.3, 1e-8);
  EXPECT_EQ(TickClock(0).ticks(0), 0U);
  EXPECT_EQ(TickClock(kCannotRun).ticks(1), 1U);
}

TEST(Report, HoldsWhatThePlanSays) {
  const Problem problem = chain(24, {}, Goal::kLatency);
  const Plan plan = halves(problem);
  ReportOptions options = withoutSearch();
  options.baselines = {{"heft", Status::kFeasible, 0.5}, {"rule", Status::kInfeasible, 0}};
  const JsonDocument document = parsed(dataOf(writeReport(problem, plan, options)));
  const JsonNode root = document.root();
  EXPECT_EQ(*root.at("goal")->string(), "latency");
  EXPECT_EQ(*root.at("plan")->at("value")->number(), plan.value);
  const JsonNode ops = *root.at("ops");
  const double tick = *root.at("tick")->number();
  const std::vector<double> device = decoded(columnOf(ops, "device")),
                            start = decoded(columnOf(ops, "start")), end = decoded(columnOf(ops, "end")),
                            seconds = decoded(columnOf(ops, "seconds"));
  ASSERT_EQ(device.size(), problem.opCount());
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    EXPECT_EQ(device[i], static_cast<double>(plan.assignment[i].index()));
    EXPECT_NEAR(start[i] * tick, plan.start[i], 1e-9);
    EXPECT_NEAR(end[i] * tick, plan.end[i], 1e-9);
    EXPECT_NEAR(seconds[i], problem.opSeconds(OpId(i), plan.assignment[i]), 1e-9);
  }
  const JsonNode transfers = *root.at("transfers");
  EXPECT_EQ(*transfers.at("count")->natural(), plan.transfers.size());
  EXPECT_EQ(decoded(columnOf(transfers, "tensor")).front(), 11) << "the tensor between the halves";
  const std::vector<double> cut = decoded(columnOf(*root.at("tensors"), "cut"));
  EXPECT_EQ(std::count_if(cut.begin(), cut.end(), [](double s) { return s > 0; }), 1);
  std::size_t rules = 0;
  const auto all = root.at("baselines")->forEach([&](const JsonNode& row) -> Result<void> {
    EXPECT_EQ(row.has("value"), rules++ == 0);
    return {};
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(rules, 2U);
}

TEST(Report, TakesEveryKindOfPlan) {
  int plans = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Goal goal = seed % 3 == 0 ? Goal::kThroughput : seed % 3 == 1 ? Goal::kLatency : Goal::kCompletion;
    const Problem problem = randomProblem(seed, goal, {9, 4, true});
    RunOptions run;
    run.work_limit = 200;
    run.threads = 1;
    run.helpers = Helpers::kOff;
    const SolveOutcome outcome = solve(problem, run);
    if (!outcome.plan.hasPlan()) continue;
    const JsonDocument document = parsed(dataOf(writeReport(problem, outcome.plan, withoutSearch())));
    EXPECT_TRUE(document.root().has("what_if")) << describe(problem);
    EXPECT_EQ(document.root().has("stages"), goal == Goal::kThroughput);
    ++plans;
  }
  EXPECT_GT(plans, 100);
}

TEST(Report, StagesAddUpToTheLoads) {
  int stages = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {9, 4, true});
    if (problem.modes.overlap != Overlap::kSum || problem.modes.training_load != TrainingLoad::kSum) continue;
    RunOptions run;
    run.work_limit = 100;
    run.threads = 1;
    run.helpers = Helpers::kOff;
    const SolveOutcome outcome = solve(problem, run);
    if (!outcome.plan.hasPlan()) continue;
    for (const StageWork& stage : stageWork(problem, outcome.plan)) {
      double seconds = 0;
      for (const StagePart& part : stage.parts)
        seconds += part.receive_seconds + part.compute_seconds + part.send_seconds;
      const double load = seconds / static_cast<double>(stage.devices.size()) + stage.sync_seconds;
      EXPECT_NEAR(load, stage.load_seconds, 1e-9 * std::max(1.0, load)) << describe(problem);
      ++stages;
    }
  }
  EXPECT_GT(stages, 100);
}

TEST(Report, KeepsTextFromBeingMarkup) {
  const std::string attack = "</script><script>alert(1)</script><!--";
  Problem problem = chain(16, {attack, "{{script}}", "{{data}}", "a\"b\\c\n\t\x01", "<b>"}, Goal::kLatency);
  problem.name = attack + "{{style}}";
  problem.cluster.devices[0].name = "<img src=x onerror=alert(2)>";
  const std::string html = writeReport(problem, halves(problem), withoutSearch());
  EXPECT_EQ(countOf(html, "<script"), 2U) << "data and viewer";
  EXPECT_EQ(countOf(html, "</script"), 2U);
  EXPECT_EQ(countOf(html, "<img"), 0U);
  EXPECT_EQ(countOf(html, "alert(1)"), 3U) << "name in the title and in the data, and an op";
  EXPECT_EQ(dataOf(html).find('<'), std::string::npos);
  const JsonDocument document = parsed(dataOf(html));
  EXPECT_EQ(*document.root().at("name")->string(), problem.name);
}

TEST(Report, NamesNoOtherPlace) {
  const Problem problem = chain(16, {}, Goal::kThroughput);
  const std::string html = writeReport(problem, halves(problem), withoutSearch());
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  // The names of XML dialects look like addresses; nobody visits them.
  EXPECT_EQ(countOf(html, "http"), 1U + countOf(html, "http-equiv"));
  EXPECT_EQ(countOf(html, "\nimport "), 0U);
  EXPECT_EQ(countOf(html, "\nexport "), 0U);
  for (const std::string_view mark : {"{{title}}", "{{style}}", "{{data}}", "{{script}}"})
    EXPECT_EQ(countOf(html, mark), 0U);
}

TEST(Report, IsSmall) {
  for (const Goal goal : {Goal::kLatency, Goal::kThroughput}) {
    const Problem problem = chain(5000, {}, goal);
    EXPECT_LT(writeReport(problem, halves(problem), withoutSearch()).size(), 3U << 20);
  }
  const Problem large = chain(200000, {}, Goal::kLatency);
  const std::string html = writeReport(large, halves(large), ReportOptions());
  EXPECT_LT(html.size(), 24U << 20);
  const JsonDocument document = parsed(dataOf(html));
  EXPECT_NE(document.root().at("what_if")->at("note")->string()->find("Left out"), std::string::npos);
}

class ReportCommand : public CommandTest {};

TEST_F(ReportCommand, WritesTheFileAndSaysHowToOpenIt) {
  const auto problem = demoLanguageModel();
  ASSERT_TRUE(problem);
  save("demo.json", writeProblem(*problem));
  ASSERT_EQ(runCommand("plan demo.json --goal throughput --work-limit 300 -q -o plan.json").code % 5, 0);
  const CommandAnswer answer = runCommand("report demo.json plan.json --time-limit 0");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("report.html"), std::string::npos);
  EXPECT_NE(answer.out.find("browser"), std::string::npos);
  const std::string html = *readFile((folder / "report.html").string());
  EXPECT_TRUE(html.starts_with("<!doctype html>"));

  const CommandAnswer json = runCommand("report demo.json plan.json --time-limit 0 -o other.html --json");
  const JsonDocument document = parsed(json.out);
  EXPECT_EQ(*document.root().at("file")->string(), "other.html");
  EXPECT_EQ(*document.root().at("bytes")->natural(), std::filesystem::file_size(folder / "other.html"));
  EXPECT_TRUE(
      runCommand("report demo.json plan.json --time-limit 0 -o -").out.starts_with("<!doctype html>"));
}

TEST_F(ReportCommand, RefusesWhatIsNoPlan) {
  const Problem problem = chain(4, {}, Goal::kLatency);
  save("p.json", writeProblem(problem));
  Plan plan = halves(problem);
  save("plan.json", writePlan(problem, plan));
  EXPECT_EQ(runCommand("report p.json plan.json --time-limit 0 -o no/such/folder.html").code, 3);
  EXPECT_EQ(runCommand("report p.json missing.json").code, 3);
  EXPECT_EQ(runCommand("report p.json").code, 2);
  plan.value /= 2;
  save("wrong.json", writePlan(problem, plan));
  const CommandAnswer wrong = runCommand("report p.json wrong.json");
  EXPECT_EQ(wrong.code, 7);
  EXPECT_EQ(countOf(wrong.err, "\n"), 1U) << wrong.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "report.html"));
  save("bare.json",
       R"({"schema": "allot.plan/1", "goal": "latency", "assignment": {"layers.0/op0": "gpu0"}})");
  EXPECT_EQ(runCommand("report p.json bare.json").code, 3);
}

}  // namespace
}  // namespace allot
