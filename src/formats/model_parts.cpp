// Files that together are one model: two traces, an op chain, a table of operator types.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "formats/csv.h"
#include "formats/op_chain.h"
#include "formats/pytorch_trace.h"
#include "formats/trace_align.h"

namespace allot {
namespace {

Error inFile(Error error, const std::string& file) {
  if (error.file.empty()) error.file = file;
  return error;
}

Result<std::vector<TraceOp>> readSide(const InputText& input, TraceSide side, const ReadOptions& options,
                                      Warnings& warnings) {
  ALLOT_TRY(const JsonDocument document,
            JsonDocument::parse(input.text, input.file, false, JsonDocument::Keys::kAny));
  return readPyTorchTrace(document.root(), side, options, warnings);
}

// One key per name that is the same on both devices.
class NameKeys {
 public:
  std::vector<std::uint32_t> of(const std::vector<TraceOp>& ops) {
    std::vector<std::uint32_t> keys;
    keys.reserve(ops.size());
    for (const TraceOp& op : ops) {
      const auto [entry, fresh] = keys_.emplace(deviceFreeName(op.name), keys_.size());
      keys.push_back(entry->second);
    }
    return keys;
  }

 private:
  std::unordered_map<std::string, std::uint32_t> keys_;
};

std::vector<double> secondsOf(const std::vector<TraceOp>& ops) {
  std::vector<double> seconds;
  for (const TraceOp& op : ops) seconds.push_back(op.seconds);
  return seconds;
}

std::string lossText(std::string_view side, const std::vector<TraceOp>& ops, const std::vector<bool>& kept) {
  double all = 0, lost = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    all += ops[i].seconds;
    if (kept[i]) continue;
    lost += ops[i].seconds;
    ++count;
  }
  return fmt::format("{} of {} ops of the {} run ({:.2g}% of its time)", count, ops.size(), side,
                     all > 0 ? 100 * lost / all : 0);
}

Result<OpChain> alignTraces(const std::vector<TraceOp>& cpu, const std::vector<TraceOp>& gpu,
                            Warnings& warnings) {
  NameKeys names;
  const std::vector<std::uint32_t> cpu_keys = names.of(cpu), gpu_keys = names.of(gpu);
  const std::vector<double> cpu_seconds = secondsOf(cpu), gpu_seconds = secondsOf(gpu);
  const auto pairs = align({cpu_keys, cpu_seconds}, {gpu_keys, gpu_seconds});
  if (!pairs) {
    return badInput("",
                    fmt::format("{} and {} ops that differ are too many to align", cpu.size(), gpu.size()),
                    "cut both traces to one iteration");
  }
  if (pairs->empty())
    return badInput("", "the traces have no op in common", "give two traces of the same model");
  OpChain chain;
  chain.has_clock = true;
  std::vector<bool> cpu_kept(cpu.size(), false), gpu_kept(gpu.size(), false);
  const double cpu_zero = cpu[pairs->front().first].start, gpu_zero = gpu[pairs->front().second].start;
  for (const auto& [c, g] : *pairs) {
    cpu_kept[c] = gpu_kept[g] = true;
    ChainOp op;
    op.type = cpu[c].name == gpu[g].name ? cpu[c].name : fmt::format("{}/{}", cpu[c].name, gpu[g].name);
    op.number = std::to_string(chain.ops.size());
    op.cpu_seconds = cpu[c].seconds;
    op.gpu_seconds = gpu[g].seconds;
    op.cpu_start = cpu[c].start - cpu_zero;
    op.gpu_start = gpu[g].start - gpu_zero;
    chain.ops.push_back(std::move(op));
  }
  if (pairs->size() < cpu.size() || pairs->size() < gpu.size()) {
    warnings.push_back(fmt::format("left out, without partner: {} and {}", lossText("cpu", cpu, cpu_kept),
                                   lossText("gpu", gpu, gpu_kept)));
  }
  return chain;
}

}  // namespace

Result<Problem> readOpChain(std::string_view text, const std::string& file, const ReadOptions& options,
                            const Cluster* cluster, Warnings& warnings) {
  ALLOT_TRY(std::vector<OpChain> chains, readOpChainCsv(text, options, warnings));
  return chainProblem(std::move(chains), stemOf(file), options, {}, cluster, warnings);
}

Result<Problem> readOpTypes(std::string_view text, const std::string& file, const ReadOptions& options,
                            const Cluster* cluster, Warnings& warnings) {
  TypeSpeedups types;
  ALLOT_TRY(OpChain chain, readOpTypesCsv(text, options, types, warnings));
  return chainProblem({std::move(chain)}, stemOf(file), options, types, cluster, warnings);
}

std::optional<Format> recogniseCsv(std::string_view text) {
  const std::vector<std::string> header = CsvTable::headerOf(text);
  const auto has = [&](std::string_view begin) {
    return std::any_of(header.begin(), header.end(), [&](const std::string& name) {
      return name == begin || name.starts_with(fmt::format("{}_", begin));
    });
  };
  if (has("operator") && has("cpu_total") && has("gpu_total")) return Format::kOpTypesCsv;
  if ((has("operator") || has("segment")) && has("cpu") && has("gpu")) return Format::kOpChainCsv;
  return std::nullopt;
}

Result<Problem> readModelParts(std::span<const InputText> files, const ReadOptions& options,
                               const Cluster* cluster, Warnings& warnings) {
  constexpr std::string_view kRemedy =
      "give CPU.json GPU.json, or CHAIN.csv, and a table of operator types behind them where there is one";
  TypeSpeedups types;
  std::vector<OpChain> chains;
  std::vector<std::vector<TraceOp>> traces;
  bool has_types = false;
  for (const InputText& input : files) {
    Format format = Format::kPyTorchTrace;
    if (auto plain = refuseCompressed(input.text); !plain)
      return fail(inFile(std::move(plain).error(), input.file));
    const std::optional<Format> csv = recogniseCsv(input.text);
    if (csv == Format::kOpTypesCsv || !options.format) {
      auto recognised = csv ? Result<Format>(*csv) : recogniseFormat(input.text, input.file);
      if (!recognised) return fail(inFile(std::move(recognised).error(), input.file));
      format = *recognised;
    } else {
      format = *options.format;
    }
    if (auto heeded = requireHeeded(format, options, cluster != nullptr); !heeded)
      return fail(inFile(std::move(heeded).error(), input.file));
    if (format == Format::kPyTorchTrace && chains.empty() && traces.size() < 2 && !has_types) {
      auto ops = readSide(input, traces.empty() ? TraceSide::kCpu : TraceSide::kGpu, options, warnings);
      if (!ops) return fail(inFile(std::move(ops).error(), input.file));
      traces.push_back(std::move(*ops));
    } else if (format == Format::kOpChainCsv && chains.empty() && traces.empty() && !has_types) {
      auto read = readOpChainCsv(input.text, options, warnings);
      if (!read) return fail(inFile(std::move(read).error(), input.file));
      chains = std::move(*read);
    } else if (format == Format::kOpTypesCsv && (traces.size() == 2 || !chains.empty()) && !has_types) {
      auto read = readOpTypesCsv(input.text, options, types, warnings);
      if (!read) return fail(inFile(std::move(read).error(), input.file));
      has_types = true;
    } else {
      return fail({ErrorCode::kBadInput, input.file, "",
                   fmt::format("a {} file has no place here", name(format)), std::string(kRemedy)});
    }
  }
  const std::string& file = files.front().file;
  if (traces.size() == 1) {
    return fail({ErrorCode::kBadInput, file, "", "a trace has the times of one device only",
                 "give both: allot import CPU.json GPU.json -o model.json"});
  }
  if (traces.size() == 2) {
    auto chain = alignTraces(traces[0], traces[1], warnings);
    if (!chain) return fail(inFile(std::move(chain).error(), file));
    chains.push_back(std::move(*chain));
  }
  auto problem = chainProblem(std::move(chains), stemOf(file), options, types, cluster, warnings);
  if (!problem) return fail(inFile(std::move(problem).error(), file));
  return problem;
}

}  // namespace allot
