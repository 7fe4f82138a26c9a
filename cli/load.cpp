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

// `planned_for`: the arithmetic of the plan that is read next, which models are estimated for where the user
// asks for no other.
Result<Problem> readInputs(const Arguments& arguments, std::span<const std::string> paths,
                           std::optional<DataType> planned_for = std::nullopt) {
  ALLOT_TRY(const InputOptions options, inputOptions(arguments));
  std::vector<Problem> problems;
  for (const std::string& path : paths) {
    const std::string file = displayName(path);
    ALLOT_TRY(const MappedFile input, MappedFile::open(path));
    Warnings warnings;
    ReadOptions read = options.read;
    if (!read.dtype && planned_for) {
      const auto format = read.format ? Result<Format>(*read.format) : recogniseFormat(input.text(), file);
      if (format && (*format == Format::kOnnx || *format == Format::kGraph)) read.dtype = planned_for;
    }
    auto problem =
        readProblem(input.text(), file, read, options.cluster ? &*options.cluster : nullptr, warnings);
    printWarnings(arguments, file, warnings);
    if (!problem) return problem;
    problems.push_back(std::move(*problem));
  }
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

Result<void> adoptOptions(const Arguments& arguments, Options& options, Problem& problem) {
  options.modes.dtype = problem.modes.dtype;
  ALLOT_CHECK(applyOptions(arguments, options));
  if (!options.modes.goal) {
    return usageError("--goal", "no goal is given, and the input names none",
                      "add --goal throughput, latency or completion");
  }
  ALLOT_CHECK(requireArithmetic(options, problem.modes.dtype));
  ALLOT_CHECK(inFile(problem.setModes(options.modes), displayName(arguments.inputs.front())));
  options.modes = problem.modes;
  return {};
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
  for (const auto& [option, value] : arguments.options) {
    auto done = setOption(options, option, value);
    if (!done) return usageError("--" + option, done.error().message, done.error().remedy);
  }
  return {};
}

Result<Task> loadTask(const Arguments& arguments) {
  ALLOT_CHECK(checkStreams(arguments));
  ALLOT_TRY(Problem problem, readInputs(arguments, arguments.inputs));
  ALLOT_CHECK(addCommandConstraints(arguments, problem));
  Options options{problem.modes, {}};
  ALLOT_CHECK(adoptOptions(arguments, options, problem));
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
  plan.modes = problem.modes;
  plan.costs = problem.costs;  // its times are those of the problem, whatever the file says
  return PlannedTask{std::move(problem), std::move(options), std::move(plan)};
}

}  // namespace allot::cli
