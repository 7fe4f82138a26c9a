// Measured times of ops: a table (op, class, seconds) or allot.profile/1.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "allot/cost.h"
#include "base/json_reader.h"
#include "formats/csv.h"
#include "formats/schema.h"

namespace allot {
namespace {

// More classes than any cluster has would only cost time.
constexpr std::size_t kMaxTimesOfAnOp = 4096;

// Appends a time; false where the op has one of that class already, or too many.
bool addTime(MeasuredTimes& times, std::string op, std::string cls, double seconds) {
  auto& list = times.by_op[std::move(op)];
  for (const auto& known : list) {
    if (known.first == cls) return false;
  }
  if (list.size() >= kMaxTimesOfAnOp) return false;
  list.emplace_back(std::move(cls), seconds);
  return true;
}

std::string twice(std::string_view op, std::string_view cls) {
  return cls.empty() ? fmt::format("op \"{}\" is there twice", op)
                     : fmt::format("op \"{}\" is there twice for class \"{}\"", op, cls);
}

struct TimeUnit {
  std::string_view column;
  double factor;
};
constexpr std::array<TimeUnit, 9> kTimeColumns{{{"seconds", 1},
                                                {"s", 1},
                                                {"time_s", 1},
                                                {"ms", 1e-3},
                                                {"milliseconds", 1e-3},
                                                {"time_ms", 1e-3},
                                                {"us", 1e-6},
                                                {"microseconds", 1e-6},
                                                {"time_us", 1e-6}}};

Result<void> readTable(std::string_view text, MeasuredTimes& times, Warnings& warnings) {
  ALLOT_TRY(const CsvTable table, CsvTable::parse(text));
  const auto op = table.column("op");
  const auto cls = table.column("class");
  std::optional<std::size_t> time;
  double factor = 1;
  for (const TimeUnit& unit : kTimeColumns) {
    const auto found = table.column(unit.column);
    if (!found) continue;
    if (time) {
      return badInput(
          "line 1",
          fmt::format("columns \"{}\" and \"{}\" are both times", table.columnName(*time), unit.column),
          "keep one of them");
    }
    time = found;
    factor = unit.factor;
  }
  if (!op || !time) {
    return badInput("line 1", fmt::format("there is no column of {}", op ? "times" : "ops"),
                    "name the columns op,class,seconds (or ms, or us)");
  }
  for (std::size_t c = 0; c < table.columns() && warnings.size() < 5; ++c) {
    if (c != *op && c != *time && (!cls || c != *cls))
      warnings.push_back(fmt::format("{}: column \"{}\" is ignored", times.source, table.columnName(c)));
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.field(row, *op).empty())
      return table.failAt(row, *op, "the name of the op is missing", "name an op");
    ALLOT_TRY(const double seconds, table.seconds(row, *time, factor));
    const std::string class_name = cls ? table.field(row, *cls) : "";
    if (!addTime(times, table.field(row, *op), class_name, seconds))
      return table.failAt(row, *op, twice(table.field(row, *op), class_name),
                          "keep one time by op and class");
  }
  if (table.rows() == 0) return badInput("line 1", "there are no times", "add one line by op");
  return {};
}

Result<void> readProfileOp(const JsonNode& node, const std::string& profile_class, MeasuredTimes& times,
                           Warnings& warnings) {
  ALLOT_TRY(const JsonNode name_node, node.at("name"));
  ALLOT_TRY(const std::string op, name_node.label());
  ALLOT_TRY(const JsonNode time, node.at("time"));
  node.warnUnknown({"name", "time"}, warnings);
  if (!time.isObject()) {
    ALLOT_TRY(const double seconds, time.seconds());
    if (!addTime(times, op, profile_class, seconds))
      return name_node.fail(twice(op, profile_class), "keep one time by op and class");
    return {};
  }
  ALLOT_TRY(const auto fields, time.object());
  for (const auto field : fields) {
    const JsonNode child = time.member(field.key, field.value);
    ALLOT_TRY(const double seconds, child.seconds());
    if (!addTime(times, op, std::string(field.key), seconds))
      return name_node.fail(twice(op, field.key), "keep one time by op and class");
  }
  return {};
}

Result<void> readProfile(std::string_view text, MeasuredTimes& times, Warnings& warnings) {
  ALLOT_TRY(const JsonDocument document, JsonDocument::parse(text, times.source, true));
  const JsonNode root = document.root();
  ALLOT_CHECK(expectSchema(root, "allot.profile/1"));
  std::string profile_class;
  if (root.has("class")) {
    ALLOT_TRY(const JsonNode node, root.at("class"));
    ALLOT_TRY(profile_class, node.label());
  }
  ALLOT_TRY(const JsonNode ops, root.at("ops"));
  ALLOT_CHECK(
      ops.forEach([&](const JsonNode& node) { return readProfileOp(node, profile_class, times, warnings); }));
  if (times.by_op.empty()) return ops.fail("there are no times", "add one entry by op");
  root.warnUnknown({"schema", "name", "class", "machine", "date", "ops"}, warnings);
  return {};
}

// JSON, or YAML that begins with its schema, is a profile.
bool looksLikeProfile(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) return false;
  text.remove_prefix(first);
  return text.front() == '{' || text.front() == '[' || text.starts_with("schema:") || text.starts_with("---");
}

}  // namespace

Result<MeasuredTimes> readTimes(std::string_view text, const std::string& file, Warnings& warnings) {
  MeasuredTimes times;
  times.source = file;
  auto done = looksLikeProfile(text) ? readProfile(text, times, warnings) : readTable(text, times, warnings);
  if (!done) {
    Error error = std::move(done).error();
    if (error.file.empty()) error.file = file;
    return fail(std::move(error));
  }
  return times;
}

}  // namespace allot
