// Readers of every format by the name of a good file, and what a good error is.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "formats_support.h"

namespace allot {

using Reader = std::function<Result<void>(const std::string&)>;

template <class T>
Result<void> dropValue(Result<T> result) {
  if (!result) return fail(std::move(result).error());
  return {};
}

inline Result<void> asProblem(const std::string& text) {
  Warnings warnings;
  return dropValue(readProblem(text, "bad.json", {}, nullptr, warnings));
}

inline Result<void> asGraph(const std::string& text) {
  Warnings warnings;
  return dropValue(readGraph(text, "bad.json", {}, warnings));
}

inline Result<void> asCluster(const std::string& text) {
  Warnings warnings;
  return dropValue(readCluster(text, "bad.json", warnings));
}

inline const char* const kPlanned =
    R"({"schema": "allot.problem/1", "classes": [{"name": "gpu", "kind": "accelerator"}],
  "devices": [{"name": "g0", "class": "gpu"}, {"name": "g1", "class": "gpu"}], "models": [{"name": "m"}],
  "ops": [{"name": "a", "time": [1]}, {"name": "b", "time": [1]}, {"name": "c", "time": [1]}],
  "tensors": [{"from": "a", "to": ["b", "c"], "time": 0.5}], "goal": "latency"})";

inline Result<void> asPlan(const std::string& text) {
  static const Problem problem = problemOf(kPlanned);
  Warnings warnings;
  return dropValue(readPlan(text, "bad.json", problem, warnings));
}

inline Reader forcedReader(Format format) {
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

inline const std::vector<NamedReader>& readers() {
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

inline void expectGood(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kBadInput);
  EXPECT_EQ(error.file, "bad.json");
  EXPECT_FALSE(error.message.empty());
  EXPECT_FALSE(error.remedy.empty()) << error.text();
  const std::string line = error.text();
  EXPECT_TRUE(line.starts_with("bad.json: ")) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

// The error must be a good one and hold all the words.
inline void expectError(const Reader& read, const std::string& text,
                        std::initializer_list<const char*> words) {
  const auto result = read(text);
  ASSERT_FALSE(result) << "accepted: " << text.substr(0, 400);
  expectGood(result.error());
  for (const char* word : words)
    EXPECT_NE(result.error().text().find(word), std::string::npos) << word << " in " << result.error().text();
}

// `text` with its first `from` replaced.
inline std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

inline std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

}  // namespace allot
