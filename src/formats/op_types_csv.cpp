// Operator types of a profiled run, each with its time in all and per call on a cpu and on a gpu.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/csv.h"
#include "formats/op_chain.h"

namespace allot {
namespace {

constexpr double kMicroseconds = 1e-6;
// Beyond this share the speed-up a file states is not that of its times.
constexpr double kSpeedupTolerance = 0.01;

// All calls that both runs made.
double commonCalls(double cpu_total, double cpu_mean, double gpu_total, double gpu_mean) {
  const double cpu_calls = cpu_mean > 0 ? cpu_total / cpu_mean : 0;
  const double gpu_calls = gpu_mean > 0 ? gpu_total / gpu_mean : 0;
  if (cpu_calls == 0 || gpu_calls == 0) return std::max(cpu_calls, gpu_calls);
  return std::min(cpu_calls, gpu_calls);
}

}  // namespace

Result<OpChain> readOpTypesCsv(std::string_view text, const ReadOptions& options, TypeSpeedups& types,
                               Warnings& warnings) {
  ALLOT_TRY(const CsvTable table, CsvTable::parse(text));
  const auto type = table.column("operator");
  const auto stated = table.column("speedup");
  ALLOT_TRY(const auto cpu_total, table.timeColumn({"cpu_total"}, options, kMicroseconds));
  ALLOT_TRY(const auto gpu_total, table.timeColumn({"gpu_total"}, options, kMicroseconds));
  ALLOT_TRY(const auto cpu_mean, table.timeColumn({"cpu_avg"}, options, kMicroseconds));
  ALLOT_TRY(const auto gpu_mean, table.timeColumn({"gpu_avg"}, options, kMicroseconds));
  if (!type || !cpu_total || !gpu_total || !cpu_mean || !gpu_mean) {
    const std::string_view missing = !type        ? "operator"
                                     : !cpu_total ? "cpu_total_us"
                                     : !gpu_total ? "gpu_total_us"
                                     : !cpu_mean  ? "cpu_avg_us"
                                                  : "gpu_avg_us";
    return badInput("line 1", fmt::format("column \"{}\" is missing", missing),
                    "give the columns operator, speedup, cpu_total_us, gpu_total_us, cpu_avg_us, gpu_avg_us");
  }
  if (table.rows() == 0) return badInput("", "there are no operator types", "give at least one row");
  OpChain chain;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    ChainOp op;
    op.type = table.field(row, *type);
    if (op.type.empty()) return table.failAt(row, *type, "the operator has no name", "name it");
    op.number = std::to_string(row);
    ALLOT_TRY(const double all_cpu, table.seconds(row, cpu_total->column, cpu_total->factor));
    ALLOT_TRY(const double all_gpu, table.seconds(row, gpu_total->column, gpu_total->factor));
    ALLOT_TRY(const double one_cpu, table.seconds(row, cpu_mean->column, cpu_mean->factor));
    ALLOT_TRY(const double one_gpu, table.seconds(row, gpu_mean->column, gpu_mean->factor));
    if (one_cpu > all_cpu * (1 + kSpeedupTolerance) || one_gpu > all_gpu * (1 + kSpeedupTolerance)) {
      return table.failAt(row, one_cpu > all_cpu ? cpu_mean->column : gpu_mean->column,
                          "one call takes longer than all of them", "check the columns and their units");
    }
    // The runs may have been of different lengths.
    const double calls = commonCalls(all_cpu, one_cpu, all_gpu, one_gpu);
    op.cpu_seconds = std::min(all_cpu, calls * one_cpu);
    op.gpu_seconds = std::min(all_gpu, calls * one_gpu);
    const double speedup = speedupOf(one_cpu, one_gpu);
    if (stated) {
      ALLOT_TRY(const double given, table.number(row, *stated));
      if (std::abs(given - speedup) > kSpeedupTolerance * std::max(given, speedup)) {
        warnings.push_back(fmt::format(
            "{}: the stated speed-up {:.6g} is not that of the average times, {:.6g}; check their units",
            op.type, given, speedup));
      }
    }
    if (!types.emplace(op.type, speedup).second) {
      return table.failAt(row, *type, fmt::format("operator \"{}\" is there twice", op.type),
                          "give each operator type one row");
    }
    chain.ops.push_back(std::move(op));
  }
  return chain;
}

}  // namespace allot
