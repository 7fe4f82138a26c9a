// Reading what a verb works on: inputs, cluster, plan, options and constraints.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>

#include "allot/catalogue.h"
#include "allot/cost.h"
#include "base/file_io.h"
#include "base/mapped_file.h"
#include "base/units.h"
#include "common.h"
#include "config_file.h"
#include "problem/option_use.h"

namespace allot::cli {
namespace {

// "batch=8"
Result<void> addDim(const std::string& text, std::map<std::string, std::int64_t>& dims) {
  const std::size_t equals = text.rfind('=');
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = equals == std::string::npos
                        ? std::from_chars_result{text.data(), std::errc::invalid_argument}
                        : std::from_chars(text.data() + equals + 1, end, value);
  if (equals == 0 || read.ec != std::errc() || read.ptr != end || value < 0) {
    return usageError("--dim", fmt::format("\"{}\" is not NAME=SIZE", text),
                      "write for example --dim batch=8");
  }
  if (!dims.emplace(text.substr(0, equals), value).second)
    return usageError("--dim", fmt::format("\"{}\" is given twice", text.substr(0, equals)), "give it once");
  return {};
}

constexpr std::string_view kDimOf = "--dim ";  // and the name that a model does not have

// Takes an option of reading away by its name; false where it is none, or was not given.
bool dropOption(std::string_view name, ReadOptions& options, const Cluster*& cluster) {
  const auto dropped = [](auto& value) {
    return std::exchange(value, {}) != std::decay_t<decltype(value)>{};
  };
  if (name == "--cluster") return dropped(cluster);
  if (name == "--times") return dropped(options.measured);
  if (name == "--dim") return dropped(options.dims);
  if (name.starts_with(kDimOf)) return options.dims.erase(std::string(name.substr(kDimOf.size()))) > 0;
  if (name == "--time-unit") return dropped(options.time_unit);
  if (name == "--merge-edges") return dropped(options.merge_edges);
  if (name != "--pack" || !options.pack) return false;
  options.pack.reset();
  return true;
}

// Of several inputs one at least must have a use for an option, or for a dimension; the others are read
// without it.
class InputReader {
 public:
  InputReader(const Arguments& arguments, const InputOptions& options, std::optional<DataType> planned_for)
      : arguments_(arguments), options_(options), planned_for_(planned_for) {}

  Result<Problem> read(const std::string& path) {
    const std::string file = displayName(path);
    ALLOT_TRY(const MappedFile input, MappedFile::open(path));
    ReadOptions options = options_.read;
    const Cluster* cluster = options_.cluster ? &*options_.cluster : nullptr;
    bool of_plan = !options.dtype && planned_for_ && isModel(input.text(), file);
    if (of_plan) options.dtype = planned_for_;
    for (;;) {
      Warnings warnings;
      auto problem = readProblem(input.text(), file, options, cluster, warnings);
      if (!problem && of_plan && problem.error().code == ErrorCode::kUsage &&
          problem.error().where == "--dtype") {
        options.dtype.reset();  // which nobody asked for
        of_plan = false;
        continue;
      }
      if (!problem && isRefusal(problem.error()) && dropOption(problem.error().where, options, cluster)) {
        refusals_.push_back(std::move(problem).error());
        continue;
      }
      printWarnings(arguments_, file, warnings);
      return problem;
    }
  }

  Result<void> requireUses(std::size_t inputs) const {
    for (const Error& refusal : refusals_) {
      const bool dim = refusal.where.starts_with(kDimOf);
      const auto same = [&](const Error& other) {
        return other.where == refusal.where || (dim && other.where == "--dim");
      };
      if (static_cast<std::size_t>(std::count_if(refusals_.begin(), refusals_.end(), same)) == inputs)
        return fail(refusal);
    }
    return {};
  }

 private:
  const Arguments& arguments_;
  const InputOptions& options_;
  std::optional<DataType> planned_for_;
  std::vector<Error> refusals_;

  static bool isRefusal(const Error& error) {
    return error.code == ErrorCode::kUsage || error.where.starts_with(kDimOf);
  }

  // Whether its times are estimated.
  bool isModel(std::string_view text, const std::string& file) const {
    const auto format =
        options_.read.format ? Result<Format>(*options_.read.format) : recogniseFormat(text, file);
    return format && (*format == Format::kOnnx || *format == Format::kGraph);
  }
};

// `planned_for`: the arithmetic of the plan that is read next, which models are estimated for where the user
// asks for no other.
Result<Problem> readInputs(const Arguments& arguments, std::span<const std::string> paths,
                           std::optional<DataType> planned_for = std::nullopt) {
  ALLOT_TRY(const InputOptions options, inputOptions(arguments));
  InputReader reader(arguments, options, planned_for);
  std::vector<Problem> problems;
  for (const std::string& path : paths) {
    ALLOT_TRY(Problem problem, reader.read(path));
    problems.push_back(std::move(problem));
  }
  ALLOT_CHECK(reader.requireUses(paths.size()));
  return inFile(joinModels(std::move(problems)), displayName(paths.front()));
}

Result<std::vector<OpId>> matchingOps(const Problem& problem, const std::string& option,
                                      const std::string& pattern) {
  std::vector<OpId> ops;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (fnmatch(pattern.c_str(), problem.graph.op_name[i].c_str(), 0) == 0) ops.push_back(OpId(i));
  }
  if (ops.empty())
    return usageError(option, fmt::format("no op matches \"{}\"", pattern),
                      "name an op, or a pattern with * and ?");
  return ops;
}

Result<DeviceId> deviceNamed(const Problem& problem, const std::string& option, std::string_view device) {
  std::string known;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    const std::string& name = problem.cluster.devices[d].name;
    if (name == device) return DeviceId(d);
    if (d < 12) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    if (d == 12) known += ", ...";
  }
  return usageError(option, fmt::format("unknown device \"{}\"", device),
                    fmt::format("use one of {}", known));
}

Result<void> addPairs(const Problem& problem, const std::string& option,
                      const std::vector<std::string>& texts, std::vector<std::pair<OpId, DeviceId>>& pairs) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return usageError(option, fmt::format("\"{}\" is not PATTERN=DEVICE", text),
                        fmt::format("write for example {} 'embed*=cpu0'", option));
    }
    ALLOT_TRY(const DeviceId device, deviceNamed(problem, option, std::string_view(text).substr(equals + 1)));
    ALLOT_TRY(const std::vector<OpId> ops, matchingOps(problem, option, text.substr(0, equals)));
    for (const OpId op : ops) pairs.emplace_back(op, device);
  }
  return {};
}

Result<void> addCommandConstraints(const Arguments& arguments, Problem& problem) {
  if (arguments.pin.empty() && arguments.forbid.empty() && arguments.together.empty()) return {};
  Constraints more;
  ALLOT_CHECK(addPairs(problem, "--pin", arguments.pin, more.pin));
  ALLOT_CHECK(addPairs(problem, "--forbid", arguments.forbid, more.forbid));
  for (const std::string& pattern : arguments.together) {
    ALLOT_TRY(std::vector<OpId> ops, matchingOps(problem, "--together", pattern));
    more.together.push_back(std::move(ops));
  }
  return problem.addConstraints(more);
}

// What is asked for when inputs are read. Standard input is left to whoever applies the options.
Result<std::optional<DataType>> askedArithmetic(const Arguments& arguments) {
  Options options;
  if (arguments.config == "-") {
    Arguments rest = arguments;
    rest.config.clear();
    ALLOT_CHECK(applyOptions(rest, options));
  } else {
    ALLOT_CHECK(applyOptions(arguments, options));
  }
  return options.modes.dtype;
}

// What a file says for another goal, or for another kind of input, has no effect there: `before` is what held
// without the file.
void warnOfMoot(const Arguments& arguments, const std::string& file, const Problem& problem,
                const Options& before, const Options& said, const Modes& modes) {
  Warnings warnings;
  for (const OptionSpec& spec : optionTable()) {
    if (spec.get(said) == spec.get(before)) continue;
    const std::string why = whyMoot(spec, problem, modes);
    if (!why.empty()) warnings.push_back(fmt::format("option {} {}: ignored", spec.name, why));
  }
  printWarnings(arguments, file, warnings);
}

// An option that the call itself gives must mean something.
Result<void> refuseMoot(const Arguments& arguments, const Problem& problem, const Modes& modes) {
  for (const auto& [option, value] : arguments.options) {
    const std::string why = whyMoot(*findOption(option), problem, modes);
    if (!why.empty()) return usageError("--" + option, why, "leave it out, or change what it goes with");
  }
  return {};
}

// Times of a length that sums of the others cannot feel.
void warnOfShortTimes(const Arguments& arguments, const Problem& problem) {
  const std::size_t count = problem.shortTimes().size();
  if (count == 0) return;
  printWarnings(
      arguments, displayName(arguments.inputs.front()),
      {fmt::format("{} time{} below {:.3g} s, too short to move the clock, and count{} as 0 "
                   "(docs/semantics.md, Clock)",
                   count, count == 1 ? " is" : "s are", problem.clockStep(), count == 1 ? "s" : "")});
}

Result<void> requireGoal(const Options& options) {
  if (options.modes.goal) return {};
  return usageError("--goal", "no goal is given, and the input names none",
                    "add --goal throughput, latency or completion");
}

// "0.5,2,10ms"
Result<PackRule> packRuleOf(const std::string& text) {
  const std::size_t first = text.find(','), second = text.find(',', first + 1);
  const auto wrong = [&](std::string message) {
    return usageError("--pack", std::move(message), "write LOW,HIGH,TIME, for example --pack 0.5,2,10ms");
  };
  if (first == std::string::npos || second == std::string::npos)
    return wrong(fmt::format("\"{}\" is not LOW,HIGH,TIME", text));
  const auto low = parseNumber(text.substr(0, first));
  const auto high = parseNumber(text.substr(first + 1, second - first - 1));
  const auto seconds = parseSeconds(text.substr(second + 1));
  if (!low || !high || *low < 0 || *low > 1 || *high < 1)
    return wrong("LOW must lie between 0 and 1, HIGH at or above 1");
  if (!seconds || *seconds < 0 || *seconds > kMaxSeconds) return wrong("TIME must be a time of 0 or more");
  return PackRule{*low, *high, *seconds};
}

Result<void> applyCall(const Arguments& arguments, Options& options) {
  for (const auto& [option, value] : arguments.options) {
    auto done = setOption(options, option, value);
    if (!done) return usageError("--" + option, done.error().message, done.error().remedy);
    if (option == "max-moves" && arguments.start.empty() && arguments.events.empty())
      return usageError("--max-moves", "counts from a start plan, but none is given", "add --start PLAN");
  }
  return {};
}

Result<void> checkStreams(const Arguments& arguments) {
  std::vector<std::string> all = arguments.inputs;
  for (const std::string& path :
       {arguments.cluster, arguments.config, arguments.start, arguments.times, arguments.events})
    all.push_back(path);
  if (std::count(all.begin(), all.end(), "-") > 1) {
    return usageError("-", "standard input can be read only once", "give all but one of the files by name");
  }
  return {};
}

Result<ReadOptions> readOptionsOf(const Arguments& arguments) {
  ReadOptions options;
  if (!arguments.from.empty()) {
    options.format = formatFromName(arguments.from);
    if (!options.format)
      return usageError("--from", fmt::format("unknown format \"{}\"", arguments.from),
                        "use one of " + formatNames());
  }
  if (!arguments.time_unit.empty()) options.time_unit = arguments.time_unit;
  options.merge_edges = arguments.merge_edges;
  for (const std::string& dim : arguments.dim) ALLOT_CHECK(addDim(dim, options.dims));
  if (!arguments.pack.empty()) {
    ALLOT_TRY(options.pack, packRuleOf(arguments.pack));
  }
  return options;
}

Result<Cluster> loadCluster(const Arguments& arguments) {
  if (looksLikeShortForm(arguments.cluster)) {
    Warnings assumed;
    auto cluster = clusterFromShortForm(arguments.cluster, arguments.link, &assumed);
    if (arguments.verbose) printWarnings(arguments, "--cluster", assumed);
    return cluster;
  }
  if (!arguments.link.empty()) {
    return usageError("--link", "goes with devices named on the command line",
                      "write the links into the cluster file, or name the devices: --cluster 2xT4,cpu:16");
  }
  const std::string file = displayName(arguments.cluster);
  ALLOT_TRY(const std::string text, readFile(arguments.cluster));
  Warnings warnings;
  auto cluster = readCluster(text, file, warnings);
  printWarnings(arguments, file, warnings);
  return inFile(std::move(cluster), file);
}

Result<MeasuredTimes> loadTimes(const Arguments& arguments) {
  const std::string file = displayName(arguments.times);
  ALLOT_TRY(const std::string text, readFile(arguments.times));
  Warnings warnings;
  auto times = readTimes(text, file, warnings);
  printWarnings(arguments, file, warnings);
  return inFile(std::move(times), file);
}

}  // namespace

Result<InputOptions> inputOptions(const Arguments& arguments) {
  InputOptions options;
  ALLOT_TRY(options.read, readOptionsOf(arguments));
  ALLOT_TRY(options.read.dtype, askedArithmetic(arguments));
  if (!arguments.cluster.empty()) {
    ALLOT_TRY(options.cluster, loadCluster(arguments));
  } else if (!arguments.link.empty()) {
    return usageError("--link", "joins devices named on the command line, and none are",
                      "add --cluster, for example --cluster 2xT4,cpu:16");
  }
  if (!arguments.times.empty()) {
    ALLOT_TRY(MeasuredTimes measured, loadTimes(arguments));
    options.measured = std::make_unique<MeasuredTimes>(std::move(measured));
    options.read.measured = options.measured.get();
  }
  return options;
}

Result<void> requireArithmetic(const Options& options, std::optional<DataType> of_times) {
  if (options.modes.dtype == of_times) return {};
  return usageError("--dtype", "the inputs were not estimated for it",
                    "give it on the command line, and only where times of models are estimated");
}

Result<Plan> loadPlan(const Arguments& arguments, const std::string& path, const Problem& problem) {
  ALLOT_TRY(const std::string text, readFile(path));
  return parsePlan(arguments, text, displayName(path), problem);
}

Result<Plan> parsePlan(const Arguments& arguments, const std::string& text, const std::string& file,
                       const Problem& problem) {
  Warnings warnings;
  auto plan = readPlan(text, file, problem, warnings);
  printWarnings(arguments, file, warnings);
  return inFile(std::move(plan), file);
}

Result<void> requireComplete(const Problem& problem, const Plan& plan, const std::string& file) {
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (i < plan.assignment.size() && plan.assignment[i].valid()) continue;
    return fail({ErrorCode::kBadInput, file, fmt::format("op \"{}\"", problem.graph.op_name[i]),
                 "has no device in the plan", "give every op of the problem a device in \"assignment\""});
  }
  return {};
}

Result<void> applyOptions(const Arguments& arguments, Options& options) {
  if (!arguments.config.empty()) ALLOT_CHECK(applyConfigFile(arguments.config, options));
  return applyCall(arguments, options);
}

Result<void> adoptOptions(const Arguments& arguments, Options& options, Problem& problem) {
  options.modes.dtype = problem.modes.dtype;
  // A default of the input gives way to that of the modes chosen here: subgraph-calls has another.
  if (options.modes.memory == problem.default_memory) options.modes.memory.reset();
  const Options file = options;
  if (!arguments.config.empty()) ALLOT_CHECK(applyConfigFile(arguments.config, options));
  const Options config = options;
  ALLOT_CHECK(applyCall(arguments, options));
  ALLOT_CHECK(requireArithmetic(options, problem.modes.dtype));
  const Modes asked = options.modes;
  ALLOT_CHECK(refuseMoot(arguments, problem, asked));
  // What the problem has by itself where nobody says anything.
  Options plain;
  plain.modes.fuse = file.modes.fuse;
  ALLOT_CHECK(problem.setModes(plain.modes));
  plain.modes = problem.modes;
  const std::string input = displayName(arguments.inputs.front());
  warnOfMoot(arguments, input, problem, plain, file, asked);
  warnOfMoot(arguments, displayName(arguments.config), problem, file, config, asked);
  auto done = problem.setModes(asked);
  if (!done) {
    // Where the file's own modes would do, it is the call that does not fit the input.
    Modes without = config.modes;
    without.goal = asked.goal;
    if (problem.setModes(without)) done.error().code = ErrorCode::kUsage;
    return inFile(std::move(done), input);
  }
  options.modes = problem.modes;
  return {};
}

Result<Task> loadTask(const Arguments& arguments) {
  ALLOT_CHECK(checkStreams(arguments));
  ALLOT_TRY(Problem problem, readInputs(arguments, arguments.inputs));
  ALLOT_CHECK(addCommandConstraints(arguments, problem));
  Options options{problem.modes, {}};
  ALLOT_CHECK(adoptOptions(arguments, options, problem));
  ALLOT_CHECK(requireGoal(options));
  warnOfShortTimes(arguments, problem);
  return Task{std::move(problem), std::move(options)};
}

Result<PlannedTask> loadPlannedTask(const Arguments& arguments) {
  ALLOT_CHECK(checkStreams(arguments));
  const std::span<const std::string> paths(arguments.inputs);
  ALLOT_TRY(const std::string plan_text, readFile(paths.back()));
  ALLOT_TRY(Problem problem,
            readInputs(arguments, paths.first(paths.size() - 1), arithmeticOfPlan(plan_text)));
  ALLOT_CHECK(addCommandConstraints(arguments, problem));
  ALLOT_TRY(Plan plan, parsePlan(arguments, plan_text, displayName(paths.back()), problem));
  Options options{plan.modes, {}};
  ALLOT_CHECK(adoptOptions(arguments, options, problem));
  ALLOT_CHECK(requireGoal(options));
  warnOfShortTimes(arguments, problem);
  plan.modes = problem.modes;
  plan.costs = problem.costs;  // its times are those of the problem, whatever the file says
  return PlannedTask{std::move(problem), std::move(options), std::move(plan)};
}

}  // namespace allot::cli
