// The planners that pipelines are split with today, on cases worked out by hand and on random problems.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "allot/allot.h"
#include "baselines_support.h"
#include "support/random_problem.h"

namespace allot::baselines_test {
namespace {

// The only plan a solver of the whole table reports.
std::optional<Plan> planOf(const Problem& problem, std::string_view name, const RunOptions& options = {}) {
  const Solver* found = findSolver(name);
  EXPECT_NE(found, nullptr) << name;
  EXPECT_TRUE(found->accepts(problem)) << name;
  Recorder recorder;
  found->solve(problem, Budget(options, nullptr), recorder);
  if (recorder.plans.empty()) return {};
  return recorder.plans.front();
}

// Forward ops in a row on one accelerator class.
struct Line {
  Maker maker{Goal::kThroughput};

  Line(std::size_t devices, std::optional<std::int64_t> memory = {}) {
    maker.device(DeviceKind::kAccelerator, memory);
    for (std::size_t d = 1; d < devices; ++d)
      maker.problem.cluster.devices.push_back({"d" + std::to_string(d), ClassId(0), memory, HostId()});
  }
  Line& ops(const std::vector<double>& seconds, const std::vector<double>& transfers,
            std::int64_t memory = 0) {
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      const OpId op = maker.op({seconds[i]}, memory);
      if (i > 0) maker.edge(OpId(i - 1), op, transfers[i - 1]);
    }
    return *this;
  }
  // A backward op without time beside the last one makes it a training problem; samples in flight count.
  Line& trains() {
    maker.problem.modes.in_flight = true;
    const std::size_t last = maker.problem.opCount() - 1;
    const OpId back = maker.op({0});
    maker.problem.graph.op_phase.back() = Phase::kBackward;
    maker.problem.constraints.together.push_back({OpId(last), back});
    return *this;
  }
};

TEST(PipeDream, BalancesComputeAndDoesNotSeeTransfers) {
  // Cuts after the first, second and third op give 9, 7 and 6; that the last one costs 100 is not looked at.
  Line line(2);
  line.ops({1, 2, 3, 4}, {0, 0, 100});
  EXPECT_EQ(place(line.maker.done(), "pipedream"), (Devices{0, 0, 0, 1}));
}

TEST(PipeDream, ReplicatesWhereThatBalancesBetter) {
  // 4 + 1 on two machines: apart 4, both on both 2.5.
  Line line(2);
  line.ops({4, 1}, {0});
  line.maker.problem.modes.replicate = true;
  const auto plan = planOf(line.maker.done(), "pipedream");
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->stages.size(), 1u);
  EXPECT_EQ(plan->stages[0].devices.size(), 2u);
  // Its weights cost 4 * 1/2 * 10 / 4 = 5 to keep equal, so that two machines take (5 + 5) / 2: apart again.
  Line heavy(2);
  heavy.ops({4, 1}, {0});
  heavy.maker.problem.modes.replicate = true;
  heavy.maker.problem.graph.op_weight_bytes[0] = 10;
  heavy.maker.problem.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 0, 4});
  EXPECT_EQ(place(heavy.maker.done(), "pipedream"), (Devices{0, 1}));
}

TEST(PipeDream, CountsSamplesInFlightOfTrainingAsLongAsSomethingFits) {
  // The first of two stages holds two samples of 2 bytes for each op: only one op fits in 6 bytes.
  Line six(2, 6);
  six.ops({1, 1, 1, 1}, {0, 0, 0}, 2).trains();
  EXPECT_EQ(place(six.maker.done(), "pipedream"), (Devices{0, 1, 1, 1, 1}));
  // In 5 bytes nothing fits that way; without samples in flight two and two do.
  Line five(2, 5);
  five.ops({1, 1, 1, 1}, {0, 0, 0}, 2).trains();
  EXPECT_EQ(place(five.maker.done(), "pipedream"), (Devices{0, 0, 1, 1, 1}));
  // So they do where only one sample counts.
  Line plain(2, 6);
  plain.ops({1, 1, 1, 1}, {0, 0, 0}, 2).trains();
  plain.maker.problem.modes.in_flight = false;
  EXPECT_EQ(place(plain.maker.done(), "pipedream"), (Devices{0, 0, 1, 1, 1}));
}

TEST(PipeDream, LeavesMachinesIdleRatherThanSplitNothing) {
  Line line(5);
  line.ops({1, 1}, {0});
  const auto plan = planOf(line.maker.done(), "pipedream");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->stages.size(), 2u);
}

TEST(MinCutBalance, TakesTheCheaperOfTwoBalancedCuts) {
  // The light op in the middle may go either way; the dearer of its tensors stays whole.
  for (const bool right : {false, true}) {
    Line line(2);
    line.ops({1, 1, 0.05, 1, 1}, {9, right ? 1.0 : 5.0, right ? 5.0 : 1.0, 9});
    EXPECT_EQ(place(line.maker.done(), "mincut-balance"),
              right ? (Devices{0, 0, 1, 1, 1}) : (Devices{0, 0, 0, 1, 1}));
  }
}

TEST(MinCutBalance, SeparatesTangledChainsWithoutContiguity) {
  // Two chains whose ops alternate in every topological order that takes the smallest op first.
  Maker m(Goal::kThroughput);
  m.device();
  m.problem.cluster.devices.push_back({"d1", ClassId(0), {}, HostId()});
  for (int i = 0; i < 8; ++i) m.op({1});
  for (std::uint32_t i = 0; i + 2 < 8; ++i) m.edge(OpId(i), OpId(i + 2), 1);
  m.problem.modes.contiguity = Contiguity::kNone;
  const Devices devices = place(m.done(), "mincut-balance");
  ASSERT_EQ(devices.size(), 8u);
  for (std::size_t i = 2; i < 8; ++i) EXPECT_EQ(devices[i], devices[i - 2]);
  EXPECT_NE(devices[0], devices[1]);
}

TEST(MinCutBalance, GivesSlowDevicesLess) {
  // The second class needs three times as long: a share of 3 to 1.
  Maker m(Goal::kThroughput);
  m.device().device();
  for (int i = 0; i < 8; ++i) m.op({1, 3});
  for (std::uint32_t i = 0; i + 1 < 8; ++i) m.edge(OpId(i), OpId(i + 1), 0.1);
  EXPECT_EQ(place(m.done(), "mincut-balance"), (Devices{0, 0, 0, 0, 0, 0, 1, 1}));
}

TEST(RestartSearch, FindsTheBestOfAFewOps) {
  // 3 + 3 and 2 + 2 + 2 are six each; no tensor stands in the way.
  Maker m(Goal::kThroughput);
  m.device();
  m.problem.cluster.devices.push_back({"d1", ClassId(0), {}, HostId()});
  for (const double seconds : {3, 2, 3, 2, 2}) m.op({seconds});
  m.problem.modes.contiguity = Contiguity::kNone;
  RunOptions run;
  run.solver = "local-search-restarts";
  const SolveOutcome outcome = solve(m.done(), run);
  EXPECT_DOUBLE_EQ(outcome.plan.value, 6);
}

TEST(RestartSearch, IsTheSameForAnyNumberOfThreads) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {12, 4});
    std::vector<Devices> first;
    for (const std::uint32_t threads : {1u, 3u}) {
      RunOptions options;
      options.threads = threads;
      Recorder recorder;
      findSolver("local-search-restarts")->solve(problem, Budget(options, nullptr), recorder);
      std::vector<Devices> all;
      for (const Plan& plan : recorder.plans) all.push_back(devicesOf(plan));
      if (threads == 1)
        first = all;
      else
        EXPECT_EQ(first, all) << seed;
    }
  }
}

// Whatever they report keeps to permissions, memory, stages and, where asked, contiguity; samples in flight
// are judged later.
TEST(ThroughputBaselines, ReportOnlyPlansThatHold) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Problem problem = randomProblem(seed, Goal::kThroughput, {9, 4});
    Modes modes = problem.modes;
    modes.in_flight = false;
    ASSERT_TRUE(problem.setModes(modes));
    for (const char* name : {"pipedream", "mincut-balance", "local-search-restarts"}) {
      Recorder recorder;
      RunOptions options;
      options.work_limit = 2000;
      findSolver(name)->solve(problem, Budget(options, nullptr), recorder);
      for (Plan& plan : recorder.plans) {
        const Evaluation evaluated = evaluate(problem, std::move(plan));
        // PipeDream takes all machines for the first one; a plan that another cannot carry is dropped later.
        if (std::string_view(name) == "pipedream" && !evaluated.valid()) continue;
        EXPECT_TRUE(evaluated.valid())
            << name << " seed " << seed << ": " << evaluated.violations.front() << "\n"
            << describe(problem);
      }
    }
  }
}

// Four ops wide, 20,000 ops long in all, on eight devices.
Problem layered() {
  Maker m(Goal::kThroughput);
  m.device();
  for (int d = 1; d < 8; ++d)
    m.problem.cluster.devices.push_back({"d" + std::to_string(d), ClassId(0), {}, HostId()});
  Random random(3);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const OpId op = m.op({0.1 + random.unit()});
    if (i >= 4) m.edge(OpId(i - 4 + random.below(2)), op, random.unit());
  }
  return std::move(m.done());
}

TEST(ThroughputBaselines, EndSoonAfterTheLimit) {
  const Problem problem = layered();
  for (const char* name : {"pipedream", "mincut-balance", "local-search-restarts"}) {
    RunOptions options;
    options.time_limit_seconds = 0.2;
    const Budget budget(options, nullptr);
    Recorder recorder;
    findSolver(name)->solve(problem, budget, recorder);
    EXPECT_LT(budget.elapsedSeconds(), 2) << name;  // other work may share the machine
  }
}

std::string fileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(SplitFile, IsReadAsAPlan) {
  const std::string graph = fileText(ALLOT_SOURCE_DIR "/tests/data/dnn_partitioning.json");
  Warnings warnings;
  const auto problem = readProblem(graph, "graph", {}, nullptr, warnings);
  ASSERT_TRUE(problem);
  // Node 11 is of the colour of node 10 and follows it.
  const auto plan = readPlan(
      R"({"fpgas": [{"nodes": [10], "load": -1}, {"nodes": [3]}], "cpus": [{"nodes": [7], "load": 0.0}]})",
      "split", *problem, warnings);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(devicesOf(*plan), (Devices{0, 1, 2, 0}));
  const auto written = writeDnnPartitioningSplit(*problem, evaluate(*problem, *plan).plan);
  EXPECT_TRUE(written);
  const auto twice =
      readPlan(R"({"fpgas": [{"nodes": [10]}, {"nodes": [10]}]})", "split", *problem, warnings);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().where, "fpgas[1].nodes[0]");
  EXPECT_FALSE(readPlan(R"({"fpgas": [{"nodes": [99]}]})", "split", *problem, warnings));
  EXPECT_FALSE(
      readPlan(R"({"cpus": [{"nodes": []}, {"nodes": [7]}], "fpgas": []})", "split", *problem, warnings));
}

// The hand-made splits of the public layer graphs, in ms, as starts.
TEST(SplitFile, ExpertSplitsAreStarts) {
  const char* data = std::getenv("ALLOT_DATA");
  if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder with published graphs";
  const std::string folder = std::string(data) + "/dnn-partitioning/";
  const std::vector<std::tuple<std::string, std::string, double>> cases{
      {"bert24_inference", "bert24_inference", 20.0840},
      {"bert24_training", "bert24_training", 49.4049},
      {"gnmt_inference", "gnmt_inference", 46.2085},
      {"gnmt_training", "gnmt_training", 137.1539},
      {"resnet50_training", "resnet50_inference", 112.1075}};
  for (const auto& [graph, split, expected] : cases) {
    Warnings warnings;
    auto problem = readProblem(fileText(folder + "throughput/LayerGraphs/" + graph + ".json"), graph, {},
                               nullptr, warnings);
    ASSERT_TRUE(problem) << problem.error().text();
    Modes modes = problem->modes;
    modes.contiguity = Contiguity::kNone;
    ASSERT_TRUE(problem->setModes(modes));
    auto plan = readPlan(fileText(folder + "experts/" + split + "_expert.json"), split, *problem, warnings);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_NEAR(evaluate(*problem, *plan).plan.value * 1e3, expected, 6e-5) << graph;
  }
}

}  // namespace
}  // namespace allot::baselines_test
