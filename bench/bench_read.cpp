// Reading a problem file: the whole way from text to a finished problem, beside a plain DOM parse of the same
// text by nlohmann::json, which builds no problem and checks nothing but the syntax.
#include <benchmark/benchmark.h>

#include <map>
#include <nlohmann/json.hpp>

#include "allot/formats.h"
#include "large_problem.h"

namespace allot::bench {
namespace {

// The same text for both; empty when it could not be made.
const std::string& problemText(std::uint32_t ops) {
  static std::map<std::uint32_t, std::string> texts;
  const auto [entry, fresh] = texts.try_emplace(ops);
  if (fresh) {
    const auto problem = largeProblem(ops, 1);
    if (problem) entry->second = writeProblem(*problem);
  }
  return entry->second;
}

void reportSize(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) *
                          static_cast<std::int64_t>(state.iterations()));
  state.counters["ops"] = static_cast<double>(state.range(0));
}

void readProblemFile(benchmark::State& state) {
  const std::string& text = problemText(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    Warnings warnings;
    const auto problem = readProblem(text, "large", {}, nullptr, warnings);
    if (!problem) {
      state.SkipWithError(problem.error().text().c_str());
      return;
    }
    benchmark::DoNotOptimize(problem->opCount());
  }
  reportSize(state, text);
}
BENCHMARK(readProblemFile)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void parseByNlohmann(benchmark::State& state) {
  const std::string& text = problemText(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    const auto document = nlohmann::json::parse(text, nullptr, false);
    if (document.is_discarded()) {
      state.SkipWithError("the text is not JSON");
      return;
    }
    benchmark::DoNotOptimize(document.size());
  }
  reportSize(state, text);
}
BENCHMARK(parseByNlohmann)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace allot::bench
