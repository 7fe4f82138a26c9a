#include "allot/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "allot/graph.h"
#include "base/units.h"

namespace allot {
namespace {

template <class Enum>
struct Names;
#define ALLOT_NAMES(Enum, ...)                                                         \
  template <>                                                                          \
  struct Names<Enum> {                                                                 \
    static constexpr std::array list = std::to_array<std::string_view>({__VA_ARGS__}); \
  };
ALLOT_NAMES(Goal, "throughput", "latency", "completion")
ALLOT_NAMES(Contiguity, "chain", "convex", "none")
ALLOT_NAMES(Transfers, "via-host", "by-link")
ALLOT_NAMES(Overlap, "sum", "max")
ALLOT_NAMES(TrainingLoad, "sum", "max-parts")
ALLOT_NAMES(LinkMode, "free", "full-duplex", "half-duplex")
ALLOT_NAMES(Send, "per-edge", "once")
ALLOT_NAMES(MemoryModel, "static", "live")
ALLOT_NAMES(LatencyModel, "events", "subgraph-calls")
ALLOT_NAMES(Fuse, "none", "ort-cpu")
ALLOT_NAMES(Helpers, "auto", "off")
#undef ALLOT_NAMES

template <class Enum>
std::string_view nameOf(Enum value) {
  return Names<Enum>::list[static_cast<std::size_t>(value)];
}

template <class Enum>
std::vector<std::string_view> choicesOf() {
  return {Names<Enum>::list.begin(), Names<Enum>::list.end()};
}

template <class Enum>
Result<Enum> parseEnum(std::string_view text) {
  for (std::size_t i = 0; i < Names<Enum>::list.size(); ++i) {
    if (Names<Enum>::list[i] == text) return static_cast<Enum>(i);
  }
  return badInput("", fmt::format("\"{}\" is not a choice", text),
                  fmt::format("use {}", fmt::join(Names<Enum>::list, ", ")));
}

template <class T>
struct Unwrap {
  using Type = T;
};
template <class T>
struct Unwrap<std::optional<T>> {
  using Type = T;
};

template <auto Member>
using FieldOf = typename Unwrap<std::remove_reference_t<decltype(std::declval<Modes&>().*Member)>>::Type;

// Setter and getter of an enum mode, from the pointer to its member.
template <auto Member>
Result<void> setChoice(Options& options, std::string_view text) {
  ALLOT_TRY(options.modes.*Member, parseEnum<FieldOf<Member>>(text));
  return {};
}

template <auto Member>
std::string getChoice(const Options& options) {
  const auto& field = options.modes.*Member;
  if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(field)>>) {
    return std::string(nameOf(field));
  } else {
    return field ? std::string(nameOf(*field)) : "";
  }
}

template <auto Member>
OptionSpec choice(std::string_view option, std::string_view help, OptionScope scope) {
  return {option, "NAME", help, choicesOf<FieldOf<Member>>(), scope, setChoice<Member>, getChoice<Member>};
}

Result<bool> parseSwitch(std::string_view text) {
  if (text == "true" || text == "1" || text == "on") return true;
  if (text == "false" || text == "0" || text == "off") return false;
  return badInput("", fmt::format("\"{}\" is not true or false", text), "use true or false");
}

template <auto Part, auto Member>
OptionSpec flag(std::string_view option, std::string_view help, OptionScope scope) {
  return {option,
          "",
          help,
          {},
          scope,
          [](Options& options, std::string_view text) -> Result<void> {
            ALLOT_TRY(options.*Part.*Member, parseSwitch(text));
            return {};
          },
          [](const Options& options) -> std::string { return options.*Part.*Member ? "true" : "false"; }};
}

template <auto Part, auto Member, std::uint64_t Least>
OptionSpec count(std::string_view option, std::string_view value, std::string_view help, OptionScope scope) {
  return {option,
          value,
          help,
          {},
          scope,
          [](Options& options, std::string_view text) -> Result<void> {
            using Field = std::remove_reference_t<decltype(options.*Part.*Member)>;
            ALLOT_TRY(const std::uint64_t number, parseCount(text));
            if (number < Least || number > std::numeric_limits<Field>::max()) {
              return badInput("", fmt::format("{} is out of range", number),
                              fmt::format("use {} or more", Least));
            }
            options.*Part.*Member = static_cast<Field>(number);
            return {};
          },
          [](const Options& options) { return fmt::format("{}", options.*Part.*Member); }};
}

constexpr std::array<std::string_view, 6> kArithmetic{"fp32", "tf32", "fp16", "bf16", "fp8", "int8"};

Result<void> setArithmetic(Options& options, std::string_view text) {
  if (std::find(kArithmetic.begin(), kArithmetic.end(), text) == kArithmetic.end()) {
    return badInput("", fmt::format("\"{}\" is not a choice", text),
                    fmt::format("use {}", fmt::join(kArithmetic, ", ")));
  }
  options.modes.dtype = dataTypeFromName(text);
  return {};
}

std::vector<OptionSpec> makeTable() {
  using S = OptionScope;
  std::vector<OptionSpec> table;
  table.push_back(choice<&Modes::goal>(
      "goal", "what to minimise: time per sample, end of one sample, or sum of completions", S::kAll));
  table.push_back(
      choice<&Modes::contiguity>("contiguity", "which sets of ops may be a stage", S::kThroughput));
  table.push_back(choice<&Modes::transfers>("transfers",
                                            "who pays for a cut tensor (default: via-host where every "
                                            "transfer is a single time or a link to the host, else by-link)",
                                            S::kThroughput));
  table.push_back(choice<&Modes::overlap>("overlap", "load = compute + communication, or the larger of both",
                                          S::kThroughput));
  table.push_back(choice<&Modes::training_load>(
      "training-load", "largest load of forward and backward together, or the sum of both maxima",
      S::kThroughput));
  table.push_back(flag<&Options::modes, &Modes::replicate>(
      "replicate", "let a stage run on several devices of one class", S::kThroughput));
  table.push_back(flag<&Options::modes, &Modes::in_flight>(
      "in-flight", "count stashed activations of samples in flight (chain only)", S::kThroughput));
  table.push_back(count<&Options::modes, &Modes::max_stages, 0>(
      "max-stages", "N", "most stages of a pipeline; 0 = no limit", S::kThroughput));
  table.push_back(
      choice<&Modes::link_mode>("link-mode", "which ports a transfer holds", S::kLatencyAndCompletion));
  table.push_back(choice<&Modes::send>("send", "one transfer per consumer, or one per tensor and destination",
                                       S::kLatencyAndCompletion));
  table.push_back(choice<&Modes::memory>(
      "memory",
      "what is resident alone, or with live tensors (default: live for inference models from model files)",
      S::kAll));
  table.push_back(choice<&Modes::model>(
      "model", "operators as events, or accelerators that run subgraphs as calls", S::kLatency));
  table.push_back(count<&Options::modes, &Modes::calls, 1>(
      "calls", "Q", "subgraph-calls: most calls of one accelerator", S::kLatency));
  table.push_back({"headroom",
                   "SHARE",
                   "share of every device's memory to keep free, for example 5%",
                   {},
                   S::kAll,
                   [](Options& options, std::string_view text) -> Result<void> {
                     ALLOT_TRY(options.modes.headroom, parseShare(text));
                     return {};
                   },
                   [](const Options& options) { return fmt::format("{}", options.modes.headroom); }});
  table.push_back({"optimizer-factor",
                   "F",
                   "bytes held per byte of weights (1 = inference; training with Adam about 4)",
                   {},
                   S::kAll,
                   [](Options& options, std::string_view text) -> Result<void> {
                     ALLOT_TRY(const double factor, parseNumber(text));
                     if (!(factor >= 0 && factor <= 1000))
                       return badInput("", "out of range", "use 0 to 1000");
                     options.modes.optimizer_factor = factor;
                     return {};
                   },
                   [](const Options& options) { return fmt::format("{}", options.modes.optimizer_factor); }});
  table.push_back(choice<&Modes::fuse>(
      "fuse", "never split a group of ops that this runtime would fuse, by its table of rules", S::kAll));
  table.push_back({"dtype",
                   "NAME",
                   "arithmetic to estimate times and sizes for (default: the types of the model, products of "
                   "fp32 models in tf32 where a device has it); times that are given or measured stay",
                   {kArithmetic.begin(), kArithmetic.end()},
                   S::kAll,
                   setArithmetic,
                   [](const Options& options) {
                     return std::string(options.modes.dtype ? name(*options.modes.dtype) : "");
                   }});
  table.push_back({"solver",
                   "NAME",
                   "run one solver instead of the portfolio",
                   {},
                   S::kRun,
                   [](Options& options, std::string_view text) -> Result<void> {
                     options.run.solver = text;
                     return {};
                   },
                   [](const Options& options) { return options.run.solver; }});
  table.push_back({"time-limit",
                   "SECONDS",
                   "stop the search after this time",
                   {},
                   S::kRun,
                   [](Options& options, std::string_view text) -> Result<void> {
                     ALLOT_TRY(const double seconds, parseSeconds(text));
                     if (!(seconds >= 0)) return badInput("", "negative time", "use 0 or more");
                     options.run.time_limit_seconds = seconds;
                     return {};
                   },
                   [](const Options& options) { return fmt::format("{}", options.run.time_limit_seconds); }});
  table.push_back({"gap",
                   "SHARE",
                   "stop when (value - bound) / value is at most this, for example 1%",
                   {},
                   S::kRun,
                   [](Options& options, std::string_view text) -> Result<void> {
                     ALLOT_TRY(options.run.gap, parseShare(text));
                     return {};
                   },
                   [](const Options& options) { return fmt::format("{}", options.run.gap); }});
  table.push_back(count<&Options::run, &RunOptions::work_limit, 0>(
      "work-limit", "N",
      "bound the search in counted work instead of seconds, so that results repeat; 0 = none", S::kRun));
  table.push_back(count<&Options::run, &RunOptions::threads, 0>("threads", "N",
                                                                "threads to use; 0 = all cores", S::kRun));
  table.push_back(
      count<&Options::run, &RunOptions::seed, 0>("seed", "N", "seed of everything random", S::kRun));
  table.push_back(flag<&Options::run, &RunOptions::robust>(
      "robust", "of the good plans found, take the one that 10% noise in op times harms least", S::kRun));
  table.push_back({"max-moves",
                   "N",
                   "completion: most ops on another device than in the plan given by --start; for simulate "
                   "--events, most ops that one re-plan moves",
                   {},
                   S::kRun,
                   [](Options& options, std::string_view text) -> Result<void> {
                     ALLOT_TRY(const std::uint64_t number, parseCount(text));
                     if (number >= RunOptions::kAnyMoves)
                       return badInput("", "out of range", "leave it out for no limit");
                     options.run.max_moves = static_cast<std::uint32_t>(number);
                     return {};
                   },
                   [](const Options& options) -> std::string {
                     const std::uint32_t most = options.run.max_moves;
                     return most == RunOptions::kAnyMoves ? "" : fmt::format("{}", most);
                   }});
  table.push_back({"helpers", "NAME",
                   "optional solver libraries (HiGHS, CP-SAT): use those found, or load none",
                   choicesOf<Helpers>(), S::kRun,
                   [](Options& options, std::string_view text) -> Result<void> {
                     ALLOT_TRY(options.run.helpers, parseEnum<Helpers>(text));
                     return {};
                   },
                   [](const Options& options) { return std::string(nameOf(options.run.helpers)); }});
  return table;
}

}  // namespace

std::span<const OptionSpec> optionTable() {
  static const std::vector<OptionSpec> table = makeTable();
  return table;
}

const OptionSpec* findOption(std::string_view option) {
  for (const OptionSpec& spec : optionTable()) {
    if (spec.name == option) return &spec;
  }
  return nullptr;
}

Result<void> setOption(Options& options, std::string_view option, std::string_view value) {
  const OptionSpec* spec = findOption(option);
  if (spec == nullptr) {
    return badInput(std::string(option), "unknown option",
                    "see docs/options.md or --help for the options there are");
  }
  auto done = spec->set(options, value);
  if (!done) {
    Error error = std::move(done).error();
    error.where = option;
    return fail(std::move(error));
  }
  return {};
}

bool isModeOf(OptionScope scope, Goal goal) {
  switch (scope) {
    case OptionScope::kAll:
      return true;
    case OptionScope::kThroughput:
      return goal == Goal::kThroughput;
    case OptionScope::kLatency:
      return goal == Goal::kLatency;
    case OptionScope::kCompletion:
      return goal == Goal::kCompletion;
    case OptionScope::kLatencyAndCompletion:
      return goal != Goal::kThroughput;
    case OptionScope::kRun:
      return false;
  }
  return false;
}

std::string_view name(Goal value) {
  return nameOf(value);
}
std::string_view name(Contiguity value) {
  return nameOf(value);
}
std::string_view name(Transfers value) {
  return nameOf(value);
}
std::string_view name(Overlap value) {
  return nameOf(value);
}
std::string_view name(TrainingLoad value) {
  return nameOf(value);
}
std::string_view name(LinkMode value) {
  return nameOf(value);
}
std::string_view name(Send value) {
  return nameOf(value);
}
std::string_view name(MemoryModel value) {
  return nameOf(value);
}
std::string_view name(LatencyModel value) {
  return nameOf(value);
}
std::string_view name(Fuse value) {
  return nameOf(value);
}
std::string_view name(Helpers value) {
  return nameOf(value);
}

}  // namespace allot
