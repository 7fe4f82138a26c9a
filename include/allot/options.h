// Every option of Allot, declared once.
//
// The table feeds the command line, `--set`, config files, `options` of problem and plan files, and
// docs/options.md. `Modes` fixes what a plan's value means (semantics of each mode: docs/semantics.md);
// `RunOptions` only steer the search.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allot/result.h"

namespace allot {

enum class Goal : std::uint8_t { kThroughput, kLatency, kCompletion };
enum class Contiguity : std::uint8_t { kChain, kConvex, kNone };
enum class Transfers : std::uint8_t { kViaHost, kByLink };
enum class Overlap : std::uint8_t { kSum, kMax };
enum class TrainingLoad : std::uint8_t { kSum, kMaxParts };
enum class LinkMode : std::uint8_t { kFree, kFullDuplex, kHalfDuplex };
enum class Send : std::uint8_t { kPerEdge, kOnce };
enum class MemoryModel : std::uint8_t { kStatic, kLive };
enum class LatencyModel : std::uint8_t { kEvents, kSubgraphCalls };
enum class Fuse : std::uint8_t { kNone, kOrtCpu };
enum class Helpers : std::uint8_t { kAuto, kOff };
enum class DataType : std::uint8_t;  // allot/graph.h

struct Modes {
  std::optional<Goal> goal;
  // throughput
  Contiguity contiguity = Contiguity::kChain;
  std::optional<Transfers> transfers;  // absent = decided by the problem's transfers when it is finished
  Overlap overlap = Overlap::kSum;
  TrainingLoad training_load = TrainingLoad::kSum;
  bool replicate = false;
  bool in_flight = false;
  std::uint32_t max_stages = 0;  // 0 = no limit
  // latency and completion
  LinkMode link_mode = LinkMode::kFullDuplex;
  Send send = Send::kOnce;
  LatencyModel model = LatencyModel::kEvents;
  std::uint32_t calls = 1;  // subgraph-calls: most calls of one accelerator
  // all
  std::optional<MemoryModel> memory;  // absent = the problem's default when it is finished
  double headroom = 0;                // share of every device's memory kept free, 0 .. 1
  double optimizer_factor = 1;        // bytes held per byte of weights
  Fuse fuse = Fuse::kNone;            // runtime whose fused groups share a device
  std::optional<DataType> dtype;      // what times and sizes were estimated for; absent = the model's own
};

struct RunOptions {
  static constexpr std::uint32_t kAnyMoves = 0xFFFFFFFF;

  double time_limit_seconds = 60;
  double gap = 0;
  std::uint64_t work_limit = 0;  // counted work instead of seconds; 0 = none
  std::uint32_t threads = 0;     // 0 = all cores
  std::uint64_t seed = 1;
  std::string solver;   // empty = portfolio
  bool robust = false;  // of the good plans found, take the one that noise in op times harms least
  Helpers helpers = Helpers::kAuto;  // optional solver libraries: used where they are found, or never loaded
  std::uint32_t max_moves = kAnyMoves;  // completion: most ops on another device than in the start plan
};

struct Options {
  Modes modes;
  RunOptions run;
};

enum class OptionScope : std::uint8_t {
  kAll,         // modes of every goal
  kThroughput,  // modes of one goal
  kLatency,
  kCompletion,
  kLatencyAndCompletion,
  kRun,  // steers the search, not part of a plan's meaning
};

struct OptionSpec {
  std::string_view name;        // as on the command line, without the dashes
  std::string_view value_name;  // "" for a switch
  std::string_view help;
  std::vector<std::string_view> choices;  // empty = free value
  OptionScope scope;
  Result<void> (*set)(Options&, std::string_view);
  std::string (*get)(const Options&);  // "" = not set
};

std::span<const OptionSpec> optionTable();
const OptionSpec* findOption(std::string_view name);

// Sets one option from text; the error names the option and what it accepts.
Result<void> setOption(Options& options, std::string_view name, std::string_view value);

// True when an option of this scope belongs to the meaning of plans for `goal`.
bool isModeOf(OptionScope scope, Goal goal);

std::string_view name(Goal);
std::string_view name(Contiguity);
std::string_view name(Transfers);
std::string_view name(Overlap);
std::string_view name(TrainingLoad);
std::string_view name(LinkMode);
std::string_view name(Send);
std::string_view name(MemoryModel);
std::string_view name(LatencyModel);
std::string_view name(Fuse);
std::string_view name(Helpers);

}  // namespace allot
