// Ops of a model in the order in which they run, each with its time on a cpu and on a gpu.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "base/units.h"
#include "formats/csv.h"
#include "formats/op_chain.h"

namespace allot {
namespace {

constexpr double kMicroseconds = 1e-6;

struct Columns {
  std::optional<std::size_t> type, number, phase, model;
  std::optional<CsvTable::TimeColumn> cpu, gpu, cpu_start, gpu_start;
};

Result<Columns> columnsOf(const CsvTable& table, const ReadOptions& options) {
  Columns columns;
  columns.type = table.column("operator");
  columns.number = table.column("seq");
  if (!columns.number) columns.number = table.column("segment");
  columns.phase = table.column("phase");
  columns.model = table.column("model");
  ALLOT_TRY(columns.cpu, table.timeColumn({"cpu_dur", "cpu"}, options, kMicroseconds));
  ALLOT_TRY(columns.gpu, table.timeColumn({"gpu_dur", "gpu"}, options, kMicroseconds));
  ALLOT_TRY(columns.cpu_start, table.timeColumn({"cpu_ts"}, options, kMicroseconds));
  ALLOT_TRY(columns.gpu_start, table.timeColumn({"gpu_ts"}, options, kMicroseconds));
  const std::string_view missing = !columns.cpu                              ? "cpu_dur_us"
                                   : !columns.gpu                            ? "gpu_dur_us"
                                   : !columns.type && !columns.number        ? "operator"
                                   : columns.cpu_start && !columns.gpu_start ? "gpu_ts_us"
                                   : columns.gpu_start && !columns.cpu_start ? "cpu_ts_us"
                                                                             : "";
  if (!missing.empty()) {
    return badInput("line 1", fmt::format("column \"{}\" is missing", missing),
                    "give the columns operator, cpu_dur_us and gpu_dur_us (or _ms, _s); seq, phase, model, "
                    "cpu_ts_us and gpu_ts_us may be added");
  }
  return columns;
}

}  // namespace

Result<std::vector<OpChain>> readOpChainCsv(std::string_view text, const ReadOptions& options, Warnings&) {
  ALLOT_TRY(const CsvTable table, CsvTable::parse(text));
  ALLOT_TRY(const Columns columns, columnsOf(table, options));
  if (table.rows() == 0) return badInput("", "there are no ops", "give at least one row");
  std::vector<OpChain> chains;
  std::unordered_map<std::string, std::size_t> chain_of;
  std::unordered_set<std::string> numbers;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string model = columns.model ? table.field(row, *columns.model) : "";
    if (columns.model && (model.empty() || model.find('/') != std::string::npos)) {
      return table.failAt(row, *columns.model, fmt::format("\"{}\" is no name of a model", model),
                          "give it a name without \"/\"");
    }
    const auto [entry, fresh] = chain_of.emplace(model, chains.size());
    if (fresh) chains.push_back({model, columns.cpu_start.has_value(), {}});
    OpChain& chain = chains[entry->second];
    ChainOp op;
    op.type = columns.type ? table.field(row, *columns.type) : "segment";
    if (op.type.empty()) return table.failAt(row, *columns.type, "the operator has no name", "name it");
    op.number = columns.number ? table.field(row, *columns.number) : std::to_string(chain.ops.size());
    if (columns.number && !parseCount(op.number)) {
      return table.failAt(row, *columns.number, fmt::format("\"{}\" is not a whole number", op.number),
                          "number the ops from 0");
    }
    if (columns.number && !numbers.insert(fmt::format("{}\n{}", model, op.number)).second) {
      return table.failAt(row, *columns.number, fmt::format("number \"{}\" is there twice", op.number),
                          "give each op of a model its own number, and each setting its own file");
    }
    op.loading = columns.phase && table.field(row, *columns.phase) == "load";
    ALLOT_TRY(op.cpu_seconds, table.seconds(row, columns.cpu->column, columns.cpu->factor));
    ALLOT_TRY(op.gpu_seconds, table.seconds(row, columns.gpu->column, columns.gpu->factor));
    if (columns.cpu_start) {
      ALLOT_TRY(op.cpu_start, table.seconds(row, columns.cpu_start->column, columns.cpu_start->factor));
      ALLOT_TRY(op.gpu_start, table.seconds(row, columns.gpu_start->column, columns.gpu_start->factor));
      if (!chain.ops.empty() && op.cpu_start < chain.ops.back().cpu_start) {
        return table.failAt(row, columns.cpu_start->column, "the op starts before the one above it",
                            "sort the rows by start on the cpu");
      }
    }
    chain.ops.push_back(std::move(op));
  }
  return chains;
}

}  // namespace allot
