// Chains on shared devices: the dynamic programme, the bounds by prices and the search at prices.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "allot/solve.h"
#include "base/random.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/stop_time.h"

namespace allot {
namespace {

struct ChainLimits {
  std::uint32_t models = 2, ops = 3, devices = 3;
  bool launch = false;
};

Problem randomChains(std::uint64_t seed, const ChainLimits& limits) {
  Random random(seed, 5);
  const auto quarter = [&](std::uint32_t most) { return 0.25 * random.below(most + 1); };
  Problem problem;
  problem.modes.goal = Goal::kCompletion;
  problem.modes.link_mode = static_cast<LinkMode>(random.below(3));
  problem.modes.send = static_cast<Send>(random.below(2));
  const std::uint32_t classes = 1 + random.below(2);
  for (std::uint32_t c = 0; c < classes; ++c) {
    DeviceClass cls;
    cls.name = "k" + std::to_string(c);
    cls.launch_seconds = limits.launch ? quarter(2) : 0;
    problem.cluster.classes.push_back(cls);
  }
  const std::uint32_t devices = 1 + random.below(limits.devices);
  for (std::uint32_t d = 0; d < devices; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.cls = ClassId(random.below(classes));
    problem.cluster.devices.push_back(device);
  }
  for (std::uint32_t m = 0; m < limits.models; ++m) {
    problem.graph.model_name.push_back("m" + std::to_string(m));
    problem.model_weight.push_back(random.below(2) == 0 ? 1 : quarter(8));
    problem.model_release.push_back(random.below(2) == 0 ? 0 : quarter(8));
    const std::uint32_t ops = 1 + random.below(limits.ops);
    const bool transfers = random.below(3) > 0;
    OpId last;
    for (std::uint32_t i = 0; i < ops; ++i) {
      const OpId op = problem.graph.addOp("m" + std::to_string(m) + "." + std::to_string(i));
      problem.graph.op_model[op.index()] = ModelId(m);
      const std::uint32_t sure = random.below(classes);
      for (std::uint32_t c = 0; c < classes; ++c) {
        const bool cannot = c != sure && random.below(8) == 0;
        problem.op_seconds.push_back(cannot ? kCannotRun : quarter(12));
      }
      if (last.valid()) problem.addTensor(last, std::vector<OpId>{op}, 1, transfers ? quarter(6) : 0);
      last = op;
    }
  }
  const auto done = problem.finish();
  EXPECT_TRUE(done.has_value());
  return problem;
}

SolveOutcome run(const Problem& problem, const char* solver, const Plan* start = nullptr,
                 std::uint64_t work = 0, std::uint32_t threads = 1) {
  RunOptions options;
  options.solver = solver;
  options.threads = threads;
  options.helpers = Helpers::kOff;
  options.time_limit_seconds = 20;
  options.work_limit = work;
  SolveOutcome outcome = solve(problem, options, start);
  EXPECT_EQ(outcome.message, "") << solver << ' ' << describe(problem);
  return outcome;
}

TEST(Chains, TwoEqualEnumeration) {
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    const Problem problem = randomChains(seed, {2, 3, 3});
    const std::optional<double> best = bruteForce(problem);
    if (!best) continue;
    const Plan plan = run(problem, "chains").plan;
    EXPECT_EQ(plan.status, Status::kOptimal) << seed << ' ' << describe(problem);
    EXPECT_NEAR(plan.value, *best, 1e-9) << seed << ' ' << describe(problem);
  }
}

TEST(Chains, TwoEqualTheSearchOfStates) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Problem problem = randomChains(seed, {2, 8, 3});
    const Plan exact = run(problem, "completion-exact").plan;
    if (exact.status != Status::kOptimal) continue;
    EXPECT_NEAR(run(problem, "chains").plan.value, exact.value, 1e-9) << seed << ' ' << describe(problem);
  }
}

TEST(Chains, BoundsHoldAndPlansAreNearThem) {
  for (const bool launch : {false, true}) {
    double values = 0, bounds = 0, optima = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
      const Problem problem = randomChains(seed, {3 + static_cast<std::uint32_t>(seed % 2), 5, 2, launch});
      const Plan exact = run(problem, "completion-exact").plan;
      if (exact.status != Status::kOptimal) continue;
      const Plan bounded = run(problem, "completion-bound", &exact, 100'000).plan;
      EXPECT_LE(bounded.bound, exact.value * (1 + 1e-9)) << seed << ' ' << describe(problem);
      const Plan found = run(problem, "completion-search", nullptr, 500).plan;
      EXPECT_GE(found.value, exact.value * (1 - 1e-9)) << seed << ' ' << describe(problem);
      values += found.value;
      bounds += bounded.bound;
      optima += exact.value;
    }
    EXPECT_LT(values, optima * 1.01);
    EXPECT_GT(bounds, optima * 0.9);
  }
}

TEST(Chains, SamePlanForAnyNumberOfThreads) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = randomChains(seed, {5, 12, 3});
    const Plan one = run(problem, "completion-search", nullptr, 200, 1).plan;
    const Plan four = run(problem, "completion-search", nullptr, 200, 4).plan;
    EXPECT_EQ(one.value, four.value);
    EXPECT_EQ(one.bound, four.bound);
    EXPECT_EQ(one.start, four.start);
  }
}

TEST(Chains, StopAtOnce) {
  const Problem problem = randomChains(3, {6, 400, 4});
  for (const char* solver : {"completion-bound", "completion-search"}) expectStopsSoon(problem, solver);
}

// Rows of a comma-separated file, by the names in its first line.
std::vector<std::map<std::string, std::string>> readRows(const std::string& path) {
  std::vector<std::map<std::string, std::string>> rows;
  std::ifstream file(path);
  std::string line;
  std::vector<std::string> names;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (names.empty()) {
      names = cells;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t k = 0; k < cells.size() && k < names.size(); ++k) row[names[k]] = cells[k];
  }
  return rows;
}

using Segments = std::map<std::string, std::vector<std::pair<double, double>>>;

Problem segmentProblem(const Segments& segments, const std::vector<std::string>& models, int gpus,
                       double switch_seconds) {
  Problem problem;
  problem.modes.goal = Goal::kCompletion;
  problem.modes.link_mode = LinkMode::kFree;
  problem.cluster.classes.resize(2);
  problem.cluster.classes[0].name = "cpu";
  problem.cluster.classes[0].kind = DeviceKind::kCpu;
  problem.cluster.classes[1].name = "gpu";
  for (int d = 0; d <= gpus; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.cls = ClassId(d == 0 ? 0u : 1u);
    problem.cluster.devices.push_back(device);
  }
  for (std::uint32_t m = 0; m < models.size(); ++m) {
    problem.graph.model_name.push_back(models[m]);
    problem.model_weight.push_back(1);
    problem.model_release.push_back(0);
    OpId last;
    for (const auto& [cpu, gpu] : segments.at(models[m])) {
      const OpId op = problem.graph.addOp(models[m] + std::to_string(problem.opCount()));
      problem.graph.op_model[op.index()] = ModelId(m);
      problem.op_seconds.insert(problem.op_seconds.end(), {cpu * 1e-6, gpu * 1e-6});
      if (last.valid()) problem.addTensor(last, std::vector<OpId>{op}, 0, switch_seconds);
      last = op;
    }
  }
  EXPECT_TRUE(problem.finish().has_value());
  return problem;
}

class PublishedSegments : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("ALLOT_DATA");
    if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA does not name the folder of public data";
    folder_ = std::string(data) + "/talos/";
    for (const auto& row : readRows(folder_ + "segments_tv20_published.csv")) {
      if (row.at("model") != "squeezenet")
        segments_[row.at("model")].emplace_back(std::stod(row.at("cpu_us")), std::stod(row.at("gpu_us")));
    }
    for (const auto& row : readRows(folder_ + "segments_rebuilt.csv")) {
      if (row.at("model") == "squeezenet" && row.at("tv_us") == "20000" && row.at("sv_low") == "0.5" &&
          row.at("segment") != "0")
        segments_["squeezenet"].emplace_back(std::stod(row.at("cpu_us")), std::stod(row.at("gpu_us")));
    }
  }

  std::string folder_;
  Segments segments_;
};

TEST_F(PublishedSegments, PairsAtTheirOptimum) {
  int pairs = 0;
  for (const auto& row : readRows(folder_ + "reference_bounds_tv20.csv")) {
    const std::vector<std::string> models{row.at("gpu_model"), row.at("cpu_model")};
    double before = 0;
    for (const double switch_seconds : {0.0, 1e-4, 1e-3, 5e-3}) {
      const Plan plan = run(segmentProblem(segments_, models, 1, switch_seconds), "chains").plan;
      EXPECT_EQ(plan.status, Status::kOptimal);
      if (switch_seconds == 0)
        EXPECT_NEAR(plan.value * 1e3, std::stod(row.at("optimum_ms")), 0.06) << models[0] << '+' << models[1];
      EXPECT_GE(plan.value, before);
      before = plan.value;
    }
    ++pairs;
  }
  EXPECT_EQ(pairs, 10);
}

TEST_F(PublishedSegments, FiveModelsAtOnce) {
  const std::vector<std::string> models{"alexnet", "bert", "googlenet", "resnet50", "squeezenet"};
  for (const auto& [gpus, known] : {std::pair{1, 3.5518}, std::pair{2, 2.2838}}) {
    const Plan plan =
        run(segmentProblem(segments_, models, gpus, 0), "completion-search", nullptr, 1000).plan;
    EXPECT_LT(plan.value, known);
    EXPECT_LT(plan.gap(), 0.03);
  }
}

}  // namespace
}  // namespace allot
