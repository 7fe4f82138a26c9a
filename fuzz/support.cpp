#include "support.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "allot/online.h"
#include "support/online_log.h"

namespace allot::fuzz {
namespace {

const std::string kFile = "input";

constexpr std::string_view kPlannedProblem = R"({
  "schema": "allot.problem/1", "name": "small",
  "classes": [{"name": "gpu", "kind": "accelerator"}, {"name": "cpu", "kind": "cpu"}],
  "devices": [{"name": "g0", "class": "gpu", "memory": 1000}, {"name": "g1", "class": "gpu"}, {"name": "c0", "class": "cpu"}],
  "models": [{"name": "m"}, {"name": "n", "weight": 2}],
  "ops": [{"name": "a", "time": [1, 2], "model": "m"}, {"name": "b", "time": [1, 2], "model": "m"},
          {"name": "c", "time": [1, null], "model": "n"}],
  "tensors": [{"from": "a", "to": ["b"], "bytes": 10, "time": 0.5}, {"from": "a", "to": ["b", "c"], "time": 0.25}],
  "goal": "latency"})";

constexpr std::string_view kServedProblem = R"({
  "schema": "allot.problem/1", "name": "served",
  "classes": [{"name": "gpu", "kind": "accelerator"}, {"name": "cpu", "kind": "cpu"}],
  "devices": [{"name": "g0", "class": "gpu", "memory": 1000}, {"name": "g1", "class": "gpu", "memory": 800},
              {"name": "c0", "class": "cpu"}],
  "models": [{"name": "m"}, {"name": "n", "weight": 2}],
  "ops": [{"name": "a", "time": [1, 2], "model": "m", "memory": 600}, {"name": "b", "time": [1, 2], "model": "m"},
          {"name": "c", "time": [1, null], "model": "n", "memory": 700}, {"name": "d", "time": [0, 1], "model": "n"}],
  "tensors": [{"from": "a", "to": ["b"], "bytes": 10, "time": 0.5}, {"from": "c", "to": ["d"], "time": 0.25}],
  "goal": "completion"})";

const Problem& servedProblem() {
  static const Problem problem = [] {
    Warnings warnings;
    auto read = readProblem(kServedProblem, kFile, {}, nullptr, warnings);
    require(read.has_value(), "the fixed problem can be read");
    return std::move(*read);
  }();
  return problem;
}

const Problem& plannedProblem() {
  static const Problem problem = [] {
    Warnings warnings;
    auto read = readProblem(kPlannedProblem, kFile, {}, nullptr, warnings);
    require(read.has_value(), "the fixed problem can be read");
    return std::move(*read);
  }();
  return problem;
}

void requireRoundTrip(const Result<Problem>& problem) {
  if (!problem) return requireGoodError(problem.error());
  const std::string written = writeProblem(*problem);
  Warnings warnings;
  const auto again = readProblem(written, kFile, {}, nullptr, warnings);
  if (!again) std::fprintf(stderr, "%s\n%s", again.error().text().c_str(), written.c_str());
  require(again.has_value(), "a written problem can be read");
  require(writeProblem(*again) == written, "a problem survives the round trip");
}

}  // namespace

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void requireGoodError(const Error& error) {
  require(error.file == kFile, "an error names the file");
  require(!error.message.empty(), "an error has a message");
  require(!error.remedy.empty(), "an error has a remedy");
  const std::string line = error.text();
  require(line.starts_with(kFile), "an error begins with the file's name");
  require(line.find('\n') == std::string::npos, "an error is one line");
}

void readProblemTwice(std::string_view text, Format format) {
  Warnings warnings;
  requireRoundTrip(readProblem(text, kFile, {.format = format}, nullptr, warnings));
}

void readPackedTwice(std::string_view text, Format format) {
  Warnings warnings;
  const ReadOptions options{.format = format, .pack = PackRule{0.5, 2, 1e-5}};
  requireRoundTrip(readProblem(text, kFile, options, nullptr, warnings));
}

void readTracesTwice(std::string_view text) {
  constexpr std::string_view kBetween = "\n%\n";
  const std::size_t at = std::min(text.find(kBetween), text.size());
  const std::string_view rest = text.substr(std::min(at + kBetween.size(), text.size()));
  const std::vector<InputText> parts{{std::string(text.substr(0, at)), kFile}, {std::string(rest), kFile}};
  Warnings warnings;
  requireRoundTrip(readModelParts(parts, {.format = Format::kPyTorchTrace}, nullptr, warnings));
}

void readGraphTwice(std::string_view text, Format format) {
  Warnings warnings;
  const auto graph = readGraph(text, kFile, {.format = format}, warnings);
  if (!graph) return requireGoodError(graph.error());
  const std::string written = writeGraph(*graph);
  const auto again = readGraph(written, kFile, {}, warnings);
  if (!again) std::fprintf(stderr, "%s\n%s", again.error().text().c_str(), written.c_str());
  require(again.has_value(), "a written graph can be read");
  require(writeGraph(*again) == written, "a graph survives the round trip");
}

void readClusterTwice(std::string_view text) {
  Warnings warnings;
  const auto cluster = readCluster(text, kFile, warnings);
  if (!cluster) return requireGoodError(cluster.error());
  const std::string written = writeCluster(*cluster);
  const auto again = readCluster(written, kFile, warnings);
  if (!again) std::fprintf(stderr, "%s\n%s", again.error().text().c_str(), written.c_str());
  require(again.has_value(), "a written cluster can be read");
  require(writeCluster(*again) == written, "a cluster survives the round trip");
}

void readPlanTwice(std::string_view text) {
  const Problem& problem = plannedProblem();
  Warnings warnings;
  const auto plan = readPlan(text, kFile, problem, warnings);
  if (!plan) return requireGoodError(plan.error());
  const std::string written = writePlan(problem, *plan);
  const auto again = readPlan(written, kFile, problem, warnings);
  if (!again) std::fprintf(stderr, "%s\n%s", again.error().text().c_str(), written.c_str());
  require(again.has_value(), "a written plan can be read");
  require(writePlan(problem, *again) == written, "a plan survives the round trip");
}

void replayEvents(std::string_view text) {
  const Problem& problem = servedProblem();
  const auto log = readEvents(text, kFile, problem);
  if (!log) return requireGoodError(log.error());
  const auto run = [&] {
    auto engine = OnlineEngine::create(problem, log->options);
    require(engine.has_value(), "options that were read are taken");
    const Replay result = replay(*engine, *log, kFile);
    for (const Error& error : result.errors) requireGoodError(error);
    const std::string wrong =
        verifyLog(problem, result.taken, result.decisions, *engine, log->options.ends_reported);
    if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
    require(wrong.empty(), "no op is lost or done twice, and none starts without device or inputs");
    require(result.verified.has_value(), "every job ends, or waits for what is down");
    std::string decisions;
    for (const Decision& decision : result.decisions) decisions += decisionText(problem, *engine, decision);
    return decisions;
  };
  require(run() == run(), "a replay repeats");
}

}  // namespace allot::fuzz
